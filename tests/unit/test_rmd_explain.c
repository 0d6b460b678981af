/* SPDX-License-Identifier: MIT */
/* What the monitor says of the host, word for word, in each situation that has its own words. */
#include "tests/lib/case.h"
#include "tests/unit/monitor_fixture.h"

static char said[4096];

static const char *explained(void)
{
    assert_ptr_equal(monitor_explain(h.monitor, h.now_ns, said, sizeof said), said);
    return said;
}

#define SAYS(text) assert_string_equal(explained(), text)

CASE(nothing_seen_yet)
{
    begin(&usual);
    SAYS("The host is not lent: the host has not been looked at yet.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no     console idle for 5min: not known\n"
         "  no     load below 0.30 for 5min: not known\n"
         "  no     memory to spare: not known\n"
         "  no     quiet since the start or the last reclaim: 5min to wait\n");
}

CASE(console_touched)
{
    begin(&usual);
    pass(MINUTE);
    h.console_idle = 3;
    look();
    SAYS("The host is not lent: the console was touched 3s ago, says terminals, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: for 3s, says terminals\n"
         "  no     load below 0.30 for 5min: it is 0.05, below for 60s\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 3min to wait\n");
}

CASE(console_and_load_unknown)
{
    begin(&usual);
    h.console_idle = h.load = NAN;
    pass(MINUTE);
    SAYS("The host is not lent: no source knows when the console was touched.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: not known\n"
         "  no     load below 0.30 for 5min: not known\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 4min to wait\n");
}

CASE(load_high)
{
    begin(&usual);
    h.load = 0.3;
    pass(10 * MINUTE);
    SAYS("The host is not lent: the load is 0.30, it must be below 0.30.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  no  => load below 0.30 for 5min: it is 0.30\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(load_was_high)
{
    begin(&usual);
    h.load = 2;
    pass(10 * MINUTE);
    h.load = 0;
    pass(MINUTE);
    SAYS("The host is not lent: the load has been below 0.30 for 60s, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 11min, says terminals\n"
         "  no  => load below 0.30 for 5min: it is 0.00, below for 60s\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(on_battery)
{
    begin(&usual);
    h.battery = 1;
    pass(10 * MINUTE);
    SAYS("The host is not lent: the host runs on its battery.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  no  => power from the mains: the host runs on its battery\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(calm_is_needed)
{
    begin(&usual);
    pass(5 * MINUTE - NS_PER_S);
    SAYS("The host is not lent: the console has been watched for 4min, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: for 4min, says terminals\n"
         "  no     load below 0.30 for 5min: it is 0.05, below for 4min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 1s to wait\n");
}

CASE(memory_is_little)
{
    begin(&usual);
    h.spare = 16 * GIB;
    pass(10 * MINUTE);
    SAYS("The host is not lent: only 0 B could be lent.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  no  => memory to spare: 0 B could be lent, 0 B are\n");
}

CASE(memory_is_short)
{
    begin(&usual);
    h.spare = 2 * GIB;
    pass(10 * MINUTE);
    SAYS("The host is not lent: memory is short.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  no  => memory to spare: 0 B could be lent, 0 B are; memory is short\n"
         "  no     rest after memory was short: 60s to wait\n");
}

CASE(memory_is_unknown)
{
    begin(&usual);
    h.memory_known = false;
    pass(10 * MINUTE);
    SAYS("The host is not lent: the state of the memory is not known.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  no  => memory to spare: not known\n");
}

CASE(group_is_limited)
{
    MemoryState m = {.total_bytes = h.total, .spare_bytes = 60 * GIB, .reserve_bytes = GIB};
    begin(&usual);
    m.total_bytes = h.total;
    memory_state_limit(&m, 16 * GIB, 12 * GIB);
    pass(MINUTE);
    monitor_memory(h.monitor, &m, 0, h.now_ns);
    SAYS("The host is not lent: the console has been watched for 60s, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: for 60s, says terminals\n"
         "  no     load below 0.30 for 5min: it is 0.05, below for 60s\n"
         "  yes    memory to spare: 10.8 GiB could be lent, 0 B are\n"
         "       (the control group of rmd and imd is limited to 16 GiB)\n"
         "  no     quiet since the start or the last reclaim: 4min to wait\n");
}

CASE(lends)
{
    lend(&usual);
    pass(10 * MINUTE);
    monitor_used(h.monitor, 3 * GIB, h.now_ns);
    SAYS("The host is lent: the console has been idle for 15min.\n"
         "Of its memory 43 GiB may be used, 3 GiB are.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 15min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 15min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(lends_on_mains)
{
    begin(&usual);
    h.battery = 0;
    pass(10 * MINUTE);
    SAYS("The host is lent: the console has been idle for 10min.\n"
         "Of its memory 43 GiB may be used, 0 B are.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  yes    power from the mains: yes\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(dedicated)
{
    MonitorConfig c = usual;
    c.dedicated = true;
    lend(&c);
    SAYS("The host is lent: the load is low.\n"
         "Of its memory 43 GiB may be used, 0 B are.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  -      console: not asked, the host is dedicated\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 5min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(reclaimed_and_not_ended)
{
    lend(&usual);
    h.console_idle = 0;
    look();
    h.console_idle = 7200;
    pass(130 * NS_PER_S);
    SAYS("The host is not lent: the console has been watched for 2min, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: for 2min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 7min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 2min to wait\n"
         "last reclaimed 2min ago: the console was touched\n");
}

CASE(reclaimed_for_load)
{
    lend(&usual);
    h.load = 1;
    look();
    ended();
    h.load = 0;
    pass(4 * MINUTE);
    SAYS("The host is not lent: the load has been below 0.30 for 4min, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 9min, says terminals\n"
         "  no  => load below 0.30 for 5min: it is 0.00, below for 4min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 60s to wait\n"
         "last reclaimed 4min ago: the load was high\n");
}

CASE(rests_after_pressure)
{
    lend(&usual);
    monitor_pressure(h.monitor, h.now_ns);
    ended();
    pass(2 * 3600 * NS_PER_S);
    monitor_pressure(h.monitor, h.now_ns);
    ended();
    pass(MINUTE);
    SAYS("The host is not lent: programs had to wait for memory 60s ago, 4min to wait.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 2h, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 2h\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no  => quiet since the start or the last reclaim: 4min to wait\n"
         "last reclaimed 60s ago: programs had to wait for memory\n");
}

CASE(rests_after_a_crash)
{
    lend(&usual);
    monitor_ended(h.monitor, "signal 11", h.now_ns);
    SAYS("The host is not lent: imd ended by itself with signal 11, 1s to wait.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 5min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 5min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no  => rest after imd ended by itself: 1s to wait\n"
         "imd last ended by itself with signal 11\n");
}

CASE(leaves)
{
    lend(&usual);
    monitor_leave(h.monitor, h.now_ns);
    ended();
    SAYS("The host is not lent: rmd ends.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 5min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 5min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 5min to wait\n"
         "last reclaimed 0ms ago: rmd ends\n");
}

CASE(rules_decide)
{
    MonitorConfig c = usual;
    c.has_recruit_rule = c.has_reclaim_rule = true;
    begin(&c);
    h.recruit = VERDICT_NO;
    h.reclaim = VERDICT_YES;
    pass(10 * MINUTE);
    SAYS("The host is not lent: the rule reclaim_when is true.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no     rule recruit_when true: it is false\n"
         "  no  => rule reclaim_when false: it is true\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
    h.reclaim = VERDICT_NO;
    pass(10 * MINUTE);
    SAYS("The host is not lent: the rule recruit_when is false.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => rule recruit_when true: it is false\n"
         "  yes    rule reclaim_when false: it is false\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
    h.recruit = VERDICT_YES;
    pass(10 * MINUTE);
    SAYS("The host is lent: the rule recruit_when was true.\n"
         "Of its memory 43 GiB may be used, 0 B are.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    rule recruit_when true: it is true\n"
         "  yes    rule reclaim_when false: it is false\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
    h.reclaim = VERDICT_UNKNOWN;
    pass(2 * NS_PER_S);
    SAYS("The host is not lent: the rule reclaim_when fails.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    rule recruit_when true: it is true\n"
         "  no  => rule reclaim_when false: it fails\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 4min to wait\n"
         "last reclaimed 1s ago: the rule reclaim_when fails\n");
}

/* What takes the host back is the rule's alone, so the battery is not asked. */
CASE(a_rule_that_has_no_battery_in_it)
{
    MonitorConfig c = usual;
    c.has_reclaim_rule = true;
    begin(&c);
    h.reclaim = VERDICT_NO;
    h.battery = 1;
    pass(10 * MINUTE);
    SAYS("The host is lent: the console has been idle for 10min.\n"
         "Of its memory 43 GiB may be used, 0 B are.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  yes    rule reclaim_when false: it is false\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(after_a_pause_until_the_next_look)
{
    begin(&usual);
    monitor_pause(h.monitor, TIME_NEVER, h.now_ns);
    pass(10 * MINUTE);
    monitor_pause(h.monitor, 0, h.now_ns);
    SAYS("The host is not lent: nothing speaks against it, the next look decides.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  yes    console idle for 5min: for 10min, says terminals\n"
         "  yes    load below 0.30 for 5min: it is 0.05, below for 10min\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n");
}

CASE(one_rule_beside_ours)
{
    MonitorConfig c = usual;
    c.has_reclaim_rule = true;
    begin(&c);
    h.reclaim = VERDICT_NO;
    pass(2 * MINUTE);
    SAYS("The host is not lent: the console has been watched for 2min, 5min are needed.\n"
         "Conditions, and whether they are true (=> decides):\n"
         "  no  => console idle for 5min: for 2min, says terminals\n"
         "  no     load below 0.30 for 5min: it is 0.05, below for 2min\n"
         "  yes    rule reclaim_when false: it is false\n"
         "  yes    memory to spare: 43 GiB could be lent, 0 B are\n"
         "  no     quiet since the start or the last reclaim: 3min to wait\n");
}

/* It fits what room there is, down to nothing. */
CASE(room__of_any_size)
{
    char whole[4096], part[4096];
    lend(&usual);
    (void)monitor_explain(h.monitor, h.now_ns, whole, sizeof whole);
    for (size_t cap = 1; cap <= strlen(whole) + 2; cap++) {
        memset(part, 'x', sizeof part);
        (void)monitor_explain(h.monitor, h.now_ns, part, cap);
        assert_int_equal(strlen(part), min_u64(cap - 1, strlen(whole)));
        assert_memory_equal(part, whole, strlen(part));
        assert_int_equal(part[cap], 'x');
    }
    part[0] = 'x';
    (void)monitor_explain(h.monitor, h.now_ns, part, 0);
    assert_int_equal(part[0], 'x');
}
