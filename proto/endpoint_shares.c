/* SPDX-License-Identifier: MIT */
/* Shares of the table of sessions. In a full table the least recently heard session makes room.
 * With that alone, one host that keeps opening sessions would drive out all others. So a host that
 * has its equal share of a full table makes room among its own sessions.
 *
 * A host is an address without its port. A hash with a secret of this endpoint's distinguishes
 * hosts; two of the same hash have one share between them. */
#include <stdlib.h>

#include "proto/endpoint_internal.h"

static HostShare *share_of(const Endpoint *e, const Addr *peer)
{
    Addr host = *peer;
    host.port = 0;
    return &e->peers.shares[mix64(addr_hash(&host) ^ e->peers.salt) & e->peers.mask];
}

bool shares_init(Endpoint *e)
{
    e->peers.shares = calloc(e->peers.mask + 1, sizeof *e->peers.shares);
    for (size_t i = 0; e->peers.shares && i <= e->peers.mask; i++)
        list_init(&e->peers.shares[i].sessions);
    return e->peers.shares;
}

void shares_enter(Endpoint *e, SessionCore *s)
{
    if (!e->peers.shares || s->initiated)
        return;
    HostShare *share = share_of(e, &s->session.peer);
    e->peers.hosts += share->count == 0;
    share->count++;
    list_push_back(&share->sessions, &s->of_host);
}

void shares_leave(Endpoint *e, SessionCore *s)
{
    if (list_empty(&s->of_host))
        return;
    HostShare *share = share_of(e, &s->session.peer);
    list_remove(&s->of_host);
    share->count--;
    e->peers.hosts -= share->count == 0;
}

void shares_heard(Endpoint *e, SessionCore *s)
{
    if (list_empty(&s->of_host))
        return;
    list_remove(&s->of_host);
    list_push_back(&share_of(e, &s->session.peer)->sessions, &s->of_host);
}

SessionCore *shares_victim(const Endpoint *e, const Addr *peer)
{
    const HostShare *share = e->peers.shares ? share_of(e, peer) : NULL;
    if (!share || (uint64_t)share->count * e->peers.hosts < e->config.sessions_max)
        return NULL;
    return CONTAINER_OF(share->sessions.next, SessionCore, of_host);
}
