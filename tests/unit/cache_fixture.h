/* SPDX-License-Identifier: MIT */
/* The region cache's core under a test that makes call after call: one thread; the file and remote
 * memory are two arrays, and each job takes as long as the test says. A test file includes this
 * once. */
#ifndef DODO_TESTS_CACHE_FIXTURE_H
#define DODO_TESTS_CACHE_FIXTURE_H

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "libmanage/core.h"
#include "tests/lib/cache_job.h"
#include "tests/lib/case.h"

#define FIXTURE static inline __attribute__((unused))

enum { PIECE = 2 * CACHE_BLOCK, PIECES = 64, BYTES = PIECE * PIECES };

static struct {
    uint8_t file[BYTES], remote[BYTES], buf[BYTES];
    int write_error, sync_error, read_error;
    bool no_memory, lost;
    uint64_t file_ns, remote_ns, clone_ns /* 0: as remote_ns */, clone_cpu_ns, now_ns;
    struct {         /* a read of the file that goes on where one ended */
        uint64_t ns; /* 0: file_ns */
        uint64_t end;
    } in_order;
    uint64_t part_ns;   /* what a part takes that is filled */
    bool no_part;       /* nothing of it comes */
    uint64_t fill_most; /* the longest job that brought some of one */
    uint64_t ask_ns;    /* what it takes to ask the kernel for it */
    bool kernel_says;   /* what it has of the file, for caches made from now on: */
    uint64_t held_to;   /* so much of the file the kernel has in memory, */
    unsigned asked;     /* and was asked for that so often; */
    uint64_t held_ns;   /* what it takes then; 0: 1.5 us */
    unsigned did[CACHE_ADVISE + 1], probes, releases;
    uint64_t bad_at;           /* not 0: what is written there fails */
    ssize_t clone_taken;       /* not 0: the next one's */
    char story[256];           /* the jobs, by letter */
    const CacheRange *earlier; /* what an earlier run has left of the file */
    size_t earlier_count;
} w;

FIXTURE void released(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
    w.releases++;
}

/* A region begins in the file as far behind &w as its file's pointer points. */
FIXTURE CacheFileId file_place(void *ctx, const void *file)
{
    (void)ctx;
    return (CacheFileId){.offset = (uint64_t)((const char *)file - (const char *)&w)};
}

/* A hook of those tests that want it. */
FIXTURE bool file_held(void *ctx, const void *file, uint64_t offset, uint64_t len)
{
    (void)ctx, (void)file;
    w.asked++;
    return offset + len <= w.held_to;
}

FIXTURE CacheResult carry_out(const CacheJob *job)
{
    static const char letters[] = "rRfFwcoxSslka"; /* as enum CacheJobKind; W: a write of both */
    CacheResult result = {.count = (ssize_t)job->len, .ns = w.file_ns, .remote = 1};
    bool remote = job->both || job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
                  job->kind == CACHE_CLONE || job->kind == CACHE_FILL;
    int error = 0;
    w.did[job->kind]++;
    assert_true(job->len > 0 || (job->kind != CACHE_ASK && job->kind != CACHE_FILL));
    size_t told = strlen(w.story);
    if (told + 1 < sizeof w.story)
        w.story[told] = job->both ? 'W' : letters[job->kind];
    if ((remote && w.lost) || (job->kind == CACHE_OPEN_REMOTE && w.no_memory))
        result.remote_error = ENOMEM;
    if (job->kind == CACHE_READ_FILE && w.held_to && file_held(NULL, NULL, job->offset, job->len))
        result.ns = w.held_ns ? w.held_ns : 1500;
    if (job->kind == CACHE_READ_FILE && w.in_order.ns && job->offset == w.in_order.end)
        result.ns = w.in_order.ns;
    if (job->kind == CACHE_READ_FILE)
        w.in_order.end = job->offset + job->len;
    if (job->kind == CACHE_READ_FILE)
        error = w.read_error;
    else if (job->kind == CACHE_WRITE)
        error = w.bad_at && job->offset == w.bad_at ? EIO : w.write_error;
    else if (job->kind == CACHE_SYNC)
        error = w.sync_error;
    if (job->kind == CACHE_READ_FILE || job->kind == CACHE_READ_FILL)
        cache_job_give(job, w.file + job->offset, job->len);
    else if (job->kind == CACHE_READ_REMOTE) {
        result.ns = w.remote_ns;
        cache_job_give(job, w.remote + job->offset, job->len);
    } else if (job->kind == CACHE_WRITE && !error)
        cache_job_take(job, w.file + job->offset, job->len);
    if ((job->both || job->kind == CACHE_CLONE) && !error)
        cache_job_take(job, w.remote + job->offset, job->len);
    if (job->kind == CACHE_READ_FILL)
        cache_job_take(job, w.remote + job->offset, job->len);
    if (job->kind == CACHE_ASK)
        result.ns = w.ask_ns;
    if (job->kind == CACHE_FILL && w.no_part)
        result.count = 0;
    if (job->kind == CACHE_FILL && !w.no_part && !result.remote_error) {
        memcpy(w.remote + job->offset, w.file + job->offset, job->len);
        result.ns = w.part_ns;
        w.fill_most = w.fill_most > job->len ? w.fill_most : job->len;
    }
    result.cpu_ns = job->kind == CACHE_CLONE ? w.clone_cpu_ns : 0;
    if (job->kind == CACHE_CLONE)
        result.ns = w.clone_ns ? w.clone_ns : w.remote_ns;
    if (job->kind == CACHE_RECALL) {
        result.ranges = w.earlier;
        result.ranges_count = w.earlier_count;
    }
    if (job->probe) {
        w.probes++;
        result.read_ns = w.remote_ns;
    }
    if (job->kind == CACHE_CLONE && w.clone_taken) {
        result.count = w.clone_taken;
        w.clone_taken = 0;
    }
    if (error)
        result.count = -1;
    result.error = error;
    return result;
}

FIXTURE ssize_t finish(Cache *c, CacheCall *call)
{
    while (call->need == CACHE_JOB) {
        CacheResult result = carry_out(&call->job);
        w.now_ns += result.ns;
        cache_call_done(call, c, &result, w.now_ns);
    }
    assert_int_equal(call->need, CACHE_OVER);
    assert_true(cache_check(c));
    errno = call->error;
    return call->result;
}

FIXTURE ssize_t do_read(Cache *c, int rd, uint64_t offset, uint64_t len)
{
    CacheCall call;
    memset(w.buf, 0xcc, sizeof w.buf);
    cache_read_start(&call, c, rd, (off_t)offset, w.buf, (size_t)len, w.now_ns);
    return finish(c, &call);
}

/* @count reads of a piece each: the first @pieces, in turn. */
FIXTURE void read_in_turn(Cache *c, int rd, unsigned count, unsigned pieces)
{
    for (unsigned i = 0; i < count; i++)
        (void)do_read(c, rd, i % pieces * PIECE, PIECE);
}

FIXTURE ssize_t do_write(Cache *c, int rd, uint64_t offset, uint64_t len, int value)
{
    CacheCall call;
    memset(w.buf, value, sizeof w.buf);
    cache_write_start(&call, c, rd, (off_t)offset, w.buf, (size_t)len, w.now_ns);
    return finish(c, &call);
}

FIXTURE ssize_t do_sync(Cache *c, int rd)
{
    CacheCall call;
    cache_sync_start(&call, c, rd, w.now_ns);
    return finish(c, &call);
}

FIXTURE ssize_t do_close(Cache *c, int rd)
{
    CacheCall call;
    cache_close_start(&call, c, rd, w.now_ns);
    return finish(c, &call);
}

FIXTURE void background(Cache *c)
{
    CacheJob job;
    for (unsigned n = 0; cache_background_take(c, &job, w.now_ns); n++) {
        assert_true(n < 1000);
        CacheResult result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
    }
    assert_true(cache_check(c));
}

/* A cache of @pieces, with one region of a file of 1s; nothing is bypassed, read ahead or
 * filled unasked. */
FIXTURE CacheConfig config(unsigned pieces)
{
    CacheConfig cfg;
    memset(&w, 0, sizeof w);
    memset(w.file, 1, sizeof w.file);
    memset(w.remote, 0xee, sizeof w.remote);
    w.file_ns = 1000000;
    w.remote_ns = 100000;
    w.now_ns = NS_PER_S;
    cache_config_init(&cfg, (uint64_t)pieces * PIECE);
    cfg.known_reads = 0;
    cfg.piece_bytes = PIECE;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = cfg.extent_bytes = 0;
    cfg.refraction_ns = 5 * NS_PER_S;
    return cfg;
}

/* No thread is there to keep out; that the lock is taken and given back in turn can be seen. */
static bool cache_is_locked;

FIXTURE void cache_locked(void *ctx)
{
    (void)ctx;
    assert_false(cache_is_locked);
    cache_is_locked = true;
}

FIXTURE void cache_unlocked(void *ctx)
{
    (void)ctx;
    assert_true(cache_is_locked);
    cache_is_locked = false;
}

/* What was used least recently leaves, so that a test can say what that is; a cache that may let go
 * has the default policy, for only with that it does. */
FIXTURE Cache *make(const CacheConfig *cfg, unsigned flags, int *ret_rd)
{
    Cache *c = cache_new(cfg, &(CacheHooks){.lock = cache_locked,
                                            .unlock = cache_unlocked,
                                            .file_held = w.kernel_says ? file_held : NULL,
                                            .file_id = file_place,
                                            .file_release = released});
    assert_non_null(c);
    if (!cfg->lets_go)
        assert_int_equal(cache_set_policy(c, MANAGE_LRU), 0);
    *ret_rd = cache_open(c, BYTES, BYTES, &w, flags);
    assert_int_equal(*ret_rd, 0);
    return c;
}

/* The same without remote memory. */
FIXTURE Cache *make_local(unsigned pieces, unsigned flags, int *ret_rd)
{
    CacheConfig cfg = config(pieces);
    cfg.remote = false;
    return make(&cfg, flags, ret_rd);
}

FIXTURE int piece_state(Cache *c, unsigned piece)
{
    return cache_state(c, 0, (uint64_t)piece * PIECE);
}

FIXTURE struct manage_stats stats(Cache *c)
{
    struct manage_stats st;
    cache_stats(c, &st);
    return st;
}

#endif
