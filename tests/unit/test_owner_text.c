/* SPDX-License-Identifier: MIT */
#include "tools/owner_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/case.h"

#define NOW 1764000000ull /* Mon 24 Nov 2025, 16:00 in UTC */
#define HOUR (NOW / 3600)

static OwnerAnswer a;

static char *name_of(uint32_t uid)
{
    return uid == 1000 ? g_strdup("anna") : g_strdup_printf("user %u", uid);
}

static void answer(const char *text)
{
    (void)setenv("TZ", "UTC", 1);
    tzset();
    assert_true(owner_answer_read(&a, text, NOW));
}

static void assert_prints(const char *want)
{
    g_autoptr(GString) out = g_string_new(NULL);
    owner_text_print(&a, NOW, name_of, out);
    assert_string_equal(out->str, want);
}

#define BUSY "dodo-owner 1 ok\nstate busy\nlendable 1\nused 0\nreason the load is 2.00\n"

TEST(now__says_what_is_lent_and_why)
{
    answer("dodo-owner 1 ok\nstate lending\nlendable 6442450944\nused 1048576\nreason it is "
           "quiet\n");
    assert_prints("This host lends 6 GiB of its memory, of which 1 MiB are used: it is quiet.\n");
    answer(BUSY);
    assert_string_equal(a.error, "");
    assert_prints("This host lends nothing: the load is 2.00.\n");
    answer("dodo-owner 1 ok\nstate saving\nlendable 1048576\nused 0\nreason it was touched\n");
    assert_prints(
        "This host lends no more than 1 MiB, for a moment: what programs used last moves to "
        "other hosts: it was touched.\n");
}

TEST(pauses__say_whose_they_are)
{
    answer(BUSY "pause 1000 1764001800\npause 7 forever\n");
    assert_prints("This host lends nothing: the load is 2.00.\n"
                  "anna has paused it until Mon 16:30.\n"
                  "user 7 lets nothing be lent, until dodo owner --resume.\n");
}

/* The day of the week is that of the next one only. */
TEST(pauses__that_end_in_another_week)
{
    answer(BUSY "pause 1000 1764518399\npause 7 1764518400\npause 8 1795622400\n");
    assert_prints("This host lends nothing: the load is 2.00.\n"
                  "anna has paused it until Sun 15:59.\n"
                  "user 7 has paused it until 2025-11-30 16:00.\n"
                  "user 8 has paused it until 2026-11-25 16:00.\n");
}

/* Who has paused learns that it will not last. */
TEST(pauses__that_end_with_rmd)
{
    answer(BUSY "kept no\npause 1000 1764001800\n");
    assert_prints("This host lends nothing: the load is 2.00.\n"
                  "anna has paused it until Mon 16:30.\n"
                  "That ends when rmd does, which cannot write it down: see its log, and [rmd] "
                  "owner_file.\n");
    answer(BUSY "kept no\n");
    assert_prints("This host lends nothing: the load is 2.00.\n");
    answer(BUSY "kept yes\npause 1000 1764001800\n");
    assert_prints("This host lends nothing: the load is 2.00.\n"
                  "anna has paused it until Mon 16:30.\n");
}

/* Their file was damaged. */
TEST(pauses__that_nobody_knows)
{
    g_autoptr(GString) out = g_string_new(NULL);
    answer(BUSY "pauses 1\nunknown\npause 1000 1764001800\n");
    assert_prints("This host lends nothing: the load is 2.00.\n"
                  "anna has paused it until Mon 16:30.\n"
                  "Others may have paused it: ask them, then root allows it again with dodo owner "
                  "--resume --all.\n");
    owner_text_json(&a, NOW, name_of, out);
    assert_non_null(strstr(out->str, "\"pauses_known\":false"));
}

TEST(week__is_by_days)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   BUSY "hour %llu 3600000 1800000 1800000 0 0 0 0 0\n"
                        "hour %llu 7200000 3600000 0 0 0 0 0 0\n"
                        "hour %llu 0 0 0 900000 0 0 0 2700000\n",
                   HOUR - 30, HOUR - 29, HOUR);
    answer(text);
    assert_prints("This host lends nothing: the load is 2.00.\n\n"
                  "Hours lent, of how many GiB, and hours not lent, because of:\n"
                  "              lent     GiB console    load  memory  paused   rules   other\n"
                  "Sun 23 Nov     1.5     0.0     0.5     0.0     0.0     0.0     0.0     0.0\n"
                  "Mon 24 Nov     0.0     0.0     0.0     0.2     0.0     0.0     0.0     0.8\n");
}

TEST(answer__that_refuses)
{
    answer("dodo-owner 1 error too many\nstate busy\nlendable 1\nused 0\nreason x\033[2J\n");
    assert_string_equal(a.error, "too many");
    assert_string_equal(a.reason, "x?[2J");
}

TEST(answer__that_is_none)
{
    static const char *const texts[] = {
        "",
        "dodo-owner 2 ok\nstate busy\nlendable 1\nused 0\nreason x\n",
        "dodo-owner 1 fine\nstate busy\nlendable 1\nused 0\nreason x\n",
        "dodo-owner 1 ok\nstate busy\nlendable 1\nreason x\n",
        "dodo-owner 1 ok\nstate busy\nlendable -1\nused 0\nreason x\n",
        "state busy\nlendable 1\nused 0\nreason x\ndodo-owner 1 ok\n",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (owner_answer_read(&a, texts[i], NOW))
            fail_msg("taken: %s", texts[i]);
}

TEST(json__has_all_of_it)
{
    char text[512];
    g_autoptr(GString) out = g_string_new(NULL);
    (void)snprintf(text, sizeof text,
                   BUSY "kept no\npause 1000 forever\nhour %llu 4096000 2001 5 0 0 0 0 0\n", HOUR);
    answer(text);
    owner_text_json(&a, NOW, name_of, out);
    assert_string_equal(
        out->str, "{\"state\":\"busy\",\"reason\":\"the load is 2.00\",\"lendable_bytes\":1,"
                  "\"used_bytes\":0,\"pauses\":[{\"uid\":1000,\"user\":\"anna\",\"until\":null}],"
                  "\"pauses_kept\":false,\"pauses_known\":true,\"hours\":[{\"time\":1764000000,"
                  "\"lent_bytes\":2145386496,"
                  "\"lent_s\":2.001,"
                  "\"console_s\":0.005,\"load_s\":0.000,\"memory_s\":0.000,\"paused_s\":0.000,"
                  "\"rules_s\":0.000,\"other_s\":0.000}]}\n");
}
