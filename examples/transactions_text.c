/* SPDX-License-Identifier: MIT */
/* Transactions as text, a line each: see transactions.h. */
#include "examples/transactions.h"

#include <errno.h>

static int bad_byte(TransactionReader *r, unsigned byte)
{
    unsigned long long line = (unsigned long long)r->done + 1;
    static const char wanted[] = "a line is item numbers with blanks between";
    if (byte > ' ' && byte < 0x7f)
        return transactions_bad(r, "line %llu: '%c' is no digit: %s", line, (int)byte, wanted);
    return transactions_bad(r, "line %llu: byte 0x%02x is no digit: %s", line, byte, wanted);
}

static int too_large(TransactionReader *r)
{
    return transactions_bad(r, "line %llu: an item number above %d, the largest possible",
                            (unsigned long long)r->done + 1, ITEM_MAX);
}

/* The number that ends here, if there is one. */
static int end_number(TransactionReader *r)
{
    if (r->digits == 0)
        return 0;
    uint32_t value = r->value;
    r->digits = 0;
    r->value = 0;
    return transactions_add(r, value);
}

/* Takes the digits at *@p, on to what is in r->value: 0 or -EBADMSG. */
static inline int take_digits(TransactionReader *r, const uint8_t **p)
{
    const uint8_t *at = *p;
    uint32_t value = r->value;
    for (; at < r->end && (unsigned)*at - '0' <= 9; at++) {
        value = value * 10 + (*at - '0');
        if (value > ITEM_MAX)
            return too_large(r);
    }
    r->digits |= at > *p;
    r->value = value;
    *p = at;
    return 0;
}

/* 1: a line is over; 0: the piece is; or an error. */
static int take_line(TransactionReader *r)
{
    const uint8_t *p = r->at;
    for (;;) {
        int e = take_digits(r, &p);
        if (e < 0)
            return e;
        if (p == r->end) {
            r->at = p;
            return 0;
        }
        unsigned byte = *p++;
        if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r')
            return bad_byte(r, byte);
        if ((e = end_number(r)) < 0)
            return e;
        if (byte == '\n') {
            r->at = p;
            return 1;
        }
    }
}

int transactions_text_next(TransactionReader *r)
{
    r->begun |= r->at < r->end;
    int n = take_line(r);
    if (n != 0 || !r->at_end || !r->begun)
        return n;
    int e = end_number(r); /* the last line, without an end */
    return e < 0 ? e : 1;
}
