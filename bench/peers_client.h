/* SPDX-License-Identifier: MIT */
/* The peers that peers-client speaks to. */
#ifndef DODO_BENCH_PEERS_CLIENT_H
#define DODO_BENCH_PEERS_CLIENT_H

#include "bench/peers_common.h"

extern const PeerOps peer_memcached, peer_redis;
extern const PeerOps *const peer_nbd; /* NULL: built without libnbd */
extern const PeerOps peer_tcp, peer_udp;

#endif
