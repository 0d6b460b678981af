/* SPDX-License-Identifier: MIT */
/* Regions by their file and where they begin in it. */
#include "base/id.h"
#include "libmanage/core_private.h"

CacheFileId place_of(const Cache *c, const void *file)
{
    return c->hooks.file_id ? c->hooks.file_id(c->hooks.ctx, file) : (CacheFileId){0};
}

static uint64_t hash_of(CacheFileId id)
{
    return mix64(id.inode ^ mix64(id.device)) ^ id.offset;
}

void place_add(Cache *c, Region *r, CacheFileId id)
{
    r->id = id;
    hmap_insert(&c->regions.places, &r->place_node, hash_of(id));
}

void place_remove(Cache *c, Region *r)
{
    (void)hmap_remove(&c->regions.places, &r->place_node);
}

Region *place_find(const Cache *c, CacheFileId id)
{
    uint64_t hash = hash_of(id);
    for (HmapNode *n = hmap_first(&c->regions.places, hash); n;
         n = hmap_next(&c->regions.places, n)) {
        Region *r = CONTAINER_OF(n, Region, place_node);
        if (is_same_file(r->id, id) && r->id.offset == id.offset && !r->closing)
            return r;
    }
    return NULL;
}
