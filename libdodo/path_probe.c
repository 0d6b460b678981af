/* SPDX-License-Identifier: MIT */
#include "libdodo/path_probe.h"

enum { COMMON_MTU = 1500, IP4_UDP = 28, IP6_UDP = 48 };

size_t path_probe_start(PathProbe *p, const Addr *peer, size_t datagram_max)
{
    size_t common = COMMON_MTU - (peer->kind == ADDR_IP6 ? IP6_UDP : IP4_UDP);
    *p = (PathProbe){.datagram = datagram_max > common ? datagram_max : 0};
    return datagram_max > common ? common : datagram_max;
}

bool path_probe_due(PathProbe *p, uint64_t nonce, uint64_t now_ns)
{
    if (p->datagram == 0 || p->tries == PROBE_TRIES || now_ns < p->next_ns)
        return false;
    p->nonce = nonce ? nonce : 1;
    p->next_ns = now_ns + ((uint64_t)PROBE_FIRST_NS << p->tries);
    p->tries++;
    return true;
}

size_t path_probe_answered(PathProbe *p, uint64_t nonce, size_t datagram)
{
    if (p->datagram == 0 || p->nonce == 0 || nonce != p->nonce || datagram != p->datagram)
        return 0;
    p->datagram = 0;
    return datagram;
}

void path_probe_end(PathProbe *p)
{
    p->datagram = 0;
}
