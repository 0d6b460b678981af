/* SPDX-License-Identifier: MIT */
/* The items of one transaction, as a format finds them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/transactions.h"

int transactions_bad(TransactionReader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(r->error, sizeof r->error, format, args);
    va_end(args);
    return -EBADMSG;
}

int transactions_add(TransactionReader *r, uint32_t item)
{
    if (r->count == r->cap) {
        if (r->cap == TRANSACTION_ITEMS_MAX)
            return transactions_bad(r, "transaction %llu: more than %d items",
                                    (unsigned long long)r->done + 1, TRANSACTION_ITEMS_MAX);
        size_t cap = r->cap ? 2 * r->cap : 256;
        uint32_t *items = realloc(r->items, cap * sizeof *items);
        if (!items)
            return -ENOMEM;
        r->items = items;
        r->cap = cap;
    }
    r->unsorted |= r->count > 0 && item <= r->items[r->count - 1];
    r->items[r->count++] = item;
    return 0;
}
