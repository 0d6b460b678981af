/* SPDX-License-Identifier: MIT */
/* The cache's jobs on the simulated files and by the client's core: what libmanage/carry.c does
 * with blocking calls, step by step. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/lib/cache_job.h"
#include "tests/sim/manage.h"

static char libdodo; /* marks the handles of its own descriptions */

static UserRegion *region_of(const UserThread *t)
{
    return t->job.of->file;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void job_over(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    CacheJob *job = t->job.of;
    if (!t->job.copied && cache_job_digest(job) != t->job.digest)
        violate(w, "program%u: what a job writes was changed meanwhile", u->index);
    t->job.result.ns = world_now(w) - t->job.began_ns;
    truth_job_over(t);
    t->job.result.read_ns = job->probe ? t->job.result.ns / 2 : 0; /* as far as the core can tell */
    t->job.of = NULL;
    uint64_t *held = t->job.result.held_blocks; /* a new job may begin at once */
    (void)user_step_counts(u);
    SimHeap *was = sim_heap_enter(&u->heap);
    if (job == &t->job.work) {
        cache_background_done(u->cache, job, &t->job.result, user_now(u));
        user_work(u);
    } else {
        cache_call_done(&t->cache_call, u->cache, &t->job.result, user_now(u));
        user_look(t);
    }
    if (!cache_check(u->cache))
        violate(w, "program%u: the cache's invariants are broken", u->index);
    sim_heap_enter(was);
    free(held);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void file_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    t->injected |= r->injected;
    t->job.injected = r->injected && t->job.of->kind == CACHE_SYNC;
    t->job.result.count = r->count;
    t->job.result.error = r->error;
    if (t->job.of->kind == CACHE_READ_FILE && r->count > 0)
        cache_job_give(t->job.of, t->job.bounce, (uint64_t)r->count);
    job_over(t);
}

static void size_later(void *ctx, uint64_t arg)
{
    UserThread *t = ctx;
    UserRegion *r = region_of(t);
    (void)arg;
    uint64_t size = r->file->sim->size > r->offset ? r->file->sim->size - r->offset : 0;
    t->job.result.count = (ssize_t)(size < r->len ? size : r->len);
    job_over(t);
}

static void file_write(UserThread *t);

/* As pwritev() in a loop: a short one is followed by another. */
static void write_part_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    t->injected |= r->injected;
    t->job.injected |= r->injected;
    if (r->count > 0)
        t->job.at += (size_t)r->count;
    if (r->count > 0 && t->job.at < t->job.of->len) {
        file_write(t);
        return;
    }
    t->job.result.count = t->job.at ? (ssize_t)t->job.at : r->count;
    t->job.result.error = r->count < 0 ? r->error : 0;
    job_over(t);
}

static void file_write(UserThread *t)
{
    UserRegion *r = region_of(t);
    simfs_pwrite(r->handle, t->job.bounce + t->job.at, t->job.of->len - t->job.at,
                 r->offset + t->job.of->offset + t->job.at, r, &t->user->life, write_part_done, t);
}

/* ---- remote memory -------------------------------------------------------------------------- */

static bool handle_overlaps(const SimHandle *h, const UserRegion *r)
{
    return h->file == r->file->sim && h->user == &libdodo && h->offset < r->offset + r->len &&
           r->offset < h->offset + h->len;
}

/* libdodo's own description of the file, locked. */
static SimHandle *libdodo_open(UserThread *t)
{
    UserRegion *r = region_of(t);
    SimFs *fs = t->user->m->w.fs[0];
    SimHandle *conflict;
    bool exclusive = !(t->job.of->flags & DODO_RDONLY);
    for (unsigned i = 0; i < SIMFS_HANDLES_MAX; i++)
        if (handle_overlaps(&fs->handles[i], r) && (exclusive || fs->handles[i].exclusive))
            return NULL;
    SimHandle *h =
        simfs_open(r->file->sim, t->user->number, r->offset, r->len, exclusive, true, &conflict);
    h->user = &libdodo;
    return h;
}

static void busy_later(void *ctx, uint64_t arg)
{
    (void)arg;
    job_over(ctx);
}

static void remote_open(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    UserRegion *r = region_of(t);
    SimHandle *h = libdodo_open(t);
    if (!h) {
        t->job.result.remote_error = EBUSY;
        simnet_at(w->net, world_now(w) + 1000, &u->life, busy_later, t, 0);
        return;
    }
    FileGiven given = {.file = h,
                       .key = r->file->sim->key,
                       .lease = simfs_lease(r->file->sim) ? LEASE_GRANTED : LEASE_WRITER,
                       .stamp = simfs_stamp(r->file->sim),
                       .taken_ns = simfs_realtime(r->file->sim->fs),
                       .granule_ns = simfs_granule_known(r->file->sim->fs),
                       .retainable = w->fs[0]->config.honest};
    retain_since(&given, r->since_ns);
    call_open_start(&t->dodo.call, t->channel, &given, r->len, r->offset, t->job.of->flags,
                    user_now(u));
    t->dodo.in_call = true;
    thread_kick(t);
}

static void remote_call(UserThread *t)
{
    User *u = t->user;
    CacheJob *j = t->job.of;
    off_t at = (off_t)j->offset;
    uint64_t now = user_now(u);
    if (j->kind == CACHE_WRITE)
        call_writev_start(&t->dodo.call, t->channel, j->remote, at, j->iov, j->iov_count, now);
    else if (t->job.copied)
        call_offerv_start(&t->dodo.call, t->channel, j->remote, at, &t->job.copy, 1, now);
    else if (j->kind == CACHE_CLONE)
        call_offerv_start(&t->dodo.call, t->channel, j->remote, at, j->iov, j->iov_count, now);
    else if (j->kind == CACHE_CLOSE_REMOTE)
        call_close_start(&t->dodo.call, t->channel, j->remote, now);
    else if (j->kind == CACHE_FILL)
        call_fill_start(&t->dodo.call, t->channel, j->remote, j->offset, j->offset + j->len, now);
    else {
        call_readv_start(&t->dodo.call, t->channel, j->remote, at, j->iov, j->iov_count, now);
    }
    t->dodo.in_call = true;
    thread_kick(t);
}

static void opened(UserThread *t)
{
    ClientRegionInfo info;
    t->job.result.remote = (int)t->dodo.call.result;
    if (t->dodo.call.result < 0) {
        t->job.result.remote_error = t->dodo.call.error;
        return;
    }
    t->job.result.held =
        client_region_info(t->user->client, t->job.result.remote, &info) == 0 && info.reused;
    if (!t->job.result.held)
        return;
    t->job.result.held_blocks = calloc(info.len / CACHE_BLOCK / 64 + 1, sizeof(uint64_t));
    if (client_region_held(t->user->client, t->job.result.remote, t->job.result.held_blocks) < 0)
        abort();
}

/* Nothing reached the file: remote memory is lost. True: the file is written alone now. */
static bool written(UserThread *t)
{
    const Call *c = &t->dodo.call;
    if (c->result < 0 && (c->error == ENOMEM || c->error == EINVAL)) {
        t->job.result.remote_error = ENOMEM;
        cache_job_take(t->job.of, t->job.bounce, t->job.of->len);
        file_write(t);
        return true;
    }
    t->job.result.count = c->result;
    t->job.result.error = c->result < 0 ? c->error : 0;
    return false;
}

/* A lying host: some of what was read is something else. What an earlier lie has left in remote
 * memory counts, too: it may have been cloned. */
static void remote_read(UserThread *t, uint64_t len)
{
    ManageWorld *m = t->user->m;
    const CacheJob *j = t->job.of;
    uint64_t from = len, to = len, at = 0;
    if (len && sim_rng_chance(&m->lies, m->p.lie_ppm)) {
        from = sim_rng_below(&m->lies, len);
        to = from + sim_rng_spread(&m->lies, 1, len - from);
        manage_cover(m, MANAGE_COVER_LIED);
    }
    for (int i = 0; i < j->iov_count; i++)
        for (uint8_t *b = j->iov[i].iov_base, *end = b + j->iov[i].iov_len; b < end; b++, at++) {
            if (at >= from && at < to)
                *b = LIE_VALUE;
            if (at < len && *b == LIE_VALUE)
                truth_lied(region_of(t), j->offset + at);
        }
}

void job_answered(UserThread *t)
{
    const Call *c = &t->dodo.call;
    if (!t->job.of) { /* it has left */
        user_left(t->user);
        return;
    }
    switch ((enum CacheJobKind)t->job.of->kind) {
    case CACHE_OPEN_REMOTE:
        opened(t);
        break;
    case CACHE_WRITE:
        if (written(t))
            return;
        break;
    case CACHE_READ_REMOTE:
    case CACHE_READ_FILL:
        t->job.result.count = c->result;
        if (c->result < 0)
            t->job.result.remote_error = c->error;
        else
            remote_read(t, (uint64_t)c->result);
        break;
    case CACHE_CLONE:
    case CACHE_FILL:
        t->job.result.count = c->result;
        if (c->result < 0)
            t->job.result.remote_error = c->error;
        break;
    case CACHE_CLOSE_REMOTE: /* its descriptor is free whatever it says */
    case CACHE_READ_FILE:
    case CACHE_SYNC:
    case CACHE_SIZE:
    case CACHE_ASK:
    case CACHE_RECALL:
    case CACHE_ADVISE:
        break;
    }
    job_over(t);
}

/* ---- the beginning -------------------------------------------------------------------------- */

/* How far a job may reach: what the kernel is asked for may go on in the next region of the file.
 */
static uint64_t job_most(const User *u, const CacheJob *j)
{
    const UserRegion *r = j->file;
    uint64_t most = r->len;
    for (unsigned i = 0; j->kind == CACHE_ASK && i < u->m->p.regions; i++) {
        const UserRegion *q = &u->regions[i];
        if (q->state == REGION_OPENED && q->file == r->file && q->offset == r->offset + r->len)
            most = most > r->len + q->len ? most : r->len + q->len;
    }
    return most;
}

static void job_check(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    const CacheJob *j = t->job.of;
    const UserRegion *r = j->file;
    if (r->state == REGION_FREE || !r->handle)
        violate(w, "program%u: a job on a region that is closed", u->index);
    if (j->kind != CACHE_OPEN_REMOTE && j->kind != CACHE_CLOSE_REMOTE && j->kind != CACHE_SYNC &&
        j->kind != CACHE_SIZE && (j->len == 0 || j->offset + j->len > job_most(u, j)))
        violate(w, "program%u: a job beyond its region's end", u->index);
    if (j->kind == CACHE_WRITE && (r->flags & DODO_RDONLY))
        violate(w, "program%u: a region opened for reading is written", u->index);
    if (j->kind == CACHE_OPEN_REMOTE && j->start_ns > u->refraction_from_ns &&
        j->start_ns < u->refraction_until_ns)
        violate(w, "program%u: memory is asked for within the refraction period", u->index);
}

static void remote_later(void *ctx, uint64_t arg)
{
    (void)arg;
    remote_call(ctx);
}

/* As the shell does; then its thread may stand still. */
static void clone_start(UserThread *t)
{
    User *u = t->user;
    World *w = &u->m->w;
    t->job.copied = !sim_rng_chance(&w->rng, 200000); /* there is no memory for it */
    if (!t->job.copied) {
        remote_call(t);
        return;
    }
    cache_job_take(t->job.of, t->job.bounce, t->job.of->len);
    t->job.copy = (struct iovec){.iov_base = t->job.bounce, .iov_len = (size_t)t->job.of->len};
    cache_clone_copied(u->cache, t->job.of);
    simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 4 * w->p.fs.op_ns + 1), &u->life,
              remote_later, t, 0);
}

/* What the program will read now. */
static void recall_led(UserThread *t, const UserFile *f)
{
    User *u = t->user;
    u->led.file = f;
    u->led.count = t->job.result.ranges_count = ARRAY_SIZE(t->job.earlier);
    for (size_t i = 0; i < u->led.count; i++)
        u->led.ranges[i] = t->job.earlier[i] =
            (CacheRange){(uint32_t)sim_rng_below(&u->rng, USER_FILE_BLOCKS), 1};
}

/* True, false or senseless: whatever it is, no read may be wrong. */
static void recall(UserThread *t, const UserFile *f)
{
    SimRng *r = &t->user->rng;
    t->job.result.ranges = t->job.earlier;
    if (t->user->m->p.led_ppm) {
        recall_led(t, f);
        return;
    }
    t->job.result.ranges_count = sim_rng_below(r, ARRAY_SIZE(t->job.earlier) / 2 + 1);
    for (size_t i = 0; i < t->job.result.ranges_count; i++) {
        bool senseless = sim_rng_chance(r, 20000);
        t->job.earlier[i] =
            (CacheRange){(uint32_t)sim_rng_below(r, senseless ? UINT32_MAX : USER_FILE_BLOCKS),
                         (uint32_t)sim_rng_below(r, senseless ? UINT32_MAX : 4)};
    }
}

void job_start(UserThread *t, CacheJob *job)
{
    User *u = t->user;
    World *w = &u->m->w;
    UserRegion *r = job->file;
    t->job.of = job;
    t->job.result = (CacheResult){.remote = -1};
    t->job.began_ns = world_now(w);
    t->job.at = 0;
    t->job.injected = t->job.copied = false;
    if (job == &t->job.work)
        t->injected = false;
    job_check(t);
    if (w->phase.stopping || !user_step_counts(u))
        return;
    story(w, "program%u.%u job %u%s region %d [%llu, +%llu)", u->index, t->index, job->kind,
          job->both ? " both" : "", r->rd, (unsigned long long)job->offset,
          (unsigned long long)job->len);
    cache_job_spoil(job);
    t->job.digest = cache_job_digest(job);
    truth_job_begin(t);
    switch ((enum CacheJobKind)job->kind) {
    case CACHE_READ_FILE:
        simfs_pread(r->handle, t->job.bounce, job->len, r->offset + job->offset, &u->life,
                    file_done, t);
        break;
    case CACHE_SYNC:
        simfs_sync(r->handle, &u->life, file_done, t);
        break;
    case CACHE_RECALL:
        recall(t, r->file);
        simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, u->m->p.recall_ns), &u->life,
                  size_later, t, 0);
        break;
    case CACHE_SIZE:
    case CACHE_ASK:
    case CACHE_ADVISE:
        simnet_at(w->net, world_now(w) + sim_rng_below(&w->rng, 2000), &u->life, size_later, t, 0);
        break;
    case CACHE_OPEN_REMOTE:
        remote_open(t);
        break;
    case CACHE_WRITE:
        if (!job->both) {
            cache_job_take(job, t->job.bounce, job->len);
            file_write(t);
            break;
        }
        __attribute__((fallthrough));
    case CACHE_READ_REMOTE:
    case CACHE_READ_FILL:
    case CACHE_FILL:
    case CACHE_CLOSE_REMOTE:
        remote_call(t);
        break;
    case CACHE_CLONE:
        clone_start(t);
        break;
    }
}

/* ---- the end of the process ----------------------------------------------------------------- */

static void flush_done(void *ctx, const SimFsResult *r);

static void flush_write(UserThread *t)
{
    UserRegion *r = t->job.work.file;
    simfs_pwrite(r->handle, t->job.bounce + t->job.at, t->job.work.len - t->job.at,
                 r->offset + t->job.work.offset + t->job.at, r, &t->user->life, flush_done, t);
}

static void flush_done(void *ctx, const SimFsResult *r)
{
    UserThread *t = ctx;
    t->job.at += r->count > 0 ? (size_t)r->count : 0;
    t->user->end.failed |= r->count < 0;
    if (t->job.work.kind == CACHE_SYNC && r->count == 0)
        ((UserRegion *)t->job.work.file)->synced = true;
    if (t->job.work.kind == CACHE_WRITE && r->count > 0 && t->job.at < t->job.work.len)
        flush_write(t);
    else
        job_flush(t->user);
}

/* Nobody else of the program does anything meanwhile: it has the lock. */
void job_flush(User *u)
{
    UserThread *t = &u->threads[0];
    if (u->m->w.phase.stopping || !user_step_counts(u))
        return;
    SimHeap *was = sim_heap_enter(&u->heap);
    bool more = cache_end_take(&u->end.rest, u->cache, &t->job.work, user_now(u));
    sim_heap_enter(was);
    UserRegion *r = more ? t->job.work.file : NULL;
    t->job.at = 0;
    if (!more) {
        truth_exited(u);
        user_flushed(u);
    } else if (t->job.work.kind == CACHE_SYNC) {
        simfs_sync(r->handle, &u->life, flush_done, t);
    } else {
        manage_cover(u->m, MANAGE_COVER_EXITED_WRITES);
        cache_job_take(&t->job.work, t->job.bounce, t->job.work.len);
        flush_write(t);
    }
}
