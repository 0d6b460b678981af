/* SPDX-License-Identifier: MIT */
/* The table of regions: how one begins, and what goes with it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

Region *region_find(Cache *c, int rd)
{
    return rd >= 0 && (unsigned)rd < c->regions.table_len ? c->regions.table[rd] : NULL;
}

static int table_slot(Cache *c)
{
    for (unsigned i = 0; i < c->regions.table_len; i++)
        if (!c->regions.table[i])
            return (int)i;
    unsigned len = c->regions.table_len ? c->regions.table_len * 2 : 16;
    Region **table = realloc(c->regions.table, len * sizeof *table);
    if (!table)
        return -ENOMEM;
    memset(table + c->regions.table_len, 0, (len - c->regions.table_len) * sizeof *table);
    int rd = (int)c->regions.table_len;
    c->regions.table = table;
    c->regions.table_len = len;
    return rd;
}

static Region *region_new(Cache *c, uint64_t len)
{
    Region *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    uint64_t pieces = (len - 1) / c->cfg.piece_bytes + 1;
    r->leaf_count = (pieces - 1) / LEAF_PIECES + 1;
    if (r->leaf_count <= SIZE_MAX / sizeof *r->leaves) {
        r->leaves = calloc((size_t)r->leaf_count, sizeof *r->leaves);
        r->remote.maps = calloc((size_t)r->leaf_count, sizeof *r->remote.maps);
    }
    if (!r->leaves || !r->remote.maps) {
        free(r->leaves);
        free(r->remote.maps);
        free(r);
        return NULL;
    }
    r->len = len;
    list_init(&r->remote.all_maps);
    list_init(&r->writeback.dirty);
    list_init(&r->writeback.unsynced);
    return r;
}

int region_begin(Cache *c, uint64_t len, uint64_t size, void *file, unsigned flags)
{
    if (c->regions.count >= c->cfg.regions_max)
        return -EMFILE;
    int rd = table_slot(c);
    if (rd < 0)
        return rd;
    CacheFileId id = place_of(c, file);
    Ways *ways = ways_get(c, id);
    Region *r = ways ? region_new(c, len) : NULL;
    if (!r) {
        if (ways)
            ways_put(ways);
        return -ENOMEM;
    }
    r->ways = ways;
    ways->remote_reads = 0; /* a program that opens regions waits for more than its reads */
    r->rd = rd;
    r->number = ++c->regions.ever;
    r->flags = flags;
    r->file = file;
    r->size = min_u64(size, len);
    c->regions.table[rd] = r;
    c->regions.count++;
    list_push_back(&c->regions.all, &r->link);
    place_add(c, r, id);
    r->trace = trace_get(c, r);
    region_admit(c, r);
    if (flags & DODO_RETAIN) /* an earlier run may have left its data there */
        remote_want(c, r);
    return rd;
}

void region_free(Cache *c, Region *r)
{
    assert(r->jobs == 0 || !GUARD(CLOSING));
    stream_forget(c, r);
    for (uint64_t i = 0; i < r->leaf_count; i++) {
        for (unsigned k = 0; r->leaves[i] && k < LEAF_PIECES; k++)
            if (r->leaves[i]->pieces[k])
                piece_drop(c, r->leaves[i]->pieces[k]); /* with the last one the leaf goes */
        free(r->leaves[i]);
    }
    if (r->remote.wanted)
        c->remotes.wanted--;
    if (r->remote.state == REMOTE_CLOSING)
        c->remotes.closing--;
    ways_put(r->ways);
    trace_put(c, r);
    free(r->remote.held_blocks);
    remote_map_forget(r);
    free(r->remote.maps);
    free(r->leaves);
    list_remove(&r->link);
    place_remove(c, r);
    c->regions.table[r->rd] = NULL;
    c->regions.count--;
    free(r);
}
