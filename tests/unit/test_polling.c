/* SPDX-License-Identifier: MIT */
/* How long a waiting thread polls: by when there was traffic, what others need, and the budget. */
#include "base/polling.h"

#include <sched.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/lib/case.h"

enum { LIMIT = 50000 };

TEST(polling_until__not_at_all_when_switched_off)
{
    Polling p;
    polling_init(&p, 0);
    polling_traffic(&p, 1000);
    assert_int_equal(polling_until(&p, 1000), 1000);
}

/* Waits that were long, however many, change nothing: traffic alone counts. */
TEST(polling_until__so_long_after_traffic)
{
    Polling p;
    polling_init(&p, LIMIT);
    for (uint64_t now = 1000000; now < 100000000; now += 1000000) {
        assert_true(polling_until(&p, now) <= now);
        polling_traffic(&p, now);
        assert_int_equal(polling_until(&p, now), now + LIMIT);
        polling_looked(&p, LIMIT, 7, now + LIMIT); /* an interrupt */
    }
    polling_init(&p, UINT64_MAX);
    polling_traffic(&p, 1);
    assert_int_equal(polling_until(&p, 1), TIME_NEVER);
}

/* Another program had the processor for so long: twenty times as long it is left alone. */
TEST(polling_looked__others_want_the_processor)
{
    Polling p;
    uint64_t now = NS_PER_S;
    polling_init(&p, LIMIT);
    polling_traffic(&p, now);
    polling_looked(&p, LIMIT, 70, now); /* what was before it began does not count */
    assert_int_equal(polling_until(&p, now), now + LIMIT);
    polling_looked(&p, LIMIT, 71, now);
    now += POLLING_PAUSE_FACTOR * LIMIT - 1;
    polling_traffic(&p, now);
    assert_int_equal(polling_until(&p, now), 0);
    assert_int_equal(polling_until(&p, now + 1), now + LIMIT);
    for (int64_t i = 72; i < 75; i++) { /* not summed up, and not for ever */
        polling_looked(&p, NS_PER_S, i, now);
        polling_looked(&p, TIME_NEVER, i + 10, now);
        assert_int_equal(p.paused_until_ns, now + POLLING_PAUSE_MAX_NS);
        p.preempted = i;
    }
}

/* ---- what it brings -------------------------------------------------------------------------- */

/* Waits of a thread that takes @asleep_ns when it sleeps, @polling_ns when it polls: how many of
 * @count polled. */
static unsigned polls_of(PollingTrial *t, unsigned count, uint64_t asleep_ns, uint64_t polling_ns)
{
    unsigned polls = 0;
    for (unsigned i = 0; i < count; i++) {
        bool polled = polling_try(t);
        polls += polled;
        polling_waited(t, polled, polled ? polling_ns : asleep_ns);
    }
    return polls;
}

TEST(polling_try__takes_the_shorter_way_and_tries_the_other)
{
    PollingTrial t = {.waits = 0};
    const unsigned some = 10 * POLLING_TRY;
    assert_int_equal(polls_of(&t, some, 50000, 10000), some - 10);
    /* The program that answers has no processor now. Some waits show that, and later ones that it
     * has one again. */
    assert_true(polls_of(&t, POLLING_TRY, 50000, 1000000) < POLLING_TRY / 4);
    assert_int_equal(polls_of(&t, some, 50000, 1000000), 10);
    assert_true(polls_of(&t, 32 * POLLING_TRY, 50000, 10000) > POLLING_TRY);
    assert_int_equal(polls_of(&t, some, 50000, 10000), some - 10);
}

/* One wait for a dead host is not what the others are measured by. */
TEST(polling_waited__bounds_a_wait)
{
    PollingTrial t = {.waits = 0};
    polling_waited(&t, true, 10000);
    polling_waited(&t, true, TIME_NEVER);
    assert_true(t.mean_ns[true] <= 10000 + POLLING_WAIT_MAX_NS / 8);
    polling_waited(&t, false, 0);
    assert_true(t.mean_ns[false] > 0); /* there was one */
}

/* ---- the budget ------------------------------------------------------------------------------ */

/* How much of @ns so many threads poll that always want to, in rounds of @step. */
static uint64_t polled(unsigned percent, unsigned threads, uint64_t ns, uint64_t step)
{
    PollingBudget b = {.percent = percent};
    uint64_t sum = 0, start = 1000 * NS_PER_S;
    for (uint64_t now = start; now < start + ns; now += step)
        for (unsigned i = 0; i < threads; i++) {
            uint64_t part = min_u64(step, polling_budget_left(&b, now));
            polling_budget_spend(&b, now, part);
            sum += part;
        }
    return sum;
}

static void assert_near(uint64_t got, uint64_t wanted, uint64_t slack)
{
    assert_true(got <= wanted + slack);
    assert_true(got + slack >= wanted);
}

TEST(polling_budget__a_share_of_a_processor)
{
    const uint64_t second = NS_PER_S, step = 100 * NS_PER_US;
    assert_int_equal(polled(100, 1, second, step), second); /* one thread needs no more */
    assert_near(polled(100, 4, second, step), second, POLLING_BURST_NS);
    assert_near(polled(50, 1, second, step), second / 2, POLLING_BURST_NS / 2);
    assert_near(polled(50, 4, 10 * second, step), 5 * second, POLLING_BURST_NS / 2);
    assert_int_equal(polled(200, 2, second, step), 2 * second);
    assert_near(polled(1, 1, 10 * second, step), second / 10, POLLING_BURST_NS / 100);
}

/* What was not polled is not saved up beyond the burst, and what is owed passes. */
TEST(polling_budget__forgets_both_ways)
{
    PollingBudget b = {.percent = 100};
    assert_int_equal(polling_budget_left(&b, 5 * NS_PER_S), POLLING_BURST_NS);
    polling_budget_spend(&b, 5 * NS_PER_S, POLLING_BURST_NS / 4);
    polling_budget_spend(&b, 5 * NS_PER_S, POLLING_BURST_NS / 2);
    assert_int_equal(polling_budget_left(&b, 5 * NS_PER_S), POLLING_BURST_NS / 4);
    polling_budget_spend(&b, 5 * NS_PER_S, POLLING_BURST_NS);
    assert_int_equal(polling_budget_left(&b, 5 * NS_PER_S), 0);
    assert_int_equal(polling_budget_left(&b, 6 * NS_PER_S), POLLING_BURST_NS);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static unsigned looks_left;

static bool look(void *ctx)
{
    (void)ctx;
    return looks_left-- == 1;
}

TEST(polling_for__looks_until_something_is_there)
{
    Polling p;
    polling_setup(100);
    polling_init(&p, 0);
    polling_traffic(&p, UINT64_MAX);
    looks_left = 3;
    assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_NONE);
    assert_int_equal(looks_left, 3); /* switched off: not one look */
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return; /* one processor: nobody ever polls here */

    polling_init(&p, NS_PER_S);
    assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_NONE);
    assert_int_equal(looks_left, 3); /* the last traffic was long ago */
    polling_traffic(&p, UINT64_MAX);
    assert_int_equal(polling_for(&p, 1, look, NULL), POLLING_NONE);
    assert_int_equal(looks_left, 3); /* the deadline is over */
    assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_FOUND);
    assert_int_equal(looks_left, 0);
}

/* More threads wait than there are processors. */
TEST(polling_for__leaves_processors_to_those_that_sleep)
{
    cpu_set_t set;
    Polling p;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    polling_setup(100);
    polling_init(&p, NS_PER_S);
    polling_traffic(&p, UINT64_MAX);
    for (int i = 0; i < CPU_COUNT(&set); i++) /* and this thread waits, too */
        polling_wait_begin();
    looks_left = 1;
    assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_NONE);
    assert_int_equal(looks_left, 1);
    polling_wait_end();
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_FOUND);
    for (int i = 1; i < CPU_COUNT(&set); i++)
        polling_wait_end();
}

/* A child of a fork() has none of the threads that waited. */
TEST(polling_forget__the_parents_threads)
{
    Polling p;
    polling_setup(100);
    polling_init(&p, NS_PER_S);
    polling_traffic(&p, UINT64_MAX);
    for (int i = 0; i < 10000; i++)
        polling_wait_begin();
    looks_left = 1;
    assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_NONE);
    polling_forget();
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
        assert_int_equal(polling_for(&p, UINT64_MAX, look, NULL), POLLING_FOUND);
}

/* As long as the budget lasts, not for ever. Last: the process owes that time. */
TEST(polling_for__ends_with_the_budget)
{
    Polling p;
    polling_setup(1);
    polling_init(&p, UINT64_MAX);
    polling_traffic(&p, UINT64_MAX);
    looks_left = 0;     /* never found */
    unsigned calls = 0; /* each is a part of the budget, where others want the processor */
    while (polling_for(&p, UINT64_MAX, look, NULL) == POLLING_VAIN)
        assert_true(calls++ < 1000);
    polling_setup(100);
}
