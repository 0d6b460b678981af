/* SPDX-License-Identifier: MIT */
/* A session with a manager that is kept: it is set up where there is none, and its HELLO's back-off
 * starts again now and then while the manager is silent. Of several managers the one that is active
 * is looked for; its silence is noticed by PINGs. Pure. */
#ifndef DODO_PROTO_CONTACT_H
#define DODO_PROTO_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/endpoint.h"
#include "proto/fence.h"
#include "proto/finder.h"
#include "proto/silence.h"

/* So long after the first PING that is not answered, the next address is asked. */
#define CONTACT_QUIET_NS (600 * NS_PER_MS)
/* So often another address is looked at: a manager with a newer lease may be there, while the one
 * that we have does not know yet that its own is over. */
#define CONTACT_SCOUT_NS (2 * NS_PER_S)

typedef struct Contact {
    Finder finder;     /* of its addresses */
    Addr peer;         /* the one that the session is with */
    uint64_t every_ns; /* while it is silent */
    Session *session;  /* up or on its way; NULL: it died */
    uint64_t due_ns;   /* of contact_step(); TIME_NEVER: the session is up */
    Fence fence;
    Silence silence;
    bool off;      /* who is there stands by, or is not to be obeyed: the next one is asked */
    unsigned offs; /* so many in a row */
    bool standby;  /* who answered last stands by */
    bool stranger; /* ... or is no manager */
    struct {
        Session *session; /* with the address that is looked at; NULL: none is */
        unsigned at;      /* its place in finder.found */
        uint64_t due_ns;  /* of the next */
    } scout;
} Contact;

/* There is a manager that may be asked. */
static inline bool contact_is_up(const Contact *c)
{
    return c->session && c->session->up && !c->off;
}
/* True: the manager is to be sent a PING. */
bool contact_step(Contact *c, Endpoint *endpoint, uint64_t now_ns);
/* The session is up. False: it is with none to be obeyed; the next step asks another. */
bool contact_up(Contact *c, uint64_t now_ns);
/* A session is up: is it the one of a look at another manager? If that one has a newer lease, the
 * next step asks it. */
bool contact_scouted(Contact *c, const Session *session, uint64_t now_ns);
/* What has come in the session. False: it is not to be obeyed. */
bool contact_heard(Contact *c, uint8_t type, const uint8_t *payload, size_t len, uint64_t now_ns);
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
