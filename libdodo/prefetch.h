/* SPDX-License-Identifier: MIT */
/* What the program has announced that it will read. Not for shells. */
#ifndef DODO_LIBDODO_PREFETCH_H
#define DODO_LIBDODO_PREFETCH_H

#include "libdodo/fills.h"

enum {
    PREFETCH_RANGES_MAX = 64, /* hints that wait; more are not taken */
};

/* A stretch that dodo_prefetch() was given: bytes of the region. */
typedef struct PrefetchRange {
    int rd;
    uint64_t at, end;
} PrefetchRange;

/* The oldest first. */
typedef struct PrefetchList {
    PrefetchRange ranges[PREFETCH_RANGES_MAX];
    unsigned count;
} PrefetchList;

bool prefetch_due(Client *c); /* under the lock */
/* Under the lock: a call on a region, that is no stripe, is over. True: its close waits for that.
 */
bool region_leave(Client *c, Region *top);
/* The next piece, whose region has one call more in progress. False: none now. */
bool prefetch_start(Client *c, Region **ret, FillItem **ret_item);
extern const struct CallOps prefetch_ops;
/* Under the lock: @r lacks [*start, *end), bytes of it. If that was announced: they become all that
 * was announced of its extent, from @least on, and that is announced no more. */
bool prefetch_extent(Client *c, Region *r, uint64_t least, uint64_t *start, uint64_t *end);

#endif
