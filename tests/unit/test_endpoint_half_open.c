/* SPDX-License-Identifier: MIT */
/* Half-open sessions: bounded, replaced, and nothing to those that are whole. */
#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

/* Unsealed and sealed: most promises are the same. */
#define FOR_BOTH(keys) for (unsigned keys = 0; keys < 2; keys++)

TEST(half_open__oldest_is_replaced)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = pair_greet(&p);
        Dgram first = message(p.a, s, WIRE_PING, "first");
        /* Four others say HELLO before our first message comes. */
        for (uint16_t i = 1; i <= 4; i++) {
            Addr from = addr_sim(9, i), to = addr_sim(2, i);
            Session *other = endpoint_connect(p.a, &to, p.now_ns + i);
            Dgram hello = output(p.a, p.now_ns + i);
            assert_int_equal(give(p.b, &from, &hello, p.now_ns).reply.len, HELLO_DATAGRAM_SIZE);
            endpoint_forget(p.a, other);
        }
        assert_int_equal(p.b->half_open_count, 4);
        Got got = give_b(&p, &first);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);

        /* The RESET heals it. */
        p.now_ns += PAIR_RETRY_NS;
        Dgram longer = message(p.a, s, WIRE_PING, "long enough for a RESET");
        got = give_b(&p, &longer);
        assert_int_equal(got.reply.len, RESET_DATAGRAM_SIZE);
        got = give_a(&p, &got.reply);
        assert_int_equal(got.outcome, ENDPOINT_RESET);
        Dgram hello = output(p.a, p.now_ns);
        got = give_b(&p, &hello);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
        first = message(p.a, s, WIRE_PING, "again");
        got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "again"));
        pair_deinit(&p);
    }
}

TEST(half_open__disturbs_nothing_until_it_is_whole)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *old, *s;
        int marker;
        pair_init(&p, keys);
        s = pair_up(&p, &old);
        old->user = &marker;
        Dgram kept = message(p.a, s, WIRE_PING, "old"), late = message(p.a, s, WIRE_PING, "late");
        endpoint_forget(p.a, s);
        s = pair_greet(&p); /* the same address, another session */
        assert_non_null(s);

        Got got = give_b(&p, &kept);
        assert_true(is_message(&got, WIRE_PING, "old"));
        assert_ptr_equal(got.session, old);
        assert_int_equal(p.closed, 0);

        Dgram first = message(p.a, s, WIRE_PING, "first");
        got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));
        assert_int_equal(p.closed, 1);
        assert_ptr_equal(p.closed_user, &marker);
        assert_null(got.session->user);
        assert_ptr_equal(endpoint_find(p.b, &p.at_a), got.session);
        assert_null(endpoint_walk(p.b, got.session)); /* one session an address */

        got = give_b(&p, &late);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(endpoint_counters(p.b)->evicted, 0);
        pair_deinit(&p);
    }
}

/* The first message of an earlier session comes after its successor is up. */
TEST(half_open__outdated)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t;
        pair_init(&p, keys);
        Session *s = pair_greet(&p);
        Dgram late = message(p.a, s, WIRE_PING, "the late first message");
        endpoint_forget(p.a, s);
        s = pair_up(&p, &t);
        Got got = give_b(&p, &late);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(p.closed, 0);
        assert_int_equal(p.b->half_open_count, 0);
        Dgram next = message(p.a, s, WIRE_PING, "next");
        got = give_b(&p, &next);
        assert_true(is_message(&got, WIRE_PING, "next"));
        assert_ptr_equal(got.session, t);
        pair_deinit(&p);
    }
}

/* Recorded HELLOs, come again: keys are made for so many a second only, and others for as many as
 * there is room for; who repeats himself is not counted again. */
TEST(half_open__keys_are_made_at_a_bounded_rate)
{
    enum { MORE = 100 };
    FOR_BOTH(keys) {
        Pair p;
        unsigned answered = 0, later = 0;
        pair_init(&p, keys);
        for (unsigned i = 0; i < HELLO_BURST + MORE; i++) {
            Addr from = addr_sim(9, (uint16_t)(i + 1)), to = addr_sim(2, (uint16_t)(i + 1));
            Session *other = endpoint_connect(p.a, &to, p.now_ns);
            Dgram hello = output(p.a, p.now_ns);
            answered += give(p.b, &from, &hello, p.now_ns).reply.len > 0;
            if (i == 0)
                assert_int_equal(give(p.b, &from, &hello, p.now_ns).reply.len, HELLO_DATAGRAM_SIZE);
            endpoint_forget(p.a, other);
        }
        assert_int_equal(answered, keys ? HELLO_BURST : HELLO_BURST + MORE);
        assert_int_equal(endpoint_counters(p.b)->hello_limited, keys ? MORE : 0);
        /* A millisecond is worth 20 more. */
        p.now_ns += NS_PER_MS;
        for (unsigned i = 0; i < MORE; i++) {
            Addr from = addr_sim(10, (uint16_t)(i + 1)), to = addr_sim(2, (uint16_t)(i + 1));
            Session *other = endpoint_connect(p.a, &to, p.now_ns);
            Dgram hello = output(p.a, p.now_ns);
            later += give(p.b, &from, &hello, p.now_ns).reply.len > 0;
            endpoint_forget(p.a, other);
        }
        assert_int_equal(later, keys ? HELLO_RATE / 1000 : MORE);
        pair_deinit(&p);
    }
}

/* Peers who call on us never make us lose whom we called on. */
TEST(whole__takes_no_place_of_one_initiated_here)
{
    Pair p;
    pair_prepare(&p, 1);
    p.b_config.sessions_max = 1;
    pair_start_a(&p);
    pair_start_b(&p);
    Addr manager = addr_sim(7, 700);
    Session *ours = endpoint_connect(p.b, &manager, p.now_ns);
    assert_non_null(ours);
    p.now_ns += NS_PER_S;
    Session *s = pair_greet(&p);
    assert_non_null(s);
    Dgram first = message(p.a, s, WIRE_PING, "first");
    assert_int_equal(give_b(&p, &first).outcome, ENDPOINT_NOTHING);
    assert_int_equal(p.closed, 0);
    assert_ptr_equal(endpoint_connect(p.b, &manager, p.now_ns), ours);
    assert_int_equal(p.b->half_open_count, 0);
    endpoint_forget(p.b, ours);
    endpoint_forget(p.a, s);
    assert_non_null(pair_up(&p, NULL)); /* now there is room */
    pair_deinit(&p);
}
