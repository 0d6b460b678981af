/* SPDX-License-Identifier: MIT */
/* In place of peers_nbd.c where libnbd is missing. */
#include "bench/peers_client.h"

const PeerOps *const peer_nbd = NULL;
