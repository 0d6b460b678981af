/* SPDX-License-Identifier: MIT */
/* What seeds of one scenario are about: guards that few seeds would notice have one of their own.
 */
#include "tests/sim/manage.h"

/* One program, several threads, one region, no faults. */
static void alone(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    SimFsConfig *f = &m->w.p.fs;
    p->users = p->regions = 1;
    p->callers = USER_CALLERS_MAX;
    p->rdonly_ppm = p->stripe_ppm = p->stream_ppm = p->through_ppm = 0;
    p->weights.changes = p->weights.exits = p->weights.policies = 0;
    p->kill_steps = 0;
    p->lie_ppm = 0;
    p->hits = false;
    p->cache.piece_bytes = 4096;
    p->cache.readahead_bytes = p->cache.low_water_bytes = 0;
    p->cache.bypass_factor = p->cache.known_reads = 0;
    p->cache.remote = true;
    p->cache.lets_go = false;
    p->cache.refraction_ns = NS_PER_MS;
    f->read_fail_ppm = f->write_fail_ppm = f->write_short_ppm = 0;
    f->write_full_ppm = f->sync_fail_ppm = 0;
    f->honest = true;
    f->granule_ns = NS_PER_MS;
    f->lease_counts_own = false;
    m->p.full_every_ns = TIME_NEVER;
    m->w.p.hosts.pool_bytes = 4 * USER_FILES * USER_FILE_BYTES;
    m->w.p.owners.monitors = false;
    manage_file_is_slow(m, r);
    p->hot_bytes = (uint64_t)3 * 4096;
    m->w.p.duration_ns *= 4;
}

static void held(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->retain_ppm = p->through_ppm = 1000000;
    p->write_first_ppm = 500000;
    p->weights.writes = 0;
    p->weights.opens = p->weights.closes = 30;
    p->large_ppm = 500000;
    p->think_ns = 2 * m->w.p.link.delay_ns;
}

static void fill(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->cache.limit_bytes = 0;
    p->retain_ppm = p->through_ppm = 1000000;
    p->write_first_ppm = 1000000;
    p->small_writes = true;
    p->weights.writes = 10;
    p->weights.opens = p->weights.closes = 30;
    p->think_ns = 2 * m->w.p.link.delay_ns;
}

static void clone(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->cache.limit_bytes = (uint64_t)2 * 4096;
    p->through_ppm = 1000000;
    p->small_writes = true;
    p->weights.writes = 100;
    p->weights.syncs = 30;
    p->weights.opens = p->weights.closes = 20;
    p->think_ns = 2 * m->w.p.link.delay_ns;
}

static void sync_fails(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->cache.remote = false;
    p->cache.limit_bytes = sim_rng_between(r, 2, 20) * 4096;
    p->small_writes = true;
    p->weights.writes = 100;
    p->weights.syncs = 100;
    p->weights.opens = p->weights.closes = 2;
    m->w.p.fs.sync_fail_ppm = 300000;
}

/* Regions are closed soon, while the background is busy with others. */
static void brief(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->regions = USER_REGIONS_MAX;
    p->cache.limit_bytes = (uint64_t)4 * 4096;
    p->cache.readahead_bytes = 4096;
    p->rdonly_ppm = p->retain_ppm = 1000000;
    p->weights.writes = p->weights.syncs = 0;
    p->weights.opens = p->weights.closes = 1000;
    p->weights.exits = 100;
    p->one_worker = true;
    p->recall_ns = 20 * m->w.p.link.delay_ns + 1; /* from a disk of its own */
    p->think_ns = 3 * m->w.p.link.delay_ns;
}

void manage_run_is_led(ManageParams *p)
{
    p->led_ppm = 950000;
    p->retain_ppm = 1000000;
    p->cache.piece_bytes = 16384; /* of which a part may be missing */
    p->cache.limit_bytes = (uint64_t)USER_FILE_BYTES;
    p->cache.readahead_bytes = p->cache.limit_bytes / 2;
}

static void led(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    manage_run_is_led(p);
    p->cache.piece_bytes = 4096u << sim_rng_below(r, 3);
    p->cache.remote = sim_rng_below(r, 2);
    p->cache.lets_go = sim_rng_below(r, 2);
    p->callers = (unsigned)sim_rng_between(r, 1, USER_CALLERS_MAX);
    p->hot_bytes = 0;
    p->weights.syncs = 0;
    p->weights.opens = p->weights.closes = 20;
    p->weights.exits = 10;
    if (sim_rng_below(r, 2)) { /* reads beside writes past the cache */
        p->through_ppm = 1000000;
        p->weights.writes = 30;
    } else {
        p->rdonly_ppm = 1000000;
        p->weights.writes = 0;
    }
    m->w.p.fs.read_fail_ppm = sim_rng_below(r, 2) ? 20000 : 0;
}

/* Half of the seeds: regions that are read only. */
static void grows(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    alone(m, r);
    p->hot_bytes = 0;
    p->cache.limit_bytes = sim_rng_between(r, 1, 20) * 4096;
    p->cache.piece_bytes = 4096u << sim_rng_below(r, 3);
    p->cache.bypass_factor = sim_rng_below(r, 2) ? 20 : 0;
    p->large_ppm = 500000;
    p->rdonly_ppm = sim_rng_below(r, 2) ? 1000000 : 0;
    p->weights.writes = 20;
    p->weights.syncs = 20;
    p->weights.others = 20;
    p->end_ppm = 800000;
    p->small_writes = true;
    p->weights.changes = 30;
    p->weights.opens = p->weights.closes = 10;
    p->think_ns = 4 * m->w.p.link.delay_ns;
}

void manage_scenario_choose(ManageWorld *m)
{
    static void (*const scenarios[])(ManageWorld *, SimRng *) = {
        [SCENARIO_held] = held,       [SCENARIO_fill] = fill, [SCENARIO_clone] = clone,
        [SCENARIO_sync] = sync_fails, [SCENARIO_led] = led,   [SCENARIO_brief] = brief,
        [SCENARIO_grows] = grows};
    SimRng rng;
    sim_rng_init(&rng, m->w.seed, 0x7363656e);
    if (m->scenario != SCENARIO_any)
        scenarios[m->scenario](m, &rng);
}
