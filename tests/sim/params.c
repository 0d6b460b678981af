/* SPDX-License-Identifier: MIT */
/* What a seed decides at its start: size, load, faults, timers. Each seed leaves a random part of
 * all that can go wrong out, so that the rest gets further ("swarm testing"). */
#include "tests/sim/params_private.h"

uint64_t params_ms(SimRng *r, uint64_t lo, uint64_t hi)
{
    return sim_rng_between(r, lo, hi) * NS_PER_MS;
}

uint32_t params_maybe(SimRng *r, uint32_t max_ppm)
{
    uint32_t ppm = (uint32_t)sim_rng_spread(r, 1, max_ppm);
    return sim_rng_below(r, 2) ? ppm : 0;
}

static void choose_size(Params *p, SimRng *r)
{
    p->clients = (unsigned)sim_rng_between(r, 1, CLIENTS_MAX);
    p->client_hosts = (unsigned)sim_rng_between(r, 1, p->clients);
    p->threads = (unsigned)sim_rng_between(r, 1, THREADS_MAX);
    p->imds = (unsigned)sim_rng_between(r, 1, IMDS_MAX);
    p->imd_threads = (unsigned)sim_rng_between(r, 1, IMD_THREADS_MAX);
    p->files = (unsigned)sim_rng_between(r, 1, 3);
    p->hosts.pool_bytes = sim_rng_between(r, 16, 128) * 4096;
    p->programs.region_blocks_max = (unsigned)sim_rng_spread(r, 2, REGION_MAX / 4096);
    p->programs.descs = (unsigned)sim_rng_between(r, 1, 6);
    p->file_cap = FILE_CAP;
    p->region_max = REGION_MAX;
    p->sealed = sim_rng_below(r, 3) == 0;
    p->rotating = p->sealed && sim_rng_below(r, 3) == 0;
    p->same_ports = sim_rng_below(r, 2);
    static const uint64_t sizes[] = {1472, 1472, 8972, 65507};
    p->datagram_max = sizes[sim_rng_below(r, 4)];
}

static void choose_load(Params *p, SimRng *r)
{
    uint64_t calls = sim_rng_spread(r, 60, 600);
    p->duration_ns = sim_rng_spread(r, 500, 12000) * NS_PER_MS;
    p->programs.think_ns = p->duration_ns * p->clients * p->threads / calls;
    p->programs.hot_ppm = sim_rng_below(r, 3) ? (unsigned)sim_rng_below(r, 1000000) : 0;
    p->programs.popular_ppm = (unsigned)sim_rng_below(r, 1000000);
    p->programs.retain_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 1000000) : 0;
    p->programs.rdonly_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 800000) : 0;
    p->programs.fallback_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 1000000) : 0;
    p->programs.weights[DO_OPEN] = (unsigned)sim_rng_between(r, 2, 12);
    p->programs.weights[DO_READ] = (unsigned)sim_rng_between(r, 10, 80);
    p->programs.weights[DO_WRITE] = sim_rng_below(r, 5) ? (unsigned)sim_rng_between(r, 5, 60) : 0;
    p->programs.weights[DO_CLOSE] = (unsigned)sim_rng_between(r, 1, 10);
    p->programs.weights[DO_SYNC] = (unsigned)sim_rng_below(r, 4);
    p->programs.weights[DO_BAD] = (unsigned)sim_rng_below(r, 3);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 10);
    p->programs.weights[DO_EXIT] = sim_rng_below(r, 2);
}

static void choose_network(Params *p, SimRng *r)
{
    SimLink *l = &p->link;
    l->delay_ns = sim_rng_spread(r, 20 * NS_PER_US, 5 * NS_PER_MS);
    l->jitter_ns = sim_rng_below(r, 2) ? sim_rng_below(r, 2 * l->delay_ns) : l->delay_ns / 20;
    l->loss_ppm = params_maybe(r, 100000);
    l->dup_ppm = params_maybe(r, 100000);
    l->reorder_ppm = params_maybe(r, 200000);
    l->late_ppm = params_maybe(r, 100000);
    l->late_max_ns = sim_rng_spread(r, 2 * l->delay_ns, 5 * NS_PER_S);
    l->corrupt_ppm = p->sealed ? params_maybe(r, 50000) : 0;
    if (sim_rng_below(r, 3) == 0) {
        l->bytes_per_s = sim_rng_spread(r, 512 << 10, 64 << 20);
        l->queue_bytes = sim_rng_spread(r, 8 << 10, 512 << 10);
        if (p->datagram_max > 8972) /* larger ones are for loopback only */
            p->datagram_max = 8972;
    }
}

static void choose_files(Params *p, SimRng *r)
{
    SimFsConfig *f = &p->fs;
    f->granule_ns = sim_rng_below(r, 3) ? 4 * NS_PER_MS : sim_rng_spread(r, 1000, 50 * NS_PER_MS);
    f->honest = sim_rng_below(r, 6) != 0;
    f->op_ns = sim_rng_spread(r, 5 * NS_PER_US, 5 * NS_PER_MS);
    f->slow_ns = f->op_ns * sim_rng_between(r, 5, 100);
    f->slow_ppm = params_maybe(r, 200000);
    f->split_ppm = (uint32_t)sim_rng_below(r, 1000000);
}

static void choose_timers(Params *p, SimRng *r)
{
    p->cores.hello_retry_ns = params_ms(r, 5, 50);
    p->cores.alive_ns = params_ms(r, 100, 500);
    p->cores.beat_ns = params_ms(r, 100, 500);
    p->cores.client_dead_ns = params_ms(r, 2500, 5000);
    p->cores.host_dead_ns = params_ms(r, 2000, 4000);
    p->cores.grace_ns = params_ms(r, 2500, 5000);
    p->cores.refraction_ns = sim_rng_spread(r, 5, 500) * NS_PER_MS;
    p->cores.transfer_deadline_ns = params_ms(r, 200, 800);
    p->cores.reopen_ns = params_ms(r, 100, 1000);
    p->cores.retained_age_ns = sim_rng_below(r, 4) ? 0 : params_ms(r, 500, 10000);
    p->cores.leave_deadline_ns = params_ms(r, 100, 1000);
    p->cores.client_request = (RequestTimes){.first_retry_ns = params_ms(r, 10, 50),
                                             .retry_max_ns = params_ms(r, 100, 400),
                                             .deadline_ns = params_ms(r, 1000, 2500)};
    p->cores.imd_retry_ns = params_ms(r, 10, 50);
    p->cores.imd_retry_max_ns = params_ms(r, 50, 200);
    p->cores.imd_deadline_ns = params_ms(r, 300, 800);
}

static void choose_limits(Params *p, SimRng *r)
{
    bool tight = sim_rng_below(r, 4) == 0;
    p->cores.imd_writes_max = tight ? (unsigned)sim_rng_between(r, 1, 4) : 256;
    p->cores.imd_fills_max = tight ? (unsigned)sim_rng_between(r, 3, 6) : 256;
    p->cores.imd_regions_max = tight ? (unsigned)sim_rng_between(r, 8, 20) : 200;
    p->cores.grant_bytes = tight ? 65536 : 1 << 20;
    p->cores.credit_bytes = tight ? 65536 : 1 << 20;
    p->cores.fill_queue_bytes = sim_rng_below(r, 4) ? 4 << 20 : 256 << 10;
    p->cores.sessions_max = tight ? (unsigned)sim_rng_between(r, 6, 24) : 256;
    p->cores.cmd_opens_max = tight ? (unsigned)sim_rng_between(r, 1, 6) : 64;
    p->cores.cmd_regions_max = tight ? (unsigned)sim_rng_between(r, 6, 24) : 1024;
}

void params_choose_faults(Params *p, SimRng *r, unsigned kinds)
{
    unsigned total = 0;
    p->faults.every_ns = sim_rng_spread(r, 50, 4000) * NS_PER_MS;
    p->faults.long_ns = sim_rng_spread(r, 50, 8000) * NS_PER_MS;
    for (unsigned f = 0; f < FAULT_COUNT; f++) {
        unsigned weight = (unsigned)sim_rng_between(r, 1, 10);
        bool on = sim_rng_below(r, 2);
        p->faults.weights[f] = (kinds >> f & 1) && on ? weight : 0;
        total += p->faults.weights[f];
    }
    if (total == 0)
        p->faults.every_ns = TIME_NEVER;
}

/* With numbers of its own, so that all else of a seed is as it would be without. */
static void choose_calls(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x63616c6c);
    uint64_t blocks = p->programs.region_blocks_max;
    p->programs.stripe_bytes = sim_rng_between(r, blocks / 16 + 1, blocks / 2 + 1) * 4096;
    p->programs.stripe_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 900000) : 0;
    p->programs.vector_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 900000) : 0;
    p->programs.async = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 1, ASYNC_MAX) : 0;
    if (p->scenario == SCENARIO_STRIPES) {
        p->programs.stripe_ppm = 900000;
        p->programs.async = ASYNC_MAX;
    }
    p->programs.weights[DO_ASYNC] = p->programs.async ? (unsigned)sim_rng_between(r, 5, 40) : 0;
    if (p->scenario == SCENARIO_SILENT) {
        p->programs.stripe_ppm = 0;
        p->programs.async = ASYNC_MAX;
        p->programs.weights[DO_ASYNC] = 60;
    }
    p->programs.prefetch_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 500000) : 0;
    p->programs.weights[DO_OFFER] = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 3, 30) : 0;
    if (p->scenario == SCENARIO_CONTENTION) /* to be overtaken by a write takes one */
        p->programs.weights[DO_OFFER] = 30;
    p->programs.async_write_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 600000) : 0;
    p->programs.hold_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 500000) : 0;
    p->programs.cancel_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 300000) : 0;
    p->programs.weights[DO_DISCARD] = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 1, 10) : 0;
    if (p->scenario >= SCENARIO_CHOSEN) {
        p->programs.weights[DO_DISCARD] = p->scenario == SCENARIO_PRESSURE ? 5 : 0;
        p->programs.async = p->programs.weights[DO_ASYNC] = p->programs.prefetch_ppm =
            p->programs.stripe_ppm = 0;
        p->programs.weights[DO_OFFER] = p->scenario == SCENARIO_OFFERS ? 60 : 0;
    }
}

static void choose_owners(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x6f776e);
    p->hosts.give_back = sim_rng_below(r, 2);
    /* A region has a few of them, and imd_node.c as many bits for them. */
    for (p->hosts.extent_bytes = 4096; p->hosts.extent_bytes < p->hosts.pool_bytes / 32;
         p->hosts.extent_bytes *= 2)
        ;
    p->hosts.extent_bytes <<= sim_rng_below(r, 3);
    p->weighted = seed % 3 == 0;
    p->owners.limit_every_ns = TIME_NEVER;
    bool away = p->scenario == SCENARIO_SILENT || p->scenario == SCENARIO_TRICKLE;
    if (!p->calm && !away && sim_rng_below(r, 3) == 0)
        p->owners.limit_every_ns = sim_rng_spread(r, 20, 2000) * NS_PER_MS;
    p->owners.monitors = sim_rng_below(r, 2) && !away;
    p->owners.reclaim_every_ns = TIME_NEVER;
    if (p->scenario == SCENARIO_PRESSURE) {
        p->hosts.give_back = true;
        p->owners.limit_every_ns = sim_rng_spread(r, 2, 50) * NS_PER_MS;
    } else if (p->owners.monitors && !p->calm) {
        p->owners.reclaim_every_ns = sim_rng_spread(r, 50, 1500) * NS_PER_MS;
    }
}

static void choose_lies(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x6c6965);
    p->faults.lie_every_ns = TIME_NEVER;
    if (!p->calm && p->scenario != SCENARIO_TRICKLE && sim_rng_below(r, 3) == 0)
        p->faults.lie_every_ns = sim_rng_spread(r, 20, 2000) * NS_PER_MS;
    /* Checks would hide what the other rules are there for: half of the seeds do without. */
    p->checked = p->faults.lie_every_ns != TIME_NEVER || sim_rng_below(r, 2);
}

/* Who writes the files beside the clients, and what stamps and leases tell of it. */
static void choose_writers(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x777274);
    p->fs.lease_counts_own = sim_rng_below(r, 4) == 0;
    p->faults.writer_every_ns = TIME_NEVER;
    if (!p->calm && sim_rng_below(r, 3) == 0)
        p->faults.writer_every_ns = sim_rng_spread(r, 20, 2000) * NS_PER_MS;
    if (p->scenario == SCENARIO_RETAIN && sim_rng_below(r, 2))
        p->faults.writer_every_ns = sim_rng_spread(r, 20, 500) * NS_PER_MS;
    if (p->scenario >= SCENARIO_CHOSEN) {
        p->fs.lease_counts_own = false;
        p->faults.writer_every_ns = p->scenario == SCENARIO_WRITERS ? 50 * NS_PER_MS : TIME_NEVER;
    }
    if (p->scenario == SCENARIO_RETAIN && sim_rng_below(r, 3) == 0)
        p->fs.granule_ns = sim_rng_between(r, 1, 2) * NS_PER_S;
}

void params_choose(Params *p, uint64_t seed, int scenario)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x706172);
    *p = (Params){.calm = false};
    uint64_t pick = sim_rng_below(r, SCENARIO_CHOSEN + 3);
    p->scenario = pick < SCENARIO_CHOSEN ? (enum Scenario)pick : SCENARIO_CRASHES;
    if (scenario >= 0)
        p->scenario = (enum Scenario)scenario;
    choose_size(p, r);
    choose_load(p, r);
    choose_network(p, r);
    choose_files(p, r);
    choose_timers(p, r);
    choose_limits(p, r);
    params_choose_faults(p, r, UINT32_MAX);
    p->faults.stranger_ppm = 300000;
    p->faults.no_memory_ppm = sim_rng_below(r, 12) ? 0 : (uint32_t)sim_rng_spread(r, 100, 50000);
    params_bias(p, r);
    choose_calls(p, seed);
    choose_owners(p, seed);
    choose_lies(p, seed);
    params_choose_mirrors(p, seed);
    params_choose_drains(p, seed);
    params_choose_shares(p, seed);
    params_choose_saves(p, seed);
    choose_writers(p, seed);
    shells_choose(p, seed);
    later_choose(p, seed);
    if (p->scenario != SCENARIO_CONTENTION && p->programs.think_ns < 50 * NS_PER_US)
        p->programs.think_ns = 50 * NS_PER_US;
}
