/* SPDX-License-Identifier: MIT */
/* RESET: the hint that a peer does not know a session any more. */
#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

/* Unsealed and sealed: most promises are the same. */
#define FOR_BOTH(keys) for (unsigned keys = 0; keys < 2; keys++)

TEST(reset__peer_started_again)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t, *s;
        int marker;
        pair_init(&p, keys);
        s = pair_up(&p, &t);
        s->user = &marker;
        Dgram stale = message(p.b, t, WIRE_PONG, "of the old life");

        p.b_config.epoch = PAIR_B_EPOCH + 1;
        p.b_config.self.bytes[1] = 1;
        pair_start_b(&p);
        Dgram next = message(p.a, s, WIRE_PING, "is anybody there?");
        Got got = give_b(&p, &next);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(got.reply.len, RESET_DATAGRAM_SIZE);
        assert_int_equal(endpoint_counters(p.b)->unknown_tag, 1);

        got = give_a(&p, &got.reply);
        assert_int_equal(got.outcome, ENDPOINT_RESET);
        assert_ptr_equal(got.session, s);
        assert_true(s->up); /* meanwhile it counts */
        assert_int_equal(s->peer_epoch, PAIR_B_EPOCH);
        assert_int_equal(endpoint_deadline(p.a), p.now_ns);

        Dgram hello = output(p.a, p.now_ns);
        got = give_b(&p, &hello);
        got = give_a(&p, &got.reply);
        assert_int_equal(got.outcome, ENDPOINT_UP);
        assert_ptr_equal(got.session,
                         s); /* the same pointer, and what the upper layer hung on it */
        assert_ptr_equal(s->user, &marker);
        assert_int_equal(s->peer_epoch, PAIR_B_EPOCH + 1);
        assert_true(id128_equal(&s->peer_id, &p.b_config.self));

        next = message(p.a, s, WIRE_PING, "there");
        got = give_b(&p, &next);
        assert_true(is_message(&got, WIRE_PING, "there"));
        got = give_a(&p, &stale);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(got.reply.len, 0);
        assert_int_equal(p.a->by_tag.count, 1); /* the old tag is gone */
        pair_deinit(&p);
    }
}

/* Makes the RESET that says: I know no session by @tag. */
static Dgram reset_for(uint64_t tag)
{
    Dgram d = {.len = RESET_DATAGRAM_SIZE};
    WireHeader h = {.version = WIRE_VERSION, .type = WIRE_RESET, .cluster = PAIR_CLUSTER};
    wire_header_encode(&h, d.bytes);
    wire_reset_encode(tag, d.bytes + WIRE_HEADER_SIZE);
    return d;
}

static Dgram of_unknown_session(void)
{
    Dgram d = {.len = 100};
    WireHeader h = {.version = WIRE_VERSION, .type = WIRE_PING, .cluster = PAIR_CLUSTER, .tag = 9};
    wire_header_encode(&h, d.bytes);
    return d;
}

TEST(reset__is_only_a_hint)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t;
        pair_init(&p, keys);
        Session *s = pair_up(&p, &t);
        uint64_t tag = session_core(s)->peer_tag;
        Dgram right = reset_for(tag), wrong = reset_for(tag + 1);
        Addr elsewhere = addr_sim(3, 300);
        assert_int_equal(give_a(&p, &wrong).outcome, ENDPOINT_NOTHING);
        assert_int_equal(give(p.a, &elsewhere, &right, p.now_ns).outcome, ENDPOINT_NOTHING);
        assert_int_equal(endpoint_counters(p.a)->unknown_tag, 2);
        assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);

        /* Said by a stranger on the way: one HELLO, and the session works on in both directions. */
        assert_int_equal(give_a(&p, &right).outcome, ENDPOINT_RESET);
        assert_int_equal(give_a(&p, &right).outcome, ENDPOINT_NOTHING);
        Dgram there = message(p.a, s, WIRE_PING, "there"),
              back = message(p.b, t, WIRE_PONG, "back");
        Got got = give_b(&p, &there);
        assert_true(is_message(&got, WIRE_PING, "there"));
        got = give_a(&p, &back);
        assert_true(is_message(&got, WIRE_PONG, "back"));
        assert_int_equal(s->heard_ns, p.now_ns);

        /* No faster than one HELLO per retry time. */
        Dgram hello = output(p.a, p.now_ns);
        got = give_b(&p, &hello);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
        right = reset_for(session_core(s)->peer_tag);
        p.now_ns += PAIR_RETRY_NS - 1;
        assert_int_equal(give_a(&p, &right).outcome, ENDPOINT_NOTHING);
        p.now_ns += 1;
        assert_int_equal(give_a(&p, &right).outcome, ENDPOINT_RESET);
        pair_deinit(&p);
    }
}

TEST(reset__not_for_a_session_that_the_peer_initiated)
{
    Pair p;
    Session *t;
    pair_init(&p, 0);
    pair_up(&p, &t);
    Dgram reset = reset_for(session_core(t)->peer_tag);
    assert_int_equal(give_b(&p, &reset).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
    assert_true(t->up);
    pair_deinit(&p);
}

TEST(reset__never_starts_a_quarrel)
{
    Pair p;
    pair_init(&p, 0);
    Dgram d = reset_for(5);
    assert_int_equal(give_b(&p, &d).reply.len, 0);
    d.bytes[2] = WIRE_HELLO_ACK;
    d.bytes[8] = 1;
    assert_int_equal(give_b(&p, &d).reply.len, 0);
    /* A message of an unknown session, of every length: no answer longer than itself. */
    d = of_unknown_session();
    for (d.len = 0; d.len < 300; d.len++) {
        size_t expected = d.len >= RESET_DATAGRAM_SIZE ? (size_t)RESET_DATAGRAM_SIZE : 0;
        assert_int_equal(give_b(&p, &d).reply.len, expected);
        assert_int_equal(give_a(&p, &d).reply.len, 0); /* has no use for initiators */
    }
    d.len = 100;
    memset(d.bytes + 8, 0, 8); /* no tag at all */
    assert_int_equal(give_b(&p, &d).reply.len, 0);
    pair_deinit(&p);
}

/* A stranger with a forged address would have us send there. */
TEST(reset__not_to_strangers)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t;
        pair_init(&p, keys);
        Dgram d = of_unknown_session();
        if (keys)
            d.bytes[3] = WIRE_FLAG_SEALED;
        Addr elsewhere = addr_sim(3, 300);
        assert_int_equal(give(p.b, &elsewhere, &d, p.now_ns).reply.len, RESET_DATAGRAM_SIZE);
        p.now_ns += RESET_ANYBODY_NS; /* all who knew the one before have heard of it */
        assert_int_equal(give(p.b, &elsewhere, &d, p.now_ns).reply.len, 0);
        assert_int_equal(give_b(&p, &d).reply.len, 0);
        Session *s = pair_greet(&p);
        assert_non_null(s);
        assert_int_equal(give_b(&p, &d).reply.len, 0); /* it has proven nothing yet */
        Dgram first = message(p.a, s, WIRE_PING, "first");
        t = give_b(&p, &first).session;
        assert_non_null(t);
        assert_int_equal(give_b(&p, &d).reply.len, RESET_DATAGRAM_SIZE);
        session_close(p.b, session_core(t)); /* as when it has to make room */
        assert_int_equal(give_b(&p, &d).reply.len, RESET_DATAGRAM_SIZE);
        assert_int_equal(give(p.b, &elsewhere, &d, p.now_ns).reply.len, 0);
        pair_deinit(&p);
    }
}

TEST(reset__no_more_than_helloes_are_taken)
{
    Pair p;
    pair_init(&p, 0);
    Dgram d = of_unknown_session();
    unsigned answers = 0;
    for (unsigned i = 0; i < 2 * HELLO_BURST; i++)
        answers += give_b(&p, &d).reply.len > 0;
    assert_int_equal(answers, HELLO_BURST);
    p.now_ns += NS_PER_S / HELLO_RATE;
    assert_int_equal(give_b(&p, &d).reply.len, RESET_DATAGRAM_SIZE);
    assert_int_equal(give_b(&p, &d).reply.len, 0);
    pair_deinit(&p);
}

/* The peer started again long ago, and tells nobody any more: who speaks to it finds out. */
TEST(unheard__hello_is_said_again)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = pair_up(&p, NULL); /* with a first datagram that was not answered */
        uint64_t since_ns = p.now_ns;
        for (unsigned i = 1; i < UNHEARD_SENDS; i++) {
            assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);
            (void)message(p.a, s, WIRE_PING, "lost");
        }
        assert_int_equal(endpoint_deadline(p.a), since_ns + UNHEARD_RETRIES * PAIR_RETRY_NS);
        p.now_ns = endpoint_deadline(p.a);
        assert_true(s->up);
        pair_start_b(&p);
        Dgram hello = output(p.a, p.now_ns);
        Got got = give_b(&p, &hello);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
        Dgram there = message(p.a, s, WIRE_PING, "there");
        got = give_b(&p, &there);
        assert_true(is_message(&got, WIRE_PING, "there"));
        pair_deinit(&p);
    }
}

/* Many datagrams may be on their way before the first answer can be here. */
TEST(unheard__an_answer_in_time_is_enough)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *t;
        pair_init(&p, keys);
        Session *s = pair_up(&p, &t);
        for (unsigned round = 0; round < 3; round++) {
            for (unsigned i = 0; i < 100; i++)
                (void)message(p.a, s, WIRE_PING, "on its way");
            assert_int_not_equal(endpoint_deadline(p.a), TIME_NEVER);
            Dgram back = message(p.b, t, WIRE_PONG, "back");
            Got got = give_a(&p, &back);
            assert_true(is_message(&got, WIRE_PONG, "back"));
            assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);
            assert_int_equal(p.a->by_tag.count, 1);
        }
        for (unsigned i = 0; i < 100; i++)
            (void)message(p.a, s, WIRE_PING, "on its way");
        Dgram reset = reset_for(session_core(s)->peer_tag);
        assert_int_equal(give_a(&p, &reset).outcome, ENDPOINT_RESET); /* then it is said at once */
        assert_int_equal(endpoint_deadline(p.a), p.now_ns);
        /* What the other end initiated is the other end's to renew. */
        for (unsigned i = 0; i < 100; i++)
            (void)message(p.b, t, WIRE_PONG, "lost");
        assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
        pair_deinit(&p);
    }
}

/* ---- another identity ----------------------------------------------------------------------- */

TEST(become__peers_find_out_by_their_next_datagram)
{
    FOR_BOTH(keys) {
        static const Id128 other = {{99}};
        Pair p;
        Session *t;
        pair_init(&p, keys);
        Session *s = pair_up(&p, &t);
        endpoint_become(p.b, &other, 5);
        assert_int_equal(p.closed, 1);
        assert_null(endpoint_walk(p.b, NULL));

        p.now_ns += 100 * RESET_ANYBODY_NS; /* long after the start: this address is known */
        Dgram next = message(p.a, s, WIRE_PING, "are you there?");
        Got got = give_b(&p, &next);
        assert_int_equal(got.reply.len, RESET_DATAGRAM_SIZE);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_RESET);
        Dgram hello = output(p.a, p.now_ns);
        got = give_b(&p, &hello);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
        assert_int_equal(s->peer_epoch, 5);
        assert_true(id128_equal(&s->peer_id, &other));
        pair_deinit(&p);
    }
}

/* A HELLO that was answered by what we were makes no session with what we are. */
TEST(become__half_open_sessions_end)
{
    FOR_BOTH(keys) {
        static const Id128 other = {{99}};
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        Dgram hello = output(p.a, p.now_ns);
        Got got = give_b(&p, &hello);
        endpoint_become(p.b, &other, 5);
        assert_int_equal(give_a(&p, &got.reply).outcome, ENDPOINT_UP);
        Dgram first = message(p.a, s, WIRE_PING, "it was you?");
        assert_int_equal(give_b(&p, &first).outcome, ENDPOINT_NOTHING);
        pair_deinit(&p);
    }
}
