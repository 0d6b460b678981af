/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same for the same seed, everywhere. Pure. */
#ifndef DODO_BASE_RANDOM_H
#define DODO_BASE_RANDOM_H

#include <stdint.h>

#include "base/id.h"

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *r)
{
    return mix64(r->state += 0x9e3779b97f4a7c15ull);
}
/* Uniform in [0, n), n > 0. */
static inline uint64_t random_below(Random *r, uint64_t n)
{
    return random_next(r) % n;
}

#endif
