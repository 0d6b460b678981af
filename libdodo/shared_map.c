/* SPDX-License-Identifier: MIT */
/* What several processes know of a region that they share, and one region's part in it. It calls
 * nothing of the regions' life. */
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/region.h"
#include "libdodo/sharing.h"

/* ---- the map -------------------------------------------------------------------------------- */

size_t share_map_bytes(uint64_t len)
{
    return sizeof(ShareMap) + blocks_in(len) * sizeof(BlockCheck);
}

void share_map_begin(ShareMap *map, const ShareName *name)
{
    map->name = *name;
    atomic_store(&map->version, SHARE_MAP_VERSION); /* last: now it counts */
}

bool share_map_good(const ShareMap *map, const ShareName *name)
{
    return atomic_load(&map->version) == SHARE_MAP_VERSION &&
           memcmp(&map->name.name, &name->name, sizeof name->name) == 0 &&
           stamp_equal(&map->name.stamp, &name->stamp);
}

/* The opener alone writes it. One that died while it did leaves an odd turn. */
static void place_set(ShareMap *map, const OpOpenReply *place)
{
    uint32_t turn = atomic_load(&map->turn) | 1;
    (void)atomic_exchange(&map->turn, turn); /* before what follows is written */
    map->place = *place;
    (void)atomic_exchange(&map->turn, turn + 1);
}

static bool place_get(ShareMap *map, OpOpenReply *ret)
{
    uint32_t turn = atomic_load(&map->turn);
    *ret = map->place;
    bool same = atomic_fetch_add(&map->turn, 0) == turn; /* after it was read */
    return !(turn & 1) && same && ret->address.region != 0;
}

enum ShareTurn share_turn(const Share *share, const RegionAddress *lost, OpOpenReply *ret_place)
{
    ShareMap *map = share->map;
    if (atomic_load(&map->changed))
        return SHARE_ALONE;
    if (share->opener) {
        atomic_store(&map->vacant, 0);
        return SHARE_OPEN;
    }
    if (place_get(map, ret_place))
        return lost && region_address_equal(&ret_place->address, lost) ? SHARE_STALE : SHARE_GUEST;
    return atomic_load(&map->vacant) ? SHARE_ALONE : SHARE_WAIT;
}

/* ---- a region's part in it ------------------------------------------------------------------ */

bool region_shares(const Region *r)
{
    return r->sharing.share && !r->sharing.over;
}

void share_publish(Region *r)
{
    if (!region_shares(r) || !r->sharing.share->opener || !r->active)
        return;
    const OpOpenReply place = {.host = r->memory.host,
                               .control_port = r->memory.control_port,
                               .address = r->memory.address};
    place_set(r->sharing.share->map, &place);
}

void share_withdraw(Region *r)
{
    static const OpOpenReply nowhere;
    if (r->sharing.share && r->sharing.share->opener)
        place_set(r->sharing.share->map, &nowhere);
}

/* Without memory for them it goes on without: they are found again. */
static void checks_part(Region *r)
{
    const BlockCheck *of = r->sharing.share->map->checks;
    if (r->memory.blocks.checks != of)
        return;
    r->memory.blocks.checks = malloc(blocks_in(r->len) * sizeof *of);
    if (r->memory.blocks.checks)
        memcpy(r->memory.blocks.checks, of, blocks_in(r->len) * sizeof *of);
}

void share_leave(Region *r)
{
    if (r->sharing.share)
        checks_part(r);
    share_withdraw(r);
    if (r->sharing.share && r->sharing.share->opener)
        atomic_store(&r->sharing.share->map->vacant, 1);
    r->sharing.over = true;
    r->sharing.guest = false;
}

void share_waits_no_more(Region *r)
{
    if (r->sharing.waits && r->stripe.parent)
        r->stripe.parent->stripe.waiting--;
    r->sharing.waits = false;
}

void share_changed(Region *r)
{
    atomic_store(&r->sharing.share->map->changed, 1);
}

bool share_has_changed(const Region *r)
{
    return region_shares(r) && atomic_load(&r->sharing.share->map->changed);
}

bool share_others(const Region *r)
{
    return region_shares(r) && r->sharing.share->opener &&
           atomic_load(&r->sharing.share->map->present) > 1;
}

bool share_retains(const Region *r)
{
    return (r->flags & DODO_RETAIN) ||
           (region_shares(r) && atomic_load(&r->sharing.share->map->keep));
}
