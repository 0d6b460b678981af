/* SPDX-License-Identifier: MIT */
/* What the process claims of the manager: regions that have memory, those that want some, and when
 * it may be asked for. */
#include <stdlib.h>

#include "dodo/dodo.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/region.h"
#include "libdodo/sharing.h"

enum {
    LONE_SOONER = 16, /* a second copy is tried for so much more often than other regions */
};

uint64_t region_claim(const Region *r)
{
    RegionName name = {r->memory.address.epoch, r->memory.address.region,
                       r->memory.address.opening};
    return region_digest(&name);
}

void client_region_unclaim(Client *c, Region *r)
{
    if (r->active && r->stripe.parent)
        r->stripe.parent->stripe.active--;
    r->active = false;
    if (!r->claimed)
        return;
    r->claimed = false;
    c->regions.digest ^= region_claim(r);
    c->regions.claimed--;
    c->alive_due = true;
}

/* One of two copies has memory now: it is healed from the other one. */
static void mirror_joined(Client *c, Region *r, uint64_t now_ns)
{
    Region *twin = r->mirror.twin;
    if (!twin)
        return;
    r->mirror.answer_ns = r->mirror.asked_ns = r->mirror.heal_wait_ns = 0;
    mirror_heard(c, r, now_ns);
    list_remove(&r->mirror.uneven);
    if (!twin->active) {
        client_region_file(c, twin); /* it is missed less now */
    } else if (twin->memory.blocks.filled_count > 0) {
        mirror_uneven(c, r);
        r->mirror.heal_ns = HEAL_NOW_NS;
    }
}

/* It has lost it. */
static void mirror_lost(Client *c, Region *r)
{
    Region *twin = r->mirror.twin;
    if (!twin)
        return;
    list_remove(&r->mirror.heard);
    list_remove(&r->mirror.uneven);
    list_remove(&twin->mirror.uneven);
    if (!twin->active)
        client_region_file(c, twin);
}

void client_region_activate(Client *c, Region *r, const OpOpenReply *reply, bool reused,
                            uint64_t now_ns)
{
    client_region_unclaim(c, r);
    r->memory.host = reply->host;
    r->memory.control_port = reply->control_port;
    r->memory.address = reply->address;
    r->active = true;
    r->claimed = !r->sharing.guest;
    if (r->stripe.parent)
        r->stripe.parent->stripe.active++;
    list_remove(&r->reopen.link);
    share_waits_no_more(r);
    r->reused = reused;
    numbers_init(&r->memory.numbers, 1);
    c->stats.shared += r->sharing.guest;
    if (r->claimed) {
        c->regions.digest ^= region_claim(r);
        c->regions.claimed++;
    }
    uint64_t blocks = blocks_in(r->len);
    free(r->memory.blocks.filled);
    r->memory.blocks.filled = calloc(
        (blocks + 63) / 64, sizeof *r->memory.blocks.filled); /* without it filled_bytes is 0 */
    region_emptied(c, r);
    r->memory.blocks.rest_ns = r->memory.blocks.given_up = 0;
    checks_begin(c, r);
    mirror_joined(c, r, now_ns);
}

/* Where one copy is enough, the other place is spare: that of the copy that is left with none. */
static void one_is_enough(Region *r)
{
    Region *twin = r->mirror.twin;
    if (!twin || (r->flags & DODO_MIRROR))
        return;
    r->mirror.spare = twin->active;
    twin->mirror.spare = !twin->active;
    if (!twin->active)
        list_remove(&twin->reopen.link);
}

void client_region_retire(Client *c, Region *r, uint64_t now_ns)
{
    share_withdraw(r);
    client_region_unclaim(c, r);
    r->sharing.guest = false;
    one_is_enough(r);
    client_region_idle(c, r, now_ns);
    mirror_lost(c, r);
    region_emptied(c, r);
    free(r->memory.blocks.filled);
    r->memory.blocks.filled = NULL;
    checks_end(r);
    if (r->mirror.twin && r->mirror.twin->active) /* it was on the move: the others follow */
        share_hand_over(r, r->mirror.twin);
    c->losses++;
}

void client_region_deactivate(Client *c, Region *r, uint64_t now_ns)
{
    if (!r->active)
        return;
    client_region_retire(c, r, now_ns);
    c->stats.regions_lost++;
    if (!region_file_serves(r) && !c->stopped) /* when the process ends, another one opens it */
        share_leave(r);
}

bool region_wants_memory(const Region *r)
{
    return !r->active && !r->stripe.of && !r->mirror.spare && !r->carried &&
           !(r->stripe.parent ? r->stripe.parent->closing : r->closing) && region_file_serves(r);
}

bool region_active(const Region *r)
{
    return r->active || r->stripe.active > 0;
}

bool region_waits(const Region *r)
{
    return r->sharing.waits || r->stripe.waiting > 0;
}

/* A lost member is not its region's death as long as there is another. */
bool region_file_serves(const Region *r)
{
    const Region *top = r->stripe.parent ? r->stripe.parent : r;
    return (r->flags & DODO_FALLBACK) || region_active(top) || region_waits(top);
}

static ListNode *idle_list(Client *c, const Region *r)
{
    if (!mirror_other(r))
        return &c->regions.idle;
    return move_wants(c, r) ? &c->moves.wanting : &c->copies.lone;
}

void client_region_file(Client *c, Region *r)
{
    list_remove(&r->reopen.link);
    if (region_wants_memory(r))
        list_push_back(idle_list(c, r), &r->reopen.link);
}

/* While it is missed nothing but the other copy keeps the file from being read. */
static uint64_t reopen_after(const Client *c, const Region *r)
{
    return mirror_other(r) ? c->config.reopen_ns / LONE_SOONER : c->config.reopen_ns;
}

void client_region_idle(Client *c, Region *r, uint64_t now_ns)
{
    r->reopen.at_ns = time_add(now_ns, reopen_after(c, r));
    client_region_file(c, r);
}

void client_region_ask(Client *c, Region *r, uint64_t now_ns)
{
    client_region_idle(c, r, now_ns);
    if (!c->manager.late && !r->reopen.asked_id)
        return;
    r->reopen.at_ns = now_ns;
    list_remove(&r->reopen.link);
    if (region_wants_memory(r))
        list_push_front(idle_list(c, r), &r->reopen.link);
}

void client_region_unask(Client *c, Region *r)
{
    if (r->reopen.asked_id == 0)
        return;
    numbers_end(&c->ids, r->reopen.asked_id);
    r->reopen.asked_id = 0;
    c->alive_due = true;
}

void client_region_soon(Client *c, Region *r, uint64_t at_ns)
{
    list_remove(&r->reopen.link);
    r->reopen.at_ns = at_ns;
    if (!region_wants_memory(r))
        return;
    ListNode *list = idle_list(c, r), *before = list;
    LIST_FOREACH(node, list) {
        if (before == list && CONTAINER_OF(node, Region, reopen.link)->reopen.at_ns > at_ns)
            before = node;
    }
    list_push_back(before, &r->reopen.link);
}

/* Once more, or twice as long as the last one. */
static void refract(const Client *c, uint64_t *period_ns)
{
    uint64_t twice = time_add(*period_ns, *period_ns);
    if (*period_ns < c->config.refraction_ns)
        *period_ns = c->config.refraction_ns;
    else if (*period_ns < c->config.refraction_max_ns)
        *period_ns = min_u64(twice, c->config.refraction_max_ns);
}

void client_refract(Client *c, uint64_t now_ns)
{
    refract(c, &c->manager.refraction_ns);
    c->manager.refraction_until_ns = time_add(now_ns, c->manager.refraction_ns);
    c->stats.refractions++;
}

void client_refract_copies(Client *c, uint64_t now_ns)
{
    refract(c, &c->copies.refraction_ns);
    c->copies.refraction_until_ns = time_add(now_ns, c->copies.refraction_ns);
}

void client_refract_moves(Client *c, uint64_t now_ns)
{
    refract(c, &c->moves.rest_ns);
    c->moves.rest_until_ns = time_add(now_ns, c->moves.rest_ns);
}

void client_refract_end(Client *c, bool copy)
{
    c->manager.refraction_ns = 0;
    if (copy)
        c->copies.refraction_ns = 0;
}
