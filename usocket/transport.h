/* SPDX-License-Identifier: MIT */
/* Datagram transports behind one small table of functions: UDP over IPv4 and IPv6, an in-process
 * pair, and UDP with raw frames beside it. A Transport belongs to one thread at a time. Outcomes: 0
 * or a count is success, < 0 is -errno.
 *
 * Losing a datagram is never an error here: what the network or a full queue drops, the protocol
 * repairs. ICMP errors come as TRANSPORT hints, never as failures of an unrelated call. */
#ifndef DODO_USOCKET_TRANSPORT_H
#define DODO_USOCKET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/addr.h"

enum {
    TRANSPORT_BATCH_MAX = 64,  /* messages a call */
    TRANSPORT_GSO_MAX = 65400, /* payload bytes of one GSO message: more and the kernel
                                  segments in software */
    TRANSPORT_GSO_SEGMENTS = 64,
    TRANSPORT_RECV_MAX = 65536, /* room each receive buffer must have */
};

/* One send: a datagram, or @segment > 0: a run of datagrams of @segment bytes each but the last.
 * The transport splits runs that are too long for one GSO message at datagram boundaries and falls
 * back to single datagrams per destination where GSO fails (EIO, EINVAL, EMSGSIZE). */
typedef struct TransportSend {
    const Addr *to;
    const struct iovec *iov; /* with @segment: iovec boundaries fall on datagram boundaries at every
                                @iov_per_segment entries */
    unsigned iov_count;
    unsigned iov_per_segment; /* iovecs that make one datagram, when @segment > 0; 0: one iovec
                                 holds the whole run */
    uint16_t segment;
} TransportSend;

/* One receive: in: buf, cap (>= TRANSPORT_RECV_MAX). Out: the sender, len, and with segment > 0
 * several datagrams of @segment bytes (the last perhaps shorter), joined by GRO. */
typedef struct TransportReceive {
    uint8_t *buf;
    size_t cap;
    Addr from;
    size_t len;
    uint16_t segment; /* 0: a single datagram */
} TransportReceive;

typedef struct Transport Transport;
typedef struct TransportOps {
    const char *name;
    void (*close)(Transport *t);
    /* All of it, in order; waits some 20 ms at most for a full send queue, then drops. -errno only
     * for errors of this socket (EBADF, ENOTSOCK) or of the arguments (EFAULT). */
    int (*send)(Transport *t, const TransportSend *sends, unsigned count);
    /* Count of messages received, 0 when none is there. Never blocks. A message may be empty. */
    int (*receive)(Transport *t, TransportReceive *receives, unsigned count);
    /* The same, but falls asleep until a message comes, the patience of the options is over (by the
     * kernel's tick: several milliseconds late) or a signal. One system call less than to wait and
     * then receive. NULL: not available. */
    int (*receive_asleep)(Transport *t, TransportReceive *receives, unsigned count);
    /* From any thread: an empty message from our own address comes in, so that receive_asleep() in
     * another thread ends. NULL: not available. */
    void (*nudge)(const Transport *t);
    int (*fd)(const Transport *t); /* to poll(2) for POLLIN */
    /* Largest datagram payload to @to without fragmentation (path MTU less headers). */
    size_t (*datagram_max)(Transport *t, const Addr *to);
} TransportOps;

struct Transport {
    const TransportOps *ops;
    Addr local;            /* bound, with the port that was given */
    size_t receive_bytes;  /* granted receive buffer, as the kernel counts it (half is usable) */
    bool late;             /* the address was not this host's when it was bound */
    uint64_t sent, astray; /* messages; those that have no way out of this host */
    int astray_error;      /* why the last of those had none */
    struct {
        uint64_t sent, received; /* probes too */
        uint64_t refused;        /* that were none of ours, or whose sender was not who it said */
    } frames;                    /* raw ones */
};

typedef struct TransportOptions {
    size_t receive_bytes; /* wanted; 0: the system's default */
    size_t send_bytes;
    uint64_t patience_ns; /* of receive_asleep(); 0: without end */
    bool free_bind;       /* an address that is not this host's yet will do */
    bool no_gso, no_gro;  /* switch techniques off (tests, odd kernels) */
} TransportOptions;

/* UDP; @local with port 0 takes any free port. Never fragments (IP_PMTUDISC_DO). A socket bound to
 * a wildcard address sends from whatever address the route prefers, so who answers datagrams binds
 * to a named address; who only asks may bind to the wildcard. An IPv6 socket is IPv6 only. */
int transport_udp_open(const Addr *local, const TransportOptions *options, Transport **ret);
/* The same, and raw frames of Ethernet beside it, through a socket that the interface's helper
 * (dodo-socket) gives: short runs go as frames to peers that are known to take them, where
 * that is faster, and to those that poll; all else goes by UDP, also what frames lose. A peer is
 * known by its UDP address alone. Only for what is sealed: no firewall sees frames. Without frames
 * it is the transport of transport_udp_open(), and *@ret_raw says why, as -errno: of ask_helper(),
 * or of the system. */
typedef struct TransportRaw {
    const char *interface;
    uint64_t wait_ns; /* for the helper */
    bool always;      /* takes frames, though nobody polls for them (tests) */
} TransportRaw;
int transport_raw_open(const Addr *local, const TransportOptions *options, const TransportRaw *raw,
                       Transport **ret, int *ret_raw);
/* What to do about it: a few words for the log. @error: < 0, of *@ret_raw. */
const char *transport_raw_advice(int error);
/* Two ends in one process, for tests: what one sends the other receives, runs joined as GRO joins
 * them; beyond TRANSPORT_PAIR_QUEUE waiting messages they are lost. The fd of each is an eventfd.
 * Addresses are ADDR_SIM 1 and 2. The ends may belong to different threads. */
enum { TRANSPORT_PAIR_QUEUE = 256 };
int transport_pair_open(Transport *ret[2]);
Transport *transport_close(Transport *t); /* NULL is fine; returns NULL */

/* Wait until @t has something to receive or @timeout_ns passed (UINT64_MAX: for ever).
 * 1: readable, 0: timeout, -EINTR, -errno. Nanosecond timeouts (ppoll). */
int transport_wait(Transport *t, uint64_t timeout_ns);

#endif
