/* SPDX-License-Identifier: MIT */
/* What a host's data threads hold, against which its control thread's orders are checked, and the
 * memory that goes back. */
#include <string.h>

#include "tests/sim/world.h"

ImdHeld *held_find(ImdNode *n, uint64_t region)
{
    for (unsigned i = 0; i < n->held_count; i++)
        if (n->held[i].region == region)
            return &n->held[i];
    return NULL;
}

void held_add(ImdNode *n, const ImdCommand *c)
{
    const ImdRegion *r = &c->region;
    World *w = n->world;
    if (!id_set_add(&n->seen.ids, r->region))
        violate(w, "imd%u: region id %llu was used before in this epoch", n->index,
                (unsigned long long)r->region);
    if (r->pool_offset + r->len > w->p.hosts.pool_bytes)
        violate(w, "imd%u: a region outside the pool", n->index);
    for (unsigned i = 0; i < n->held_count; i++) {
        const ImdHeld *h = &n->held[i];
        if (h->region == r->region)
            violate(w, "imd%u: region %llu is held twice", n->index, (unsigned long long)r->region);
        if (r->pool_offset < h->offset + h->len && h->offset < r->pool_offset + r->len)
            violate(w, "imd%u: regions %llu and %llu share memory", n->index,
                    (unsigned long long)h->region, (unsigned long long)r->region);
    }
    if (n->held_count == sizeof n->held / sizeof *n->held)
        abort();
    n->held[n->held_count++] =
        (ImdHeld){r->region, c->thread, r->pool_offset, r->len, r->opening, false};
}

void held_remove(ImdNode *n, uint64_t region)
{
    ImdHeld *h = held_find(n, region);
    if (h && h->released)
        cover(n->world, COVER_RETAINED_DROPPED);
    if (h)
        *h = n->held[--n->held_count];
    else
        violate(n->world, "imd%u: DROP of region %llu, which no data thread holds", n->index,
                (unsigned long long)region);
}

/* The pages of a range that no region has read as zeros from now on. */
void held_give_back(ImdNode *n, const ImdRegion *range)
{
    for (unsigned i = 0; i < n->held_count; i++) {
        const ImdHeld *h = &n->held[i];
        if (range->pool_offset < h->offset + h->len && h->offset < range->pool_offset + range->len)
            violate(n->world, "imd%u: memory of region %llu is given back", n->index,
                    (unsigned long long)h->region);
    }
    cover(n->world, COVER_GIVEN_BACK);
    memset(n->pool + range->pool_offset, 0, range->len);
}

/* Which extents of the region are on their way back when that begins. */
uint64_t held_going(const ImdExtents *x)
{
    uint64_t map = 0;
    for (unsigned i = 0; x && i < x->count; i++)
        map |= (uint64_t)extents_goes(x, i) << i;
    return map;
}

/* It takes time, and ends with pages that read as zeros: nobody may have stored data meanwhile. */
void held_give_extents_back(ImdThread *t, const ImdRegion *r, uint64_t map)
{
    for (uint64_t from, to; map; map &= map - 1) {
        extents_bounds(r->extents, (unsigned)__builtin_ctzll(map), &from, &to);
        for (uint64_t b = from / WIRE_BLOCK_SIZE; b < to / WIRE_BLOCK_SIZE; b++)
            if (imd_data_block_filled(t->serve.data, r->region, b))
                violate(t->node->world, "imd%u: block %llu of region %llu is given back filled",
                        t->node->index, (unsigned long long)b, (unsigned long long)r->region);
        memset(t->node->pool + r->pool_offset + from, 0, to - from);
    }
}
