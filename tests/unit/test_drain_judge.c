/* SPDX-License-Identifier: MIT */
#include "tools/drain_judge.h"

#include <string.h>

#include "base/time.h"
#include "tests/lib/case.h"

static DrainJudge j;
static DrainLook now;

/* Two programs have three regions there. */
static void begin(void)
{
    j = (DrainJudge){.host = "10.0.0.2:7701"};
    now = (DrainLook){.at_ns = 100 * NS_PER_S,
                      .answered = true,
                      .manager = 7,
                      .reply = {.epoch = 0x55,
                                .state = DRAIN_ON,
                                .listed = 1,
                                .open_regions = 3,
                                .open_bytes = 12 << 20,
                                .host_regions = 3,
                                .clients = 2,
                                .dead_ms = 30000}};
}

/* So much later. */
static enum DrainVerdict look(uint64_t seconds)
{
    now.at_ns += seconds * NS_PER_S;
    return drain_judge(&j, &now);
}

static void assert_says(void (*say)(const DrainJudge *, GString *), const char *want)
{
    g_autoptr(GString) out = g_string_new(NULL);
    say(&j, out);
    if (!strstr(out->str, want))
        fail_msg("not \"%s\" but\n%s", want, out->str);
}

static void say_stuck(const DrainJudge *judge, GString *out)
{
    drain_say_end(judge, DRAIN_STUCK, out);
}

static void nothing_left(void)
{
    now.reply.open_regions = now.reply.open_bytes = now.reply.host_regions = now.reply.clients = 0;
}

/* ---- done ------------------------------------------------------------------------------------ */

TEST(done__at_once_if_nothing_is_there)
{
    begin();
    nothing_left();
    assert_int_equal(look(0), DRAIN_DONE);
    g_autoptr(GString) out = g_string_new(NULL);
    drain_say_end(&j, DRAIN_DONE, out);
    assert_non_null(strstr(out->str, "10.0.0.2:7701: done, nothing is left there."));
}

TEST(done__only_if_all_say_so)
{
    uint64_t *const counts[] = {&now.reply.open_regions, &now.reply.kept_regions,
                                &now.reply.busy_regions, &now.reply.host_regions};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        begin();
        nothing_left();
        j.drop = true;
        *counts[i] = 1;
        assert_int_equal(look(0), DRAIN_GOES_ON);
        *counts[i] = 0;
        assert_int_equal(look(1), DRAIN_DONE);
    }
    begin();
    nothing_left();
    now.reply.listed = 0;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_says(drain_say_progress, "waits for the list");
    now.reply.listed = 1;
    assert_int_equal(look(1), DRAIN_DONE);
}

/* It may have more than it has said, as nobody hears it. */
TEST(done__not_of_a_silent_host)
{
    begin();
    nothing_left();
    now.reply.silent_s = 16;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_says(drain_say_progress, "0 regions left; the host is silent, for 16 s now");
    assert_int_equal(look(45), DRAIN_STUCK);
    assert_says(say_stuck, "10.0.0.2:7701: not done, 0 regions are left there\n"
                           "  the host is silent, for 16 s now: what it has is not known");
    now.reply.silent_s = 0;
    assert_int_equal(look(1), DRAIN_DONE);
}

/* Another start of the host has nothing, and is not drained. */
TEST(done__not_of_another_epoch)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    nothing_left();
    now.reply.epoch++;
    assert_int_equal(look(1), DRAIN_LOST);
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    nothing_left();
    now.reply.epoch++;
    now.manager++;
    assert_int_equal(look(1), DRAIN_LOST);
}

TEST(done__not_without_a_drain)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    nothing_left();
    now.reply.state = DRAIN_OFF;
    assert_int_equal(look(1), DRAIN_STOPPED);
}

/* ---- stuck ----------------------------------------------------------------------------------- */

TEST(stuck__what_is_kept_waits_for_nobody)
{
    begin();
    nothing_left();
    now.reply.kept_regions = 2;
    now.reply.kept_bytes = 5 << 20;
    now.reply.host_regions = 2;
    assert_int_equal(look(0), DRAIN_GOES_ON); /* they are being brought elsewhere */
    now.kept_stay = true;
    assert_int_equal(look(0), DRAIN_STUCK);
    assert_says(say_stuck, "10.0.0.2:7701: not done, 2 regions are left there\n");
    assert_says(say_stuck, "  2 regions (5 MiB) are kept there for a next run, and no other host");
    assert_says(say_stuck, "dodo drain --cancel 10.0.0.2:7701\n");
    now.kept_stay = false;
    j.drop = true;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    assert_int_equal(look(44), DRAIN_STUCK);
    assert_says(say_stuck, "and the host does not free them");
}

/* What is kept is no reason to give up while programs still move. */
TEST(stuck__not_while_others_move)
{
    begin();
    now.reply.kept_regions = 1;
    now.reply.asking = 2;
    now.kept_stay = true;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(look(30), DRAIN_GOES_ON);
}

TEST(stuck__programs_that_do_not_ask)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(44), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_STUCK);
    assert_says(say_stuck, "  2 programs do not move what is open there");
    now.reply.clients = 1;
    begin();
    now.reply.clients = 1;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(45), DRAIN_STUCK);
    assert_says(say_stuck, "  1 program does not move what is open there");
}

TEST(stuck__programs_that_find_no_room)
{
    begin();
    now.reply.asking = now.reply.refused = 2;
    now.reply.left_bytes = 12 << 20;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(44), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_STUCK);
    assert_says(say_stuck, "  2 programs find no room on other hosts");
    now.reply.refused = 1; /* one of them has found some */
    assert_int_equal(look(100), DRAIN_GOES_ON);
}

/* All that shows that there is something to wait for renews the patience. */
TEST(stuck__not_while_something_gets_on)
{
    uint64_t *const falls[] = {&now.reply.open_regions, &now.reply.busy_regions,
                               &now.reply.left_bytes, &now.reply.host_regions};
    uint64_t *const grows[] = {&now.reply.asking, &now.reply.copied_bytes};
    begin();
    now.reply.busy_regions = now.reply.left_bytes = now.reply.host_regions = 9;
    now.reply.refused = 2;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    for (size_t i = 0; i < G_N_ELEMENTS(falls); i++) {
        --*falls[i];
        assert_int_equal(look(44), DRAIN_GOES_ON);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(grows); i++) {
        ++*grows[i];
        assert_int_equal(look(44), DRAIN_GOES_ON);
    }
    assert_int_equal(look(44), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_STUCK);
}

/* A program moves, and is too slow for a look to see: nobody but the operator ends that. */
TEST(stuck__not_while_a_program_can)
{
    begin();
    now.reply.asking = 1;
    now.reply.left_bytes = 100;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(1000), DRAIN_GOES_ON);
}

TEST(stuck__host_that_does_not_answer)
{
    begin();
    nothing_left();
    now.reply.busy_regions = 1;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(45), DRAIN_STUCK);
    assert_says(say_stuck, "  1 region is being opened, closed or freed, and the host does not");
    begin();
    nothing_left();
    now.reply.listed = 0;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(45), DRAIN_STUCK);
    assert_says(say_stuck, "has not said which regions it has");
    begin();
    nothing_left();
    now.reply.host_regions = 4;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(45), DRAIN_STUCK);
    assert_says(say_stuck, "the host says that it has 4 that the manager does not list");
}

/* ---- managers -------------------------------------------------------------------------------- */

TEST(manager__another_one_is_told_again)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.manager++;
    now.reply.state = DRAIN_OFF;
    nothing_left();
    assert_int_equal(look(1), DRAIN_AGAIN);
    now.reply.state = DRAIN_ON;
    now.reply.listed = 0;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    now.reply.listed = 1;
    now.reply.open_regions = 3;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    now.reply.state = DRAIN_OFF; /* this one knew */
    assert_int_equal(look(1), DRAIN_STOPPED);
}

/* The host has not found it yet. */
TEST(manager__another_one_knows_no_host_at_first)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.manager++;
    now.gone = true;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    assert_says(drain_say_progress, "does not know the host yet");
    assert_int_equal(look(44), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_LOST);
    now.gone = false;
    now.reply.state = DRAIN_OFF;
    assert_int_equal(look(1), DRAIN_AGAIN);
}

TEST(manager__the_same_one_knows_the_host_no_more)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.gone = true;
    assert_int_equal(look(1), DRAIN_LOST);
    g_autoptr(GString) out = g_string_new(NULL);
    drain_say_end(&j, DRAIN_LOST, out);
    assert_non_null(strstr(out->str, "not done, the host has left"));
    assert_non_null(strstr(out->str, "3 regions were left"));
}

TEST(manager__none_answers)
{
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.answered = false;
    assert_int_equal(look(44), DRAIN_GOES_ON);
    now.answered = true;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.answered = false;
    assert_int_equal(look(44), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_UNHEARD);
}

/* ---- what is said ---------------------------------------------------------------------------- */

TEST(progress__has_a_rate)
{
    begin();
    now.reply.asking = 2;
    now.reply.left_bytes = 100 << 20;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(drain_rate(&j), 0);
    assert_says(drain_say_progress,
                "10.0.0.2:7701: 3 regions left (12 MiB open, 2 programs); 100 MiB to copy");
    now.reply.left_bytes = 80 << 20;
    assert_int_equal(look(2), DRAIN_GOES_ON);
    assert_int_equal(drain_rate(&j), 10 << 20);
    assert_says(drain_say_progress, "; 80 MiB to copy, 10 MiB/s, 8s");
    for (unsigned i = 0; i < DRAIN_RATE_LOOKS; i++) { /* of late: slower */
        now.reply.left_bytes -= 1 << 20;
        assert_int_equal(look(1), DRAIN_GOES_ON);
    }
    assert_int_equal(drain_rate(&j), 1 << 20);
    now.reply.left_bytes = 200 << 20; /* another program has asked */
    assert_int_equal(look(1), DRAIN_GOES_ON);
    assert_int_equal(drain_rate(&j), 0);
}

TEST(progress__names_the_rest)
{
    begin();
    now.reply.open_regions = now.reply.clients = 1;
    now.reply.open_bytes = 4096;
    now.reply.kept_regions = 2;
    now.reply.busy_regions = 3;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_says(drain_say_progress,
                "10.0.0.2:7701: 6 regions left (4 KiB open, 1 program); 2 kept; 3 under way");
}

TEST(progress__of_one_alone)
{
    begin();
    nothing_left();
    now.reply.busy_regions = 1;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_says(drain_say_progress, "10.0.0.2:7701: 1 region left; 1 under way");
}

/* Each end is one line, and no other's. */
TEST(ends__are_said_once)
{
    static const struct {
        enum DrainVerdict v;
        const char *says;
    } ends[] = {{DRAIN_DONE, ": done, "},
                {DRAIN_STOPPED, ": not done, somebody has cancelled it"},
                {DRAIN_LOST, ": not done, the host has left"},
                {DRAIN_UNHEARD, ": not known, the manager has not answered"}};
    begin();
    assert_int_equal(look(0), DRAIN_GOES_ON);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autoptr(GString) out = g_string_new(NULL);
        drain_say_end(&j, ends[i].v, out);
        assert_non_null(strstr(out->str, ends[i].says));
        assert_ptr_equal(strchr(out->str, '\n'), out->str + out->len - 1);
    }
    g_autoptr(GString) nothing = g_string_new(NULL);
    drain_say_end(&j, DRAIN_GOES_ON, nothing);
    assert_string_equal(nothing->str, "");
}

TEST(progress__is_short)
{
    begin();
    g_autoptr(GString) out = g_string_new(NULL);
    now.reply.asking = 1; /* it has not said yet how much there is */
    assert_int_equal(look(0), DRAIN_GOES_ON);
    drain_say_progress(&j, out);
    assert_string_equal(out->str, "10.0.0.2:7701: 3 regions left (12 MiB open, 2 programs)");
    now.manager++;
    now.gone = true;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    g_string_truncate(out, 0);
    drain_say_progress(&j, out);
    assert_string_equal(out->str, "10.0.0.2:7701: the manager has started again, and does not know "
                                  "the host yet");
}

TEST(json__has_all)
{
    begin();
    now.reply.asking = 1;
    now.reply.left_bytes = 10;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    g_autoptr(GString) out = g_string_new(NULL);
    drain_say_json(&j, DRAIN_GOES_ON, out);
    assert_string_equal(
        out->str,
        "{\"host\":\"10.0.0.2:7701\",\"state\":\"draining\",\"epoch\":\"0000000000000055\","
        "\"listed\":true,\"open_regions\":3,\"open_bytes\":12582912,\"kept_regions\":0,"
        "\"kept_bytes\":0,\"busy_regions\":0,\"host_regions\":3,\"clients\":2,\"asking\":1,"
        "\"refused\":0,\"left_bytes\":10,\"copied_bytes\":0,\"bytes_per_second\":0,"
        "\"seconds_left\":0,\"silent_seconds\":0}\n");
    for (unsigned v = 0; v <= DRAIN_VERDICT_MAX; v++)
        assert_true(strlen(drain_verdict_text(v)) > 3);
}

/* ---- a limit --------------------------------------------------------------------------------- */

static void say_late(const DrainJudge *judge, GString *out)
{
    drain_say_end(judge, DRAIN_LATE, out);
}

TEST(late__only_what_goes_on_is_ended)
{
    begin();
    j.until_ns = now.at_ns + 20 * NS_PER_S;
    now.reply.asking = 2;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    assert_int_equal(look(19), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_LATE);
    assert_says(say_late, "10.0.0.2:7701: not done in the time that was given, 3 regions are left");
    assert_says(say_late, "It still gets no new regions.");
    nothing_left();
    assert_int_equal(look(0), DRAIN_DONE);
    assert_string_equal(drain_verdict_text(DRAIN_LATE), "late");
}

/* No manager answers, or the one that does has just been started. */
TEST(late__whatever_is_waited_for)
{
    begin();
    j.until_ns = now.at_ns + 2 * NS_PER_S;
    assert_int_equal(look(0), DRAIN_GOES_ON);
    now.answered = false;
    assert_int_equal(look(1), DRAIN_GOES_ON);
    assert_int_equal(look(1), DRAIN_LATE);
    begin();
    j.until_ns = now.at_ns + 2 * NS_PER_S;
    now.reply.state = DRAIN_OFF;
    assert_int_equal(look(1), DRAIN_AGAIN);
    assert_int_equal(look(1), DRAIN_LATE);
}
