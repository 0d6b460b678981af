/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same for the same seed, everywhere. Pure. */
#ifndef DODO_EXAMPLES_BENCH_RANDOM_H
#define DODO_EXAMPLES_BENCH_RANDOM_H

#include <stdint.h>

#include "base/id.h"

typedef struct BenchRandom {
    uint64_t state;
} BenchRandom;

static inline uint64_t bench_random(BenchRandom *r)
{
    return mix64(r->state += 0x9e3779b97f4a7c15ull);
}
/* Uniform in [0, n), n > 0. */
static inline uint64_t bench_random_below(BenchRandom *r, uint64_t n)
{
    return bench_random(r) % n;
}

#endif
