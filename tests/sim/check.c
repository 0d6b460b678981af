/* SPDX-License-Identifier: MIT */
/* What must hold at every instant, and what must hold when all is quiet. */
#include "tests/sim/world.h"

/* ---- at every instant ----------------------------------------------------------------------- */

typedef struct Live {
    RegionAddress address;
    unsigned client;
    bool guest;
} Live;

enum { LIVES_MAX = CLIENTS_MAX * DESCS_MAX * MEMBERS_MAX };

static unsigned live_regions(World *w, Live live[LIVES_MAX])
{
    unsigned n = 0;
    ClientRegionInfo info;
    for (unsigned i = 0; i < w->p.clients; i++) {
        Process *p = &w->processes[i];
        if (!p->running)
            continue;
        for (int rd = -1; (rd = client_region_next(p->client, rd)) >= 0;)
            for (unsigned j = 0; n < LIVES_MAX && client_stripe_info(p->client, rd, j, &info) == 0;
                 j++)
                if (info.active)
                    live[n++] = (Live){info.address, i, info.guest};
    }
    return n;
}

/* Processes of one host may share it. A guest may not know yet that another one has it now. */
static bool are_shared(const World *w, const Live *a, const Live *b)
{
    return (a->guest || b->guest) && w->processes[a->client].host == w->processes[b->client].host;
}

/* A retained region that was opened again is active in one table only. */
static void check_live_once(World *w)
{
    Live live[LIVES_MAX];
    unsigned n = live_regions(w, live);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++)
            if (live[i].address.epoch == live[j].address.epoch &&
                live[i].address.region == live[j].address.region &&
                !are_shared(w, &live[i], &live[j]))
                violate(w, "region %llu is live twice, at client%u and client%u",
                        (unsigned long long)live[i].address.region, live[i].client, live[j].client);
}

static void check_imd(World *w, ImdNode *n)
{
    RegionListing l;
    SimHeap *was = sim_heap_enter(&n->heap);
    if (!imd_control_check(n->member.control))
        violate(w, "imd%u: directory and pool disagree", n->index);
    for (unsigned i = 0; i < w->p.imd_threads; i++) {
        size_t held = 0;
        for (unsigned j = 0; j < n->held_count; j++)
            held += n->held[j].thread == i;
        if (!imd_data_check(n->threads[i].serve.data))
            violate(w, "imd%u: invariants of data thread %u are broken", n->index, i);
        if (imd_data_regions(n->threads[i].serve.data) != held)
            violate(w, "imd%u: data thread %u holds %zu regions, was given %zu", n->index, i,
                    imd_data_regions(n->threads[i].serve.data), held);
    }
    for (size_t i = 0; imd_control_region_at(n->member.control, i, &l); i++)
        if ((l.flags & REGION_RELEASED) && id_set_has(&w->written, opening_id(&l.address)))
            violate(w, "imd%u: region %llu was written in the opening it is retained from",
                    n->index, (unsigned long long)l.address.region);
    if (n->leaving && !n->paused &&
        world_now(w) > n->left_ns + w->p.cores.leave_deadline_ns + 100 * NS_PER_MS)
        violate(w, "imd%u: does not end though it was asked to leave", n->index);
    if (n->save_by_ns && !n->leaving && !n->paused &&
        world_now(w) > max_u64(n->save_by_ns, n->silent_ns) + 100 * NS_PER_MS)
        violate(w, "imd%u: is there for longer than its owner allows", n->index);
    sim_heap_enter(was);
}

static bool host_gone(const World *w, uint64_t epoch)
{
    for (unsigned i = 0; i < w->p.imds; i++)
        if (w->imds[i].running && w->imds[i].epoch == epoch)
            return false;
    return true;
}

/* What has become of a stripe since it was looked at last. Returns the epoch of the host that it
 * has lost, or 0; *ret_kept: of the one that it had and has. */
static uint64_t look_at_stripe(Process *p, Desc *d, unsigned i, const ClientRegionInfo *info,
                               uint64_t *ret_kept)
{
    World *w = p->world;
    uint64_t before = d->seen[i].epoch, lost = before && !info->active && !info->waits ? before : 0;
    *ret_kept = info->active ? before : 0;
    d->seen[i].epoch = info->active ? info->address.epoch : 0;
    if (!program_stripes(w, d) && !program_mirrored(d))
        return lost;
    bool mirrored = program_mirrored(d);
    cover_add(w, mirrored ? COVER_COPIES_LOST : COVER_STRIPES_LOST, lost != 0);
    cover_add(w, mirrored ? COVER_COPIES_BACK : COVER_STRIPES_BACK,
              d->seen[i].lost && info->active);
    d->seen[i].lost = (d->seen[i].lost && !info->active) || lost;
    if (lost && w->p.calm && !d->lost)
        violate(w, "client%u rd %d: stripe %u was lost although nothing happened to it", p->index,
                d->rd, i);
    return lost;
}

/* A region without DODO_FALLBACK that has lost all its memory has lost it for good. */
static void check_death(Process *p, Desc *d)
{
    ClientRegionInfo info;
    if (client_region_info(p->client, d->rd, &info) < 0)
        return;
    if (d->dead && info.active && !(d->flags & DODO_FALLBACK))
        violate(p->world, "client%u rd %d: a dead region is active again", p->index, d->rd);
    cover_add(p->world, COVER_STRIPED_DEAD, info.stripes && !info.active && !d->dead);
    cover_add(p->world, COVER_MIRRORED_DEAD, program_mirrored(d) && !info.active && !d->dead);
    d->dead = !info.active && !info.waits;
}

/* No host has both copies of a stripe. */
static void check_apart(Process *p, const Desc *d)
{
    unsigned stripes = program_stripes(p->world, d);
    stripes = stripes ? stripes : 1;
    for (unsigned i = 0; i < stripes; i++)
        if (d->seen[i].epoch && d->seen[i].epoch == d->seen[i + stripes].epoch)
            violate(p->world, "client%u rd %d: one host has both copies of stripe %u", p->index,
                    d->rd, i);
}

/* A copy whose host is no more is known to be lost soon, whether somebody reads it or not. */
static void check_missed(Process *p, Desc *d)
{
    const Params *q = &p->world->p;
    uint64_t now = world_now(p->world);
    uint64_t bound = 2 * q->cores.alive_ns + 4 * q->cores.transfer_deadline_ns + q->fs.op_ns +
                     q->fs.slow_ns + NS_PER_S;
    for (unsigned i = 0; program_mirrored(d) && i < MEMBERS_MAX; i++) {
        bool gone = d->seen[i].epoch && host_gone(p->world, d->seen[i].epoch);
        if (!gone || p->paused || d->seen[i].gone_ns == 0)
            d->seen[i].gone_ns = gone ? now : 0;
        else if (now > d->seen[i].gone_ns + bound)
            violate(p->world, "client%u rd %d: copy %u is taken for good, whose host died long ago",
                    p->index, d->rd, i);
    }
}

/* A region that leaves a host takes along all that it has there. Who gives up nothing, and whose
 * hosts give nothing back, has as much afterwards as before. */
static void check_moved(Process *p, const ClientStats *s)
{
    World *w = p->world;
    ClientRegionInfo info;
    uint64_t unfilled = s->regions_lost + s->voided + s->poisoned + s->corrupt;
    bool judged = w->looked_always && s->moves != p->seen.moves && unfilled == p->seen.unfilled &&
                  w->p.programs.weights[DO_DISCARD] == 0 &&
                  w->p.owners.limit_every_ns == TIME_NEVER &&
                  w->p.faults.lie_every_ns == TIME_NEVER;
    cover_add(w, COVER_MOVES, s->moves - p->seen.moves);
    for (unsigned i = 0; i < DESCS_MAX; i++) {
        Desc *d = &p->descs[i];
        if (d->state != DESC_OPEN || client_region_info(p->client, d->rd, &info) < 0)
            continue;
        if (judged && !d->reused && info.filled_bytes < d->filled_bytes)
            violate(w, "client%u rd %d: has %llu bytes after a move, of %llu", p->index, d->rd,
                    (unsigned long long)info.filled_bytes, (unsigned long long)d->filled_bytes);
        d->filled_bytes = info.filled_bytes;
    }
    p->seen.moves = s->moves;
    p->seen.unfilled = unfilled;
}

/* A client that noticed the end of a host with one descriptor has noticed it with all: the host is
 * gone for good, a descriptor on it is inactive, so no other may be active. (Only its own
 * silence, its good-bye or its successor tell a client: no late "region gone" of the dead one.) */
static void check_host_deaths(World *w, Process *p)
{
    ClientRegionInfo info;
    ClientStats s;
    uint64_t lost = 0, kept[DESCS_MAX][MEMBERS_MAX] = {{0}}; /* that were active before too */
    client_stats(p->client, &s);
    bool news = s.hosts_lost != p->seen.hosts_lost && s.poisoned == p->seen.poisoned &&
                s.moves == p->seen.moves;
    check_moved(p, &s);
    p->seen.hosts_lost = s.hosts_lost;
    p->seen.poisoned = s.poisoned;
    for (unsigned i = 0; i < DESCS_MAX; i++) {
        Desc *d = &p->descs[i];
        if (d->state != DESC_OPEN)
            continue;
        check_death(p, d);
        for (unsigned j = 0; j < MEMBERS_MAX && client_stripe_info(p->client, d->rd, j, &info) == 0;
             j++) {
            uint64_t gone = look_at_stripe(p, d, j, &info, &kept[i][j]);
            lost = gone ? gone : lost;
        }
        check_apart(p, d);
        check_missed(p, d);
    }
    for (unsigned i = 0; news && lost && i < DESCS_MAX; i++)
        for (unsigned j = 0; j < MEMBERS_MAX; j++)
            if (kept[i][j] == lost && p->descs[i].seen[j].epoch == lost && host_gone(w, lost))
                violate(w, "client%u has lost a host but keeps a region on it (rd %d)", p->index,
                        p->descs[i].rd);
}

void check_invariants(World *w)
{
    for (unsigned i = 0; i < w->p.clients; i++) {
        Process *p = &w->processes[i];
        if (!p->running)
            continue;
        if (!client_check(p->client))
            violate(w, "client%u: the core's invariants are broken", i);
        check_host_deaths(w, p);
    }
    for (unsigned i = 0; i < 2; i++) {
        CmdNode *n = i ? &w->other : &w->cmd;
        if (n->running && !manager_check(n->manager))
            violate(w, "cmd: the core's invariants are broken");
        cmd_count(n);
    }
    for (unsigned i = 0; i < w->p.imds; i++)
        if (w->imds[i].running)
            check_imd(w, &w->imds[i]);
    check_live_once(w);
    cover(w, COVER_CHECKS);
}

/* ---- when quiet ----------------------------------------------------------------------------- */

static bool is_live(const Live *live, unsigned n, const RegionAddress *a)
{
    for (unsigned i = 0; i < n; i++)
        if (live[i].address.epoch == a->epoch && live[i].address.region == a->region &&
            live[i].address.opening == a->opening)
            return true;
    return false;
}

/* The manager knows of each owner what his monitor has reported. */
static void check_owners(World *w)
{
    for (unsigned i = 0; w->p.owners.monitors && i < w->p.imds; i++) {
        const SimOwner *o = &w->owners[i];
        const Addr at = addr_sim(o->imd->host, PORT_RMD);
        OpHost known = {0};
        if (!manager_owner(world_manager(w)->manager, &at, &known) ||
            known.state != o->told.state || known.epoch != o->told.epoch)
            violate(w, "the manager takes the owner of host %u for state %u, who is in %u", i,
                    known.state, o->told.state);
    }
}

/* Every region that a host holds open is some live client's, and the manager knows as many
 * regions as the hosts have. */
void check_no_leak(World *w)
{
    Live live[LIVES_MAX];
    RegionListing l;
    unsigned n = live_regions(w, live);
    uint64_t total = 0;
    ManagerStats s;
    manager_stats(world_manager(w)->manager, &s);
    /* A directory full of live regions cannot know of more, before some of them go. */
    bool full = s.regions >= w->p.cores.cmd_regions_max;
    for (unsigned i = 0; i < w->p.imds; i++) {
        ImdNode *node = &w->imds[i];
        if (!imd_control_joined(node->member.control))
            violate(w, "imd%u is not with the manager after all has healed", i);
        for (size_t j = 0; imd_control_region_at(node->member.control, j, &l); j++, total++)
            if (!full && !(l.flags & REGION_RELEASED) && !is_live(live, n, &l.address))
                violate(w, "imd%u: region %llu opening %u is leaked: no live client has it", i,
                        (unsigned long long)l.address.region, l.address.opening);
    }
    if (full ? s.regions > total : s.regions != total)
        violate(w, "the manager knows %llu regions, the hosts hold %llu",
                (unsigned long long)s.regions, (unsigned long long)total);
    check_owners(w);
    if (s.hosts != w->p.imds)
        violate(w, "the manager knows %llu hosts of %u", (unsigned long long)s.hosts, w->p.imds);
    cover(w, COVER_CHECKS);
}

/* There is room for all of them, and time enough has passed. */
static void check_even(World *w)
{
    ClientRegionInfo info;
    bool judged = (w->p.scenario == SCENARIO_MIRRORS || w->p.scenario == SCENARIO_COPIES) &&
                  w->p.faults.lie_every_ns == TIME_NEVER; /* a lie comes to light late */
    for (unsigned i = 0; judged && i < w->p.clients; i++) {
        Process *p = &w->processes[i];
        for (unsigned j = 0; p->running && j < DESCS_MAX; j++) {
            const Desc *d = &p->descs[j];
            if (d->state != DESC_OPEN || !program_mirrored(d) ||
                client_region_info(p->client, d->rd, &info) < 0 || !info.active)
                continue;
            cover(w, COVER_MIRRORED_EVEN);
            if (!client_copies_even(p->client, d->rd))
                violate(w, "client%u rd %d: all is healed, but not its second copy", i, d->rd);
        }
    }
}

/* There is room elsewhere, and time enough has passed. */
static void check_drained(World *w, const Live *live, unsigned n)
{
    bool soon = w->p.scenario == SCENARIO_DRAINS || w->p.hosts.drain_rate == 0;
    bool room = w->p.scenario == SCENARIO_DRAINS || w->p.scenario == SCENARIO_CARRIES;
    bool judged = room && soon && w->p.owners.limit_every_ns == TIME_NEVER &&
                  w->p.faults.lie_every_ns == TIME_NEVER &&
                  w->p.owners.reclaim_every_ns == TIME_NEVER;
    for (unsigned i = 0; judged && i < n; i++)
        for (unsigned j = 0; j < w->p.imds; j++)
            if (w->drains.of[j] && live[i].address.epoch == w->imds[j].epoch)
                violate(w, "client%u: region %llu is still on imd%u, which is drained",
                        live[i].client, (unsigned long long)live[i].address.region, j);
}

/* After all regions were read: what a client takes for active is there. */
void check_probed(World *w)
{
    Live live[LIVES_MAX];
    unsigned n = live_regions(w, live);
    check_even(w);
    check_drained(w, live, n);
    for (unsigned i = 0; i < n; i++) {
        bool found = false;
        for (unsigned j = 0; j < w->p.imds; j++) {
            RegionListing l;
            ImdControl *c = w->imds[j].member.control;
            for (size_t k = 0; imd_control_region_at(c, k, &l); k++)
                found |= is_live(&live[i], 1, &l.address) && !(l.flags & REGION_RELEASED);
        }
        if (!found)
            violate(w, "client%u believes in region %llu, which no host has", live[i].client,
                    (unsigned long long)live[i].address.region);
    }
    cover(w, COVER_CHECKS);
}

/* Not one of many is a fault even where a few may be bad luck (evicted, a manager just started). */
static void check_retained(World *w)
{
    if (!w->p.calm)
        return;
    if (w->retained.not_kept >= 5 && w->retained.not_kept > 2 * w->retained.kept)
        violate(w, "of %u clean closes with DODO_RETAIN only %u were kept",
                w->retained.kept + w->retained.not_kept, w->retained.kept);
    if (w->retained.not_reused >= 5 && w->retained.not_reused > 2 * w->retained.reused)
        violate(w, "of %u regions kept and fresh only %u were found again",
                w->retained.reused + w->retained.not_reused, w->retained.reused);
}

/* All clients are gone: nothing but retained regions is left, and all else is free. */
void check_quiet(World *w)
{
    RegionListing l;
    check_no_leak(w);
    check_retained(w);
    for (unsigned i = 0; i < w->p.imds; i++) {
        ImdNode *n = &w->imds[i];
        uint64_t held = 0;
        for (size_t j = 0; imd_control_region_at(n->member.control, j, &l); j++) {
            held += (l.len + 4095) / 4096 * 4096;
            if (!(l.flags & REGION_RELEASED))
                violate(w, "imd%u: region %llu is held though all clients are gone", i,
                        (unsigned long long)l.address.region);
        }
        if (n->member.owner.on && n->reported_limit != imd_control_limit_bytes(n->member.control))
            violate(w, "imd%u: its monitor does not know that the limit is reached", i);
        if (n->member.hurrying)
            violate(w, "imd%u: hurries though nobody waits for memory", i);
        if (imd_control_free_bytes(n->member.control) + held != w->p.hosts.pool_bytes)
            violate(w, "imd%u: %llu bytes free and %llu held of %llu", i,
                    (unsigned long long)imd_control_free_bytes(n->member.control),
                    (unsigned long long)held, (unsigned long long)w->p.hosts.pool_bytes);
    }
}
