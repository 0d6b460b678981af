/* SPDX-License-Identifier: MIT */
/* The world's files and remote memory, and the jobs that are done on them. */
#include "tests/unit/manage_world.h"

/* ---- files and remote memory ---------------------------------------------------------------- */

uint64_t world_file_has(const WorldFile *f, uint64_t offset, uint64_t len)
{
    uint64_t end = offset + len < f->size ? offset + len : f->size;
    return end > offset ? end - offset : 0;
}

static void file_grow(WorldFile *f, uint64_t size)
{
    if (size > f->size)
        f->size = size; /* the bytes are zeros already */
}

/* libdodo's mread: what is held from remote memory, the rest from the file, and filled. */
static void remote_read(World *w, WorldFile *f, CacheJob *job, CacheResult *ret)
{
    static uint8_t buf[WORLD_BYTES];
    uint64_t n = world_file_has(f, job->offset, job->len);
    for (uint64_t at = job->offset; at < job->offset + n; at++) {
        uint64_t b = at / CACHE_BLOCK;
        buf[at - job->offset] = f->held[b] ? f->remote_bytes[at] : f->bytes[at];
        /* Never stale: what remote memory gives is what the file has. */
        WORLD_CHECK(w, buf[at - job->offset] == f->bytes[at]);
    }
    for (uint64_t b = job->offset / CACHE_BLOCK; (b + 1) * CACHE_BLOCK <= job->offset + n; b++) {
        if (b * CACHE_BLOCK < job->offset || f->held[b])
            continue;
        memcpy(f->remote_bytes + b * CACHE_BLOCK, f->bytes + b * CACHE_BLOCK, CACHE_BLOCK);
        f->held[b] = true;
    }
    cache_job_give(job, buf, n);
    ret->count = (ssize_t)n;
    w->happened.remote_reads++;
}

static void remote_put(WorldFile *f, const uint8_t *data, uint64_t offset, uint64_t len)
{
    for (uint64_t b = offset / CACHE_BLOCK; b * CACHE_BLOCK < offset + len; b++) {
        uint64_t from = b * CACHE_BLOCK, to = from + CACHE_BLOCK;
        bool whole = from >= offset && to <= offset + len;
        if (whole)
            f->held[b] = true;
        from = from > offset ? from : offset;
        to = to < offset + len ? to : offset + len;
        memcpy(f->remote_bytes + from, data + (from - offset), (size_t)(to - from));
    }
}

static void world_write(World *w, WorldFile *f, CacheJob *job, CacheResult *ret)
{
    static uint8_t buf[WORLD_BYTES];
    bool fails = w->full || sim_rng_chance(&w->rng, w->file_fail_ppm);
    uint64_t n = job->len;
    if (fails && sim_rng_chance(&w->rng, 300000) && !w->full)
        n = sim_rng_below(&w->rng, n); /* short */
    else if (fails)
        n = 0;
    WORLD_CHECK(w, job->offset + job->len <= f->len);
    cache_job_take(job, buf, job->len);
    memcpy(f->bytes + job->offset, buf, (size_t)n);
    for (uint64_t b = job->offset / CACHE_BLOCK; b * CACHE_BLOCK < job->offset + n; b++)
        f->unsynced[b] = true;
    if (n)
        file_grow(f, job->offset + n);
    ret->count = fails && !n ? -1 : (ssize_t)n;
    ret->error = fails ? (w->full ? ENOSPC : EIO) : 0;
    if (!job->both)
        return;
    bool there = f->remote_open && !f->remote_gone && f->remote == job->remote;
    if (!there)
        ret->remote_error = ENOMEM;
    else if (fails)
        for (uint64_t b = job->offset / CACHE_BLOCK; b * CACHE_BLOCK < job->offset + job->len; b++)
            f->held[b] = false;
    else
        remote_put(f, buf, job->offset, n);
}

static void world_clone(World *w, WorldFile *f, const uint8_t *buf, CacheJob *job, CacheResult *ret)
{
    if (f->remote_gone) {
        ret->remote_error = ENOMEM;
        return;
    }
    for (uint64_t i = 0; i < job->len; i++)
        WORLD_CHECK(w, buf[i] == f->bytes[job->offset + i]);
    remote_put(f, buf, job->offset, job->len);
    ret->count = (ssize_t)job->len;
    w->happened.clones++;
}

/* What remote memory lacks of it comes from the file, or of its beginning. */
static void world_fill(World *w, WorldFile *f, const CacheJob *job, CacheResult *ret)
{
    uint64_t n = world_file_has(f, job->offset, job->len);
    if (f->remote_gone) {
        ret->remote_error = ENOMEM;
        return;
    }
    if (sim_rng_chance(&w->rng, 200000))
        n = sim_rng_below(&w->rng, n + 1);
    for (uint64_t b = job->offset / CACHE_BLOCK; (b + 1) * CACHE_BLOCK <= job->offset + n; b++) {
        if (f->held[b])
            continue;
        memcpy(f->remote_bytes + b * CACHE_BLOCK, f->bytes + b * CACHE_BLOCK, CACHE_BLOCK);
        f->held[b] = true;
    }
    ret->count = (ssize_t)n;
    w->happened.parts++;
}

static void world_open_remote(World *w, WorldFile *f, CacheResult *ret)
{
    WORLD_CHECK(w, !f->remote_open);
    w->happened.opens++;
    if (sim_rng_chance(&w->rng, w->open_fail_ppm)) {
        ret->remote_error = ENOMEM;
        w->happened.opens_failed++;
        return;
    }
    f->remote_open = true;
    f->remote_gone = false;
    ret->remote = f->remote = ++w->remotes_ever;
    memset(f->held, 0, sizeof f->held);
    memset(f->remote_bytes, 0xee, sizeof f->remote_bytes);
}

static void world_sync(World *w, WorldFile *f, CacheResult *ret)
{
    bool fails = sim_rng_chance(&w->rng, w->sync_fail_ppm);
    for (unsigned b = 0; b < WORLD_BLOCKS; b++) {
        if (f->unsynced[b] && !fails) {
            memcpy(f->disk + b * CACHE_BLOCK, f->bytes + b * CACHE_BLOCK, CACHE_BLOCK);
            f->lost[b] = f->doubt[b] = false;
        }
        f->lost[b] = f->lost[b] || (f->unsynced[b] && fails);
        f->unsynced[b] = false; /* as kernels do: nobody will write it again */
    }
    if (!fails)
        f->disk_size = f->size;
    ret->count = fails ? -1 : 0;
    ret->error = fails ? EIO : 0;
}

/* True, false or senseless: whatever it is, no read may be wrong. */
static void world_recall(World *w, WorldFile *f, CacheResult *ret)
{
    ret->ranges_count = f->earlier_count = sim_rng_below(&w->rng, ARRAY_SIZE(f->earlier) + 1);
    ret->ranges = f->earlier;
    const uint64_t blocks = (f->len + CACHE_BLOCK - 1) / CACHE_BLOCK;
    for (size_t i = 0; i < ret->ranges_count; i++)
        f->earlier[i] = (CacheRange){
            (uint32_t)sim_rng_below(&w->rng, sim_rng_chance(&w->rng, 50000) ? UINT32_MAX : blocks),
            (uint32_t)sim_rng_below(&w->rng, sim_rng_chance(&w->rng, 50000) ? UINT32_MAX : 4)};
}

/* Carries a job out, all at once. */
static void world_do(World *w, WorldJob *j, CacheJob *job, CacheResult *ret)
{
    WorldFile *f = job->file;
    *ret = (CacheResult){.ns = sim_rng_between(&w->rng, 1000, 200000)};
    w->happened.jobs++;
    bool remote = job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
                  job->kind == CACHE_CLONE || job->kind == CACHE_FILL || job->both;
    if (remote) {
        WORLD_CHECK(w, f->remote_open && f->remote == job->remote);
        if (sim_rng_chance(&w->rng, w->remote_fail_ppm) && !f->remote_gone) {
            f->remote_gone = true; /* its imd died */
            w->happened.losses++;
        }
    }
    switch ((enum CacheJobKind)job->kind) {
    case CACHE_READ_FILE:
        if (sim_rng_chance(&w->rng, w->file_fail_ppm)) {
            ret->count = -1;
            ret->error = EIO;
            break;
        }
        ret->count = (ssize_t)world_file_has(f, job->offset, job->len);
        cache_job_give(job, f->bytes + job->offset, (uint64_t)ret->count);
        break;
    case CACHE_READ_FILL:
        w->happened.fills++; /* fall through */
        __attribute__((fallthrough));
    case CACHE_READ_REMOTE:
        if (f->remote_gone)
            ret->remote_error = ENOMEM;
        else
            remote_read(w, f, job, ret);
        break;
    case CACHE_WRITE:
        world_write(w, f, job, ret);
        break;
    case CACHE_FILL:
        world_fill(w, f, job, ret);
        break;
    case CACHE_CLONE:
        if (!j->copied)
            cache_job_take(job, j->copy, job->len);
        world_clone(w, f, j->copy, job, ret);
        break;
    case CACHE_OPEN_REMOTE:
        world_open_remote(w, f, ret);
        break;
    case CACHE_CLOSE_REMOTE:
        WORLD_CHECK(w, f->remote_open && f->remote == job->remote);
        f->remote_open = false;
        break;
    case CACHE_SYNC:
        world_sync(w, f, ret);
        break;
    case CACHE_SIZE:
        ret->count = (ssize_t)f->size;
        break;
    case CACHE_ASK:
        WORLD_CHECK(w, job->len > 0 && job->offset + job->len <= WORLD_BYTES);
        break;
    case CACHE_RECALL:
        world_recall(w, f, ret);
        break;
    case CACHE_ADVISE:
        WORLD_CHECK(w, !job->both || (f->remote_open && f->remote == job->remote));
        break;
    }
}

void world_job_take(World *w, WorldJob *j, const CacheJob *job)
{
    /* No allocation during the refraction period; what began at the same instant as it may. */
    WORLD_CHECK(w, job->kind != CACHE_OPEN_REMOTE || job->start_ns <= w->refraction_from_ns ||
                       job->start_ns >= w->refraction_until_ns);
    j->on = true;
    j->due_ns = w->now_ns + sim_rng_spread(&w->rng, 1000, 20000000);
    j->digest = cache_job_digest(job);
    cache_job_spoil(job);
    j->copied = job->kind == CACHE_CLONE && sim_rng_chance(&w->rng, 800000);
    if (!j->copied)
        return;
    cache_job_take(job, j->copy, job->len);
    cache_clone_copied(w->cache, job);
}

void world_job_finish(World *w, WorldJob *j, CacheJob *job, CacheResult *result)
{
    WORLD_CHECK(w, j->copied || j->digest == cache_job_digest(job));
    j->on = false;
    world_do(w, j, job, result);
    if (job->kind == CACHE_OPEN_REMOTE && result->remote_error) {
        w->refraction_from_ns = w->now_ns;
        w->refraction_until_ns = w->now_ns + w->cfg.refraction_ns;
    }
}
