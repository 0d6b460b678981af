/* SPDX-License-Identifier: MIT */
/* An initiator and a responder, sealed or not, and a network that does what the input says: loses,
 * repeats, reorders, forges, moves to other addresses, makes datagrams up. Whatever it does, no
 * reply is larger than what it answers, the tables keep their bounds, and sealed, only what one
 * end said arrives at the other, at most once. */
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/time.h"
#include "proto/endpoint.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

enum {
    PEERS = 4,        /* addresses of each end */
    TABLE = 3,        /* sessions, and half-open ones, of an end */
    MAIL = 16,        /* datagrams on their way */
    SAID_MAX = 256,   /* messages of a run */
    DGRAM_MAX = 1300, /* longer than any that these ends make */
    STEPS_MAX = 600,
};

enum Step {
    STEP_CONNECT,
    STEP_OUTPUT,
    STEP_DELIVER,
    STEP_FORGE,
    STEP_MISLEAD,
    STEP_SAY,
    STEP_RAW,
    STEP_DRESSED,
    STEP_WAIT,
    STEP_FORGET,
    STEP_RESTART,
    STEP_KINDS
};

typedef struct Mail {
    size_t len;
    unsigned to;   /* 0, 1: which end */
    unsigned peer; /* which of the other end's addresses it comes from */
    uint8_t bytes[DGRAM_MAX];
} Mail;

typedef struct World {
    Input in;
    uint64_t random;
    uint64_t now_ns;
    EndpointConfig configs[2];
    Endpoint *ends[2];
    Mail mail[MAIL];
    unsigned mail_next;
    unsigned said_count;
    uint8_t said_by[SAID_MAX];
    bool heard[SAID_MAX];
    unsigned closed;
} World;

/* ---- the two ends --------------------------------------------------------------------------- */

static Addr addr_of(unsigned end, unsigned peer)
{
    return addr_sim((uint16_t)(end + 1), (uint16_t)(peer + 1));
}

static void on_close(void *ctx, Session *s)
{
    World *w = ctx;
    FUZZ_CHECK(s->peer.kind == ADDR_SIM);
    w->closed++;
}

static void end_start(World *w, unsigned end)
{
    Env env = {.random = fuzz_random, .ctx = &w->random};
    endpoint_free(w->ends[end]);
    w->ends[end] = endpoint_new(&w->configs[end], &env);
    FUZZ_CHECK(w->ends[end]);
    endpoint_on_close(w->ends[end], on_close, w);
}

static void world_init(World *w, const uint8_t *data, size_t size)
{
    *w = (World){.in = {data, size}, .now_ns = 1000};
    uint8_t how = take_u8(&w->in);
    for (unsigned end = 0; end < 2; end++) {
        EndpointConfig *c = &w->configs[end];
        *c = (EndpointConfig){.cluster = 5,
                              .keys_count = how % 3,
                              .role = end ? ROLE_CMD : ROLE_CLIENT,
                              .self = {{(uint8_t)(end + 1)}},
                              .sessions_max = TABLE,
                              .half_open_max = TABLE,
                              .hello_retry_ns = 100};
        /* With two keys the ends have them the other way round. */
        c->keys[end && how % 3 == 2].bytes[0] = 1;
        c->keys[!(end && how % 3 == 2)].bytes[0] = 2;
        end_start(w, end);
    }
    if (how & 0x80) /* the initiator answers nobody */
        w->configs[0].half_open_max = 0;
    end_start(w, 0);
}

/* ---- datagrams ------------------------------------------------------------------------------ */

static void post(World *w, unsigned to, unsigned peer, const uint8_t *bytes, size_t len)
{
    Mail *m = &w->mail[w->mail_next++ % MAIL];
    m->to = to;
    m->peer = peer;
    m->len = len;
    memcpy(m->bytes, bytes, len);
}

/* Every message is its number and its sender; none of it is made up on the way. */
static void check_message(World *w, unsigned end, const EndpointInput *in)
{
    if (w->configs[0].keys_count == 0)
        return;
    FUZZ_CHECK(in->payload_len == 8);
    uint64_t number = get_u64(in->payload);
    FUZZ_CHECK(number < w->said_count);
    FUZZ_CHECK(w->said_by[number] != end);
    FUZZ_CHECK(!w->heard[number]);
    w->heard[number] = true;
}

static void check_outcome(World *w, unsigned end, const Addr *from, enum EndpointOutcome outcome,
                          const EndpointInput *in)
{
    switch (outcome) {
    case ENDPOINT_NOTHING:
        FUZZ_CHECK(!in->payload);
        return;
    case ENDPOINT_MESSAGE:
        FUZZ_CHECK(in->session->up && in->session->heard_ns == w->now_ns);
        check_message(w, end, in);
        break;
    case ENDPOINT_UP:
        FUZZ_CHECK(in->session->up && in->session->heard_ns == w->now_ns);
        break;
    case ENDPOINT_RESET:
        FUZZ_CHECK(in->session->up && endpoint_deadline(w->ends[end]) <= w->now_ns);
        break;
    }
    FUZZ_CHECK(addr_equal(&in->session->peer, from));
    FUZZ_CHECK(in->reply_len == 0);
}

static void deliver(World *w, unsigned end, unsigned peer, const uint8_t *bytes, size_t len)
{
    Addr from = addr_of(!end, peer);
    EndpointInput in;
    uint8_t *copy = malloc(len ? len : 1); /* of its very size, for the sanitizer */
    FUZZ_CHECK(copy);
    if (len > 0)
        memcpy(copy, bytes, len);
    enum EndpointOutcome outcome = endpoint_input(w->ends[end], &from, copy, len, w->now_ns, &in);
    FUZZ_CHECK(in.reply_len <= len);
    FUZZ_CHECK(!in.payload || (in.payload >= copy && in.payload + in.payload_len <= copy + len));
    check_outcome(w, end, &from, outcome, &in);
    free(copy);
    if (in.reply_len > 0)
        post(w, !end, peer, in.reply, in.reply_len);
}

static Session *session_pick(World *w, unsigned end, unsigned which)
{
    Session *s = endpoint_walk(w->ends[end], NULL);
    unsigned count = s != NULL;
    for (Session *next = s; next && (next = endpoint_walk(w->ends[end], next)); count++)
        if (count <= which % TABLE)
            s = next;
    FUZZ_CHECK(count <= TABLE);
    return s;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void step_output(World *w, unsigned end)
{
    uint8_t out[DGRAM_MAX];
    Addr to;
    size_t len = endpoint_output(w->ends[end], out, sizeof out, &to, w->now_ns);
    if (len > 0)
        post(w, !end, to.port - 1u, out, len);
}

static void step_say(World *w, unsigned end)
{
    uint8_t payload[8], out[DGRAM_MAX];
    Session *s = session_pick(w, end, take_u8(&w->in));
    if (!s || w->said_count >= SAID_MAX)
        return;
    put_u64(payload, w->said_count);
    w->said_by[w->said_count++] = (uint8_t)end;
    size_t len = endpoint_seal(w->ends[end], s, WIRE_PING, payload, sizeof payload, out);
    FUZZ_CHECK(len == sizeof payload + endpoint_overhead(w->ends[end]));
    post(w, !end, s->peer.port - 1u, out, len);
}

static void step_forge(World *w, const Mail *m)
{
    uint8_t bytes[DGRAM_MAX];
    size_t len = m->len;
    memcpy(bytes, m->bytes, len);
    size_t at = take_u16(&w->in);
    uint8_t flip = take_u8(&w->in);
    if (len > 0 && flip != 0)
        bytes[at % len] ^= flip;
    else
        len = len ? at % len : 0;
    deliver(w, m->to, m->peer, bytes, len);
}

/* Bytes of the input; dressed, behind a header that could be genuine. */
static void step_raw(World *w, unsigned end, bool dressed)
{
    uint8_t bytes[DGRAM_MAX];
    const Mail *m = &w->mail[take_u8(&w->in) % MAIL];
    uint8_t how = take_u8(&w->in);
    size_t len = take_u8(&w->in);
    take(&w->in, bytes, len);
    if (dressed && len >= WIRE_HEADER_SIZE) {
        WireHeader h = {.version = WIRE_VERSION,
                        .type = how % 40,
                        .flags = how >= 128,
                        .cluster = w->configs[0].cluster,
                        .tag = get_u64(m->bytes + 8)};
        wire_header_encode(&h, bytes);
    }
    deliver(w, end, m->peer, bytes, len);
}

static void step_forget(World *w, unsigned end)
{
    Addr peer = addr_of(!end, take_u8(&w->in) % PEERS);
    Session *s = endpoint_find(w->ends[end], &peer);
    if (s)
        endpoint_forget(w->ends[end], s);
}

static void step(World *w)
{
    uint8_t kind = take_u8(&w->in), which = take_u8(&w->in);
    unsigned end = kind >= 128;
    const Mail *m = &w->mail[which % MAIL];
    switch ((enum Step)(kind % 128 % STEP_KINDS)) {
    case STEP_CONNECT: {
        Addr peer = addr_of(!end, which % PEERS);
        Session *s = endpoint_connect(w->ends[end], &peer, w->now_ns);
        FUZZ_CHECK(!s || endpoint_find(w->ends[end], &peer) == s);
        break;
    }
    case STEP_OUTPUT:
        step_output(w, end);
        break;
    case STEP_DELIVER:
        deliver(w, m->to, m->peer, m->bytes, m->len);
        break;
    case STEP_FORGE:
        step_forge(w, m);
        break;
    case STEP_MISLEAD:
        deliver(w, end, which / MAIL % PEERS, m->bytes, m->len);
        break;
    case STEP_SAY:
        step_say(w, end);
        break;
    case STEP_RAW:
    case STEP_DRESSED:
        step_raw(w, end, kind % 128 % STEP_KINDS == STEP_DRESSED);
        break;
    case STEP_WAIT:
        w->now_ns += which;
        break;
    case STEP_FORGET:
        step_forget(w, end);
        break;
    case STEP_RESTART:
        end_start(w, end);
        break;
    case STEP_KINDS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World w;
    world_init(&w, data, size);
    for (unsigned i = 0; i < STEPS_MAX && w.in.left > 0; i++)
        step(&w);
    for (unsigned end = 0; end < 2; end++) {
        (void)session_pick(&w, end, 0);
        for (unsigned sent = 0; endpoint_deadline(w.ends[end]) <= w.now_ns; sent++) {
            FUZZ_CHECK(sent < TABLE);
            step_output(&w, end);
        }
        w.ends[end] = endpoint_free(w.ends[end]);
    }
    return 0;
}
