/* SPDX-License-Identifier: MIT */
#include "adapters/preload/numbers.h"

#include "tests/lib/case.h"

static unsigned naps, maker_ends_at, closer_ends_at;

static void nap(void)
{
    naps++;
    if (naps == maker_ends_at)
        numbers_make_end();
    if (naps == closer_ends_at)
        numbers_close_end();
}

static int set_up(void **state)
{
    (void)state;
    naps = maker_ends_at = closer_ends_at = 0;
    numbers_forget();
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, NULL)

CASE(numbers__nobody_waits_for_his_like)
{
    numbers_make_begin(nap);
    numbers_make_begin(nap);
    numbers_make_end();
    numbers_make_end();
    numbers_close_begin(nap);
    numbers_close_begin(nap);
    numbers_close_end();
    numbers_close_end();
    assert_int_equal(naps, 0);
}

CASE(numbers__each_waits_for_the_other)
{
    maker_ends_at = 7;
    numbers_make_begin(nap);
    numbers_close_begin(nap);
    assert_int_equal(naps, 7);
    closer_ends_at = 20;
    numbers_make_begin(nap);
    assert_int_equal(naps, 20);
    numbers_make_end();
}

/* A library that is loaded from a slow disk holds up one call, not each of a row. */
CASE(numbers__closers_give_up_once)
{
    numbers_make_begin(nap);
    for (int i = 0; i < 10; i++) {
        numbers_close_begin(nap);
        numbers_close_end();
    }
    assert_int_equal(naps, NUMBERS_CLOSER_NAPS);
    numbers_make_begin(nap); /* another one is waited for as long as any */
    numbers_close_begin(nap);
    numbers_close_end();
    assert_int_equal(naps, 2 * NUMBERS_CLOSER_NAPS);
}

/* One that has left by longjmp(3) is waited for once; others are waited for as ever. */
CASE(numbers__makers_give_up_once)
{
    numbers_close_begin(nap);
    for (int i = 0; i < 10; i++) {
        numbers_make_begin(nap);
        numbers_make_end();
    }
    assert_int_equal(naps, NUMBERS_MAKER_NAPS);
    numbers_close_begin(nap);
    closer_ends_at = naps + 3;
    numbers_make_begin(nap);
    assert_int_equal(naps, NUMBERS_MAKER_NAPS + 3);
    numbers_make_end();
}

/* One that took long, and has come back after all. */
CASE(numbers__a_late_closer_is_no_other_ones_excuse)
{
    numbers_close_begin(nap);
    numbers_make_begin(nap);
    numbers_make_end();
    assert_int_equal(naps, NUMBERS_MAKER_NAPS);
    numbers_close_end();
    numbers_close_begin(nap);
    closer_ends_at = naps + 3;
    numbers_make_begin(nap);
    assert_int_equal(naps, NUMBERS_MAKER_NAPS + 3);
    numbers_make_end();
}

CASE(numbers__a_child_has_none_of_its_parents_threads)
{
    numbers_make_begin(nap);
    numbers_forget();
    numbers_close_begin(nap);
    numbers_forget();
    numbers_make_begin(nap);
    assert_int_equal(naps, 0);
    numbers_make_end();
}
