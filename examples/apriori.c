/* SPDX-License-Identifier: MIT */
/* Apriori, scan by scan: see apriori.h. */
#include "examples/apriori.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t apriori_min_count(uint64_t support_ppb, uint64_t transactions)
{
    assert(support_ppb <= APRIORI_PPB_ONE && transactions <= UINT32_MAX);
    uint64_t count = (support_ppb * transactions + APRIORI_PPB_ONE - 1) / APRIORI_PPB_ONE;
    return count > 0 ? (uint32_t)count : 1;
}

void apriori_init(Apriori *a, uint64_t support_ppb)
{
    assert(support_ppb >= 1 && support_ppb <= APRIORI_PPB_ONE);
    *a = (Apriori){.support_ppb = support_ppb, .size = 1, .pairs_max = APRIORI_PAIRS_MAX};
}

void apriori_free(Apriori *a)
{
    free(a->item_counts);
    free(a->ranks);
    free(a->item_of);
    free(a->kept);
    free(a->pairs);
    free(a->present);
    free(a->roots);
    itemset_tree_free(&a->candidates);
    for (unsigned i = 0; i < ITEMSET_SIZE_MAX; i++)
        itemset_tree_free(&a->frequent[i]);
    *a = (Apriori){0};
}

/* ---- the first scan ------------------------------------------------------------------------ */

static int reserve_item(Apriori *a, uint32_t item)
{
    uint64_t end = a->items_end ? a->items_end : 1024;
    if (item < a->items_end)
        return 0;
    while (end <= item)
        end *= 2;
    assert(end <= UINT32_MAX);
    uint32_t *counts = realloc(a->item_counts, end * sizeof *counts);
    if (!counts)
        return -ENOMEM;
    memset(counts + a->items_end, 0, (end - a->items_end) * sizeof *counts);
    a->item_counts = counts;
    a->items_end = (uint32_t)end;
    return 0;
}

static int count_items(Apriori *a, const uint32_t *items, size_t count)
{
    int r = count > 0 ? reserve_item(a, items[count - 1]) : 0; /* the highest */
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        a->item_counts[items[i]]++;
    return 0;
}

typedef struct ItemCount {
    uint32_t item, count;
} ItemCount;

static int compare_item_counts(const void *x, const void *y)
{
    const ItemCount *a = x, *b = y;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* The frequent items, the least frequent first; *ret is to be freed. */
static int frequent_items(Apriori *a, ItemCount **ret)
{
    uint32_t n = 0;
    for (uint32_t item = 0; item < a->items_end; item++)
        a->ranks_count += a->item_counts[item] >= a->min_count;
    *ret = malloc(((size_t)a->ranks_count + 1) * sizeof **ret);
    if (!*ret)
        return -ENOMEM;
    for (uint32_t item = 0; item < a->items_end; item++)
        if (a->item_counts[item] >= a->min_count)
            (*ret)[n++] = (ItemCount){item, a->item_counts[item]};
    qsort(*ret, n, sizeof **ret, compare_item_counts);
    return 0;
}

static int rank_items(Apriori *a)
{
    ItemCount *found = NULL;
    size_t ranks = 0;
    a->min_count = apriori_min_count(a->support_ppb, a->transactions);
    int r = frequent_items(a, &found);
    ranks = a->ranks_count;
    a->item_of = malloc((ranks + 1) * sizeof *a->item_of);
    a->present = calloc(ranks + 1, sizeof *a->present);
    a->roots = malloc((ranks + 1) * sizeof *a->roots);
    if (r == 0 && (!a->item_of || !a->present || !a->roots))
        r = -ENOMEM;
    a->ranks = a->item_counts; /* the counts are in @found */
    a->item_counts = NULL;
    for (uint32_t item = 0; item < a->items_end; item++)
        a->ranks[item] = ITEMSET_NONE;
    itemset_tree_init(&a->frequent[0], 1);
    for (uint32_t rank = 0; rank < ranks && r == 0; rank++) {
        a->ranks[found[rank].item] = rank;
        a->item_of[rank] = found[rank].item;
        r = itemset_tree_append(&a->frequent[0], &rank, found[rank].count);
    }
    free(found);
    return r;
}

/* ---- what is left of a transaction ---------------------------------------------------------- */

static int reserve_kept(Apriori *a, size_t count)
{
    if (count <= a->kept_cap)
        return 0;
    uint32_t *kept = realloc(a->kept, 2 * count * sizeof *kept);
    if (!kept)
        return -ENOMEM;
    a->kept = kept;
    a->kept_cap = 2 * count;
    return 0;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

enum { INSERT_MAX = 64 }; /* items that are sorted by insertion: transactions are short */

static void sort_ranks(uint32_t *ranks, size_t count)
{
    if (count > INSERT_MAX) {
        qsort(ranks, count, sizeof *ranks, compare_ranks);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint32_t rank = ranks[i];
        size_t at = i;
        for (; at > 0 && ranks[at - 1] > rank; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
}

/* The transaction's items that may matter, as ranks in order, in a->kept; how many. */
static size_t keep(Apriori *a, const uint32_t *items, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = items[i] < a->items_end ? a->ranks[items[i]] : ITEMSET_NONE;
        a->kept[n] = rank;
        n += rank != ITEMSET_NONE;
    }
    if (n >= a->size)
        sort_ranks(a->kept, n);
    return n;
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* Where the pairs that begin with @rank are, less those of the rows before this scan's. */
static uint64_t row_at(const Apriori *a, uint32_t rank)
{
    uint64_t rows = rank - a->rows_from, longest = a->ranks_count - 1 - a->rows_from;
    return rows * longest - rows * (rows - 1) / 2;
}

/* Makes room for the counts of the next rows. */
static int begin_pairs(Apriori *a)
{
    uint64_t pairs = 0;
    a->rows_from = a->rows_end;
    while (a->rows_end < a->ranks_count) {
        uint64_t row = a->ranks_count - 1 - a->rows_end;
        if (pairs > 0 && pairs + row > a->pairs_max)
            break;
        pairs += row;
        a->rows_end++;
    }
    free(a->pairs);
    a->pairs = calloc(pairs + 1, sizeof *a->pairs);
    return a->pairs ? 0 : -ENOMEM;
}

static void count_pairs(Apriori *a, const uint32_t *ranks, size_t count)
{
    for (size_t i = 0; i + 1 < count && ranks[i] < a->rows_end; i++) {
        if (ranks[i] < a->rows_from)
            continue;
        const uint32_t *other = ranks + i + 1, *end = ranks + count;
        for (uint64_t row = row_at(a, ranks[i]) - ranks[i] - 1; other < end; other++)
            a->pairs[row + *other]++;
    }
}

static int keep_pairs(Apriori *a)
{
    ItemsetTree *frequent = &a->frequent[1];
    const uint32_t *count = a->pairs;
    if (a->rows_from == 0)
        itemset_tree_init(frequent, 2);
    for (uint32_t i = a->rows_from; i < a->rows_end; i++)
        for (uint32_t j = i + 1; j < a->ranks_count; j++, count++) {
            const uint32_t pair[2] = {i, j};
            int r = *count >= a->min_count ? itemset_tree_append(frequent, pair, *count) : 0;
            if (r < 0)
                return r;
        }
    return 0;
}

/* ---- larger sets --------------------------------------------------------------------------- */

/* Only items of candidates matter from here on. */
static void drop_items(Apriori *a)
{
    for (uint32_t item = 0; item < a->items_end; item++)
        a->ranks[item] = ITEMSET_NONE;
    for (unsigned level = 0; level < a->candidates.size; level++) {
        const TreeLevel *l = &a->candidates.levels[level];
        for (uint32_t i = 0; i < l->count; i++)
            a->ranks[a->item_of[l->items[i]]] = l->items[i];
    }
    for (uint32_t rank = 0; rank < a->ranks_count; rank++)
        a->roots[rank] = ITEMSET_NONE;
    for (uint32_t i = 0; i < a->candidates.levels[0].count; i++)
        a->roots[a->candidates.levels[0].items[i]] = i;
}

static int begin_sets(Apriori *a)
{
    itemset_tree_free(&a->candidates);
    int r = apriori_candidates(&a->frequent[a->size - 2], &a->candidates);
    if (r == 0)
        drop_items(a);
    return r;
}

static void count_sets(Apriori *a, const uint32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        a->present[ranks[i]] = 1;
    apriori_count_sets(&a->candidates, a->roots, a->present, ranks, count);
    for (size_t i = 0; i < count; i++)
        a->present[ranks[i]] = 0;
}

static int keep_sets(Apriori *a)
{
    ItemsetTree *frequent = &a->frequent[a->size - 1];
    itemset_tree_init(frequent, a->size);
    for (TreeWalk w = {0}; itemset_tree_walk(&a->candidates, &w);) {
        uint32_t count = a->candidates.counts[w.set];
        int r = count >= a->min_count ? itemset_tree_append(frequent, w.items, count) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- scans --------------------------------------------------------------------------------- */

int apriori_take(Apriori *a, const uint32_t *items, size_t count)
{
    a->seen++;
    if (a->size == 1)
        return count_items(a, items, count);
    int r = reserve_kept(a, count);
    if (r < 0)
        return r;
    size_t n = keep(a, items, count);
    if (n < a->size)
        return 0;
    if (a->size == 2)
        count_pairs(a, a->kept, n);
    else
        count_sets(a, a->kept, n);
    return 0;
}

/* What this scan counted becomes frequent sets. */
static int keep_counted(Apriori *a)
{
    if (a->size == 1)
        return rank_items(a);
    return a->size == 2 ? keep_pairs(a) : keep_sets(a);
}

/* Gets ready for the sets of the next size: 1, or 0 when there can be none. */
static int begin_next(Apriori *a)
{
    int r;
    a->size++;
    if (a->size == 2) {
        r = a->ranks_count >= 2 ? begin_pairs(a) : 0;
        return r < 0 ? r : a->ranks_count >= 2;
    }
    free(a->pairs);
    a->pairs = NULL;
    r = begin_sets(a);
    return r < 0 ? r : itemset_tree_sets(&a->candidates) > 0;
}

int apriori_scanned(Apriori *a)
{
    if (a->size == 1)
        a->transactions = a->seen;
    else if (a->seen != a->transactions)
        return -ESTALE;
    a->seen = 0;
    int r = keep_counted(a);
    if (r < 0)
        return r;
    if (a->size == 2 && a->rows_end < a->ranks_count) {
        r = begin_pairs(a);
        return r < 0 ? r : 1;
    }
    if (itemset_tree_sets(&a->frequent[a->size - 1]) == 0)
        return 0;
    a->sizes = a->size;
    return begin_next(a);
}

/* ---- what it found ------------------------------------------------------------------------- */

uint64_t apriori_sets(const Apriori *a)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < a->sizes; i++)
        n += itemset_tree_sets(&a->frequent[i]);
    return n;
}

uint64_t apriori_support_sum(const Apriori *a, unsigned size)
{
    const ItemsetTree *t = &a->frequent[size - 1];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < itemset_tree_sets(t); i++)
        sum += t->counts[i];
    return sum;
}

void apriori_items(const Apriori *a, const uint32_t *ranks, unsigned size, uint32_t *ret_items)
{
    for (unsigned i = 0; i < size; i++)
        ret_items[i] = a->item_of[ranks[i]];
    sort_ranks(ret_items, size);
}
