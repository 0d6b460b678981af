/* SPDX-License-Identifier: MIT */
/* Retail-like transactions: see quest.h. */
#include "examples/quest.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- distributions ------------------------------------------------------------------------- */

enum { PEAK_BITS = 40, UNIT_BITS = 32 };
#define UNIT ((uint64_t)1 << UNIT_BITS)

/* The first of the ascending @sums that is above @value. */
static uint32_t find_sum(const uint64_t *sums, uint32_t count, uint64_t value)
{
    uint32_t lo = 0, hi = count - 1;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (sums[mid] <= value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t pick_by_sum(Random *r, const uint64_t *sums, uint32_t count)
{
    return find_sum(sums, count, random_below(r, sums[count - 1]));
}

/* Weights of 0, 1, 2, .. by Poisson, from the peak down and up: each is its neighbour's times or by
 * mean / k. */
static int sizes_init(QuestSizes *s, uint32_t mean_milli)
{
    uint64_t less_one = mean_milli - 1000, peak = less_one / 1000, weight;
    s->count = (uint32_t)(2 * peak + 64);
    s->sums = calloc(s->count, sizeof *s->sums);
    if (!s->sums)
        return -ENOMEM;
    weight = (uint64_t)1 << PEAK_BITS;
    for (uint64_t k = peak; k < s->count; k++) {
        s->sums[k] = weight;
        weight = weight * less_one / ((k + 1) * 1000);
    }
    weight = (uint64_t)1 << PEAK_BITS;
    for (uint64_t k = peak; k > 0; k--) {
        weight = weight * (k * 1000) / less_one;
        s->sums[k - 1] = weight;
    }
    for (uint32_t k = 1; k < s->count; k++)
        s->sums[k] += s->sums[k - 1];
    return 0;
}

static uint32_t pick_size(Random *r, const QuestSizes *s)
{
    return 1 + pick_by_sum(r, s->sums, s->count);
}

static uint32_t uniform(Random *r)
{
    return (uint32_t)(random_next(r) >> 32);
}

/* Exponentially distributed with mean UNIT, by von Neumann's method, which only compares: in runs
 * of falling random numbers, the first number of the first run of odd length, and UNIT for each run
 * before it. */
static uint64_t exponential(Random *r)
{
    for (uint64_t whole = 0;; whole += UNIT) {
        uint32_t first = uniform(r), last = first, next;
        bool odd = true;
        for (; (next = uniform(r)) < last; last = next)
            odd = !odd;
        if (odd)
            return whole + first;
    }
}

/* Normally distributed, near enough (a sum of twelve), with mean 0.5 and variance 0.1 of UNIT; what
 * is outside [0, UNIT) becomes the end that it is beyond. */
static uint32_t corruption(Random *r)
{
    const int64_t deviation_ppm = 316228; /* the root of 0.1 */
    int64_t sum = -6 * (int64_t)UNIT;
    for (unsigned i = 0; i < 12; i++)
        sum += uniform(r);
    int64_t v = (int64_t)(UNIT / 2) + sum / 1000000 * deviation_ppm;
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* ---- patterns ------------------------------------------------------------------------------ */

static bool contains(const uint32_t *items, uint32_t count, uint32_t item)
{
    for (uint32_t i = 0; i < count; i++)
        if (items[i] == item)
            return true;
    return false;
}

/* How many of @size items are from a pattern of @before. */
static uint32_t pick_shared(Random *r, uint32_t size, uint32_t before)
{
    uint64_t share = exponential(r) / 2; /* the mean is half */
    uint64_t n = share >= UNIT ? size : (size * share + UNIT / 2) / UNIT;
    return n < before ? (uint32_t)n : before;
}

static void make_pattern(Quest *q, QuestPattern *p, const QuestPattern *before)
{
    Random *r = &q->random;
    uint32_t *items = q->pattern_items + p->at, n = 0;
    uint32_t shared = before ? pick_shared(r, p->size, before->size) : 0;
    while (n < shared) {
        uint32_t item = q->pattern_items[before->at + random_below(r, before->size)];
        if (!contains(items, n, item))
            items[n++] = item;
    }
    while (n < p->size) {
        uint32_t item = (uint32_t)random_below(r, q->settings.items);
        if (!contains(items, n, item))
            items[n++] = item;
    }
    p->corruption = corruption(r);
}

/* The sizes of all patterns, so that their items find room. */
static int size_patterns(Quest *q, size_t *ret_largest)
{
    QuestSizes sizes;
    uint32_t at = 0, largest = 0;
    int r = sizes_init(&sizes, q->settings.pattern_milli);
    for (uint32_t i = 0; r == 0 && i < q->settings.patterns; i++) {
        uint32_t size = pick_size(&q->random, &sizes);
        if (size > q->settings.items)
            size = q->settings.items;
        q->patterns[i] = (QuestPattern){.at = at, .size = size};
        largest = size > largest ? size : largest;
        at += size;
    }
    free(sizes.sums);
    if (r < 0)
        return r;
    *ret_largest = largest;
    q->pattern_items = malloc(at * sizeof *q->pattern_items);
    q->part = malloc(largest * sizeof *q->part);
    return q->pattern_items && q->part ? 0 : -ENOMEM;
}

static int make_patterns(Quest *q)
{
    uint64_t sum = 0;
    size_t largest = 0;
    q->patterns = calloc(q->settings.patterns, sizeof *q->patterns);
    q->weight_sums = calloc(q->settings.patterns, sizeof *q->weight_sums);
    int r = q->patterns && q->weight_sums ? size_patterns(q, &largest) : -ENOMEM;
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < q->settings.patterns; i++) {
        make_pattern(q, &q->patterns[i], i > 0 ? &q->patterns[i - 1] : NULL);
        sum += exponential(&q->random) + 1; /* never none */
        q->weight_sums[i] = sum;
    }
    q->cap = q->sizes.count + largest;
    q->items = malloc(q->cap * sizeof *q->items);
    return q->items ? 0 : -ENOMEM;
}

int quest_init(Quest *q, const QuestSettings *settings)
{
    assert(settings->items >= 1 && settings->patterns >= 1);
    assert(settings->size_milli >= 1000 && settings->pattern_milli >= 1000);
    *q = (Quest){.settings = *settings, .random = {settings->seed}};
    int r = sizes_init(&q->sizes, settings->size_milli);
    q->taken_by = calloc(settings->items, sizeof *q->taken_by);
    if (r == 0)
        r = q->taken_by ? make_patterns(q) : -ENOMEM;
    return r;
}

void quest_free(Quest *q)
{
    free(q->sizes.sums);
    free(q->patterns);
    free(q->pattern_items);
    free(q->weight_sums);
    free(q->items);
    free(q->taken_by);
    free(q->part);
    *q = (Quest){0};
}

/* ---- transactions -------------------------------------------------------------------------- */

/* A pattern by weight, without some of its items. */
static void pick_part(Quest *q)
{
    Random *r = &q->random;
    const QuestPattern *p = &q->patterns[pick_by_sum(r, q->weight_sums, q->settings.patterns)];
    memcpy(q->part, q->pattern_items + p->at, p->size * sizeof *q->part);
    q->part_count = p->size;
    while (q->part_count > 0 && uniform(r) < p->corruption) {
        uint32_t *dropped = &q->part[random_below(r, q->part_count)];
        *dropped = q->part[--q->part_count];
    }
}

static void add_item(Quest *q, uint32_t item)
{
    if (q->taken_by[item] == q->number)
        return;
    q->taken_by[item] = q->number;
    q->items[q->count++] = item;
}

static void add_part(Quest *q)
{
    for (size_t i = 0; i < q->part_count; i++)
        add_item(q, q->part[i]);
    q->part_waits = 0;
}

static int compare_items(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t quest_items_max(const Quest *q)
{
    return q->cap;
}

size_t quest_next(Quest *q, const uint32_t **ret_items)
{
    Random *r = &q->random;
    size_t size = pick_size(r, &q->sizes);
    q->count = 0;
    q->number++;
    /* Where the patterns have few items between them, a large transaction stays smaller. */
    for (size_t tries = 8 * size + 8; q->count < size && tries > 0; tries--) {
        if (!q->part_waits)
            pick_part(q);
        if (q->count > 0 && q->count + q->part_count > size && !q->part_waits &&
            (random_next(r) & 1)) {
            q->part_waits = 1;
            break;
        }
        add_part(q);
    }
    if (q->count == 0)
        add_item(q, (uint32_t)random_below(r, q->settings.items));
    qsort(q->items, q->count, sizeof *q->items, compare_items);
    *ret_items = q->items;
    return q->count;
}
