/* SPDX-License-Identifier: MIT */
/* What the owner's rules say of the facts, and what the log says of rules that fail. */
#include <errno.h>
#include <math.h>

#include "daemon/log.h"
#include "rmd/verdicts.h"
#include "tests/lib/case.h"
#include "tests/lib/stderr_text.h"

static Verdicts verdicts;
static char error[RULE_ERROR_MAX];

static Facts facts(double load)
{
    Facts f = {.value = {[FACT_cpus] = 4, [FACT_load] = load}};
    return f;
}

static void assert_judges(double load, enum Verdict recruit, enum Verdict reclaim)
{
    enum Verdict got_recruit, got_reclaim;
    Facts f = facts(load);
    verdicts_judge(&verdicts, &f, &got_recruit, &got_reclaim);
    assert_int_equal(got_recruit, recruit);
    assert_int_equal(got_reclaim, reclaim);
}

static int set_up(void **state)
{
    (void)state;
    log_init("test", LOG_LEVEL_INFO);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    verdicts_close(&verdicts);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(each_rule_has_its_verdict)
{
    assert_int_equal(verdicts_open(&verdicts, "load < 1", "load > 3", error), 0);
    assert_judges(0.5, VERDICT_YES, VERDICT_NO);
    assert_judges(2, VERDICT_NO, VERDICT_NO);
    assert_judges(4, VERDICT_NO, VERDICT_YES);
}

CASE(no_rule_says_nothing)
{
    assert_int_equal(verdicts_open(&verdicts, NULL, "load > 3", error), 0);
    assert_judges(4, VERDICT_UNKNOWN, VERDICT_YES);
}

/* Nothing is left open. */
CASE(a_wrong_rule_is_refused)
{
    assert_int_equal(verdicts_open(&verdicts, "load < 1", "lode > 3", error), -EINVAL);
    assert_non_null(strstr(error, "reclaim_when"));
    assert_non_null(strstr(error, "lode"));
    assert_null(verdicts.recruit.rule);
    assert_null(verdicts.reclaim.rule);
}

/* Once when it begins, with the reason, and once when it is over. */
CASE(a_rule_that_fails_is_logged_once)
{
    assert_int_equal(verdicts_open(&verdicts, "load < 1", "cpus > 8", error), 0);
    StderrText s = stderr_catch();
    for (unsigned i = 0; i < 3; i++)
        assert_judges(NAN, VERDICT_UNKNOWN, VERDICT_NO);
    assert_int_equal(stderr_lines(&s, "rule_fails rule=recruit_when error="), 1);
    s = stderr_catch();
    for (unsigned i = 0; i < 3; i++)
        assert_judges(0.5, VERDICT_YES, VERDICT_NO);
    assert_int_equal(stderr_lines(&s, ""), 1);
    s = stderr_catch();
    assert_judges(NAN, VERDICT_UNKNOWN, VERDICT_NO);
    assert_int_equal(stderr_lines(&s, "rule_fails"), 1);
}
