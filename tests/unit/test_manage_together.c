/* SPDX-License-Identifier: MIT */
/* How many reads of a file go together. */
#include "libmanage/together.h"
#include "tests/lib/case.h"

#define READ_NS 300000ull

/* What a read takes, as one after the other, of a drive that carries out @parallel at once. */
static uint64_t each_of(unsigned parallel, unsigned count)
{
    return READ_NS / (count < parallel ? count : parallel);
}

/* After @measurements; *@ret_trials: in how many more reads went together than the drive carries
 * out. */
static unsigned count_after(Together *t, unsigned parallel, unsigned measurements,
                            unsigned *ret_trials)
{
    unsigned trials = 0;
    for (unsigned i = 0; i < measurements; i++) {
        trials += together_count(t) > parallel;
        together_note(t, each_of(parallel, together_count(t)));
    }
    if (ret_trials)
        *ret_trials = trials;
    return together_count(t);
}

/* Without a trial that goes on. */
static unsigned settled(const Together *t)
{
    return (unsigned)TOGETHER_LEAST << t->doublings;
}

TEST(count__is_what_the_drive_carries_out_at_once)
{
    for (unsigned parallel = TOGETHER_LEAST; parallel <= TOGETHER_MOST; parallel *= 2) {
        Together t = {0};
        (void)count_after(&t, parallel, 40, NULL);
        assert_int_equal(settled(&t), parallel);
    }
}

TEST(count__has_an_end)
{
    Together t = {0};
    (void)count_after(&t, 1000, 200, NULL);
    assert_int_equal(settled(&t), TOGETHER_MOST);
}

TEST(trials__that_save_nothing_become_rare)
{
    Together t = {0};
    unsigned trials;
    (void)count_after(&t, TOGETHER_LEAST, 20, &trials);
    assert_in_range(trials, 2, 8);
    (void)count_after(&t, TOGETHER_LEAST, 1000, &trials);
    assert_in_range(trials, 20, 40);
}

TEST(trials__find_a_drive_that_became_faster)
{
    Together t = {0};
    (void)count_after(&t, TOGETHER_LEAST, 1000, NULL);
    (void)count_after(&t, TOGETHER_MOST, 200, NULL);
    assert_int_equal(settled(&t), TOGETHER_MOST);
}

TEST(trials__find_a_drive_that_became_slower)
{
    Together t = {0};
    (void)count_after(&t, TOGETHER_MOST, 1000, NULL);
    (void)count_after(&t, TOGETHER_LEAST, 300, NULL);
    assert_int_equal(settled(&t), TOGETHER_LEAST);
}

TEST(trials__of_what_is_right_become_rare)
{
    Together t = {0};
    (void)count_after(&t, 2 * TOGETHER_LEAST, 300, NULL);
    unsigned others = 0;
    for (unsigned i = 0; i < 1000; i++) {
        others += together_count(&t) != 2 * TOGETHER_LEAST;
        together_note(&t, each_of(2 * TOGETHER_LEAST, together_count(&t)));
    }
    assert_in_range(others, 20, 40);
}

/* Of a drive that carries out @parallel, and takes up to @noise percent more or less: how many
 * measurements of 4000 are of more reads than that? */
static unsigned too_many(unsigned parallel, unsigned noise)
{
    Together t = {0};
    unsigned many = 0;
    uint32_t random = parallel;
    for (unsigned i = 0; i < 4000; i++) {
        random = random * 1103515245 + 12345;
        uint64_t percent = 100 - noise + (random >> 16) % (2 * noise + 1);
        many += together_count(&t) > parallel;
        together_note(&t, each_of(parallel, together_count(&t)) * percent / 100);
    }
    return many;
}

TEST(noise__is_not_taken_for_a_gain)
{
    for (unsigned parallel = TOGETHER_LEAST; parallel < TOGETHER_MOST; parallel *= 2)
        for (unsigned noise = 20; noise <= 40; noise += 10)
            assert_in_range(too_many(parallel, noise), 10, 600);
}

/* A drive that always has @count reads under way, and finishes @parallel at once: a measurement
 * that began with fewer of them has some of the old ones in it. */
static uint64_t after_change(unsigned parallel, unsigned before, unsigned count)
{
    return (each_of(parallel, before) + each_of(parallel, count)) / 2;
}

TEST(trial__is_not_judged_by_what_began_before_it)
{
    enum { PARALLEL = 22 }; /* of 16 and 32: 27 % less time */
    Together t = {0};
    unsigned before = TOGETHER_LEAST;
    for (unsigned i = 0; i < 100; i++) {
        unsigned count = together_count(&t);
        together_note(&t, after_change(PARALLEL, before, count));
        before = count;
    }
    assert_int_equal(settled(&t), TOGETHER_MOST);
}
