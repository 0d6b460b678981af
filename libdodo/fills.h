/* SPDX-License-Identifier: MIT */
/* What the file held, on its way to the region's host. Not for shells. */
#ifndef DODO_LIBDODO_FILLS_H
#define DODO_LIBDODO_FILLS_H

#include "libdodo/region.h"

enum { FILL_RUN_BLOCKS = 64 }; /* blocks read from the file and offered in one piece */

/* The copy of a region that a fill is for. */
typedef struct FillTarget {
    int rd; /* < 0: none */
    Addr host;
    RegionAddress address;
    uint64_t counter; /* before its bytes were read */
    uint64_t seed;    /* of its checksums */
} FillTarget;

/* What the file held, on its way to the region's host. */
typedef struct FillItem {
    ListNode link;
    FillTarget to, then; /* the other copy, after this one */
    uint64_t region_len;
    uint64_t offset; /* in the region, a multiple of the block size */
    size_t len;      /* whole blocks, or to the region's end */
    size_t cap;      /* charged to the queue */
    uint8_t data[];
} FillItem;

/* The file held @count bytes of what the item is for: offers what may be filled of it. */
void client_fill_read(Client *c, FillItem *item, size_t count);
/* Offers all of it. False: there is no room for it in the queue. */
bool client_fill_put(Client *c, FillItem *item);
/* Under the lock: an item that was put is over for all copies. It stays the caller's. True:
 * somebody waits for such, and is to be woken. */
bool client_fill_gone(Client *c, const FillItem *item);
/* Under the lock: @item, with room for as many bytes, is for [start, end) of the region, which is
 * active, and for its other copy. False: there is no room for it in the queue. */
bool fill_item_init(const Client *c, const Region *r, FillItem *item, uint64_t start, uint64_t end);
/* The same in memory of its own; NULL: also no memory for it. */
FillItem *fill_item_new(const Client *c, const Region *r, uint64_t start, uint64_t end);
FillTarget fill_target(const Region *r); /* under the lock */
/* The item is over for this copy. True: it is for another one now. */
bool fill_item_next(FillItem *item);

#endif
