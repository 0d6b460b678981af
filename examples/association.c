/* SPDX-License-Identifier: MIT */
/* Association rules: see association.h. Of a set, a rule's confidence can only fall when an item
 * goes from its left to its right, so what fails is not tried with more items on the right
 * (Agrawal, Srikant, VLDB 1994, section 3). */
#include "examples/association.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The set whose rules are sought. */
typedef struct Parting {
    const Apriori *apriori;
    AssociationRules *rules;
    uint64_t confidence_ppb;
    uint32_t ranks[ITEMSET_SIZE_MAX];
    uint32_t set, size, count;
} Parting;

static uint32_t antecedent_count(const Parting *p, uint32_t consequent)
{
    uint32_t left[ITEMSET_SIZE_MAX], n = 0;
    for (uint32_t i = 0; i < p->size; i++)
        if (!(consequent >> i & 1))
            left[n++] = p->ranks[i];
    const ItemsetTree *sets = &p->apriori->frequent[n - 1];
    return sets->counts[itemset_tree_find(sets, left)]; /* a subset of a frequent set is frequent */
}

static int add_rule(AssociationRules *r, const AssociationRule *rule)
{
    if (r->count == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        AssociationRule *more = realloc(r->rules, cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        r->rules = more;
        r->cap = cap;
    }
    r->rules[r->count++] = *rule;
    return 0;
}

/* Tries the right side @consequent with one more item, from the @from-th on, and so on. */
static int part(const Parting *p, uint32_t consequent, uint32_t right, uint32_t from)
{
    for (uint32_t i = from; i < p->size && right + 1 < p->size; i++) {
        AssociationRule rule = {.set = p->set,
                                .size = p->size,
                                .consequent = consequent | (uint32_t)1 << i,
                                .count = p->count};
        rule.antecedent_count = antecedent_count(p, rule.consequent);
        if ((uint64_t)rule.count * APRIORI_PPB_ONE < p->confidence_ppb * rule.antecedent_count)
            continue;
        int r = add_rule(p->rules, &rule);
        if (r == 0)
            r = part(p, rule.consequent, right + 1, i + 1);
        if (r < 0)
            return r;
    }
    return 0;
}

static int compare_arrays(const uint32_t *a, unsigned a_count, const uint32_t *b, unsigned b_count)
{
    for (unsigned i = 0; i < a_count && i < b_count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return (a_count > b_count) - (a_count < b_count);
}

static int compare_rules(const void *x, const void *y, void *apriori)
{
    const AssociationRule *a = x, *b = y;
    uint32_t left[2][ITEMSET_SIZE_MAX], right[2][ITEMSET_SIZE_MAX];
    uint64_t surer_a = (uint64_t)a->count * b->antecedent_count;
    uint64_t surer_b = (uint64_t)b->count * a->antecedent_count;
    if (surer_a != surer_b)
        return surer_a > surer_b ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    unsigned na = association_sides(apriori, a, left[0], right[0]);
    unsigned nb = association_sides(apriori, b, left[1], right[1]);
    int order = compare_arrays(left[0], na, left[1], nb);
    return order ? order : compare_arrays(right[0], a->size - na, right[1], b->size - nb);
}

int association_rules(const Apriori *a, uint64_t confidence_ppb, AssociationRules *ret)
{
    *ret = (AssociationRules){0};
    for (unsigned size = 2; size <= a->sizes; size++) {
        const ItemsetTree *sets = &a->frequent[size - 1];
        for (TreeWalk w = {0}; itemset_tree_walk(sets, &w);) {
            Parting p = {a, ret, confidence_ppb, {0}, w.set, size, sets->counts[w.set]};
            memcpy(p.ranks, w.items, size * sizeof *p.ranks);
            int r = part(&p, 0, 0, 0);
            if (r < 0)
                return r;
        }
    }
    if (ret->count > 1)
        qsort_r(ret->rules, ret->count, sizeof *ret->rules, compare_rules, (void *)a);
    return 0;
}

void association_rules_free(AssociationRules *r)
{
    free(r->rules);
    *r = (AssociationRules){0};
}

unsigned association_sides(const Apriori *a, const AssociationRule *rule,
                           uint32_t left[ITEMSET_SIZE_MAX], uint32_t right[ITEMSET_SIZE_MAX])
{
    uint32_t ranks[ITEMSET_SIZE_MAX];
    unsigned n_left = 0, n_right = 0;
    itemset_tree_items(&a->frequent[rule->size - 1], rule->set, ranks);
    for (unsigned i = 0; i < rule->size; i++) {
        if (rule->consequent >> i & 1)
            right[n_right++] = ranks[i];
        else
            left[n_left++] = ranks[i];
    }
    apriori_items(a, left, n_left, left);
    apriori_items(a, right, n_right, right);
    return n_left;
}
