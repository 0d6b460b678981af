/* SPDX-License-Identifier: MIT */
/* The memory of a region's blocks goes when the control thread wants it back. */
#include "imd/data_priv.h"

/* The blocks of @s that lie in [from, to). */
static uint32_t blocks_between(const BlockSpan *s, uint64_t from, uint64_t to)
{
    uint32_t map = 0;
    for (unsigned i = 0; i < s->count; i++)
        map |= (uint32_t)(s->first + i >= from && s->first + i < to) << i;
    return map;
}

/* What came of them for these blocks is lost. A fill comes again from its start. */
static void transactions_forget(ImdData *d, DataRegion *r, uint64_t from, uint64_t to)
{
    LIST_FOREACH(node, &r->writes) {
        DataWrite *w = CONTAINER_OF(node, DataWrite, in_region);
        BlockSpan span = block_span(r, w->chunk.offset, w->chunk.len);
        w->homeless |= blocks_between(&span, from, to);
    }
    LIST_FOREACH(node, &r->fills) {
        DataFill *f = CONTAINER_OF(node, DataFill, in_region);
        BlockSpan span = block_span(r, f->chunk.offset, f->chunk.len);
        if (blocks_between(&span, from, to))
            data_fill_end(d, f);
    }
}

static void extent_unfill(ImdData *d, DataRegion *r, unsigned extent)
{
    uint64_t start, end;
    extents_bounds(r->name.extents, extent, &start, &end);
    uint64_t from = start / WIRE_BLOCK_SIZE, to = end / WIRE_BLOCK_SIZE;
    for (uint64_t b = from; b < to && RULE(EXTENT_UNFILLED); b++)
        r->filled[b / 64] &= ~((uint64_t)1 << (b % 64));
    if (RULE(EXTENT_FORGOTTEN))
        transactions_forget(d, r, from, to);
    extents_go(r->name.extents, extent);
    d->stats.extents_unfilled++;
}

void imd_data_unfill(ImdData *d, uint64_t region)
{
    DataRegion *r = data_region_find(d, region);
    if (!r)
        return;
    for (unsigned i = 0; i < r->name.extents->count; i++)
        if (extents_chosen(r->name.extents, i) && extents_has(r->name.extents, i))
            extent_unfill(d, r, i);
}
