/* SPDX-License-Identifier: MIT */
/* Finding a region, and who may read and write it. */
#include "imd/address.h"
#include "imd/data_priv.h"

DataRegion *data_region_find(const ImdData *d, uint64_t region)
{
    HmapNode *node = hmap_first(&d->regions, region);
    while (node && CONTAINER_OF(node, DataRegion, node)->name.region != region)
        node = hmap_next(&d->regions, node);
    return node ? CONTAINER_OF(node, DataRegion, node) : NULL;
}

uint8_t *region_memory(const ImdData *d, const DataRegion *r, uint64_t offset)
{
    return d->config.pool + r->name.pool_offset + offset;
}

uint16_t region_open(ImdData *d, const RegionAddress *a, uint64_t offset, uint32_t len,
                     DataRegion **ret)
{
    if (RULE(EPOCH) && a->epoch != d->config.epoch)
        return STATUS_EPOCH;
    DataRegion *r = data_region_find(d, a->region);
    if (!r || !r->open || !address_opens(a, r->name.opening, &r->name.capability)) {
        d->stats.denied++;
        return STATUS_GONE;
    }
    if (len == 0 || len > r->name.len || offset > r->name.len - len)
        return STATUS_INVALID;
    extents_note_use(d, r, offset, len);
    *ret = r;
    return STATUS_OK;
}
