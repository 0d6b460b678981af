/* SPDX-License-Identifier: MIT */
/* The helper's log of what it refuses. */
#include "tests/lib/case.h"
#include "usocket/helper/refusals.h"

enum { NOW = 1000 };

TEST(refusals__a_line_now_and_then_tells_of_all)
{
    Refusals r = {0};
    assert_int_equal(refusals_add(&r, NOW), 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(refusals_add(&r, NOW + i), 0);
    assert_int_equal(refusals_add(&r, NOW + REFUSALS_EVERY_NS - 1), 0);
    assert_int_equal(refusals_add(&r, NOW + REFUSALS_EVERY_NS), 1002);
    assert_int_equal(refusals_add(&r, NOW + REFUSALS_EVERY_NS), 0);
    assert_int_equal(refusals_add(&r, NOW + 3 * REFUSALS_EVERY_NS), 2);
    assert_int_equal(refusals_add(&r, NOW + 4 * REFUSALS_EVERY_NS), 1);
}
