/* SPDX-License-Identifier: MIT */
/* The owners of the hosts: now and then their monitor makes an imd's pool smaller, and larger
 * again. All of it with numbers of its own. */
#include "tests/sim/world.h"

static void limit_due(void *ctx, uint64_t arg);

static void limit_later(World *w)
{
    uint64_t after = sim_rng_below(&w->owners_rng, 2 * w->p.limit_every_ns);
    simnet_at(w->net, world_now(w) + after, NULL, limit_due, w, 0);
}

/* Mostly somewhere between nothing and all, sometimes either. */
static uint64_t some_limit(World *w)
{
    SimRng *r = &w->owners_rng;
    uint64_t pick = sim_rng_below(r, 4);
    return pick == 0 ? 0 : pick == 1 ? UINT64_MAX : sim_rng_below(r, w->p.pool_bytes);
}

static void limit_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase != PHASE_RUN)
        return;
    uint64_t i = sim_rng_below(&w->owners_rng, w->p.imds);
    imd_limit(&w->imds[i], some_limit(w));
    limit_later(w);
}

void owners_start(World *w)
{
    sim_rng_init(&w->owners_rng, w->seed, 0x6f776e65);
    if (w->p.limit_every_ns != TIME_NEVER)
        limit_later(w);
}

void owners_heal(World *w)
{
    for (unsigned i = 0; w->p.limit_every_ns != TIME_NEVER && i < w->p.imds; i++)
        imd_limit(&w->imds[i], UINT64_MAX);
}
