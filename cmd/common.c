/* SPDX-License-Identifier: MIT */
/* What all files need: replies, what the log hears, hashes, chance. */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "cmd/manager_private.h"

void cmd_tell(Manager *m, const ManagerEvent *event, const char *why)
{
    ManagerEvent e = *event;
    e.at_ns = m->now_ns;
    event_reason(&e.reason, why);
    const ManagerEvent *kept = events_add(&m->events, &e);
    if (m->sink.event)
        m->sink.event(m->sink.ctx, kept);
}

void cmd_tell_host(Manager *m, const Host *h, enum EventKind kind, const char *why)
{
    const ManagerEvent event = {
        .kind = kind, .address = h->address, .id = h->epoch, .regions = h->regions_count};
    cmd_tell(m, &event, why);
}

void cmd_tell_owner(Manager *m, const Owner *o, enum EventKind kind, const char *why)
{
    const ManagerEvent event = {.kind = kind, .address = o->address, .id = o->epoch};
    cmd_tell(m, &event, why);
}

void cmd_tell_client(Manager *m, const CmdClient *c, const Addr *address, enum EventKind kind,
                     const char *why)
{
    ManagerEvent event = {.kind = kind, .id = get_u64(c->id.bytes), .regions = c->regions_count};
    if (address)
        event.address = *address;
    cmd_tell(m, &event, why);
}

uint64_t cmd_hash(uint64_t seed, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    uint64_t hash = mix64(seed ^ len);
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        hash = mix64(hash ^ word) + seed;
    }
    assert(len == 0);
    return hash;
}

uint64_t cmd_random_below(Manager *m, uint64_t n)
{
    if (m->random.left == 0) {
        m->env.random(m->env.ctx, m->random.of, sizeof m->random.of);
        m->random.left = RANDOM_POOL;
    }
    return m->random.of[--m->random.left] % n;
}

void cmd_reply(Manager *m, ReplyCache *cache, Session *session, uint64_t id, uint16_t op,
               uint16_t status, const uint8_t *body, size_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireReply reply = {.id = id, .op = op, .status = status, .body = body, .body_len = len};
    size_t n = wire_reply_encode(&reply, payload);

    /* Without memory the repeat of the request stays unanswered, as reply_cache_store() says. */
    if (cache)
        (void)reply_cache_store(cache, id, payload, n);
    if (session)
        m->sink.message(m->sink.ctx, session, WIRE_REPLY, payload, n);
}

enum RequestFate cmd_admit(Manager *m, ReplyCache *cache, Session *session,
                           const WireRequest *request)
{
    const uint8_t *reply = NULL;
    size_t len = 0;
    enum RequestFate fate = reply_cache_admit(cache, request, &reply, &len);

    if (fate == REQUEST_REPEAT)
        m->sink.message(m->sink.ctx, session, WIRE_REPLY, reply, len);
    return fate;
}
