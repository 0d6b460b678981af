/* SPDX-License-Identifier: MIT */
/* Hosts that return something else than they were given: bits of their pools flip. With numbers of
 * its own, as all else of a seed is as it would be without. */
#include "tests/sim/world.h"

static void lie_due(void *ctx, uint64_t arg);

static void lie_later(World *w)
{
    uint64_t after = sim_rng_below(&w->rngs.lies, 2 * w->p.faults.lie_every_ns);
    simnet_at(w->net, world_now(w) + after, NULL, lie_due, w, 0);
}

/* A few bits, or a block's worth of bytes, as if it were another's. */
static void pool_change(World *w, uint8_t *pool)
{
    SimRng *r = &w->rngs.lies;
    uint64_t blocks = w->p.hosts.pool_bytes / 4096;
    for (uint64_t n = sim_rng_spread(r, 1, 1 + blocks / 2); n > 0; n--) {
        uint8_t *block = pool + sim_rng_below(r, blocks) * 4096;
        if (sim_rng_below(r, 4))
            block[sim_rng_below(r, 4096)] ^= (uint8_t)(1u << sim_rng_below(r, 8));
        else
            memcpy(block, pool + sim_rng_below(r, blocks) * 4096, 4096);
    }
}

static void lie_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    ImdNode *n = &w->imds[sim_rng_below(&w->rngs.lies, w->p.imds)];
    if (n->running) {
        cover(w, COVER_LIES);
        pool_change(w, n->pool);
    }
    lie_later(w);
}

void lies_start(World *w)
{
    sim_rng_init(&w->rngs.lies, w->seed, 0x6c696573);
    if (w->p.faults.lie_every_ns != TIME_NEVER)
        lie_later(w);
}
