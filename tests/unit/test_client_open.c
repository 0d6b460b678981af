/* SPDX-License-Identifier: MIT */
/* The client's core, call by call: regions are opened, closed and retained. */
#include "libdodo/client.h"
#include "libdodo/region.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#include "base/cleanup.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(open__reads_no_file)
{
    int rd = open_at(100000, 0, 0);
    assert_true(rd >= 0);
    assert_true(info(rd).active);
    assert_int_equal(info(rd).filled_bytes, 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 1);
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(close_rd(rd), -1);
    assert_int_equal(fail_error, EINVAL);
}

CASE(open__no_memory_begins_refraction)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.disk.released, 1);
    w.cmd.open_status = STATUS_OK;
    unsigned before = w.net.datagrams;
    assert_int_equal(open_at(4096, 0, 0), -1); /* at once, with no traffic */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.net.datagrams, before);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(4096, 0, 0) >= 0);
}

/* The manager gave the region: it is not claimed, and so is freed. */
CASE(open__one_region_too_many)
{
    w.client->config.regions_max = 2;
    int rd = open_at(4096, 0, 0);
    assert_true(rd >= 0 && open_at(4096, 4096, 0) >= 0);
    assert_int_equal(open_at(4096, 8192, 0), -1);
    assert_int_equal(fail_error, EMFILE);
    assert_non_null(strstr(fail_reason, "too many regions"));
    assert_int_equal(w.disk.released, 1);
    w.cmd.want_list = true;
    run_until(w.now + 6 * NS_PER_S);
    assert_int_equal(w.heard.claim.count, 2);
    assert_int_equal(close_rd(rd), 0);
    assert_true(open_at(4096, 8192, 0) >= 0); /* without a refraction */
}

CASE(open__refusals_say_why)
{
    static const struct {
        uint16_t status;
        const char *reason;
    } rows[] = {{STATUS_NO_MEMORY, "no host has that much idle memory"},
                {STATUS_BUSY, "the manager is busy"},
                {STATUS_QUOTA, "client_bytes and client_regions"},
                {STATUS_DENIED, "denied"},
                {STATUS_INVALID, "refused"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        w.cmd.open_status = rows[i].status;
        assert_int_equal(open_at(4096, 0, 0), -1);
        assert_int_equal(fail_error, ENOMEM);
        assert_non_null(strstr(fail_reason, rows[i].reason));
        w.now += 60 * NS_PER_S; /* the refraction period, which gets longer */
    }
}

CASE(open__dead_manager_costs_one_deadline)
{
    w.cmd.dead = true;
    uint64_t begun = w.now;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_true(w.now - begun >= 5 * NS_PER_S && w.now - begun < 6 * NS_PER_S);
    begun = w.now;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(w.now, begun);
}

/* A manager that needs no key may be anybody on this machine. */
CASE(open__without_a_key_only_hosts_of_this_machine)
{
    w.client->config.loopback_only = w.cmd.elsewhere = true;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    unsigned before = w.net.datagrams;
    assert_int_equal(open_at(4096, 0, 0), -1); /* it is not asked again at once */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.net.datagrams, before);
    w.now += 5 * NS_PER_S;
    int rd = open_at(4096, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    run_until(w.now + 30 * NS_PER_S); /* nor is it established there later */
    assert_false(info(rd).active);
    w.cmd.elsewhere = false;
    run_until(w.now + 30 * NS_PER_S);
    assert_true(info(rd).active);
    assert_int_equal(close_rd(rd), 0);
}

CASE(close__manager_gone_frees_all_the_same)
{
    int rd = open_at(4096, 0, 0);
    Call call;
    w.cmd.dead = true;
    call_close_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_true(call.unanswered); /* shutdown asks no more */
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(stats().regions, 0);
}

static bool close_asks(int rd, uint64_t *ret_ns)
{
    Call call;
    const unsigned before = w.net.datagrams;
    const uint64_t begun = w.now;
    call_close_start(&call, w.channels[1], rd, w.now);
    int result = done(&call);
    *ret_ns = w.now - begun;
    assert_true(result == 0 || call.unanswered);
    return w.net.datagrams > before;
}

/* ... for each of many closes, until it is heard again. */
CASE(close__manager_gone_is_asked_once)
{
    uint64_t took;
    int rd[4];
    for (unsigned i = 0; i < 4; i++)
        rd[i] = open_at(4096, i * 4096, 0);
    w.cmd.dead = true;
    assert_true(close_asks(rd[0], &took));
    assert_true(took >= w.client->config.request.deadline_ns);
    assert_false(close_asks(rd[1], &took));
    assert_int_equal(took, 0);
    w.cmd.dead = false;
    run_until(w.now + 30 * NS_PER_S); /* keep-alives are answered */
    unsigned closes = w.heard.closes;
    for (unsigned i = 2; i < 4; i++)
        assert_true(close_asks(rd[i], &took));
    assert_int_equal(w.heard.closes, closes + 2);
    assert_int_equal(w.disk.released, 4);
    assert_int_equal(stats().regions, 0);
}

/* So is one that has left anything else unanswered for as long. */
CASE(close__manager_gone_for_long_is_not_asked)
{
    uint64_t took;
    int rd = open_at(4096, 0, 0);
    w.cmd.dead = true;
    run_until(w.now + 30 * NS_PER_S);
    assert_false(close_asks(rd, &took));
}

/* The process ends, and has no time. */
CASE(close__at_the_end_takes_no_longer_than_is_allowed)
{
    uint64_t took, all = 0;
    int rd[3];
    for (unsigned i = 0; i < 3; i++)
        rd[i] = open_at(4096, i * 4096, 0);
    client_ends(w.client, 250 * NS_PER_MS);
    assert_true(close_asks(rd[0], &took));
    assert_true(took < 250 * NS_PER_MS);
    w.cmd.dead = true;
    for (unsigned i = 1; i < 3; i++, all += took)
        (void)close_asks(rd[i], &took);
    assert_in_range(all, 1, 300 * NS_PER_MS);
}

/* A program may open and close as often as it likes: only what is open at once counts. */
CASE(close__gives_its_place_back)
{
    enum { ROUNDS = 7000, REGIONS_OPEN = 40 }; /* the fixture allows 3000 regions at once */
    Region *open[REGIONS_OPEN] = {NULL};
    for (unsigned i = 0; i < ROUNDS; i++) {
        Region **r = &open[i % REGIONS_OPEN];
        if (*r) {
            client_region_remove(w.client, *r);
            client_region_free(w.client, *r);
        }
        assert_int_equal(client_region_new(w.client, r), 0);
    }
    assert_true(client_check(w.client));
}

/* ---- retaining ------------------------------------------------------------------------------ */

CASE(retain__only_what_was_read)
{
    uint8_t byte = 1;
    int rd = open_at(8192, 0, DODO_RETAIN);
    assert_reads_file(rd, 0, 0, 8192);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    assert_int_equal(write_at(rd, 0, &byte, 1), 1);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    w.disk.stamp_moved = true;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    w.disk.sync_error = EIO;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    rd = open_at(8192, 0, 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
}

CASE(retain__only_while_nobody_can_write)
{
    static const enum FileLease without[] = {LEASE_NOT_ASKED, LEASE_WRITER, LEASE_REFUSED};
    for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
        w.disk.lease = without[i]; /* somebody may be writing when it is opened, */
        int rd = open_at(8192, 0, DODO_RETAIN);
        w.disk.lease = LEASE_GRANTED;
        assert_reads_file(rd, 0, 0, 8192);
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.heard.releases, 0);
        rd = open_at(8192, 0, DODO_RETAIN);
        w.disk.lease = without[i]; /* ... or when it is closed */
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.heard.releases, 0);
        w.disk.lease = LEASE_GRANTED;
    }
}

/* A stamp proves nothing while a change could leave it as it is: the less the coarser it is. */
CASE(retain__not_before_a_change_would_show)
{
    const uint64_t s = NS_PER_S, fine = NS_PER_MS; /* as client_fixture.h has the granule */
    const struct {
        uint64_t mtime, ctime, taken;
        unsigned kept;
    } cases[] = {
        {5 * s + 1, 5 * s + 1, 5 * s + 1 + fine, 0},
        {5 * s + 1, 5 * s + 1, 5 * s + 2 + fine, 1},
        {5 * s, 5 * s + 1, 5 * s + 2 + fine, 1}, /* a whole second set by hand */
        {5 * s, 5 * s, 5 * s + 2 + fine, 0},
        {5 * s, 5 * s, 7 * s, 0},
        {5 * s, 5 * s, 7 * s + 1, 1},
        {5 * s, 4 * s, 7 * s, 0},
        {4 * s, 5 * s, 7 * s, 0},
        {4000 * s + 1, 5 * s, 9 * s, 0}, /* in the future */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        w.disk.stamp = (Stamp){8192, cases[i].mtime, cases[i].ctime};
        w.disk.stamp_taken_ns = cases[i].taken;
        unsigned before = w.heard.releases;
        int rd = open_at(8192, 0, DODO_RETAIN);
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.heard.releases - before, cases[i].kept);
    }
}

/* What the program has read before the file's last change is not what the file holds. */
CASE(retain__not_what_may_have_been_read_before_a_change)
{
    const uint64_t changed = 5 * NS_PER_S + 1, fine = NS_PER_MS;
    const struct {
        uint64_t since;
        bool may;
    } cases[] = {{changed - 1, false}, {changed + fine, false}, {changed + fine + 1, true}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        FileGiven given = {.retainable = true, .stamp = {8192, changed, changed}};
        given.granule_ns = fine;
        retain_since(&given, UINT64_MAX); /* it has read nothing */
        assert_true(given.retainable);
        retain_since(&given, cases[i].since);
        assert_int_equal(given.retainable, cases[i].may);
    }
}

/* ... nor when it is opened: what is read before such a change would be kept as of after it. */
CASE(retain__not_when_a_change_right_after_the_opening_would_not_show)
{
    w.disk.stamp = (Stamp){8192, NS_PER_S + 1, NS_PER_S + 1};
    w.disk.stamp_taken_ns = NS_PER_S + 1 + NS_PER_MS;
    int rd = open_at(8192, 0, DODO_RETAIN);
    w.disk.stamp_taken_ns += NS_PER_S;
    assert_reads_file(rd, 0, 0, 8192);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 0);
    rd = open_at(8192, 0, DODO_RETAIN);
    assert_reads_file(rd, 0, 0, 8192);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
}
