/* SPDX-License-Identifier: MIT */
#include "proto/numbers.h"

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/lib/sim_rng.h"

/* ---- the window ----------------------------------------------------------------------------- */

static bool over(const NumberWindow *w, uint64_t number)
{
    return number_window_below(w, number) || number_window_marked(w, number);
}

TEST(number_window__has_64_from_the_lowest_on)
{
    NumberWindow w;
    number_window_reset(&w, 100);
    for (uint64_t number = 0; number < 100; number++) {
        assert_true(number_window_below(&w, number));
        assert_false(number_window_has(&w, number));
    }
    for (uint64_t number = 100; number < 164; number++) {
        assert_false(number_window_below(&w, number));
        assert_true(number_window_has(&w, number));
        assert_false(number_window_marked(&w, number));
    }
    assert_false(number_window_has(&w, 164));
    assert_false(number_window_has(&w, UINT64_MAX));
}

/* The map's last bit; the bit after it and the one before the first are no bits of the map. */
TEST(number_window__gaps_of_63_and_64_and_65)
{
    static const uint64_t gaps[] = {63, 64, 65};
    for (size_t i = 0; i < ARRAY_SIZE(gaps); i++) {
        NumberWindow w;
        number_window_reset(&w, 7);
        number_window_end(&w, 7 + gaps[i]);
        assert_int_equal(w.lowest, 7);
        assert_int_equal(w.marked, gaps[i] < NUMBERS_WINDOW ? (uint64_t)1 << 63 : 0);
        assert_int_equal(number_window_marked(&w, 7 + gaps[i]), gaps[i] < NUMBERS_WINDOW);
        assert_false(number_window_marked(&w, 7 + gaps[i] % 63)); /* no bit of another */
    }
}

TEST(number_window__below_the_lowest_nothing_happens)
{
    NumberWindow w;
    number_window_reset(&w, 7);
    number_window_end(&w, 8);
    number_window_end(&w, 6);
    number_window_mark(&w, 0);
    number_window_raise(&w, 6);
    number_window_raise(&w, 7);
    assert_int_equal(w.lowest, 7);
    assert_int_equal(w.marked, 2);
    assert_false(number_window_marked(&w, 6));
}

/* All but the lowest are over; with it, all are at once. */
TEST(number_window__the_whole_map_goes_at_once)
{
    NumberWindow w;
    number_window_reset(&w, 7);
    for (uint64_t number = 70; number > 7; number--) {
        number_window_end(&w, number);
        assert_int_equal(w.lowest, 7);
        assert_int_equal(number_window_open(&w), 7);
    }
    number_window_end(&w, 7);
    assert_int_equal(w.lowest, 71);
    assert_int_equal(w.marked, 0);
}

TEST(number_window__the_lowest_takes_the_next_ones_with_it)
{
    NumberWindow w;
    number_window_reset(&w, 1);
    number_window_end(&w, 2);
    number_window_end(&w, 4);
    number_window_end(&w, 1);
    assert_int_equal(w.lowest, 3);
    assert_true(number_window_marked(&w, 4));
    assert_false(number_window_marked(&w, 5));
    number_window_end(&w, 3);
    assert_int_equal(w.lowest, 5);
}

/* Marked alone, a number stays in the window. */
TEST(number_window__marked_is_not_over)
{
    NumberWindow w;
    number_window_reset(&w, 1);
    for (uint64_t number = 1; number <= NUMBERS_WINDOW; number++) {
        assert_int_equal(number_window_open(&w), number);
        number_window_mark(&w, number);
        assert_int_equal(w.lowest, 1);
    }
    assert_int_equal(number_window_open(&w), 1 + NUMBERS_WINDOW);
    number_window_raise(&w, 3);
    assert_int_equal(w.marked, UINT64_MAX >> 2);
    assert_false(number_window_marked(&w, 2));
}

TEST(number_window__raised_over_63_and_64_and_65)
{
    static const uint64_t steps[] = {63, 64, 65};
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        NumberWindow w = {.lowest = 10, .marked = UINT64_MAX};
        number_window_raise(&w, 10 + steps[i]);
        assert_int_equal(w.lowest, 10 + steps[i]);
        assert_int_equal(w.marked, steps[i] == 63);
    }
}

TEST(number_window__reset_forgets)
{
    NumberWindow w = {.lowest = 10, .marked = 6};
    number_window_reset(&w, 1);
    assert_int_equal(w.lowest, 1);
    assert_int_equal(w.marked, 0);
    assert_false(number_window_marked(&w, 11));
}

/* What a peer may say. */
TEST(number_window__at_the_end_of_all_numbers)
{
    NumberWindow w;
    number_window_reset(&w, 1);
    number_window_raise(&w, UINT64_MAX - 1);
    assert_true(number_window_has(&w, UINT64_MAX));
    assert_false(number_window_has(&w, 0));
    number_window_mark(&w, UINT64_MAX);
    assert_true(number_window_marked(&w, UINT64_MAX));
    assert_false(number_window_marked(&w, UINT64_MAX - 1));
}

/* Against a table of all numbers, in an order that comes back to a few that are late. */
TEST(number_window__as_a_table_says)
{
    enum { ALL = 4096 };
    static bool table[ALL + NUMBERS_WINDOW];
    NumberWindow w;
    SimRng rng;
    sim_rng_init(&rng, 1, 0);
    number_window_reset(&w, 0);
    for (uint64_t lowest = 0; lowest < ALL;) {
        uint64_t number = lowest + sim_rng_below(&rng, NUMBERS_WINDOW);
        table[number] = true;
        number_window_end(&w, number);
        while (lowest < ALL && table[lowest])
            lowest++;
        assert_true(lowest == ALL || w.lowest == lowest);
        for (uint64_t n = lowest; n < lowest + NUMBERS_WINDOW && n < ALL; n++)
            assert_int_equal(over(&w, n), table[n]);
    }
}

/* ---- the side that gives them out ----------------------------------------------------------- */

TEST(numbers__in_order)
{
    Numbers n;
    numbers_init(&n, 1);
    for (uint64_t i = 1; i < 1000; i++) {
        assert_int_equal(numbers_take(&n), i);
        assert_int_equal(numbers_last(&n), i);
        assert_int_equal(numbers_lowest(&n), i);
        numbers_end(&n, i);
        assert_int_equal(numbers_lowest(&n), i + 1);
    }
}

TEST(numbers__window_is_full)
{
    Numbers n;
    numbers_init(&n, 1);
    for (uint64_t i = 1; i <= NUMBERS_WINDOW; i++)
        assert_int_equal(numbers_take(&n), i);
    assert_int_equal(numbers_take(&n), 0);
    assert_true(numbers_have(&n, 0));
    /* All but the lowest are over: the lowest alone holds the window. */
    for (uint64_t i = 2; i <= NUMBERS_WINDOW; i++)
        numbers_end(&n, i);
    assert_int_equal(numbers_lowest(&n), 1);
    assert_int_equal(numbers_take(&n), 0);
    numbers_end(&n, 1);
    assert_int_equal(numbers_lowest(&n), NUMBERS_WINDOW + 1);
    assert_int_equal(numbers_take(&n), NUMBERS_WINDOW + 1);
}

TEST(numbers__a_row_is_given_out_whole)
{
    Numbers n;
    numbers_init(&n, 1);
    assert_int_equal(numbers_take_row(&n, NUMBERS_WINDOW + 1), 0);
    assert_int_equal(numbers_take_row(&n, 40), 1);
    assert_int_equal(numbers_take_row(&n, 25), 0); /* 40 + 24 are all */
    assert_int_equal(numbers_take_row(&n, 24), 41);
    numbers_end(&n, 1);
    assert_int_equal(numbers_take_row(&n, 2), 0);
    assert_int_equal(numbers_take_row(&n, 1), 65);
    assert_int_equal(numbers_last(&n), 65);
}

TEST(numbers__over_twice_or_never_taken)
{
    Numbers n;
    numbers_init(&n, 1);
    numbers_end(&n, 0);
    numbers_end(&n, 1); /* not taken yet */
    numbers_end(&n, 500);
    assert_int_equal(numbers_lowest(&n), 1);
    assert_int_equal(numbers_take(&n), 1);
    assert_int_equal(numbers_take(&n), 2);
    numbers_end(&n, 1);
    numbers_end(&n, 1);
    assert_int_equal(numbers_lowest(&n), 2);
    assert_int_equal(numbers_take(&n), 3);
}

TEST(numbers__begin_where_it_is_said)
{
    Numbers n;
    numbers_init(&n, 41);
    numbers_end(&n, 40);
    assert_int_equal(numbers_lowest(&n), 41);
    assert_int_equal(numbers_take(&n), 41);
}
