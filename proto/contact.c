/* SPDX-License-Identifier: MIT */
#include "proto/contact.h"

#include "base/time.h"

void contact_step(Contact *c, Endpoint *endpoint, uint64_t now_ns)
{
    if (now_ns < c->due_ns)
        return;
    c->due_ns = TIME_NEVER;
    if (contact_is_up(c))
        return;
    const bool unknown = finder_peer(&c->finder).kind == ADDR_NONE;
    if ((c->session || unknown) && finder_silent(&c->finder, &c->peer)) {
        endpoint_forget(endpoint, c->session);
        c->session = NULL;
    }
    c->due_ns = time_add(now_ns, c->every_ns);
    c->peer = finder_peer(&c->finder);
    if (c->peer.kind != ADDR_NONE)
        c->session = endpoint_connect(endpoint, &c->peer, now_ns);
}

bool contact_closed(Contact *c, const Session *session)
{
    if (session != c->session)
        return false;
    c->session = NULL;
    c->due_ns = 0;
    return true;
}

static void begin_again(Contact *c, Endpoint *endpoint)
{
    if (c->session)
        endpoint_forget(endpoint, c->session);
    c->session = NULL;
    c->due_ns = 0;
}

void contact_found(Contact *c, Endpoint *endpoint, const Addr *found, unsigned count)
{
    if (finder_found(&c->finder, found, count) && !contact_is_up(c))
        begin_again(c, endpoint);
}

void contact_move(Contact *c, Endpoint *endpoint, const Places *places)
{
    finder_init(&c->finder, places);
    begin_again(c, endpoint);
}

void contact_renew(Contact *c, Endpoint *endpoint)
{
    (void)finder_silent(&c->finder, &c->peer);
    begin_again(c, endpoint);
}
