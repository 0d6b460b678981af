/* SPDX-License-Identifier: MIT */
/* Retail-like transactions in the manner of Agrawal and Srikant ("Fast Algorithms for Mining
 * Association Rules", VLDB 1994, section 4.1, the generator known as Quest): customers buy items
 * together that belong together, and mostly not all of them.
 *
 * There are patterns (the maximal potentially frequent sets), whose sizes are Poisson distributed;
 * half of a pattern's items, on average and exponentially distributed, are from the one before it.
 * A pattern has a weight, exponentially distributed, and a corruption level, normally distributed
 * with mean 0.5 and variance 0.1. A transaction's size is Poisson distributed; it is filled with
 * patterns picked by weight, each without some of its items: one is dropped as often as a random
 * number is below the corruption level. A pattern that does not fit is put in nevertheless in half
 * of the cases, else left for the next transaction.
 *
 * Pure, and the same on every machine: integers only. */
#ifndef DODO_EXAMPLES_QUEST_H
#define DODO_EXAMPLES_QUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

enum { QUEST_MEAN_MAX = 1000, QUEST_PATTERNS_MAX = 1000000 };

typedef struct QuestSettings {
    uint32_t items;                     /* how many there are, numbered from 0: 1 .. 2^24 */
    uint32_t patterns;                  /* 1 .. QUEST_PATTERNS_MAX */
    uint32_t size_milli, pattern_milli; /* mean sizes, in thousandths: 1000 .. 1000 * _MEAN_MAX */
    uint64_t seed;
} QuestSettings;

/* Sizes that are 1 + Poisson distributed: running sums of their weights. */
typedef struct QuestSizes {
    uint64_t *sums;
    uint32_t count;
} QuestSizes;

typedef struct QuestPattern {
    uint32_t at, size;   /* its items in Quest.pattern_items */
    uint32_t corruption; /* of 2^32 */
} QuestPattern;

typedef struct Quest {
    QuestSettings settings;
    Random random;
    QuestSizes sizes;
    QuestPattern *patterns;
    uint32_t *pattern_items;
    uint64_t *weight_sums; /* of the patterns */
    uint32_t *items;       /* of the transaction */
    size_t count, cap;
    uint64_t *taken_by; /* each item: the last transaction that it is in */
    uint64_t number;    /* of the transaction, from 1 */
    uint32_t *part;     /* of a pattern, without what was dropped */
    size_t part_count;
    int part_waits; /* it did not fit the transaction before */
} Quest;

/* 0, -ENOMEM. To be freed in either case. */
int quest_init(Quest *q, const QuestSettings *settings);
void quest_free(Quest *q);
/* The next transaction: 1 .. quest_items_max() items, ascending, valid until the next call. */
size_t quest_next(Quest *q, const uint32_t **ret_items);
size_t quest_items_max(const Quest *q);

#endif
