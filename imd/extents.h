/* SPDX-License-Identifier: MIT */
/* The memory behind a region, in extents: the parts of its range of the pool between multiples of
 * ImdControlConfig.extent_bytes, a huge page. A region's range is reserved while the region is
 * there. Memory of the host it has only for the extents that hold data.
 *
 * The data thread that has the region takes an extent before it stores data in it, and lets it go
 * when it is ordered to. The control thread chooses what goes, and says when its pages are given
 * back: from then on it may be taken again. Each state has one thread that may change it, and all
 * read them at any time. Pure. */
#ifndef DODO_IMD_EXTENTS_H
#define DODO_IMD_EXTENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Times of use in coarse units that only compare. */
static inline uint64_t imd_use_tick(uint64_t now_ns)
{
    return now_ns >> 20; /* about a millisecond */
}

/* Of the pool, for all threads. */
typedef struct ImdSpace {
    _Atomic uint64_t filled_bytes; /* of extents that are taken, or on their way back */
    _Atomic uint64_t limit_bytes;  /* nothing is taken beyond it */
    _Atomic bool wanted;           /* something could not be taken for it */
    _Atomic bool idle;             /* something that is taken holds no data any more */
} ImdSpace;

typedef struct ImdExtents {
    ImdSpace *space;
    uint64_t begin, end; /* in the pool, whole pages */
    unsigned shift;      /* an extent is 1 << shift bytes, at least a page */
    unsigned count;
    uint64_t *chosen; /* bit per extent: to go. The control thread's, the data thread reads it while
                         it carries out an IMD_UNFILL */
    _Atomic uint64_t state[];
} ImdExtents;

/* Of the range of the pool; @extent_bytes is a power of two. NULL: no memory. */
ImdExtents *extents_new(ImdSpace *space, uint64_t pool_offset, uint64_t bytes,
                        uint64_t extent_bytes);
/* None may be filled. Returns NULL. */
ImdExtents *extents_free(ImdExtents *x);
/* The extent that has this byte of the region. */
static inline unsigned extents_at(const ImdExtents *x, uint64_t offset)
{
    return (unsigned)(((x->begin + offset) >> x->shift) - (x->begin >> x->shift));
}
/* Its part of the region: bytes [*ret_from, *ret_to), whole pages. */
void extents_bounds(const ImdExtents *x, unsigned i, uint64_t *ret_from, uint64_t *ret_to);
uint64_t extents_bytes(const ImdExtents *x, unsigned i);
/* Taken, and not ordered to go. */
bool extents_has(const ImdExtents *x, unsigned i);
bool extents_goes(const ImdExtents *x, unsigned i);
/* Taken, and without data. */
bool extents_idle(const ImdExtents *x, unsigned i);
/* When it was used last; of one that is taken. An idle one is older than all others. */
uint64_t extents_used(const ImdExtents *x, unsigned i);

/* ---- the data thread ------------------------------------------------------------------------ */

/* False: it is on its way back, or there is no room for it. True also if it is taken already. */
bool extents_take(ImdExtents *x, unsigned i, uint64_t tick);
/* It is used now; nothing happens to one that is not taken. */
void extents_use(ImdExtents *x, unsigned i, uint64_t tick);
/* It holds no data any more, until it is taken again. */
void extents_rest(ImdExtents *x, unsigned i);
/* Nothing of it will be read or written before it is taken again. */
void extents_go(ImdExtents *x, unsigned i);

/* ---- the control thread --------------------------------------------------------------------- */

/* What is taken, or on its way back, or both. */
uint64_t extents_filled_bytes(const ImdExtents *x);
static inline bool extents_chosen(const ImdExtents *x, unsigned i)
{
    return x->chosen[i / 64] >> (i % 64) & 1;
}
void extents_choose(ImdExtents *x, unsigned i);
/* All that is taken counts as used now. */
void extents_use_all(ImdExtents *x, uint64_t tick);
/* The pages of those on their way back are given back; nothing is chosen any more. */
void extents_gone(ImdExtents *x);
/* The region has ended, and no data thread has it: all are given back. */
void extents_end(ImdExtents *x);

#endif
