/* SPDX-License-Identifier: MIT */
/* Small arithmetic of sizes, counts and times. */
#ifndef DODO_BASE_NUM_H
#define DODO_BASE_NUM_H

#include <stdint.h>

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The difference; 0 where it would be below. */
static inline uint64_t sub_u64(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
