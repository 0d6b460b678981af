/* SPDX-License-Identifier: MIT */
/* The memory of a region's blocks is taken when there is something to store. */
#include "imd/data_priv.h"

/* Once a tick and extent, so that the cache line that both threads know stays here mostly. */
void extents_note_use(ImdData *d, DataRegion *r, uint64_t offset, uint32_t len)
{
    ImdExtents *x = r->name.extents;
    if (!x)
        return;
    unsigned first = extents_at(x, offset), last = extents_at(x, offset + len - 1);
    if (first == last && r->used == d->tick && r->used_extent == first)
        return;
    for (unsigned i = first; i <= last; i++)
        extents_use(x, i, d->tick);
    r->used = d->tick;
    r->used_extent = last;
}

static unsigned extent_of(const DataRegion *r, const BlockSpan *s, unsigned i)
{
    return extents_at(r->name.extents, (s->first + i) * WIRE_BLOCK_SIZE);
}

static uint32_t blocks_housed(const DataRegion *r, const BlockSpan *s)
{
    uint32_t map = 0;
    if (!r->name.extents)
        return s->touched;
    for (unsigned i = 0; i < s->count; i++)
        map |= (uint32_t)extents_has(r->name.extents, extent_of(r, s, i)) << i;
    return map;
}

uint32_t blocks_house(ImdData *d, DataRegion *r, const BlockSpan *s, uint32_t map)
{
    if (!r->name.extents)
        return s->touched;
    for (; map; map &= map - 1)
        (void)extents_take(r->name.extents, extent_of(r, s, (unsigned)__builtin_ctz(map)), d->tick);
    return blocks_housed(r, s);
}

static bool extent_is_filled(const DataRegion *r, unsigned extent)
{
    uint64_t from, to;
    extents_bounds(r->name.extents, extent, &from, &to);
    for (uint64_t b = from / WIRE_BLOCK_SIZE; b < to / WIRE_BLOCK_SIZE; b++)
        if (r->filled[b / 64] >> (b % 64) & 1)
            return true;
    return false;
}

void extents_note_unfilled(DataRegion *r, const BlockSpan *s)
{
    if (!r->name.extents)
        return;
    for (unsigned i = extent_of(r, s, 0); i <= extent_of(r, s, s->count - 1); i++)
        if (!extent_is_filled(r, i))
            extents_rest(r->name.extents, i);
}

void extents_note_filled(ImdData *d, DataRegion *r, const BlockSpan *s, uint32_t map)
{
    ImdExtents *x = r->name.extents;
    for (; x && map; map &= map - 1) {
        unsigned i = extent_of(r, s, (unsigned)__builtin_ctz(map));
        if (extents_idle(x, i))
            (void)extents_take(x, i, d->tick);
    }
}

bool data_extents_check(const DataRegion *r)
{
    const ImdExtents *x = r->name.extents;
    for (uint64_t b = 0; x && b < r->blocks; b += r->filled[b / 64] == 0 ? 64 - b % 64 : 1) {
        unsigned i = extents_at(x, b * WIRE_BLOCK_SIZE);
        if ((r->filled[b / 64] >> (b % 64) & 1) && (!extents_has(x, i) || extents_idle(x, i)))
            return false;
    }
    return true;
}
