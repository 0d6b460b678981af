/* SPDX-License-Identifier: MIT */
/* What the helper's log tells of those who ask. */
#include "tests/lib/case.h"
#include "usocket/helper/told.h"

enum { NOW = 1000 };

TEST(told__a_line_now_and_then_tells_of_all)
{
    Told t = {0};
    assert_int_equal(told_add(&t, 1, NOW), 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(told_add(&t, 1, NOW + i), 0);
    assert_int_equal(told_add(&t, 1, NOW + TOLD_EVERY_NS - 1), 0);
    assert_int_equal(told_add(&t, 1, NOW + TOLD_EVERY_NS), 1002);
    assert_int_equal(told_add(&t, 1, NOW + TOLD_EVERY_NS), 0);
    assert_int_equal(told_add(&t, 1, NOW + 3 * TOLD_EVERY_NS), 2);
    assert_int_equal(told_add(&t, 1, NOW + 4 * TOLD_EVERY_NS), 1);
}

/* What does not come often has lines of its own. */
TEST(told__so_many_lines_in_a_period)
{
    enum { MOST = 5 };
    Told t = {0};
    for (uint64_t from = NOW; from < NOW + 3 * TOLD_EVERY_NS; from += TOLD_EVERY_NS) {
        assert_int_equal(told_add(&t, MOST, from), from == NOW ? 1 : 3);
        for (unsigned i = 1; i < MOST; i++)
            assert_int_equal(told_add(&t, MOST, from + i), 1);
        assert_int_equal(told_add(&t, MOST, from + MOST), 0);
        assert_int_equal(told_add(&t, MOST, from + TOLD_EVERY_NS - 1), 0);
    }
}
