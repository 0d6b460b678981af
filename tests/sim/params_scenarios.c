/* SPDX-License-Identifier: MIT */
/* The scenarios: each bends what a seed has decided to one thing that can go wrong. */
#include "tests/sim/params_private.h"

static const char *const names[SCENARIO_COUNT] = {
    "general", "calm",    "pauses",  "amnesia", "retain",  "contention", "file",     "hosts",
    "churn",   "end",     "silence", "reclaim", "crashes", "large",      "stripes",  "silent",
    "writers", "seconds", "offers",  "trickle", "capped",  "managers",   "pressure", "mirrors",
    "copies",  "drains",  "carries", "shares",  "saves"};

const char *scenario_name(unsigned scenario)
{
    return names[scenario];
}

static void make_calm(Params *p)
{
    p->calm = true;
    p->faults.every_ns = TIME_NEVER;
    p->link.loss_ppm %= 20000;
    p->link.reorder_ppm %= 50000;
    p->link.corrupt_ppm %= 10000;
    p->link.bytes_per_s = 0;
    p->cores.client_request.deadline_ns = 3 * NS_PER_S;
    p->cores.transfer_deadline_ns = 2 * NS_PER_S;
    p->cores.imd_deadline_ns = 2 * NS_PER_S;
    p->cores.sessions_max = 256;
    p->cores.cmd_opens_max = 64;
    p->cores.cmd_regions_max = 1024;
    p->faults.no_memory_ppm = 0;
    p->programs.weights[DO_EXIT] = 0;
}

static void only_fault(Params *p, SimRng *r, enum Fault f)
{
    memset(p->faults.weights, 0, sizeof p->faults.weights);
    p->faults.weights[f] = 1;
    p->faults.every_ns = sim_rng_spread(r, 300, 2000) * NS_PER_MS;
}

static void scenario_pauses(Params *p, SimRng *r)
{
    make_calm(p);
    p->duration_ns = sim_rng_between(r, 6000, 14000) * NS_PER_MS;
    only_fault(p, r, sim_rng_below(r, 2) ? FAULT_CMD_PAUSE : FAULT_CLIENT_PAUSE);
    p->cores.transfer_deadline_ns = params_ms(r, 300, 600);
    /* Nobody else may take the one that stands still for dead; the manager may stand long. */
    p->faults.long_ns =
        p->faults.weights[FAULT_CMD_PAUSE] ? 12 * NS_PER_S : p->cores.client_dead_ns / 2;
    if (p->faults.weights[FAULT_CLIENT_PAUSE])
        p->link.loss_ppm %= 2000; /* no session may need its last try */
}

static void scenario_amnesia(Params *p, SimRng *r)
{
    make_calm(p);
    p->duration_ns = sim_rng_between(r, 4000, 10000) * NS_PER_MS;
    only_fault(p, r, FAULT_CMD_CRASH);
    p->faults.long_ns = sim_rng_spread(r, 10, 8000) * NS_PER_MS;
}

void params_retain(Params *p, SimRng *r)
{
    p->programs.retain_ppm = 900000;
    p->programs.popular_ppm = 950000;
    p->programs.rdonly_ppm = (uint32_t)sim_rng_below(r, 900000);
    p->programs.weights[DO_OPEN] = 15;
    p->programs.weights[DO_CLOSE] = 15;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 12);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 12);
    p->fs.honest = true;
    p->fs.granule_ns = sim_rng_spread(r, NS_PER_MS, 500 * NS_PER_MS);
    p->duration_ns = sim_rng_between(r, 2000, 6000) * NS_PER_MS;
    params_choose_faults(p, r,
                         1u << FAULT_CLIENT_KILL | 1u << FAULT_CLIENT_KILL_WRITING |
                             1u << FAULT_CLIENT_PAUSE | 1u << FAULT_CMD_CRASH | 1u << FAULT_CUT);
    p->faults.weights[FAULT_CLIENT_KILL_WRITING] = 10;
    p->faults.every_ns = sim_rng_spread(r, 100, 1000) * NS_PER_MS;
    p->faults.long_ns = NS_PER_S;
}

void params_contention(Params *p, SimRng *r)
{
    p->threads = THREADS_MAX;
    p->clients = 1 + (unsigned)sim_rng_below(r, 2);
    p->client_hosts = 1;
    p->programs.hot_ppm = 900000;
    p->programs.descs = 1 + (unsigned)sim_rng_below(r, 2);
    p->programs.region_blocks_max = (unsigned)sim_rng_between(r, 2, 6);
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_between(r, 20, 60);
    p->link.late_ppm = (uint32_t)sim_rng_below(r, 300000);
    p->link.late_max_ns = sim_rng_spread(r, 2 * p->link.delay_ns, 200 * NS_PER_MS);
    p->link.loss_ppm = (uint32_t)sim_rng_below(r, 100000);
    p->fs.op_ns = sim_rng_spread(r, p->link.delay_ns / 4 + 1, 8 * p->link.delay_ns);
    p->fs.slow_ppm = 100000;
    p->duration_ns = 500 * NS_PER_MS + 400 * p->link.delay_ns;
    p->programs.think_ns = 2 * p->link.delay_ns;
    p->datagram_max = 1472;
}

static void scenario_file(Params *p, SimRng *r)
{
    SimFsConfig *f = &p->fs;
    f->read_fail_ppm = params_maybe(r, 50000);
    f->write_fail_ppm = (uint32_t)sim_rng_below(r, 200000);
    f->write_short_ppm = (uint32_t)sim_rng_below(r, 100000);
    f->write_full_ppm = params_maybe(r, 200000);
    f->sync_fail_ppm = (uint32_t)sim_rng_below(r, 400000);
    p->programs.weights[DO_SYNC] = 8;
    p->programs.weights[DO_WRITE] = 40;
    p->programs.hot_ppm = 700000;
}

static void scenario_hosts(Params *p, SimRng *r)
{
    p->programs.descs = 6;
    p->duration_ns = sim_rng_between(r, 2000, 8000) * NS_PER_MS;
    params_choose_faults(p, r,
                         1u << FAULT_CUT | 1u << FAULT_PARTITION | 1u << FAULT_IMD_CRASH |
                             1u << FAULT_IMD_LEAVE | 1u << FAULT_IMD_PAUSE |
                             1u << FAULT_THREAD_PAUSE);
    p->faults.weights[FAULT_IMD_CRASH] = 5;
    p->faults.every_ns = sim_rng_spread(r, 100, 1500) * NS_PER_MS;
}

static void scenario_churn(Params *p, SimRng *r)
{
    p->hosts.pool_bytes = sim_rng_between(r, 16, 40) * 4096;
    p->programs.region_blocks_max = (unsigned)sim_rng_between(r, 4, 16);
    p->programs.weights[DO_OPEN] = 40;
    p->programs.weights[DO_CLOSE] = 30;
    p->programs.weights[DO_WRITE] = 5;
    p->programs.descs = 5;
    p->duration_ns = sim_rng_between(r, 1000, 4000) * NS_PER_MS;
}

static void scenario_end(Params *p, SimRng *r)
{
    (void)r;
    p->programs.popular_ppm = 100000;
    p->programs.weights[DO_WRITE] = 25;
    p->programs.weights[DO_CHANGE_FILE] = 0;
    p->client_hosts = 1;
    p->programs.rdonly_ppm = 300000;
}

static void scenario_silence(Params *p, SimRng *r)
{
    p->cores.transfer_deadline_ns = params_ms(r, 60, 200);
    p->programs.hot_ppm = 800000;
    p->programs.weights[DO_WRITE] = 40;
    p->programs.weights[DO_CLOSE] = 1;
    params_choose_faults(p, r, 1u << FAULT_CUT | 1u << FAULT_THREAD_PAUSE | 1u << FAULT_IMD_PAUSE);
    p->faults.weights[FAULT_CUT] = 10;
    p->faults.every_ns = sim_rng_spread(r, 50, 400) * NS_PER_MS;
    p->faults.long_ns = 8 * p->cores.transfer_deadline_ns;
}

static void scenario_reclaim(Params *p, SimRng *r)
{
    p->clients = (unsigned)sim_rng_between(r, 2, CLIENTS_MAX);
    p->duration_ns = sim_rng_between(r, 8000, 14000) * NS_PER_MS;
    p->programs.think_ns *= 2;
    p->programs.weights[DO_EXIT] = 0;
    only_fault(p, r, FAULT_CLIENT_PAUSE);
    p->faults.every_ns = NS_PER_S;
    p->faults.long_ns = 2 * p->cores.client_dead_ns;
}

static void scenario_crashes(Params *p, SimRng *r)
{
    p->files = 1; /* the next run finds what the last one was at */
    p->programs.weights[DO_WRITE] = 40;
    p->duration_ns = sim_rng_between(r, 1000, 4000) * NS_PER_MS;
    p->programs.rdonly_ppm /= 4;
    only_fault(p, r, FAULT_CLIENT_KILL_WRITING);
    p->faults.weights[FAULT_CMD_CRASH] = sim_rng_below(r, 2);
    p->faults.every_ns = sim_rng_spread(r, 50, 400) * NS_PER_MS;
    p->fs.op_ns = sim_rng_spread(r, p->link.delay_ns / 4 + 1, 8 * p->link.delay_ns);
}

static void scenario_large(Params *p, SimRng *r)
{
    p->file_cap = LARGE_FILE_CAP;
    p->region_max = LARGE_REGION_MAX;
    p->programs.region_blocks_max = LARGE_REGION_MAX / 4096;
    p->hosts.pool_bytes = (6 + sim_rng_below(r, 8)) << 20;
    p->clients = 1 + (unsigned)sim_rng_below(r, 2);
    p->threads = THREADS_MAX;
    p->client_hosts = p->files = 1;
    p->imds = 1;
    p->programs.hot_ppm = 100000;
    p->programs.popular_ppm = 800000;
    p->datagram_max = 65507;
    p->sealed = p->rotating = false;
    p->cores.fill_queue_bytes = 16 << 20;
    p->link.bytes_per_s = 0;
    p->link.corrupt_ppm = 0;
    p->fs.split_ppm = 0;
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_WRITE] = 30;
    p->programs.think_ns = NS_PER_MS;
    p->duration_ns = (100 + sim_rng_below(r, 400)) * NS_PER_MS;
    p->programs.descs = 1;
    p->programs.retain_ppm /= 4;
    p->programs.rdonly_ppm /= 4;
}

static void scenario_stripes(Params *p, SimRng *r)
{
    p->imds = IMDS_MAX;
    p->programs.region_blocks_max = REGION_MAX / 4096;
    p->programs.popular_ppm = 900000;
    p->hosts.pool_bytes = sim_rng_between(r, 24, 64) * 4096;
    p->programs.fallback_ppm /= 4;
    p->programs.retain_ppm = 700000;
    p->programs.weights[DO_OPEN] = 12;
    p->programs.weights[DO_CLOSE] = 10;
    p->programs.weights[DO_WRITE] = (unsigned)sim_rng_below(r, 20);
    p->programs.weights[DO_CHANGE_FILE] = (unsigned)sim_rng_below(r, 3);
    p->fs.honest = true;
    p->duration_ns = sim_rng_between(r, 2000, 6000) * NS_PER_MS;
    p->cores.refraction_ns = sim_rng_spread(r, 5, 100) * NS_PER_MS;
    p->cores.reopen_ns = params_ms(r, 50, 300);
    params_choose_faults(p, r,
                         1u << FAULT_CUT | 1u << FAULT_IMD_CRASH | 1u << FAULT_IMD_LEAVE |
                             1u << FAULT_IMD_PAUSE | 1u << FAULT_CLIENT_KILL_WRITING);
    p->faults.weights[FAULT_IMD_LEAVE] = 5;
    p->faults.every_ns = sim_rng_spread(r, 200, 1500) * NS_PER_MS;
    p->faults.long_ns = 2 * NS_PER_S;
}

/* Nothing but hosts that stand still, for longer than any deadline, and in half of the seeds a
 * program that stands still for a moment again and again. So results.c knows how long a read may
 * take. */
static void scenario_silent(Params *p, SimRng *r)
{
    p->imds = IMDS_MAX;
    p->clients = p->client_hosts = 1 + (unsigned)sim_rng_below(r, 2);
    p->programs.descs = 6;
    p->programs.popular_ppm = p->programs.hot_ppm = 0;
    p->programs.region_blocks_max = REGION_MAX / 4096;
    p->hosts.pool_bytes = 256 * 4096;
    p->programs.fallback_ppm = p->faults.no_memory_ppm = p->faults.stranger_ppm = 0;
    p->programs.weights[DO_WRITE] = p->programs.weights[DO_CHANGE_FILE] =
        p->programs.weights[DO_EXIT] = 0;
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_READ] = 40;
    p->datagram_max = 1472;
    p->link = (SimLink){.delay_ns = sim_rng_spread(r, 20 * NS_PER_US, NS_PER_MS)};
    p->fs.op_ns = sim_rng_spread(r, 5 * NS_PER_US, 200 * NS_PER_US);
    p->fs.slow_ppm = 0;
    p->cores.sessions_max = 256;
    p->cores.credit_bytes = 65536;
    p->cores.transfer_deadline_ns = params_ms(r, 1500, 3000);
    p->cores.host_dead_ns = p->cores.client_dead_ns = 4 * p->cores.transfer_deadline_ns;
    p->duration_ns = sim_rng_between(r, 4000, 12000) * NS_PER_MS;
    p->programs.think_ns = 2 * NS_PER_MS;
    only_fault(p, r, FAULT_IMD_PAUSE);
    p->faults.every_ns = NS_PER_S;
    p->faults.long_ns = 3 * p->cores.transfer_deadline_ns;
    if (sim_rng_below(r, 2) == 0)
        return;
    p->faults.weights[FAULT_CLIENT_PAUSE] = 10;
    p->faults.every_ns = 150 * NS_PER_MS;
    p->faults.client_pause_ns = 400 * NS_PER_MS;
}

/* One program on a small file, and nothing goes wrong. */
static void make_small(Params *p, SimRng *r)
{
    make_calm(p);
    p->clients = p->client_hosts = p->imds = p->files = 1;
    p->programs.descs = 1;
    p->programs.retain_ppm = p->programs.rdonly_ppm = p->programs.fallback_ppm =
        p->faults.stranger_ppm = 0;
    p->programs.weights[DO_SYNC] = p->programs.weights[DO_BAD] =
        p->programs.weights[DO_CHANGE_FILE] = 0;
    p->datagram_max = 1472;
    p->link = (SimLink){.delay_ns = sim_rng_spread(r, 20 * NS_PER_US, NS_PER_MS)};
    p->fs.op_ns = 4 * p->link.delay_ns;
    p->fs.slow_ppm = 200000;
    p->fs.honest = true;
    p->fs.granule_ns = NS_PER_MS;
}

static void scenario_writers(Params *p, SimRng *r)
{
    make_small(p, r);
    p->file_cap = (uint64_t)16 * 4096;
    p->region_max = p->file_cap;
    p->programs.region_blocks_max = 16;
    p->programs.popular_ppm = p->programs.rdonly_ppm = p->programs.retain_ppm = 1000000;
    p->threads = 1;
    p->programs.weights[DO_OPEN] = p->programs.weights[DO_CLOSE] = 15;
    p->programs.weights[DO_READ] = 40;
    p->programs.weights[DO_WRITE] = 0;
    p->programs.think_ns = 5 * NS_PER_MS;
    p->duration_ns = 6 * NS_PER_S;
}

static void scenario_seconds(Params *p, SimRng *r)
{
    scenario_writers(p, r);
    p->programs.weights[DO_CHANGE_FILE] = 8;
    p->fs.granule_ns = sim_rng_between(r, 1, 2) * NS_PER_S;
    p->duration_ns = 12 * NS_PER_S;
}

static void scenario_offers(Params *p, SimRng *r)
{
    make_small(p, r);
    p->programs.region_blocks_max = 3;
    p->programs.popular_ppm = p->programs.hot_ppm = 1000000;
    p->threads = THREADS_MAX;
    p->programs.weights[DO_OPEN] = p->programs.weights[DO_CLOSE] = 4;
    p->programs.weights[DO_READ] = 10;
    p->programs.weights[DO_WRITE] = 60;
    p->programs.think_ns = 2 * p->link.delay_ns;
    p->duration_ns = 500 * NS_PER_MS + 2000 * p->link.delay_ns;
}

/* Reads and writes of whole regions, on hosts that take turns at being slow. */
static void scenario_trickle(Params *p, SimRng *r)
{
    make_small(p, r);
    p->calm = false;
    p->imds = IMDS_MAX;
    p->threads = 1;
    p->programs.descs = 3;
    p->file_cap = p->region_max = LARGE_REGION_MAX / 8;
    p->programs.region_blocks_max = (unsigned)(p->region_max / 4096);
    p->hosts.pool_bytes = 4 * p->region_max;
    p->cores.fill_queue_bytes = 4 << 20;
    p->programs.popular_ppm = p->programs.fallback_ppm = 700000;
    p->programs.hot_ppm = 0;
    p->fs.slow_ppm = 0;
    p->cores.client_request.deadline_ns = NS_PER_S;
    p->cores.transfer_deadline_ns = params_ms(r, 100, 200);
    p->cores.reopen_ns = params_ms(r, 100, 1000);
    /* Above a deadline reads find the host silent, and writes find it busy. */
    p->faults.trickle_ns = p->cores.transfer_deadline_ns * sim_rng_between(r, 3, 12) / 10;
    p->faults.every_ns = sim_rng_between(r, 500, 3000) * NS_PER_MS;
    p->faults.long_ns = 60 * NS_PER_S;
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_READ] = 40;
    p->programs.weights[DO_WRITE] = 20;
    p->duration_ns = 20 * NS_PER_S;
}

/* More is asked of the hosts than their owners allow. */
static void scenario_capped(Params *p, SimRng *r)
{
    make_calm(p);
    p->clients = p->client_hosts = 3;
    p->imds = 2;
    p->threads = THREADS_MAX;
    p->file_cap = p->region_max = LARGE_REGION_MAX / 16;
    p->programs.region_blocks_max = (unsigned)(p->region_max / 4096);
    p->hosts.pool_bytes = 16 * p->region_max;
    p->cores.fill_queue_bytes = 4 << 20;
    p->link = (SimLink){.delay_ns = sim_rng_spread(r, 20 * NS_PER_US, NS_PER_MS)};
    p->fs.slow_ppm = 0;
    p->hosts.cap_bytes = sim_rng_spread(r, 512 << 10, 8 << 20);
    p->hosts.cap_packets = sim_rng_below(r, 2) ? 0 : sim_rng_spread(r, 1000, 20000);
    p->faults.turn_late_ns =
        sim_rng_below(r, 2) ? 0 : sim_rng_spread(r, 10 * NS_PER_US, 2 * NS_PER_MS);
    p->cores.transfer_deadline_ns = params_ms(r, 1500, 2500);
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_READ] = 60;
    p->programs.weights[DO_WRITE] = 10;
    p->programs.think_ns = 100 * NS_PER_US;
    p->duration_ns = 6 * NS_PER_S;
}

/* Regions that stay open for long, and managers that take turns. */
static void scenario_managers(Params *p, SimRng *r)
{
    make_calm(p);
    p->managers = true;
    p->cores.client_dead_ns = 12 * NS_PER_S;
    p->cores.host_dead_ns = 10 * NS_PER_S;
    p->cores.grace_ns = 18 * NS_PER_S;
    p->cores.alive_ns = params_ms(r, 500, 1500);
    p->cores.beat_ns = params_ms(r, 500, 1000);
    p->programs.retain_ppm = (uint32_t)sim_rng_below(r, 500000);
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_EXIT] = 0;
    p->programs.think_ns = sim_rng_between(r, 500, 1000) * NS_PER_MS;
    p->duration_ns = sim_rng_between(r, 80, 150) * NS_PER_S;
}

/* The owner takes parts of the memory of a few hot regions, again and again. */
static void scenario_pressure(Params *p, SimRng *r)
{
    make_small(p, r);
    p->calm = false;
    p->link.jitter_ns = sim_rng_below(r, 10) * p->link.delay_ns;
    p->link.loss_ppm = (uint32_t)sim_rng_below(r, 60000);
    p->threads = THREADS_MAX;
    p->programs.descs = 2;
    p->programs.region_blocks_max = 12;
    p->hosts.pool_bytes = 32 * 4096;
    p->programs.popular_ppm = 800000;
    p->programs.hot_ppm = 300000;
    p->programs.fallback_ppm = 1000000;
    p->hosts.purge_ns = 40 * p->link.delay_ns;
    p->cores.reopen_ns = params_ms(r, 10, 50);
    p->cores.refraction_ns = params_ms(r, 5, 20);
    p->programs.weights[DO_CLOSE] = 1;
    p->programs.weights[DO_READ] = 40;
    p->programs.weights[DO_WRITE] = 20;
    p->programs.think_ns = 2 * p->link.delay_ns;
    p->duration_ns = 1500 * NS_PER_MS + 6000 * p->link.delay_ns;
}

void params_bias(Params *p, SimRng *r)
{
    static void (*const biased[SCENARIO_COUNT])(Params *, SimRng *) = {
        [SCENARIO_PAUSES] = scenario_pauses,     [SCENARIO_AMNESIA] = scenario_amnesia,
        [SCENARIO_RETAIN] = params_retain,       [SCENARIO_CONTENTION] = params_contention,
        [SCENARIO_FILE] = scenario_file,         [SCENARIO_HOSTS] = scenario_hosts,
        [SCENARIO_CHURN] = scenario_churn,       [SCENARIO_END] = scenario_end,
        [SCENARIO_SILENCE] = scenario_silence,   [SCENARIO_RECLAIM] = scenario_reclaim,
        [SCENARIO_LARGE] = scenario_large,       [SCENARIO_CRASHES] = scenario_crashes,
        [SCENARIO_STRIPES] = scenario_stripes,   [SCENARIO_SILENT] = scenario_silent,
        [SCENARIO_WRITERS] = scenario_writers,   [SCENARIO_SECONDS] = scenario_seconds,
        [SCENARIO_OFFERS] = scenario_offers,     [SCENARIO_TRICKLE] = scenario_trickle,
        [SCENARIO_CAPPED] = scenario_capped,     [SCENARIO_MANAGERS] = scenario_managers,
        [SCENARIO_PRESSURE] = scenario_pressure, [SCENARIO_MIRRORS] = params_mirrors,
        [SCENARIO_COPIES] = params_copies,       [SCENARIO_DRAINS] = params_drains,
        [SCENARIO_CARRIES] = params_carries,     [SCENARIO_SHARES] = params_shares,
        [SCENARIO_SAVES] = params_drains};
    if (p->scenario == SCENARIO_CALM) {
        make_calm(p);
        p->calm_manager = true;
    } else if (biased[p->scenario]) {
        biased[p->scenario](p, r);
    }
}
