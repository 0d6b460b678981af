/* SPDX-License-Identifier: MIT */
/* Association rules from frequent itemsets: "who buys these items buys those, too". Pure. */
#ifndef DODO_EXAMPLES_ASSOCIATION_H
#define DODO_EXAMPLES_ASSOCIATION_H

#include "examples/apriori.h"

/* A frequent set, parted in two. Its confidence is count / antecedent_count. */
typedef struct AssociationRule {
    uint32_t set;        /* number of the set among those of its size */
    uint32_t size;       /* of the set */
    uint32_t consequent; /* bit i: the set's i-th item, in order of ranks, is on the right */
    uint32_t count;      /* of the set */
    uint32_t antecedent_count;
} AssociationRule;

typedef struct AssociationRules {
    AssociationRule *rules;
    size_t count, cap;
} AssociationRules;

/* All rules with at least this confidence, the surest first, then the most frequent, then in order
 * of item numbers. 0; -ENOMEM. To be freed in either case. */
int association_rules(const Apriori *a, uint64_t confidence_ppb, AssociationRules *ret);
void association_rules_free(AssociationRules *r);
/* The item numbers of its two sides, ascending; how many are on the left. */
unsigned association_sides(const Apriori *a, const AssociationRule *rule,
                           uint32_t left[ITEMSET_SIZE_MAX], uint32_t right[ITEMSET_SIZE_MAX]);

#endif
