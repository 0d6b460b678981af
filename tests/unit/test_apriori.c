/* SPDX-License-Identifier: MIT */
/* Apriori and its rules against trying everything, on small random data. */

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "examples/apriori.h"
#include "examples/association.h"
#include "examples/decimal.h"
#include "tests/lib/case.h"

enum { ITEMS = 10, TRANSACTIONS_CAP = 400, SETS = 1 << ITEMS };

/* Transactions of up to ITEMS items, as bits; and how the items are numbered. */
typedef struct Data {
    uint32_t sets[TRANSACTIONS_CAP];
    uint32_t count;
    uint32_t item_of[ITEMS]; /* ascending */
} Data;

static Data make_data(Random *r, uint32_t count)
{
    Data d = {.count = count};
    uint32_t item = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        item += 1 + (uint32_t)random_below(r, i == 4 ? 100000 : 3);
        d.item_of[i] = item;
    }
    for (uint32_t t = 0; t < count; t++) /* some items are in most transactions, some in few */
        for (unsigned i = 0; i < ITEMS; i++)
            d.sets[t] |= (uint32_t)(random_below(r, ITEMS + 1) > i) << i;
    return d;
}

static int scan_once(Apriori *a, const Data *d)
{
    for (uint32_t t = 0; t < d->count; t++) {
        uint32_t items[ITEMS];
        size_t n = 0;
        for (unsigned i = 0; i < ITEMS; i++)
            if (d->sets[t] >> i & 1)
                items[n++] = d->item_of[i];
        assert_int_equal(apriori_take(a, items, n), 0);
    }
    return apriori_scanned(a);
}

static unsigned scan_all(Apriori *a, const Data *d)
{
    unsigned scans = 1;
    int r;
    for (; (r = scan_once(a, d)) > 0; scans++)
        assert_true(scans < 1000);
    assert_int_equal(r, 0);
    return scans;
}

static uint32_t count_of(const Data *d, uint32_t set)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < d->count; t++)
        n += (d->sets[t] & set) == set;
    return n;
}

/* A set given by item numbers, as bits. */
static uint32_t bits_of(const Data *d, const uint32_t *items, unsigned size)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < size; i++) {
        assert_true(i == 0 || items[i] > items[i - 1]);
        for (unsigned k = 0; k < ITEMS; k++)
            bits |= (uint32_t)(d->item_of[k] == items[i]) << k;
    }
    assert_int_equal(__builtin_popcount(bits), size);
    return bits;
}

/* Every frequent set was found, once, with its count, and nothing else. */
static void check_sets(const Apriori *a, const Data *d)
{
    static uint32_t found[SETS];
    uint64_t frequent = 0, sums[ITEMS + 1] = {0};
    memset(found, 0, sizeof found);
    for (unsigned size = 1; size <= a->sizes; size++)
        for (TreeWalk w = {0}; itemset_tree_walk(&a->frequent[size - 1], &w);) {
            uint32_t items[ITEMSET_SIZE_MAX];
            apriori_items(a, w.items, size, items);
            uint32_t bits = bits_of(d, items, size);
            assert_int_equal(found[bits], 0);
            found[bits] = a->frequent[size - 1].counts[w.set];
        }
    for (uint32_t set = 1; set < SETS; set++) {
        uint32_t count = count_of(d, set);
        assert_int_equal(found[set], count >= a->min_count ? count : 0);
        frequent += count >= a->min_count;
        sums[__builtin_popcount(set)] += found[set];
    }
    assert_int_equal(apriori_sets(a), frequent);
    for (unsigned size = 1; size <= a->sizes; size++)
        assert_int_equal(apriori_support_sum(a, size), sums[size]);
}

TEST(sets__are_those_of_brute_force)
{
    static const uint64_t supports[] = {1, 10000000, 50000000, 200000000, 500000000, 1000000000};
    Random random = {1};
    unsigned scans_most = 0;
    for (unsigned round = 0; round < 60; round++) {
        Data d = make_data(&random, (uint32_t)random_below(&random, TRANSACTIONS_CAP));
        Apriori a;
        apriori_init(&a, supports[round % 6]);
        if (round % 3 == 1)
            a.pairs_max = 1 + random_below(&random, 20);
        unsigned scans = scan_all(&a, &d);
        scans_most = scans > scans_most ? scans : scans_most;
        check_sets(&a, &d);
        apriori_free(&a);
    }
    assert_true(scans_most > ITEMS); /* the pairs took more than one */
}

/* How many rules there are that part a frequent set in two with at least the confidence. */
static size_t count_rules(const Data *d, uint32_t min_count, uint64_t confidence_ppb)
{
    size_t n = 0;
    for (uint32_t set = 1; set < SETS; set++) {
        uint64_t count = count_of(d, set);
        if (count < min_count)
            continue;
        for (uint32_t left = (set - 1) & set; left > 0; left = (left - 1) & set)
            n += count * APRIORI_PPB_ONE >= confidence_ppb * count_of(d, left);
    }
    return n;
}

TEST(rules__are_those_of_brute_force)
{
    Random random = {2};
    for (unsigned round = 0; round < 10; round++) {
        Data d = make_data(&random, 1 + (uint32_t)random_below(&random, 60));
        uint64_t confidence_ppb = 1 + random_below(&random, APRIORI_PPB_ONE);
        double before = 2;
        Apriori a;
        AssociationRules rules;
        apriori_init(&a, 150000000);
        (void)scan_all(&a, &d);
        assert_int_equal(association_rules(&a, confidence_ppb, &rules), 0);
        for (size_t i = 0; i < rules.count; i++) {
            const AssociationRule *rule = &rules.rules[i];
            uint32_t left[ITEMSET_SIZE_MAX], right[ITEMSET_SIZE_MAX];
            unsigned n = association_sides(&a, rule, left, right);
            uint32_t l = bits_of(&d, left, n), r = bits_of(&d, right, rule->size - n);
            assert_true(n > 0 && n < rule->size && (l & r) == 0);
            assert_int_equal(rule->count, count_of(&d, l | r));
            assert_int_equal(rule->antecedent_count, count_of(&d, l));
            double confidence = (double)rule->count / rule->antecedent_count;
            assert_true(confidence <= before);
            before = confidence;
        }
        assert_int_equal(rules.count, count_rules(&d, a.min_count, confidence_ppb));
        association_rules_free(&rules);
        apriori_free(&a);
    }
}

TEST(min_count__is_exact)
{
    assert_int_equal(apriori_min_count(70000000, 100), 7); /* 0.07 * 100 is above 7 in binary */
    assert_int_equal(apriori_min_count(70000001, 100), 8);
    assert_int_equal(apriori_min_count(5000000, 88162), 441);
    assert_int_equal(apriori_min_count(1000000000, UINT32_MAX), UINT32_MAX);
    assert_int_equal(apriori_min_count(1, 5), 1);
    assert_int_equal(apriori_min_count(1000000000, 0), 1);
}

TEST(decimal__is_exact_and_strict)
{
    static const char *const bad[] = {"",   ".",    ".5",  "5.",   "1e-3",         "-1",
                                      "+1", " 0.5", "0,5", "0.5 ", "0.0000000001", "0..1"};
    uint64_t v = 7;
    assert_int_equal(decimal_parse("0.005", 9, APRIORI_PPB_ONE, &v), 0);
    assert_int_equal(v, 5000000);
    assert_int_equal(decimal_parse("1", 9, APRIORI_PPB_ONE, &v), 0);
    assert_int_equal(v, APRIORI_PPB_ONE);
    assert_int_equal(decimal_parse("0.123456789", 9, APRIORI_PPB_ONE, &v), 0);
    assert_int_equal(v, 123456789);
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(decimal_parse(bad[i], 9, APRIORI_PPB_ONE, &v), -EINVAL);
    assert_int_equal(decimal_parse("1.000000001", 9, APRIORI_PPB_ONE, &v), -ERANGE);
    assert_int_equal(decimal_parse("99999999999999999999", 9, UINT64_MAX, &v), -ERANGE);
    assert_int_equal(decimal_parse("99999999999999", 9, UINT64_MAX, &v), -ERANGE);
    assert_int_equal(v, 123456789);
}

TEST(scanned__notices_another_file)
{
    Random random = {3};
    Data d = make_data(&random, 50);
    Apriori a;
    apriori_init(&a, 100000000);
    assert_int_equal(scan_once(&a, &d), 1);
    d.count--;
    assert_int_equal(scan_once(&a, &d), -ESTALE);
    apriori_free(&a);
}

/* A transaction with items that the first scan did not have: not counted, and no harm. */
TEST(take__survives_new_items)
{
    static const uint32_t pair[] = {1, 2}, other[] = {1, 2, 16777215};
    Apriori a;
    apriori_init(&a, APRIORI_PPB_ONE);
    assert_int_equal(apriori_take(&a, pair, 2), 0);
    assert_int_equal(apriori_scanned(&a), 1);
    assert_int_equal(apriori_take(&a, other, 3), 0);
    assert_int_equal(apriori_scanned(&a), 0);
    assert_int_equal(apriori_sets(&a), 3);
    apriori_free(&a);
}

TEST(scanned__nothing_is_nothing)
{
    Apriori a;
    apriori_init(&a, 1);
    assert_int_equal(apriori_scanned(&a), 0);
    assert_int_equal(apriori_sets(&a), 0);
    assert_int_equal(a.sizes, 0);
    apriori_free(&a);
    apriori_init(&a, 1);
    assert_int_equal(apriori_take(&a, NULL, 0), 0);
    assert_int_equal(apriori_scanned(&a), 0);
    assert_int_equal(apriori_sets(&a), 0);
    apriori_free(&a);
}

/* Nodes with many more children than a transaction has items left. */
TEST(counts__hold_for_many_items)
{
    enum { WIDE = 40 };
    uint32_t items[WIDE];
    Apriori a;
    for (uint32_t i = 0; i < WIDE; i++)
        items[i] = i;
    apriori_init(&a, 17000000); /* 2 of 115 */
    for (unsigned scan = 1; scan <= 3; scan++) {
        for (unsigned t = 0; t < 2; t++) {
            assert_int_equal(apriori_take(&a, items, WIDE), 0);
            assert_int_equal(apriori_take(&a, items, 3), 0);
        }
        for (unsigned i = 0; i < 3 * (WIDE - 3); i++) /* makes the others more frequent */
            assert_int_equal(apriori_take(&a, items + 3 + i / 3, 1), 0);
        assert_int_equal(apriori_scanned(&a), 1);
    }
    assert_int_equal(a.min_count, 2);
    assert_int_equal(itemset_tree_sets(&a.frequent[2]), WIDE * (WIDE - 1) * (WIDE - 2) / 6);
    assert_int_equal(a.frequent[2].counts[0], 4);
    assert_int_equal(apriori_support_sum(&a, 3), WIDE * (WIDE - 1) * (WIDE - 2) / 6 * 2 + 2);
    apriori_free(&a);
}
