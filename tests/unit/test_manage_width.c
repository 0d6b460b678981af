/* SPDX-License-Identifier: MIT */
/* Which drives are asked for several reads at once. */
#include "base/time.h"
#include "libmanage/width.h"
#include "tests/lib/case.h"

enum { READ_NS = 400000, BATCHES = 1000 };

static Width width;
static uint64_t now_ns;

static int zero(void **state)
{
    (void)state;
    width = (Width){0};
    now_ns = 1;
    return 0;
}

/* Batches as they come, of a drive that carries out @arms reads at a time; how many were wide. */
static unsigned batches(unsigned arms, unsigned count)
{
    unsigned wide = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned reads = width_reads(&width, now_ns), turns = (reads + arms - 1) / arms;
        now_ns += turns * READ_NS;
        width_note(&width, reads, reads * READ_NS, turns * READ_NS, now_ns);
        wide += reads == WIDTH_MAX;
    }
    return wide;
}

TEST_WITH(width__an_ssd_is_asked_for_all_at_once, zero, NULL)
{
    assert_int_equal(batches(WIDTH_MAX, BATCHES), BATCHES);
    assert_true(width.wide);
}

TEST_WITH(width__two_arms_are_worth_it, zero, NULL)
{
    assert_int_equal(batches(2, BATCHES), BATCHES);
}

/* It is tried now and then, ever more rarely. */
TEST_WITH(width__a_disk_is_asked_for_one_at_a_time, zero, NULL)
{
    assert_in_range(batches(1, BATCHES), 4, 24);
    assert_false(width.wide);
    assert_int_equal(width_reads(&width, now_ns), 1);
    assert_in_range(batches(1, 100 * BATCHES), 4, 40);
}

/* Another load on it, or another drive below the same name. */
TEST_WITH(width__is_given_up_and_found_again, zero, NULL)
{
    assert_int_equal(batches(WIDTH_MAX, BATCHES), BATCHES);
    assert_in_range(batches(1, BATCHES), 16, 32 + 24);
    assert_false(width.wide);
    now_ns += 3600 * NS_PER_S;
    assert_int_equal(batches(WIDTH_MAX, BATCHES), BATCHES);
}

/* Nor does what nobody can compare. */
TEST_WITH(width__small_batches_say_nothing, zero, NULL)
{
    for (unsigned i = 0; i < BATCHES; i++) {
        width_note(&width, WIDTH_MAX / 2 - 1, READ_NS, READ_NS / 10, now_ns);
        width_note(&width, WIDTH_MAX, 0, READ_NS / 10, now_ns);
    }
    assert_false(width.wide);
    assert_int_equal(width_reads(&width, now_ns), WIDTH_MAX); /* it is still to be tried */
}

int main(void)
{
    return cases_run(NULL, NULL);
}
