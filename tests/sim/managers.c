/* SPDX-License-Identifier: MIT */
/* Two managers, of which one is active by a lease, and the lock that decides which. The one that
 * has lost the lock may go on for long, believing that it is active: it does not notice, or stands
 * still and goes on later; or it is killed. Meanwhile hosts and programs are cut off from one of
 * the two now and then, each shorter than any silence is tolerated. So no region may be lost. All
 * of it with numbers of its own. */
#include "tests/sim/world.h"

static CmdNode *other_of(World *w, const CmdNode *n)
{
    return n == &w->cmd ? &w->other : &w->cmd;
}

CmdNode *world_manager(const World *w)
{
    return w->lock.holder;
}

static void later(World *w, uint64_t after_ns, const uint32_t *life, SimFn fn, uint64_t arg)
{
    simnet_at(w->net, world_now(w) + after_ns, life, fn, w, arg);
}

static CmdNode *node_at(World *w, uint64_t arg)
{
    return arg ? &w->other : &w->cmd;
}

/* ---- the lock -------------------------------------------------------------------------------- */

static void give_lock(World *w, CmdNode *n)
{
    w->lock.holder = n;
    w->lock.number++;
    story(w, "%s gets lease %llu", n->env.name, (unsigned long long)w->lock.number);
    cmd_lease_begins(n, w->lock.number);
}

static void notice(void *ctx, uint64_t arg)
{
    World *w = ctx;
    CmdNode *n = node_at(w, arg);
    if (n == w->lock.holder || n->paused)
        return;
    cmd_lease_ends(n);
}

static void resume(void *ctx, uint64_t arg)
{
    World *w = ctx;
    CmdNode *n = node_at(w, arg);
    cmd_resume(n);
    later(w, sim_rng_below(&w->rngs.managers, 50 * NS_PER_MS), &n->life, notice, arg);
}

static void start_again(void *ctx, uint64_t arg)
{
    World *w = ctx;
    cmd_start(node_at(w, arg));
}

static uint64_t long_time(World *w)
{
    return sim_rng_below(&w->rngs.managers, 3 * w->p.cores.client_dead_ns);
}

/* The one that had the lock does not know it yet, stands still, or is no more. */
static void take_lock(World *w, CmdNode *n)
{
    const uint64_t arg = n == &w->other, how_long = long_time(w);
    switch (sim_rng_below(&w->rngs.managers, 4)) {
    case 0:
        cmd_crash(n);
        later(w, how_long, NULL, start_again, arg);
        break;
    case 1:
        cmd_pause(n);
        later(w, how_long, &n->life, resume, arg);
        break;
    default:
        cover(w, COVER_LEASE_UNNOTICED);
        later(w, how_long, &n->life, notice, arg);
    }
}

static void next_move(World *w);

static void move_lock(void *ctx, uint64_t arg)
{
    World *w = ctx;
    CmdNode *from = world_manager(w), *to = other_of(w, from);
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    if (to->running && !to->paused) {
        cmd_lease_ends(to); /* if it had not noticed yet */
        cover(w, COVER_LEASES);
        take_lock(w, from);
        give_lock(w, to);
    }
    next_move(w);
}

static void next_move(World *w)
{
    later(w,
          2 * w->p.cores.client_dead_ns +
              sim_rng_below(&w->rngs.managers, 2 * w->p.cores.client_dead_ns),
          NULL, move_lock, 0);
}

/* ---- cuts ------------------------------------------------------------------------------------ */

static void uncut(void *ctx, uint64_t arg)
{
    World *w = ctx;
    unsigned manager = (unsigned)(arg >> 8), host = (unsigned)(arg & 255);
    for (unsigned i = 0; i < 2; i++) {
        SimLink *l = simnet_link(w->net, i ? manager : host, i ? host : manager);
        if (l->cut)
            l->cut--;
    }
}

static void next_cut(World *w);

static void cut(void *ctx, uint64_t arg)
{
    World *w = ctx;
    SimRng *r = &w->rngs.managers;
    const uint64_t pick = sim_rng_below(r, w->p.imds + w->p.client_hosts);
    const unsigned host =
        pick < w->p.imds ? HOST_IMD + (unsigned)pick : HOST_CLIENT + (unsigned)(pick - w->p.imds);
    const unsigned manager = sim_rng_below(r, 3) ? world_manager(w)->host : HOST_OTHER;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    story(w, "nothing passes between manager %u and host %u", manager, host);
    simnet_link(w->net, manager, host)->cut++;
    simnet_link(w->net, host, manager)->cut++;
    later(w, sim_rng_between(r, NS_PER_S / 2, w->p.cores.client_dead_ns / 4), NULL, uncut,
          (uint64_t)manager << 8 | host);
    next_cut(w);
}

static void next_cut(World *w)
{
    later(w, sim_rng_between(&w->rngs.managers, NS_PER_S, w->p.cores.client_dead_ns / 3), NULL, cut,
          0);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void first_lock(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    cmd_start(&w->cmd);
    cmd_start(&w->other);
    give_lock(w, &w->cmd);
}

void managers_start(World *w)
{
    if (!w->p.managers)
        return;
    sim_rng_init(&w->rngs.managers, w->seed, 0x6d616e61);
    later(w, 100 * NS_PER_MS, NULL, first_lock, 0);
    next_move(w);
    next_cut(w);
}

void managers_heal(World *w)
{
    if (!w->p.managers)
        return;
    CmdNode *other = other_of(w, world_manager(w));
    cmd_resume(other);
    cmd_start(other);
    cmd_lease_ends(other);
}

Places managers_places(void)
{
    return (Places){
        .count = 2,
        .of = {{.addr = addr_sim(HOST_CMD, PORT_CMD)}, {.addr = addr_sim(HOST_OTHER, PORT_CMD)}}};
}
