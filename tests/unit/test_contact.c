/* SPDX-License-Identifier: MIT */
/* The manager that is kept: of several the one that is active. */
#include "proto/contact.h"

#include "tests/lib/case.h"
#include "tests/lib/peer.h"

enum { MANAGERS_MAX = 3 };

typedef struct Fixture {
    Contact c;
    Endpoint *mine, *managers[MANAGERS_MAX];
    unsigned pings;
    uint64_t now_ns;
} Fixture;

/* Managers at 127.0.0.1 and the next addresses; @epochs: what each of them is. */
static void begin(Fixture *f, unsigned count, const uint64_t *epochs)
{
    Places p = {.count = count};
    *f = (Fixture){.now_ns = 100 * NS_PER_S, .c.every_ns = 5 * NS_PER_S};
    f->mine = peer_new(ROLE_IMD, 9, 1);
    for (unsigned i = 0; i < count; i++) {
        p.of[i].addr = (Addr){.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, (uint8_t)(i + 1)}};
        f->managers[i] = peer_new(ROLE_CMD, (uint8_t)(i + 1), epochs[i]);
    }
    contact_move(&f->c, f->mine, &p);
}

static void end(Fixture *f)
{
    endpoint_free(f->mine);
    for (unsigned i = 0; i < MANAGERS_MAX; i++)
        endpoint_free(f->managers[i]);
}

/* Which manager is asked now. */
static unsigned asked(const Fixture *f)
{
    return f->c.peer.host[3] - 1u;
}

static void is_now(Fixture *f, unsigned manager, uint64_t epoch)
{
    const Id128 self = {{(uint8_t)(0x80 + manager), (uint8_t)epoch}};
    endpoint_become(f->managers[manager], &self, epoch);
}

/* What is due, once. */
static void step(Fixture *f)
{
    if (f->c.due_ns > f->now_ns)
        f->now_ns = f->c.due_ns;
    f->pings += contact_step(&f->c, f->mine, f->now_ns);
}

/* The same, and the manager that is asked answers the HELLO. */
static bool meets(Fixture *f)
{
    step(f);
    assert_false(f->c.session->up);
    (void)peer_meet(f->mine, f->managers[asked(f)], f->now_ns);
    return contact_up(&f->c, f->now_ns);
}

static void hear(Fixture *f, uint64_t ns)
{
    f->now_ns += ns;
    f->c.session->heard_ns = f->now_ns;
}

TEST(contact__one_that_stands_by_gives_way_at_once)
{
    Fixture f;
    begin(&f, 3, (uint64_t[]){MANAGER_STANDBY, MANAGER_STANDBY, 4});
    const uint64_t before = f.now_ns;
    assert_false(meets(&f));
    assert_false(contact_is_up(&f.c));
    assert_false(meets(&f));
    assert_true(meets(&f));
    assert_true(contact_is_up(&f.c));
    assert_int_equal(asked(&f), 2);
    assert_int_equal(f.now_ns, before);
    end(&f);
}

TEST(contact__where_all_stand_by_a_round_is_followed_by_a_pause)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){MANAGER_STANDBY, MANAGER_STANDBY});
    const uint64_t before = f.now_ns;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 2; i++)
            assert_false(meets(&f));
        assert_int_equal(f.now_ns, before + round * FINDER_ROUND_NS);
        assert_int_equal(f.c.due_ns, f.now_ns + FINDER_ROUND_NS);
    }
    end(&f);
}

TEST(contact__one_alone_that_stands_by_is_asked_again)
{
    Fixture f;
    begin(&f, 1, (uint64_t[]){MANAGER_STANDBY});
    assert_false(meets(&f));
    assert_false(meets(&f));
    is_now(&f, 0, 3);
    assert_true(meets(&f));
    end(&f);
}

/* Who is no manager at all: its place may be a manager's before long. */
TEST(contact__a_stranger_gives_way_and_is_asked_again)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){1, MANAGER_STANDBY});
    endpoint_free(f.managers[0]);
    f.managers[0] = peer_new(ROLE_RMD, 5, 0);
    assert_false(meets(&f));
    assert_false(contact_is_up(&f.c));
    assert_true(f.c.stranger);
    assert_false(meets(&f));
    assert_int_equal(asked(&f), 1);
    assert_false(f.c.stranger);
    assert_true(f.c.standby);
    endpoint_free(f.managers[0]);
    f.managers[0] = peer_new(ROLE_CMD, 1, 1);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 0);
    assert_false(f.c.stranger || f.c.standby);
    end(&f);
}

TEST(contact__one_that_does_not_answer_gives_way)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){1, 2});
    const uint64_t before = f.now_ns;
    step(&f);
    assert_int_equal(asked(&f), 0);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    assert_int_equal(f.now_ns, before + FINDER_HOP_NS);
    end(&f);
}

TEST(contact__one_that_falls_silent_gives_way)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){1, 2});
    assert_true(meets(&f));
    const uint64_t heard = f.now_ns;
    f.c.session->heard_ns = heard;
    while (asked(&f) == 0)
        step(&f);
    assert_in_range(f.pings, 2, 3);
    assert_in_range(f.now_ns, heard + CONTACT_QUIET_NS,
                    heard + CONTACT_QUIET_NS + 2 * FINDER_HOP_NS);
    assert_true(meets(&f));
    end(&f);
}

TEST(contact__one_that_answers_pings_stays)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){1, 2});
    assert_true(meets(&f));
    for (unsigned i = 0, before = 0; i < 20; i++, before = f.pings) {
        step(&f);
        if (f.pings > before)
            hear(&f, NS_PER_MS);
    }
    assert_true(contact_is_up(&f.c));
    assert_in_range(f.pings, 8, 20);
    assert_int_equal(asked(&f), 0);
    end(&f);
}

/* We stood still: the manager may have answered all the while. */
TEST(contact__our_own_silence_does_not_count)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){1, 2});
    assert_true(meets(&f));
    f.c.session->heard_ns = f.now_ns;
    while (f.pings == 0)
        step(&f);
    f.now_ns += 60 * NS_PER_S;
    f.pings += contact_step(&f.c, f.mine, f.now_ns);
    assert_true(contact_is_up(&f.c));
    assert_int_equal(f.pings, 2);
    end(&f);
}

TEST(contact__one_alone_is_sent_no_pings)
{
    Fixture f;
    begin(&f, 1, (uint64_t[]){1});
    assert_true(meets(&f));
    step(&f);
    assert_int_equal(f.c.due_ns, TIME_NEVER);
    assert_int_equal(f.pings, 0);
    end(&f);
}

TEST(contact__one_that_says_good_bye_gives_way)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, 6});
    assert_true(meets(&f));
    size_t n = wire_goodbye_encode(4, out); /* a late one */
    assert_true(contact_heard(&f.c, WIRE_GOODBYE, out, n, f.now_ns));
    n = wire_goodbye_encode(5, out);
    assert_false(contact_heard(&f.c, WIRE_GOODBYE, out, n, f.now_ns));
    assert_false(contact_is_up(&f.c));
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

TEST(contact__one_that_answers_that_it_stands_by_gives_way)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    const WireReply reply = {.id = 1, .op = OP_JOIN, .status = STATUS_STANDBY};
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, 6});
    assert_true(meets(&f));
    assert_false(contact_heard(&f.c, WIRE_REPLY, out, wire_reply_encode(&reply, out), f.now_ns));
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

/* Its successor was heard: it does not know yet that its lease is over. */
TEST(contact__an_older_lease_is_not_obeyed)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, 6});
    f.c.finder.at = 1;
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    contact_renew(&f.c, f.mine);
    assert_false(meets(&f));
    assert_int_equal(asked(&f), 0);
    assert_false(contact_is_up(&f.c));
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

/* The manager has answered, the look at @manager finds one with @epoch. */
static void finds_newer(Fixture *f, unsigned manager, uint64_t epoch)
{
    is_now(f, manager, epoch);
    while (contact_is_up(&f->c)) {
        step(f);
        f->c.session->heard_ns = f->now_ns;
        const Session *s = f->c.scout.session;
        if (s && !s->up)
            assert_true(contact_scouted(
                &f->c, peer_meet(f->mine, f->managers[s->peer.host[3] - 1], f->now_ns), f->now_ns));
    }
}

/* The one that we have answers, and does not know yet that its lease is over. */
TEST(contact__a_newer_lease_is_found_beside_one_that_answers)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, MANAGER_STANDBY});
    assert_true(meets(&f));
    const uint64_t began = f.now_ns;
    finds_newer(&f, 1, 6);
    assert_true(f.now_ns - began <= 3 * CONTACT_SCOUT_NS);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

/* Who has heard of a newer lease does not obey the older one, whatever is lost after that. */
TEST(contact__a_newer_lease_that_was_found_is_not_forgotten)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, MANAGER_STANDBY});
    assert_true(meets(&f));
    finds_newer(&f, 1, 6);
    step(&f); /* its HELLO is lost */
    assert_int_equal(asked(&f), 1);
    assert_false(meets(&f));
    assert_int_equal(asked(&f), 0);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

/* The names stand for fewer addresses, in another order, while one is looked at. */
TEST(contact__a_newer_lease_in_a_list_that_has_changed)
{
    Fixture f;
    begin(&f, 3, (uint64_t[]){5, MANAGER_STANDBY, MANAGER_STANDBY});
    const Addr first = f.c.finder.found[0], third = f.c.finder.found[2];
    assert_true(meets(&f));
    do {
        step(&f);
        f.c.session->heard_ns = f.now_ns;
    } while (!f.c.scout.session || !addr_equal(&f.c.scout.session->peer, &third));
    contact_found(&f.c, f.mine, (Addr[]){third, first}, 2);
    is_now(&f, 2, 6);
    assert_true(contact_scouted(&f.c, peer_meet(f.mine, f.managers[2], f.now_ns), f.now_ns));
    assert_int_equal(f.c.finder.at, 0);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 2);
    end(&f);
}

TEST(contact__one_that_stands_by_is_only_looked_at)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, MANAGER_STANDBY});
    assert_true(meets(&f));
    unsigned looks = 0;
    for (unsigned i = 0; i < 40; i++) {
        step(&f);
        f.c.session->heard_ns = f.now_ns;
        if (!f.c.scout.session || f.c.scout.session->up)
            continue;
        looks++;
        assert_true(contact_scouted(&f.c, peer_meet(f.mine, f.managers[1], f.now_ns), f.now_ns));
    }
    assert_true(looks >= 2);
    assert_true(contact_is_up(&f.c));
    assert_int_equal(asked(&f), 0);
    end(&f);
}

TEST(contact__ended_is_set_up_again_at_once)
{
    Fixture f;
    Session stranger = {.up = true};
    begin(&f, 2, (uint64_t[]){5, 6});
    assert_true(meets(&f));
    assert_false(contact_closed(&f.c, &stranger));
    assert_true(contact_is_up(&f.c));
    endpoint_forget(f.mine, f.c.session);
    assert_true(contact_closed(&f.c, f.c.session));
    assert_false(contact_is_up(&f.c));
    assert_int_equal(f.c.due_ns, 0);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 0);
    end(&f);
}

/* Where its names stand for other addresses now, a session that is up stays; one that is not begins
 * again with them. */
TEST(contact__found_elsewhere)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, 6});
    const Addr here = f.c.finder.found[0], other = f.c.finder.found[1];
    assert_true(meets(&f));
    contact_found(&f.c, f.mine, &other, 1);
    assert_true(contact_is_up(&f.c));
    assert_int_equal(asked(&f), 0);
    contact_found(&f.c, f.mine, &here, 1);
    contact_renew(&f.c, f.mine);
    assert_null(f.c.session);
    step(&f);
    assert_int_equal(asked(&f), 0);
    contact_found(&f.c, f.mine, &other, 1);
    assert_null(f.c.session);
    assert_true(meets(&f));
    assert_int_equal(asked(&f), 1);
    end(&f);
}

/* Two names of a list may stand for one address: the session that is kept is no look. */
TEST(contact__an_address_that_is_there_twice_is_not_looked_at)
{
    Fixture f;
    begin(&f, 2, (uint64_t[]){5, MANAGER_STANDBY});
    f.c.finder.found[2] = f.c.finder.found[1];
    f.c.finder.found[1] = f.c.finder.found[0];
    f.c.finder.count = 3;
    assert_true(meets(&f));
    const Session *kept = f.c.session;
    for (unsigned i = 0; i < 60; i++) {
        step(&f);
        assert_ptr_equal(f.c.session, kept);
        assert_ptr_not_equal(f.c.scout.session, kept);
        f.c.session->heard_ns = f.now_ns;
    }
    end(&f);
}
