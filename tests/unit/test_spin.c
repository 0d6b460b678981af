/* SPDX-License-Identifier: MIT */
/* When a waiting thread spins: by what it saw of answers and of other programs. */
#include "base/spin.h"
#include "tests/lib/case.h"

enum { LIMIT = 50000, SOON = 20000, LATE = 900000 };

TEST(spin_budget__none_when_switched_off)
{
    Spin s;
    spin_init(&s, 0);
    assert_int_equal(spin_budget(&s, 0), 0);
    spin_waited(&s, SOON, true);
    assert_int_equal(spin_budget(&s, 0), 0);
}

TEST(spin_budget__as_long_as_answers_come_soon)
{
    Spin s;
    spin_init(&s, LIMIT);
    assert_int_equal(spin_budget(&s, 0), LIMIT);
    spin_waited(&s, LATE, true); /* once is nothing */
    assert_int_equal(spin_budget(&s, 0), LIMIT);
    for (int i = 0; i < 10; i++)
        spin_waited(&s, LATE, true);
    assert_int_equal(spin_budget(&s, 0), 0);
    for (int i = 0; i < 1000; i++)
        spin_waited(&s, LATE, true);
    for (int i = 0; i < 10; i++) /* learnt asleep, with the wake-up in it */
        spin_waited(&s, LIMIT + SPIN_WAKE_NS, true);
    assert_int_equal(spin_budget(&s, 0), LIMIT);
}

TEST(spin_saw__others_want_the_processor)
{
    Spin s;
    uint64_t now = 1000;
    spin_init(&s, LIMIT);
    assert_true(spin_looks(&s));
    spin_saw(&s, 70, now); /* what was before it began does not count */
    assert_int_equal(spin_budget(&s, now), LIMIT);
    for (int i = 1; i < SPIN_LOOKS; i++)
        assert_false(spin_looks(&s));
    assert_true(spin_looks(&s));
    spin_saw(&s, 71, now);
    assert_int_equal(spin_budget(&s, now), 0);
    now += SPIN_PAUSE_NS;
    assert_int_equal(spin_budget(&s, now), LIMIT);
    spin_saw(&s, 75, now); /* still: twice as long */
    now += SPIN_PAUSE_NS;
    assert_int_equal(spin_budget(&s, now), 0);
    now += SPIN_PAUSE_NS;
    assert_int_equal(spin_budget(&s, now), LIMIT);
    for (int64_t i = 76; i < 200; i++)
        spin_saw(&s, i, now);
    assert_int_equal(s.paused_until_ns, now + SPIN_PAUSE_MAX_NS);
}

TEST(spin_saw__calm_shortens_the_next_pause)
{
    Spin s;
    spin_init(&s, LIMIT);
    for (int64_t i = 70; i < 74; i++)
        spin_saw(&s, i, 0);
    assert_int_equal(s.paused_until_ns, 4 * SPIN_PAUSE_NS);
    for (int i = 0; i < 3; i++)
        spin_saw(&s, 73, 0); /* nobody wanted the processor */
    spin_saw(&s, 74, 0);
    assert_int_equal(s.paused_until_ns, SPIN_PAUSE_NS);
}

TEST(spin_begin__no_more_than_processors)
{
    unsigned most = 0;
    while (most < 100000 && spin_begin())
        most++;
    assert_true(most < 100000);
    assert_false(spin_begin());
    for (unsigned i = 0; i < most; i++)
        spin_end();
    for (unsigned i = 0; i < most; i++)
        assert_true(spin_begin());
    assert_false(spin_begin());
    for (unsigned i = 0; i < most; i++)
        spin_end();
}

static unsigned looks_left;

static bool look(void *ctx)
{
    (void)ctx;
    return looks_left-- == 1;
}

/* What a thread slept through after a useless spin is one wait, not two; what it slept through
 * without one is how it learns that spinning pays again. */
TEST(spin_slept__counts_what_no_spin_told)
{
    Spin s;
    spin_init(&s, 0);
    unsigned before = s.score;
    looks_left = 1;
    assert_false(spin_for(&s, UINT64_MAX, look, NULL));
    assert_int_equal(looks_left, 1);
    spin_slept(&s, 0);
    assert_int_equal(s.score, before);
    if (!spin_begin())
        return; /* one processor: nobody ever spins here */
    spin_end();

    spin_init(&s, 1000 * 1000 * 1000);
    looks_left = 3;
    assert_true(spin_for(&s, UINT64_MAX, look, NULL));
    assert_int_equal(looks_left, 0);
    assert_false(s.in_vain);

    spin_init(&s, 1);
    looks_left = UINT32_MAX;
    before = s.score;
    assert_false(spin_for(&s, UINT64_MAX, look, NULL));
    assert_true(s.in_vain && s.score < before);
    before = s.score;
    spin_slept(&s, UINT64_MAX);
    assert_int_equal(s.score, before);
    spin_slept(&s, 0); /* since the machine started: not soon */
    assert_true(s.score < before);
}
