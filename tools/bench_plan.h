/* SPDX-License-Identifier: MIT */
/* What dodo bench does where: the sizes, the slots that calls of a size fall on, the part of them
 * that each thread has, and which comes next. Pure. */
#ifndef DODO_TOOLS_BENCH_PLAN_H
#define DODO_TOOLS_BENCH_PLAN_H

#include <stdint.h>

#include "base/random.h"

enum { BENCH_SIZES_MAX = 16, BENCH_CALL_MAX = 64 << 20 };

/* "4K,8K,1M": 0; -EINVAL: no such list; -ERANGE: a size below 1 byte or above BENCH_CALL_MAX. */
typedef struct BenchSizes {
    unsigned count;
    uint64_t bytes[BENCH_SIZES_MAX];
} BenchSizes;
int bench_sizes_parse(const char *text, BenchSizes *ret);

typedef enum BenchPattern { BENCH_SEQUENTIAL, BENCH_RANDOM, BENCH_PATTERN_MAX } BenchPattern;
extern const char *const bench_pattern_names[BENCH_PATTERN_MAX];
int bench_pattern_parse(const char *text, BenchPattern *ret); /* 0, -EINVAL */

/* The area is made of regions of one length, the last perhaps shorter. */
typedef struct BenchLayout {
    uint64_t area_bytes, region_bytes;
} BenchLayout;
uint64_t bench_regions(const BenchLayout *l);
uint64_t bench_region_length(const BenchLayout *l, uint64_t region);
/* Slots of @size bytes, one behind the other from each region's start; none reaches beyond its
 * region. */
uint64_t bench_slots(const BenchLayout *l, uint64_t size);
/* Where a slot starts in the area. */
uint64_t bench_slot_offset(const BenchLayout *l, uint64_t size, uint64_t slot);

/* The slots of one thread, and which it takes next. */
typedef struct BenchPart {
    uint64_t first, count;
    uint64_t done;
    BenchPattern pattern;
    Random random;
} BenchPart;
/* @part of @parts equal ones; @seed of the random numbers. */
BenchPart bench_part(uint64_t slots, unsigned part, unsigned parts, BenchPattern pattern,
                     uint64_t seed);
uint64_t bench_part_next(BenchPart *p); /* p->count > 0 */

#endif
