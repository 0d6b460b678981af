/* SPDX-License-Identifier: MIT */
/* Programs and daemons of a later build: HELLO says that they understand something, their messages
 * say more at their end, and their reserved bytes are not zero. The linker puts these functions
 * before the product's own; unsealed DATA and WRITE do not come by here. */
#include <string.h>

#include "base/bytes.h"
#include "base/id.h"
#include "base/num.h"
#include "proto/endpoint_internal.h"
#include "tests/sim/world.h"

enum { MORE_MAX = 48, MUCH_MORE_EVERY = 32 };

size_t __real_endpoint_seal(Endpoint *e, Session *s, uint8_t type, const uint8_t *payload,
                            size_t len, uint8_t *out);
size_t __wrap_endpoint_seal(Endpoint *e, Session *s, uint8_t type, const uint8_t *payload,
                            size_t len, uint8_t *out);
size_t __real_wire_hello_encode(const WireHello *m, uint8_t *out);
size_t __wrap_wire_hello_encode(const WireHello *m, uint8_t *out);

/* Without a draw of the seed's: nothing else changes by it. */
void later_choose(Params *p, uint64_t seed)
{
    p->later = mix64(seed ^ 0x6c61746572) & 1;
}

uint64_t later_features(const World *w, const Id128 *self)
{
    uint64_t hash = mix64(get_u64(self->bytes) ^ w->seed);
    return w->p.later && (hash & 1) ? hash : 0;
}

/* ---- reserved bytes -------------------------------------------------------------------------- */

static const struct Reserved {
    uint8_t type;
    uint8_t op; /* 0: in the message itself; else in the body of such a request or reply */
    uint8_t at, count;
} reserved[] = {
    {WIRE_READ, 0, 58, 2},
    {WIRE_WRITE, 0, 37, 1},
    {WIRE_WRITE, 0, 70, 2},
    {WIRE_REQUEST, 0, 18, 6},
    {WIRE_REQUEST, OP_REPORT, 9, 7},
    {WIRE_REQUEST, OP_MOVES, 20, 4},
    {WIRE_REQUEST, OP_DRAIN, 25, 6},
    {WIRE_REQUEST, OP_JOIN, 36, 4}, /* the hint's, which these begin with */
    {WIRE_REQUEST, OP_BEAT, 36, 4},
    {WIRE_REQUEST, OP_LISTING, 36, 4},
    {WIRE_REQUEST, OP_PART, 36, 4},
    {WIRE_REPLY, 0, 12, 4},
    {WIRE_REPLY, OP_DRAIN, 10, 6},
    {WIRE_REPLY, OP_ALLOC, 36, 4},
    {WIRE_REPLY, OP_FREE, 36, 4},
    {WIRE_REPLY, OP_RELEASE, 36, 4},
    {WIRE_REPLY, OP_REOPEN, 36, 4},
};

static void use_reserved(uint8_t type, uint8_t *payload, size_t len)
{
    size_t op_at = type == WIRE_REQUEST ? 16 : 8;
    size_t body_at = type == WIRE_REQUEST ? WIRE_REQUEST_HEADER_SIZE : WIRE_REPLY_HEADER_SIZE;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        const struct Reserved *r = &reserved[i];
        size_t at = r->op ? body_at + r->at : r->at;
        if (r->type != type || at + r->count > len)
            continue;
        if (r->op == 0 || get_u16(payload + op_at) == r->op)
            memset(payload + at, 0xa5, r->count);
    }
}

size_t __wrap_wire_hello_encode(const WireHello *m, uint8_t *out)
{
    enum { RESERVED_AT = 69, MORE_AT = 80 };
    size_t len = __real_wire_hello_encode(m, out);
    if (m->features) {
        memset(out + RESERVED_AT, 0xa5, 3);
        memset(out + MORE_AT, 0xa5, 8);
    }
    return len;
}

/* ---- what follows ---------------------------------------------------------------------------- */

static size_t longest(uint8_t type)
{
    switch (type) {
    case WIRE_DATA:
    case WIRE_WRITE:
    case WIRE_PROBE:
    case WIRE_PROBE_ACK:
        return 0;
    case WIRE_REPLY:
        return WIRE_REPLY_HEADER_SIZE + WIRE_BODY_MAX;
    default:
        return WIRE_PAYLOAD_MAX;
    }
}

static size_t say_more(uint8_t type, uint8_t *payload, size_t len, uint64_t hash)
{
    uint64_t room = sub_u64(longest(type), len);
    uint64_t more = hash % MUCH_MORE_EVERY == 0 ? room : min_u64(hash % MORE_MAX, room);
    memset(payload + len, (int)(hash >> 8 & 0xff), more);
    return len + more;
}

size_t __wrap_endpoint_seal(Endpoint *e, Session *s, uint8_t type, const uint8_t *payload,
                            size_t len, uint8_t *out)
{
    static uint8_t later[WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX];
    const SimEnv *env = e->env.ctx;
    if (e->config.features == 0 || !s->up || len > sizeof later - WIRE_PAYLOAD_MAX)
        return __real_endpoint_seal(e, s, type, payload, len, out);
    if (len)
        memcpy(later, payload, len);
    use_reserved(type, later, len);
    size_t now =
        say_more(type, later, len, mix64(env->world->seed ^ e->serial ^ s->heard_ns ^ len));
    cover_add(env->world, COVER_SAYS_MORE, now > len);
    return __real_endpoint_seal(e, s, type, later, now, out);
}
