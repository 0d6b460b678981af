/* SPDX-License-Identifier: MIT */
/* A world for the region cache's core: files, their disk, remote memory, and several threads'
 * calls, all decided by a seed. Files lose what a failed fdatasync was for, remote memory vanishes,
 * jobs take time, and what happens beside a copy happens while it has let go of the lock.
 *
 * Each write fills its range with one value of 1 .. 63, so that what a byte may be is a set of
 * values in 64 bits: what a read may return, and what the disk may hold since the last csync that
 * returned.
 */
#ifndef DODO_TESTS_MANAGE_WORLD_H
#define DODO_TESTS_MANAGE_WORLD_H

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/time.h"
#include "libmanage/core.h"
#include "tests/lib/cache_job.h"
#include "tests/lib/heap_pages.h"
#include "tests/lib/sim_rng.h"

enum {
    WORLD_REGIONS = 3,
    WORLD_SLOTS = 4,      /* threads with a call each */
    WORLD_LANES = 3,      /* for their hits: two share one */
    WORLD_BACKGROUND = 2, /* threads with a job each */
    WORLD_BYTES = 24 * CACHE_BLOCK,
    WORLD_BLOCKS = WORLD_BYTES / CACHE_BLOCK,
};

typedef struct WorldFile {
    int rd; /* -1: not open */
    unsigned flags;
    uint64_t len;
    uint64_t size, disk_size;      /* of the file */
    uint8_t bytes[WORLD_BYTES];    /* what pread gives */
    uint8_t disk[WORLD_BYTES];     /* what a crash leaves */
    bool unsynced[WORLD_BLOCKS];   /* the kernel would write it */
    bool lost[WORLD_BLOCKS];       /* ... would have, but an fdatasync failed */
    bool doubt[WORLD_BLOCKS];      /* ... before the region was opened: nobody knows any more */
    uint64_t model_size;           /* with what is in the cache */
    uint8_t model[WORLD_BYTES];    /* what a read must give */
    uint64_t allowed[WORLD_BYTES]; /* sets of values: of the disk, after a crash now */
    bool remote_open, remote_gone;
    int remote;
    uint8_t remote_bytes[WORLD_BYTES];
    bool held[WORLD_BLOCKS];
    unsigned calls; /* in progress */
} WorldFile;

typedef struct WorldJob {
    bool on;
    uint64_t due_ns;
    uint64_t digest; /* of what is written: it must not change meanwhile */
    bool copied;     /* a clone: the program may write there meanwhile */
    uint8_t copy[WORLD_BYTES];
} WorldJob;

enum { STREAM_READS = 8 };

typedef enum WorldOp { OP_READ, OP_WRITE, OP_SYNC, OP_CLOSE, OP_ADVISE, OP_KINDS } WorldOp;

typedef struct WorldSlot {
    bool on, running, woken;
    int streaming; /* reads at so many lengths from each other, of one file; 0: anywhere */
    WorldOp op;
    CacheCall call;
    WorldFile *file;
    WorldJob job;
    uint64_t offset, len;
    uint8_t value;
    uint8_t buf[WORLD_BYTES];
    uint64_t may[WORLD_BYTES]; /* read, sync: sets of values */
    uint64_t size_min;
} WorldSlot;

typedef struct WorldBackground {
    CacheJob cache;
    WorldJob job;
} WorldBackground;

typedef struct World {
    bool locked; /* the core's lock; no thread is there to keep out */
    SimRng rng;
    Cache *cache;
    CacheConfig cfg;
    uint64_t now_ns;
    WorldFile files[WORLD_REGIONS];
    WorldSlot slots[WORLD_SLOTS];
    WorldBackground background[WORLD_BACKGROUND];
    unsigned depth;
    bool quiet; /* nothing runs beside a copy */
    uint32_t file_fail_ppm, sync_fail_ppm, remote_fail_ppm, open_fail_ppm;
    bool full; /* the file system: writes fail with ENOSPC */
    int policy;
    uint64_t refraction_from_ns, refraction_until_ns;
    int remotes_ever;
    uint64_t seed;
    bool trace;
    CacheRange earlier[8]; /* what a run is said to have needed */
    /* what happened */
    uint64_t reads, writes, syncs, closes, failed_writes, failed_syncs, opens, opens_failed, clones,
        losses, released, remote_reads, fills, parts, jobs, hits, file_hits, beside;
    struct Lane *lanes[WORLD_SLOTS];
} World;

#define WORLD_CHECK(w, condition)                                                              \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, \
                    __LINE__, #condition);                                                     \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

static void world_act(World *w, bool starting);

/* ---- hooks ---------------------------------------------------------------------------------- */

static void world_lock(void *ctx)
{
    World *w = ctx;
    WORLD_CHECK(w, !w->locked);
    w->locked = true;
}

/* Other threads run now: those that are in no call of the core. */
static void world_beside(World *w)
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
    w->released++;
}

/* ---- files and remote memory ---------------------------------------------------------------- */

static uint64_t file_has(const WorldFile *f, uint64_t offset, uint64_t len)
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
    uint64_t n = file_has(f, job->offset, job->len);
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
    w->remote_reads++;
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
    w->clones++;
}

/* What remote memory lacks of it comes from the file, or of its beginning. */
static void world_fill(World *w, WorldFile *f, const CacheJob *job, CacheResult *ret)
{
    uint64_t n = file_has(f, job->offset, job->len);
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
    w->parts++;
}

static void world_open_remote(World *w, WorldFile *f, CacheResult *ret)
{
    WORLD_CHECK(w, !f->remote_open);
    w->opens++;
    if (sim_rng_chance(&w->rng, w->open_fail_ppm)) {
        ret->remote_error = ENOMEM;
        w->opens_failed++;
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
static void world_recall(World *w, CacheResult *ret)
{
    ret->ranges_count = sim_rng_below(&w->rng, ARRAY_SIZE(w->earlier) + 1);
    ret->ranges = w->earlier;
    for (size_t i = 0; i < ret->ranges_count; i++)
        w->earlier[i] = (CacheRange){
            (uint32_t)sim_rng_below(&w->rng,
                                    sim_rng_chance(&w->rng, 50000) ? UINT32_MAX : WORLD_BLOCKS),
            (uint32_t)sim_rng_below(&w->rng, sim_rng_chance(&w->rng, 50000) ? UINT32_MAX : 4)};
}

/* Carries a job out, all at once. */
static void world_do(World *w, WorldJob *j, CacheJob *job, CacheResult *ret)
{
    WorldFile *f = job->file;
    *ret = (CacheResult){.ns = sim_rng_between(&w->rng, 1000, 200000)};
    w->jobs++;
    bool remote = job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
                  job->kind == CACHE_CLONE || job->kind == CACHE_FILL || job->both;
    if (remote) {
        WORLD_CHECK(w, f->remote_open && f->remote == job->remote);
        if (sim_rng_chance(&w->rng, w->remote_fail_ppm) && !f->remote_gone) {
            f->remote_gone = true; /* its imd died */
            w->losses++;
        }
    }
    switch ((enum CacheJobKind)job->kind) {
    case CACHE_READ_FILE:
        if (sim_rng_chance(&w->rng, w->file_fail_ppm)) {
            ret->count = -1;
            ret->error = EIO;
            break;
        }
        ret->count = (ssize_t)file_has(f, job->offset, job->len);
        cache_job_give(job, f->bytes + job->offset, (uint64_t)ret->count);
        break;
    case CACHE_READ_FILL:
        w->fills++; /* fall through */
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
        world_recall(w, ret);
        break;
    case CACHE_ADVISE:
        WORLD_CHECK(w, !job->both || (f->remote_open && f->remote == job->remote));
        break;
    }
}

static void job_take(World *w, WorldJob *j, const CacheJob *job)
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

static void job_finish(World *w, WorldJob *j, CacheJob *job, CacheResult *result)
{
    WORLD_CHECK(w, j->copied || j->digest == cache_job_digest(job));
    j->on = false;
    world_do(w, j, job, result);
    if (job->kind == CACHE_OPEN_REMOTE && result->remote_error) {
        w->refraction_from_ns = w->now_ns;
        w->refraction_until_ns = w->now_ns + w->cfg.refraction_ns;
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

static uint64_t set_of(uint8_t value)
{
    return value < 64 ? 1ull << value : 0;
}

/* A write begins: from now on its value may be seen, and may be on the disk. */
static void write_seen(World *w, WorldSlot *writer)
{
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *s = &w->slots[i];
        if (s == writer || !s->on || s->file != writer->file || s->op == OP_WRITE)
            continue;
        for (uint64_t at = writer->offset; at < writer->offset + writer->len; at++)
            s->may[at] |= set_of(writer->value);
    }
    for (uint64_t at = writer->offset; at < writer->offset + writer->len; at++)
        writer->file->allowed[at] |= set_of(writer->value);
}

/* What a read or sync that begins now may find. */
static void may_begin(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    /* A sync's is about all of it. */
    uint64_t from = s->op == OP_READ ? s->offset : 0;
    uint64_t to = s->op == OP_READ ? s->offset + s->len : f->len;
    for (uint64_t at = from; at < to; at++)
        s->may[at] = set_of(f->model[at]);
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *o = &w->slots[i];
        if (o != s && o->on && o->file == f && o->op == OP_WRITE)
            for (uint64_t at = o->offset; at < o->offset + o->len; at++)
                s->may[at] |= set_of(o->value);
    }
    s->size_min = f->model_size;
}

static bool write_overlaps(World *w, const WorldSlot *s)
{
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        WorldSlot *o = &w->slots[i];
        if (o != s && o->on && o->file == s->file && o->op == OP_WRITE &&
            o->offset < s->offset + s->len && s->offset < o->offset + o->len)
            return true;
    }
    return false;
}

/* Of the world's own arrays. Most of the test's time would go here: no branch for a byte, and no
 * sanitizer's look at each. */
#ifdef __clang__
__attribute__((no_sanitize("address", "undefined", "coverage")))
#endif
static bool
all_in_sets(const uint8_t *bytes, const uint64_t *sets, uint64_t len)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < len; i++)
        wrong |= (bytes[i] & ~63u) | (~(sets[i] >> (bytes[i] & 63)) & 1);
    return !wrong;
}

static void read_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->call.result < 0) {
        WORLD_CHECK(w, s->call.error == EIO && w->file_fail_ppm);
        return;
    }
    uint64_t n = (uint64_t)s->call.result;
    uint64_t least = s->size_min < s->offset            ? 0
                     : s->size_min < s->offset + s->len ? s->size_min - s->offset
                                                        : s->len;
    WORLD_CHECK(w, n >= least && n <= s->len);
    WORLD_CHECK(w, all_in_sets(s->buf, s->may + s->offset, n));
    w->reads++;
    (void)f;
}

static void write_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    uint64_t n = s->call.result < 0 ? 0 : (uint64_t)s->call.result;
    if (s->call.result < 0)
        WORLD_CHECK(w, s->call.error == (w->full ? ENOSPC : EIO) || s->call.error == ENOSPC ||
                           s->call.error == EIO);
    w->failed_writes += s->call.result < 0;
    WORLD_CHECK(w, n <= s->len);
    memset(f->model + s->offset, s->value, (size_t)n);
    if (n && s->offset + n > f->model_size)
        f->model_size = s->offset + n;
    w->writes++;
}

/* What returned 0 is on the disk, whatever happens from now on. */
static void sync_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->call.result < 0) {
        WORLD_CHECK(w, s->call.error == EIO || s->call.error == ENOSPC);
        w->failed_syncs++;
        return;
    }
    bool lost = false;
    for (uint64_t at = 0; at < f->len; at++) {
        uint64_t b = at / CACHE_BLOCK;
        /* A close tells once that an fdatasync failed for what is cached no more, and then closes.
         */
        if (f->doubt[b] || (s->op == OP_CLOSE && f->lost[b]))
            lost = true;
        else
            f->allowed[at] &= s->may[at];
    }
    WORLD_CHECK(w, lost || f->disk_size >= s->size_min);
    w->syncs++;
}

static void world_disk_check(World *w)
{
    for (unsigned i = 0; i < WORLD_REGIONS; i++) {
        WorldFile *f = &w->files[i];
        WORLD_CHECK(w, all_in_sets(f->disk, f->allowed, f->len));
    }
}

static void slot_result(World *w, WorldSlot *s)
{
    WorldFile *f = s->file;
    if (s->op == OP_READ)
        read_result(w, s);
    else if (s->op == OP_WRITE)
        write_result(w, s);
    else if (s->op == OP_ADVISE)
        WORLD_CHECK(w, s->call.result == 0);
    else
        sync_result(w, s);
    if (s->op == OP_CLOSE && s->call.result == 0) {
        f->rd = -1;
        w->closes++;
        WORLD_CHECK(w, !f->remote_open);
        for (uint64_t at = 0; at < f->len; at++) /* nothing is left anywhere else */
            WORLD_CHECK(w, f->bytes[at] == f->model[at]);
    }
    f->calls--;
    s->on = false;
}

/* The core has moved the call on. */
static void slot_look(World *w, WorldSlot *s)
{
    s->running = false;
    if (s->call.need == CACHE_JOB)
        job_take(w, &s->job, &s->call.job);
    else if (s->call.need == CACHE_OVER)
        slot_result(w, s);
}

static void world_open(World *w, WorldFile *f)
{
    static const unsigned flags[] = {0, DODO_RETAIN, MANAGE_WRITE_THROUGH};
    f->flags = flags[sim_rng_below(&w->rng, ARRAY_SIZE(flags))];
    bool quiet = w->quiet;
    w->quiet = true;
    f->rd = cache_open(w->cache, f->len, f->size, f, f->flags);
    w->quiet = quiet;
    WORLD_CHECK(w, f->rd >= 0);
    memcpy(f->doubt, f->lost, sizeof f->doubt);
}

static void slot_range(World *w, WorldSlot *s)
{
    uint64_t len = s->file->len;
    uint64_t next = s->offset + (uint64_t)s->streaming * s->len; /* below 0: beyond the end */
    if (s->op == OP_READ && s->streaming && next < len) {
        s->offset = next; /* as a program that scans */
        s->len = s->len < len - next ? s->len : len - next;
        return;
    }
    s->offset = sim_rng_below(&w->rng, len);
    if (sim_rng_chance(&w->rng, 500000))
        s->offset = s->offset / CACHE_BLOCK * CACHE_BLOCK;
    s->len = 1 + sim_rng_below(&w->rng, sim_rng_spread(&w->rng, 1, len - s->offset));
    if (sim_rng_chance(&w->rng, 300000))
        s->len = (s->len + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK;
    if (s->len > len - s->offset)
        s->len = len - s->offset;
    if (s->streaming && s->len > len / STREAM_READS) /* so that it is one of several */
        s->len = len / STREAM_READS + 1;
}

/* What reading the file past the cache gives. */
static ssize_t hit_file(World *w, WorldSlot *s)
{
    uint64_t n = file_has(s->file, s->offset, s->len);
    if (sim_rng_chance(&w->rng, w->file_fail_ppm))
        return -1;
    memcpy(s->buf, s->file->bytes + s->offset, (size_t)n);
    w->file_hits++;
    return (ssize_t)n;
}

/* A read without the lock, if that is available; others' steps come between its own. */
static bool slot_hit(World *w, WorldSlot *s)
{
    CacheHit h;
    enum CacheHitKind kind = cache_hit_begin(&h, w->cache, w->lanes[s - w->slots], s->file->rd,
                                             (off_t)s->offset, (size_t)s->len);
    if (kind == CACHE_HIT_NONE)
        return false;
    world_beside(w);
    if (kind == CACHE_HIT_LOCAL) {
        cache_hit_copy(&h, w->cache, s->buf);
        w->hits++;
    }
    ssize_t n = kind == CACHE_HIT_FILE ? hit_file(w, s) : 0;
    world_beside(w);
    uint64_t ns = kind == CACHE_HIT_FILE && h.measure ? sim_rng_spread(&w->rng, 100, 200000) : 0;
    if (kind == CACHE_HIT_FILE && n != (ssize_t)s->len) {
        cache_hit_read_start(&s->call, &h, w->cache, s->buf, w->now_ns);
        return true;
    }
    if (kind == CACHE_HIT_LOCAL)
        cache_hit_end(&h, w->cache);
    else
        cache_hit_file_end(&h, w->cache, ns, w->now_ns);
    s->call = (CacheCall){.need = CACHE_OVER, .result = (ssize_t)s->len};
    return true;
}

static void slot_start(World *w, WorldSlot *s)
{
    static const int steps[] = {1, 2, -1};
    if (sim_rng_chance(&w->rng, 50000))
        s->streaming = s->streaming ? 0 : steps[sim_rng_below(&w->rng, ARRAY_SIZE(steps))];
    WorldFile *f =
        s->streaming && s->file ? s->file : &w->files[sim_rng_below(&w->rng, WORLD_REGIONS)];
    unsigned pick = (unsigned)sim_rng_below(&w->rng, 100);
    if (f->rd < 0 && f->calls == 0)
        world_open(w, f);
    s->op = pick < 48 || s->streaming ? OP_READ
            : pick < 50               ? OP_ADVISE
            : pick < 88               ? OP_WRITE
            : pick < 97               ? OP_SYNC
                                      : OP_CLOSE;
    s->file = f;
    slot_range(w, s);
    /* The order of two writes of one byte would be anybody's guess, and so it is what is there when
     * a region is closed beside a call. */
    if (f->rd < 0 || (s->op == OP_WRITE && write_overlaps(w, s)) ||
        (s->op == OP_CLOSE && f->calls > 0))
        return;
    for (unsigned i = 0; i < WORLD_SLOTS; i++)
        if (w->slots[i].on && w->slots[i].file == f && w->slots[i].op == OP_CLOSE)
            return;
    f->calls++;
    s->on = s->running = true;
    s->woken = false;
    s->value = (uint8_t)sim_rng_between(&w->rng, 1, 63);
    if (s->op == OP_WRITE) {
        memset(s->buf, s->value, (size_t)s->len);
        write_seen(w, s);
        cache_write_start(&s->call, w->cache, f->rd, (off_t)s->offset, s->buf, (size_t)s->len,
                          w->now_ns);
    } else {
        may_begin(w, s);
        memset(s->buf, 0xcc, (size_t)s->len);
        if (s->op == OP_READ && slot_hit(w, s))
            ;
        else if (s->op == OP_READ)
            cache_read_start(&s->call, w->cache, f->rd, (off_t)s->offset, s->buf, (size_t)s->len,
                             w->now_ns);
        else if (s->op == OP_ADVISE)
            cache_advise_start(&s->call, w->cache, f->rd, (off_t)s->offset, (size_t)s->len,
                               (int)sim_rng_below(&w->rng, DODO_CADVISE_DONTNEED + 1), w->now_ns);
        else if (s->op == OP_SYNC)
            cache_sync_start(&s->call, w->cache, f->rd, w->now_ns);
        else
            cache_close_start(&s->call, w->cache, f->rd, w->now_ns);
    }
    slot_look(w, s);
}

static void slot_go(World *w, WorldSlot *s)
{
    if (s->running)
        return;
    if (s->call.need == CACHE_JOB && s->job.on && w->now_ns >= s->job.due_ns) {
        CacheResult result;
        job_finish(w, &s->job, &s->call.job, &result);
        s->running = true;
        cache_call_done(&s->call, w->cache, &result, w->now_ns);
        slot_look(w, s);
    } else if (s->call.need == CACHE_BLOCKED && (s->woken || w->now_ns >= s->call.until_ns)) {
        s->woken = false;
        s->running = true;
        cache_call_step(&s->call, w->cache, w->now_ns);
        slot_look(w, s);
    }
}

/* Another thread's job, which a further one may be carried out beside. */
static const CacheJob *job_beside(const World *w, const WorldBackground *b)
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

static bool background_take(World *w, WorldBackground *b)
{
    if (sim_rng_chance(&w->rng, 20000) && keep_take(w, b))
        return true;
    const CacheJob *first = job_beside(w, b);
    if (!first || sim_rng_chance(&w->rng, 100000))
        return cache_background_take(w->cache, &b->cache, w->now_ns);
    bool more = cache_background_more(w->cache, first, &b->cache, w->now_ns);
    w->beside += more;
    return more;
}

static void background_go(World *w, WorldBackground *b)
{
    if (b->job.on && w->now_ns >= b->job.due_ns) {
        CacheResult result;
        job_finish(w, &b->job, &b->cache, &result);
        result.beside = sim_rng_chance(&w->rng, 500000);
        cache_background_done(w->cache, &b->cache, &result, w->now_ns);
    } else if (!b->job.on && background_take(w, b)) {
        job_take(w, &b->job, &b->cache);
    }
}

/* One of the threads does one thing. */
static void world_act(World *w, bool starting)
{
    unsigned pick = (unsigned)sim_rng_below(&w->rng, WORLD_SLOTS + WORLD_BACKGROUND);
    if (pick >= WORLD_SLOTS) {
        WorldBackground *b = &w->background[pick - WORLD_SLOTS];
        if (w->depth == 0) /* it is in no call of the core then */
            background_go(w, b);
    } else if (w->slots[pick].on) {
        slot_go(w, &w->slots[pick]);
    } else if (starting) {
        slot_start(w, &w->slots[pick]);
    }
}

/* Nothing can be done now: time goes on to where something can. False: to no such time. */
static bool world_wait(World *w)
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

static void world_init(World *w, uint64_t seed)
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
            f->allowed[at] = set_of(f->bytes[at]);
    }
    w->quiet = false;
}

/* Runs until every call and job is over. */
static void world_drain(World *w)
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
                slot_go(w, &w->slots[i]);
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

#endif
