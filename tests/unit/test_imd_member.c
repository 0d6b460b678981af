/* SPDX-License-Identifier: MIT */
/* What imd decides around its control core: the manager it looks for, the owner it serves, its
 * end. */
#include "tests/unit/imd_member_fixture.h"

/* ---- the manager ----------------------------------------------------------------------------- */

TEST(manager__that_is_not_there_is_reported_now_and_then)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    elapse(&f, 3 * NS_PER_S - 1);
    assert_int_equal(f.news[MEMBER_UNHEARD], 0);
    elapse(&f, 1);
    assert_int_equal(f.news[MEMBER_UNHEARD], 1);
    elapse(&f, 59 * NS_PER_S);
    assert_int_equal(f.news[MEMBER_UNHEARD], 1);
    elapse(&f, NS_PER_S);
    assert_int_equal(f.news[MEMBER_UNHEARD], 2);
    join(&f);
    elapse(&f, 4 * NS_PER_S);
    assert_int_equal(f.news[MEMBER_UNHEARD], 2);
    end(&f);
}

TEST(manager__that_falls_silent_is_looked_for_again)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    join(&f);
    unsigned before = f.news[MEMBER_UNHEARD];
    while (f.news[MEMBER_LOST] == 0)
        elapse(&f, 10 * NS_PER_MS);
    elapse(&f, 2900 * NS_PER_MS);
    assert_int_equal(f.news[MEMBER_UNHEARD], before); /* it was heard a moment ago */
    elapse(&f, 200 * NS_PER_MS);
    assert_int_equal(f.news[MEMBER_UNHEARD], before + 1);
    assert_int_equal(f.news[MEMBER_LOST], 1);
    assert_int_equal(f.news[MEMBER_DISMISSED], 0);
    assert_false(contact_is_up(&f.m.manager));
    assert_non_null(f.m.manager.session); /* a HELLO is on its way */
    end(&f);
}

TEST(manager__whose_session_dies_is_called_at_once)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    join(&f);
    Session *was = f.m.manager.session;
    member_closed(&f.m, was);
    endpoint_forget(f.mine, was);
    assert_true(member_deadline(&f.m) <= f.now_ns);
    member_expire(&f.m, f.now_ns);
    assert_non_null(f.m.manager.session);
    assert_int_equal(f.news[MEMBER_LOST], 0);
    end(&f);
}

TEST(manager__is_not_just_anybody)
{
    Fixture f;
    begin(&f, false, ROLE_RMD);
    meet(&f);
    assert_int_equal(f.news[MEMBER_NO_MANAGER], 1);
    assert_int_equal(f.asked_count, 0); /* it does not join that */
    end(&f);
}

/* It is asked again and again, and not named each time. */
TEST(manager__may_come_in_the_place_of_a_stranger)
{
    Fixture f;
    begin(&f, false, ROLE_RMD);
    meet(&f);
    const unsigned before = f.news[MEMBER_UNHEARD];
    for (unsigned i = 0; i < 5; i++)
        meet(&f);
    assert_int_equal(f.news[MEMBER_NO_MANAGER], 1);
    elapse(&f, 61 * NS_PER_S);
    assert_int_equal(f.news[MEMBER_NO_MANAGER], 2);
    assert_int_equal(f.news[MEMBER_UNHEARD], before);
    endpoint_free(f.managers);
    f.managers = peer_new(ROLE_CMD, 3, 0);
    join(&f);
    assert_int_equal(f.news[MEMBER_JOINED], 1);
    end(&f);
}

static Addr elsewhere(unsigned n)
{
    return (Addr){.kind = ADDR_IP4, .port = 7, .host = {10, 0, 0, (uint8_t)n}};
}

static void move(Fixture *f, const char *text)
{
    Places places;
    assert_int_equal(places_parse(text, 7, &places), 0);
    member_move(&f->m, &places);
}

static void assert_calls(const Fixture *f, unsigned n)
{
    const Addr want = elsewhere(n);
    assert_non_null(f->m.manager.session);
    assert_true(addr_equal(&f->m.manager.session->peer, &want));
}

TEST(manager__is_called_at_its_addresses_in_turn)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    move(&f, "10.0.0.1,10.0.0.2");
    elapse(&f, 0);
    assert_calls(&f, 1);
    elapse(&f, FINDER_HOP_NS);
    assert_calls(&f, 2);
    elapse(&f, FINDER_HOP_NS);
    assert_calls(&f, 1);
    end(&f);
}

/* The managers at the first and the second address; the one that is called answers. */
static void meet_next(Fixture *f, Endpoint *const managers[2])
{
    elapse(f, 0);
    const unsigned at = f->m.manager.session->peer.host[3] - 1u;
    member_up(&f->m, peer_meet(f->mine, managers[at], f->now_ns), f->now_ns);
}

/* What the active one has asked for is not executed again because the other was looked at. */
TEST(manager__that_stands_by_changes_nothing)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    Endpoint *const managers[2] = {f.managers, peer_new(ROLE_CMD, 3, MANAGER_STANDBY)};
    move(&f, "10.0.0.1,10.0.0.2");
    meet_next(&f, managers);
    answer(&f, OP_JOIN);
    alloc(&f, 1);
    elapse(&f, FINDER_HOP_NS + CONTACT_QUIET_NS); /* the first one is silent for a moment */
    assert_calls(&f, 2);
    meet_next(&f, managers);
    assert_int_equal(imd_control_managers(f.m.control), 1);
    meet_next(&f, managers);
    assert_calls(&f, 1);
    assert_int_equal(imd_control_managers(f.m.control), 1);
    assert_true(contact_is_up(&f.m.manager));
    f.requests--; /* the same request again */
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    const OpAlloc ask = {.client = {{3}}, .key = {{9}}, .len = PAGE};
    WireRequest request = {.id = ++f.requests, .settled = 1, .op = OP_ALLOC, .body = body};
    request.body_len = wire_alloc_encode(&ask, body);
    member_message(&f.m, f.m.manager.session, WIRE_REQUEST, out, wire_request_encode(&request, out),
                   f.now_ns);
    assert_int_equal(f.commands_count, 0);
    endpoint_free(managers[1]);
    end(&f);
}

TEST(manager__that_stands_by_is_named_as_such)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    endpoint_become(f.managers, &(Id128){{2, 1}}, MANAGER_STANDBY);
    elapse(&f, 0);
    member_up(&f.m, peer_meet(f.mine, f.managers, f.now_ns), f.now_ns);
    assert_int_equal(f.asked_count, 0);
    elapse(&f, 10 * NS_PER_S);
    assert_int_equal(f.news[MEMBER_NONE_ACTIVE], 1);
    assert_int_equal(f.news[MEMBER_UNHEARD], 0);
    end(&f);
}

/* Its name stands for one address, and while it is silent for another. */
TEST(manager__is_found_where_its_name_points_to)
{
    Fixture f;
    const Addr first = elsewhere(1), second = elsewhere(2);
    begin(&f, false, ROLE_CMD);
    move(&f, "manager");
    elapse(&f, NS_PER_S);
    assert_null(f.m.manager.session);
    assert_true(finder_take(&f.m.manager.finder));
    member_found(&f.m, NULL, 0); /* it has no address yet */
    assert_false(finder_take(&f.m.manager.finder));
    elapse(&f, 5 * NS_PER_S);
    assert_true(finder_take(&f.m.manager.finder));
    member_found(&f.m, &first, 1);
    elapse(&f, 0);
    assert_calls(&f, 1);
    assert_false(finder_take(&f.m.manager.finder));
    elapse(&f, 5 * NS_PER_S);
    assert_calls(&f, 1);
    assert_true(finder_take(&f.m.manager.finder));
    member_found(&f.m, &second, 1);
    elapse(&f, 0);
    assert_calls(&f, 2);
    end(&f);
}

/* A session that is up stays, whatever the name stands for now; once it is lost, it goes there. */
TEST(manager__that_answers_is_kept)
{
    Fixture f;
    const Addr second = elsewhere(2);
    begin(&f, false, ROLE_CMD);
    move(&f, "manager");
    assert_true(finder_take(&f.m.manager.finder));
    member_found(&f.m, &manager_at, 1);
    join(&f);
    const Session *was = f.m.manager.session;
    member_found(&f.m, &second, 1);
    elapse(&f, NS_PER_S);
    assert_ptr_equal(f.m.manager.session, was);
    while (f.news[MEMBER_LOST] == 0)
        elapse(&f, 10 * NS_PER_MS);
    assert_true(finder_take(&f.m.manager.finder));
    assert_calls(&f, 2);
    end(&f);
}

TEST(manager__hears_what_was_served)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    join(&f);
    member_served(&f.m, &(Served){111, 222, 333, 44, 5});
    elapse(&f, 2 * NS_PER_S);
    assert_int_equal(f.beat.served.read_bytes, 111);
    assert_int_equal(f.beat.served.write_bytes, 222);
    assert_int_equal(f.beat.served.reads_unfilled, 5);
    end(&f);
}

/* ---- the owner ------------------------------------------------------------------------------- */

TEST(limit__is_hurried_for_until_it_is_reached)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    join(&f);
    alloc(&f, 4);
    assert_int_equal(hear(&f, "limit 65536"), OWNER_LIMIT);
    assert_false(f.hurries);
    assert_int_equal(hear(&f, "limit 16384"), OWNER_LIMIT); /* just what is used */
    assert_false(f.hurries);
    assert_int_equal(f.commands_count, 0);
    assert_int_equal(hear(&f, "limit 8192"), OWNER_LIMIT);
    assert_true(f.hurries);
    assert_int_equal(f.commands_count, 1);
    assert_int_equal(f.commands[0].kind, IMD_DROP);
    unsigned before = f.used_count;
    member_done(&f.m, &f.commands[0], 0, f.now_ns);
    assert_false(f.hurries);
    assert_int_equal(f.used_count, before + 1); /* at once: somebody waits for it */
    assert_int_equal(f.used_bytes, 0);
    assert_int_equal(f.limit_bytes, 8192);
    end(&f);
}

TEST(use__is_reported_again_to_a_monitor_that_did_not_listen)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    join(&f);
    f.deaf = true;
    (void)hear(&f, "limit 8192");
    unsigned before = f.used_count;
    f.deaf = false;
    elapse(&f, NS_PER_S - 1);
    assert_int_equal(f.used_count, before);
    elapse(&f, 1);
    assert_int_equal(f.used_count, before + 1);
    assert_int_equal(f.limit_bytes, 8192);
    end(&f);
}

TEST(owner__that_falls_silent_ends_it)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    elapse(&f, 3 * SILENCE_NS); /* it never said that it would say something */
    assert_int_equal(hear(&f, "beat"), OWNER_BEAT);
    elapse(&f, SILENCE_NS - 1);
    assert_int_equal(hear(&f, "beat"), OWNER_BEAT);
    elapse(&f, SILENCE_NS - 1);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 0);
    assert_int_equal(f.commands_count, 0);
    elapse(&f, 1);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 1);
    assert_int_equal(f.commands_count, THREADS);
    end(&f);
}

/* A host that stood still has its imd go on, as its rmd does. */
TEST(owner__that_stood_still_with_it_does_not_end_it)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    assert_int_equal(hear(&f, "beat"), OWNER_BEAT);
    f.now_ns += 2 * SILENCE_NS;
    member_expire(&f.m, f.now_ns);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 0);
    elapse(&f, SILENCE_NS - 1);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 0);
    elapse(&f, 1);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 1);
    end(&f);
}

TEST(owner__that_hangs_up_ends_it_once)
{
    Fixture f;
    begin(&f, true, ROLE_CMD);
    (void)hear(&f, "limit 8192");
    f.deaf = true; /* a report is still owed to it */
    (void)hear(&f, "limit 4096");
    unsigned reports = f.used_count;
    (void)hear(&f, "beat");
    member_owner_gone(&f.m, f.now_ns);
    f.deaf = false;
    assert_int_equal(f.news[MEMBER_OWNER_GONE], 1);
    assert_int_equal(f.commands_count, THREADS);
    member_leave(&f.m, f.now_ns);
    elapse(&f, LEAVE_NS - 1);
    assert_int_equal(f.news[MEMBER_LEAVES], 0);
    assert_int_equal(f.news[MEMBER_OWNER_SILENT], 0);
    assert_int_equal(f.commands_count, THREADS);
    assert_int_equal(f.used_count, reports); /* nobody listens */
    assert_int_equal(f.news[MEMBER_UNHEARD], 0);
    end(&f);
}

/* ---- the end --------------------------------------------------------------------------------- */

TEST(leave__is_over_when_clients_and_manager_know)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    join(&f);
    assert_false(member_finished(&f.m, TIME_NEVER - 1));
    member_leave(&f.m, f.now_ns);
    assert_true(f.hurries);
    assert_int_equal(f.commands_count, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(f.commands[i].kind, IMD_LEAVE);
        assert_int_equal(f.commands[i].thread, i);
        assert_int_equal(f.given_back, 0);
        assert_false(member_finished(&f.m, f.now_ns));
        member_done(&f.m, &f.commands[i], 0, f.now_ns);
    }
    assert_int_equal(f.given_back, 1); /* that does not wait for the manager */
    assert_false(member_finished(&f.m, f.now_ns));
    answer(&f, OP_PART);
    assert_true(member_finished(&f.m, f.now_ns));
    end(&f);
}

/* Who leaves looks for no manager, and says nothing of one. */
TEST(leave__before_the_manager_was_heard)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    member_leave(&f.m, f.now_ns);
    elapse(&f, LEAVE_NS - 1);
    assert_int_equal(f.news[MEMBER_UNHEARD], 0);
    end(&f);
}

TEST(leave__does_not_wait_for_ever)
{
    Fixture f;
    begin(&f, false, ROLE_CMD);
    join(&f);
    const uint64_t end_ns = f.now_ns + LEAVE_NS;
    member_leave(&f.m, f.now_ns);
    for (uint64_t due; (due = member_deadline(&f.m)) < end_ns; f.asked_count = 0)
        member_expire(&f.m, due);
    assert_int_equal(member_deadline(&f.m), end_ns);
    assert_true(member_threads_deadline(LEAVE_NS) < LEAVE_NS);
    assert_false(member_finished(&f.m, f.now_ns + LEAVE_NS - 1));
    assert_true(member_finished(&f.m, f.now_ns + LEAVE_NS));
    end(&f);
}
