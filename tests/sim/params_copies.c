/* SPDX-License-Identifier: MIT */
/* The scenarios in which a region has, or gets, another copy: mirrors, moves, what is carried. */
#include "tests/sim/params_private.h"

/* With room for all copies, so that check.c knows that each region gets its second one. */
static void make_mirrored(Params *p, SimRng *r)
{
    p->imds = IMDS_MAX;
    p->programs.region_blocks_max = REGION_MAX / 4096;
    p->hosts.pool_bytes = 640 * 4096;
    p->faults.no_memory_ppm = 0;
    p->cores.imd_regions_max = 200;
    p->cores.sessions_max = 256;
    p->cores.cmd_opens_max = 64;
    p->cores.cmd_regions_max = 1024;
    p->programs.fallback_ppm /= 2;
    p->cores.refraction_ns = sim_rng_spread(r, 5, 100) * NS_PER_MS;
    p->cores.reopen_ns = params_ms(r, 50, 300);
    p->cores.transfer_deadline_ns = params_ms(r, 100, 300);
    params_choose_faults(p, r,
                         1u << FAULT_CUT | 1u << FAULT_IMD_CRASH | 1u << FAULT_IMD_LEAVE |
                             1u << FAULT_IMD_PAUSE | 1u << FAULT_THREAD_PAUSE |
                             1u << FAULT_CMD_CRASH | 1u << FAULT_CLIENT_KILL_WRITING);
    p->faults.weights[FAULT_IMD_CRASH] += 3;
    p->faults.weights[FAULT_IMD_PAUSE] += 3;
}

void params_mirrors(Params *p, SimRng *r)
{
    make_mirrored(p, r);
    p->programs.popular_ppm = 800000;
    p->programs.weights[DO_READ] = 60;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 30);
    p->programs.weights[DO_CLOSE] = 1 + (unsigned)sim_rng_below(r, 3);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 3);
    p->duration_ns = sim_rng_between(r, 3000, 10000) * NS_PER_MS;
    p->faults.every_ns = sim_rng_spread(r, 300, 2000) * NS_PER_MS;
    p->faults.long_ns = sim_rng_spread(r, 100, 2000) * NS_PER_MS;
}

void params_copies(Params *p, SimRng *r)
{
    params_contention(p, r);
    make_mirrored(p, r);
    p->programs.region_blocks_max = (unsigned)sim_rng_between(r, 2, 6);
    p->duration_ns = 1500 * NS_PER_MS + 400 * p->link.delay_ns;
    p->faults.every_ns = sim_rng_spread(r, 50, 300) * NS_PER_MS;
    p->faults.long_ns = sim_rng_spread(r, 10, 300) * NS_PER_MS;
}

/* After choose_calls(), which gives these scenarios none of them, and choose_lies(). */
void params_choose_mirrors(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x6d6972);
    if (p->scenario != SCENARIO_MIRRORS && p->scenario != SCENARIO_COPIES)
        return;
    p->programs.mirror_ppm = sim_rng_below(r, 4) ? 1000000 : 700000;
    p->programs.stripe_ppm = sim_rng_below(r, 3) ? 0 : (uint32_t)sim_rng_below(r, 900000);
    p->programs.async = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 1, ASYNC_MAX) : 0;
    p->programs.weights[DO_ASYNC] = p->programs.async ? (unsigned)sim_rng_between(r, 5, 40) : 0;
    p->programs.prefetch_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 500000) : 0;
    p->programs.weights[DO_OFFER] = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 3, 30) : 0;
    p->programs.weights[DO_DISCARD] = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 3, 30) : 0;
    p->faults.one_by_one = sim_rng_below(r, 4) != 0;
    if (p->faults.one_by_one) {
        p->faults.back_ns =
            2 * p->cores.transfer_deadline_ns + sim_rng_spread(r, 10, 500) * NS_PER_MS;
        p->faults.weights[FAULT_CUT] = p->faults.weights[FAULT_CMD_CRASH] = 0;
        p->owners.limit_every_ns = p->owners.reclaim_every_ns = TIME_NEVER;
        p->link.loss_ppm %= 30000;
        p->link.bytes_per_s = 0;
    }
    if (p->scenario == SCENARIO_COPIES) { /* checks hide what a stale copy returns */
        p->programs.weights[DO_DISCARD] = (unsigned)sim_rng_between(r, 3, 30);
        p->faults.lie_every_ns = TIME_NEVER;
        p->checked = sim_rng_below(r, 4) == 0;
    } else if (p->faults.lie_every_ns != TIME_NEVER) {
        p->faults.lie_every_ns = sim_rng_spread(r, 2, 50) * NS_PER_MS;
    }
}

/* With room elsewhere for all that leaves a host. */
void params_drains(Params *p, SimRng *r)
{
    make_mirrored(p, r);
    p->cores.alive_ns = params_ms(r, 20, 200);
    p->programs.popular_ppm = 500000;
    p->programs.hot_ppm = (unsigned)sim_rng_below(r, 1000000);
    p->programs.weights[DO_READ] = 60;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 60);
    p->programs.weights[DO_CLOSE] = 1 + (unsigned)sim_rng_below(r, 3);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 3);
    p->programs.retain_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 1000000) : 0;
    p->duration_ns = sim_rng_between(r, 2000, 8000) * NS_PER_MS;
    p->faults.every_ns =
        sim_rng_below(r, 3) ? sim_rng_spread(r, 200, 4000) * NS_PER_MS : TIME_NEVER;
    p->faults.long_ns = sim_rng_spread(r, 50, 2000) * NS_PER_MS;
}

/* Programs that keep what they have read, and find it again where it was brought. */
void params_carries(Params *p, SimRng *r)
{
    params_drains(p, r);
    params_retain(p, r);
    p->programs.retain_ppm = 1000000;
    p->programs.rdonly_ppm = 900000;
    p->programs.fallback_ppm = 0;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 3);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 3);
    p->programs.region_blocks_max = (unsigned)sim_rng_between(r, 2, 16);
    p->fs.granule_ns = NS_PER_MS;
    p->faults.every_ns =
        sim_rng_below(r, 2) ? sim_rng_spread(r, 500, 4000) * NS_PER_MS : TIME_NEVER;
}

/* Processes of one host that read the same pieces of the same files. */
void params_shares(Params *p, SimRng *r)
{
    params_retain(p, r);
    p->clients = 2 + (unsigned)sim_rng_below(r, CLIENTS_MAX - 1);
    p->client_hosts = 1 + (unsigned)sim_rng_below(r, 4) / 3;
    p->checked = true;
    p->programs.rdonly_ppm = 900000;
    p->programs.popular_ppm = 900000;
    p->programs.retain_ppm = (uint32_t)sim_rng_below(r, 1000000);
    p->programs.fallback_ppm = (uint32_t)sim_rng_below(r, 1000000);
    p->cores.reopen_ns = params_ms(r, 10, 500);
    p->cores.alive_ns = params_ms(r, 20, 200);
    p->programs.weights[DO_READ] = 60;
    p->programs.weights[DO_OPEN] = p->programs.weights[DO_CLOSE] =
        5 + (unsigned)sim_rng_below(r, 20);
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 3);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 3);
    p->programs.region_blocks_max = (unsigned)sim_rng_between(r, 2, 16);
    p->fs.granule_ns = NS_PER_MS;
    p->faults.every_ns =
        sim_rng_below(r, 3) ? sim_rng_spread(r, 200, 4000) * NS_PER_MS : TIME_NEVER;
}

void params_choose_shares(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x736861);
    /* Copies are never shared: there it only makes seeds rarer that show what is wrong. */
    bool copies = p->scenario == SCENARIO_MIRRORS || p->scenario == SCENARIO_COPIES;
    p->programs.shares = p->scenario == SCENARIO_SHARES || (!copies && sim_rng_below(r, 4) == 0);
}

/* Of all scenarios in which memory may be lost some seeds have drains, too. */
void params_choose_drains(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x647261);
    bool own = p->scenario == SCENARIO_DRAINS, carries = p->scenario == SCENARIO_CARRIES;
    bool mirrors = p->scenario == SCENARIO_MIRRORS || p->scenario == SCENARIO_COPIES;
    /* Where silence is timed, a read stays with the host that it was begun with. */
    bool timed = p->scenario == SCENARIO_SILENT || p->scenario == SCENARIO_TRICKLE;
    p->hosts.drain_every_ns = TIME_NEVER;
    if (p->imds < (mirrors ? 3u : 2u) || p->calm || timed ||
        (!own && !carries && sim_rng_below(r, 4) > 0))
        return;
    p->hosts.drain_every_ns = sim_rng_spread(r, 100, 3000) * NS_PER_MS;
    p->hosts.drains_max = p->imds - 1 - mirrors;
    p->hosts.drain_rate = sim_rng_below(r, 2) ? 0 : sim_rng_spread(r, 10000, 10000000);
    if (carries) { /* what is wrong shows where nothing checks it */
        p->hosts.drain_every_ns = sim_rng_spread(r, 100, 500) * NS_PER_MS;
        p->programs.weights[DO_CARRY] = (unsigned)sim_rng_between(r, 10, 40);
        p->checked = p->faults.lie_every_ns != TIME_NEVER;
    }
    if (!own)
        return;
    p->programs.mirror_ppm = sim_rng_below(r, 3) ? 0 : (uint32_t)sim_rng_below(r, 1000000);
    p->programs.stripe_ppm = sim_rng_below(r, 2) ? 0 : (uint32_t)sim_rng_below(r, 900000);
    p->programs.async = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 1, ASYNC_MAX) : 0;
    p->programs.weights[DO_ASYNC] = p->programs.async ? (unsigned)sim_rng_between(r, 5, 40) : 0;
    p->programs.weights[DO_OFFER] = sim_rng_below(r, 2) ? (unsigned)sim_rng_between(r, 3, 30) : 0;
    p->programs.weights[DO_DISCARD] = sim_rng_below(r, 4) ? 0 : (unsigned)sim_rng_between(r, 3, 30);
    p->programs.weights[DO_CARRY] =
        p->programs.retain_ppm ? (unsigned)sim_rng_between(r, 1, 10) : 0;
    if (sim_rng_below(r, 2)) /* a stale copy shows where nothing checks it */
        p->checked = p->faults.lie_every_ns != TIME_NEVER;
}

/* Owners come back and go, beside all else that drains have. */
void params_choose_saves(Params *p, uint64_t seed)
{
    SimRng rng, *r = &rng;
    sim_rng_init(r, seed, 0x736176);
    if (p->scenario != SCENARIO_SAVES)
        return;
    p->hosts.give_back = p->owners.monitors = true;
    p->owners.reclaim_every_ns = sim_rng_spread(r, 300, 3000) * NS_PER_MS;
    p->owners.save_within_ns = sim_rng_spread(r, 100, 3000) * NS_PER_MS;
    p->programs.mirror_ppm = sim_rng_below(r, 3) ? 0 : (uint32_t)sim_rng_below(r, 1000000);
    p->programs.stripe_ppm = sim_rng_below(r, 2) ? 0 : (uint32_t)sim_rng_below(r, 900000);
    if (sim_rng_below(r, 2))
        p->owners.limit_every_ns = TIME_NEVER;
}
