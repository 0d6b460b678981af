/* SPDX-License-Identifier: MIT */
/* Itemsets in a prefix tree: see itemset_tree.h. */
#include "examples/itemset_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void itemset_tree_init(ItemsetTree *t, unsigned size)
{
    assert(size >= 1 && size <= ITEMSET_SIZE_MAX);
    *t = (ItemsetTree){.size = size};
}

void itemset_tree_free(ItemsetTree *t)
{
    for (unsigned i = 0; i < t->size; i++) {
        free(t->levels[i].items);
        free(t->levels[i].first);
    }
    free(t->counts);
    *t = (ItemsetTree){0};
}

uint32_t itemset_tree_sets(const ItemsetTree *t)
{
    return t->size > 0 ? t->levels[t->size - 1].count : 0;
}

static int grow(uint32_t **array, uint64_t count)
{
    uint32_t *more = realloc(*array, count * sizeof **array);
    if (!more)
        return -ENOMEM;
    *array = more;
    return 0;
}

/* Room for one more node at the level, and for where its children end. */
static int level_reserve(ItemsetTree *t, unsigned level)
{
    TreeLevel *l = &t->levels[level];
    bool last = level + 1 == t->size;
    if (l->count < l->cap)
        return 0;
    if (l->cap >= UINT32_MAX / 2)
        return -E2BIG;
    uint32_t cap = l->cap ? 2 * l->cap : 64;
    int r = grow(&l->items, cap);
    if (r == 0)
        r = last ? grow(&t->counts, cap) : grow(&l->first, (uint64_t)cap + 1);
    if (r == 0)
        l->cap = cap;
    return r;
}

/* How many of the first items the last set begins with, too. */
static unsigned shared_items(const ItemsetTree *t, const uint32_t *items)
{
    unsigned n = 0;
    if (itemset_tree_sets(t) == 0)
        return 0;
    while (n + 1 < t->size && t->levels[n].items[t->levels[n].count - 1] == items[n])
        n++;
    return n;
}

int itemset_tree_append(ItemsetTree *t, const uint32_t *items, uint32_t count)
{
    unsigned from = shared_items(t, items);
    for (unsigned level = from; level < t->size; level++) {
        int r = level_reserve(t, level);
        if (r < 0)
            return r;
    }
    for (unsigned level = from; level < t->size; level++) {
        TreeLevel *l = &t->levels[level];
        l->items[l->count++] = items[level];
        if (level + 1 < t->size)
            l->first[l->count - 1] = t->levels[level + 1].count;
    }
    for (unsigned level = 0; level + 1 < t->size; level++)
        t->levels[level].first[t->levels[level].count] = t->levels[level + 1].count;
    t->counts[itemset_tree_sets(t) - 1] = count;
    return 0;
}

uint32_t itemset_tree_find(const ItemsetTree *t, const uint32_t *items)
{
    uint32_t lo = 0, hi = t->size > 0 ? t->levels[0].count : 0;
    for (unsigned level = 0; level < t->size; level++) {
        const TreeLevel *l = &t->levels[level];
        uint32_t end = hi;
        while (lo < hi) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (l->items[mid] < items[level])
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == end || l->items[lo] != items[level])
            return ITEMSET_NONE;
        if (level + 1 == t->size)
            return lo;
        hi = l->first[lo + 1];
        lo = l->first[lo];
    }
    return ITEMSET_NONE;
}

bool itemset_tree_walk(const ItemsetTree *t, TreeWalk *w)
{
    if (w->begun)
        w->set++;
    w->begun = true;
    if (w->set >= itemset_tree_sets(t))
        return false;
    w->at[t->size - 1] = w->set;
    for (unsigned level = t->size - 1; level > 0; level--)
        while (t->levels[level - 1].first[w->at[level - 1] + 1] <= w->at[level])
            w->at[level - 1]++;
    for (unsigned level = 0; level < t->size; level++)
        w->items[level] = t->levels[level].items[w->at[level]];
    return true;
}

void itemset_tree_items(const ItemsetTree *t, uint32_t set, uint32_t *ret_items)
{
    for (unsigned level = t->size; level-- > 0;) {
        ret_items[level] = t->levels[level].items[set];
        if (level == 0)
            break;
        const TreeLevel *above = &t->levels[level - 1];
        uint32_t lo = 0, hi = above->count; /* the last node whose children begin at or before */
        while (hi - lo > 1) {
            uint32_t mid = lo + (hi - lo) / 2;
            if (above->first[mid] <= set)
                lo = mid;
            else
                hi = mid;
        }
        set = lo;
    }
}
