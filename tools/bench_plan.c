/* SPDX-License-Identifier: MIT */
#include "tools/bench_plan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/id.h"
#include "base/num.h"
#include "base/parse.h"

const char *const bench_pattern_names[BENCH_PATTERN_MAX] = {"sequential", "random"};

int bench_sizes_parse(const char *text, BenchSizes *ret)
{
    BenchSizes sizes = {.count = 0};
    for (const char *at = text;; at++) {
        char word[32];
        size_t n = strcspn(at, ",");
        if (n >= sizeof word || sizes.count == BENCH_SIZES_MAX)
            return -EINVAL;
        memcpy(word, at, n);
        word[n] = '\0';
        uint64_t *bytes = &sizes.bytes[sizes.count++];
        int res = parse_size(word, bytes);
        if (res < 0)
            return res;
        if (*bytes < 1 || *bytes > BENCH_CALL_MAX)
            return -ERANGE;
        at += n;
        if (!*at)
            break;
    }
    *ret = sizes;
    return 0;
}

int bench_pattern_parse(const char *text, BenchPattern *ret)
{
    for (unsigned i = 0; i < BENCH_PATTERN_MAX; i++)
        if (strcmp(text, bench_pattern_names[i]) == 0) {
            *ret = (BenchPattern)i;
            return 0;
        }
    return -EINVAL;
}

/* ---- places --------------------------------------------------------------------------------- */

uint64_t bench_regions(const BenchLayout *l)
{
    return l->area_bytes / l->region_bytes + (l->area_bytes % l->region_bytes > 0);
}

uint64_t bench_region_length(const BenchLayout *l, uint64_t region)
{
    return min_u64(l->area_bytes - region * l->region_bytes, l->region_bytes);
}

uint64_t bench_slots(const BenchLayout *l, uint64_t size)
{
    return l->area_bytes / l->region_bytes * (l->region_bytes / size) +
           l->area_bytes % l->region_bytes / size;
}

uint64_t bench_slot_offset(const BenchLayout *l, uint64_t size, uint64_t slot)
{
    uint64_t in_region = l->region_bytes / size;
    return slot / in_region * l->region_bytes + slot % in_region * size;
}

/* ---- the order ------------------------------------------------------------------------------ */

BenchPart bench_part(uint64_t slots, unsigned part, unsigned parts, BenchPattern pattern,
                     uint64_t seed)
{
    assert(part < parts && slots <= UINT64_MAX / parts);
    uint64_t first = slots * part / parts;
    return (BenchPart){.first = first,
                       .count = slots * (part + 1) / parts - first,
                       .pattern = pattern,
                       .random = {mix64(seed + part)}};
}

uint64_t bench_part_next(BenchPart *p)
{
    uint64_t n = p->done++;
    return p->first +
           (p->pattern == BENCH_RANDOM ? random_below(&p->random, p->count) : n % p->count);
}
