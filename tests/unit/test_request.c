/* SPDX-License-Identifier: MIT */
/* Requests: back-off, at-most-once execution. */
#include <stdlib.h>
#include <string.h>

/* With the switches, as the simulation builds it, so that the rule can be broken here. */
#define DODO_RULE_SWITCHES
#include "proto/request.c"

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/lib/sim_rng.h"

uint64_t dodo_broken_rules;

enum { REPLY_LEN = 20 };

/* ---- requester ------------------------------------------------------------------------------ */

static const RequestTimes times = {.first_retry_ns = 10, .retry_max_ns = 75, .deadline_ns = 1000};

TEST(request_output__backs_off)
{
    static const uint64_t sent_at[] = {100, 110, 130, 170, 245, 320, 395};
    uint8_t out[WIRE_PAYLOAD_MAX];
    Request r;
    WireRequest m;

    request_start(&r, 7, OP_OPEN, (const uint8_t *)"abc", 3, &times, 100);
    for (size_t i = 0; i < ARRAY_SIZE(sent_at); i++) {
        assert_int_equal(request_deadline(&r), sent_at[i]);
        if (i > 0)
            assert_int_equal(request_output(&r, 5, out, sent_at[i] - 1), 0);
        size_t len = request_output(&r, 5, out, sent_at[i]);
        assert_int_equal(wire_request_decode(out, len, &m), 0);
        assert_int_equal(m.id, 7);
        assert_int_equal(m.settled, 5);
        assert_int_equal(m.op, OP_OPEN);
        assert_int_equal(m.body_len, 3);
        assert_memory_equal(m.body, "abc", 3);
        assert_int_equal(r.tries, i + 1);
        assert_int_equal(request_output(&r, 5, out, sent_at[i]), 0);
    }
}

TEST(request_expire__gives_up)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    Request r;
    request_start(&r, 1, OP_CLOSE, NULL, 0, &times, 100);
    request_expire(&r, 1099);
    assert_int_equal(r.state, REQUEST_RUNNING);
    assert_int_equal(request_output(&r, 1, out, 1100), 0);
    assert_int_equal(request_deadline(&r), 100); /* never beyond the end */
    assert_true(request_output(&r, 1, out, 1099) > 0);
    assert_int_equal(request_deadline(&r), 1100);
    request_expire(&r, 1100);
    assert_int_equal(r.state, REQUEST_TIMED_OUT);
    assert_int_equal(request_deadline(&r), TIME_NEVER);
    assert_int_equal(request_output(&r, 1, out, 2000), 0);
    WireReply late = {.id = 1, .op = OP_CLOSE};
    assert_false(request_input(&r, &late, 1200));
    assert_int_equal(r.state, REQUEST_TIMED_OUT);
}

TEST(request_expire__never)
{
    RequestTimes forever = {10, 20, UINT64_MAX};
    uint8_t out[WIRE_PAYLOAD_MAX];
    Request r;
    request_start(&r, 1, OP_BEAT, NULL, 0, &forever, 1);
    request_expire(&r, UINT64_MAX - 1);
    assert_int_equal(r.state, REQUEST_RUNNING);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(request_output(&r, 1, out, request_deadline(&r)) > 0);
    assert_int_equal(r.tries, UINT8_MAX);
}

TEST(request_input__answers)
{
    static const struct {
        uint64_t id;
        uint16_t op, status;
        size_t len;
        bool ours;
        uint16_t told;
    } cases[] = {
        {8, OP_OPEN, STATUS_OK, 4, false, 0},
        {7, OP_CLOSE, STATUS_OK, 4, false, 0},
        {7, OP_OPEN, STATUS_OK, 4, true, STATUS_OK},
        {7, OP_OPEN, STATUS_NO_MEMORY, 0, true, STATUS_NO_MEMORY},
        {7, OP_OPEN, STATUS_MAX, 0, true, STATUS_PROTOCOL},
        {7, OP_OPEN, 0xffff, 4, true, STATUS_PROTOCOL},
        {7, OP_OPEN, STATUS_OK, WIRE_BODY_MAX, true, STATUS_OK},
        {7, OP_OPEN, STATUS_OK, WIRE_BODY_MAX + 1, true, STATUS_PROTOCOL},
    };
    static uint8_t body[WIRE_BODY_MAX + 1] = "answer";
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Request r;
        WireReply m = {cases[i].id, cases[i].op, cases[i].status, body, cases[i].len};
        request_start(&r, 7, OP_OPEN, NULL, 0, &times, 0);
        assert_int_equal(request_input(&r, &m, 5), cases[i].ours);
        assert_int_equal(r.state, cases[i].ours ? REQUEST_ANSWERED : REQUEST_RUNNING);
        if (!cases[i].ours)
            continue;
        assert_int_equal(r.status, cases[i].told);
        size_t len = cases[i].told == STATUS_PROTOCOL ? 0 : cases[i].len;
        assert_int_equal(r.answer_len, len);
        assert_memory_equal(r.answer, body, len);
        assert_int_equal(request_deadline(&r), TIME_NEVER);
        assert_false(request_input(&r, &m, 6)); /* a duplicate */
    }
}

TEST(request_postpone__moves_all_clocks)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    Request r;
    request_start(&r, 1, OP_OPEN, NULL, 0, &times, 100);
    assert_true(request_output(&r, 1, out, 100) > 0);
    request_postpone(&r, 5000);
    assert_int_equal(request_deadline(&r), 5110);
    request_expire(&r, 6099);
    assert_int_equal(r.state, REQUEST_RUNNING);
    request_expire(&r, 6100);
    assert_int_equal(r.state, REQUEST_TIMED_OUT);
}

TEST(request_resend__at_once)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    Request r;
    request_start(&r, 1, OP_OPEN, NULL, 0, &times, 0);
    for (uint64_t now = 0; now < 200; now++)
        (void)request_output(&r, 1, out, now);
    request_resend(&r, 201);
    assert_int_equal(request_deadline(&r), 201);
    assert_true(request_output(&r, 1, out, 201) > 0);
    assert_int_equal(request_deadline(&r), 211); /* the back-off starts again too */
    request_expire(&r, 1000);                    /* but not the deadline */
    assert_int_equal(r.state, REQUEST_TIMED_OUT);
}

/* ---- responder ------------------------------------------------------------------------------ */

static enum RequestFate admit(ReplyCache *c, uint64_t id, uint64_t settled)
{
    const uint8_t *reply = NULL;
    size_t len = 0;
    WireRequest m = {.id = id, .settled = settled, .op = OP_OPEN};
    enum RequestFate fate = reply_cache_admit(c, &m, &reply, &len);
    if (fate == REQUEST_REPEAT) {
        /* Replies of these tests are REPLY_LEN bytes of their id. */
        assert_int_equal(len, REPLY_LEN);
        for (size_t i = 0; i < len; i++)
            assert_int_equal(reply[i], (uint8_t)id);
    } else {
        assert_null(reply);
    }
    return fate;
}

static void store(ReplyCache *c, uint64_t id)
{
    uint8_t reply[REPLY_LEN];
    memset(reply, (int)(uint8_t)id, sizeof reply);
    assert_int_equal(reply_cache_store(c, id, reply, sizeof reply), 0);
}

TEST(reply_cache__once)
{
    ReplyCache c;
    reply_cache_init(&c);
    assert_int_equal(admit(&c, 1, 1), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 1, 1), REQUEST_PENDING);
    assert_int_equal(admit(&c, 2, 1), REQUEST_EXECUTE);
    store(&c, 2);
    assert_int_equal(admit(&c, 1, 1), REQUEST_PENDING);
    assert_int_equal(admit(&c, 2, 1), REQUEST_REPEAT);
    store(&c, 1);
    assert_int_equal(admit(&c, 1, 1), REQUEST_REPEAT);
    assert_int_equal(reply_cache_bytes(&c), 2 * REPLY_LEN);
    /* Both are over at the requester: their memory goes, and a late duplicate gets nothing. */
    assert_int_equal(admit(&c, 3, 3), REQUEST_EXECUTE);
    assert_int_equal(reply_cache_bytes(&c), 0);
    assert_int_equal(admit(&c, 1, 1), REQUEST_OVER);
    assert_int_equal(admit(&c, 2, 1), REQUEST_OVER);
    reply_cache_deinit(&c);
}

TEST(reply_cache__window)
{
    ReplyCache c;
    reply_cache_init(&c);
    assert_int_equal(admit(&c, NUMBERS_WINDOW, 1), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, NUMBERS_WINDOW + 1, 1), REQUEST_OVER);
    assert_int_equal(admit(&c, UINT64_MAX, 1), REQUEST_OVER);
    for (uint64_t id = 1; id < NUMBERS_WINDOW; id++)
        assert_int_equal(admit(&c, id, 1), REQUEST_EXECUTE);
    for (uint64_t id = 1; id <= NUMBERS_WINDOW; id++)
        store(&c, id);
    assert_int_equal(reply_cache_bytes(&c), NUMBERS_WINDOW * REPLY_LEN);
    for (uint64_t id = 1; id <= NUMBERS_WINDOW; id++)
        assert_int_equal(admit(&c, id, 1), REQUEST_REPEAT);
    /* One on: the next id takes the slot of the released one, all others stay. */
    assert_int_equal(admit(&c, NUMBERS_WINDOW + 1, 2), REQUEST_EXECUTE);
    store(&c, NUMBERS_WINDOW + 1);
    for (uint64_t id = 2; id <= NUMBERS_WINDOW + 1; id++)
        assert_int_equal(admit(&c, id, 2), REQUEST_REPEAT);
    assert_int_equal(admit(&c, 1, 1), REQUEST_OVER);
    /* Far on: everything is released. */
    assert_int_equal(admit(&c, 1000000, 999999), REQUEST_EXECUTE);
    assert_int_equal(reply_cache_bytes(&c), 0);
    assert_int_equal(admit(&c, 999999, 999999), REQUEST_EXECUTE);
    reply_cache_deinit(&c);
}

TEST(reply_cache__amnesia)
{
    ReplyCache c;
    reply_cache_init(&c);
    /* A responder that has just started sees a requester that is far on. */
    assert_int_equal(admit(&c, 500, 480), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 480, 480), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 479, 470), REQUEST_OVER);
    assert_int_equal(admit(&c, 543, 480), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 544, 480), REQUEST_OVER);
    reply_cache_deinit(&c);
}

/* One that says nothing of what it has closed has closed nothing. */
TEST(reply_cache__nothing_is_said_to_be_settled)
{
    ReplyCache c;
    reply_cache_init(&c);
    assert_int_equal(admit(&c, 7, 0), REQUEST_EXECUTE);
    store(&c, 7);
    assert_int_equal(admit(&c, 3, 0), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 9, 0), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 7, 0), REQUEST_REPEAT);
    reply_cache_deinit(&c);
}

TEST(reply_cache__nonsense)
{
    ReplyCache c;
    reply_cache_init(&c);
    assert_int_equal(admit(&c, 0, 0), REQUEST_OVER);
    assert_int_equal(admit(&c, 5, 6), REQUEST_OVER); /* closed by itself, and changes nothing */
    assert_int_equal(admit(&c, 5, 0), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 1, UINT64_MAX), REQUEST_OVER);
    assert_int_equal(admit(&c, 6, 1), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, UINT64_MAX, UINT64_MAX), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, UINT64_MAX, UINT64_MAX), REQUEST_PENDING);
    store(&c, UINT64_MAX);
    assert_int_equal(admit(&c, UINT64_MAX, UINT64_MAX), REQUEST_REPEAT);
    reply_cache_deinit(&c);
}

TEST(reply_cache_store__after_it_was_closed)
{
    ReplyCache c;
    reply_cache_init(&c);
    assert_int_equal(admit(&c, 1, 1), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 2, 2), REQUEST_EXECUTE); /* 1 was given up meanwhile */
    store(&c, 1);
    assert_int_equal(reply_cache_bytes(&c), 0);
    /* Not taken for the reply of the id that shares its slot. */
    assert_int_equal(admit(&c, 1 + NUMBERS_WINDOW, 2), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 1 + NUMBERS_WINDOW, 2), REQUEST_PENDING);
    store(&c, 500);
    assert_int_equal(reply_cache_bytes(&c), 0);
    reply_cache_deinit(&c);
}

TEST(reply_cache__broken_rule_executes_again)
{
    ReplyCache c;
    reply_cache_init(&c);
    dodo_broken_rules = (uint64_t)1 << DODO_RULE_REQUEST_ONCE;
    assert_int_equal(admit(&c, 1, 1), REQUEST_EXECUTE);
    store(&c, 1);
    assert_int_equal(admit(&c, 1, 1), REQUEST_EXECUTE);
    store(&c, 1);
    assert_int_equal(reply_cache_bytes(&c), REPLY_LEN);
    assert_int_equal(admit(&c, 1, 1), REQUEST_EXECUTE);
    dodo_broken_rules = 0;
    assert_int_equal(admit(&c, 2, 2), REQUEST_EXECUTE);
    assert_int_equal(admit(&c, 1, 1), REQUEST_OVER);
    reply_cache_deinit(&c);
}

/* ---- both ends over a bad network ----------------------------------------------------------- */

/* Requests are copied, held back for long and lost; each is executed at most once, whatever comes
 * late, and once a requester has an answer it is that of its own request. */
TEST(request__at_most_once_whatever_comes)
{
    enum { IN_FLIGHT = 512, RUNNING = 100, ROUNDS = 200000, IDS = ROUNDS };
    static WireRequest flight[IN_FLIGHT];
    static uint64_t running[RUNNING];
    uint8_t *executed = calloc(1, IDS);
    unsigned flying = 0, busy = 0, repeats = 0, over = 0;
    uint64_t open[NUMBERS_WINDOW] = {0};
    Numbers ids;
    ReplyCache c;
    SimRng rng;

    assert_non_null(executed);
    sim_rng_init(&rng, 1, 0);
    numbers_init(&ids, 1);
    reply_cache_init(&c);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned slot = (unsigned)sim_rng_below(&rng, NUMBERS_WINDOW);
        uint64_t fate = sim_rng_below(&rng, 10);
        if (open[slot] == 0) {
            open[slot] = numbers_take(&ids);
        } else if (fate == 0) { /* given up */
            numbers_end(&ids, open[slot]);
            open[slot] = 0;
        }
        if (open[slot] != 0) {
            WireRequest m = {.id = open[slot], .settled = numbers_lowest(&ids), .op = OP_OPEN};
            flight[flying < IN_FLIGHT ? flying++ : sim_rng_below(&rng, IN_FLIGHT)] = m;
        }
        if (flying > 0) { /* something comes, perhaps not for the last time */
            const WireRequest *m = &flight[sim_rng_below(&rng, flying)];
            switch (admit(&c, m->id, m->settled)) {
            case REQUEST_EXECUTE:
                assert_true(m->id < IDS);
                assert_int_equal(executed[m->id]++, 0);
                if (busy < RUNNING)
                    running[busy++] = m->id;
                break;
            case REQUEST_REPEAT:
                repeats++;
                assert_int_equal(executed[m->id], 1);
                break;
            case REQUEST_PENDING:
                assert_int_equal(executed[m->id], 1);
                break;
            case REQUEST_OVER:
                over++;
                assert_true(m->id < numbers_lowest(&ids));
                break;
            }
        }
        if (busy > 0 && fate < 5)
            store(&c, running[--busy]);
        assert_true(reply_cache_bytes(&c) <= NUMBERS_WINDOW * REPLY_LEN);
    }
    assert_true(numbers_lowest(&ids) > 4000 && repeats > 1000 &&
                over > 1000); /* it met all of it */
    reply_cache_deinit(&c);
    free(executed);
}
