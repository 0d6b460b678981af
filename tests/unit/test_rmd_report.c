/* SPDX-License-Identifier: MIT */
/* What others than the owner learn of the sources. */
#include <string.h>

#include "rmd/report.h"
#include "tests/lib/case.h"

static Observation seen(void)
{
    Observation o = {.load_average = NAN};
    facts_init(&o.look.facts);
    o.look.facts.value[FACT_console_idle] = 7300;
    o.look.facts.value[FACT_user_sessions] = 3;
    o.sources.count = 2;
    o.sources.reports[0] = (SourceReport){
        .name = "logind", .known = true, .text = "3 logged in, last active: mallory here, 2h ago"};
    o.sources.reports[1] = (SourceReport){.name = "input", .text = "/dev/input: not allowed"};
    return o;
}

TEST(the_owner_sees_all)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const Observation o = seen();
    report_observation(text, &o, DETAIL_FULL);
    assert_non_null(strstr(text->str, "mallory"));
    assert_non_null(strstr(text->str, "console_idle   7300 s\n"));
    assert_non_null(strstr(text->str, "user_sessions"));
}

TEST(others_see_no_names_and_no_times)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const Observation o = seen();
    report_observation(text, &o, DETAIL_COARSE);
    assert_null(strstr(text->str, "mallory"));
    assert_null(strstr(text->str, "logged in"));
    assert_null(strstr(text->str, "user_sessions"));
    assert_non_null(strstr(text->str, "console_idle   7200 s\n"));
    assert_non_null(strstr(text->str, "logind     knows\n"));
    assert_non_null(strstr(text->str, "does not know: /dev/input: not allowed\n"));
}

/* What of the load is the guests' own, if it is any. */
TEST(the_load_of_guests_is_shown)
{
    static const struct {
        double average, imd, saver;
        bool shown;
    } cases[] = {{1.5, 0.25, 0.125, true}, {1.5, 0, 0, false}, {NAN, 0.25, 0.125, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        Observation o = seen();
        o.load_average = cases[i].average;
        o.imd_share = cases[i].imd;
        o.saver_share = cases[i].saver;
        report_observation(text, &o, DETAIL_FULL);
        assert_int_equal(strstr(text->str, "of which imd makes 0.25") != NULL, cases[i].shown);
        assert_int_equal(strstr(text->str, "of which imd makes") != NULL, cases[i].shown);
    }
}
