/* SPDX-License-Identifier: MIT */
#include "tools/bench_histogram.h"

#include <assert.h>

/* Values below 2 * HISTOGRAM_STEPS have a bucket each; the buckets of every further power of two
 * are twice as wide as those of the one before. */
static unsigned bucket_of(uint64_t value)
{
    if (value < 2 * HISTOGRAM_STEPS)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return shift * HISTOGRAM_STEPS + (unsigned)(value >> shift);
}

static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_STEPS - 1;
    uint64_t step = bucket - shift * HISTOGRAM_STEPS;
    return (step << shift) + (((uint64_t)1 << shift) - 1);
}

void histogram_add(Histogram *h, uint64_t value)
{
    if (h->count == 0 || value < h->least)
        h->least = value;
    if (value > h->greatest)
        h->greatest = value;
    h->count++;
    h->sum += value;
    h->buckets[bucket_of(value)]++;
}

void histogram_merge(Histogram *h, const Histogram *other)
{
    if (other->count == 0)
        return;
    if (h->count == 0 || other->least < h->least)
        h->least = other->least;
    if (other->greatest > h->greatest)
        h->greatest = other->greatest;
    h->count += other->count;
    h->sum += other->sum;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        h->buckets[i] += other->buckets[i];
}

uint64_t histogram_quantile(const Histogram *h, unsigned parts, unsigned of)
{
    assert(parts > 0 && parts <= of && of <= 10000);
    /* Rounded up, and without a product that could overflow. */
    uint64_t rank = h->count / of * parts + (h->count % of * parts + of - 1) / of, seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && h->count > 0; i++) {
        seen += h->buckets[i];
        if (seen >= rank)
            return bucket_end(i) < h->greatest ? bucket_end(i) : h->greatest;
    }
    return h->greatest;
}
