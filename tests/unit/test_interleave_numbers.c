/* SPDX-License-Identifier: MIT */
/* Numbers that the libraries have for a moment in all interleavings of threads that have them with
 * threads that close numbers (see tests/lib/interleave.h). */
#include "tests/lib/case.h"
#include "tests/unit/interleave_fixture.h"

#include "adapters/preload/numbers.h"

enum { COUNT_MADE, COUNT_CLOSED, COUNT_WAITED }; /* for interleave_count() */

static struct {
    unsigned making, closing;
} w;

static int lock, makers_wait, closers_wait;

/* Time passes when nobody else can go on. */
static void wait(const int *cond)
{
    interleave_count(COUNT_WAITED);
    (void)interleave_lock(&lock);
    (void)interleave_wait(cond, &lock, true);
    (void)interleave_unlock(&lock);
}

static void maker_nap(void)
{
    wait(&makers_wait);
}

/* It is out of the makers' way. */
static void closer_nap(void)
{
    (void)interleave_broadcast(&makers_wait);
    wait(&closers_wait);
}

static void make(void)
{
    numbers_make_begin(maker_nap);
    w.making++;
    interleave_point("has a number");
    if (w.closing > 0)
        interleave_fail("a number is closed under its maker");
    w.making--;
    numbers_make_end();
    (void)interleave_broadcast(&closers_wait);
    interleave_count(COUNT_MADE);
}

static void close_all(void)
{
    numbers_close_begin(closer_nap);
    w.closing++;
    interleave_point("closes");
    if (w.making > 0)
        interleave_fail("a number is made under its closer");
    w.closing--;
    numbers_close_end();
    (void)interleave_broadcast(&makers_wait);
    interleave_count(COUNT_CLOSED);
}

/* Another kind of program. */
static void close_at_once(void)
{
    w.closing++;
    interleave_point("closes");
    w.closing--;
}

static void make_twice(void)
{
    numbers_make_begin(maker_nap);
    make();
    numbers_make_end();
    (void)interleave_broadcast(&closers_wait);
    make();
}

static const InterleaveScenario both = {"both", NULL, {make, close_all}, NULL};
static const InterleaveScenario more = {"more", NULL, {make, close_all, close_all}, NULL};
static const InterleaveScenario nested = {"nested", NULL, {make_twice, close_all}, NULL};
static const InterleaveScenario careless = {"careless", NULL, {make, close_at_once}, NULL};
static const InterleaveScenario *const scenarios[] = {&careless, &both, &more, &nested, NULL};

TEST(numbers__are_not_closed_under_their_makers)
{
    (void)clean(&both, 2, COUNT_WAITED + 1);
    noticed(&careless, 0, "closed under its maker");
}

TEST(numbers__are_not_closed_with_more_threads)
{
    (void)clean(&more, 2, COUNT_WAITED + 1);
    (void)clean(&nested, 2, COUNT_WAITED + 1);
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay(scenarios, argc, argv) : cases_run(NULL, NULL);
}
