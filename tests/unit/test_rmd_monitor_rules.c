/* SPDX-License-Identifier: MIT */
/* The owner's rules in place of ours, and how the monitor explains what it does. */
#include "tests/lib/case.h"
#include "tests/unit/monitor_fixture.h"

/* ---- the owner's rules ----------------------------------------------------------------------- */

static MonitorConfig ruled(bool recruit, bool reclaim)
{
    MonitorConfig c = usual;
    c.has_recruit_rule = recruit;
    c.has_reclaim_rule = reclaim;
    return c;
}

CASE(rules_replace_ours)
{
    MonitorConfig c = ruled(true, true);
    begin(&c);
    h.console_idle = h.load = NAN; /* the rules do not ask for them */
    h.recruit = VERDICT_NO;
    h.reclaim = VERDICT_NO;
    pass(6 * MINUTE);
    assert_int_equal(h.starts, 0);
    assert_string_equal(reason(), "the rule recruit_when is false");
    h.recruit = VERDICT_YES;
    pass(2 * NS_PER_S);
    assert_int_equal(h.starts, 1);
    h.recruit = VERDICT_NO; /* a lending lasts until reclaim_when says so */
    pass(MINUTE);
    assert_int_equal(h.terminates, 0);
    h.reclaim = VERDICT_YES;
    look();
    assert_int_equal(h.terminates, 1);
    assert_string_equal(reason(), "the rule reclaim_when is true");
}

CASE(rules_do_not_flap_either)
{
    MonitorConfig c = ruled(true, true);
    begin(&c);
    for (unsigned i = 0; i < 3600; i++) {
        h.recruit = i % 2 ? VERDICT_YES : VERDICT_NO;
        h.reclaim = i % 2 ? VERDICT_NO : VERDICT_YES;
        unsigned terminates = h.terminates;
        pass(NS_PER_S);
        if (h.terminates > terminates)
            ended();
    }
    assert_in_range(h.starts, 10, 12);
}

CASE(says_what_it_rests_from)
{
    MonitorConfig c = ruled(true, true);
    begin(&c);
    h.recruit = VERDICT_YES;
    h.reclaim = VERDICT_NO;
    pass(6 * MINUTE);
    h.reclaim = VERDICT_YES;
    look();
    ended();
    h.reclaim = VERDICT_NO;
    pass(100 * NS_PER_S);
    assert_string_equal(reason(), "the rule reclaim_when is true 100s ago, 3min to wait");
}

CASE(a_rule_that_fails_is_busy)
{
    for (unsigned which = 0; which < 2; which++) {
        MonitorConfig c = ruled(which == 0, which == 1);
        begin(&c);
        h.recruit = VERDICT_YES;
        h.reclaim = VERDICT_NO;
        pass(6 * MINUTE);
        assert_int_equal(h.starts, 1);
        h.recruit = h.reclaim = VERDICT_UNKNOWN;
        look();
        assert_int_equal(h.terminates, 1);
        assert_non_null(strstr(reason(), "fails"));
    }
}

CASE(our_reclaim_stays_beside_their_recruit)
{
    MonitorConfig c = ruled(true, false);
    begin(&c);
    h.recruit = VERDICT_YES;
    h.console_idle = 0;
    look();
    pass(4 * MINUTE);
    assert_int_equal(h.starts, 0);
}

CASE(rules_see_all_facts)
{
    MonitorConfig c = ruled(true, true);
    begin(&c);
    h.recruit = VERDICT_YES;
    h.reclaim = VERDICT_NO;
    pass(100 * NS_PER_S);
    assert_true(h.judged.value[FACT_idle_after] == 300);
    assert_true(h.judged.value[FACT_load_below] == 0.3);
    assert_true(h.judged.value[FACT_console_idle] == 100); /* as long as it was watched */
    assert_true(h.judged.value[FACT_load_idle] == 100);
    assert_true(h.judged.value[FACT_lending] == 0);
    assert_false(facts_known(&h.judged, FACT_on_battery));
    pass(4 * MINUTE);
    h.held = 5 * GIB;
    read_memory();
    look();
    assert_true(h.judged.value[FACT_lending] == 1);
    assert_true(h.judged.value[FACT_mem_lent] == 5 * (double)GIB);
}

/* ---- words ----------------------------------------------------------------------------------- */

CASE(explains_itself)
{
    char text[4096], small[40];
    begin(&usual);
    pass(MINUTE);
    h.console_idle = 3;
    look();
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "The host is not lent: the console was touched 3s ago, says "
                                 "terminals, 5min are needed.\n"));
    assert_non_null(strstr(text, "no  => console idle for 5min: for 3s, says terminals\n"));
    assert_non_null(strstr(text, "no     load below 0.30 for 5min: it is 0.05, below for 60s\n"));
    assert_non_null(strstr(text, "yes    memory to spare: 43 GiB could be lent, 0 B are\n"));
    pass(5 * MINUTE);
    monitor_used(h.monitor, 3 * GIB, h.now_ns);
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "The host is lent: the console has been idle for 5min.\n"));
    assert_non_null(strstr(text, "Of its memory 43 GiB may be used, 3 GiB are.\n"));
    assert_null(strstr(text, "  no "));
    (void)monitor_explain(h.monitor, h.now_ns, small, sizeof small);
    assert_int_equal(strlen(small), sizeof small - 1);
}

/* What `rmd --explain` says of a host that nobody has touched for @idle_s. */
static const char *explained_once(double idle_s, double load)
{
    static char text[2048];
    const MonitorSink sink = {.judge = on_judge,
                              .start = on_start,
                              .limit = on_limit,
                              .terminate = on_terminate,
                              .kill = on_kill,
                              .changed = on_changed};
    const MemoryState memory = {
        .total_bytes = 100 * GIB, .spare_bytes = 60 * GIB, .reserve_bytes = GIB};
    Look l = {.console_source = "terminals"};
    uint64_t now;
    facts_init(&l.facts);
    l.facts.value[FACT_console_idle] = idle_s;
    l.facts.value[FACT_load] = load;
    Monitor *m = monitor_once(&usual, &sink, &l, &memory, &now);
    assert_non_null(m);
    (void)monitor_explain(m, now, text, sizeof text);
    m = monitor_free(m);
    return text;
}

/* To others than the owner. */
CASE(tells_others_hours_alone)
{
    char text[4096];
    MonitorStatus s;
    lend(&usual);
    monitor_status_coarse(h.monitor, h.now_ns, &s);
    assert_string_equal(s.reason, "the console has been idle for less than 1h");
    h.console_idle = 0.2;
    look();
    monitor_status_coarse(h.monitor, h.now_ns, &s);
    assert_string_equal(
        s.reason, "the console was touched less than 1h ago, says terminals, 5min are needed");
    (void)monitor_explain_coarse(h.monitor, h.now_ns, text, sizeof text);
    assert_null(strstr(text, "0s"));
    assert_null(strstr(text, "ms"));
    assert_non_null(strstr(text, "last reclaimed less than 1h ago: the console was touched\n"));
    lend(&usual);
    pass(125 * MINUTE);
    monitor_status_coarse(h.monitor, h.now_ns, &s);
    assert_string_equal(s.reason, "the console has been idle for 2h");
}

CASE(explains_a_single_look)
{
    static const double idle_s[] = {301, 3600, 4355.03, 30 * 24 * 3600.0};
    for (unsigned i = 0; i < sizeof idle_s / sizeof *idle_s; i++) {
        const char *text = explained_once(idle_s[i], 0.05);
        assert_non_null(strstr(text, "The host is about to be lent"));
        assert_null(strstr(text, "since the last look"));
    }
    assert_non_null(strstr(explained_once(4380, 0.05), "for 73min, says terminals"));
    assert_non_null(strstr(explained_once(4380, 0.5), "the load is 0.50"));
    assert_non_null(
        strstr(explained_once(100, 0.05), "touched 100s ago, says terminals, 5min are"));
    assert_non_null(strstr(explained_once(0, 0.05), "touched 0ms ago"));
    assert_non_null(strstr(explained_once(NAN, 0.05), "no source knows"));
}

CASE(explains_rules_and_rests)
{
    char text[4096];
    MonitorConfig c = ruled(true, true);
    begin(&c);
    h.reclaim = VERDICT_NO;
    pass(6 * MINUTE);
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "no  => rule recruit_when true: it fails\n"));
    assert_non_null(strstr(text, "yes    rule reclaim_when false: it is false\n"));
    h.recruit = VERDICT_YES;
    pass(2 * NS_PER_S);
    monitor_ended(h.monitor, "signal 11", h.now_ns);
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "no  => rest after imd ended by itself: 1s to wait\n"));
    assert_non_null(strstr(text, "imd last ended by itself with signal 11\n"));
    pass(3 * NS_PER_S);
    monitor_pressure(h.monitor, h.now_ns);
    ended();
    pass(NS_PER_S);
    (void)monitor_explain(h.monitor, h.now_ns, text, sizeof text);
    assert_non_null(strstr(text, "last reclaimed 1s ago: programs had to wait for memory\n"));
}
