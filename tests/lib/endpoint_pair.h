/* SPDX-License-Identifier: MIT */
/* Two endpoints and the datagrams between them, for tests: `a` initiates, `b` responds. Every
 * datagram is given by hand, so that a test loses, repeats, reorders and forges as it likes.
 * Whatever is given, no reply may be larger than what it answers. */
#ifndef DODO_TESTS_ENDPOINT_PAIR_H
#define DODO_TESTS_ENDPOINT_PAIR_H

#include <stdlib.h>
#include <string.h>

#include "proto/endpoint_internal.h"
#include "tests/lib/sim_rng.h"

enum { PAIR_RETRY_NS = 1000, PAIR_B_EPOCH = 77, PAIR_CLUSTER = 0x1234, DGRAM_MAX = 2048 };

typedef struct Dgram {
    size_t len;
    uint8_t bytes[DGRAM_MAX];
} Dgram;

/* What came of a datagram; the payload is a copy that stays. */
typedef struct Got {
    enum EndpointOutcome outcome;
    Session *session;
    uint8_t type;
    Dgram payload;
    Dgram reply;
} Got;

typedef struct Pair {
    SimRng rng;
    Env env;
    EndpointConfig a_config, b_config;
    Endpoint *a, *b;
    Addr at_a, at_b;
    uint64_t now_ns;
    unsigned closed; /* sessions of b that were closed for it */
    void *closed_user;
} Pair;

static inline void pair_random(void *ctx, void *buf, size_t len)
{
    sim_rng_fill(ctx, buf, len);
}

static inline ClusterKey pair_key(uint8_t which)
{
    ClusterKey k;
    memset(k.bytes, which, sizeof k.bytes);
    return k;
}

static inline void pair_on_close(void *ctx, Session *s)
{
    Pair *p = ctx;
    p->closed++;
    p->closed_user = s->user;
}

/* A new process at b's address: nothing known of before. */
static inline void pair_start_b(Pair *p)
{
    endpoint_free(p->b);
    p->b = endpoint_new(&p->b_config, &p->env);
    if (!p->b)
        abort();
    endpoint_on_close(p->b, pair_on_close, p);
}

static inline void pair_start_a(Pair *p)
{
    endpoint_free(p->a);
    p->a = endpoint_new(&p->a_config, &p->env);
    if (!p->a)
        abort();
}

/* The configurations may be changed before pair_start_a() and _b(). */
static inline void pair_prepare(Pair *p, unsigned keys)
{
    *p = (Pair){.now_ns = 1000000, .at_a = addr_sim(1, 100), .at_b = addr_sim(2, 200)};
    sim_rng_init(&p->rng, 42, 0);
    p->env = (Env){.random = pair_random, .ctx = &p->rng};
    EndpointConfig config = {.cluster = PAIR_CLUSTER,
                             .keys = {pair_key(1), pair_key(2)},
                             .keys_count = keys,
                             .sessions_max = 4,
                             .half_open_max = 4,
                             .hello_retry_ns = PAIR_RETRY_NS};
    p->a_config = p->b_config = config;
    p->a_config.role = ROLE_CLIENT;
    p->a_config.self.bytes[0] = 0xaa;
    p->a_config.half_open_max = 0;
    p->b_config.role = ROLE_IMD;
    p->b_config.self.bytes[0] = 0xbb;
    p->b_config.epoch = PAIR_B_EPOCH;
}

static inline void pair_init(Pair *p, unsigned keys)
{
    pair_prepare(p, keys);
    pair_start_a(p);
    pair_start_b(p);
}

static inline void pair_deinit(Pair *p)
{
    endpoint_free(p->a);
    endpoint_free(p->b);
}

/* Gives a copy of the datagram, in memory of just its size, to @e. */
static inline Got give(Endpoint *e, const Addr *from, const Dgram *d, uint64_t now_ns)
{
    EndpointInput in;
    Got got = {0};
    uint8_t *copy = malloc(d->len ? d->len : 1);
    if (!copy)
        abort();
    memcpy(copy, d->bytes, d->len);
    memset(&in, 0xee, sizeof in);
    got.outcome = endpoint_input(e, from, copy, d->len, now_ns, &in);
    got.session = in.session;
    got.type = in.type;
    got.payload.len = in.payload_len;
    if (in.payload_len)
        memcpy(got.payload.bytes, in.payload, in.payload_len);
    got.reply.len = in.reply_len;
    memcpy(got.reply.bytes, in.reply, in.reply_len);
    if (got.reply.len > d->len)
        abort(); /* an amplifier */
    free(copy);
    return got;
}

static inline Got give_a(Pair *p, const Dgram *d)
{
    return give(p->a, &p->at_b, d, p->now_ns);
}

static inline Got give_b(Pair *p, const Dgram *d)
{
    return give(p->b, &p->at_a, d, p->now_ns);
}

/* The next HELLO of @e, at once; length 0 if there is none now. */
static inline Dgram output(Endpoint *e, uint64_t now_ns)
{
    Dgram d = {0};
    Addr to;
    d.len = endpoint_output(e, d.bytes, sizeof d.bytes, &to, now_ns);
    return d;
}

static inline Dgram message(Endpoint *e, Session *s, uint8_t type, const char *text)
{
    Dgram d = {0};
    d.len = endpoint_seal(e, s, type, (const uint8_t *)text, strlen(text), d.bytes);
    return d;
}

static inline bool is_message(const Got *got, uint8_t type, const char *text)
{
    return got->outcome == ENDPOINT_MESSAGE && got->session && got->type == type &&
           got->payload.len == strlen(text) &&
           memcmp(got->payload.bytes, text, got->payload.len) == 0 && got->reply.len == 0;
}

/* HELLO and HELLO_ACK; b's side stays half-open. Returns a's session, NULL if it did not come up.
 */
static inline Session *pair_greet(Pair *p)
{
    Session *s = endpoint_connect(p->a, &p->at_b, p->now_ns);
    Dgram hello = output(p->a, p->now_ns);
    Got asked = give_b(p, &hello);
    Got answered = give_a(p, &asked.reply);
    return answered.outcome == ENDPOINT_UP && answered.session == s ? s : NULL;
}

/* And a first message: whole at both ends. b's session goes to @ret_b unless NULL. */
static inline Session *pair_up(Pair *p, Session **ret_b)
{
    Session *s = pair_greet(p);
    if (!s)
        return NULL;
    Dgram first = message(p->a, s, WIRE_PING, "first");
    Got got = give_b(p, &first);
    if (!is_message(&got, WIRE_PING, "first"))
        return NULL;
    if (ret_b)
        *ret_b = got.session;
    return s;
}

/* Everything that was counted, in one number: to see that a datagram counted once. */
static inline uint64_t counted(const Endpoint *e)
{
    const EndpointCounters *c = endpoint_counters(e);
    return c->malformed + c->version + c->cluster + c->unknown_tag + c->unknown_type + c->unsealed +
           c->forged + c->replayed + c->hello_refused + c->evicted;
}

#endif
