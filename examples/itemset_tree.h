/* SPDX-License-Identifier: MIT */
/* Itemsets of one size in a prefix tree: sets with the same first items share their nodes. A level
 * of the tree is an array, with the children of a node next to each other, so that a search goes
 * through memory in order. Items are numbers that ascend within a set, sets are in lexicographic
 * order. Pure. */
#ifndef DODO_EXAMPLES_ITEMSET_TREE_H
#define DODO_EXAMPLES_ITEMSET_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ITEMSET_SIZE_MAX = 32 }; /* a frequent set of so many has 2^32 - 1 frequent subsets */
#define ITEMSET_NONE UINT32_MAX

typedef struct TreeLevel {
    uint32_t *items;
    uint32_t *first; /* first child of each node in the next level, and one more: where they end */
    uint32_t count, cap;
} TreeLevel;

typedef struct ItemsetTree {
    unsigned size; /* items of each set */
    TreeLevel levels[ITEMSET_SIZE_MAX];
    uint32_t *counts; /* of each set: of each node of the last level */
    uint32_t counts_cap;
} ItemsetTree;

void itemset_tree_init(ItemsetTree *t, unsigned size);
void itemset_tree_free(ItemsetTree *t);
/* How many sets. */
uint32_t itemset_tree_sets(const ItemsetTree *t);
/* Adds a set that comes after all others. 0, -ENOMEM, or -E2BIG when it would have 2^32 nodes. */
int itemset_tree_append(ItemsetTree *t, const uint32_t *items, uint32_t count);
/* The set's number, or ITEMSET_NONE. */
uint32_t itemset_tree_find(const ItemsetTree *t, const uint32_t *items);

/* Goes through all sets in order: for (TreeWalk w = {0}; itemset_tree_walk(t, &w);) */
typedef struct TreeWalk {
    uint32_t set; /* its number */
    uint32_t items[ITEMSET_SIZE_MAX];
    uint32_t at[ITEMSET_SIZE_MAX];
    bool begun;
} TreeWalk;
bool itemset_tree_walk(const ItemsetTree *t, TreeWalk *w);
/* One set's items. */
void itemset_tree_items(const ItemsetTree *t, uint32_t set, uint32_t *ret_items);

#endif
