/* SPDX-License-Identifier: MIT */
/* An imd's member with a manager and an owner, on the test's clock. */
#ifndef DODO_TESTS_IMD_MEMBER_FIXTURE_H
#define DODO_TESTS_IMD_MEMBER_FIXTURE_H

#include <string.h>

#include "base/time.h"
#include "imd/member.h"
#include "proto/wire.h"
#include "tests/lib/case.h"
#include "tests/lib/peer.h"

enum { THREADS = 2, PAGE = 4096, COMMANDS_MAX = 8, MESSAGES_MAX = 8 };
static const uint64_t EPOCH = 77, SILENCE_NS = 10 * NS_PER_S, LEAVE_NS = 4 * NS_PER_S;
static const Addr manager_at = {.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}};

typedef struct Fixture {
    ImdMember m;
    Endpoint *mine, *managers;
    uint64_t now_ns, requests;
    unsigned news[MEMBER_NEWS_MAX], given_back;
    bool hurries, deaf;
    uint64_t used_bytes, limit_bytes, rate_bytes;
    unsigned used_count;
    ImdCommand commands[COMMANDS_MAX];
    unsigned commands_count;
    WireRequest asked[MESSAGES_MAX]; /* without bodies */
    unsigned asked_count;
    OpBeat beat; /* the last one */
} Fixture;

static inline void sink_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload,
                                size_t len)
{
    Fixture *f = ctx;
    assert_ptr_equal(s, f->m.manager.session);
    if (type != WIRE_REQUEST)
        return;
    assert_true(f->asked_count < MESSAGES_MAX);
    const WireRequest *asked = &f->asked[f->asked_count++];
    assert_int_equal(wire_request_decode(payload, len, &f->asked[f->asked_count - 1]), 0);
    if (asked->op == OP_BEAT)
        assert_int_equal(wire_beat_decode(asked->body, asked->body_len, &f->beat), 0);
}

static inline void sink_command(void *ctx, const ImdCommand *command)
{
    Fixture *f = ctx;
    assert_true(f->commands_count < COMMANDS_MAX);
    /* A thread that is to give memory back hurries already when it hears of it. */
    assert_true(f->hurries || (command->kind != IMD_DROP && command->kind != IMD_UNFILL &&
                               command->kind != IMD_LEAVE));
    f->commands[f->commands_count++] = *command;
}

static inline void sink_give_all_back(void *ctx)
{
    Fixture *f = ctx;
    f->given_back++;
}

static inline void sink_hurry(void *ctx, bool on, uint64_t now_ns)
{
    Fixture *f = ctx;
    assert_int_equal(now_ns, f->now_ns);
    assert_int_not_equal(on, f->hurries);
    f->hurries = on;
}

static inline void sink_slow(void *ctx, uint64_t rate_bytes)
{
    Fixture *f = ctx;
    f->rate_bytes = rate_bytes;
}

static inline bool sink_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    Fixture *f = ctx;
    if (f->deaf)
        return false;
    f->used_bytes = used_bytes;
    f->limit_bytes = limit_bytes;
    f->used_count++;
    return true;
}

static inline void sink_news(void *ctx, enum MemberNews news)
{
    Fixture *f = ctx;
    f->news[news]++;
}

static inline void begin(Fixture *f, bool owned, enum WireRole manager_role)
{
    const Env env = {.random = peer_random};
    const ImdMemberSink sink = {sink_message, sink_command, sink_give_all_back, sink_hurry,
                                sink_slow,    sink_used,    sink_news,          f};
    const ImdMemberConfig config = {.control = {.epoch = EPOCH,
                                                .pool_bytes = 16 * PAGE,
                                                .threads = THREADS,
                                                .ports = {7701, 7702},
                                                .regions_max = 8,
                                                .extent_bytes = 16 * PAGE,
                                                .beat_ns = NS_PER_S,
                                                .manager_dead_ns = 5 * NS_PER_S},
                                    .manager = manager_at,
                                    .owned = owned,
                                    .owner_silence_ns = SILENCE_NS,
                                    .leave_deadline_ns = LEAVE_NS};
    *f = (Fixture){.now_ns = 100 * NS_PER_S};
    f->mine = peer_new(ROLE_IMD, 1, EPOCH);
    f->managers = peer_new(manager_role, 2, 0);
    assert_int_equal(member_init(&f->m, &config, &env, f->mine, &sink, f->now_ns), 0);
}

static inline void end(Fixture *f)
{
    member_deinit(&f->m);
    endpoint_free(f->mine);
    endpoint_free(f->managers);
}

static inline void elapse(Fixture *f, uint64_t ns)
{
    const uint64_t over = f->now_ns + ns;
    for (uint64_t due; (due = member_deadline(&f->m)) <= over;) {
        f->now_ns = due > f->now_ns ? due : f->now_ns;
        member_expire(&f->m, f->now_ns);
        assert_true(member_deadline(&f->m) > f->now_ns); /* a shell would spin */
        f->asked_count = 0;
    }
    f->now_ns = over;
}

/* The HELLO on its way and the answer back: the session is up. */
static inline void meet(Fixture *f)
{
    elapse(f, 5 * NS_PER_S); /* a new attempt is due */
    member_up(&f->m, peer_meet(f->mine, f->managers, f->now_ns), f->now_ns);
}

/* The oldest request that is not answered has this answer. */
static inline void answer(Fixture *f, enum Op op)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    const OpBeatReply beat = {0};
    WireReply reply = {.op = (uint16_t)op, .status = STATUS_OK};
    assert_true(f->asked_count > 0);
    assert_int_equal(f->asked[0].op, op);
    reply.id = f->asked[0].id;
    memmove(f->asked, f->asked + 1, --f->asked_count * sizeof *f->asked);
    if (op == OP_JOIN || op == OP_BEAT) {
        reply.body = body;
        reply.body_len = wire_beat_reply_encode(&beat, body);
    }
    member_message(&f->m, f->m.manager.session, WIRE_REPLY, out, wire_reply_encode(&reply, out),
                   f->now_ns);
}

static inline void join(Fixture *f)
{
    meet(f);
    answer(f, OP_JOIN);
    answer(f, OP_BEAT);
    assert_int_equal(f->news[MEMBER_JOINED], 1);
}

/* One region of @pages; the command that adds it is over, and it is filled. */
static inline void alloc(Fixture *f, unsigned pages)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    const OpAlloc ask = {.client = {{3}}, .key = {{9}}, .len = (uint64_t)pages * PAGE};
    WireRequest request = {.id = ++f->requests, .settled = 1, .op = OP_ALLOC, .body = body};
    request.body_len = wire_alloc_encode(&ask, body);
    member_message(&f->m, f->m.manager.session, WIRE_REQUEST, out,
                   wire_request_encode(&request, out), f->now_ns);
    assert_int_equal(f->commands_count, 1);
    assert_true(extents_take(f->commands[0].region.extents, 0, 1));
    member_done(&f->m, &f->commands[0], 0, f->now_ns);
    f->commands_count = 0;
}

static inline enum OwnerEvent hear(Fixture *f, const char *text)
{
    return member_heard(&f->m, text, strlen(text), f->now_ns);
}

#endif
