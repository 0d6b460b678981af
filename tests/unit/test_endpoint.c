/* SPDX-License-Identifier: MIT */
/* Sessions that are up: messages, forgery, replays, tables, new keys before counters run out. */
#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

#define FOR_BOTH(keys) for (unsigned keys = 0; keys < 2; keys++)

/* ---- messages ------------------------------------------------------------------------------- */

TEST(endpoint_seal__every_length_and_place)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = pair_up(&p, NULL);
        size_t before = keys ? WIRE_HEADER_SIZE + WIRE_COUNTER_SIZE : WIRE_HEADER_SIZE;
        assert_int_equal(endpoint_overhead(p.a), keys ? 40 : 16);
        assert_int_equal(endpoint_is_sealed(p.a), keys);
        for (size_t len = 0; len <= 1500; len += len < 40 ? 1 : 73) {
            uint8_t text[1500];
            Dgram d;
            sim_rng_fill(&p.rng, text, len);
            for (unsigned placed = 0; placed < 2; placed++) {
                const uint8_t *payload = placed ? d.bytes + before : text;
                memcpy(d.bytes + before, text, placed ? len : 0);
                d.len = endpoint_seal(p.a, s, WIRE_READ, payload, len, d.bytes);
                assert_int_equal(d.len, len + endpoint_overhead(p.a));
                Got got = give_b(&p, &d);
                assert_int_equal(got.outcome, ENDPOINT_MESSAGE);
                assert_int_equal(got.type, WIRE_READ);
                assert_int_equal(got.payload.len, len);
                if (len > 0)
                    assert_memory_equal(got.payload.bytes, text, len);
            }
        }
        pair_deinit(&p);
    }
}

TEST(endpoint_seal__not_before_it_is_up)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        assert_int_equal(message(p.a, s, WIRE_PING, "x").len, 0);
        pair_deinit(&p);
    }
}

TEST(endpoint_seal__hides_and_never_repeats)
{
    Pair p;
    pair_init(&p, 1);
    Session *s = pair_up(&p, NULL);
    Dgram one = message(p.a, s, WIRE_PING, "the same words twice");
    Dgram two = message(p.a, s, WIRE_PING, "the same words twice");
    assert_memory_not_equal(one.bytes + 24, "the same words twice", 20);
    assert_memory_not_equal(one.bytes + 24, two.bytes + 24, 20);
    pair_deinit(&p);
}

TEST(endpoint_header__starts_unsealed_messages)
{
    Pair p;
    uint8_t header[WIRE_HEADER_SIZE];
    pair_init(&p, 0);
    Session *s = pair_up(&p, NULL);
    Dgram d = message(p.a, s, WIRE_DATA, "data");
    endpoint_header(p.a, s, WIRE_DATA, header);
    assert_memory_equal(header, d.bytes, sizeof header);
    pair_deinit(&p);
}

TEST(message__of_the_other_kind)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *s = pair_up(&p, NULL);
        Dgram d = message(p.a, s, WIRE_PING, "long enough for anything that may come of it");
        d.bytes[3] ^= WIRE_FLAG_SEALED;
        Got got = give_b(&p, &d);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(got.reply.len, 0);
        assert_int_equal(endpoint_counters(p.b)->unsealed, 1);
        pair_deinit(&p);
    }
}

TEST(message__from_another_address)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *t, *s = pair_up(&p, &t);
        Dgram d = message(p.a, s, WIRE_PING, "the address was changed on the way");
        Addr moved = p.at_a;
        moved.port++;
        Got got = give(p.b, &moved, &d, p.now_ns + 9);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(got.reply.len, RESET_DATAGRAM_SIZE); /* so that it says HELLO from there */
        assert_int_equal(endpoint_counters(p.b)->unknown_tag, 1);
        assert_int_equal(t->heard_ns, p.now_ns);
        pair_deinit(&p);
    }
}

/* ---- forgery and replays -------------------------------------------------------------------- */

TEST(message__forged)
{
    Pair p;
    pair_init(&p, 1);
    Session *t, *s = pair_up(&p, &t);
    uint64_t heard_ns = t->heard_ns;
    Dgram d = message(p.a, s, WIRE_PING, "genuine");
    ReplayWindow window = session_core(t)->window;
    p.now_ns += 100;
    for (size_t bit = 0; bit < 8 * d.len; bit++) {
        Dgram f = d;
        uint64_t before = counted(p.b);
        f.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        Got got = give_b(&p, &f);
        assert_int_equal(got.outcome, ENDPOINT_NOTHING);
        assert_int_equal(counted(p.b), before + 1);
        assert_int_equal(t->heard_ns, heard_ns);
        assert_memory_equal(&session_core(t)->window, &window, sizeof window);
    }
    for (size_t len = 0; len < d.len; len++) {
        Dgram f = d;
        f.len = len;
        assert_int_equal(give_b(&p, &f).outcome, ENDPOINT_NOTHING);
    }
    assert_true(endpoint_counters(p.b)->forged > 0);
    Got got = give_b(&p, &d);
    assert_true(is_message(&got, WIRE_PING, "genuine"));
    assert_int_equal(t->heard_ns, p.now_ns);
    pair_deinit(&p);
}

/* The first message of a half-open session must be genuine too. */
TEST(message__forged_does_not_promote)
{
    Pair p;
    pair_init(&p, 1);
    Session *s = pair_greet(&p);
    Dgram d = message(p.a, s, WIRE_PING, "first"), f = d;
    f.bytes[f.len - 1] ^= 1;
    assert_int_equal(give_b(&p, &f).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_counters(p.b)->forged, 1);
    assert_null(endpoint_walk(p.b, NULL));
    Got got = give_b(&p, &d);
    assert_true(is_message(&got, WIRE_PING, "first"));
    pair_deinit(&p);
}

/* What one end sealed is not the other's: directions have keys of their own. */
/* Of a later build: counted, and a sign of life; nothing is answered, and the session goes on. */
TEST(message__of_an_unknown_type)
{
    for (unsigned keys = 0; keys < 2; keys++) {
        Pair p;
        uint64_t unknown = 0;
        pair_init(&p, keys);
        Session *s = pair_greet(&p);
        for (unsigned type = 0; type <= UINT8_MAX; type++) {
            if (wire_type_is_known((uint8_t)type))
                continue;
            p.now_ns++;
            for (unsigned again = 0; again < 2; again++) {
                Dgram d = message(p.a, s, (uint8_t)type, "what is new");
                Got got = give_b(&p, &d);
                assert_int_equal(got.outcome, ENDPOINT_NOTHING);
                assert_int_equal(got.reply.len, 0);
                assert_int_equal(endpoint_counters(p.b)->unknown_type, ++unknown);
                assert_int_equal(counted(p.b), unknown);
                assert_int_equal(endpoint_find(p.b, &p.at_a)->heard_ns, p.now_ns);
            }
        }
        assert_int_equal(unknown, 2 * (256 - 14));
        Dgram d = message(p.a, s, WIRE_PING, "what is known");
        Got got = give_b(&p, &d);
        assert_true(is_message(&got, WIRE_PING, "what is known"));
        pair_deinit(&p);
    }
}

TEST(message__reflected)
{
    Pair p;
    pair_init(&p, 1);
    Session *s = pair_up(&p, NULL);
    Dgram d = message(p.a, s, WIRE_PING, "mirror");
    memcpy(d.bytes + 8, &session_core(s)->own.tag, 8);
    assert_int_equal(give_a(&p, &d).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_counters(p.a)->forged, 1);
    pair_deinit(&p);
}

TEST(message__replayed)
{
    enum { COUNT = 200 };
    static Dgram sent[COUNT];
    Pair p;
    pair_init(&p, 1);
    Session *t, *s = pair_up(&p, &t);
    for (unsigned i = 0; i < COUNT; i++)
        sent[i] = message(p.a, s, WIRE_PING, "x");
    /* Every third first, then all of them, twice. */
    for (unsigned i = 0; i < COUNT; i += 3)
        assert_int_equal(give_b(&p, &sent[i]).outcome, ENDPOINT_MESSAGE);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(give_b(&p, &sent[i]).outcome,
                         i % 3 == 0 ? ENDPOINT_NOTHING : ENDPOINT_MESSAGE);
    uint64_t heard_ns = t->heard_ns;
    p.now_ns += 100;
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(give_b(&p, &sent[i]).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_counters(p.b)->replayed, COUNT + (COUNT + 2) / 3);
    assert_int_equal(t->heard_ns, heard_ns);
    pair_deinit(&p);
}

TEST(message__late_at_the_edge_of_the_window)
{
    Pair p;
    Dgram latest;
    pair_init(&p, 1);
    Session *s = pair_up(&p, NULL);
    Dgram too_old = message(p.a, s, WIRE_PING, "too old");
    Dgram oldest = message(p.a, s, WIRE_PING, "oldest");
    for (unsigned i = 1; i < SESSION_REPLAY_WINDOW; i++)
        latest = message(p.a, s, WIRE_PING, "latest");
    Got got = give_b(&p, &latest);
    assert_true(is_message(&got, WIRE_PING, "latest"));
    assert_int_equal(give_b(&p, &too_old).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_counters(p.b)->replayed, 1);
    got = give_b(&p, &oldest);
    assert_true(is_message(&got, WIRE_PING, "oldest"));
    assert_int_equal(give_b(&p, &oldest).outcome, ENDPOINT_NOTHING);
    pair_deinit(&p);
}

/* Whatever comes to whatever end in whatever state: no reply larger than it (give() aborts on
 * one), and sealed, nothing but a counter changes. */
TEST(input__rubbish)
{
    FOR_BOTH(keys) {
        Pair p;
        pair_init(&p, keys);
        Session *t, *s = pair_up(&p, &t);
        for (unsigned i = 0; i < 20000; i++) {
            Dgram d = {.len = sim_rng_below(&p.rng, 200)};
            sim_rng_fill(&p.rng, d.bytes, d.len);
            WireHeader h = {.version = WIRE_VERSION,
                            .type = (uint8_t)sim_rng_below(&p.rng, 36),
                            .flags = keys,
                            .cluster = PAIR_CLUSTER,
                            .tag = session_core(s)->peer_tag};
            if (i % 2)
                h.tag = session_core(s)->own.tag;
            if (i % 8 && d.len >= WIRE_HEADER_SIZE)
                wire_header_encode(&h, d.bytes);
            Got a = give_a(&p, &d), b = give_b(&p, &d);
            assert_true(!keys || (a.outcome == ENDPOINT_NOTHING && b.outcome == ENDPOINT_NOTHING));
        }
        assert_int_equal(p.b->half_open_count, 0);
        Dgram next = message(p.a, s, WIRE_PING, "still here");
        Got got = give_b(&p, &next);
        assert_true(is_message(&got, WIRE_PING, "still here"));
        assert_ptr_equal(got.session, t);
        pair_deinit(&p);
    }
}

/* ---- new keys before the counter runs out --------------------------------------------------- */

static void renew(Pair *p, Session *s, Session *t)
{
    assert_true(s->up);
    Dgram old = message(p->b, t, WIRE_PONG, "old key");
    Dgram hello = output(p->a, p->now_ns);
    assert_int_equal(hello.len, HELLO_DATAGRAM_SIZE);
    Got got = give_b(p, &hello);
    got = give_a(p, &got.reply);
    assert_int_equal(got.outcome, ENDPOINT_UP);
    assert_ptr_equal(got.session, s);
    Dgram next = message(p->a, s, WIRE_PING, "new key");
    assert_int_equal(session_core(s)->sent, 1);
    got = give_b(p, &next);
    assert_true(is_message(&got, WIRE_PING, "new key"));
    assert_int_equal(give_a(p, &old).outcome, ENDPOINT_NOTHING);
    assert_int_equal(endpoint_deadline(p->a), TIME_NEVER);
}

TEST(session__renewed_when_much_was_sent)
{
    Pair p;
    pair_init(&p, 1);
    Session *t, *s = pair_up(&p, &t);
    session_core(s)->sent = SESSION_DATAGRAMS_MAX - 2;
    (void)message(p.a, s, WIRE_PING, "x");
    assert_int_equal(endpoint_deadline(p.a), TIME_NEVER);
    Dgram last = message(p.a, s, WIRE_PING, "last");
    assert_true(endpoint_deadline(p.a) <= p.now_ns);
    Got got = give_b(&p, &last); /* and it goes on meanwhile */
    assert_true(is_message(&got, WIRE_PING, "last"));
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER); /* the initiator's business alone */
    renew(&p, s, t);
    pair_deinit(&p);
}

TEST(session__renewed_when_much_was_received)
{
    Pair p;
    pair_init(&p, 1);
    Session *t, *s = pair_up(&p, &t);
    session_core(t)->sent = SESSION_DATAGRAMS_MAX - 1;
    Dgram d = message(p.b, t, WIRE_PONG, "x");
    assert_int_equal(endpoint_deadline(p.b), TIME_NEVER);
    assert_int_equal(give_a(&p, &d).outcome, ENDPOINT_MESSAGE);
    renew(&p, s, t);
    pair_deinit(&p);
}

/* ---- tables --------------------------------------------------------------------------------- */

static Session *up_with(Pair *p, const Addr *a_at, const Addr *b_at)
{
    Session *s = endpoint_connect(p->a, b_at, p->now_ns);
    Dgram hello = output(p->a, p->now_ns);
    Got got = give(p->b, a_at, &hello, p->now_ns);
    got = give(p->a, b_at, &got.reply, p->now_ns);
    assert_int_equal(got.outcome, ENDPOINT_UP);
    Dgram first = message(p->a, s, WIRE_PING, "first");
    got = give(p->b, a_at, &first, p->now_ns);
    assert_true(is_message(&got, WIRE_PING, "first"));
    return got.session;
}

TEST(session__least_recently_heard_is_evicted)
{
    FOR_BOTH(keys) {
        Pair p;
        Session *a_side[5], *b_side[5];
        Addr a_at[5], b_at[5];
        int markers[5];
        pair_prepare(&p, keys);
        p.a_config.sessions_max = 10;
        pair_start_a(&p);
        pair_start_b(&p);
        for (uint16_t i = 0; i < 5; i++) {
            a_at[i] = addr_sim(1, i);
            b_at[i] = addr_sim(2, i);
        }
        for (unsigned i = 0; i < 4; i++) {
            p.now_ns++;
            b_side[i] = up_with(&p, &a_at[i], &b_at[i]);
            b_side[i]->user = &markers[i];
            a_side[i] = endpoint_find(p.a, &b_at[i]);
        }
        /* The oldest two are heard again; the third is now the least recent. */
        for (unsigned i = 0; i < 2; i++) {
            Dgram d = message(p.a, a_side[i], WIRE_PING, "here");
            p.now_ns++;
            assert_int_equal(give(p.b, &a_at[i], &d, p.now_ns).outcome, ENDPOINT_MESSAGE);
        }
        b_side[4] = up_with(&p, &a_at[4], &b_at[4]);
        assert_int_equal(p.closed, 1);
        assert_ptr_equal(p.closed_user, &markers[2]);
        assert_int_equal(endpoint_counters(p.b)->evicted, 1);
        unsigned n = 0;
        static const unsigned order[] = {3, 0, 1, 4};
        for (Session *w = endpoint_walk(p.b, NULL); w; w = endpoint_walk(p.b, w))
            assert_ptr_equal(w, b_side[order[n++]]);
        assert_int_equal(n, 4);
        /* The evicted one hears of it when it next says something. */
        Dgram d = message(p.a, a_side[2], WIRE_PING, "long enough for a RESET");
        Got got = give(p.b, &a_at[2], &d, p.now_ns);
        assert_int_equal(got.reply.len, RESET_DATAGRAM_SIZE);
        assert_int_equal(give(p.a, &b_at[2], &got.reply, p.now_ns).outcome, ENDPOINT_RESET);
        pair_deinit(&p);
    }
}

/* One host begins session after session: those of others stay. */
TEST(session__one_host_takes_no_more_than_its_share)
{
    FOR_BOTH(keys) {
        enum { TABLE = 12, OTHERS = 4 };
        Pair p;
        Session *others[OTHERS], *last = NULL;
        Addr a_at = addr_sim(9, 0), b_at;
        pair_prepare(&p, keys);
        p.a_config.sessions_max = 200;
        p.b_config.sessions_max = TABLE;
        pair_start_a(&p);
        pair_start_b(&p);
        for (uint16_t i = 0; i < OTHERS; i++) { /* two hosts with two each */
            Addr at = addr_sim((uint16_t)(1 + i / 2), i);
            b_at = addr_sim(20, i);
            p.now_ns++;
            others[i] = up_with(&p, &at, &b_at);
        }
        for (uint16_t i = 0; i < 100; i++) {
            a_at.port = (uint16_t)(100 + i);
            b_at = addr_sim(21, i);
            p.now_ns++;
            last = up_with(&p, &a_at, &b_at);
            assert_true(p.b->sessions_count <= TABLE);
        }
        assert_ptr_equal(endpoint_find(p.b, &a_at), last); /* the newest of its own is served */
        for (uint16_t i = 0; i < OTHERS; i++) {
            Addr at = addr_sim((uint16_t)(1 + i / 2), i);
            assert_ptr_equal(endpoint_find(p.b, &at), others[i]);
        }
        /* Others still come: a host below its share takes from the least recently heard. */
        Addr at = addr_sim(3, 77);
        b_at = addr_sim(22, 1);
        p.now_ns++;
        assert_non_null(up_with(&p, &at, &b_at));
        pair_deinit(&p);
    }
}

/* Hosts that were there before have no share: one below its own keeps what it has. */
TEST(session__hosts_that_left_have_no_share)
{
    FOR_BOTH(keys) {
        enum { TABLE = 12, OF_SMALL = 3 };
        Pair p;
        Session *small[OF_SMALL];
        pair_prepare(&p, keys);
        p.a_config.sessions_max = 200;
        p.b_config.sessions_max = TABLE;
        pair_start_a(&p);
        pair_start_b(&p);
        /* Hosts of one session each that leave; a large host, and a small one that wants one more.
         */
        for (uint16_t i = 0; i <= 2 * TABLE; i++) {
            bool former = i < TABLE, large = i < 2 * TABLE - OF_SMALL;
            Addr at = addr_sim((uint16_t)(former ? 10 + i : large ? 1 : 2), i);
            Addr b_at = addr_sim(40, i);
            p.now_ns++;
            Session *s = up_with(&p, &at, &b_at);
            if (former)
                endpoint_forget(p.b, s);
            else if (!large && i < 2 * TABLE)
                small[i - (2 * TABLE - OF_SMALL)] = s;
        }
        assert_int_equal(p.b->sessions_count, TABLE);
        for (uint16_t i = 0; i < OF_SMALL; i++) {
            Addr at = addr_sim(2, (uint16_t)(2 * TABLE - OF_SMALL + i));
            assert_ptr_equal(endpoint_find(p.b, &at), small[i]);
        }
        pair_deinit(&p);
    }
}

TEST(endpoint_connect__full_table)
{
    Pair p;
    Addr at[6];
    pair_init(&p, 0);
    endpoint_on_close(p.a, pair_on_close, &p);
    for (uint16_t i = 0; i < 6; i++)
        at[i] = addr_sim(7, i);
    for (unsigned i = 0; i < 4; i++)
        assert_non_null(endpoint_connect(p.a, &at[i], p.now_ns));
    assert_null(endpoint_connect(p.a, &at[4], p.now_ns)); /* all in use this instant */
    assert_int_equal(p.closed, 0);
    Session *first = endpoint_find(p.a, &at[0]);
    assert_ptr_equal(endpoint_connect(p.a, &at[0], p.now_ns), first);
    p.now_ns++;
    Session *fifth = endpoint_connect(p.a, &at[4], p.now_ns);
    assert_non_null(fifth);
    assert_int_equal(p.closed, 1);
    assert_null(endpoint_find(p.a, &at[0]));
    assert_ptr_equal(endpoint_find(p.a, &at[4]), fifth);
    endpoint_forget(p.a, fifth);
    assert_int_equal(p.closed, 1); /* who forgets knows it already */
    assert_null(endpoint_find(p.a, &at[4]));
    assert_non_null(endpoint_connect(p.a, &at[5], p.now_ns));
    /* Only those that are not gone have a HELLO to send. */
    unsigned hellos = 0;
    while (output(p.a, p.now_ns).len > 0)
        hellos++;
    assert_int_equal(hellos, 4);
    pair_deinit(&p);
}

TEST(endpoint_walk__only_what_is_up)
{
    Pair p;
    Addr other = addr_sim(8, 8);
    pair_init(&p, 1);
    Session *s = pair_up(&p, NULL);
    assert_non_null(endpoint_connect(p.a, &other, p.now_ns));
    assert_ptr_equal(endpoint_walk(p.a, NULL), s);
    assert_null(endpoint_walk(p.a, s));
    pair_deinit(&p);
}

/* Thousands of peers come and go: the tables keep their bounds and lose nobody they should know. */
TEST(session__tables_stay_bounded)
{
    FOR_BOTH(keys) {
        enum { PEERS = 300, TABLE = 16 };
        Pair p;
        pair_prepare(&p, keys);
        p.a_config.sessions_max = TABLE;
        p.b_config.sessions_max = TABLE;
        pair_start_a(&p);
        pair_start_b(&p);
        for (unsigned i = 0; i < 2000; i++) {
            uint16_t n = (uint16_t)sim_rng_below(&p.rng, PEERS);
            Addr a_at = addr_sim(1, n), b_at = addr_sim(2, n);
            Session *s = endpoint_find(p.a, &b_at);
            p.now_ns++;
            if (s && i % 3)
                endpoint_forget(p.a, s);
            else if (!s)
                (void)up_with(&p, &a_at, &b_at);
            assert_true(p.a->sessions_count <= TABLE && p.b->sessions_count <= TABLE);
            assert_int_equal(p.b->by_peer.count, p.b->sessions_count);
            assert_int_equal(p.b->by_tag.count, p.b->sessions_count + p.b->half_open_count);
            assert_int_equal(p.b->by_hello.count, p.b->half_open_count);
            assert_int_equal(p.a->by_tag.count, p.a->sessions_count);
        }
        assert_int_equal(p.b->sessions_count, TABLE);
        pair_deinit(&p);
    }
}

/* ---- life ----------------------------------------------------------------------------------- */

static void keep_line(void *ctx, const char *text)
{
    strncpy(ctx, text, 99);
}

TEST(endpoint__tells_its_story)
{
    Pair p;
    char line[100] = "";
    pair_prepare(&p, 1);
    pair_start_b(&p);
    Env env = {.random = pair_random, .trace = NULL, .ctx = &p.rng};
    p.a = endpoint_new(&p.a_config, &env);
    p.a->env.trace = keep_line;
    Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
    Dgram hello = output(p.a, p.now_ns);
    Dgram ack = give_b(&p, &hello).reply;
    p.a->env.ctx = line;
    assert_int_equal(give_a(&p, &ack).outcome, ENDPOINT_UP);
    assert_non_null(strstr(line, "up"));
    assert_true(s->up);
    pair_deinit(&p);
}

TEST(endpoint_free__nothing)
{
    assert_null(endpoint_free(NULL));
}
