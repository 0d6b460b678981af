/* SPDX-License-Identifier: MIT */
/* Rules of an imd that are kept by what it never does: broken on purpose, it does that here. */
#include <string.h>

#include "imd/control_priv.h"
#include "imd/data_priv.h"
#include "tests/sim/world.h"

/* What is old then seems to be new, if the capability is the same. */
static void random_but_capabilities(void *ctx, void *buf, size_t len)
{
    SimEnv *e = ctx;
    if (len == sizeof(Id128))
        memset(buf, 0x5c, len);
    else
        sim_rng_fill(&e->rng, buf, len);
}

Env broken_imd_env(Env env)
{
    if (!RULE(EPOCH) || !RULE(REGION_ID) || !RULE(OPENING))
        env.random = random_but_capabilities;
    return env;
}

/* The next region gets the lowest id that no other one has now. */
void broken_imd_ids(ImdNode *n)
{
    Directory *d = &n->member.control->directory;
    if (RULE(REGION_ID))
        return;
    d->next_region = 1;
    while (directory_find(d, d->next_region))
        d->next_region++;
}

/* A new region holds what was in the memory before. */
void broken_imd_obeyed(ImdThread *t, const ImdCommand *c, int result)
{
    if (RULE(UNFILLED_FIRST) || c->kind != IMD_ADD || result != 0)
        return;
    DataRegion *r = data_region_find(t->serve.data, c->region.region);
    memset(r->filled, 0xff, (size_t)(r->blocks + 63) / 64 * sizeof *r->filled);
}
