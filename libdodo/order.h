/* SPDX-License-Identifier: MIT */
/* The order of a queue's requests: which of them must wait for others, submitted before. Those that
 * have a block in common, one of them a write, run one after the other; a sync waits for the writes
 * of its region. All else runs beside each other. Pure. */
#ifndef DODO_LIBDODO_ORDER_H
#define DODO_LIBDODO_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

enum OrderKind { ORDER_READ, ORDER_WRITE, ORDER_SYNC };

typedef struct Ordered {
    ListNode link; /* in the order, oldest first */
    int rd;
    enum OrderKind kind;
    uint64_t first_block, end_block; /* equal: it touches nothing */
    bool held;                       /* it waits */
} Ordered;

typedef struct Order {
    ListNode under_way; /* of Ordered: those that wait, too */
    unsigned writes;    /* of these */
    unsigned held;      /* that wait */
} Order;

void order_init(Order *o);
/* @x is submitted. True: it must wait. Arguments that no call takes touch nothing. */
bool order_enter(Order *o, Ordered *x, enum OrderKind kind, int rd, off_t offset, size_t len);
/* @x is over, also one that waited. */
void order_leave(Order *o, Ordered *x);
/* One that has waited long enough, and waits no more; or NULL. */
Ordered *order_next(Order *o);

#endif
