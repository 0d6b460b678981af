/* SPDX-License-Identifier: MIT */
/* The histogram's quantiles beside those of the sorted values themselves. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "tools/bench_histogram.h"
#include "tests/lib/case.h"

static const unsigned quantiles[][2] = {{1, 1000}, {1, 100},    {25, 100},     {1, 2},
                                        {99, 100}, {999, 1000}, {9999, 10000}, {1, 1}};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void assert_close(const Histogram *h, const uint64_t *sorted, uint64_t count)
{
    assert_int_equal(h->count, count);
    assert_int_equal(h->least, sorted[0]);
    assert_int_equal(h->greatest, sorted[count - 1]);
    for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
        unsigned parts = quantiles[i][0], of = quantiles[i][1];
        uint64_t exact = sorted[(count * parts + of - 1) / of - 1];
        uint64_t got = histogram_quantile(h, parts, of);
        assert_true(got >= exact);
        assert_true(got - exact <= exact / HISTOGRAM_STEPS);
        assert_true(got <= h->greatest);
    }
}

TEST(histogram__empty_has_zeros)
{
    Histogram *h CLEANUP_FREE = calloc(1, sizeof *h);
    assert_int_equal(histogram_quantile(h, 1, 2), 0);
    assert_int_equal(histogram_quantile(h, 1, 1), 0);
    assert_int_equal(h->least, 0);
    assert_int_equal(h->greatest, 0);
}

TEST(histogram__small_values_are_exact)
{
    Histogram *h CLEANUP_FREE = calloc(1, sizeof *h);
    for (unsigned i = 1; i <= 200; i++)
        histogram_add(h, i);
    assert_int_equal(histogram_quantile(h, 1, 2), 100);
    assert_int_equal(histogram_quantile(h, 99, 100), 198);
    assert_int_equal(histogram_quantile(h, 999, 1000), 200);
    assert_int_equal(h->sum, 200 * 201 / 2);
}

/* Each power of two, one below it and one above. */
TEST(histogram__any_value_has_a_bucket)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int d = -1; d <= 1; d++) {
            Histogram *h CLEANUP_FREE = calloc(1, sizeof *h);
            uint64_t v = ((uint64_t)1 << bit) + (uint64_t)d, more = v;
            histogram_add(h, v);
            assert_close(h, &v, 1);
            /* With something greater in it the bucket's end shows. */
            if (v < UINT64_MAX)
                histogram_add(h, more = UINT64_MAX);
            uint64_t low = histogram_quantile(h, 1, 2);
            assert_true(low >= v && low - v <= v / HISTOGRAM_STEPS);
            assert_int_equal(histogram_quantile(h, 1, 1), more);
        }
    }
}

TEST(histogram__is_close_to_the_sorted_values)
{
    enum { COUNT = 20011 };
    Histogram *all CLEANUP_FREE = calloc(1, sizeof *all);
    Histogram *part CLEANUP_FREE = calloc(1, sizeof *part);
    uint64_t *values CLEANUP_FREE = calloc(COUNT, sizeof *values);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        memset(all, 0, sizeof *all);
        for (uint64_t i = 0; i < COUNT; i++) {
            /* Of all magnitudes, as many of each. */
            uint64_t r = mix64(seed << 32 | i);
            values[i] = mix64(r) >> (r % 50);
            histogram_add(i % 2 ? part : all, values[i]);
        }
        histogram_merge(all, part); /* an odd number of values, in two unequal halves */
        memset(part, 0, sizeof *part);
        histogram_merge(all, part); /* nothing */
        qsort(values, COUNT, sizeof *values, compare);
        assert_close(all, values, COUNT);
    }
}

TEST(histogram__merges_into_an_empty_one)
{
    Histogram *a CLEANUP_FREE = calloc(1, sizeof *a), *b CLEANUP_FREE = calloc(1, sizeof *b);
    histogram_add(b, 70);
    histogram_add(b, 90000);
    histogram_merge(a, b);
    assert_memory_equal(a, b, sizeof *a);
}
