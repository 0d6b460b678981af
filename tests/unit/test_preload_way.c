/* SPDX-License-Identifier: MIT */
/* Which way the reads of a file go in a program that nobody changed. */
#include "adapters/preload/way.h"
#include "tests/lib/case.h"

/* So many watched reads of @ns until the cache has them; at most @max. */
static unsigned reads_until_cached(uint64_t ns, unsigned max)
{
    Way w = {0};
    unsigned i = 0;
    for (; i < max && !w.cache; i++)
        way_watched(&w, true, ns, 1);
    return i;
}

TEST(kernel__keeps_reads_that_nobody_waits_for)
{
    Way w = {0};
    for (int i = 0; i < 100000; i++)
        way_watched(&w, false, 1000000, WAY_SAMPLE);
    assert_false(w.cache);
}

TEST(cache__starts_when_waiting_has_cost_as_much_as_starting)
{
    assert_int_equal(reads_until_cached(8000000, 1000), 2);  /* a drive with a head */
    assert_int_equal(reads_until_cached(500000, 1000), 30);  /* a volume in a cloud */
    assert_int_equal(reads_until_cached(100000, 1000), 150); /* flash */
    assert_int_equal(reads_until_cached(1, 1000), 1000);
}

TEST(watched__reads_stand_for_all)
{
    uint64_t weight = 0;
    enum { READS = 64 * WAY_SAMPLE };
    for (uint64_t i = 0; i < READS; i++)
        weight += way_weight(i);
    assert_int_equal(weight, READS);
    assert_int_equal(way_weight(0), 1); /* the first one is often the one that waits */
    Way w = {0};
    way_watched(&w, true, WAY_START_NS / WAY_SAMPLE, WAY_SAMPLE);
    assert_true(w.cache);
}

TEST(kernel__has_the_reads_again_when_it_always_has_them)
{
    Way w = {.cache = true};
    for (int i = 0; i < WAY_SAMPLE - 1; i++)
        way_answered(&w, false, true);
    way_answered(&w, false, false); /* not always */
    for (int i = 0; i < WAY_SAMPLE - 1; i++)
        way_answered(&w, false, true);
    assert_true(w.cache);
    way_answered(&w, false, true);
    assert_false(w.cache);
    way_watched(&w, true, WAY_START_NS - 1, 1); /* what was waited for before is forgotten */
    assert_false(w.cache);
    way_watched(&w, true, 1, 1);
    assert_true(w.cache);
}

TEST(kernel__is_not_heard_of_what_the_cache_has)
{
    Way w = {.cache = true};
    for (int i = 0; i < 2 * WAY_SAMPLE; i++)
        way_answered(&w, true, true);
    assert_true(w.cache);
    for (int i = 0; i < WAY_SAMPLE - 1; i++)
        way_answered(&w, false, true);
    way_answered(&w, true, false); /* nobody asked the kernel */
    assert_true(w.cache);
    way_answered(&w, false, true);
    assert_false(w.cache);
}

TEST(late__answers_and_reads_change_nothing)
{
    Way plain = {0}, cached = {.cache = true};
    for (int i = 0; i < 2 * WAY_SAMPLE; i++)
        way_answered(&plain, false, true); /* asked before another thread's answer */
    assert_int_equal(plain.held, 0);
    way_watched(&cached, true, WAY_START_NS, 1);
    assert_int_equal(cached.waited_ns, 0);
}
