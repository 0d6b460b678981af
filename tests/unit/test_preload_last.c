/* SPDX-License-Identifier: MIT */
/* When only the libraries' threads are left. */
#include <stdio.h>

#include "adapters/preload/last.h"
#include "tests/lib/case.h"

static bool ended(const char *name, char state, unsigned threads, unsigned own)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "77 (%s) %c 1 77 77 34816 77 4194560 90 0 0 0 3 1 0 0 20 0 %u 0 1234 5678 9",
                   name, state, threads);
    return last_has_ended(text, own);
}

TEST(last__the_main_thread_and_all_others)
{
    assert_true(ended("program", 'Z', 5, 4));
    assert_false(ended("program", 'Z', 6, 4)); /* one of the program's */
    assert_false(ended("program", 'S', 5, 4)); /* main() waits, say */
    assert_false(ended("program", 'R', 1, 4));
}

TEST(last__names_are_anything)
{
    assert_true(ended("a) Z 1 (b", 'Z', 3, 2));
    assert_false(ended("a) Z 1 1", 'S', 3, 2));
    assert_false(last_has_ended("", 3));
    assert_false(last_has_ended("77 (program", 3));
    assert_false(last_has_ended("77 (program) Z 1", 3));
}
