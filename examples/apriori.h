/* SPDX-License-Identifier: MIT */
/* Frequent itemsets by Apriori (Agrawal, Srikant: "Fast Algorithms for Mining Association Rules",
 * VLDB 1994). Pure: the caller has the transactions and passes all of them, scan after scan, until
 * no more are wanted. Each scan counts the candidates of one size:
 *   1  single items, in an array by item number. The frequent ones get ranks, the least frequent
 *      first, which stand for the items from then on: sets then begin with rare items, and a search
 *      for them ends soon;
 *   2  pairs of frequent items, in a triangular array; in several scans when it would be too large;
 *   3.. sets all of whose subsets are frequent, in a prefix tree.
 * Items that are part of no candidate are dropped from each transaction first. */
#ifndef DODO_EXAMPLES_APRIORI_H
#define DODO_EXAMPLES_APRIORI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/itemset_tree.h"

enum {
    APRIORI_PAIRS_MAX = 1 << 26,      /* counted in one scan, if a row of them is not more */
    APRIORI_CANDIDATES_MAX = 1 << 27, /* sets of three items and more */
};
#define APRIORI_PPB_ONE 1000000000ull

typedef struct Apriori {
    uint64_t support_ppb; /* parts per 10^9 of the transactions */
    uint32_t min_count;   /* frequent from here on: known after the first scan */
    uint64_t transactions;
    unsigned size; /* of the sets that this scan counts */
    uint64_t pairs_max;

    uint32_t *item_counts; /* by item number, in the first scan */
    uint32_t *ranks;       /* by item number, later; ITEMSET_NONE: not part of any candidate */
    uint32_t items_end;    /* of both */
    uint32_t *item_of;     /* by rank */
    uint32_t ranks_count;

    uint64_t seen;  /* transactions of this scan */
    uint32_t *kept; /* what is left of a transaction, as ranks */
    size_t kept_cap;
    uint32_t *pairs;              /* row after row, each with the pairs that begin with one rank */
    uint32_t rows_from, rows_end; /* the ranks whose rows this scan counts */
    uint8_t *present;             /* by rank: in this transaction? */
    uint32_t *roots;              /* by rank: its node in the candidates' first level */
    ItemsetTree candidates;

    ItemsetTree frequent[ITEMSET_SIZE_MAX]; /* of size 1, 2, ..; as ranks */
    unsigned sizes;                         /* how many there are, none empty */
} Apriori;

/* The count from which on a set is frequent: ceil(share of @transactions), at least 1. */
uint32_t apriori_min_count(uint64_t support_ppb, uint64_t transactions);

/* @support_ppb: 1 .. APRIORI_PPB_ONE. */
void apriori_init(Apriori *a, uint64_t support_ppb);
void apriori_free(Apriori *a);
/* One transaction of the scan, its items ascending. 0; -ENOMEM. */
int apriori_take(Apriori *a, const uint32_t *items, size_t count);
/* The scan is over: 1: another one is wanted; 0: all is found; -ESTALE: it had not as many
 * transactions as the first; -E2BIG: too many candidates; -ENOMEM. */
int apriori_scanned(Apriori *a);

/* ---- what it found ------------------------------------------------------------------------- */

uint64_t apriori_sets(const Apriori *a); /* frequent sets of all sizes */
/* The sum of their counts. */
uint64_t apriori_support_sum(const Apriori *a, unsigned size);
/* The item numbers of a set given as ranks, ascending. */
void apriori_items(const Apriori *a, const uint32_t *ranks, unsigned size, uint32_t *ret_items);

/* ---- its parts ----------------------------------------------------------------------------- */

/* The candidates of one size more than the frequent sets @from; 0, -E2BIG, -ENOMEM. */
int apriori_candidates(const ItemsetTree *from, ItemsetTree *ret);
/* Adds 1 to the count of each set that is part of the transaction @ranks; @present says of each
 * rank whether it is among them. */
void apriori_count_sets(ItemsetTree *sets, const uint32_t *roots, const uint8_t *present,
                        const uint32_t *ranks, size_t count);

#endif
