/* SPDX-License-Identifier: MIT */
/* Apriori's sets of three items and more: which may be frequent, and counting them. */
#include "examples/apriori.h"

#include <errno.h>
#include <string.h>

/* Are all subsets that lack one item frequent? Those that lack one of the last two are. */
static bool subsets_frequent(const ItemsetTree *from, const uint32_t *items)
{
    uint32_t subset[ITEMSET_SIZE_MAX];
    for (unsigned without = 0; without + 1 < from->size; without++) {
        memcpy(subset, items, without * sizeof *items);
        memcpy(subset + without, items + without + 1, (from->size - without) * sizeof *items);
        if (itemset_tree_find(from, subset) == ITEMSET_NONE)
            return false;
    }
    return true;
}

/* Joins the set of which @w tells with those that differ from it in the last item and follow. */
static int join(const ItemsetTree *from, const TreeWalk *w, ItemsetTree *ret)
{
    const TreeLevel *last = &from->levels[from->size - 1];
    uint32_t items[ITEMSET_SIZE_MAX];
    uint32_t end = from->size > 1 ? from->levels[from->size - 2].first[w->at[from->size - 2] + 1]
                                  : last->count;
    memcpy(items, w->items, from->size * sizeof *items);
    for (uint32_t other = w->set + 1; other < end; other++) {
        items[from->size] = last->items[other];
        if (!subsets_frequent(from, items))
            continue;
        if (itemset_tree_sets(ret) == APRIORI_CANDIDATES_MAX)
            return -E2BIG;
        int r = itemset_tree_append(ret, items, 0);
        if (r < 0)
            return r;
    }
    return 0;
}

int apriori_candidates(const ItemsetTree *from, ItemsetTree *ret)
{
    if (from->size == ITEMSET_SIZE_MAX)
        return -E2BIG;
    itemset_tree_init(ret, from->size + 1);
    for (TreeWalk w = {0}; itemset_tree_walk(from, &w);) {
        int r = join(from, &w, ret);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- counting ------------------------------------------------------------------------------ */

typedef struct Search {
    ItemsetTree *sets;
    const uint8_t *present;
    const uint32_t *end; /* of the transaction */
} Search;

/* The children [lo, hi) of a node, at the last level. */
static void count_last(const Search *s, uint32_t lo, uint32_t hi)
{
    const uint32_t *items = s->sets->levels[s->sets->size - 1].items;
    uint32_t *counts = s->sets->counts;
    for (; lo < hi; lo++)
        counts[lo] += s->present[items[lo]];
}

/* The same for a node with many more children than the transaction has items left. */
static void count_last_sparse(const Search *s, uint32_t lo, uint32_t hi, const uint32_t *rank)
{
    const uint32_t *items = s->sets->levels[s->sets->size - 1].items;
    for (; rank < s->end && lo < hi; rank++) {
        uint32_t end = hi;
        while (lo < end) {
            uint32_t mid = lo + (end - lo) / 2;
            if (items[mid] < *rank)
                lo = mid + 1;
            else
                end = mid;
        }
        if (lo < hi && items[lo] == *rank)
            s->sets->counts[lo++]++;
    }
}

enum { SPARSE = 16 }; /* as many children an item left, and a search for each item is cheaper */

/* The children [lo, hi) of a node; the transaction's items from @rank on may be among them. */
static void count_below(const Search *s, unsigned level, uint32_t lo, uint32_t hi,
                        const uint32_t *rank)
{
    const TreeLevel *l = &s->sets->levels[level];
    size_t left = (size_t)(s->end - rank), needed = s->sets->size - level;
    if (left < needed)
        return;
    if (needed == 1) {
        if (hi - lo > SPARSE * left)
            count_last_sparse(s, lo, hi, rank);
        else
            count_last(s, lo, hi);
        return;
    }
    for (; lo < hi; lo++) {
        if (!s->present[l->items[lo]])
            continue;
        while (*rank < l->items[lo])
            rank++;
        count_below(s, level + 1, l->first[lo], l->first[lo + 1], rank + 1);
    }
}

void apriori_count_sets(ItemsetTree *sets, const uint32_t *roots, const uint8_t *present,
                        const uint32_t *ranks, size_t count)
{
    Search s = {sets, present, ranks + count};
    const uint32_t *first = sets->levels[0].first;
    for (size_t i = 0; i + sets->size <= count; i++) {
        uint32_t node = roots[ranks[i]];
        if (node != ITEMSET_NONE)
            count_below(&s, 1, first[node], first[node + 1], ranks + i + 1);
    }
}
