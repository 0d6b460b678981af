/* SPDX-License-Identifier: MIT */
#include "adapters/mount/reason.h"
#include "tests/lib/case.h"

#define assert_reason(reason, ...) \
    assert_int_equal(reason_of(&(ReasonFacts){__VA_ARGS__}), REASON_##reason)

TEST(reason__of_a_file_that_is_held)
{
    assert_reason(NO_REGION, .local = true, .ours = true);
    assert_reason(OPENING, .local = true, .ours = true, .opening = true);
}

TEST(reason__of_a_file_without_a_lease)
{
    assert_reason(WRITER, .plain = true, .local = true, .ours = true);
    assert_reason(BROKEN, .plain = true, .broken = true, .local = true, .ours = true);
    assert_reason(WRITTEN, .plain = true, .written = true, .broken = true, .local = true);
}

TEST(reason__of_a_file_that_gets_no_lease)
{
    assert_reason(OTHER_HOSTS, .plain = true, .unleasable = true, .ours = true);
    assert_reason(NOT_OURS, .plain = true, .unleasable = true, .local = true);
    assert_reason(NO_LEASES, .plain = true, .unleasable = true, .local = true, .ours = true);
}

TEST(reason__what_lasts_comes_first)
{
    assert_reason(SMALL, .small = true, .left_out = true, .unleasable = true, .plain = true);
    assert_reason(LEFT_OUT, .left_out = true, .unleasable = true, .plain = true, .ending = true);
    assert_reason(ENDING, .ending = true, .unleasable = true, .plain = true);
    assert_reason(NOT_OURS, .unleasable = true, .local = true, .written = true, .plain = true);
}

TEST(reason__each_has_words)
{
    for (enum Reason r = REASON_NONE; r <= REASON_FAST; r++)
        assert_true(reason_text(r) && *reason_text(r));
    /* Nobody has asked the kernel what it has in memory. */
    assert_string_equal(reason_text(REASON_FAST), "the program hardly waited for it");
}
