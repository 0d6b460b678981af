/* SPDX-License-Identifier: MIT */
/* What dodo drain does for regions that are kept for a next run: it takes one away from a host that
 * is being drained, and closes it when it has left, or before. Here any program may be that. */
#include <errno.h>

#include "tests/sim/world.h"

/* A region that is kept on a host that is being drained, by chance; false: none is. */
static bool kept_somewhere(Process *p, OpTake *ret)
{
    World *w = p->world;
    unsigned seen = 0;
    for (unsigned i = 0; i < w->p.imds; i++) {
        const ImdNode *n = &w->imds[i];
        RegionListing l;
        for (size_t k = 0;
             w->drains.of[i] && n->running && imd_control_region_at(n->member.control, k, &l); k++)
            if ((l.flags & REGION_RELEASED) && sim_rng_below(&p->rng, ++seen) == 0)
                *ret = (OpTake){n->epoch, l.address.region};
    }
    return seen > 0;
}

static void begin(Thread *t, int rd)
{
    t->op = DO_CARRY;
    t->desc = NULL;
    t->began.rd = rd;
    t->stripes_begun = 1;
}

void program_carry_close(Thread *t)
{
    Process *p = t->process;
    begin(t, p->carried[--p->carried_count]);
    story(p->world, "client%u.%u closes rd %d, which it carries", p->index, t->index, t->began.rd);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_close_start(&t->call, t->channel, t->began.rd, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

void program_carry(Thread *t)
{
    Process *p = t->process;
    OpTake take;
    bool full = p->carried_count >= CARRIED_MAX - THREADS_MAX; /* others are taking, too */
    if (full || (p->carried_count > 0 && sim_rng_chance(&p->rng, 300000))) {
        program_carry_close(t);
        return;
    }
    if (!kept_somewhere(p, &take)) {
        program_think(t);
        return;
    }
    begin(t, -1);
    story(p->world, "client%u.%u takes region %llu", p->index, t->index,
          (unsigned long long)take.region);
    SimHeap *was = sim_heap_enter(&p->heap);
    call_take_start(&t->call, t->channel, take.epoch, take.region, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

/* It may have been opened, or be gone, by now; and a close finds what a host has left of it. */
void program_carry_over(Thread *t)
{
    Process *p = t->process;
    const Call *c = &t->call;
    if (t->began.rd >= 0) {
        cover_add(p->world, COVER_CARRIED, c->result == 0);
    } else if (c->result >= 0) {
        p->carried[p->carried_count++] = (int)c->result;
    } else if (c->error != ENOENT && c->error != ENOMEM && c->error != EINVAL) {
        violate(p->world, "a region is not taken, with errno %d", c->error);
    }
}
