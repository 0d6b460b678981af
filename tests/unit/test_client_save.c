/* SPDX-License-Identifier: MIT */
/* Regions that are to leave a host soon: the program hears of it before its next keep-alive. */
#include "libdodo/client.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 600000 };

#define CASE(name) TEST_WITH(name, set_up_two, tear_down)

static int filled(void)
{
    int rd = open_at(LEN, 0, 0);
    assert_true(rd >= 0);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    return rd;
}

static void pass_ms(uint64_t ms)
{
    for (const uint64_t end = w.now + ms * NS_PER_MS; w.now < end;) {
        const uint64_t until = min_u64(end, w.now + 100 * NS_PER_MS);
        run_until(until); /* ends early when there is nothing to do */
        w.now = max_u64(w.now, until);
    }
}

/* Right after a keep-alive, so that the next one is far. */
static void keep_alive(void)
{
    const unsigned before = w.heard.alives;
    for (unsigned i = 0; i < 100 && w.heard.alives == before; i++)
        pass_ms(100);
    assert_int_equal(w.heard.alives, before + 1);
}

CASE(ping__asks_for_moves_at_once)
{
    int rd = filled();
    keep_alive();
    const unsigned alives = w.heard.alives, asked = w.heard.moves_asked;
    w.cmd.drained[0] = w.epoch;
    w.cmd.drained_count = 1;
    manager_ping();
    pass_ms(1000);
    assert_int_equal(w.heard.alives, alives);
    assert_in_range(w.heard.moves_asked, asked + 1, asked + 2); /* for each session */
    assert_int_equal(info(rd).address.epoch, SECOND_EPOCH);
    assert_int_equal(info(rd).copies, 1);
    w.net.imd_dead = true;
    assert_reads_without_file(rd, LEN);
}

/* The host has given it up for its owner, but for the region's name. */
static void give_up_all(void)
{
    const ImdRegion region = {.region = w.cmd.last.region,
                              .opening = w.cmd.last.opening,
                              .capability = w.cmd.last.capability,
                              .len = LEN};
    imd_data_drop(w.data, w.cmd.last.region);
    assert_int_equal(imd_data_add(w.data, &region), 0);
}

/* What is gone is found to be so in long pieces, also beside short calls. */
CASE(move__of_what_is_gone_is_quick)
{
    int rd = filled();
    keep_alive();
    give_up_all();
    w.cmd.drained[0] = w.epoch;
    w.cmd.drained_count = 1;
    w.beside = 8000;
    manager_ping();
    pass_ms(1000);
    assert_int_equal(stats().moves, 1);
    assert_in_range(stats().heals, 1, 10); /* of 147 blocks */
    assert_int_equal(info(rd).address.epoch, SECOND_EPOCH);
}

CASE(ping__of_a_manager_that_drains_nothing)
{
    int rd = filled();
    keep_alive();
    const unsigned asked = w.heard.moves_asked;
    manager_ping();
    pass_ms(1000);
    assert_in_range(w.heard.moves_asked, asked + 1, asked + 2); /* for each session */
    assert_int_equal(info(rd).address.epoch, w.epoch);
    assert_int_equal(info(rd).copies, 1);
}
