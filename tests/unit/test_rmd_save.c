/* SPDX-License-Identifier: MIT */
/* The owner is back, and what programs used last moves away before imd leaves. */
#include "tests/unit/monitor_fixture.h"

#define MIB (1ull << 20)

static const MonitorConfig saving = {.idle_after_ns = 5 * MINUTE,
                                     .poll_ns = NS_PER_S,
                                     .leave_deadline_ns = NS_PER_S,
                                     .load_below = 0.3,
                                     .pool_max_bytes = UINT64_MAX,
                                     .save_bytes = 256 * MIB,
                                     .save_within_ns = 10 * NS_PER_S};

/* An imd that can save has lent for a while. */
static void lend_able(const MonitorConfig *config)
{
    lend(config);
    monitor_saves(h.monitor);
    h.held = 20 * GIB;
    h.spare -= h.held;
    pass(NS_PER_S);
}

static void touch(void)
{
    h.console_idle = 0;
    look();
}

static void begin_to_save(void)
{
    lend_able(&saving);
    touch();
    assert_int_equal(h.saves, 1);
    assert_int_equal(h.terminates, 0);
    assert_int_equal(state_now(), MONITOR_SAVING);
    h.spare += h.held - h.save_bytes; /* imd gives back at once, and says so */
    h.held = h.save_bytes;
    monitor_used(h.monitor, h.held, h.now_ns);
}

static void assert_asked_to_leave(void)
{
    assert_int_equal(h.terminates, 1);
    assert_int_equal(state_now(), MONITOR_BUSY);
    assert_int_equal(h.saves, 1);
}

CASE(save__ends_when_imd_has_left)
{
    begin_to_save();
    assert_int_equal(h.save_bytes, 256 * MIB);
    assert_int_equal(h.save_within_ns, 10 * NS_PER_S);
    pass(3 * NS_PER_S);
    assert_int_equal(state_now(), MONITOR_SAVING);
    assert_non_null(strstr(reason(), "console was touched"));
    ended();
    assert_int_equal(h.terminates, 0);
    assert_int_equal(h.kills, 0);
    assert_int_equal(state_now(), MONITOR_BUSY);
    assert_null(strstr(reason(), "by itself"));
    pass(5 * MINUTE + 2 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(save__takes_save_within_at_most)
{
    begin_to_save();
    pass(9900 * NS_PER_MS);
    assert_int_equal(h.terminates, 0);
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
    pass(NS_PER_S);
    assert_int_equal(h.kills, 1);
}

/* All but the small part comes back at once, or imd is not waited for. */
CASE(save__ends_for_an_imd_that_gives_nothing_back)
{
    lend_able(&saving);
    monitor_used(h.monitor, h.held, h.now_ns);
    touch();
    assert_int_equal(h.saves, 1);
    pass(1900 * NS_PER_MS); /* leave_deadline, and what it says comes once a second */
    assert_int_equal(h.terminates, 0);
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
    assert_non_null(strstr(reason(), "did not give back"));
    pass(1100 * NS_PER_MS);
    assert_int_equal(h.kills, 1);
    ended();
    assert_non_null(strstr(reason(), "by itself"));
}

/* One that has no more than it may keep says at once that it has heard. */
CASE(save__ends_for_an_imd_that_says_nothing)
{
    lend_able(&saving);
    monitor_used(h.monitor, MIB, h.now_ns);
    touch();
    assert_int_equal(h.saves, 1);
    pass(1900 * NS_PER_MS);
    assert_int_equal(h.terminates, 0);
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
    pass(1100 * NS_PER_MS);
    assert_int_equal(h.kills, 1);
    ended();
    pass(5 * MINUTE + 2 * NS_PER_S);
    assert_int_equal(h.starts, 2);
    ready();
    pass(MINUTE); /* the next one owes no word */
    assert_int_equal(state_now(), MONITOR_LENDING);
}

CASE(save__goes_on_while_memory_comes_back)
{
    lend_able(&saving);
    uint64_t used = h.held;
    monitor_used(h.monitor, used, h.now_ns);
    touch();
    for (; used > h.save_bytes; used = used > 4 * GIB ? used - 4 * GIB : h.save_bytes) {
        monitor_used(h.monitor, used, h.now_ns);
        pass(NS_PER_S);
    }
    monitor_used(h.monitor, used, h.now_ns);
    pass(3 * NS_PER_S);
    assert_int_equal(h.terminates, 0);
    assert_int_equal(state_now(), MONITOR_SAVING);
}

/* Nothing is lent again before it is gone, however quiet the console. */
CASE(save__starts_no_other_imd)
{
    MonitorConfig brief = saving;
    brief.idle_after_ns = 2 * NS_PER_S;
    lend_able(&brief);
    touch();
    assert_int_equal(h.saves, 1);
    monitor_used(h.monitor, h.save_bytes, h.now_ns);
    pass(9 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    assert_int_equal(state_now(), MONITOR_SAVING);
}

/* A hundredth of the memory is never lent, so that the owner has that much more. */
CASE(save__keeps_a_hundredth_of_the_memory_at_most)
{
    begin(&saving);
    h.total = 8 * GIB;
    h.spare = 6 * GIB;
    pass(5 * MINUTE + 2 * NS_PER_S);
    monitor_saves(h.monitor);
    touch();
    assert_int_equal(h.saves, 1);
    assert_in_range(h.save_bytes, 8 * GIB / 100 - (64 << 10), 8 * GIB / 100);
}

/* It leaves as ever. */
static void assert_leaves(void)
{
    touch();
    assert_int_equal(h.saves, 0);
    assert_int_equal(h.terminates, 1);
    assert_int_equal(state_now(), MONITOR_BUSY);
}

CASE(save__not_by_an_older_imd)
{
    lend(&saving);
    assert_leaves();
}

CASE(save__not_by_the_next_imd_unasked)
{
    lend_able(&saving);
    ended();
    h.held = 0;
    pass(10 * MINUTE);
    assert_int_equal(h.starts, 2);
    assert_leaves();
}

CASE(save__not_where_the_owner_does_not_want_it)
{
    lend_able(&usual);
    assert_leaves();
}

CASE(save__not_by_an_imd_that_does_not_listen)
{
    lend_able(&saving);
    h.deaf = true;
    assert_leaves();
}

CASE(save__not_under_load)
{
    lend_able(&saving);
    h.load = 2;
    assert_leaves();
}

CASE(save__not_on_the_battery)
{
    lend_able(&saving);
    h.battery = 1;
    assert_leaves();
}

CASE(save__not_where_a_rule_decides)
{
    MonitorConfig ruled = saving;
    ruled.has_reclaim_rule = true;
    begin(&ruled);
    h.reclaim = VERDICT_NO;
    pass(5 * MINUTE + 2 * NS_PER_S);
    monitor_saves(h.monitor);
    h.reclaim = VERDICT_YES;
    look();
    assert_int_equal(h.saves, 0);
    assert_int_equal(h.terminates, 1);
}

/* ---- what ends it at once -------------------------------------------------------------------- */

CASE(save__ends_at_memory_pressure)
{
    begin_to_save();
    monitor_pressure(h.monitor, h.now_ns);
    assert_asked_to_leave();
    pass(MONITOR_EMERGENCY_DEADLINE_NS);
    assert_int_equal(h.kills, 1);
}

CASE(save__ends_when_memory_is_short)
{
    begin_to_save();
    h.spare = GIB;
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
}

/* The headroom is not touched yet. */
CASE(save__ends_when_the_owner_takes_what_is_kept)
{
    begin_to_save();
    h.spare = 16 * GIB - h.held / 2;
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
}

CASE(save__ends_when_the_memory_is_not_known)
{
    begin_to_save();
    h.memory_known = false;
    pass(200 * NS_PER_MS);
    assert_asked_to_leave();
}

CASE(save__ends_under_load)
{
    begin_to_save();
    pass(2 * NS_PER_S);
    assert_int_equal(h.terminates, 0);
    h.load = 0.3;
    look();
    assert_asked_to_leave();
}

CASE(save__ends_on_the_battery)
{
    begin_to_save();
    h.battery = 1;
    look();
    assert_asked_to_leave();
}

CASE(save__ends_when_the_host_sleeps)
{
    begin_to_save();
    monitor_sleep(h.monitor, true, h.now_ns);
    assert_asked_to_leave();
}

CASE(save__ends_when_a_user_pauses)
{
    begin_to_save();
    monitor_pause(h.monitor, TIME_NEVER, h.now_ns);
    assert_asked_to_leave();
}

CASE(save__ends_when_rmd_leaves)
{
    begin_to_save();
    monitor_leave(h.monitor, h.now_ns);
    assert_asked_to_leave();
}

CASE(save__ends_when_rmd_did_not_run)
{
    begin_to_save();
    h.now_ns += monitor_gap_ns(h.monitor);
    monitor_expire(h.monitor, h.now_ns);
    assert_asked_to_leave();
}
