/* SPDX-License-Identifier: MIT */
#include "proto/contact.h"

#include "base/num.h"
#include "base/time.h"

static bool has_others(const Contact *c)
{
    return c->finder.count > 1;
}

static void end_look(Contact *c, Endpoint *endpoint)
{
    if (c->scout.session)
        endpoint_forget(endpoint, c->scout.session);
    c->scout.session = NULL;
}

/* The one that is asked now gives way to the next; after a round, its names are looked at, too. */
static void give_way(Contact *c, Endpoint *endpoint)
{
    const bool round = c->offs >= c->finder.count;
    if (round)
        (void)finder_silent(&c->finder, &c->peer);
    else
        (void)finder_next(&c->finder, &c->peer);
    if (round)
        c->offs = 0;
    c->off = false;
    if (c->session)
        endpoint_forget(endpoint, c->session);
    c->session = NULL;
    end_look(c, endpoint);
}

static void call_on_it(Contact *c, Endpoint *endpoint, uint64_t now_ns)
{
    const bool unknown = finder_peer(&c->finder).kind == ADDR_NONE;
    if (c->off) {
        give_way(c, endpoint);
    } else if ((c->session || unknown) && finder_silent(&c->finder, &c->peer)) {
        endpoint_forget(endpoint, c->session);
        c->session = NULL;
    }
    c->due_ns = time_add(now_ns, has_others(c) ? min_u64(c->every_ns, FINDER_HOP_NS) : c->every_ns);
    c->peer = finder_peer(&c->finder);
    if (c->peer.kind != ADDR_NONE)
        c->session = endpoint_connect(endpoint, &c->peer, now_ns);
}

static void look_around(Contact *c, Endpoint *endpoint, uint64_t now_ns)
{
    if (now_ns < c->scout.due_ns)
        return;
    end_look(c, endpoint);
    c->scout.due_ns = time_add(now_ns, CONTACT_SCOUT_NS);
    c->scout.at = finder_other(&c->finder, c->scout.at);
    if (c->scout.at != c->finder.at)
        c->scout.session = endpoint_connect(endpoint, &c->finder.found[c->scout.at], now_ns);
}

/* True: a PING is wanted. A manager without others is missed by whom it owes an answer. */
static bool mind_silence(Contact *c, Endpoint *endpoint, uint64_t now_ns)
{
    const uint64_t heard_ns = c->session->heard_ns;
    if (!has_others(c))
        return false;
    if (heard_ns >= c->silence.since_ns)
        silence_answered(&c->silence);
    if (silence_is_long(&c->silence, FINDER_PING_NS, CONTACT_QUIET_NS, now_ns)) {
        contact_renew(c, endpoint);
        call_on_it(c, endpoint, now_ns);
        return false;
    }
    look_around(c, endpoint, now_ns);
    if (!c->session) /* it gave way to that one, in a full table */
        return false;
    c->due_ns = time_add(now_ns, FINDER_PING_NS);
    if (now_ns < time_add(heard_ns, FINDER_PING_NS)) {
        c->due_ns = time_add(heard_ns, FINDER_PING_NS);
        return false;
    }
    silence_asked(&c->silence, now_ns);
    return true;
}

bool contact_step(Contact *c, Endpoint *endpoint, uint64_t now_ns)
{
    if (now_ns < c->due_ns)
        return false;
    c->due_ns = TIME_NEVER;
    if (contact_is_up(c))
        return mind_silence(c, endpoint, now_ns);
    call_on_it(c, endpoint, now_ns);
    return false;
}

/* The session ends in the next step: who calls may still use it. */
static void turn_off(Contact *c, uint64_t now_ns)
{
    if (c->off)
        return;
    c->off = true;
    c->offs++;
    c->due_ns = c->offs < c->finder.count ? now_ns : time_add(now_ns, FINDER_ROUND_NS);
}

bool contact_up(Contact *c, uint64_t now_ns)
{
    const uint64_t number = c->session->peer_epoch;
    c->stranger = c->session->peer_role != ROLE_CMD;
    c->standby = !c->stranger && number == MANAGER_STANDBY;
    if (c->stranger || !fence_allows(&c->fence, number, now_ns)) {
        turn_off(c, now_ns);
        return false;
    }
    c->off = false;
    c->offs = 0;
    silence_answered(&c->silence);
    fence_heard(&c->fence, number, now_ns);
    return true;
}

bool contact_scouted(Contact *c, const Session *session, uint64_t now_ns)
{
    if (!session || session != c->scout.session)
        return false;
    const bool is_newer = session->peer_role == ROLE_CMD &&
                          session->peer_epoch != MANAGER_STANDBY && contact_is_up(c) &&
                          session->peer_epoch > c->session->peer_epoch;
    if (!is_newer)
        return true;
    fence_heard(&c->fence, session->peer_epoch, now_ns);
    finder_go(&c->finder, &session->peer);
    turn_off(c, now_ns);
    return true;
}

static bool says_so(const Contact *c, uint8_t type, const uint8_t *payload, size_t len)
{
    WireReply reply;
    uint64_t number;
    if (type == WIRE_GOODBYE)
        return wire_goodbye_decode(payload, len, &number) == 0 && number == c->session->peer_epoch;
    return type == WIRE_REPLY && wire_reply_decode(payload, len, &reply) == 0 &&
           reply.status == STATUS_STANDBY;
}

bool contact_heard(Contact *c, uint8_t type, const uint8_t *payload, size_t len, uint64_t now_ns)
{
    if (c->off)
        return false;
    if (says_so(c, type, payload, len)) {
        turn_off(c, now_ns);
        return false;
    }
    fence_heard(&c->fence, c->session->peer_epoch, now_ns);
    return true;
}

bool contact_closed(Contact *c, const Session *session)
{
    if (session == c->scout.session)
        c->scout.session = NULL;
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
    end_look(c, endpoint);
    c->off = false;
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
