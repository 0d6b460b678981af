/* SPDX-License-Identifier: MIT */
/* What happens in the world, and when. */
#include "tests/unit/manage_world.h"

/* ---- hooks ---------------------------------------------------------------------------------- */

static void world_lock(void *ctx)
{
    World *w = ctx;
    WORLD_CHECK(w, !w->locked);
    w->locked = true;
}

/* Other threads run now: those that are in no call of the core. */
void world_beside(World *w)
{
    if (w->quiet || w->depth >= 3 || !sim_rng_chance(&w->rng, 300000))
        return;
    w->depth++;
    world_act(w, true);
    w->depth--;
}

static void world_unlock(void *ctx)
{
    World *w = ctx;
    WORLD_CHECK(w, w->locked);
    w->locked = false;
    world_beside(w);
}

static void world_wake(void *ctx, CacheCall *call)
{
    (void)ctx;
    WorldSlot *s = CONTAINER_OF(call, WorldSlot, call);
    s->woken = true;
}

static CacheFileId world_file_id(void *ctx, const void *file)
{
    const World *w = ctx;
    uint64_t n = (uint64_t)((const WorldFile *)file - w->files);
    return (CacheFileId){.device = n % 2, .inode = n};
}

static void world_release(void *ctx, void *file)
{
    World *w = ctx;
    WorldFile *f = file;
    WORLD_CHECK(w, !f->remote_open || !w->cache);
    w->happened.released++;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Another thread's job, which a further one may be carried out beside. */
static CacheJob *job_beside(World *w, const WorldBackground *b)
{
    for (unsigned i = 0; i < WORLD_BACKGROUND; i++)
        if (w->background[i].job.on && &w->background[i] != b)
            return &w->background[i].cache;
    return NULL;
}

/* As before a close, at any time. */
static bool keep_take(World *w, WorldBackground *b)
{
    uint64_t at = 0;
    int rd = (int)sim_rng_below(&w->rng, WORLD_REGIONS + 1);
    return cache_keep_take(w->cache, rd, &at, &b->cache, w->now_ns);
}

/* Is a part of its first piece here already? */
static bool completes(World *w, const CacheJob *job)
{
    const WorldFile *f = job->file;
    bool quiet = w->quiet;
    w->quiet = true;
    int state = job->ahead ? cache_state(w->cache, f->rd, job->offset) : CACHE_DISK;
    w->quiet = quiet;
    return state == CACHE_LOCAL || state == CACHE_BOTH;
}

static bool background_take(World *w, WorldBackground *b)
{
    if (sim_rng_chance(&w->rng, 20000) && keep_take(w, b))
        return true;
    CacheJob *first = job_beside(w, b);
    if (!first || sim_rng_chance(&w->rng, 100000))
        return cache_background_take(w->cache, &b->cache, w->now_ns);
    bool more = cache_background_more(w->cache, first, &b->cache, w->now_ns);
    w->happened.beside += more;
    w->happened.together += more && b->cache.together;
    return more;
}

static void background_go(World *w, WorldBackground *b)
{
    if (b->job.on && w->now_ns >= b->job.due_ns) {
        CacheResult result;
        world_job_finish(w, &b->job, &b->cache, &result);
        result.beside = sim_rng_chance(&w->rng, 500000);
        cache_background_done(w->cache, &b->cache, &result, w->now_ns);
    } else if (!b->job.on && background_take(w, b)) {
        w->happened.completed += completes(w, &b->cache);
        world_job_take(w, &b->job, &b->cache);
    }
}

/* One of the threads does one thing. */
void world_act(World *w, bool starting)
{
    unsigned pick = (unsigned)sim_rng_below(&w->rng, WORLD_SLOTS + WORLD_BACKGROUND);
    if (pick >= WORLD_SLOTS) {
        WorldBackground *b = &w->background[pick - WORLD_SLOTS];
        if (w->depth == 0) /* it is in no call of the core then */
            background_go(w, b);
    } else if (w->slots[pick].on) {
        world_slot_go(w, &w->slots[pick]);
    } else if (starting) {
        world_slot_start(w, &w->slots[pick]);
    }
}

bool world_wait(World *w)
{
    uint64_t next = TIME_NEVER;
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *s = &w->slots[i];
        if (s->on && s->call.need == CACHE_JOB)
            next = min_u64(next, s->job.due_ns);
        else if (s->on && s->call.need == CACHE_BLOCKED)
            next = min_u64(next, s->woken ? w->now_ns : s->call.until_ns);
    }
    for (unsigned i = 0; i < WORLD_BACKGROUND; i++)
        if (w->background[i].job.on)
            next = min_u64(next, w->background[i].job.due_ns);
    if (next == TIME_NEVER)
        return false;
    if (next > w->now_ns)
        w->now_ns = next;
    return true;
}

void world_init(World *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->quiet = true;
    sim_rng_init(&w->rng, seed, 1);
    SimRng *r = &w->rng;
    static const uint32_t pieces[] = {4096, 8192, 16384, 65536};
    cache_config_init(&w->cfg, sim_rng_spread(r, 4096, WORLD_BYTES * 2));
    w->cfg.piece_bytes = pieces[sim_rng_below(r, ARRAY_SIZE(pieces))];
    if (sim_rng_chance(r, 50000))
        w->cfg.limit_bytes = 0;
    w->cfg.low_water_bytes = sim_rng_chance(r, 500000) ? w->cfg.limit_bytes / (seed % 4 + 1) : 0;
    if (sim_rng_chance(r, 200000)) { /* streams that do not fit */
        w->cfg.piece_bytes = CACHE_BLOCK;
        w->cfg.limit_bytes = sim_rng_between(r, 4, 12) * CACHE_BLOCK;
    }
    w->cfg.readahead_bytes = sim_rng_chance(r, 900000) ? w->cfg.limit_bytes / 2 : 0;
    w->cfg.bypass_factor = sim_rng_chance(r, 200000) ? 20 : 0;
    w->cfg.known_reads = sim_rng_chance(r, 100000) ? 2 : 0;
    w->cfg.refraction_ns = sim_rng_spread(r, 1000000, 1000000000);
    w->cfg.write_retry_ns = sim_rng_spread(r, 100000, 100000000);
    w->cfg.cost_fresh_ns = sim_rng_spread(r, 1000000, 10000000000);
    if (seed % 4 == 1) /* what remote memory costs is looked at once */
        w->cfg.cost_fresh_ns = 3600 * NS_PER_S;
    w->cfg.lanes = sim_rng_chance(r, 800000) ? WORLD_LANES : 0;
    w->cfg.remote = sim_rng_chance(r, 850000);
    if (seed % 4 == 2) { /* as in slot_range(): runs along earlier ones */
        w->cfg.remote &= seed % 8 == 2;
        w->cfg.limit_bytes = WORLD_BYTES / 2;
        w->cfg.readahead_bytes = w->cfg.limit_bytes;
        w->cfg.piece_bytes = CACHE_BLOCK << seed / 8 % 3;
        w->cfg.low_water_bytes = 0;
    }
    w->cfg.lets_go = seed % 3 == 0;
    w->cfg.pages = seed % 2 ? &heap_pages : NULL; /* else sanitizers see what is beside a piece */
    if (sim_rng_chance(r, 600000))
        w->file_fail_ppm = (uint32_t)sim_rng_spread(r, 1000, 200000);
    if (sim_rng_chance(r, 400000))
        w->sync_fail_ppm = (uint32_t)sim_rng_spread(r, 10000, 300000);
    if (sim_rng_chance(r, 600000))
        w->remote_fail_ppm = (uint32_t)sim_rng_spread(r, 1000, 200000);
    if (sim_rng_chance(r, 500000))
        w->open_fail_ppm = (uint32_t)sim_rng_spread(r, 10000, 900000);
    w->now_ns = 1000000000;
    w->cache = cache_new(&w->cfg, &(CacheHooks){.lock = world_lock,
                                                .unlock = world_unlock,
                                                .wake = world_wake,
                                                .file_id = world_file_id,
                                                .file_release = world_release,
                                                .ctx = w});
    WORLD_CHECK(w, w->cache);
    cache_copy_cost(w->cache, 4096, sim_rng_spread(r, 100, 20000));
    for (unsigned i = 0; i < WORLD_SLOTS; i++)
        w->lanes[i] = cache_lane(w->cache);
    for (unsigned i = 0; i < WORLD_REGIONS; i++) {
        WorldFile *f = &w->files[i];
        f->rd = -1;
        f->len = sim_rng_between(r, 1, WORLD_BYTES);
        f->size = f->disk_size = f->model_size =
            sim_rng_chance(r, 500000) ? f->len : sim_rng_below(r, f->len + 1);
        memset(f->bytes, (int)sim_rng_between(r, 1, 63), (size_t)f->size);
        memcpy(f->disk, f->bytes, sizeof f->disk);
        memcpy(f->model, f->bytes, sizeof f->model);
        for (uint64_t at = 0; at < f->len; at++)
            f->allowed[at] = world_set_of(f->bytes[at]);
    }
    w->quiet = false;
}

void world_drain(World *w)
{
    for (unsigned n = 0;; n++) {
        WORLD_CHECK(w, n < 2000000);
        bool some = false;
        for (unsigned i = 0; i < WORLD_SLOTS; i++)
            some = some || w->slots[i].on;
        for (unsigned i = 0; i < WORLD_BACKGROUND; i++)
            some = some || w->background[i].job.on;
        if (!some)
            return;
        for (unsigned i = 0; i < WORLD_SLOTS; i++)
            if (w->slots[i].on)
                world_slot_go(w, &w->slots[i]);
        for (unsigned i = 0; i < WORLD_BACKGROUND; i++)
            background_go(w, &w->background[i]);
        some = false;
        for (unsigned i = 0; i < WORLD_SLOTS; i++)
            some = some || w->slots[i].on;
        if (some)
            WORLD_CHECK(w, world_wait(w)); /* else they wait for what never comes */
        else
            (void)world_wait(w);
    }
}
