/* SPDX-License-Identifier: MIT */
/* One seed of programs that use libmanage: the cluster is made, runs under load and faults, heals;
 * all is read and closed; a last program reads everything again; nothing may be left. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "tests/lib/heap_pages.h"
#include "tests/sim/manage.h"

uint64_t manage_broken_guards;

/* ---- what the seed decides ------------------------------------------------------------------ */

/* Of the process that it runs in. */
static void *pages_map(size_t bytes)
{
    return sim_malloc(bytes);
}

static void pages_unmap(void *base, size_t bytes)
{
    (void)bytes;
    sim_free(base);
}

static const BufferPages sim_pages = {
    .map = pages_map, .unmap = pages_unmap, .release = heap_pages_release};

static void choose_cache(CacheConfig *c, SimRng *r)
{
    static const uint32_t pieces[] = {4096, 8192, 16384, 65536};
    cache_config_init(c, sim_rng_spread(r, 4096, USER_FILE_BYTES * 3));
    c->piece_bytes = pieces[sim_rng_below(r, ARRAY_SIZE(pieces))];
    if (sim_rng_chance(r, 50000))
        c->limit_bytes = 0;
    c->low_water_bytes = sim_rng_chance(r, 500000) ? c->limit_bytes / 4 : 0;
    c->readahead_bytes = sim_rng_chance(r, 500000) ? c->limit_bytes / 2 : 0;
    c->bypass_factor = sim_rng_chance(r, 300000) ? 20 : 0;
    c->known_reads = c->bypass_factor ? 2 : 0; /* short lives: nothing would be read ahead */
    c->refraction_ns = sim_rng_spread(r, NS_PER_MS, NS_PER_S);
    c->write_retry_ns = sim_rng_spread(r, 100000, 100 * NS_PER_MS);
    c->cost_fresh_ns = sim_rng_spread(r, NS_PER_MS, 10 * NS_PER_S);
    c->regions_max = 64;
    c->remote = sim_rng_chance(r, 950000);
    c->lets_go = sim_rng_chance(r, 500000);
    c->pages = sim_rng_chance(r, 300000)
                   ? &sim_pages
                   : NULL; /* else sanitizers see what is used after its end */
}

static uint32_t maybe(SimRng *r, uint32_t max_ppm)
{
    uint32_t ppm = (uint32_t)sim_rng_spread(r, 1, max_ppm);
    return sim_rng_below(r, 2) ? ppm : 0;
}

static void choose_programs(ManageParams *p, SimRng *r)
{
    p->users = (unsigned)sim_rng_between(r, 1, USERS_MAX);
    p->callers = (unsigned)sim_rng_between(r, 1, USER_CALLERS_MAX);
    p->regions = (unsigned)sim_rng_between(r, 1, USER_REGIONS_MAX);
    choose_cache(&p->cache, r);
    p->copy_ns = sim_rng_spread(r, 100, 20000);
    p->rdonly_ppm = maybe(r, 800000);
    p->retain_ppm = sim_rng_below(r, 2) ? 900000 : maybe(r, 500000);
    p->stripe_ppm = maybe(r, 800000);
    p->through_ppm = maybe(r, 900000);
    p->stream_ppm = maybe(r, 950000);
    p->weights.writes = sim_rng_below(r, 6) ? (unsigned)sim_rng_spread(r, 5, 150) : 1;
    p->weights.syncs = (unsigned)sim_rng_spread(r, 1, 30);
    p->weights.opens = (unsigned)sim_rng_spread(r, 2, 10);
    p->weights.closes = (unsigned)sim_rng_spread(r, 1, 20);
    p->weights.changes = (unsigned)sim_rng_below(r, 10);
    p->recall_ns = 2000;
    p->weights.exits = sim_rng_below(r, 2);
    p->weights.policies = (unsigned)sim_rng_below(r, 3);
    p->kill_steps = sim_rng_below(r, 3) ? sim_rng_spread(r, 20, 2000) : 0;
    p->large_ppm = maybe(r, 500000);
    p->hits = sim_rng_below(r, 2);
    p->beside_ppm = maybe(r, 300000);
}

static void choose_files(ManageWorld *m, SimRng *r)
{
    SimFsConfig *f = &m->w.p.fs;
    m->p.full_every_ns = TIME_NEVER;
    f->read_fail_ppm = f->write_fail_ppm = f->write_short_ppm = f->write_full_ppm =
        f->sync_fail_ppm = 0;
    if (sim_rng_below(r, 2) == 0) {
        f->read_fail_ppm = maybe(r, 100000);
        f->write_fail_ppm = maybe(r, 200000);
        f->write_short_ppm = maybe(r, 100000);
        f->write_full_ppm = maybe(r, 200000);
        f->sync_fail_ppm = sim_rng_below(r, 2) ? (uint32_t)sim_rng_below(r, 400000) : 0;
        if (sim_rng_below(r, 3) == 0)
            m->p.full_every_ns = m->w.p.duration_ns / 4;
    }
    f->honest = sim_rng_below(r, 8) != 0;
    if (sim_rng_below(r, 2)) /* as a disk that remote memory is better than */
        f->op_ns = sim_rng_spread(r, 4 * m->w.p.link.delay_ns, 100 * NS_PER_MS);
    f->slow_ns = f->op_ns * 10;
    if (f->granule_ns > 50 * NS_PER_MS)
        f->granule_ns = 50 * NS_PER_MS;
}

void manage_file_is_slow(ManageWorld *m, SimRng *r)
{
    Params *q = &m->w.p;
    q->link.delay_ns = sim_rng_spread(r, 20, 200) * NS_PER_US;
    q->link.jitter_ns = q->link.delay_ns;
    q->link.bytes_per_s = q->link.loss_ppm = 0;
    q->faults.every_ns = TIME_NEVER;
    q->fs.op_ns = 20 * q->link.delay_ns;
    q->fs.slow_ns = 5 * q->fs.op_ns;
    q->fs.slow_ppm = 300000;
    m->p.think_ns = q->fs.op_ns / 2;
    q->duration_ns = 300 * NS_PER_MS + 100 * q->fs.op_ns;
}

/* Most seeds are about one thing each. */
static void choose_focus(ManageWorld *m, SimRng *r)
{
    ManageParams *p = &m->p;
    Params *q = &m->w.p;
    SimFsConfig *f = &q->fs;
    switch (sim_rng_below(r, 10)) {
    case 0: /* an earlier run's data, beside writes that go to the file alone */
        p->users = 1 + (unsigned)sim_rng_below(r, 2);
        p->retain_ppm = 1000000;
        p->rdonly_ppm = 100000;
        p->stripe_ppm = 0;
        p->through_ppm = 800000;
        p->weights.writes = (unsigned)sim_rng_between(r, 5, 40);
        p->weights.opens = p->weights.closes = 20;
        p->weights.changes = 0;
        f->honest = p->cache.remote = true;
        f->granule_ns = NS_PER_MS;
        f->lease_counts_own = false;
        p->callers = USER_CALLERS_MAX;
        manage_file_is_slow(m, r);
        break;
    case 1: /* several threads' csyncs of one region, which fail */
        p->callers = USER_CALLERS_MAX;
        p->users = p->regions = 1;
        p->weights.writes = 100;
        p->weights.syncs = 150;
        p->weights.closes = 1;
        p->rdonly_ppm = 0;
        p->cache.remote = sim_rng_below(r, 4) == 0;
        f->sync_fail_ppm = (uint32_t)sim_rng_between(r, 100000, 400000);
        break;
    case 2: /* no room */
        p->cache.limit_bytes = p->cache.piece_bytes * sim_rng_below(r, 3);
        p->callers = USER_CALLERS_MAX;
        p->regions = 1;
        p->through_ppm = 500000;
        p->cache.refraction_ns = NS_PER_MS;
        p->cache.remote = true;
        break;
    case 3: /* hosts vanish in the midst of writes */
        p->weights.writes = 150;
        p->rdonly_ppm = 0;
        p->large_ppm = 600000;
        p->cache.limit_bytes = 2 * USER_FILE_BYTES;
        p->cache.piece_bytes = 16384;
        p->cache.remote = true;
        p->cache.refraction_ns = NS_PER_MS;
        q->calm = q->calm_manager = false;
        q->faults.every_ns = sim_rng_spread(r, 5, 100) * NS_PER_MS;
        q->faults.long_ns = 50 * NS_PER_MS;
        q->faults.weights[FAULT_IMD_CRASH] = 10;
        break;
    case 4: /* memory is opened beside writes of the file alone, and filled */
        p->cache.limit_bytes = 0;
        p->cache.remote = true;
        p->callers = USER_CALLERS_MAX;
        p->users = p->regions = 1;
        p->large_ppm = 700000;
        p->small_writes = true;
        p->weights.writes = 60;
        p->weights.opens = p->weights.closes = 60;
        p->rdonly_ppm = p->weights.exits = p->weights.changes = 0;
        p->kill_steps = 0;
        p->through_ppm = 900000;
        if (sim_rng_below(r, 2))
            p->cache.limit_bytes = USER_FILE_BYTES;
        manage_file_is_slow(m, r);
        break;
    case 5: /* writes past the cache, of what is cached, that fail half-way */
        p->cache.limit_bytes = 2 * USER_FILE_BYTES;
        p->cache.bypass_factor = 0;
        p->callers = USER_CALLERS_MAX;
        p->users = p->regions = 1;
        p->through_ppm = 950000;
        p->weights.writes = 60;
        p->weights.opens = p->weights.closes = 5;
        p->rdonly_ppm = p->weights.changes = 0;
        p->kill_steps = 0;
        f->write_fail_ppm = (uint32_t)sim_rng_between(r, 50000, 300000);
        f->write_short_ppm = 100000;
        if (sim_rng_below(r, 2)) /* ... which a run along an earlier one reads ahead */
            manage_run_is_led(p);
        f->sync_fail_ppm = 0;
        break;
    case 6: /* streams, read ahead beside writes and csyncs */
        p->cache.piece_bytes = 4096;
        p->cache.limit_bytes = sim_rng_between(r, 6, 16) * 4096;
        p->cache.readahead_bytes = p->cache.limit_bytes / 2;
        p->cache.bypass_factor = 0;
        p->callers = (unsigned)sim_rng_between(r, 2, USER_CALLERS_MAX);
        p->users = p->regions = 1;
        p->stream_ppm = 1000000;
        p->large_ppm = p->weights.changes = p->rdonly_ppm = 0;
        p->weights.writes = p->weights.syncs = 10;
        p->weights.opens = p->weights.closes = 3;
        if (sim_rng_below(r, 2))
            manage_file_is_slow(m, r);
        break;
    case 7: /* a cache that lets go, and is kept again, beside writes and csyncs */
        p->cache.piece_bytes = 4096;
        p->cache.limit_bytes = sim_rng_between(r, 4, 8) * 4096;
        p->cache.lets_go = true;
        p->cache.bypass_factor = 0;
        p->cache.readahead_bytes = 0;
        p->cache.remote = sim_rng_below(r, 2);
        p->users = p->regions = 1;
        p->rdonly_ppm = p->weights.changes = 0;
        p->weights.writes = p->weights.syncs = 5;
        p->weights.opens = p->weights.closes = 2;
        break;
    default:
        break;
    }
}

/* Hosts that return something else; some seeds are about small writes beside it. By numbers of its
 * own: all else is as it is without. */
static void choose_lies(ManageWorld *m)
{
    ManageParams *p = &m->p;
    SimRng *r = &m->lies;
    sim_rng_init(r, m->w.seed, 0x6c6965);
    if (sim_rng_below(r, 3))
        return;
    p->lie_ppm = (uint32_t)sim_rng_spread(r, 50000, 1000000);
    if (sim_rng_below(r, 3))
        return;
    p->users = p->regions = 1;
    p->cache.piece_bytes = 16384;
    p->cache.limit_bytes = sim_rng_between(r, 1, 3) * p->cache.piece_bytes;
    p->cache.bypass_factor = 0;
    p->cache.remote = true;
    p->cache.lets_go = false;
    p->weights.writes = 50;
    p->weights.opens = p->weights.closes = 3;
    p->small_writes = true;
    p->rdonly_ppm = p->through_ppm = p->weights.changes = 0;
    manage_file_is_slow(m, r);
}

/* Reads past the cache that fail, beside closes. By numbers of its own, likewise. */
static void choose_failing_hits(ManageWorld *m)
{
    ManageParams *p = &m->p;
    SimFsConfig *f = &m->w.p.fs;
    SimRng rng, *r = &rng;
    sim_rng_init(r, m->w.seed, 0x686974);
    if (sim_rng_below(r, 12))
        return;
    p->hits = true;
    p->callers = USER_CALLERS_MAX;
    p->users = p->regions = 1;
    p->cache.bypass_factor = 20;
    p->cache.known_reads = 2;
    p->weights.opens = p->weights.closes = 60;
    p->weights.writes = 2;
    p->weights.changes = p->weights.exits = 0;
    p->kill_steps = 0;
    p->copy_ns = p->think_ns = f->op_ns = sim_rng_between(r, 1, 4) * NS_PER_MS;
    m->w.p.duration_ns = 400 * NS_PER_MS;
    f->read_fail_ppm = (uint32_t)sim_rng_between(r, 100000, 400000);
}

/* Half of the seeds pay more for extents than the library does, so that many are read; in half of
 * them the kernel has something of the files. */
static void choose_extents(ManageWorld *m)
{
    SimRng rng;
    sim_rng_init(&rng, m->w.seed, 0x657874);
    m->p.cache.extent_bytes = 4096ull << sim_rng_below(&rng, 6);
    if (sim_rng_below(&rng, 2))
        m->p.cache.spend_percent = (unsigned)sim_rng_spread(&rng, 10, 300);
    if (sim_rng_below(&rng, 8) == 0)
        m->p.cache.extent_bytes = 0;
    if (sim_rng_below(&rng, 2))
        m->p.held_ppm = (uint32_t)sim_rng_spread(&rng, 10000, 900000);
}

/* A slow file that is read here and there, by regions that lie side by side: parts go on from one
 * into the next one. By numbers of its own. */
static void choose_neighbours(ManageWorld *m)
{
    ManageParams *p = &m->p;
    SimRng rng;
    sim_rng_init(&rng, m->w.seed, 0x6e6272);
    if (sim_rng_below(&rng, 16))
        return;
    p->side_by_side = true;
    p->users = p->callers = 1;
    p->regions = USER_REGIONS_MAX;
    p->rdonly_ppm = 1000000;
    p->stream_ppm = p->stripe_ppm = p->lie_ppm = p->held_ppm = 0;
    p->weights.writes = p->weights.changes = p->weights.exits = 0;
    p->weights.opens = p->weights.closes = 40; /* remote memory goes, and is filled again */
    p->cache.piece_bytes = 4096;
    p->cache.limit_bytes = (uint64_t)2 * 4096;
    p->cache.readahead_bytes = p->cache.low_water_bytes = 0;
    p->cache.bypass_factor = p->cache.known_reads = 0;
    p->cache.remote = true;
    p->cache.lets_go = false;
    p->cache.extent_bytes = USER_FILE_BYTES;
    p->cache.spend_percent = 300;
    manage_file_is_slow(m, &rng);
}

/* Others append to what programs have open, or cut it. By numbers of its own. */
static void choose_others(ManageWorld *m)
{
    SimRng rng;
    sim_rng_init(&rng, m->w.seed, 0x6f7468);
    if (sim_rng_below(&rng, 6))
        return;
    m->p.weights.others = (unsigned)sim_rng_spread(&rng, 1, 30);
    m->p.end_ppm = (uint32_t)sim_rng_spread(&rng, 10000, 900000);
}

/* The cluster's own part of the parameters is as for libdodo's programs, which there are none of.
 */
void manage_params_choose(ManageWorld *m)
{
    static const int scenarios[] = {SCENARIO_GENERAL, SCENARIO_CALM,  SCENARIO_HOSTS,
                                    SCENARIO_HOSTS,   SCENARIO_CHURN, SCENARIO_RETAIN,
                                    SCENARIO_SILENCE, SCENARIO_CALM,  SCENARIO_STRIPES};
    Params *q = &m->w.p;
    SimRng rng, *r = &rng;
    unsigned kinds = 0;
    sim_rng_init(r, m->w.seed, 0x6d616e);
    int scenario = scenarios[sim_rng_below(r, ARRAY_SIZE(scenarios))];
    params_choose(q, m->w.seed, m->scenario == SCENARIO_any ? scenario : SCENARIO_CALM);
    choose_programs(&m->p, r);
    q->clients = 0;
    q->client_hosts = q->files = 1;
    q->file_cap = q->region_max = USER_FILE_BYTES;
    q->programs.stripe_bytes = sim_rng_between(r, 1, 6) * 4096;
    q->duration_ns = sim_rng_spread(r, 300, 3000) * NS_PER_MS;
    uint64_t calls = sim_rng_spread(r, 100, 800);
    m->p.think_ns = q->duration_ns * m->p.users * m->p.callers / calls;
    q->faults.weights[FAULT_CLIENT_KILL] = q->faults.weights[FAULT_CLIENT_KILL_WRITING] =
        q->faults.weights[FAULT_CLIENT_PAUSE] = 0;
    for (unsigned f = 0; f < FAULT_COUNT; f++)
        kinds += q->faults.weights[f];
    if (!kinds)
        q->faults.every_ns = TIME_NEVER;
    else if (q->faults.every_ns != TIME_NEVER)
        q->faults.every_ns = sim_rng_spread(r, 20, 500) * NS_PER_MS;
    choose_files(m, r);
    choose_focus(m, r);
    choose_lies(m);
    choose_failing_hits(m);
    choose_extents(m);
    choose_neighbours(m);
    choose_others(m);
    manage_scenario_choose(m);
}

/* ---- making the world ----------------------------------------------------------------------- */

/* Ranges of a file: of all lengths, side by side or over each other. */
static void make_ranges(UserFile *f, bool side_by_side, SimRng *r)
{
    const uint64_t each = USER_FILE_BLOCKS / USER_RANGES * 4096;
    for (unsigned i = 0; i < USER_RANGES && side_by_side; i++) {
        f->ranges[i].offset = i * each;
        f->ranges[i].len = each;
    }
    for (unsigned i = 0; i < USER_RANGES && !side_by_side; i++) {
        uint64_t len = sim_rng_spread(r, i ? 1 : USER_FILE_BYTES / 2, USER_FILE_BYTES), offset;
        if (sim_rng_below(r, 2))
            len = (len + 4095) / 4096 * 4096;
        offset = sim_rng_below(r, USER_FILE_BYTES - len + 1);
        if (sim_rng_below(r, 2))
            offset = offset / 4096 * 4096;
        if (i && sim_rng_below(r, 3) == 0) { /* right behind the last one */
            uint64_t end = f->ranges[i - 1].offset + f->ranges[i - 1].len;
            if (end < USER_FILE_BYTES) {
                offset = end;
                len = len < USER_FILE_BYTES - end ? len : USER_FILE_BYTES - end;
            }
        }
        f->ranges[i].offset = offset;
        f->ranges[i].len = len;
    }
}

static void make_files(ManageWorld *m)
{
    World *w = &m->w;
    static uint8_t bytes[USER_FILE_BYTES];
    w->fs[0] = simfs_new(w->net, w->seed, 0, &w->p.fs, truth_changed, m);
    for (unsigned i = 0; i < USER_FILES; i++) {
        SimFile *sim = simfs_create(w->fs[0], USER_FILE_BYTES);
        uint64_t size =
            sim_rng_below(&w->rng, 2) ? USER_FILE_BYTES : sim_rng_below(&w->rng, USER_FILE_BYTES);
        size = m->p.side_by_side ? USER_FILE_BYTES : size;
        m->files[i].sim = sim;
        make_ranges(&m->files[i], m->p.side_by_side, &w->rng);
        for (uint64_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)(1 + (at / 512 + i) % USER_VALUES);
        m->poking = true;
        if (size)
            simfs_poke(sim, 0, bytes, size);
        m->poking = false;
        memcpy(sim->durable, sim->data, USER_FILE_BYTES);
        memset(sim->dirty, 0, USER_FILE_BYTES / 4096 + 1);
    }
    truth_begin(m);
}

static void first_start(World *w, unsigned index)
{
    user_start(&CONTAINER_OF(w, ManageWorld, w)->users[index]);
}

static void full_turn(void *ctx, uint64_t arg)
{
    ManageWorld *m = ctx;
    World *w = &m->w;
    SimFsConfig *c = &w->fs[0]->config;
    bool full = !arg && w->phase.now == PHASE_RUN;
    c->write_full_ppm = full ? 1000000 : m->full_ppm_before;
    if (full)
        manage_cover(m, MANAGE_COVER_FULL);
    if (w->phase.now == PHASE_RUN)
        simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, m->p.full_every_ns), NULL,
                  full_turn, m, full);
    else
        c->write_full_ppm = 0;
}

static void world_make(ManageWorld *m, uint64_t seed)
{
    World *w = &m->w;
    w->seed = seed;
    manage_params_choose(m);
    cluster_make(w, 0x6d776f72);
    make_files(m);
    for (unsigned i = 0; i < m->p.users; i++) {
        m->users[i].m = m;
        m->users[i].index = i;
    }
    cluster_start(w, m->p.users, first_start);
    m->full_ppm_before = w->p.fs.write_full_ppm;
    if (m->p.full_every_ns != TIME_NEVER)
        full_turn(m, 1);
    faults_start(w);
    owners_start(w);
    lies_start(w);
}

static void world_end(ManageWorld *m)
{
    World *w = &m->w;
    for (unsigned i = 0; i < m->p.users; i++) {
        User *u = &m->users[i];
        user_kill(u);
        for (unsigned j = 0; j < USER_THREADS_MAX; j++) {
            free(u->threads[j].buf);
            free(u->threads[j].job.bounce);
            free(u->threads[j].may);
        }
    }
    cluster_end(w);
}

/* ---- phases --------------------------------------------------------------------------------- */

static void heal(ManageWorld *m)
{
    World *w = &m->w;
    SimFsConfig *c = &w->fs[0]->config;
    faults_heal(w);
    owners_heal(w);
    c->read_fail_ppm = c->write_fail_ppm = c->write_short_ppm = c->write_full_ppm =
        c->sync_fail_ppm = 0;
    for (unsigned i = 0; i < m->p.users; i++)
        m->users[i].heap.fail_ppm = 0;
    m->p.lie_ppm = 0;
}

static bool all_ended(const ManageWorld *m)
{
    for (unsigned i = 0; i < m->p.users; i++)
        if (m->users[i].running)
            return false;
    return true;
}

static void phases_step(ManageWorld *m)
{
    World *w = &m->w;
    uint64_t patience = 600 * NS_PER_S;
    bool due = world_now(w) >= w->phase.until_ns;
    if (w->phase.now == PHASE_RUN && due) {
        phase_enter(w, PHASE_HEAL, patience);
        heal(m);
    } else if (w->phase.now == PHASE_HEAL && all_ended(m)) {
        phase_enter(w, PHASE_PROBE, patience);
        m->users[0].checking = true;
        user_start(&m->users[0]);
    } else if (w->phase.now == PHASE_PROBE && all_ended(m)) {
        phase_enter(w, PHASE_QUIET, cluster_settle_ns(w));
    } else if (w->phase.now == PHASE_QUIET && due) {
        check_quiet(w);
        w->phase.now = PHASE_DONE;
    } else {
        phase_overdue(w);
    }
}

static void phases_tick(void *ctx, uint64_t arg)
{
    ManageWorld *m = ctx;
    (void)arg;
    phases_step(m);
    simnet_at(m->w.net, world_now(&m->w) + 10 * NS_PER_MS, NULL, phases_tick, m, 0);
}

void manage_run(uint64_t seed, enum ManageScenario scenario, FILE *trace, uint64_t *cover_sum,
                SeedResult *ret)
{
    static uint64_t cluster[COVER_MAX];
    ManageWorld *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    World *w = &m->w;
    w->cover = cluster;
    w->trace = trace;
    m->cover = cover_sum;
    m->scenario = scenario;
    world_make(m, seed);
    phase_enter(w, PHASE_RUN, w->p.duration_ns);
    phases_tick(m, 0);
    cluster_run(w, 256);
    *ret = (SeedResult){.digest = simnet_digest(w->net), .events = simnet_events(w->net)};
    memcpy(ret->violation, w->violated.text, sizeof ret->violation);
    world_end(m);
    free(m);
}
