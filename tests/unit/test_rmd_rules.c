/* SPDX-License-Identifier: MIT */
/* The owner's rules: what they may say, what is said of those that are wrong, and that nothing
 * which an owner can write holds rmd up. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rmd/rules.h"
#include "tests/lib/case.h"

static Facts known_facts(void)
{
    return (Facts){.value = {[FACT_console_idle] = 400,
                             [FACT_load] = 0.25,
                             [FACT_load_idle] = 301,
                             [FACT_cpus] = 4,
                             [FACT_mem_total] = 8e9,
                             [FACT_mem_available] = 6e9,
                             [FACT_mem_lent] = 0,
                             [FACT_mem_pressure] = 0.5,
                             [FACT_hour] = 22,
                             [FACT_weekday] = 6,
                             [FACT_on_battery] = 0,
                             [FACT_user_sessions] = 1,
                             [FACT_idle_after] = 300,
                             [FACT_load_below] = 0.3,
                             [FACT_lending] = 1}};
}

static Rule *rule_make(const char *text)
{
    char error[RULE_ERROR_MAX] = "";
    Rule *r = rule_new("recruit_when", text, error);
    if (!r)
        fail_msg("%s: %s", text, error);
    assert_string_equal(error, "");
    return r;
}

/* 1, 0, or -1: an error, in @error. */
static int value_of(const char *text, const Facts *facts, char error[RULE_ERROR_MAX])
{
    Rule *r = rule_make(text);
    bool value = false;
    int res = rule_evaluate(r, facts, &value, error);
    assert_true(res == 0 || res == -EINVAL);
    rule_free(r);
    return res == 0 ? value : -1;
}

/* What is said of a rule is one line, whatever the rule has in it. */
TEST(rule__errors_are_lines)
{
    static const char *const wrong[] = {"'tab\there", "'bell\ahere", "'del\x7fhere", "a\nb\nc d"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char error[RULE_ERROR_MAX] = "";
        assert_null(rule_new("recruit_when", wrong[i], error));
        assert_true(*error);
        for (const char *p = error; *p; p++)
            assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
    }
}

TEST(rule__values)
{
    static const struct {
        const char *text;
        int value;
    } cases[] = {
        {"true", 1},
        {"console_idle >= idle_after and load_idle >= idle_after", 1},
        {"console_idle < 5 * 60", 0},
        {"load < load_below and not on_battery", 1},
        {"hour >= 20 or hour < 7", 1},
        {"weekday >= 6", 1},
        {"weekday == 6 and hour == 22", 1},
        {"mem_available > mem_total / 2", 1},
        {"mem_available > 4 * 2^30 and lending", 1},
        {"user_sessions == 0", 0},
        {"load / cpus < 0.1", 1},
        {"on_battery == false", 1},
        {"lending == true", 1},
        {"hour == 22 -- after work", 1},
        {"(hour\n==\n22)", 1},
        {"(function() local n = 0; for i = 1, 100 do n = n + i end; return n == 5050 end)()", 1},
    };
    Facts facts = known_facts();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        int value = value_of(cases[i].text, &facts, error);
        if (value != cases[i].value)
            fail_msg("%s: is %d, %s", cases[i].text, value, error);
    }
}

TEST(rule__each_fact_has_its_name)
{
    static const char *const names[] = {
#define X(name, unit, text) #name,
        RMD_FACTS(X)};
    static const char *const bools[] = {"on_battery", "lending"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char text[128], error[RULE_ERROR_MAX] = "";
        bool is_bool = strcmp(names[i], bools[0]) == 0 || strcmp(names[i], bools[1]) == 0;
        Facts facts;
        facts_init(&facts);
        facts.value[i] = 7;
        (void)snprintf(text, sizeof text, "%s == %s", names[i], is_bool ? "true" : "7");
        assert_int_equal(value_of(text, &facts, error), 1);
        facts.value[i] = 0;
        assert_int_equal(value_of(text, &facts, error), 0);
    }
}

/* An unknown fact makes a comparison fail, and the error says which it is. */
TEST(rule__unknown_facts)
{
    Facts facts = known_facts();
    facts.value[FACT_console_idle] = NAN;
    facts.value[FACT_on_battery] = NAN;
    static const struct {
        const char *text;
        int value;
        const char *error;
    } cases[] = {
        {"console_idle > 300", -1, "recruit_when: console_idle is not known now: "},
        {"console_idle / 60 > 5", -1, "recruit_when: console_idle is not known now: "},
        {"on_battery", -1, "recruit_when: on_battery is not known now"},
        {"on_battery and hour > 3", -1, "recruit_when: on_battery is not known now"},
        {"hour > 3 or console_idle > 300", 1, NULL},
        {"console_idle == nil", 1, NULL},
        {"(console_idle or 0) > 300", 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        assert_int_equal(value_of(cases[i].text, &facts, error), cases[i].value);
        if (cases[i].error && strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("%s: %s", cases[i].text, error);
    }
}

TEST(rule__errors_of_evaluation)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"consol_idle > 300", "recruit_when: there is no fact called consol_idle"},
        {"print", "recruit_when: there is no fact called print"},
        {"os.exit()", "recruit_when: there is no fact called os"},
        {"_ENV[1]", "recruit_when: there is no fact called number"},
        {"load", "recruit_when: its value is neither true nor false"},
        {"nil", "recruit_when: its value is neither true nor false"},
        {"'yes'", "recruit_when: its value is neither true nor false"},
        {"1 < 'x'", "recruit_when: attempt to compare number with string"},
        {"('x'):rep(1000)", "recruit_when: attempt to index a string value"},
        {"(function() load = 0 end)()", "recruit_when: a rule cannot set anything"},
        {"(function() _ENV.x = 0 end)()", "recruit_when: a rule cannot set anything"},
        {"'a\\nb' < 1", "recruit_when: attempt to compare string with number"},
    };
    Facts facts = known_facts();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        assert_int_equal(value_of(cases[i].text, &facts, error), -1);
        if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("%s: %s", cases[i].text, error);
    }
}

TEST(rule__not_an_expression)
{
    static const char *const cases[] = {
        "",
        "load <",
        "load = 3",
        "return true",
        "if load < 1 then return true end",
        "true, false",
        "true; x = 1",
        "1) or (true",
        "1) or (function() while true do end end)(",
        ") -- ",
        "true) do end --[[",
        "'open",
        "--[[ open",
        "\x1bLua", /* compiled code starts so */
        "load < 1\x1b",
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        Rule *r = rule_new("reclaim_when", cases[i], error);
        if (r || strncmp(error, "reclaim_when: is not an expression: ", 36) != 0)
            fail_msg("%s: %s", cases[i], error);
        for (const char *p = error; *p; p++)
            assert_true((unsigned char)*p >= ' '); /* fit for a log of lines */
    }
}

TEST(rule__too_long)
{
    char text[RULE_TEXT_MAX + 2], error[RULE_ERROR_MAX] = "";
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "true", 4);
    text[sizeof text - 1] = '\0';
    assert_null(rule_new("recruit_when", text, error));
    assert_string_equal(error, "recruit_when: is too long");
    text[sizeof text - 2] = '\0';
    rule_free(rule_make(text));
}

TEST(rule__too_deep)
{
    char text[RULE_TEXT_MAX], error[RULE_ERROR_MAX] = "";
    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_null(rule_new("recruit_when", text, error));
    assert_non_null(strstr(error, "recruit_when: is not an expression: "));
}

/* What never ends, or takes all memory, ends with an error; and the rule can be asked again. */
TEST(rule__limits)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"(function() while true do end end)()", "takes more than 10000 steps; does it end?"},
        {"(function() ::a:: goto a end)()", "takes more than 10000 steps; does it end?"},
        {"(function() for i = 1, 1e308 do end end)()", "takes more than 10000 steps"},
        {"(function() repeat local x = load until false end)()", "takes more than 10000 steps"},
        {"(function() local function f() return f() end return f() end)()",
         "takes more than 10000 steps"},
        {"(function() local function f() return 1 + f() end return f() end)()",
         "takes more than 64 KiB of memory"},
        {"(function() local s = 'x' while true do s = s .. s end end)()",
         "takes more than 64 KiB of memory"},
        {"(function() local t = {} while true do t = {t} end end)()",
         "takes more than 64 KiB of memory"},
        {"(function() local t = {} while true do t[#t + 1] = {} end end)()",
         "takes more than 64 KiB of memory"},
        {"(function() while true do local t = {1, 2, 3, 4, 5, 6, 7, 8} end end)()",
         "takes more than 64 KiB of memory"},
    };
    Facts facts = known_facts();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Rule *r = rule_make(cases[i].text);
        for (int again = 0; again < 3; again++) {
            char error[RULE_ERROR_MAX] = "";
            bool value;
            assert_int_equal(rule_evaluate(r, &facts, &value, error), -EINVAL);
            if (!strstr(error, cases[i].error))
                fail_msg("%s: %s", cases[i].text, error);
        }
        rule_free(r);
    }
}

/* Garbage of one evaluation is no burden for the thousands after it. */
TEST(rule__again_and_again)
{
    Facts facts = known_facts();
    Rule *r = rule_make("('a' .. hour) .. load ~= 'b' and ({hour})[1] == hour");
    for (int i = 0; i < 20000; i++) {
        char error[RULE_ERROR_MAX] = "";
        bool value = false;
        facts.value[FACT_hour] = i; /* another string each time */
        facts.value[FACT_console_idle] = i % 2 ? NAN : 1;
        if (rule_evaluate(r, &facts, &value, error) != 0 || !value)
            fail_msg("round %d: %s", i, error);
    }
    rule_free(r);
}

static int check(const char *text, char error[RULE_ERROR_MAX])
{
    Rule *r = rule_make(text);
    int res = rule_check(r, error);
    rule_free(r);
    return res;
}

TEST(check__fine)
{
    static const char *const cases[] = {
        "true",
        "console_idle >= idle_after and load_idle >= idle_after",
        "on_battery",
        "on_battery or hour > 20",
        "console_idle > 300 and (hour >= 20 or hour < 7 or weekday > 5) and not on_battery",
        "mem_available // 4096 > 100 and mem_lent & 1 == 0",
        "load ~= load or cpus > 1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        if (check(cases[i], error) != 0)
            fail_msg("%s: %s", cases[i], error);
    }
}

/* Also where it takes some luck to come across the fault. */
TEST(check__finds)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"load < 1 and consol_idle > 300", "there is no fact called consol_idle"},
        {"console_idle > 7200 and hour == 13 and idle_afterr < 3", "no fact called idle_afterr"},
        {"on_battery and lending and weekday == 3 and Hour > 2", "no fact called Hour"},
        {"mem_available > 17179869184 and mem_totl > 0", "no fact called mem_totl"},
        {"load == 0.25 or true and hours", "no fact called hours"},
        {"hour > 20 and 1 or true", "its value is neither true nor false"},
        {"hour < 3 and {} < {} or true", "attempt to compare two table values"},
        {"weekday == 7 and (function() while true do end end)() or true", "10000 steps"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char error[RULE_ERROR_MAX] = "";
        if (check(cases[i].text, error) == 0)
            fail_msg("%s: nothing found", cases[i].text);
        if (strncmp(error, "recruit_when: ", 14) != 0 || !strstr(error, cases[i].error))
            fail_msg("%s: %s", cases[i].text, error);
    }
}
