/* SPDX-License-Identifier: MIT */
/* What the programs of scripts/bench-peers and scripts/bench-wire share: one loop, of one thread or
 * several, that measures reads or writes of a fixed size at random places, checks every byte, and
 * prints a line of JSON. So that only what is measured differs: Dodo, what people use instead of
 * it, the bare network.
 *
 * Every byte follows from its offset. A write goes to the network and to a file, as Dodo's mwrite()
 * does it: peers start the write, write the file beside, then wait for the answer. */
#ifndef DODO_BENCH_PEERS_COMMON_H
#define DODO_BENCH_PEERS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEER_LOST = 1, /* an outcome: it did not come through, and is not repeated */
    PEER_THREADS_MAX = 64,
    PEER_SERVERS_MAX = 32,
};

typedef struct PeerOptions {
    const char *name;    /* who is measured; printed */
    const char *at;      /* ADDR:PORT[,ADDR:PORT...] or a path */
    const char *file;    /* written beside; NULL: none */
    const char *servers; /* their process ids, "12,34": for their CPU time; NULL: none */
    bool write, load;
    bool sealed;
    bool cold;           /* Dodo: measured before anything is in remote memory */
    size_t size;         /* of a read or write; a multiple of 8 */
    uint64_t area_bytes; /* the places are multiples of the size below it, */
    uint64_t base;       /* counted from here */
    uint64_t least_ns, least_ops, warm_ops;
    uint64_t poll_ns; /* the client's: polls so long before it blocks */
    uint64_t server_poll_ns;
    unsigned threads, regions, mtu;
    unsigned depth; /* asynchronous reads outstanding; 0: none */
} PeerOptions;

/* How a peer is spoken to. Each thread has a connection. All return 0, -errno, and where said
 * PEER_LOST. */
typedef struct PeerOps {
    int (*open)(const PeerOptions *o, unsigned thread, void **ret_conn);
    void (*close)(void *conn);                                       /* NULL is fine */
    int (*read)(void *conn, uint64_t offset, void *buf, size_t len); /* or PEER_LOST */
    /* @buf stays as it is until write_finish() returns. */
    int (*write_start)(void *conn, uint64_t offset, const void *buf, size_t len);
    int (*write_finish)(void *conn); /* or PEER_LOST; NULL: write_start() did all, the file too */
} PeerOps;

typedef struct PeerResult {
    uint64_t ops, lost, wrong_bytes;
    uint64_t dropped; /* datagrams that sockets of either end had no room for */
    double p50_us, p99_us, least_us, mean_us;
    double mb_s;                 /* 10^6 bytes; one thread: of the time inside the calls */
    double client_us, server_us; /* CPU time a MiB; making and checking contents is not in it */
} PeerResult;

/* @argv: NAME=VALUE..., from the first one on. False: not understood. */
bool peer_options(PeerOptions *o, int argc, char **argv);
extern const PeerOptions peer_defaults;
/* "a,b,c": part @index of it (modulo their count) is copied to @out; false: too long. */
bool peer_part(const char *list, unsigned index, char *out, size_t cap);

void peer_data_make(uint64_t first, void *buf, size_t len);
uint64_t peer_data_wrong(uint64_t first, const void *buf, size_t len);
/* The word that the contents at @offset start with. */
uint64_t peer_data_first(uint64_t offset);

/* Writes all places of the area, one after the other. */
int peer_load(const PeerOptions *o, const PeerOps *ops);
int peer_measure(const PeerOptions *o, const PeerOps *ops, PeerResult *ret);
/* @more: further fields, as ", \"name\": 1", or "". */
void peer_print(const PeerOptions *o, const PeerResult *r, const char *more);

/* CPU time of the processes of the list, and datagrams dropped where they and we are. */
uint64_t peer_cpu_ns(const char *servers);
uint64_t peer_dropped(const char *servers);

#endif
