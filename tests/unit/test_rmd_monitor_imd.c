/* SPDX-License-Identifier: MIT */
/* The monitor's decisions, one at a time: what becomes of imd, and how much memory it may have. */
#include <stdio.h>

#include "rmd/metrics.h"
#include "rmd/metrics.h"
#include "rmd/monitor_private.h"
#include "tests/lib/case.h"
#include "tests/unit/monitor_fixture.h"

/* ---- imd ------------------------------------------------------------------------------------- */

CASE(who_does_not_leave_is_killed)
{
    lend(&usual);
    h.console_idle = 0;
    look();
    uint64_t from = h.now_ns;
    pass(NS_PER_S - NS_PER_MS);
    assert_int_equal(h.kills, 0);
    pass(NS_PER_MS);
    assert_int_equal(h.kills, 1);
    pass(10 * MINUTE); /* it hangs in the kernel: it is killed again, and none is started */
    assert_true(h.kills > 10 && h.kills < 700);
    assert_int_equal(h.starts, 1);
    assert_string_equal(reason(), "the last imd has not ended yet");
    ended();
    pass(NS_PER_S);
    assert_int_equal(h.starts, 2);
    assert_true(from < h.now_ns);
}

CASE(crashes_are_answered_later_and_later)
{
    uint64_t last = 0;
    lend(&usual);
    for (unsigned i = 0; i < 14; i++) {
        unsigned starts = h.starts;
        uint64_t from = h.now_ns;
        monitor_ended(h.monitor, "signal 9", h.now_ns);
        assert_int_equal(state_now(), MONITOR_BUSY);
        assert_non_null(strstr(reason(), "imd ended by itself with signal 9"));
        while (h.starts == starts)
            pass(NS_PER_S);
        uint64_t pause = h.now_ns - from;
        assert_true(pause >= last && pause <= MONITOR_PAUSE_MAX_NS + 2 * NS_PER_S);
        assert_true(pause >= min_u64(MONITOR_PAUSE_MAX_NS, NS_PER_S << i));
        last = pause;
    }
    pass(MONITOR_PAUSE_MAX_NS + NS_PER_S); /* all went well for long */
    monitor_ended(h.monitor, "signal 9", h.now_ns);
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 16);
}

/* ---- what is counted ------------------------------------------------------------------------- */

static RmdMetrics metrics(void)
{
    RmdMetrics m = {.busy = 7};
    rmd_metrics_read(&m, h.monitor, h.now_ns);
    return m;
}

CASE(counts_what_becomes_of_imds)
{
    begin(&usual);
    RmdMetrics m = metrics();
    assert_int_equal(m.busy, 1);
    assert_int_equal(m.lending + m.starting + m.counts.starts, 0);
    pass(5 * MINUTE + 2 * NS_PER_S);
    m = metrics();
    assert_int_equal(m.lending, 1);
    assert_int_equal(m.busy + m.starting, 0);
    assert_int_equal(m.counts.starts, 1);
    assert_int_equal(m.lendable_bytes, h.limit);
    monitor_used(h.monitor, GIB, h.now_ns);
    assert_int_equal(metrics().used_bytes, GIB);
    h.console_idle = 0;
    look();
    pass(3 * NS_PER_S); /* one that hangs is killed, again and again: that is one */
    assert_true(h.kills > 1);
    m = metrics();
    assert_int_equal(m.counts.reclaims, 1);
    assert_int_equal(m.counts.kills, 1);
    assert_int_equal(m.counts.crashes + m.counts.shortages, 0);
    ended();
    pass(5 * MINUTE + 2 * NS_PER_S);
    monitor_pressure(h.monitor, h.now_ns);
    m = metrics();
    assert_int_equal(m.counts.shortages, 1);
    assert_int_equal(m.counts.reclaims, 2);
    assert_int_equal(m.memory_pause_ns, MONITOR_PRESSURE_PAUSE_NS);
    assert_int_equal(m.crash_pause_ns, 0);
    ended();
    pass(10 * MINUTE);
    assert_int_equal(state_now(), MONITOR_LENDING);
    monitor_ended(h.monitor, "signal 9", h.now_ns);
    m = metrics();
    assert_int_equal(m.counts.crashes, 1);
    assert_int_equal(m.counts.starts, 3);
    assert_int_equal(m.crash_pause_ns, MONITOR_CRASH_PAUSE_NS);
    assert_int_equal(m.memory_pause_ns, 0);
}

/* An imd that ends on request has not failed, however often that is. */
CASE(an_owner_who_comes_and_goes_costs_no_pause)
{
    lend(&usual);
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(h.starts, i);
        h.console_idle = 0;
        look();
        ended();
        assert_null(strstr(reason(), "by itself"));
        pass(5 * MINUTE + 2 * NS_PER_S);
        assert_int_equal(state_now(), MONITOR_LENDING);
    }
}

CASE(who_is_never_ready_is_ended)
{
    begin(&usual);
    h.never_ready = true;
    pass(5 * MINUTE + NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(MONITOR_START_DEADLINE_NS - 2 * NS_PER_S);
    assert_int_equal(h.terminates, 0);
    pass(3 * NS_PER_S);
    assert_int_equal(h.terminates, 1);
    monitor_ended(h.monitor, "signal 15", h.now_ns);
    pass(4 * MINUTE);
    assert_int_equal(h.starts, 1);
    pass(2 * MINUTE);
    assert_int_equal(h.starts, 2);
}

CASE(leaves_with_its_imd)
{
    lend(&usual);
    monitor_leave(h.monitor, h.now_ns);
    assert_int_equal(h.terminates, 1);
    assert_false(monitor_finished(h.monitor));
    ended();
    assert_true(monitor_finished(h.monitor));
    pass(10 * MINUTE);
    assert_int_equal(h.starts, 1);
    begin(&usual);
    monitor_leave(h.monitor, h.now_ns);
    assert_true(monitor_finished(h.monitor));
    assert_int_equal(h.terminates, 0);
}

CASE(says_which_imd_is_gone)
{
    MonitorStatus status;
    lend(&usual);
    monitor_status(h.monitor, h.now_ns, &status);
    assert_int_equal(status.epoch, 0xabc);
    unsigned changes = h.changes;
    h.console_idle = 0;
    look();
    assert_true(h.changes > changes);
    monitor_status(h.monitor, h.now_ns, &status);
    assert_int_equal(status.state, MONITOR_BUSY);
    assert_int_equal(status.epoch, 0xabc);
}

/* ---- memory ---------------------------------------------------------------------------------- */

CASE(the_limit_follows_the_memory)
{
    lend(&usual);
    uint64_t limit = h.limit;
    assert_true(limit > 40 * GIB && limit <= 43 * GIB);
    assert_true(h.pool >= limit);
    h.spare = 30 * GIB;
    pass(NS_PER_S / 10);
    assert_int_equal(h.limits, 1);
    assert_true(h.limit <= 14 * GIB);
    h.spare = 60 * GIB;
    limit = h.limit;
    pass(10 * MINUTE);
    assert_true(h.limit > limit + 25 * GIB && h.limit <= limit + 605 * (64ull << 20));
    assert_int_equal(h.terminates, 0);
}

CASE(memory_that_goes_is_looked_at_more_often)
{
    lend(&usual);
    uint64_t limit = h.limit;
    h.spare -= 200 << 20;
    pass(MONITOR_MEMORY_POLL_NS);
    assert_int_equal(h.limits, 0);
    assert_true(monitor_memory_due_ns(h.monitor) <= h.now_ns + MONITOR_STORM_POLL_NS);
    h.spare -= 200 << 20; /* more than a little: it is taken back before the headroom is touched */
    pass(MONITOR_STORM_POLL_NS);
    assert_int_equal(h.limits, 1);
    assert_true(h.limit < limit);
    pass(NS_PER_S);
    assert_true(monitor_memory_due_ns(h.monitor) > h.now_ns + MONITOR_STORM_POLL_NS);
    assert_int_equal(h.terminates, 0);
}

CASE(full_host_is_looked_at_more_often)
{
    lend(&usual);
    read_memory();
    assert_int_equal(monitor_memory_due_ns(h.monitor), h.now_ns + MONITOR_MEMORY_POLL_NS);
    h.held = 34 * GIB; /* 16 are the owner's, 10 are left */
    h.spare = 26 * GIB;
    read_memory();
    assert_int_equal(monitor_memory_due_ns(h.monitor), h.now_ns + MONITOR_FULL_POLL_NS);
    h.spare = 30 * GIB;
    h.held = 30 * GIB;
    read_memory();
    assert_int_equal(monitor_memory_due_ns(h.monitor), h.now_ns + MONITOR_MEMORY_POLL_NS);
    assert_int_equal(h.terminates, 0);
}

CASE(pressure_takes_all_back_and_rests)
{
    lend(&usual);
    monitor_pressure(h.monitor, h.now_ns);
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "programs had to wait for memory");
    pass(MONITOR_EMERGENCY_DEADLINE_NS); /* no time to lose */
    assert_int_equal(h.kills, 1);
    ended();
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 2);
    h.spare = 5 * GIB;
    pass(NS_PER_S / 10);
    assert_int_equal(h.terminates, 2);
    assert_string_equal(reason(), "memory is short");
    pass(MONITOR_EMERGENCY_DEADLINE_NS);
    assert_int_equal(h.kills, 2);
    ended();
    pass(10 * MINUTE);
    assert_int_equal(h.starts, 2);
    h.spare = 60 * GIB;
    pass(2 * MINUTE);
    assert_int_equal(h.starts, 3);
}

/* The owner's own shortage: no lending begins in it. */
CASE(pressure_before_a_start_is_waited_for)
{
    begin(&usual);
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 0);
    monitor_pressure(h.monitor, h.now_ns);
    pass(MONITOR_PRESSURE_PAUSE_NS - NS_PER_S);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "memory was short, 1s to wait");
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 1);
}

CASE(pressure_comes_again_later_and_later)
{
    MonitorConfig c = usual;
    c.idle_after_ns = 10 * NS_PER_S;
    lend(&c);
    for (unsigned i = 0; i < 8; i++) {
        unsigned starts = h.starts;
        uint64_t from = h.now_ns;
        monitor_pressure(h.monitor, h.now_ns);
        ended();
        while (h.starts == starts)
            pass(NS_PER_S);
        assert_true(h.now_ns - from >= min_u64(MONITOR_PAUSE_MAX_NS, MINUTE << i));
    }
}

CASE(no_lending_without_knowing_the_memory)
{
    begin(&usual);
    h.memory_known = false;
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "the state of the memory is not known");
    h.memory_known = true;
    pass(2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    h.memory_known = false;
    pass(NS_PER_S / 10);
    assert_int_equal(h.terminates, 1);
}

CASE(a_little_is_not_worth_a_start)
{
    MonitorConfig c = usual;
    begin(&c);
    h.spare = 17 * GIB + (20 << 20);
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "only 20 MiB could be lent");
    c.pool_max_bytes = (16 << 20) + 5; /* unless no more is asked for */
    begin(&c);
    h.spare = 17 * GIB + (20 << 20);
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 1);
    assert_int_equal(h.pool, 16 << 20);
    assert_int_equal(h.limit, 16 << 20);
}

/* One that was not ready in time has failed: the next one is not tried at once. */
CASE(who_is_never_ready_is_a_failure)
{
    begin(&usual);
    h.never_ready = true;
    pass(usual.idle_after_ns + 2 * NS_PER_S);
    pass(MONITOR_START_DEADLINE_NS);
    assert_int_equal(h.terminates, 1);
    uint64_t until = h.now_ns + MONITOR_CRASH_PAUSE_NS;
    ended();
    assert_string_not_equal(reason(), "");
    h.console_idle = 7200;
    while (h.now_ns < until - 2 * NS_PER_S) {
        pass(NS_PER_S);
        assert_int_equal(h.starts, 1);
    }
    MonitorStatus status;
    monitor_status(h.monitor, h.now_ns, &status);
    assert_non_null(strstr(status.reason, "status 0")); /* how it ended */
}

/* An imd that leaves has less time when memory is short meanwhile. */
CASE(who_leaves_hurries_when_memory_is_short)
{
    MonitorConfig slow = usual;
    slow.leave_deadline_ns = MINUTE;
    lend(&slow);
    h.console_idle = 0;
    look();
    assert_int_equal(h.terminates, 1);
    assert_int_equal(h.kills, 0);
    monitor_pressure(h.monitor, h.now_ns);
    pass(MONITOR_EMERGENCY_DEADLINE_NS);
    assert_int_equal(h.kills, 1);
}

/* After a pressure that took all back the host rests as long as it must: another one right after
 * it, with nothing lent, does not shorten that. */
CASE(pressure_while_it_rests_shortens_nothing)
{
    lend(&usual);
    uint64_t until = 0;
    for (unsigned i = 0; i < 3; i++) { /* each time longer */
        monitor_pressure(h.monitor, h.now_ns);
        until = h.now_ns + (MONITOR_PRESSURE_PAUSE_NS << i);
        ended();
        unsigned starts = h.starts;
        if (i == 2)
            break;
        while (h.starts == starts)
            pass(NS_PER_S);
    }
    pass(NS_PER_S);
    monitor_pressure(h.monitor, h.now_ns);
    unsigned starts = h.starts;
    while (h.starts == starts)
        pass(NS_PER_S);
    assert_true(h.now_ns >= until);
}

/* The limit rises no higher than the pool that imd really made. */
CASE(the_pool_is_what_imd_says)
{
    begin(&usual);
    h.never_ready = true;
    pass(usual.idle_after_ns + 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    monitor_ready(h.monitor, 0xabc, h.limit + GIB, h.now_ns);
    uint64_t pool = h.limit + GIB;
    h.spare += 30 * GIB;
    pass(10 * MINUTE);
    assert_int_equal(h.limit, pool);
}

/* ... nor higher than what it was asked for. */
CASE(the_pool_is_never_more_than_was_asked_for)
{
    begin(&usual);
    h.never_ready = true;
    pass(usual.idle_after_ns + 2 * NS_PER_S);
    uint64_t asked = h.pool;
    monitor_ready(h.monitor, 0xabc, UINT64_MAX, h.now_ns);
    h.spare = 99 * GIB;
    pass(20 * MINUTE);
    assert_true(h.limit <= asked);
    assert_true(h.limit > asked - GIB);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Whatever comes in first after rmd stood still: all that was known is old, and nothing else is
 * concluded from it. */
CASE(after_a_gap_any_input_reclaims)
{
    enum { LOOKS, MEMORY, PRESSURE, SLEEP, READY, USED, LEAVE, TIME, INPUTS };
    char expected[sizeof(((MonitorStatus *)0)->reason)];
    for (int input = TIME; input >= LOOKS; input--) {
        lend(&usual);
        h.now_ns += max_u64(MONITOR_GAP_MIN_NS, MONITOR_GAP_POLLS * usual.poll_ns);
        unsigned changes = h.changes;
        if (input == LOOKS)
            look_now();
        else if (input == MEMORY)
            read_memory();
        else if (input == PRESSURE)
            monitor_pressure(h.monitor, h.now_ns);
        else if (input == SLEEP)
            monitor_sleep(h.monitor, false, h.now_ns);
        else if (input == READY)
            ready();
        else if (input == USED)
            monitor_used(h.monitor, 1, h.now_ns);
        else if (input == LEAVE)
            monitor_leave(h.monitor, h.now_ns);
        else
            monitor_expire(h.monitor, h.now_ns);
        assert_int_equal(h.terminates, 1);
        assert_true(h.changes > changes);
        assert_int_equal(state_now(), MONITOR_BUSY);
        MonitorStatus status;
        monitor_status(h.monitor, h.now_ns, &status);
        char text[2048];
        const char *last =
            strstr(monitor_explain(h.monitor, h.now_ns, text, sizeof text), "last reclaimed");
        assert_non_null(last);
        if (input == TIME)
            (void)snprintf(expected, sizeof expected, "%s", last);
        assert_string_equal(last, expected);
    }
}

/* It is killed in time also when that is sooner than all else that is due. */
CASE(deadline__of_a_kill)
{
    MonitorConfig quick = usual;
    quick.leave_deadline_ns = 5 * NS_PER_MS;
    lend(&quick);
    h.console_idle = 0;
    look();
    for (unsigned i = 1; i <= 3; i++) {
        assert_true(monitor_deadline(h.monitor) <= h.now_ns + quick.leave_deadline_ns);
        pass(quick.leave_deadline_ns);
        assert_int_equal(h.kills, i);
    }
    ended();
    assert_true(monitor_deadline(h.monitor) > h.now_ns);
}

/* A bad time is forgotten after a long good one, for crashes and for pressure alike. */
CASE(pauses_start_over_after_a_long_lending)
{
    lend(&usual);
    for (unsigned i = 0; i < 2; i++) {
        monitor_pressure(h.monitor, h.now_ns);
        ended();
        unsigned starts = h.starts;
        while (h.starts == starts)
            pass(NS_PER_S);
    }
    pass(MONITOR_PAUSE_MAX_NS);
    monitor_pressure(h.monitor, h.now_ns);
    uint64_t from = h.now_ns;
    ended();
    unsigned starts = h.starts;
    while (h.starts == starts)
        pass(NS_PER_S);
    assert_in_range(h.now_ns - from, 0,
                    max_u64(usual.idle_after_ns, MONITOR_PRESSURE_PAUSE_NS) + 3 * NS_PER_S);
}

/* What was owed in one lending is not owed in the next, nor counts what imd used as used. */
CASE(the_next_lending_starts_with_nothing)
{
    lend(&usual);
    monitor_used(h.monitor, 3 * GIB, h.now_ns);
    MonitorStatus status;
    h.console_idle = 0;
    look();
    ended();
    monitor_status(h.monitor, h.now_ns, &status);
    assert_int_equal(status.used_bytes, 0);
    h.console_idle = 7200;
    pass(usual.idle_after_ns + 3 * NS_PER_S);
    assert_int_equal(h.starts, 2);
    monitor_status(h.monitor, h.now_ns, &status);
    assert_int_equal(status.used_bytes, 0);
    assert_int_equal(status.lendable_bytes, h.limit);
}

/* An imd with all that is lent in use; then the owner takes 10 GiB. */
static void owe(void)
{
    lend(&usual);
    h.held = h.limit;
    h.spare -= h.held;
    pass(NS_PER_S);
    monitor_used(h.monitor, h.held, h.now_ns);
    const uint64_t limit = h.limit;
    h.spare = h.spare > 10 * GIB ? h.spare - 10 * GIB : 0;
    read_memory();
    assert_true(h.limit < limit);
    assert_int_equal(h.terminates, 0);
}

CASE(owed__an_imd_that_gives_nothing_back_is_ended)
{
    owe();
    pass(1900 * NS_PER_MS);
    assert_int_equal(h.terminates, 0);
    pass(200 * NS_PER_MS);
    assert_int_equal(h.terminates, 1);
    ended();
    assert_non_null(strstr(reason(), "by itself")); /* it is started again later and later */
}

CASE(owed__nothing_when_it_has_given_back)
{
    owe();
    monitor_used(h.monitor, h.limit, h.now_ns);
    h.spare += h.held - h.limit;
    h.held = h.limit;
    pass(10 * NS_PER_S);
    assert_int_equal(h.terminates, 0);
}

CASE(owed__a_part_of_it_is_enough_for_a_while)
{
    owe();
    for (unsigned i = 0; i < 5; i++) {
        h.held -= GIB / 4;
        h.spare += GIB / 4;
        monitor_used(h.monitor, h.held, h.now_ns);
        assert_true(h.held > h.limit);
        pass(1500 * NS_PER_MS);
        assert_int_equal(h.terminates, 0);
    }
    pass(NS_PER_S);
    assert_int_equal(h.terminates, 1);
}

/* The limit rises, second after second. */
static void rise(void)
{
    lend(&usual);
    const uint64_t limit = h.limit;
    h.spare -= 30 * GIB;
    read_memory();
    assert_true(h.limit < limit);
    h.spare += 30 * GIB;
    pass(10 * NS_PER_S);
    const uint64_t low = h.limit;
    pass(NS_PER_S);
    assert_true(h.limit > low && h.limit < limit);
}

/* It has more than it may again and again, and each time the limit has passed what it said when it
 * says so once more. */
CASE(owed__a_limit_that_rises_forgives_nothing_that_is_yet_to_be_said)
{
    rise();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(h.terminates, 0);
        const uint64_t said = h.limit + GIB / 64;
        monitor_used(h.monitor, said, h.now_ns);
        pass(NS_PER_S - NS_PER_MS);
        assert_true(h.limit > said);
    }
    monitor_used(h.monitor, h.limit + GIB / 64, h.now_ns);
    pass(10 * NS_PER_MS);
    assert_int_equal(h.terminates, 1);
}

/* It says nothing more: that is what it has. */
CASE(owed__a_limit_that_rises_forgives_what_has_stayed_within)
{
    rise();
    h.held = h.limit + GIB / 64;
    monitor_used(h.monitor, h.held, h.now_ns);
    pass(5 * NS_PER_S);
    assert_int_equal(h.terminates, 0);
    h.spare -= 50 * GIB;
    read_memory();
    assert_true(h.limit < h.held);
    pass(1900 * NS_PER_MS);
    assert_int_equal(h.terminates, 0);
    pass(200 * NS_PER_MS);
    assert_int_equal(h.terminates, 1);
}

/* ---- figures --------------------------------------------------------------------------------- */

CASE(metrics__tell_what_is_lent_and_was_lost)
{
    RmdMetrics m = {.busy = 7};
    begin(&usual);
    rmd_metrics_read(&m, h.monitor, h.now_ns);
    assert_int_equal(m.busy, 1);
    assert_int_equal(m.starting + m.lending, 0);
    lend(&usual);
    h.monitor->lending.loss.owed_bytes = 11;
    h.monitor->lending.loss.evicted_bytes = 22;
    h.monitor->lending.loss.reclaimed_bytes = 33;
    h.monitor->lending.held_bytes = 44;
    h.monitor->used_bytes = 55;
    h.monitor->pressure.until_ns = h.now_ns + 66;
    h.monitor->crash.until_ns = h.now_ns - 1; /* it is over */
    rmd_metrics_read(&m, h.monitor, h.now_ns);
    assert_int_equal(m.lending, 1);
    assert_int_equal(m.busy + m.starting, 0);
    assert_int_equal(m.owed_bytes, 11);
    assert_int_equal(m.evicted_bytes, 22);
    assert_int_equal(m.reclaimed_bytes, 33);
    assert_int_equal(m.held_bytes, 44);
    assert_int_equal(m.used_bytes, 55);
    assert_int_equal(m.memory_pause_ns, 66);
    assert_int_equal(m.crash_pause_ns, 0);
    assert_int_equal(m.counts.starts, 1);
}
