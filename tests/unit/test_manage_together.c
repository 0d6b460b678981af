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

TEST(count__is_what_the_drive_carries_out_at_once)
{
    for (unsigned parallel = TOGETHER_LEAST; parallel <= TOGETHER_MOST; parallel *= 2) {
        Together t = {0};
        unsigned count = count_after(&t, parallel, 40, NULL);
        assert_in_range(count, parallel, parallel * (t.trial ? 2 : 1));
    }
}

TEST(count__has_an_end)
{
    Together t = {0};
    assert_int_equal(count_after(&t, 1000, 200, NULL), TOGETHER_MOST);
}

TEST(trials__that_save_nothing_become_rare)
{
    Together t = {0};
    unsigned trials;
    (void)count_after(&t, TOGETHER_LEAST, 20, &trials);
    assert_in_range(trials, 2, 5);
    (void)count_after(&t, TOGETHER_LEAST, 1000, &trials);
    assert_in_range(trials, 10, 20);
}

TEST(trials__find_a_drive_that_became_faster)
{
    Together t = {0};
    (void)count_after(&t, TOGETHER_LEAST, 1000, NULL);
    assert_int_equal(count_after(&t, TOGETHER_MOST, 200, NULL), TOGETHER_MOST);
}
