/* SPDX-License-Identifier: MIT */
/* What the parts of peers-dodo share. */
#ifndef DODO_BENCH_PEERS_DODO_H
#define DODO_BENCH_PEERS_DODO_H

#include "bench/peers_common.h"

typedef struct PeerRegion {
    int rd;
    uint64_t len;
} PeerRegion;

/* Keeps o->depth reads outstanding from one thread, on each of the o->regions in turn; their time
 * is from when they are submitted to when they are taken back. As peer_measure(). */
int peer_measure_queue(const PeerOptions *o, const PeerRegion *regions, PeerResult *ret);

#endif
