/* SPDX-License-Identifier: MIT */
/* What dmine prints: JSON for programs, a table for people. */
#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "examples/dmine.h"

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static double share(uint64_t ppb)
{
    return (double)ppb / (double)APRIORI_PPB_ONE;
}

static double confidence(const AssociationRule *rule)
{
    return (double)rule->count / (double)rule->antecedent_count;
}

static void print_items(const uint32_t *items, unsigned count, const char *between)
{
    for (unsigned i = 0; i < count; i++)
        printf("%s%" PRIu32, i ? between : "", items[i]);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_sets_json(const Apriori *a)
{
    printf("\"itemsets\":%" PRIu64 ",\"by_size\":[", apriori_sets(a));
    for (unsigned size = 1; size <= a->sizes; size++)
        printf("%s%" PRIu32, size > 1 ? "," : "", itemset_tree_sets(&a->frequent[size - 1]));
    printf("],\"support_sums\":[");
    for (unsigned size = 1; size <= a->sizes; size++)
        printf("%s%" PRIu64, size > 1 ? "," : "", apriori_support_sum(a, size));
    printf("],");
}

static void print_scans_json(const Result *result)
{
    printf("\"seconds\":%.6f,\"pass_sizes\":[", seconds(result->ns));
    for (size_t i = 0; i < result->scans_count; i++)
        printf("%s%u", i ? "," : "", result->scans[i].size);
    printf("],\"pass_seconds\":[");
    for (size_t i = 0; i < result->scans_count; i++)
        printf("%s%.6f", i ? "," : "", seconds(result->scans[i].ns));
    printf("],\"pass_read_seconds\":[");
    for (size_t i = 0; i < result->scans_count; i++)
        printf("%s%.6f", i ? "," : "", seconds(result->scans[i].read_ns));
    printf("],");
}

static void print_rules_json(const Result *result)
{
    printf(",\"rules\":[");
    for (size_t i = 0; i < result->rules.count; i++) {
        const AssociationRule *rule = &result->rules.rules[i];
        uint32_t left[ITEMSET_SIZE_MAX], right[ITEMSET_SIZE_MAX];
        unsigned n = association_sides(&result->apriori, rule, left, right);
        printf("%s{\"if\":[", i ? "," : "");
        print_items(left, n, ",");
        printf("],\"then\":[");
        print_items(right, rule->size - n, ",");
        printf("],\"count\":%" PRIu32 ",\"confidence\":%.6f}", rule->count, confidence(rule));
    }
    printf("]");
}

void print_json(const Options *o, const Result *result, const Sources *s)
{
    const Apriori *a = &result->apriori;
    printf("{\"backend\":\"%s\",\"region_bytes\":%" PRIu64 ",\"min_support\":%g,", o->backend->name,
           o->region_bytes, share(o->support_ppb));
    printf("\"transactions\":%" PRIu64 ",\"min_count\":%" PRIu32 ",", a->transactions,
           a->min_count);
    print_sets_json(a);
    print_scans_json(result);
    sources_print_json(s);
    if (o->confidence_ppb > 0)
        print_rules_json(result);
    printf("}\n");
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_rules_text(const Options *o, const Result *result)
{
    printf("%zu rules with a confidence of at least %g:\n", result->rules.count,
           share(o->confidence_ppb));
    for (size_t i = 0; i < result->rules.count; i++) {
        const AssociationRule *rule = &result->rules.rules[i];
        uint32_t left[ITEMSET_SIZE_MAX], right[ITEMSET_SIZE_MAX];
        unsigned n = association_sides(&result->apriori, rule, left, right);
        print_items(left, n, " ");
        printf(" => ");
        print_items(right, rule->size - n, " ");
        printf("  (%" PRIu32 ", %.3f)\n", rule->count, confidence(rule));
    }
}

void print_text(const Options *o, const Result *result, const Sources *s)
{
    const Apriori *a = &result->apriori;
    uint64_t bytes = s->local_bytes + s->remote_bytes + s->file_bytes;
    printf("%" PRIu64 " transactions on %s: %" PRIu64 " itemsets are in %" PRIu32 " or more\n",
           a->transactions, o->backend->name, apriori_sets(a), a->min_count);
    printf("%8s %12s %16s\n", "size", "itemsets", "sum of supports");
    for (unsigned size = 1; size <= a->sizes; size++)
        printf("%8u %12" PRIu32 " %16" PRIu64 "\n", size, itemset_tree_sets(&a->frequent[size - 1]),
               apriori_support_sum(a, size));
    printf("%zu scans in %.2f s, %.2f MB/s; %.0f %% of the bytes from remote memory\n",
           result->scans_count, seconds(result->ns),
           result->ns > 0 ? (double)bytes / 1e6 / seconds(result->ns) : 0,
           bytes > 0 ? 100.0 * (double)s->remote_bytes / (double)bytes : 0);
    if (o->confidence_ppb > 0)
        print_rules_text(o, result);
}
