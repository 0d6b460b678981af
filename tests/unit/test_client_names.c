/* SPDX-License-Identifier: MIT */
/* A manager that may be at several addresses, and that moves. */
#include "libdodo/client.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

enum { HOST_NOBODY = 3, HOST_NOBODY_ELSE = 4 };

static Addr at(unsigned host)
{
    return addr_sim((uint16_t)host, 1);
}

static unsigned resolutions;

static void hook_resolve(void *ctx)
{
    (void)ctx;
    assert_false(w.locked);
    resolutions++;
}

/* The manager is known by a name that stands for these. */
static void name(const Addr *found, unsigned count)
{
    resolutions = 0;
    w.client->hooks.resolve = hook_resolve;
    w.client->manager.finder = (Finder){.named = true};
    client_found(w.client, found, count);
}

/* One open tries the addresses in turn, and needs no second one. */
CASE(open__finds_the_address_that_answers)
{
    const Addr all[] = {at(HOST_NOBODY), at(HOST_NOBODY_ELSE), at(HOST_MANAGER)};
    const uint64_t began = w.now;
    client_found(w.client, all, 1);
    client_found(w.client, all, 3);
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_true(w.now - began >= NS_PER_S);
    assert_true(w.now - began < 2 * NS_PER_S);
    assert_true(open_at(4096, 4096, 0) >= 0);
    assert_true(w.now - began < 2 * NS_PER_S); /* it goes there at once */
}

/* A manager that moved is found by its name once it has not answered. */
CASE(open__finds_a_manager_that_moved)
{
    const Addr before = at(HOST_NOBODY), after = at(HOST_MANAGER);
    name(&before, 1);
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(resolutions, 1);
    client_found(w.client, &after, 1);
    run_until(w.now + 60 * NS_PER_S); /* the refraction period */
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_int_equal(resolutions, 1);
}

CASE(open__needs_an_address)
{
    name(NULL, 0);
    const uint64_t began = w.now;
    const Addr found = at(HOST_MANAGER);
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_string_equal(fail_reason, "the manager's name has no address: see the log");
    assert_true(w.now - began < NS_PER_S);
    assert_int_equal(resolutions, 1);
    client_found(w.client, &found, 1);
    run_until(w.now + 60 * NS_PER_S);
    assert_true(open_at(4096, 0, 0) >= 0);
}

/* ---- several managers ----------------------------------------------------------------------- */

/* The other one is asked first. */
static void two_managers(uint64_t number)
{
    const Addr all[] = {at(HOST_OTHER), at(HOST_MANAGER)};
    w.client->manager.finder = (Finder){.count = 2, .found = {all[0], all[1]}};
    other_start(number);
}

CASE(managers__one_that_stands_by_gives_way_at_once)
{
    two_managers(MANAGER_STANDBY);
    const uint64_t began = w.now;
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_true(w.now - began < 10 * NS_PER_MS);
    assert_int_equal(w.cmd.standbys, 0); /* it was not asked anything */
}

CASE(managers__one_that_answers_that_it_stands_by_gives_way_at_once)
{
    two_managers(MANAGER_UNLEASED);
    w.cmd.other_refuses = true;
    const uint64_t began = w.now;
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_true(w.now - began < 10 * NS_PER_MS);
    assert_int_equal(w.cmd.standbys, 1);
}

static void open_begin(Call *call, uint64_t offset)
{
    const FileGiven given = {
        .file = &the_file, .lease = w.disk.lease, .stamp = file_stamp_now(), .retainable = true};
    call_open_start(call, w.channels[1], &given, 4096, offset, 0, w.now);
}

static bool is_over(const Call *call)
{
    return call->need == NEED_NOTHING;
}

/* An open that begins while all stand by succeeds once one is active. */
CASE(managers__all_stand_by_for_a_while)
{
    two_managers(MANAGER_STANDBY);
    const Id128 manager = {{1, 1}};
    endpoint_become(w.manager, &manager, MANAGER_STANDBY);
    const unsigned datagrams = w.net.datagrams;
    Call call;
    open_begin(&call, 0);
    run_until(w.now + 2 * NS_PER_S);
    assert_false(is_over(&call));
    assert_true(w.net.datagrams - datagrams < 100); /* it does not spin */
    other_is(3);
    const uint64_t began = w.now;
    assert_true(done(&call) >= 0);
    assert_true(w.now - began < 300 * NS_PER_MS);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
}

/* The session is up, and the manager dies: the request does not wait for its whole deadline. */
CASE(managers__one_that_dies_gives_way_within_a_second)
{
    two_managers(MANAGER_STANDBY);
    assert_true(open_at(4096, 0, 0) >= 0);
    w.cmd.dead = true;
    other_is(3);
    const uint64_t began = w.now;
    assert_true(open_at(4096, 4096, 0) >= 0);
    assert_true(w.now - began < 750 * NS_PER_MS); /* by PINGs after 300 and 500 ms */
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
}

/* A manager that is busy with the request says nothing to its repetitions, and is not left. */
CASE(managers__one_that_is_slow_stays)
{
    two_managers(MANAGER_STANDBY);
    assert_true(open_at(4096, 0, 0) >= 0);
    other_is(3);
    w.cmd.slow = true;
    Call call;
    open_begin(&call, 4096);
    run_until(w.now + 3 * NS_PER_S);
    w.cmd.slow = false;
    assert_true(done(&call) >= 0);
    assert_int_equal(w.cmd.asked_last, HOST_MANAGER);
}

/* Who was active before does not know it yet; what it says must not count. */
CASE(managers__an_older_lease_is_not_asked)
{
    const Id128 manager = {{1, 1}};
    two_managers(8);
    endpoint_become(w.manager, &manager, 7);
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
    other_is(MANAGER_STANDBY);
    assert_int_equal(open_at(4096, 4096, 0), -1);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
    run_until(w.now + 60 * NS_PER_S);
    endpoint_become(w.manager, &(Id128){{1, 2}}, 9);
    assert_true(open_at(4096, 4096, 0) >= 0);
    assert_int_equal(w.cmd.asked_last, HOST_MANAGER);
}

/* It is ended as asked, and says so. */
CASE(managers__one_that_says_good_bye_gives_way_at_once)
{
    const Id128 manager = {{1, 1}};
    uint8_t out[WIRE_PAYLOAD_MAX], datagram[DATAGRAM_MAX];
    two_managers(MANAGER_STANDBY);
    endpoint_become(w.manager, &manager, 7);
    assert_true(open_at(4096, 0, 0) >= 0);
    const size_t n = wire_goodbye_encode(7, out);
    for (Session *s = NULL; (s = endpoint_walk(w.manager, s));)
        wire(at(HOST_MANAGER), &s->peer, datagram,
             endpoint_seal(w.manager, s, WIRE_GOODBYE, out, n, datagram));
    w.cmd.dead = true;
    other_is(8);
    settle();
    const uint64_t began = w.now;
    assert_true(open_at(4096, 4096, 0) >= 0);
    assert_true(w.now - began < 20 * NS_PER_MS);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
}

/* Its successor is heard while its answer is on its way. */
CASE(managers__an_answer_under_an_older_lease_does_not_count)
{
    const Id128 manager = {{1, 1}};
    two_managers(MANAGER_STANDBY);
    endpoint_become(w.manager, &manager, 7);
    assert_true(open_at(4096, 0, 0) >= 0);
    Call call;
    open_begin(&call, 4096);
    channel_run(1);
    const unsigned opens = w.heard.opens;
    while (w.heard.opens == opens) /* it is asked, and answers */
        pump();
    other_is(8);
    fence_heard(&w.client->manager.fence, 8, w.now);
    w.client->manager.finder.at = 0;
    assert_true(done(&call) >= 0);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
    assert_int_equal(w.heard.opens, opens + 2);
}

/* The one that it has answers, and does not know yet that its lease is over. */
CASE(managers__a_newer_lease_is_found_beside_one_that_answers)
{
    two_managers(MANAGER_STANDBY);
    const Id128 manager = {{1, 1}};
    endpoint_become(w.manager, &manager, 7);
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_int_equal(w.cmd.asked_last, HOST_MANAGER);
    run_until(w.now + 12 * NS_PER_S);
    assert_int_equal(w.cmd.asked_last, HOST_MANAGER);
    other_is(8);
    run_until(w.now + 11 * NS_PER_S); /* the second keep-alive */
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
    const unsigned alives = w.heard.alives;
    run_until(w.now + 60 * NS_PER_S);
    assert_in_range(w.heard.alives - alives, 11, 13);
    assert_int_equal(w.cmd.asked_last, HOST_OTHER);
}
