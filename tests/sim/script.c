/* SPDX-License-Identifier: MIT */
/* What each process does once the faults have healed: the proof that work goes on, that what is
 * read becomes remote, and that nothing is left behind. The last part is any orderly exit too. */
#include "tests/sim/world.h"

static Desc *next_desc(Process *p)
{
    while (p->script.desc < DESCS_MAX) {
        Desc *d = &p->descs[p->script.desc++];
        if (d->state == DESC_OPEN)
            return d;
    }
    p->script.desc = 0;
    return NULL;
}

void script_begin(Process *p, enum ScriptStep step)
{
    p->script.on = true;
    p->script.open_tries = 0;
    p->script.step = step;
    p->script.desc = 0;
    program_think(&p->threads[0]);
}

uint64_t script_wait(Thread *t)
{
    unsigned step = t->process->script.step;
    if (step == SCRIPT_OPEN) /* refraction */
        return t->process->world->p.cores.refraction_ns * 8 +
               sim_rng_below(&t->process->rng, 100 * NS_PER_MS);
    bool reading =
        step <= SCRIPT_READ_HITS || (step >= SCRIPT_NEW_READ && step <= SCRIPT_NEW_READ_HITS);
    return reading ? NS_PER_S : 20 * NS_PER_MS; /* fills go out meanwhile */
}

/* What memory the region has now; 0: a part of it has none. */
static uint64_t memory_of(const Process *p, const Desc *d)
{
    ClientRegionInfo info;
    uint64_t memory = 0;
    if (client_region_info(p->client, d->rd, &info) < 0 || info.copies == 0)
        return 0;
    for (unsigned i = 0; client_stripe_info(p->client, d->rd, i, &info) == 0; i++) {
        const RegionName name = {info.address.epoch, info.address.region, info.address.opening};
        if (info.active)
            memory ^= region_digest(&name);
    }
    return memory;
}

/* Reads the next region in full; goes to the next step after the last. */
static void read_next(Thread *t, bool must_hit)
{
    Process *p = t->process;
    Desc *d = next_desc(p);
    if (!d) {
        p->script.step++;
        program_think(t);
        return;
    }
    uint64_t end = d->offset + d->len;
    /* What a host changed by itself may come to light only now: then the region moves. */
    bool honest = t->process->world->p.faults.lie_every_ns == TIME_NEVER;
    /* A region may come back after the last read: nothing of it is filled then. */
    uint64_t memory = memory_of(p, d);
    t->must_hit = must_hit && honest && memory != 0 && memory == d->read && d->file->size >= end;
    d->read = memory;
    program_read_all(t, d);
}

/* Several open at the same time, and a small manager may be busy: it is tried again. */
unsigned script_open_failed(Thread *t)
{
    Process *p = t->process;
    p->script.step = SCRIPT_OPEN;
    return ++p->script.open_tries;
}

static void open_new(Thread *t)
{
    Process *p = t->process;
    Desc *d = &p->descs[0];
    SimFs *fs = program_fs(p);
    p->script.step = SCRIPT_NEW_READ;
    *d = (Desc){.file = &fs->files[0],
                .offset = p->index * 8192u,
                .len = 8192 - 100 * p->index, /* fits however the others' lie in the pool */
                .must_open = true};
    program_open(t, d);
}

/* The background's thread is waited for, which may be reading a file for a prefetch. */
static void leave_over(void *ctx, uint64_t arg)
{
    Process *p = ctx;
    World *w = p->world;
    (void)arg;
    if (p->threads[THREADS_MAX].file.waits)
        simnet_at(w->net, world_now(w) + w->p.fs.op_ns + 1, &p->life, leave_over, p, 0);
    else
        process_end(p);
}

void script_left(Process *p)
{
    simnet_at(p->world->net, world_now(p->world), &p->life, leave_over, p, 0);
}

/* Says good-bye, or dies without: both must come to the same in the end. */
static void leave(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    p->script.step = SCRIPT_END;
    if (w->phase.now == PHASE_WORK && sim_rng_chance(&p->rng, 250000)) {
        process_kill(p);
        return;
    }
    t->op = DO_LEAVE;
    t->desc = NULL;
    SimHeap *was = sim_heap_enter(&p->heap);
    call_leave_start(&t->call, t->channel, w->p.cores.client_request.deadline_ns, process_now(p));
    thread_begin(t);
    sim_heap_enter(was);
}

static void close_next(Thread *t)
{
    Process *p = t->process;
    Desc *d = next_desc(p);
    if (d) {
        program_close(t, d);
        return;
    }
    p->script.step = p->leaving ? SCRIPT_LEAVE : SCRIPT_CLOSED;
    program_think(t);
}

static void wait_for(Thread *t, enum Phase phase)
{
    Process *p = t->process;
    if (p->world->phase.now >= phase)
        p->script.step++;
    program_think(t);
}

void script_next(Thread *t)
{
    Process *p = t->process;
    if (t->index != 0)
        return;
    t->must_hit = false;
    if (p->carried_count > 0) {
        program_carry_close(t);
        return;
    }
    switch ((enum ScriptStep)p->script.step) {
    case SCRIPT_READ:
    case SCRIPT_READ_MORE:
    case SCRIPT_NEW_READ:
    case SCRIPT_NEW_READ_MORE:
        read_next(t, false);
        break;
    case SCRIPT_READ_HITS:
    case SCRIPT_NEW_READ_HITS:
        read_next(t, true);
        break;
    case SCRIPT_READ_DONE:
        wait_for(t, PHASE_CLOSE);
        break;
    case SCRIPT_CLOSE:
        close_next(t);
        break;
    case SCRIPT_CLOSED:
        wait_for(t, PHASE_WORK);
        break;
    case SCRIPT_OPEN:
        open_new(t);
        break;
    case SCRIPT_NEW_WRITE:
        p->script.step++;
        program_write_all(t, &p->descs[0]);
        break;
    case SCRIPT_NEW_CLOSE:
        p->script.step++;
        if (sim_rng_chance(&p->rng, 500000))
            program_close(t, &p->descs[0]);
        else
            program_think(t);
        break;
    case SCRIPT_LEAVE:
        leave(t);
        break;
    case SCRIPT_END:
        break;
    }
}
