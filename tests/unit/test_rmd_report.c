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
