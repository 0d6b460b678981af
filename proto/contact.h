/* SPDX-License-Identifier: MIT */
/* A session with one peer that is kept: it is set up where there is none, and its HELLO's back-off
 * starts again now and then while the peer is silent. Pure. */
#ifndef DODO_PROTO_CONTACT_H
#define DODO_PROTO_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/endpoint.h"
#include "proto/finder.h"

typedef struct Contact {
    Finder finder;     /* of its addresses */
    Addr peer;         /* the one that the session is with */
    uint64_t every_ns; /* while it is silent */
    Session *session;  /* up or on its way; NULL: it died */
    uint64_t due_ns;   /* of contact_step(); TIME_NEVER: the session is up */
} Contact;

static inline bool contact_is_up(const Contact *c)
{
    return c->session && c->session->up;
}
void contact_step(Contact *c, Endpoint *endpoint, uint64_t now_ns);
/* A session has ended: was it this one? It is due at once then. */
bool contact_closed(Contact *c, const Session *session);
/* What its names stand for: see finder_found(). A session that is up stays. */
void contact_found(Contact *c, Endpoint *endpoint, const Addr *found, unsigned count);
/* It may be at other places from now on. */
void contact_move(Contact *c, Endpoint *endpoint, const Places *places);
/* A peer that has started again does not know the session, and need not say so. Its names may
 * stand for another address by now. */
void contact_renew(Contact *c, Endpoint *endpoint);

#endif
