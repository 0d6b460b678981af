/* SPDX-License-Identifier: MIT */
/* Generated transactions: the same everywhere, of the sizes asked for, and with the frequent
 * itemsets that another miner found in them. */
#include <stdlib.h>
#include <string.h>

#include "examples/apriori.h"
#include "examples/association.h"
#include "examples/quest.h"
#include "examples/transactions.h"
#include "tests/lib/case.h"

/* A generated file in memory. */
typedef struct File {
    uint8_t *bytes;
    size_t len;
} File;

static File make_file(const QuestSettings *settings, enum TransactionFormat format, uint64_t count)
{
    Quest q;
    File f = {.len = 0};
    assert_int_equal(quest_init(&q, settings), 0);
    f.bytes = malloc(count * (quest_items_max(&q) * TRANSACTION_BYTES_MAX_PER_ITEM +
                              TRANSACTION_BYTES_MAX_BESIDE) +
                     TRANSACTIONS_HEADER_BYTES);
    assert_non_null(f.bytes);
    if (format == TRANSACTIONS_BINARY) {
        transactions_header(count, f.bytes);
        f.len = TRANSACTIONS_HEADER_BYTES;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t *items;
        size_t n = quest_next(&q, &items);
        f.len += transaction_write(format, items, n, f.bytes + f.len);
    }
    quest_free(&q);
    return f;
}

static int scan_file(Apriori *a, const File *f)
{
    TransactionReader r = {0};
    const uint32_t *items;
    size_t count;
    int n;
    transactions_feed(&r, f->bytes, f->len);
    transactions_finish(&r);
    while ((n = transactions_next(&r, &items, &count)) > 0)
        assert_int_equal(apriori_take(a, items, count), 0);
    assert_int_equal(n, 0);
    transactions_free(&r);
    return apriori_scanned(a);
}

/* What tests/lib/itemsets.py finds in the file. */
typedef struct Expected {
    uint32_t min_count;
    unsigned sizes;
    uint32_t by_size[9];
    uint64_t support_sums[9];
    size_t rules; /* with a confidence of at least 0.8 */
} Expected;

static void check(const File *f, uint64_t support_ppb, const Expected *e)
{
    Apriori a;
    AssociationRules rules;
    int r;
    apriori_init(&a, support_ppb);
    while ((r = scan_file(&a, f)) > 0)
        ;
    assert_int_equal(r, 0);
    assert_int_equal(a.min_count, e->min_count);
    assert_int_equal(a.sizes, e->sizes);
    for (unsigned i = 0; i < e->sizes; i++) {
        assert_int_equal(itemset_tree_sets(&a.frequent[i]), e->by_size[i]);
        assert_int_equal(apriori_support_sum(&a, i + 1), e->support_sums[i]);
    }
    assert_int_equal(association_rules(&a, 800000000, &rules), 0);
    assert_int_equal(rules.count, e->rules);
    association_rules_free(&rules);
    apriori_free(&a);
}

TEST(itemsets__are_those_another_miner_finds)
{
    static const QuestSettings dense = {200, 50, 10000, 4000, 7},
                               usual = {10000, 2000, 20000, 3000, 42};
    static const Expected in_dense = {
        30,
        9,
        {86, 1298, 3707, 4369, 3135, 1518, 499, 104, 9},
        {29465, 125040, 231571, 225135, 142276, 62474, 18850, 3612, 292},
        85603};
    static const Expected in_usual = {10,
                                      9,
                                      {1417, 1897, 1457, 848, 401, 156, 48, 10, 1},
                                      {33823, 35841, 26835, 15136, 6790, 2464, 687, 126, 11},
                                      29011};
    for (unsigned i = 0; i < 2; i++) {
        enum TransactionFormat format = i ? TRANSACTIONS_BINARY : TRANSACTIONS_TEXT;
        File f = make_file(&dense, format, 3000);
        check(&f, 10000000, &in_dense);
        free(f.bytes);
        f = make_file(&usual, format, 2000);
        check(&f, 5000000, &in_usual);
        free(f.bytes);
    }
}

TEST(transactions__are_the_same_everywhere)
{
    static const QuestSettings settings = {10000, 2000, 20000, 3000, 42};
    static const char begin[] =
        "194 592 757 874 1377 1414 1686 1840 1932 2567 2587 2909 3495 3715 4168 4470 4595 4823 "
        "5062 5114 5235 6142 6526 6735 6863 8261 8480 8507 9049 9156\n"
        "1379 1398 1460 1794 2733 3534 3918 4644 6127 7015 7492 7719 8140 8593 9952\n";
    File f = make_file(&settings, TRANSACTIONS_TEXT, 100), g;
    QuestSettings other = settings;
    assert_memory_equal(f.bytes, begin, sizeof begin - 1);
    other.seed++;
    g = make_file(&other, TRANSACTIONS_TEXT, 100);
    assert_true(f.len != g.len || memcmp(f.bytes, g.bytes, f.len) != 0);
    free(f.bytes);
    free(g.bytes);
}

static double mean_size(Quest *q, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t *items;
        size_t n = quest_next(q, &items);
        assert_in_range(n, 1, quest_items_max(q));
        for (size_t k = 0; k < n; k++) {
            assert_true(items[k] < q->settings.items);
            assert_true(k == 0 || items[k] > items[k - 1]);
        }
        sum += n;
    }
    return (double)sum / count;
}

static double mean_pattern(const Quest *q)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < q->settings.patterns; i++)
        sum += q->patterns[i].size;
    return (double)sum / q->settings.patterns;
}

static bool near(double value, double wanted)
{
    return value > 0.95 * wanted && value < 1.05 * wanted;
}

TEST(sizes__are_as_asked_for)
{
    static const QuestSettings settings[] = {{10000, 2000, 20000, 3000, 1},
                                             {1000, 2000, 5000, 2000, 2},
                                             {1000, 2000, 10500, 4500, 3},
                                             {16777216, 3000, 100000, 1000, 4}};
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        Quest q;
        assert_int_equal(quest_init(&q, &settings[i]), 0);
        assert_true(near(mean_pattern(&q), settings[i].pattern_milli / 1000.0));
        assert_true(near(mean_size(&q, 5000), settings[i].size_milli / 1000.0));
        quest_free(&q);
    }
}

/* Corruption levels lie around the middle, with their ends cut off; weights are exponential: as
 * many as 1 - 1/e of them are below their mean. */
TEST(patterns__are_distributed_as_told)
{
    static const QuestSettings settings = {1000, 20000, 10000, 4000, 5};
    double sum = 0, mean;
    unsigned none = 0, light = 0;
    Quest q;
    assert_int_equal(quest_init(&q, &settings), 0);
    mean = (double)q.weight_sums[settings.patterns - 1] / settings.patterns;
    for (uint32_t i = 0; i < settings.patterns; i++) {
        uint64_t weight = q.weight_sums[i] - (i > 0 ? q.weight_sums[i - 1] : 0);
        sum += q.patterns[i].corruption / 4294967296.0;
        none += q.patterns[i].corruption == 0;
        light += (double)weight < mean;
    }
    assert_true(near(mean, 4294967296.0));
    assert_true(near(light, 0.632 * settings.patterns));
    assert_true(near(sum / settings.patterns, 0.5));
    assert_in_range(none, settings.patterns / 25, settings.patterns / 12); /* 5.7 % are below 0 */
    quest_free(&q);
}

/* Settings that contradict each other end nevertheless. */
TEST(extremes__are_survived)
{
    static const QuestSettings settings[] = {{1, 1, 1000, 1000, 1},
                                             {2, 50, 100500, 400000, 2},
                                             {20, 1, 1000000, 1000, 3},
                                             {1, 100, 1000, 1000000, 4}};
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++) {
        Quest q;
        assert_int_equal(quest_init(&q, &settings[i]), 0);
        assert_true(mean_size(&q, 20) <= settings[i].items);
        quest_free(&q);
    }
}
