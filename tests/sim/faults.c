/* SPDX-License-Identifier: MIT */
/* What goes wrong while the programs run: cuts, partitions, crashes, pauses. */
#include "tests/sim/world.h"

static uint64_t how_long(World *w)
{
    uint64_t some = sim_rng_spread(&w->rng, NS_PER_MS, w->p.faults.long_ns);
    /* Now and then longer than any silence is tolerated. */
    uint64_t very =
        sim_rng_between(&w->rng, w->p.cores.host_dead_ns, 2 * w->p.cores.client_dead_ns);
    uint64_t one_in = w->p.scenario == SCENARIO_RECLAIM ? 2 : 8;
    return !w->p.calm && sim_rng_below(&w->rng, one_in) == 0 ? very : some;
}

static void later(World *w, uint64_t after_ns, const uint32_t *life, SimFn fn, uint64_t arg)
{
    simnet_at(w->net, world_now(w) + after_ns, life, fn, w, arg);
}

/* ---- the network ---------------------------------------------------------------------------- */

static void uncut(void *ctx, uint64_t arg)
{
    World *w = ctx;
    SimLink *l = simnet_link(w->net, (unsigned)(arg >> 8), (unsigned)(arg & 255));
    if (l->cut)
        l->cut--;
}

static void cut(World *w, unsigned from, unsigned to, uint64_t how_long_ns)
{
    simnet_link(w->net, from, to)->cut++;
    later(w, how_long_ns, NULL, uncut, (uint64_t)from << 8 | to);
}

static unsigned some_host(World *w)
{
    uint64_t pick = sim_rng_below(&w->rng, 1 + w->p.imds + w->p.client_hosts);
    if (pick == 0)
        return HOST_CMD;
    if (pick <= w->p.imds)
        return HOST_IMD + (unsigned)pick - 1;
    return HOST_CLIENT + (unsigned)pick - 1 - w->p.imds;
}

static void one_way_cut(World *w)
{
    unsigned from = some_host(w), to = some_host(w);
    if (from == to)
        return;
    cover(w, COVER_ONE_WAY_CUTS);
    story(w, "nothing passes from host %u to host %u", from, to);
    cut(w, from, to, how_long(w));
}

static void partition(World *w)
{
    uint64_t sides = sim_rng_u64(&w->rng), how_long_ns = how_long(w);
    cover(w, COVER_PARTITIONS);
    story(w, "a partition, sides %03llx", (unsigned long long)(sides & 0x3ff));
    for (unsigned a = 0; a < HOSTS_COUNT; a++)
        for (unsigned b = 0; b < HOSTS_COUNT; b++)
            if ((sides >> a & 1) != (sides >> b & 1))
                cut(w, a, b, how_long_ns);
}

/* ---- processes ------------------------------------------------------------------------------ */

static void start_imd(void *ctx, uint64_t arg)
{
    World *w = ctx;
    imd_start(&w->imds[arg]);
}

static void restart_left(void *ctx, uint64_t arg)
{
    World *w = ctx;
    if (w->imds[arg].running)
        later(w, 50 * NS_PER_MS, NULL, restart_left, arg); /* still leaving */
    else
        imd_start(&w->imds[arg]);
}

static void resume_imd(void *ctx, uint64_t arg)
{
    World *w = ctx;
    imd_resume(&w->imds[arg]);
}

static void resume_thread(void *ctx, uint64_t arg)
{
    World *w = ctx;
    imd_thread_resume(&w->imds[arg >> 8].threads[arg & 255]);
}

static void start_cmd(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    cmd_start(&w->cmd);
}

static void resume_cmd(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    cmd_resume(&w->cmd);
}

static void start_process(void *ctx, uint64_t arg)
{
    World *w = ctx;
    if (!w->processes[arg].running && w->phase.now == PHASE_RUN)
        process_start(&w->processes[arg]);
}

static void resume_process(void *ctx, uint64_t arg)
{
    World *w = ctx;
    process_resume(&w->processes[arg]);
}

static void faults_restart_process(Process *p)
{
    World *w = p->world;
    if (w->phase.now == PHASE_RUN)
        later(w, sim_rng_spread(&w->rng, NS_PER_MS, NS_PER_S), NULL, start_process, p->index);
}

static void kill_process(World *w, Process *p)
{
    if (!p->running)
        return;
    process_kill(p);
    faults_restart_process(p);
}

/* All hosts have been there for a while, with all their threads. */
static bool all_back(const World *w)
{
    for (unsigned i = 0; i < w->p.imds; i++) {
        const ImdNode *n = &w->imds[i];
        if (!n->running || n->paused || n->leaving ||
            world_now(w) < n->silent_ns + w->p.faults.back_ns)
            return false;
        for (unsigned j = 0; j < w->p.imd_threads; j++)
            if (n->threads[j].paused)
                return false;
    }
    return true;
}

static void imd_fault(World *w, enum Fault f)
{
    uint64_t i = sim_rng_below(&w->rng, w->p.imds), how_long_ns = how_long(w);
    uint64_t thread = sim_rng_below(&w->rng, w->p.imd_threads);
    ImdNode *n = &w->imds[i];
    if (!n->running || n->paused || n->leaving || (w->p.faults.one_by_one && !all_back(w)))
        return;
    if (f == FAULT_IMD_CRASH) {
        cover(w, COVER_IMD_CRASHED);
        imd_crash(n);
        later(w, how_long_ns / 2, NULL, start_imd, i);
    } else if (f == FAULT_IMD_LEAVE) {
        imd_leave(n);
        later(w, how_long_ns / 2, NULL, restart_left, i);
    } else if (f == FAULT_IMD_PAUSE) {
        cover(w, COVER_IMD_PAUSED);
        imd_pause(n);
        later(w, how_long_ns, &n->life, resume_imd, i);
    } else {
        cover(w, COVER_THREAD_PAUSED);
        imd_thread_pause(&n->threads[thread]);
        later(w, how_long_ns, &n->life, resume_thread, i << 8 | thread);
    }
}

static void client_fault(World *w, enum Fault f)
{
    uint64_t i = sim_rng_below(&w->rng, w->p.clients), how_long_ns = how_long(w);
    Process *p = &w->processes[i];
    if (!p->running || p->paused)
        return;
    if (f == FAULT_CLIENT_KILL) {
        kill_process(w, p);
    } else if (f == FAULT_CLIENT_KILL_WRITING) {
        p->kill_when_writing = true;
    } else {
        if (w->p.faults.client_pause_ns)
            how_long_ns = sim_rng_below(&w->rng, w->p.faults.client_pause_ns);
        process_pause(p);
        later(w, how_long_ns, &p->life, resume_process, i);
    }
}

static void fault(World *w, enum Fault f)
{
    uint64_t how_long_ns = how_long(w);
    switch (f) {
    case FAULT_CUT:
        one_way_cut(w);
        break;
    case FAULT_PARTITION:
        partition(w);
        break;
    case FAULT_IMD_CRASH:
    case FAULT_IMD_LEAVE:
    case FAULT_IMD_PAUSE:
    case FAULT_THREAD_PAUSE:
        imd_fault(w, f);
        break;
    case FAULT_CMD_CRASH:
        cmd_crash(&w->cmd);
        later(w, w->p.calm ? how_long_ns / 8 : how_long_ns / 2, NULL, start_cmd, 0);
        break;
    case FAULT_CMD_PAUSE:
        cmd_pause(&w->cmd);
        later(w, how_long_ns, &w->cmd.life, resume_cmd, 0);
        break;
    case FAULT_CLIENT_KILL:
    case FAULT_CLIENT_KILL_WRITING:
    case FAULT_CLIENT_PAUSE:
        client_fault(w, f);
        break;
    case FAULT_COUNT:
        break;
    }
}

static void next_fault(World *w);

static void fault_due(void *ctx, uint64_t arg)
{
    World *w = ctx;
    unsigned total = 0, f = 0;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    for (unsigned i = 0; i < FAULT_COUNT; i++)
        total += w->p.faults.weights[i];
    uint64_t pick = sim_rng_below(&w->rng, total);
    while (f < FAULT_COUNT && pick >= w->p.faults.weights[f])
        pick -= w->p.faults.weights[f++];
    fault(w, (enum Fault)f);
    next_fault(w);
}

static void next_fault(World *w)
{
    later(w, sim_rng_below(&w->rng, 2 * w->p.faults.every_ns), NULL, fault_due, 0);
}

/* ---- slow hosts ----------------------------------------------------------------------------- */

/* What is short passes: the host answers, and nobody takes it for dead. */
static void set_trickle(World *w, uint64_t every_ns)
{
    for (unsigned c = 0; c < w->p.client_hosts; c++) {
        for (unsigned i = 0; i < w->p.imds; i++) {
            simnet_link(w->net, HOST_CLIENT + c, HOST_IMD + i)->long_every_ns = every_ns;
            simnet_link(w->net, HOST_IMD + i, HOST_CLIENT + c)->long_every_ns = every_ns;
        }
    }
}

static void next_trickle(World *w);

static void end_trickle(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    set_trickle(w, 0);
    next_trickle(w);
}

static void begin_trickle(void *ctx, uint64_t arg)
{
    World *w = ctx;
    (void)arg;
    if (w->phase.now != PHASE_RUN)
        return;
    cover(w, COVER_TRICKLED);
    story(w, "the hosts serve a long datagram in %llu ms",
          (unsigned long long)(w->p.faults.trickle_ns / NS_PER_MS));
    set_trickle(w, w->p.faults.trickle_ns);
    later(w, how_long(w), NULL, end_trickle, 0);
}

static void next_trickle(World *w)
{
    later(w, sim_rng_below(&w->rng, 2 * w->p.faults.every_ns), NULL, begin_trickle, 0);
}

void faults_start(World *w)
{
    if (w->p.faults.trickle_ns)
        next_trickle(w);
    else if (w->p.faults.every_ns != TIME_NEVER)
        next_fault(w);
}

static void count_no_memory(World *w, SimHeap *h)
{
    cover_add(w, COVER_NO_MEMORY, h->failed);
    h->fail_ppm = 0;
    h->failed = 0;
}

void faults_heal(World *w)
{
    story(w, "all faults heal");
    shells_heal(w);
    for (unsigned a = 0; a < HOSTS_COUNT; a++) {
        for (unsigned b = 0; b < HOSTS_COUNT; b++) {
            SimLink *l = simnet_link(w->net, a, b);
            l->cut = 0;
            l->bytes_per_s = l->long_every_ns = 0;
            l->loss_ppm = l->dup_ppm = l->late_ppm = l->reorder_ppm = l->corrupt_ppm = 0;
        }
    }
    for (unsigned i = 0; i < w->p.clients; i++) {
        SimFsConfig *c = w->fs[i] ? &w->fs[i]->config : NULL;
        if (c)
            c->read_fail_ppm = c->write_fail_ppm = c->write_short_ppm = c->write_full_ppm =
                c->sync_fail_ppm = 0;
        count_no_memory(w, &w->processes[i].heap);
        process_resume(&w->processes[i]);
        w->processes[i].kill_when_writing = false;
    }
    count_no_memory(w, &w->cmd.heap);
    count_no_memory(w, &w->other.heap);
    cmd_resume(&w->cmd);
    cmd_start(&w->cmd);
    managers_heal(w);
    for (unsigned i = 0; i < w->p.imds; i++) {
        count_no_memory(w, &w->imds[i].heap);
        imd_resume(&w->imds[i]);
        for (unsigned j = 0; j < w->p.imd_threads; j++)
            imd_thread_resume(&w->imds[i].threads[j]);
        restart_left(w, i);
    }
}
