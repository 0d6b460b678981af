/* SPDX-License-Identifier: MIT */
/* Transactions in the binary format: see transactions.h. */
#include "examples/transactions.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"

#define MAKE_AGAIN "make or copy it again"

static int truncated(TransactionReader *r)
{
    if (r->header_len < TRANSACTIONS_HEADER_BYTES)
        return transactions_bad(r, "the file ends within its header: " MAKE_AGAIN);
    return transactions_bad(r, "the file ends after %llu of %llu transactions: " MAKE_AGAIN,
                            (unsigned long long)r->done, (unsigned long long)r->announced);
}

static int damaged(TransactionReader *r, const char *what)
{
    return transactions_bad(r, "transaction %llu: %s: the file is damaged, " MAKE_AGAIN,
                            (unsigned long long)r->done + 1, what);
}

/* 1: the header is complete; 0: the piece is over; or an error. */
static int take_header(TransactionReader *r)
{
    while (r->header_len < TRANSACTIONS_HEADER_BYTES && r->at < r->end)
        r->header[r->header_len++] = *r->at++;
    if (r->header_len < TRANSACTIONS_HEADER_BYTES)
        return r->at_end ? truncated(r) : 0;
    if (memcmp(r->header, TRANSACTIONS_MAGIC, 8) != 0)
        return transactions_bad(r, "the file begins neither with an item number nor with the mark "
                                   "of the binary format: " MAKE_AGAIN);
    r->announced = get_u64(r->header + 8);
    if (r->announced > TRANSACTIONS_MAX)
        return transactions_bad(
            r, "the header tells of %llu transactions, more than %llu: " MAKE_AGAIN,
            (unsigned long long)r->announced, (unsigned long long)TRANSACTIONS_MAX);
    return 1;
}

/* 1: a number, in *ret; 0: the piece is over; or an error. */
static inline int take_short(TransactionReader *r, uint32_t *ret)
{
    while (r->at < r->end) {
        uint32_t byte = *r->at++;
        if (r->digits == 21 && byte > 7) /* ITEM_MAX has 24 bits */
            return damaged(r, "a number that is too large");
        if (byte == 0 && r->digits > 0)
            return damaged(r, "a number that is longer than it needs to be");
        r->value |= (byte & 0x7f) << r->digits;
        r->digits += 7;
        if (byte < 0x80) {
            *ret = r->value;
            r->value = 0;
            r->digits = 0;
            return 1;
        }
    }
    return 0;
}

/* As take_short(), of a number that the file must not end before. */
static inline int need_short(TransactionReader *r, uint32_t *ret)
{
    int n = take_short(r, ret);
    return n == 0 && r->at_end ? truncated(r) : n;
}

static int take_count(TransactionReader *r)
{
    int n = need_short(r, &r->wanted);
    if (n <= 0)
        return n;
    if (r->wanted > TRANSACTION_ITEMS_MAX)
        return damaged(r, "too many items");
    r->begun = true;
    return 1;
}

/* The next item from its distance. */
static inline int take_item(TransactionReader *r)
{
    uint32_t v = 0, before = r->count > 0 ? r->items[r->count - 1] : 0;
    int n = need_short(r, &v);
    if (n <= 0)
        return n;
    if (r->count > 0 && v == 0)
        return damaged(r, "an item that comes again");
    if (v > ITEM_MAX - before)
        return damaged(r, "an item number that is too large");
    int e = transactions_add(r, before + v);
    return e < 0 ? e : 1;
}

int transactions_binary_next(TransactionReader *r)
{
    int n = r->header_len < TRANSACTIONS_HEADER_BYTES ? take_header(r) : 1;
    if (n <= 0)
        return n;
    if (r->done == r->announced)
        return r->at == r->end
                   ? 0
                   : transactions_bad(r,
                                      "%llu transactions are followed by more bytes: " MAKE_AGAIN,
                                      (unsigned long long)r->announced);
    if (!r->begun && (n = take_count(r)) <= 0)
        return n;
    while (r->count < r->wanted)
        if ((n = take_item(r)) <= 0)
            return n;
    return 1;
}
