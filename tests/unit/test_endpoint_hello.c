/* SPDX-License-Identifier: MIT */
/* The handshake: lost, repeated, reordered, forged, replayed. */
#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

enum {
    MAC_OFFSET = HELLO_DATAGRAM_SIZE - WIRE_MAC_SIZE,
    KEY_ID_AT = WIRE_HEADER_SIZE + 8 + 16 + 16 + 16 + 8,
};

#define SAME_DGRAM(x, y)                                    \
    do {                                                    \
        assert_int_equal((x).len, (y).len);                 \
        assert_memory_equal((x).bytes, (y).bytes, (x).len); \
    } while (0)

/* Unsealed and sealed: most promises are the same. */
#define FOR_BOTH(keys) for (unsigned keys = 0; keys < 2; keys++)

TEST(handshake__comes_up)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns), *t;
        assert_non_null(s);
        assert_false(s->up);
        assert_int_equal(endpoint_deadline(p.a), p.now_ns);
        Dgram hello = output(p.a, p.now_ns), none = output(p.a, p.now_ns);
        assert_int_equal(hello.len, HELLO_DATAGRAM_SIZE);
        assert_int_equal(none.len, 0);

        Got asked = give_b(&p, &hello);
        assert_int_equal(asked.outcome, ENDPOINT_NOTHING);
        assert_int_equal(asked.reply.len, HELLO_DATAGRAM_SIZE);
        assert_null(endpoint_walk(p.b, NULL)); /* nothing is proven yet */
        assert_null(endpoint_find(p.b, &p.at_a));

        p.now_ns += 5;
        Got answered = give_a(&p, &asked.reply);
        assert_int_equal(answered.outcome, ENDPOINT_UP);
        assert_ptr_equal(answered.session, s);
        assert_true(s->up);
        assert_int_equal(s->heard_ns, p.now_ns);
        assert_int_equal(s->peer_epoch, PAIR_B_EPOCH);
        assert_int_equal(s->peer_role, ROLE_IMD);
        assert_true(id128_equal(&s->peer_id, &p.b_config.self));
        assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);

        Dgram first = message(p.a, s, WIRE_PING, "first");
        Got got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));
        t = got.session;
        assert_true(t->up);
        assert_true(addr_equal(&t->peer, &p.at_a));
        assert_true(id128_equal(&t->peer_id, &p.a_config.self));
        assert_int_equal(t->peer_role, ROLE_CLIENT);
        assert_int_equal(t->peer_epoch, 0);
        assert_ptr_equal(endpoint_find(p.b, &p.at_a), t);
        assert_ptr_equal(endpoint_walk(p.b, NULL), t);
        assert_null(endpoint_walk(p.b, t));

        Dgram back = message(p.b, t, WIRE_PONG, "back");
        got = give_a(&p, &back);
        assert_true(is_message(&got, WIRE_PONG, "back"));
        assert_int_equal(counted(p.a) + counted(p.b), 0);
        pair_deinit(&p);
    }
}

/* Both ends of a pair may initiate; the two sessions do not get in each other's way. */
/* Each end hears what the other understands, also after a renewal by another build. */
TEST(handshake__tells_features)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_prepare(&p, keys);
        p.a_config.features = 0x8000000000000001;
        pair_start_a(&p);
        pair_start_b(&p);
        Session *s = pair_up(&p, NULL);
        assert_true(s->peer_features == 0);
        assert_true(endpoint_find(p.b, &p.at_a)->peer_features == 0x8000000000000001);

        p.b_config.features = 6;
        pair_start_b(&p);
        Dgram ping = message(p.a, s, WIRE_PING, "to nobody");
        Got unknown = give_b(&p, &ping), reset = give_a(&p, &unknown.reply);
        assert_int_equal(reset.outcome, ENDPOINT_RESET);
        Dgram hello = output(p.a, p.now_ns);
        Got asked = give_b(&p, &hello), answered = give_a(&p, &asked.reply);
        assert_int_equal(answered.outcome, ENDPOINT_UP);
        assert_true(s->peer_features == 6);
        pair_deinit(&p);
    }
}

/* The reserved bytes and those of the features: with a key the MAC stands for each of them, without
 * one nobody looks at the reserved ones. */
TEST(hello__reserved_bytes)
{
    enum { FROM = KEY_ID_AT + 4 + 1, FEATURES = FROM + 3 };
    FOR_BOTH(keys) {
        for (size_t at = FROM; at < MAC_OFFSET; at++) {
            Pair p;
            pair_init(&p, keys);
            (void)endpoint_connect(p.a, &p.at_b, p.now_ns);
            Dgram hello = output(p.a, p.now_ns);
            hello.bytes[at] ^= 0x10;
            Got asked = give_b(&p, &hello);
            assert_int_equal(asked.reply.len, keys ? 0 : HELLO_DATAGRAM_SIZE);
            assert_int_equal(endpoint_counters(p.b)->forged, keys);
            asked.reply.bytes[at] ^= 0x10;
            if (!keys) {
                Got answered = give_a(&p, &asked.reply);
                assert_int_equal(answered.outcome, ENDPOINT_UP);
                assert_int_equal(answered.session->peer_features != 0,
                                 at >= FEATURES && at < FEATURES + 8);
            }
            pair_deinit(&p);
        }
    }
}

TEST(handshake__both_initiate)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t;
        pair_prepare(&p, keys);
        p.a_config.half_open_max = 4;
        pair_start_a(&p);
        pair_start_b(&p);
        Session *s = pair_up(&p, &t), *u = endpoint_connect(p.b, &p.at_a, p.now_ns);
        assert_ptr_not_equal(t, u);
        Dgram hello = output(p.b, p.now_ns);
        Dgram ack = give_a(&p, &hello).reply;
        assert_int_equal(give_b(&p, &ack).outcome, ENDPOINT_UP);
        Dgram first = message(p.b, u, WIRE_PING, "first");
        Got got = give_a(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));
        assert_ptr_not_equal(got.session, s);
        assert_ptr_equal(endpoint_find(p.a, &p.at_b), s);
        assert_ptr_equal(endpoint_find(p.b, &p.at_a), u);
        Dgram there = message(p.a, s, WIRE_PING, "there");
        got = give_b(&p, &there);
        assert_true(is_message(&got, WIRE_PING, "there"));
        assert_ptr_equal(got.session, t);
        assert_int_equal(p.closed, 0);
        pair_deinit(&p);
    }
}

TEST(hello__lost_is_sent_again_ever_more_slowly)
{
    Pair p;
    pair_init(&p, 1);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram first = output(p.a, p.now_ns);
    uint64_t wait_ns = PAIR_RETRY_NS;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(endpoint_deadline(p.a), p.now_ns + wait_ns);
        p.now_ns += wait_ns;
        Dgram early = output(p.a, p.now_ns - 1), again = output(p.a, p.now_ns);
        assert_int_equal(early.len, 0);
        SAME_DGRAM(again, first);
        wait_ns = wait_ns < PAIR_RETRY_NS << 8 ? 2 * wait_ns : wait_ns;
    }
    /* Somebody wants the session: the peer is asked sooner, but not faster than at first. */
    p.now_ns += 1;
    assert_non_null(endpoint_connect(p.a, &p.at_b, p.now_ns));
    assert_int_equal(endpoint_deadline(p.a), p.now_ns - 1 + PAIR_RETRY_NS);
    p.now_ns += PAIR_RETRY_NS;
    assert_int_equal(output(p.a, p.now_ns).len, HELLO_DATAGRAM_SIZE);
    assert_int_equal(endpoint_deadline(p.a), p.now_ns + PAIR_RETRY_NS);
    assert_int_equal(output(p.a, p.now_ns).len, 0);
    pair_deinit(&p);
}

TEST(endpoint_output__no_room)
{
    Pair p;
    uint8_t out[HELLO_DATAGRAM_SIZE];
    Addr to;
    pair_init(&p, 0);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    assert_int_equal(endpoint_output(p.a, out, sizeof out - 1, &to, p.now_ns), 0);
    assert_int_equal(endpoint_output(p.a, out, sizeof out, &to, p.now_ns), sizeof out);
    assert_true(addr_equal(&to, &p.at_b));
    pair_deinit(&p);
}

/* Keys are made of both ends' salts. */
TEST(hello__salts_are_new_each_time)
{
    FOR_BOTH(keys) {
        static const uint8_t none[WIRE_SALT_SIZE];
        WireHello asked[2], answered[2];
        Pair p;
        pair_init(&p, keys);
        for (unsigned i = 0; i < 2; i++) {
            Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
            Dgram hello = output(p.a, p.now_ns);
            Got got = give_b(&p, &hello);
            enum { PAYLOAD = HELLO_DATAGRAM_SIZE - WIRE_HEADER_SIZE };
            assert_int_equal(wire_hello_decode(hello.bytes + WIRE_HEADER_SIZE, PAYLOAD, &asked[i]),
                             0);
            assert_int_equal(
                wire_hello_decode(got.reply.bytes + WIRE_HEADER_SIZE, PAYLOAD, &answered[i]), 0);
            assert_memory_not_equal(asked[i].salt, none, WIRE_SALT_SIZE);
            assert_memory_not_equal(answered[i].salt, none, WIRE_SALT_SIZE);
            assert_memory_not_equal(answered[i].salt, asked[i].salt, WIRE_SALT_SIZE);
            endpoint_forget(p.a, s);
        }
        assert_memory_not_equal(asked[0].salt, asked[1].salt, WIRE_SALT_SIZE);
        assert_memory_not_equal(answered[0].salt, answered[1].salt, WIRE_SALT_SIZE);
        pair_deinit(&p);
    }
}

TEST(hello__repeated_gets_the_same_answer)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        Got one = give_b(&p, &hello), two = give_b(&p, &hello);
        SAME_DGRAM(one.reply, two.reply);

        assert_int_equal(give_a(&p, &two.reply).outcome, ENDPOINT_UP);
        Got late = give_a(&p, &one.reply); /* the other answer changes nothing */
        assert_int_equal(late.outcome, ENDPOINT_NOTHING);
        assert_int_equal(endpoint_counters(p.a)->replayed, 1);
        Dgram first = message(p.a, s, WIRE_PING, "first");
        Got got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));

        /* Still the same when the session is whole, and it is not disturbed. */
        Got three = give_b(&p, &hello);
        SAME_DGRAM(one.reply, three.reply);
        Dgram next = message(p.a, s, WIRE_PING, "next");
        Got more = give_b(&p, &next);
        assert_true(is_message(&more, WIRE_PING, "next"));
        assert_ptr_equal(more.session, got.session);
        assert_int_equal(p.closed, 0);
        pair_deinit(&p);
    }
}

TEST(hello__replayed_evicts_nobody)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_prepare(&p, keys);
        p.b_config.sessions_max = 1;
        p.b_config.half_open_max = 2;
        pair_start_a(&p);
        pair_start_b(&p);
        endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        endpoint_forget(p.a, endpoint_find(p.a, &p.at_b));
        Session *t, *s = pair_up(&p, &t);
        assert_non_null(s);
        /* From its own address and from a hundred others. */
        for (uint16_t i = 0; i < 100; i++) {
            Addr from = i == 0 ? p.at_a : addr_sim(50, i);
            Got got = give(p.b, &from, &hello, p.now_ns);
            assert_int_equal(got.reply.len, HELLO_DATAGRAM_SIZE);
            assert_true(p.b->half_open_count <= 2);
        }
        Dgram next = message(p.a, s, WIRE_PING, "next");
        Got got = give_b(&p, &next);
        assert_true(is_message(&got, WIRE_PING, "next"));
        assert_ptr_equal(got.session, t);
        assert_int_equal(p.closed, 0);
        assert_int_equal(endpoint_counters(p.b)->evicted, 0);
        pair_deinit(&p);
    }
}

/* Who replays a whole recorded session to a responder that has forgotten it gets a half-open one,
 * and nothing ever comes of it: other salts, other keys, another tag. */
TEST(hello__replayed_session)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        Got asked = give_b(&p, &hello);
        give_a(&p, &asked.reply);
        Dgram first = message(p.a, s, WIRE_PING, "first");
        give_b(&p, &first);
        pair_start_b(&p);

        Got got = give_b(&p, &hello);
        assert_int_equal(got.reply.len, HELLO_DATAGRAM_SIZE);
        uint64_t new_tag = CONTAINER_OF(p.b->half_open.next, SessionCore, order)->own.tag;
        got = give_b(&p, &first);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        if (keys) { /* even were the tag known: it is in every header */
            memcpy(first.bytes + 8, &new_tag, 8);
            got = give_b(&p, &first);
            assert_int_equal(got.outcome, ENDPOINT_NOTHING);
            assert_int_equal(endpoint_counters(p.b)->forged, 1);
        }
        assert_null(endpoint_walk(p.b, NULL));
        pair_deinit(&p);
    }
}

TEST(hello__forged)
{
    Pair p;
    pair_init(&p, 1);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    for (size_t bit = 0; bit < 8 * hello.len; bit++) {
        Dgram d = hello;
        uint64_t before = counted(p.b);
        d.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        Got got = give_b(&p, &d);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        /* Another type, made of the HELLO's, is a message of an unknown session. */
        assert_true(got.reply.len == 0 || (bit / 8 == 1 + 1 && got.reply.len == 24));
        assert_int_equal(counted(p.b), before + 1);
        assert_int_equal(p.b->half_open_count, 0);
    }
    assert_true(endpoint_counters(p.b)->forged > 8 * WIRE_MAC_SIZE);
    assert_int_equal(give_b(&p, &hello).reply.len, HELLO_DATAGRAM_SIZE);
    pair_deinit(&p);
}

TEST(hello__unsealed_must_have_no_mac)
{
    Pair p;
    pair_init(&p, 0);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    enum { PEER_SALT_AT = WIRE_HEADER_SIZE + 8 + 16 };
    static const size_t places[] = {KEY_ID_AT, PEER_SALT_AT, MAC_OFFSET, HELLO_DATAGRAM_SIZE - 1};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        Dgram d = hello;
        d.bytes[places[i]] ^= 1;
        assert_int_equal(give_b(&p, &d).reply.len, 0);
        assert_int_equal(counted(p.b), i + 1);
    }
    assert_int_equal(give_b(&p, &hello).reply.len, HELLO_DATAGRAM_SIZE);
    pair_deinit(&p);
}

TEST(hello__with_and_without_key)
{
    for (unsigned a_keys = 0; a_keys < 2; a_keys++) {
        Pair p;
        pair_prepare(&p, a_keys);
        p.b_config.keys_count = !a_keys;
        pair_start_a(&p);
        pair_start_b(&p);
        endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        assert_int_equal(give_b(&p, &hello).reply.len, 0);
        assert_int_equal(endpoint_counters(p.b)->hello_refused, 1);
        pair_deinit(&p);
    }
}

TEST(hello__nonsense_role)
{
    static const uint8_t roles[] = {ROLE_NONE, ROLE_MAX, ROLE_MAX + 1, 0x80, 0xff};
    enum { ROLE_AT = WIRE_HEADER_SIZE + 8 + 16 + 16 + 16 + 8 + 4 };
    Pair p;
    pair_init(&p, 0);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    assert_int_equal(hello.bytes[ROLE_AT], ROLE_CLIENT);
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        hello.bytes[ROLE_AT] = roles[i];
        assert_int_equal(give_b(&p, &hello).reply.len, 0);
        assert_int_equal(counted(p.b), i + 1);
    }
    hello.bytes[ROLE_AT] = ROLE_TOOL;
    assert_int_equal(give_b(&p, &hello).reply.len, HELLO_DATAGRAM_SIZE);
    pair_deinit(&p);
}

/* A datagram sent back to its sender must not make it its own peer. */
TEST(hello__echoed)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_prepare(&p, keys);
        p.a_config.half_open_max = 4;
        pair_start_a(&p);
        endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        assert_int_equal(give_a(&p, &hello).reply.len, 0);
        assert_int_equal(endpoint_counters(p.a)->hello_refused, 1);
        pair_deinit(&p);
    }
}

TEST(hello__not_welcome_at_an_initiator)
{
    Pair p;
    pair_init(&p, 1);
    endpoint_connect(p.b, &p.at_a, p.now_ns);
    Dgram hello = output(p.b, p.now_ns);
    assert_int_equal(give_a(&p, &hello).reply.len, 0);
    assert_int_equal(endpoint_counters(p.a)->hello_refused, 1);
    pair_deinit(&p);
}

TEST(header__foreign_version_and_cluster)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = pair_up(&p, NULL);
        Dgram all[] = {message(p.a, s, WIRE_PING, "x"), {0}};
        endpoint_forget(p.a, s);
        endpoint_connect(p.a, &p.at_b, p.now_ns);
        all[1] = output(p.a, p.now_ns);
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
            Dgram d = all[i];
            d.bytes[1] = (uint8_t)(7 + i);
            assert_int_equal(give_b(&p, &d).reply.len, 0);
            assert_int_equal(endpoint_counters(p.b)->version, i + 1);
            assert_int_equal(endpoint_version_seen(p.b), 7 + i);
            d = all[i];
            d.bytes[4] ^= 1;
            assert_int_equal(give_b(&p, &d).reply.len, 0);
            assert_int_equal(endpoint_counters(p.b)->cluster, i + 1);
        }
        assert_int_equal(counted(p.b), 4);
        pair_deinit(&p);
    }
}

/* ---- the answer ----------------------------------------------------------------------------- */

TEST(hello_ack__forged)
{
    Pair p;
    pair_init(&p, 1);
    Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    Dgram ack = give_b(&p, &hello).reply;
    for (size_t bit = 0; bit < 8 * ack.len; bit++) {
        Dgram d = ack;
        uint64_t before = counted(p.a);
        d.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        Got got = give_a(&p, &d);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(got.reply.len, 0);
        assert_int_equal(counted(p.a), before + 1);
        assert_false(s->up);
        assert_int_equal(s->heard_ns, 0);
    }
    assert_int_equal(give_a(&p, &ack).outcome, ENDPOINT_UP);
    pair_deinit(&p);
}

TEST(hello_ack__from_elsewhere_or_for_another)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        Dgram ack = give_b(&p, &hello).reply;
        Addr elsewhere = addr_sim(3, 300);
        Got got = give(p.a, &elsewhere, &ack, p.now_ns);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(endpoint_counters(p.a)->unknown_tag, 1);

        /* An answer with the right tag to another salt: as one of an earlier life would be. */
        enum { SALT_AT = WIRE_HEADER_SIZE + 8 };
        Dgram other = hello;
        other.bytes[SALT_AT] ^= 1;
        if (keys)
            seal_mac(&p.a->suite, p.a->mac_keys[0], other.bytes, MAC_OFFSET,
                     other.bytes + MAC_OFFSET);
        Dgram foreign = give_b(&p, &other).reply;
        assert_int_equal(foreign.len, HELLO_DATAGRAM_SIZE);
        assert_int_equal(give_a(&p, &foreign).outcome, ENDPOINT_NOTHING);
        assert_int_equal(endpoint_counters(p.a)->hello_refused, 1);
        assert_false(s->up);

        assert_int_equal(give_a(&p, &ack).outcome, ENDPOINT_UP);
        pair_deinit(&p);
    }
}

TEST(hello_ack__unasked)
{
    Pair p;
    pair_init(&p, 0);
    endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    Dgram ack = give_b(&p, &hello).reply;
    endpoint_forget(p.a, endpoint_find(p.a, &p.at_b));
    Got got = give_a(&p, &ack);
    assert_int_equal(got.outcome, ENDPOINT_NOTHING);
    assert_int_equal(got.reply.len, 0);
    assert_int_equal(endpoint_counters(p.a)->unknown_tag, 1);
    pair_deinit(&p);
}
