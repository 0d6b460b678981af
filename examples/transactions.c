/* SPDX-License-Identifier: MIT */
/* What the formats of transactions share; writing them. See transactions.h. */
#include "examples/transactions.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void transactions_free(TransactionReader *r)
{
    free(r->items);
    *r = (TransactionReader){0};
}

void transactions_feed(TransactionReader *r, const void *bytes, size_t len)
{
    assert(r->at == r->end && !r->at_end);
    r->at = bytes;
    r->end = r->at + len;
}

void transactions_finish(TransactionReader *r)
{
    r->at_end = true;
}

static int compare_items(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_items(TransactionReader *r)
{
    size_t kept = 0;
    qsort(r->items, r->count, sizeof *r->items, compare_items);
    for (size_t i = 0; i < r->count; i++)
        if (i == 0 || r->items[i] != r->items[kept - 1])
            r->items[kept++] = r->items[i];
    r->count = kept;
}

/* The binary format's first byte is no part of a text. */
static void find_format(TransactionReader *r)
{
    if (r->format == TRANSACTIONS_UNKNOWN && r->at < r->end)
        r->format = *r->at == TRANSACTIONS_MAGIC[0] ? TRANSACTIONS_BINARY : TRANSACTIONS_TEXT;
}

int transactions_next(TransactionReader *r, const uint32_t **ret_items, size_t *ret_count)
{
    find_format(r);
    if (r->format == TRANSACTIONS_UNKNOWN)
        return 0; /* an empty file has none */
    if (!r->begun) {
        r->count = 0;
        r->unsorted = false;
    }
    int n =
        r->format == TRANSACTIONS_TEXT ? transactions_text_next(r) : transactions_binary_next(r);
    if (n <= 0)
        return n;
    if (r->done == TRANSACTIONS_MAX)
        return transactions_bad(r, "more than %llu transactions",
                                (unsigned long long)TRANSACTIONS_MAX);
    if (r->unsorted)
        sort_items(r);
    r->done++;
    r->begun = false;
    *ret_items = r->items;
    *ret_count = r->count;
    return 1;
}

/* ---- writing ------------------------------------------------------------------------------- */

void transactions_header(uint64_t count, uint8_t out[TRANSACTIONS_HEADER_BYTES])
{
    memcpy(out, TRANSACTIONS_MAGIC, 8);
    put_u64(out + 8, count);
}

static uint8_t *put_decimal(uint8_t *p, uint32_t v)
{
    uint8_t digits[10];
    size_t n = 0;
    do
        digits[n++] = (uint8_t)('0' + v % 10);
    while ((v /= 10) > 0);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

static uint8_t *put_short(uint8_t *p, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

size_t transaction_write(enum TransactionFormat format, const uint32_t *items, size_t count,
                         uint8_t *out)
{
    uint8_t *p = out;
    if (format == TRANSACTIONS_BINARY)
        p = put_short(p, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        assert(items[i] <= ITEM_MAX && (i == 0 || items[i] > items[i - 1]));
        if (format == TRANSACTIONS_BINARY) {
            p = put_short(p, i == 0 ? items[i] : items[i] - items[i - 1]);
        } else {
            if (i > 0)
                *p++ = ' ';
            p = put_decimal(p, items[i]);
        }
    }
    if (format == TRANSACTIONS_TEXT)
        *p++ = '\n';
    return (size_t)(p - out);
}
