/* SPDX-License-Identifier: MIT */
/* The paper's dmine (5.2.1): association rules from a file of transactions that may be larger than
 * memory. It scans the file once for each size of itemsets, in reads of 128 KiB. The regions are
 * retained, so that the next run finds them in remote memory. */
#include "examples/dmine.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/written.h"
#include "examples/progress.h"
#include "examples/transactions.h"

enum { READ_BYTES = 128 << 10 };

typedef struct Run {
    const Options *options;
    Source source;
    Result *result;
    uint8_t *buf; /* READ_BYTES */
    Progress progress;
} Run;

static int complain(const Run *run, int r, const char *what)
{
    char shown[256];
    fprintf(stderr, "dmine: %s: %s\n", printable_short(run->options->input, shown, sizeof shown),
            what);
    return r;
}

static int tell_error(const Run *run, const TransactionReader *reader, int r)
{
    switch (-r) {
    case EBADMSG:
        return complain(run, r, reader->error);
    case ESTALE:
        return complain(run, r, "has changed while it was read: run again when nobody writes it");
    case E2BIG:
        return complain(run, r, "too many itemsets may be frequent: give a larger --min-support");
    case ENOMEM:
        return complain(run, r, "not enough memory: give a larger --min-support");
    default:
        return complain(run, r, strerror(-r));
    }
}

/* All transactions that the reader has by now. */
static int take_all(Apriori *a, TransactionReader *reader)
{
    const uint32_t *items;
    size_t count;
    int r;
    while ((r = transactions_next(reader, &items, &count)) > 0)
        if ((r = apriori_take(a, items, count)) < 0)
            return r;
    return r;
}

static int scan_file(Run *run, TransactionReader *reader, Scan *scan)
{
    Apriori *a = &run->result->apriori;
    uint64_t size = run->source.size_bytes;
    char text[64];
    snprintf(text, sizeof text, "scan %zu, itemsets of %u", run->result->scans_count + 1, a->size);
    for (uint64_t at = 0; at < size;) {
        size_t n = size - at < READ_BYTES ? (size_t)(size - at) : READ_BYTES;
        uint64_t start = os_now_ns();
        int r = source_read(&run->source, at, run->buf, n);
        scan->read_ns += os_now_ns() - start;
        if (r < 0)
            return r == -ENODATA ? -ESTALE : r;
        transactions_feed(reader, run->buf, n);
        if ((r = take_all(a, reader)) < 0)
            return r;
        at += n;
        progress_show(&run->progress, at, size, text);
    }
    transactions_finish(reader);
    return take_all(a, reader);
}

/* Notes a scan's times. */
static int add_scan(Result *result, const Scan *scan)
{
    if (result->scans_count == result->scans_cap) {
        size_t cap = result->scans_cap ? 2 * result->scans_cap : 16;
        Scan *more = realloc(result->scans, cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        result->scans = more;
        result->scans_cap = cap;
    }
    result->scans[result->scans_count++] = *scan;
    return 0;
}

/* One scan: 1: another one is wanted; 0; or an error, told. */
static int scan(Run *run)
{
    Apriori *a = &run->result->apriori;
    TransactionReader reader = {0};
    Scan times = {.size = a->size};
    uint64_t start = os_now_ns();
    int r = scan_file(run, &reader, &times);
    if (r == 0)
        r = apriori_scanned(a);
    times.ns = os_now_ns() - start;
    run->result->ns += times.ns;
    if (r >= 0) {
        int e = add_scan(run->result, &times);
        r = e < 0 ? e : r;
    }
    if (r < 0)
        (void)tell_error(run, &reader, r); /* @r is passed on */
    transactions_free(&reader);
    return r;
}

static int mine(const Options *o, Result *result, Sources *ret_sources)
{
    uint8_t *buf CLEANUP_FREE = malloc(READ_BYTES);
    SourceSettings settings = {.program = "dmine",
                               .file = o->input,
                               .backend = o->backend,
                               .policy = o->policy,
                               .region_bytes = o->region_bytes,
                               .region_flags = DODO_RETAIN | DODO_RDONLY | DODO_FALLBACK};
    Run run = {.options = o, .result = result, .buf = buf, .progress = {.on = o->progress}};
    int r = source_open(&run.source, &settings);
    if (r == 0 && !buf)
        r = complain(&run, -ENOMEM, "not enough memory");
    if (r == 0)
        while ((r = scan(&run)) > 0)
            ;
    source_close(&run.source);
    *ret_sources = run.source.sources;
    return r;
}

int main(int argc, char **argv)
{
    Options options;
    Result result = {0};
    Sources sources;
    int status;
    os_keep_standard();
    if (options_parse(&options, argc, argv, &status) != 0)
        return status;
    apriori_init(&result.apriori, options.support_ppb);
    int r = mine(&options, &result, &sources);
    if (r == 0 && options.confidence_ppb > 0) {
        r = association_rules(&result.apriori, options.confidence_ppb, &result.rules);
        if (r < 0)
            fprintf(stderr, "dmine: not enough memory for so many rules: give a larger "
                            "--min-confidence\n");
    }
    if (r == 0)
        (options.json ? print_json : print_text)(&options, &result, &sources);
    association_rules_free(&result.rules);
    apriori_free(&result.apriori);
    free(result.scans);
    return written_check("dmine", r < 0);
}
