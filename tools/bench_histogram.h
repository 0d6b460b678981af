/* SPDX-License-Identifier: MIT */
/* Durations counted by buckets, for percentiles of any number of them in memory of a fixed size.
 * Each power of two is divided into HISTOGRAM_STEPS buckets of equal width, so that a percentile is
 * too high by less than one part in HISTOGRAM_STEPS; small values, the least, the greatest and the
 * mean are exact. Pure. */
#ifndef DODO_TOOLS_BENCH_HISTOGRAM_H
#define DODO_TOOLS_BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_STEP_BITS = 7,
    HISTOGRAM_STEPS = 1 << HISTOGRAM_STEP_BITS,
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS,
};

/* Zeroed: empty. */
typedef struct Histogram {
    uint64_t count, sum;
    uint64_t least, greatest; /* 0 while it is empty */
    uint64_t buckets[HISTOGRAM_BUCKETS];
} Histogram;

void histogram_add(Histogram *h, uint64_t value);
void histogram_merge(Histogram *h, const Histogram *other);
/* The least value that @parts of @of of all values do not exceed, as 99 of 100: rounded up to its
 * bucket's end, never beyond the greatest. 0 when it is empty. 0 < @parts <= @of <= 10000. */
uint64_t histogram_quantile(const Histogram *h, unsigned parts, unsigned of);

#endif
