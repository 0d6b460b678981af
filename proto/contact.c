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
    c->session = endpoint_connect(endpoint, &c->peer, now_ns);
    c->due_ns = time_add(now_ns, c->every_ns);
}

bool contact_closed(Contact *c, const Session *session)
{
    if (session != c->session)
        return false;
    c->session = NULL;
    c->due_ns = 0;
    return true;
}

void contact_renew(Contact *c, Endpoint *endpoint)
{
    if (c->session)
        endpoint_forget(endpoint, c->session);
    c->session = NULL;
    c->due_ns = 0;
}
