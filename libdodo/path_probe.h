/* SPDX-License-Identifier: MIT */
/* Which datagram sizes the way to a host carries. What the route promises is only tried: a packet
 * of 1,500 bytes passes nearly everywhere, so each session begins with those and sends a PROBE as
 * long as the route would allow. Its answer, of the same length, shows that such datagrams pass
 * both ways. Pure. */
#ifndef DODO_LIBDODO_PATH_PROBE_H
#define DODO_LIBDODO_PATH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

enum {
    PROBE_TRIES = 3,
    PROBE_FIRST_NS = 50 * 1000 * 1000, /* until the second; doubles */
};

typedef struct PathProbe {
    size_t datagram; /* bytes of payload that the route promises; 0: nothing to find out */
    uint64_t nonce;  /* of the last PROBE; 0: none was sent */
    uint64_t next_ns;
    uint8_t tries;
} PathProbe;

/* Datagrams of how many bytes to begin with, when the route to @peer promises @datagram_max. */
size_t path_probe_start(PathProbe *p, const Addr *peer, size_t datagram_max);
/* Is it time for a PROBE? Then its @nonce was noted. */
bool path_probe_due(PathProbe *p, uint64_t nonce, uint64_t now_ns);
/* A PROBE_ACK came, in a datagram of @datagram bytes. Returns the size that is proven; 0: it proves
 * nothing. */
size_t path_probe_answered(PathProbe *p, uint64_t nonce, size_t datagram);
/* Smaller ones are lost already: no more of that. */
void path_probe_end(PathProbe *p);

#endif
