/* SPDX-License-Identifier: MIT */
#include "adapters/mount/trust.h"
#include "tests/lib/case.h"

enum { S = 1000000000 };

TEST(trust__a_file_without_pages_is_held_at_once)
{
    Trust t = {0};
    uint64_t take;
    assert_true(trust_wants_lease(&t, 0));
    assert_false(trust_take(&t, &take));
    assert_true(trust_is_held(&t));
    assert_false(trust_must_drop(&t));
}

TEST(trust__pages_of_a_plain_file_go_before_it_is_held)
{
    Trust t = {0};
    uint64_t take;
    assert_false(trust_read_begin(&t));
    assert_true(trust_must_drop(&t));
    assert_true(trust_wants_lease(&t, 0));
    assert_true(trust_take(&t, &take));
    assert_false(trust_is_held(&t));
    assert_true(trust_must_drop(&t));
    assert_true(trust_read_begin(&t)); /* the lease is there: what is cached of it is good */
    trust_settle(&t, take);
    assert_true(trust_is_held(&t));
}

TEST(trust__settling_for_a_lease_that_went_is_nothing)
{
    Trust t = {.pages = true};
    uint64_t first, second;
    assert_true(trust_take(&t, &first));
    assert_true(trust_give_up(&t, false, 0));
    trust_settle(&t, first);
    assert_false(trust_is_held(&t));
    assert_true(trust_take(&t, &second));
    trust_settle(&t, first);
    assert_false(trust_is_held(&t));
    trust_settle(&t, second);
    assert_true(trust_is_held(&t));
}

TEST(trust__what_was_held_leaves_pages)
{
    Trust t = {0};
    uint64_t take;
    (void)trust_take(&t, &take);
    assert_true(trust_give_up(&t, false, 0));
    assert_true(trust_must_drop(&t));
    assert_false(trust_give_up(&t, false, 0));
}

TEST(trust__a_lease_that_was_broken_waits)
{
    Trust t = {0};
    uint64_t take;
    (void)trust_take(&t, &take);
    assert_true(trust_give_up(&t, true, 7 * (uint64_t)S));
    assert_false(trust_wants_lease(&t, 7 * (uint64_t)S));
    assert_false(trust_wants_lease(&t, 8 * (uint64_t)S - 1));
    assert_true(trust_wants_lease(&t, 8 * (uint64_t)S));
}

/* One that a writer of our own ends is taken again at once after it. */
TEST(trust__no_lease_beside_writers)
{
    Trust t = {0};
    uint64_t take;
    (void)trust_take(&t, &take);
    trust_writer_begin(&t);
    trust_writer_begin(&t);
    assert_true(trust_give_up(&t, false, 0));
    assert_false(trust_wants_lease(&t, 0));
    trust_writer_end(&t);
    assert_false(trust_wants_lease(&t, 0));
    trust_writer_end(&t);
    assert_true(trust_wants_lease(&t, 0));
    assert_true(trust_take(&t, &take)); /* what was written may be among the kernel's pages */
}
