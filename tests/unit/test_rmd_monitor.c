/* SPDX-License-Identifier: MIT */
/* The monitor's decisions, one at a time: whether the host is idle. */
#include "tests/lib/case.h"
#include "tests/unit/monitor_fixture.h"

/* ---- idleness -------------------------------------------------------------------------------- */

CASE(lends_after_idle_after_and_not_before)
{
    begin(&usual);
    h.never_ready = true;
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 0);
    assert_int_equal(state_now(), MONITOR_BUSY);
    pass(2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    assert_int_equal(state_now(), MONITOR_STARTING);
    ready();
    assert_int_equal(state_now(), MONITOR_LENDING);
    assert_string_equal(reason(), "the console has been idle for 5min");
    pass(60 * MINUTE);
    assert_int_equal(h.starts + h.terminates, 1);
}

CASE(a_pause_reclaims_at_once_and_ends)
{
    lend(&usual);
    monitor_pause(h.monitor, h.now_ns + 20 * MINUTE, h.now_ns);
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "a user of the host has paused the lending, 20min to wait");
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_PAUSED);
    ended();
    pass(20 * MINUTE - 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(4 * NS_PER_S);
    assert_int_equal(h.starts, 2);
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_LENT);
}

/* The host's usual rest after a lending counts from the beginning of the pause. */
CASE(a_pause_without_an_end_is_ended_by_a_word)
{
    lend(&usual);
    monitor_pause(h.monitor, TIME_NEVER, h.now_ns);
    ended();
    pass(24 * 60 * MINUTE);
    assert_int_equal(h.starts, 1);
    assert_string_equal(reason(), "a user of the host lets nothing be lent");
    monitor_pause(h.monitor, 0, h.now_ns);
    pass(2 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

/* What users want is not known: that counts as a pause. */
CASE(pauses_that_nobody_knows_let_nothing_be_lent)
{
    lend(&usual);
    monitor_pauses_unknown(h.monitor, true, h.now_ns);
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(),
                        "who has paused the lending is not known: its file could not be read");
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_PAUSED);
    ended();
    monitor_pause(h.monitor, h.now_ns + MINUTE, h.now_ns);
    pass(60 * MINUTE);
    assert_int_equal(h.starts, 1);
    monitor_pause(h.monitor, h.now_ns + MINUTE, h.now_ns);
    monitor_pauses_unknown(h.monitor, false, h.now_ns);
    assert_string_equal(reason(), "a user of the host has paused the lending, 60s to wait");
    pass(MINUTE + 2 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(a_pause_before_the_first_look_lets_nothing_begin)
{
    begin(&usual);
    monitor_pause(h.monitor, h.now_ns + 60 * MINUTE, h.now_ns);
    pass(59 * MINUTE);
    assert_int_equal(h.starts, 0);
    pass(2 * MINUTE);
    assert_int_equal(h.starts, 1);
}

CASE(why__in_short)
{
    lend(&usual);
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_LENT);
    h.console_idle = 0.2;
    look();
    ended();
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_CONSOLE);
    pass(MINUTE);
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_CONSOLE);
    h.load = 2;
    pass(10 * MINUTE);
    assert_int_equal(monitor_why(h.monitor), MONITOR_WHY_LOAD);
}

/* For recordings: the owner's side of the decision alone. */
CASE(who_only_watches_lends_nothing)
{
    MonitorConfig config = usual;
    config.watch_only = true;
    begin(&config);
    pass(5 * MINUTE - NS_PER_S);
    assert_false(monitor_idle(h.monitor, h.now_ns));
    pass(2 * NS_PER_S);
    assert_true(monitor_idle(h.monitor, h.now_ns));
    pass(60 * MINUTE);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "rmd only watches");
    h.spare = 0;
    pass(MINUTE);
    assert_true(monitor_idle(h.monitor, h.now_ns));
    h.console_idle = 0;
    look();
    assert_false(monitor_idle(h.monitor, h.now_ns));
}

CASE(a_touch_reclaims_at_the_next_look)
{
    lend(&usual);
    h.console_idle = 0.2;
    look();
    assert_int_equal(h.terminates, 1);
    assert_int_equal(state_now(), MONITOR_BUSY);
    assert_string_equal(reason(),
                        "the console was touched 200ms ago, says terminals, 5min are needed");
    ended();
    pass(5 * MINUTE - 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(4 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(a_touch_longer_ago_than_idle_after_reclaims_too)
{
    MonitorConfig c = usual;
    c.idle_after_ns = NS_PER_S;
    lend(&c);
    h.now_ns += 3 * NS_PER_S / 2; /* looks come late */
    h.console_idle = 1.2;
    look_now();
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(),
                        "the console was touched 1s ago, says terminals, since the last look");
    ended();
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

/* The least that a source can tell of, at the longest time between two looks that it may be. At the
 * instant of a look, it may have come after the look. */
CASE(a_touch_right_after_a_look_reclaims)
{
    MonitorConfig c = usual;
    c.idle_after_ns = NS_PER_S;
    for (unsigned ms = 1000; ms < 2900; ms += 100) {
        for (unsigned later_ns = 0; later_ns < 2; later_ns++) {
            lend(&c);
            h.now_ns += ms * NS_PER_MS;
            h.console_idle = (double)(ms * NS_PER_MS - later_ns) / (double)NS_PER_S;
            look_now();
            assert_int_equal(h.terminates, 1);
        }
    }
}

CASE(load_reclaims_and_must_be_low_for_as_long)
{
    lend(&usual);
    h.load = 0.3;
    look();
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "the load is 0.30, it must be below 0.30");
    ended();
    for (unsigned i = 0; i < 1000; i++) { /* flaps */
        h.load = i % 20 ? 0.2 : 0.35;
        pass(10 * NS_PER_S);
    }
    assert_int_equal(h.starts, 1);
    assert_non_null(strstr(reason(), "the load has been below 0.30 for"));
    h.load = 0.29;
    pass(5 * MINUTE + NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(unknown_is_busy)
{
    lend(&usual);
    h.console_idle = NAN;
    look();
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "no source knows when the console was touched");
    ended();
    h.console_idle = 7200; /* the sources are back: what was meanwhile nobody knows */
    pass(5 * MINUTE - 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(4 * NS_PER_S);
    assert_int_equal(h.starts, 2);
    h.load = NAN;
    look();
    assert_int_equal(h.terminates, 2);
    assert_string_equal(reason(), "the load is not known");
}

CASE(the_battery_is_busy_unless_a_rule_says_otherwise)
{
    char text[4096];
    MonitorConfig c = usual;
    begin(&usual);
    h.battery = 1;
    pass(10 * MINUTE);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "the host runs on its battery");
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "no  => power from the mains: the host runs on its battery\n"));
    h.battery = 0;
    pass(MINUTE);
    assert_int_equal(h.starts, 1);
    h.battery = 1;
    look();
    assert_int_equal(h.terminates, 1);
    c.has_reclaim_rule = true;
    begin(&c);
    h.reclaim = VERDICT_NO;
    h.battery = 1;
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 1);
    assert_int_equal(h.terminates, 0);
}

CASE(dedicated_hosts_go_by_load_alone)
{
    MonitorConfig c = usual;
    c.dedicated = true;
    begin(&c);
    h.console_idle = NAN;
    pass(5 * MINUTE + NS_PER_S);
    assert_int_equal(h.starts, 1);
    h.console_idle = 0;
    look();
    assert_int_equal(h.terminates, 0);
    h.load = 0.4;
    look();
    assert_int_equal(h.terminates, 1);
}

CASE(a_silent_looker_is_busy)
{
    lend(&usual);
    uint64_t from = h.now_ns;
    while (h.terminates == 0 && h.now_ns < from + MINUTE) {
        h.now_ns = monitor_deadline(h.monitor);
        read_memory();
        monitor_expire(h.monitor, h.now_ns);
    }
    assert_int_equal(h.terminates, 1);
    assert_true(h.now_ns - from <= MONITOR_SILENCE_POLLS * NS_PER_S);
    assert_string_equal(reason(), "the sources of activity do not answer");
    ended();
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 1);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

CASE(a_leaping_clock_makes_nobody_idle)
{
    begin(&usual);
    h.console_idle = 0;
    look();
    h.console_idle = 86400; /* the host's clock was set */
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 0);
    assert_non_null(strstr(reason(), "the console has been watched for"));
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    h.console_idle = -5; /* set back: what was touched lies ahead */
    look();
    assert_int_equal(h.terminates, 1);
}

CASE(a_touch_just_before_the_clock_was_set_counts)
{
    lend(&usual);
    h.console_idle = 86400.5;
    h.clock_ns += 86400 * NS_PER_S;
    look();
    assert_int_equal(h.terminates, 1);
    /* what a clock is moved by little by little changes nothing */
    lend(&usual);
    for (unsigned i = 0; i < 100; i++) {
        h.clock_ns -= NS_PER_S / 2;
        pass(NS_PER_S);
    }
    assert_int_equal(h.terminates, 0);
}

/* Less than a second may come of clocks that are read one after the other, too. */
CASE(nor_does_a_small_step_hide_it)
{
    MonitorConfig soon = usual;
    soon.idle_after_ns = NS_PER_S;
    lend(&soon);
    h.console_idle = 0.3 + 0.9;
    h.clock_ns += 9 * NS_PER_S / 10;
    look();
    assert_int_equal(h.terminates, 1);
    lend(&soon); /* who is away stays away */
    for (unsigned i = 0; i < 100; i++) {
        h.clock_ns += 9 * NS_PER_S / 10;
        h.console_idle += 0.9;
        pass(NS_PER_S);
    }
    assert_int_equal(h.terminates, 0);
}

/* Time goes on, and nobody looks: the load may have been anything. */
CASE(after_a_silence_of_the_looker_the_load_starts_over)
{
    MonitorConfig c = usual;
    c.dedicated = true;
    begin(&c);
    pass(4 * MINUTE);
    for (uint64_t until = h.now_ns + 2 * MINUTE; h.now_ns < until;) {
        h.now_ns += NS_PER_S;
        read_memory();
        monitor_expire(h.monitor, h.now_ns);
    }
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 0);
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 1);
}

CASE(after_a_gap_all_starts_over)
{
    lend(&usual);
    h.now_ns += MINUTE;
    look();
    assert_int_equal(h.terminates, 1);
    ended();
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(3 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(after_sleep_all_starts_over)
{
    lend(&usual);
    h.slept_ns += 3600 * NS_PER_S;
    look();
    assert_int_equal(h.terminates, 1);
    ended();
    pass(5 * MINUTE - NS_PER_S);
    assert_int_equal(h.starts, 1);
}

CASE(gives_back_before_the_host_sleeps)
{
    begin(&usual);
    assert_false(monitor_delays_sleep(h.monitor));
    lend(&usual);
    assert_true(monitor_delays_sleep(h.monitor));
    monitor_sleep(h.monitor, true, h.now_ns);
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "the host is about to sleep");
    assert_true(monitor_delays_sleep(h.monitor)); /* imd is there yet */
    ended();
    assert_false(monitor_delays_sleep(h.monitor));
    pass(20 * MINUTE);
    assert_int_equal(h.starts, 1);
    monitor_sleep(h.monitor, false, h.now_ns); /* it did not */
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 2);
}

/* logind said that the host is about to sleep, and is not heard when it wakes: it was ended, or its
 * word was lost. */
CASE(sleep_is_over_when_the_host_has_slept)
{
    lend(&usual);
    monitor_sleep(h.monitor, true, h.now_ns);
    ended();
    pass(MINUTE);
    assert_string_equal(reason(), "the host is about to sleep");
    h.slept_ns += 3600 * NS_PER_S;
    look();
    pass(5 * MINUTE - 2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    pass(4 * NS_PER_S);
    assert_int_equal(h.starts, 2);
}

CASE(old_looks_are_not_believed)
{
    Look l = {.taken_ns = 1};
    lend(&usual);
    facts_init(&l.facts);
    monitor_look(h.monitor, &l, h.now_ns); /* knows nothing, but is of long ago */
    assert_int_equal(h.terminates, 0);
    l.taken_ns = h.now_ns + MINUTE; /* and none is of the future */
    l.facts.value[FACT_console_idle] = l.facts.value[FACT_load] = 0;
    monitor_look(h.monitor, &l, h.now_ns);
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 1);
}

CASE(old_looks_begin_nothing)
{
    begin(&usual);
    h.memory_known = false;
    pass(6 * MINUTE);
    h.memory_known = true;
    read_memory();
    look_now(); /* of the same instant as the last one: nothing new has been seen */
    assert_int_equal(h.starts, 0);
    look();
    assert_int_equal(h.starts, 1);
}

/* A source hung: what it tells in the end is of a time before the owner came, perhaps. */
CASE(late_looks_begin_nothing)
{
    begin(&usual);
    h.memory_known = false;
    pass(6 * MINUTE);
    h.memory_known = true;
    uint64_t taken = h.now_ns + NS_PER_MS;
    h.now_ns += usual.poll_ns / 2;
    read_memory();
    h.now_ns += usual.poll_ns;
    read_memory();
    look_taken(taken);
    assert_int_equal(h.starts, 0);
    look();
    assert_int_equal(h.starts, 1);
}

/* ---- other settings while it runs ------------------------------------------------------------ */

CASE(settings__a_shorter_time_counts_at_once)
{
    MonitorConfig c = usual;
    begin(&c);
    h.console_idle = 60;
    pass(2 * NS_PER_S);
    assert_int_equal(h.starts, 0);
    c.idle_after_ns = NS_PER_S;
    monitor_configure(h.monitor, &c, h.now_ns);
    pass(4 * NS_PER_S);
    assert_int_equal(h.starts, 1);
}

CASE(settings__a_lower_bound_of_the_load_reclaims)
{
    MonitorConfig c = usual;
    lend(&c);
    c.load_below = 0.01;
    monitor_configure(h.monitor, &c, h.now_ns);
    assert_int_equal(h.terminates, 1); /* at once */
    pass(2 * NS_PER_S);
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "the load is 0.05, it must be below 0.01");
}

/* What is lent already is taken back, as far as it is beyond the cap. */
CASE(settings__a_lower_cap_lowers_the_limit)
{
    MonitorConfig c = usual;
    lend(&c);
    h.held = 20 * GIB;
    pass(MINUTE);
    assert_true(h.limit > 8 * GIB);
    c.pool_max_bytes = 8 * GIB;
    monitor_configure(h.monitor, &c, h.now_ns);
    pass(MINUTE);
    assert_int_equal(h.limit, 8 * GIB);
    assert_int_equal(h.terminates, 0);
    c.pool_max_bytes = UINT64_MAX;
    monitor_configure(h.monitor, &c, h.now_ns);
    pass(10 * MINUTE);
    assert_true(h.limit > 8 * GIB);
}
