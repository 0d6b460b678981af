/* SPDX-License-Identifier: MIT */
#include "adapters/totals.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/case.h"

/* Each field has a value of its own. */
static const ReadTotals some = {1, 20, 3, 40, 5, 60, 7, 80, 9, 100, 11000000};

TEST(totals__add_what_was_written)
{
    char line[TOTALS_LINE_MAX + 1];
    ReadTotals sum = {0}, twice = {2, 40, 6, 80, 10, 120, 14, 160, 18, 200, 22000000};
    assert_true(totals_add(&sum, totals_line(&some, line)));
    assert_memory_equal(&sum, &some, sizeof sum);
    (void)strcat(line, "\n");
    assert_true(totals_add(&sum, line));
    assert_memory_equal(&sum, &twice, sizeof sum);
}

TEST(totals__the_largest_numbers_have_room)
{
    char line[TOTALS_LINE_MAX];
    ReadTotals all, sum = {0};
    memset(&all, 0xff, sizeof all);
    assert_true(totals_add(&sum, totals_line(&all, line)));
    assert_memory_equal(&sum, &all, sizeof sum);
}

TEST(totals__other_lines_add_nothing)
{
    char line[TOTALS_LINE_MAX + 1];
    const ReadTotals none = {0};
    ReadTotals sum = {0};
    assert_false(totals_add(&sum, ""));
    assert_false(totals_add(&sum, "total"));
    assert_false(totals_add(&sum, "total.csv: cached, 3 MiB read\n"));
    (void)totals_line(&some, line);
    line[strlen(line) - 8] = 0; /* the last number is missing */
    assert_false(totals_add(&sum, line));
    (void)strcat(totals_line(&some, line), "x");
    assert_false(totals_add(&sum, line));
    assert_memory_equal(&sum, &none, sizeof sum);
}

TEST(totals__are_told_in_words)
{
    char text[600];
    (void)totals_text(&some, "the mount", text, sizeof text);
    assert_non_null(strstr(text, "20 B read through the mount in 1 reads"));
    assert_non_null(strstr(text, "40 B from local memory (3 hits)"));
    assert_non_null(strstr(text, "60 B from remote memory (5 hits)"));
    assert_non_null(strstr(text, "11ms"));
}
