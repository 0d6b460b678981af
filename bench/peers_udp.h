/* SPDX-License-Identifier: MIT */
/* Raw UDP of Dodo's shape: datagrams of the same size with as much header as Dodo's, many a system
 * call (GSO and GRO), sealed with the same cipher where wanted. No reliability: what does not come
 * in order is lost, and counted. It does all that a data path must do (every header is looked at,
 * the bytes end up in place) and nothing that Dodo adds: what Dodo is measured against.
 *
 * Both ends are one program on one machine: no byte order. */
#ifndef DODO_BENCH_PEERS_UDP_H
#define DODO_BENCH_PEERS_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/addr.h"
#include "proto/seal.h"
#include "proto/wire.h"
#include "usocket/transport.h"

enum RawKind { RAW_READ = 1, RAW_DATA, RAW_WRITE, RAW_DONE };

/* In front of every datagram; a request's and a write's go on with RawPlace. The rest of the room
 * that Dodo's header takes is left zero. */
typedef struct RawHeader {
    uint8_t kind;
    uint8_t sealed; /* READ: seal the answer */
    uint16_t index;
    uint32_t serial;
    uint16_t mtu;     /* READ: of the answer's datagrams */
    uint16_t poll_us; /* READ, WRITE: the server's */
    uint32_t len;     /* of the whole read or write */
} RawHeader;
typedef struct RawPlace {
    uint64_t offset;
} RawPlace;

enum {
    RAW_READ_HEADER = WIRE_HEADER_SIZE + WIRE_DATA_HEADER_SIZE,
    RAW_WRITE_HEADER = WIRE_HEADER_SIZE + WIRE_WRITE_HEADER_SIZE,
    RAW_REQUEST_BYTES = WIRE_HEADER_SIZE + WIRE_READ_SIZE,
    RAW_DONE_BYTES = WIRE_HEADER_SIZE + WIRE_WRITE_ACK_SIZE,
    RAW_BYTES_MAX = 4 << 20, /* of a read or write */
    RAW_MTU_MIN = 1280,
    RAW_SEGMENTS_MAX =
        RAW_BYTES_MAX / (RAW_MTU_MIN - 28 - RAW_WRITE_HEADER - WIRE_SEAL_OVERHEAD) + 1,
    RAW_MESSAGES_MAX = RAW_SEGMENTS_MAX / (TRANSPORT_GSO_MAX / 9000) + 1,
    RAW_RECEIVES = 8,
    RAW_STAGING_BYTES = RAW_BYTES_MAX * 2,
};

typedef union RawControl {
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
} RawControl;

typedef struct RawLink {
    int fd;
    uint64_t poll_ns; /* receive polls so long before it blocks */
    struct sockaddr_in peer;
    SealSuite suite;
    SealKey sealing, opening;
    uint64_t counter;
    /* out */
    uint8_t headers[RAW_SEGMENTS_MAX][RAW_WRITE_HEADER];
    struct iovec iov[2 * RAW_SEGMENTS_MAX];
    struct mmsghdr out[RAW_MESSAGES_MAX];
    RawControl out_control[RAW_MESSAGES_MAX];
    uint8_t staging[RAW_STAGING_BYTES]; /* sealed datagrams */
    /* in */
    struct mmsghdr in[RAW_RECEIVES];
    struct iovec in_iov[RAW_RECEIVES];
    struct sockaddr_in in_from[RAW_RECEIVES];
    RawControl in_control[RAW_RECEIVES];
    uint8_t buffers[RAW_RECEIVES][TRANSPORT_RECV_MAX];
} RawLink;

/* A link with a socket of its own; NULL: no memory, or no socket (errno). */
RawLink *raw_link_new(void);
void raw_link_free(RawLink *w); /* NULL is fine */

/* How a run is cut. */
typedef struct RawCut {
    uint16_t mtu;
    bool sealed;
    uint16_t header; /* RAW_READ_HEADER or RAW_WRITE_HEADER */
} RawCut;
/* Bytes of data in a datagram. */
uint32_t raw_step(const RawCut *cut);

/* All of it in datagrams of the path's size, to the link's peer. 0 or -errno. */
int raw_send_run(RawLink *w, const RawCut *cut, RawHeader h, uint64_t offset, const uint8_t *data);
/* One datagram of @len bytes without data. */
int raw_send_header(RawLink *w, const RawHeader *h, uint64_t offset, size_t len);

/* Blocks for the first message, takes at most @most. Their count, 0 when the time is over. */
int raw_receive(RawLink *w, unsigned most);
/* Datagrams that GRO joined in message @i have this size. */
size_t raw_joined(RawLink *w, int i);
/* The data of a datagram, opened in place if sealed. NULL: it is none of this cut. */
const uint8_t *raw_open(RawLink *w, const RawCut *cut, uint8_t *datagram, size_t len,
                        size_t *ret_len);

struct sockaddr_in raw_sockaddr(const Addr *a);

#endif
