/* SPDX-License-Identifier: MIT */
/* Processes of a user on one host that open the same part of the same file with DODO_RDONLY share
 * the region's memory. One of them, the opener, opens the region at the manager, claims and closes
 * it. The others, its guests, use it at the same address: an imd asks nobody who he is that knows
 * the region's capability. The checksums of its blocks lie in memory that all have in common (the
 * map), so that each can check what another one has filled.
 *
 * Why that is safe. A process joins only when its file had the map's stamp, no program can be
 * writing it (a lease proves it), and every later change gives another stamp: so the file has not
 * changed since the map was begun. What is filled after that is what the file held then. Should the
 * file change while they have it open, the processes fill different bytes for a block; the second
 * one finds that the map has another checksum, and all of them go on alone (ShareMap.changed). The
 * name of a map has the stamp in it, so who opens the changed file joins another one.
 *
 * When the opener closes, it leaves the region to the manager as one that is kept for the next run.
 * A guest finds that its address is gone, proves once more that the file has not changed, and
 * becomes the opener: it opens the kept region, and all that it holds. Until then the file serves.
 * When the opener dies, the manager frees the region in time, and a guest opens another. */
#include "libdodo/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"

#define SHARE_WAIT_NS (2 * NS_PER_MS) /* the first look; then twice as long each time */

/* ---- joining -------------------------------------------------------------------------------- */

bool share_wanted(const Client *c, const FileGiven *given, unsigned flags)
{
    return c->hooks.share_end && c->config.block_sum && (flags & DODO_RDONLY) &&
           !(flags & DODO_MIRROR) && given->shareable;
}

ShareName share_name(const FileKey *key, const Stamp *stamp, uint64_t offset, uint64_t len)
{
    return (ShareName){.name = {.key = *key, .offset = offset, .len = len}, .stamp = *stamp};
}

void share_join(Client *c, Region *r, const CallOpen *open, uint64_t now_ns)
{
    Share *share = open->share.share;
    if (!share)
        return;
    r->sharing = (Sharing){.share = share, .guest = open->turn == SHARE_GUEST};
    if (open->share.made)
        share->map->seed = env_random_u64(&c->env);
    if (r->flags & DODO_RETAIN)
        atomic_store(&share->map->keep, 1);
    if (open->turn == SHARE_WAIT)
        share_waits(c, r, now_ns);
}

bool share_for_oneself(Region *r)
{
    if (!region_shares(r))
        return true;
    if (r->sharing.guest || share_others(r))
        return false;
    share_leave(r);
    return true;
}

/* ---- waiting for another process ------------------------------------------------------------ */

void share_waits(Client *c, Region *r, uint64_t now_ns)
{
    Sharing *s = &r->sharing;
    if (!s->waits && r->stripe.parent)
        r->stripe.parent->stripe.waiting++;
    s->wait_ns = s->waits ? min_u64(2 * s->wait_ns, c->config.reopen_ns) : SHARE_WAIT_NS;
    s->waits = true;
    client_region_soon(c, r, time_add(now_ns, s->wait_ns));
}

/* ---- changes -------------------------------------------------------------------------------- */

void share_hand_over(Region *from, Region *to)
{
    if (!region_shares(from))
        return;
    checks_end(to);
    to->sharing = from->sharing;
    from->sharing = (Sharing){0};
    to->memory.blocks.checks = to->sharing.share->map->checks;
    to->memory.blocks.seed = to->sharing.share->map->seed;
    share_publish(to);
}

void share_look(Client *c, Region *r, uint64_t now_ns)
{
    if (!region_shares(r) && r->mirror.twin)
        r = r->mirror.twin; /* it has moved there */
    if (!share_has_changed(r))
        return;
    bool was = r->active;
    share_leave(r); /* before its copy could take its place */
    if (was)
        client_region_retire(c, r, now_ns);
    if (was && !mirror_other(r))
        share_waits(c, r, now_ns);
}
