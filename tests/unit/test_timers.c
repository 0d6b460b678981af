/* SPDX-License-Identifier: MIT */
/* Timers beside a plain array that is searched. */
#include <stdbool.h>

#include <errno.h>
#include <stdlib.h>

static bool no_memory;
static void *realloc_or_fail(void *p, size_t size)
{
    return no_memory ? NULL : realloc(p, size);
}
#define realloc realloc_or_fail
#include "base/timers.c"

#include "tests/lib/case.h"
#include "tests/lib/sim_rng.h"

enum { TIMERS = 500, STEPS = 20000 };

TEST(timers__are_due_in_order)
{
    static Timer all[TIMERS];
    static const uint64_t times[] = {50, 10, 40, 10, 30, UINT64_MAX, 20, 0};
    Timers t = {0};
    uint64_t last = 0;
    assert_null(timers_first(&t));
    assert_int_equal(timers_due(&t), TIME_NEVER);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_int_equal(timers_add(&t, &all[i], times[i]), 0);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        Timer *first = timers_first(&t);
        assert_int_equal(first->due_ns, timers_due(&t));
        assert_true(first->due_ns >= last);
        last = first->due_ns;
        timers_remove(&t, first);
        assert_true(timers_check(&t));
    }
    assert_int_equal(last, UINT64_MAX);
    assert_null(timers_first(&t));
    timers_deinit(&t);
}

static uint64_t least(const Timer *all, const bool *there)
{
    uint64_t due = TIME_NEVER;
    for (size_t i = 0; i < TIMERS; i++)
        if (there[i])
            due = min_u64(due, all[i].due_ns);
    return due;
}

TEST(timers__beside_an_array)
{
    static Timer all[TIMERS];
    static bool there[TIMERS];
    Timers t = {0};
    SimRng rng;
    size_t count = 0;
    sim_rng_init(&rng, 1, 2);
    for (unsigned step = 0; step < STEPS; step++) {
        size_t i = sim_rng_below(&rng, TIMERS);
        uint64_t due_ns = sim_rng_below(&rng, 1000);
        if (!there[i]) {
            assert_int_equal(timers_add(&t, &all[i], due_ns), 0);
            there[i] = true;
            count++;
        } else if (sim_rng_below(&rng, 2)) {
            timers_move(&t, &all[i], due_ns);
            assert_int_equal(all[i].due_ns, due_ns);
        } else {
            timers_remove(&t, &all[i]);
            there[i] = false;
            count--;
        }
        assert_int_equal(t.count, count);
        assert_int_equal(timers_due(&t), least(all, there));
        if (step % 100 == 0)
            assert_true(timers_check(&t));
    }
    timers_deinit(&t);
}

TEST(timers__are_postponed_together)
{
    Timer a, b, never;
    Timers t = {0};
    (void)timers_add(&t, &a, 10);
    (void)timers_add(&t, &b, 5);
    (void)timers_add(&t, &never, TIME_NEVER);
    timers_postpone(&t, 100);
    assert_int_equal(a.due_ns, 110);
    assert_int_equal(timers_due(&t), 105);
    assert_int_equal(never.due_ns, TIME_NEVER);
    assert_true(timers_check(&t));
    timers_deinit(&t);
}

TEST(timers__without_memory)
{
    static Timer all[TIMERS];
    Timers t = {0};
    size_t n = 0;
    for (; n < 10; n++)
        assert_int_equal(timers_add(&t, &all[n], 100 - n), 0);
    no_memory = true;
    while (n < TIMERS && timers_add(&t, &all[n], n) == 0)
        n++;
    assert_true(n < TIMERS);
    assert_int_equal(timers_add(&t, &all[n], 0), -ENOMEM);
    no_memory = false;
    assert_int_equal(t.count, n);
    assert_true(timers_check(&t)); /* what is there stays as it was */
    assert_true(timers_bytes(&t) >= n * sizeof(Timer *));
    timers_deinit(&t);
    assert_int_equal(timers_bytes(&t), 0);
}
