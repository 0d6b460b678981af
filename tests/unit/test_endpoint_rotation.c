/* SPDX-License-Identifier: MIT */
/* Rotation of keys: any key that both ends have brings a session up. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

enum { KEY_ID_AT = WIRE_HEADER_SIZE + 8 + 16 + 16 + 16 + 8 };

#define SAME_DGRAM(x, y)                                    \
    do {                                                    \
        assert_int_equal((x).len, (y).len);                 \
        assert_memory_equal((x).bytes, (y).bytes, (x).len); \
    } while (0)

TEST(rotation__any_common_key)
{
    static const struct {
        uint8_t a[CLUSTER_KEYS_MAX], b[CLUSTER_KEYS_MAX];
        unsigned tries; /* HELLOs until it is up; 0: never */
    } cases[] = {
        {{1, 0}, {1, 0}, 1}, {{1, 0}, {1, 2}, 1}, {{1, 0}, {2, 1}, 1}, {{1, 2}, {2, 1}, 1},
        {{2, 1}, {1, 0}, 3}, {{1, 2}, {2, 0}, 3}, {{1, 0}, {2, 0}, 0}, {{3, 4}, {1, 2}, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pair p;
        unsigned tries = 0;
        bool up = false;
        pair_prepare(&p, 0);
        for (unsigned k = 0; k < CLUSTER_KEYS_MAX; k++) {
            p.a_config.keys[k] = pair_key(cases[i].a[k]);
            p.b_config.keys[k] = pair_key(cases[i].b[k]);
            p.a_config.keys_count += cases[i].a[k] != 0;
            p.b_config.keys_count += cases[i].b[k] != 0;
        }
        pair_start_a(&p);
        pair_start_b(&p);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        while (!up && tries < 10) {
            p.now_ns = endpoint_deadline(p.a);
            Dgram hello = output(p.a, p.now_ns);
            Got asked = give_b(&p, &hello);
            tries++;
            up = asked.reply.len > 0 && give_a(&p, &asked.reply).outcome == ENDPOINT_UP;
        }
        assert_int_equal(up ? tries : 0, cases[i].tries);
        if (up) {
            Dgram first = message(p.a, s, WIRE_PING, "first");
            Got got = give_b(&p, &first);
            assert_true(is_message(&got, WIRE_PING, "first"));
        } else {
            assert_int_equal(endpoint_counters(p.b)->hello_refused, tries);
        }
        pair_deinit(&p);
    }
}

/* The answer to the first try comes after the HELLO was tried with the other key too. */
TEST(rotation__answers_cross)
{
    for (unsigned late = 0; late < 2; late++) {
        Pair p;
        Dgram acks[3];
        pair_init(&p, 2);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        for (unsigned i = 0; i < 3; i++) {
            p.now_ns = endpoint_deadline(p.a);
            Dgram hello = output(p.a, p.now_ns);
            acks[i] = give_b(&p, &hello).reply;
            assert_int_equal(acks[i].len, HELLO_DATAGRAM_SIZE);
        }
        SAME_DGRAM(acks[0], acks[1]); /* made with the same key */
        assert_memory_equal(acks[0].bytes + KEY_ID_AT, &p.b->key_ids[0], 4);
        assert_memory_equal(acks[2].bytes + KEY_ID_AT, &p.b->key_ids[1], 4);
        assert_int_equal(give_a(&p, &acks[late ? 0 : 2]).outcome, ENDPOINT_UP);
        assert_int_equal(give_a(&p, &acks[late ? 2 : 0]).outcome, ENDPOINT_NOTHING);
        Dgram first = message(p.a, s, WIRE_PING, "first");
        Got got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));
        pair_deinit(&p);
    }
}

TEST(cluster_key_id__public_number)
{
    ClusterKey one = pair_key(1), two = pair_key(2);
    assert_int_not_equal(cluster_key_id(&one), 0);
    assert_int_equal(cluster_key_id(&one), cluster_key_id(&one));
    assert_int_not_equal(cluster_key_id(&one), cluster_key_id(&two));
}

/* ---- other keys while all goes on ------------------------------------------------------------ */

TEST(keys_set__renews_within_a_minute)
{
    Pair p;
    Session *t;
    const ClusterKey both[] = {pair_key(7), pair_key(1)}, next = pair_key(7);
    pair_init(&p, 1);
    Session *s = pair_up(&p, &t);
    assert_non_null(s);
    /* First both ends take the new key beside the old one, then without it. */
    assert_int_equal(endpoint_keys_set(p.b, both, 2, p.now_ns), 0);
    Dgram there = message(p.a, s, WIRE_PING, "there");
    Got got = give_b(&p, &there);
    assert_true(is_message(&got, WIRE_PING, "there"));
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER); /* nothing was revoked */
    assert_int_equal(endpoint_keys_set(p.a, both, 2, p.now_ns), 0);
    Dgram hello = output(p.a, p.now_ns); /* it renews by itself, with the new key */
    assert_true(hello.len > 0);
    got = give_b(&p, &hello);
    assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
    assert_int_equal(session_core(s)->key, 0);
    there = message(p.a, s, WIRE_PING, "again");
    got = give_b(&p, &there);
    assert_true(is_message(&got, WIRE_PING, "again"));
    t = got.session;
    assert_int_equal(endpoint_keys_set(p.a, &next, 1, p.now_ns), 0);
    assert_int_equal(endpoint_keys_set(p.b, &next, 1, p.now_ns), 0);
    assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
    there = message(p.b, t, WIRE_PONG, "back");
    got = give_a(&p, &there);
    assert_true(is_message(&got, WIRE_PONG, "back"));
    pair_deinit(&p);
}

/* A key file is read again while the renewal is under way: its answer counts all the same. */
TEST(keys_set__again_does_not_begin_again)
{
    Pair p;
    Session *t;
    const ClusterKey both[] = {pair_key(7), pair_key(1)};
    pair_init(&p, 1);
    Session *s = pair_up(&p, &t);
    assert_int_equal(endpoint_keys_set(p.b, both, 2, p.now_ns), 0);
    assert_int_equal(endpoint_keys_set(p.a, both, 2, p.now_ns), 0);
    Dgram hello = output(p.a, p.now_ns);
    Got got = give_b(&p, &hello);
    assert_int_equal(endpoint_keys_set(p.a, both, 2, p.now_ns), 0);
    assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
    assert_int_equal(session_core(s)->key, 0);
    pair_deinit(&p);
}

/* An answer from the peer calls a HELLO off that was to find out whether it is still there. One
 * with a new key must go out, though such a one was under way before. */
TEST(keys_set__is_not_called_off_by_an_answer)
{
    Pair p;
    const ClusterKey both[] = {pair_key(7), pair_key(1)};
    pair_init(&p, 1);
    Session *s = pair_up(&p, NULL);
    for (unsigned i = 1; i < UNHEARD_SENDS; i++)
        (void)message(p.a, s, WIRE_PING, "lost");
    p.now_ns = endpoint_deadline(p.a);
    Dgram hello = output(p.a, p.now_ns);
    Got got = give_b(&p, &hello);
    assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
    Dgram there = message(p.a, s, WIRE_PING, "there");
    got = give_b(&p, &there);
    assert_true(is_message(&got, WIRE_PING, "there"));
    assert_int_equal(endpoint_keys_set(p.b, both, 2, p.now_ns), 0);
    assert_int_equal(endpoint_keys_set(p.a, both, 2, p.now_ns), 0);
    Dgram back = message(p.b, got.session, WIRE_PONG, "back");
    got = give_a(&p, &back);
    assert_true(is_message(&got, WIRE_PONG, "back"));
    hello = output(p.a, p.now_ns);
    assert_int_equal(hello.len, HELLO_DATAGRAM_SIZE);
    got = give_b(&p, &hello);
    assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
    assert_int_equal(session_core(s)->key, 0);
    pair_deinit(&p);
}

/* Who has only the key that was stolen is out. */
TEST(keys_set__ends_sessions_of_a_key_that_is_gone)
{
    Pair p;
    Session *t;
    const ClusterKey next = pair_key(7);
    pair_init(&p, 1);
    Session *s = pair_up(&p, &t);
    assert_int_equal(endpoint_keys_set(p.b, &next, 1, p.now_ns), 0);
    Dgram there = message(p.a, s, WIRE_PING, "for a while"), late;
    Got got = give_b(&p, &there);
    assert_true(is_message(&got, WIRE_PING, "for a while"));
    endpoint_forget(p.a, s);
    assert_null(pair_greet(&p)); /* its HELLO counts no more */
    assert_int_equal(endpoint_deadline(p.b), p.now_ns + ENDPOINT_RENEW_NS);
    p.now_ns += ENDPOINT_RENEW_NS - 1;
    assert_int_equal(output(p.b, p.now_ns).len, 0);
    assert_int_equal(p.closed, 0);
    p.now_ns += 1;
    late = output(p.b, p.now_ns);
    assert_int_equal(late.len, 0);
    assert_int_equal(p.closed, 1);
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
    pair_deinit(&p);
}

/* A daemon that is reloaded more often than each minute does not let who has it stay. */
TEST(keys_set__again_does_not_put_the_end_off)
{
    Pair p;
    Session *t;
    const ClusterKey next = pair_key(7), later = pair_key(8);
    pair_init(&p, 1);
    assert_non_null(pair_up(&p, &t));
    const uint64_t end_ns = p.now_ns + ENDPOINT_RENEW_NS;
    assert_int_equal(endpoint_keys_set(p.b, &next, 1, p.now_ns), 0);
    p.now_ns += ENDPOINT_RENEW_NS / 2;
    assert_int_equal(endpoint_keys_set(p.b, &next, 1, p.now_ns), 0);
    assert_int_equal(endpoint_keys_set(p.b, &later, 1, p.now_ns), 0);
    assert_int_equal(endpoint_deadline(p.b), end_ns);
    assert_int_equal(output(p.b, end_ns).len, 0);
    assert_int_equal(p.closed, 1);
    pair_deinit(&p);
}

/* It had said HELLO before the keys changed, and comes in no more: as a session of the new key it
 * would stay. */
/* Also of one that has been the older of two for a while. */
TEST(keys_set__ends_sessions_of_an_older_key)
{
    Pair p;
    Session *t;
    const ClusterKey both[] = {pair_key(7), pair_key(1)}, others[] = {pair_key(9), pair_key(7)};
    pair_init(&p, 1);
    Session *s = pair_up(&p, &t);
    assert_non_null(s);
    assert_int_equal(endpoint_keys_set(p.b, both, 2, p.now_ns), 0);
    assert_int_equal(session_core(t)->key, 1);
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
    assert_int_equal(endpoint_keys_set(p.b, others, 2, p.now_ns), 0);
    uint64_t end_ns = endpoint_deadline(p.b);
    assert_true(end_ns != TIME_NEVER);
    assert_int_equal(output(p.b, end_ns).len, 0);
    assert_null(endpoint_find(p.b, &p.at_a));
    pair_deinit(&p);
}

TEST(keys_set__ends_half_open_sessions)
{
    Pair p;
    const ClusterKey next = pair_key(7);
    pair_init(&p, 1);
    Session *s = pair_greet(&p);
    assert_non_null(s);
    assert_int_equal(endpoint_keys_set(p.b, &next, 1, p.now_ns), 0);
    Dgram first = message(p.a, s, WIRE_PING, "first");
    Got got = give_b(&p, &first);
    assert_int_equal(got.outcome, ENDPOINT_NOTHING);
    assert_null(endpoint_find(p.b, &p.at_a));
    pair_deinit(&p);
}

TEST(has_keys__those_in_effect_in_their_order)
{
    Pair p;
    const ClusterKey next = pair_key(7);
    pair_init(&p, 1);
    const ClusterKey now[] = {pair_key(1), next}, turned[] = {next, pair_key(1)};
    assert_true(endpoint_has_keys(p.a, now, 1));
    assert_int_equal(endpoint_keys_set(p.a, now, 2, p.now_ns), 0);
    assert_int_equal(endpoint_keys_count(p.a), 2);
    assert_true(endpoint_has_keys(p.a, now, 2));
    assert_false(endpoint_has_keys(p.a, now, 1));
    assert_false(endpoint_has_keys(p.a, turned, 2));
    pair_deinit(&p);
    pair_init(&p, 0);
    assert_true(endpoint_has_keys(p.a, NULL, 0));
    assert_int_equal(endpoint_keys_count(p.a), 0);
    pair_deinit(&p);
}

TEST(keys_set__cannot_begin_or_end_sealing)
{
    Pair p;
    const ClusterKey key = pair_key(7);
    pair_init(&p, 1);
    assert_int_equal(endpoint_keys_set(p.a, NULL, 0, p.now_ns), -EINVAL);
    pair_deinit(&p);
    pair_init(&p, 0);
    assert_int_equal(endpoint_keys_set(p.a, &key, 1, p.now_ns), -EINVAL);
    assert_int_equal(endpoint_keys_set(p.a, NULL, 0, p.now_ns), 0);
    pair_deinit(&p);
}
