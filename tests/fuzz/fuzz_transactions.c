/* SPDX-License-Identifier: MIT */
/* Files of transactions. In pieces of any size they give the same as in one; what is read can be
 * written in either format, and comes back; and mining it does no harm. */
#include <errno.h>
#include <string.h>

#include "base/id.h"
#include "examples/apriori.h"
#include "examples/transactions.h"
#include "tests/fuzz/fuzz.h"

enum {
    BYTES_CAP = 1 << 20,
    MINED_ITEM_MAX = 9999, /* the miner's arrays are as large as the largest number */
};

/* What became of a file. */
typedef struct Outcome {
    int error;
    uint64_t transactions, digest;
    uint32_t item_max;
    char why[160];
} Outcome;

/* What else is done with the transactions; each may be NULL. */
typedef struct Uses {
    Apriori *mine;
    uint8_t *write; /* BYTES_CAP, less a header */
    size_t written;
    enum TransactionFormat format;
} Uses;

static void use(Uses *u, const uint32_t *items, size_t count)
{
    if (u->mine)
        FUZZ_CHECK(apriori_take(u->mine, items, count) == 0);
    size_t most = count * TRANSACTION_BYTES_MAX_PER_ITEM + TRANSACTION_BYTES_MAX_BESIDE;
    if (u->write && u->written + most > BYTES_CAP)
        u->write = NULL; /* too much to bother */
    if (u->write) {
        size_t n = transaction_write(u->format, items, count, u->write + u->written);
        FUZZ_CHECK(n <= most);
        u->written += n;
    }
}

static int take_all(TransactionReader *r, Outcome *o, Uses *u)
{
    const uint32_t *items;
    size_t count;
    int n;
    while ((n = transactions_next(r, &items, &count)) > 0) {
        o->transactions++;
        o->digest = mix64(o->digest ^ count);
        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(items[i] <= ITEM_MAX && (i == 0 || items[i] > items[i - 1]));
            o->digest = mix64(o->digest + items[i]);
            o->item_max = items[i] > o->item_max ? items[i] : o->item_max;
        }
        use(u, items, count);
    }
    return n;
}

static Outcome read_bytes(const uint8_t *data, size_t size, size_t step, Uses *u)
{
    TransactionReader r = {0};
    Outcome o = {0};
    for (size_t at = 0; at < size && o.error == 0; at += step) {
        transactions_feed(&r, data + at, size - at < step ? size - at : step);
        o.error = take_all(&r, &o, u);
    }
    if (o.error == 0) {
        transactions_finish(&r);
        o.error = take_all(&r, &o, u);
    }
    FUZZ_CHECK(o.error == 0 ? !*r.error : o.error == -EBADMSG && *r.error);
    memcpy(o.why, r.error, sizeof o.why);
    transactions_free(&r);
    return o;
}

static void check_same(const Outcome *a, const Outcome *b)
{
    FUZZ_CHECK(a->error == b->error && a->transactions == b->transactions);
    FUZZ_CHECK(a->digest == b->digest && strcmp(a->why, b->why) == 0);
}

/* What was read, written in a format and read again. */
static void try_format(const uint8_t *data, size_t size, enum TransactionFormat format,
                       const Outcome *wanted)
{
    static uint8_t bytes[TRANSACTIONS_HEADER_BYTES + BYTES_CAP];
    Uses u = {.write = bytes + TRANSACTIONS_HEADER_BYTES, .format = format}, none = {0};
    size_t header = format == TRANSACTIONS_BINARY ? TRANSACTIONS_HEADER_BYTES : 0;
    (void)read_bytes(data, size, size + 1, &u);
    if (!u.write)
        return;
    transactions_header(wanted->transactions, bytes);
    Outcome o =
        read_bytes(bytes + TRANSACTIONS_HEADER_BYTES - header, header + u.written, 4096, &none);
    check_same(&o, wanted);
}

/* Two scans: the items, and some of the pairs. */
static void try_mining(const uint8_t *data, size_t size)
{
    Apriori a;
    apriori_init(&a, 100000000);
    a.pairs_max = 1000;
    for (unsigned scan = 0, more = 1; more && scan < 2; scan++) {
        Uses u = {.mine = &a};
        (void)read_bytes(data, size, size + 1, &u);
        int r = apriori_scanned(&a);
        FUZZ_CHECK(r == 0 || r == 1);
        more = (unsigned)r;
    }
    apriori_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 3, 4096};
    Uses none = {0};
    Outcome whole = read_bytes(data, size, size + 1, &none);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        Outcome o = read_bytes(data, size, steps[i], &none);
        check_same(&whole, &o);
    }
    if (whole.error == 0) {
        try_format(data, size, TRANSACTIONS_TEXT, &whole);
        try_format(data, size, TRANSACTIONS_BINARY, &whole);
        if (whole.item_max <= MINED_ITEM_MAX)
            try_mining(data, size);
    }
    return 0;
}
