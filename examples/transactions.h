/* SPDX-License-Identifier: MIT */
/* Files of transactions, each a set of items that are numbers from 0 to ITEM_MAX. Pure.
 *
 * Text, the usual public format: a line is a transaction, item numbers in any order with blanks
 * between; an item that comes again counts once, a line without items is an empty transaction.
 *
 * Binary: 8 bytes of TRANSACTIONS_MAGIC, the number of transactions in 8 bytes (little-endian),
 * then each transaction: how many items, the lowest item, and for each further one its distance
 * from the one before it, at least 1. These numbers are written 7 bits a byte, lowest first, each
 * byte but a number's last with its highest bit set, and in no more bytes than it takes. */
#ifndef DODO_EXAMPLES_TRANSACTIONS_H
#define DODO_EXAMPLES_TRANSACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ITEM_MAX = (1 << 24) - 1,
    TRANSACTION_ITEMS_MAX = 1 << 20,
    TRANSACTIONS_HEADER_BYTES = 16,
    TRANSACTION_BYTES_MAX_PER_ITEM = 9, /* of either format */
    TRANSACTION_BYTES_MAX_BESIDE = 4,   /* what a transaction takes besides */
};
#define TRANSACTIONS_MAX ((uint64_t)UINT32_MAX)
#define TRANSACTIONS_MAGIC "DODOtr1\n"

enum TransactionFormat { TRANSACTIONS_UNKNOWN, TRANSACTIONS_TEXT, TRANSACTIONS_BINARY };

/* Takes a file in, piece by piece, and gives its transactions out, one by one. */
typedef struct TransactionReader {
    enum TransactionFormat format;
    const uint8_t *at, *end; /* what is left of the piece; borrowed */
    bool at_end;             /* no piece will follow */
    uint64_t done;           /* transactions given out */
    uint64_t announced;      /* binary: how many there are */
    uint32_t *items;         /* of the transaction being read */
    size_t count, cap;
    /* Where the reader stands within it. */
    uint32_t value;
    unsigned digits;      /* of @value; in the binary format its bits */
    bool begun, unsorted; /* the transaction; its items */
    uint32_t wanted;      /* binary: how many items it has */
    uint8_t header[TRANSACTIONS_HEADER_BYTES];
    size_t header_len;
    char error[160]; /* what to fix, after -EBADMSG */
} TransactionReader;

/* All zero is ready to use. */
void transactions_free(TransactionReader *r);
/* To be called when transactions_next() gave 0; the bytes are borrowed until it does so again. */
void transactions_feed(TransactionReader *r, const void *bytes, size_t len);
/* That was all: transactions_next() may give another one, and then gives 0. */
void transactions_finish(TransactionReader *r);
/* 1: a transaction, its items ascending, valid until the next call; 0: more bytes are needed;
 * -EBADMSG with r->error; -ENOMEM. Not to be called again after an error. */
int transactions_next(TransactionReader *r, const uint32_t **ret_items, size_t *ret_count);

/* Writing. The items are ascending; they return the number of bytes, at most
 * TRANSACTION_BYTES_MAX_PER_ITEM an item and TRANSACTION_BYTES_MAX_BESIDE. */
void transactions_header(uint64_t count, uint8_t out[TRANSACTIONS_HEADER_BYTES]);
size_t transaction_write(enum TransactionFormat format, const uint32_t *items, size_t count,
                         uint8_t *out);

/* Shared by the two formats' readers. */
int transactions_bad(TransactionReader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int transactions_add(TransactionReader *r, uint32_t item);
int transactions_text_next(TransactionReader *r);
int transactions_binary_next(TransactionReader *r);

#endif
