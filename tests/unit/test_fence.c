/* SPDX-License-Identifier: MIT */
#include "proto/fence.h"

#include "tests/lib/case.h"

static const uint64_t NOW = 1000 * NS_PER_S;

TEST(fence__a_manager_that_stands_by_is_not_obeyed)
{
    const Fence f = {0};
    assert_false(fence_allows(&f, MANAGER_STANDBY, NOW));
    assert_true(fence_allows(&f, MANAGER_UNLEASED, NOW));
    assert_true(fence_allows(&f, 1, NOW));
}

TEST(fence__an_older_lease_is_not_obeyed)
{
    Fence f = {0};
    fence_heard(&f, 7, NOW);
    assert_false(fence_allows(&f, 6, NOW + 1));
    assert_false(fence_allows(&f, MANAGER_UNLEASED, NOW + 1));
    assert_true(fence_allows(&f, 7, NOW + 1)); /* its cmd has started again, perhaps */
    assert_true(fence_allows(&f, 8, NOW + 1));
}

TEST(fence__a_late_word_of_an_older_lease_changes_nothing)
{
    Fence f = {0};
    fence_heard(&f, 7, NOW);
    fence_heard(&f, 6, NOW + 1);
    assert_false(fence_allows(&f, 6, NOW + 2));
    assert_int_equal(f.number, 7);
}

TEST(fence__counts_from_when_the_manager_was_heard_last)
{
    Fence f = {0};
    fence_heard(&f, 7, NOW);
    fence_heard(&f, 7, NOW + 100 * NS_PER_S);
    assert_false(fence_allows(&f, 6, NOW + 100 * NS_PER_S + FENCE_MEMORY_NS - 1));
}

TEST(fence__numbers_that_begin_again_are_obeyed_in_the_end)
{
    Fence f = {0};
    fence_heard(&f, 7, NOW);
    assert_true(fence_allows(&f, 1, NOW + FENCE_MEMORY_NS));
    fence_heard(&f, 1, NOW + FENCE_MEMORY_NS);
    assert_int_equal(f.number, 1);
    assert_true(fence_allows(&f, 1, NOW + FENCE_MEMORY_NS));
}
