/* SPDX-License-Identifier: MIT */
/* What a program chooses: a region of its own, what to open, which bytes of it to use. */
#include "tests/sim/world.h"

enum { POPULAR_RANGES = 3, HOT_BLOCKS = 3 };

Desc *program_desc_in(Process *p, int state)
{
    unsigned n = 0;
    Desc *found = NULL;
    for (unsigned i = 0; i < DESCS_MAX; i++)
        if ((int)p->descs[i].state == state && sim_rng_below(&p->rng, ++n) == 0)
            found = &p->descs[i];
    return found;
}

Desc *program_desc_for_use(Process *p)
{
    Desc *d = program_chance(p, 30000) ? program_desc_in(p, DESC_CLOSING) : NULL;
    return d ? d : program_desc_in(p, DESC_OPEN);
}

/* A program that was killed is run again and wants the same. */
static bool choose_killed(Process *p, Desc *d)
{
    const FileModel *m = d->file->user;
    const KilledRange *k = NULL;
    for (unsigned i = 0; i < KILLED_MAX; i++) {
        const KilledRange *next = &m->killed[(m->killed_next + i) % KILLED_MAX];
        if (next->len && (!k || next->writing >= k->writing))
            k = next;
    }
    if (!k || program_chance(p, 200000))
        return false;
    d->offset = k->offset;
    d->len = k->len;
    return true;
}

void program_choose_range(Process *p, Desc *d)
{
    const Params *q = &p->world->p;
    uint64_t max = (uint64_t)q->programs.region_blocks_max * 4096;
    if (choose_killed(p, d))
        return;
    if (program_chance(p, q->programs.popular_ppm)) { /* the same few ranges again and again */
        SimRng r;
        sim_rng_init(&r, p->world->seed,
                     0x72000000 + d->file->index * 16 + sim_rng_below(&p->rng, POPULAR_RANGES));
        d->len = sim_rng_below(&r, 2) ? max : 1 + sim_rng_below(&r, max);
        d->offset = sim_rng_below(&r, (p->world->p.file_cap - d->len) / 4096 + 1) * 4096;
        return;
    }
    d->len = program_chance(p, 500000) ? sim_rng_spread(&p->rng, 1, max)
                                       : (sim_rng_between(&p->rng, 1, max) + 4095) / 4096 * 4096;
    d->offset = sim_rng_between(&p->rng, 0, p->world->p.file_cap - d->len);
    if (q->scenario == SCENARIO_END && d->file->size > d->len / 2 && program_chance(p, 700000)) {
        d->offset = d->file->size - sim_rng_between(&p->rng, 0, d->len / 2);
        if (d->offset > p->world->p.file_cap - d->len)
            d->offset = p->world->p.file_cap - d->len;
    }
    if (program_chance(p, 500000))
        d->offset = d->offset / 4096 * 4096;
}

void program_choose_piece(Thread *t)
{
    Process *p = t->process;
    const Desc *d = t->desc;
    uint64_t blocks = (d->len + 4095) / 4096;
    if (program_chance(p, p->world->p.programs.hot_ppm)) {
        uint64_t block = sim_rng_below(&p->rng, blocks < HOT_BLOCKS ? blocks : HOT_BLOCKS);
        t->offset = block * 4096 + (program_chance(p, 500000) ? 0 : sim_rng_below(&p->rng, 4096));
        t->len = program_chance(p, 300000) ? 4096 : sim_rng_spread(&p->rng, 1, 3 * 4096);
    } else {
        t->offset = sim_rng_below(&p->rng, d->len);
        t->len = sim_rng_spread(&p->rng, 1, d->len);
        if (program_chance(p, 300000)) {
            t->offset = t->offset / 4096 * 4096;
            t->len = (t->len + 4095) / 4096 * 4096;
        }
    }
    if (p->world->p.scenario == SCENARIO_TRICKLE && program_chance(p, 300000)) {
        t->offset = 0;
        t->len = d->len;
    }
    if (p->world->p.scenario == SCENARIO_LARGE && program_chance(p, 700000)) {
        /* all threads at the same time, side by side: their write numbers mount up */
        uint64_t part = d->len / THREADS_MAX / 4096 * 4096;
        t->offset = part * t->index;
        t->len = part ? part : 1;
    }
    if (t->offset > d->len)
        t->offset = d->len;
    if (t->len > p->world->p.region_max)
        t->len = p->world->p.region_max;
    if (program_chance(p, 20000))
        t->offset = d->len;
}
