/* SPDX-License-Identifier: MIT */
/* Which lines of /proc/meminfo are found, and which sizes are none. */

#include "base/meminfo.h"
#include "tests/lib/case.h"

TEST(find__takes_whole_names_at_the_start_of_a_line)
{
    static const char text[] = "XFree: 1 kB\nFreeX: 2 kB\n Free: 3 kB\nFree:\t  4 kB\nFree: 5 kB";
    uint64_t bytes = 0;
    assert_true(meminfo_find(text, "Free", &bytes));
    assert_int_equal(bytes, 4096);
    assert_true(meminfo_find("Last: 7 kB", "Last", &bytes));
    assert_int_equal(bytes, 7168);
}

TEST(find__refuses_what_is_no_size)
{
    static const char *const none[] = {"",
                                       "Free",
                                       "Free:\n",
                                       "Free: 5\n",
                                       "Free: x kB",
                                       "Free: kB\n",
                                       "Free: 5 pages\n",
                                       "Busy: 5 kB\n",
                                       "Free: 18446744073709551615 kB\n"};
    uint64_t bytes = 42;
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(meminfo_find(none[i], "Free", &bytes));
    assert_int_equal(bytes, 42);
}
