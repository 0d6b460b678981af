/* SPDX-License-Identifier: MIT */
/* The region cache's core, call by call: the four states, Figure 5, errors of the file, refraction,
 * reading ahead, and what costs decide. One thread; the file and remote memory are two arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "libmanage/core.h"
#include "tests/lib/cache_job.h"

enum { PIECE = 2 * CACHE_BLOCK, PIECES = 64, BYTES = PIECE * PIECES };

static struct {
    uint8_t file[BYTES], remote[BYTES], buf[BYTES];
    int write_error, sync_error, read_error;
    bool no_memory, lost;
    uint64_t file_ns, remote_ns, now_ns;
    unsigned did[CACHE_SIZE + 1], releases;
    uint64_t bad_at;     /* not 0: what is written there fails */
    ssize_t clone_taken; /* not 0: the next one's */
    char story[256];     /* the jobs, by letter */
} w;

static void released(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
    w.releases++;
}

static CacheResult carry_out(const CacheJob *job)
{
    static const char letters[] = "rRfwcoxSs"; /* as enum CacheJobKind; W: a write of both */
    CacheResult result = {.count = (ssize_t)job->len, .ns = w.file_ns, .remote = 1};
    bool remote = job->both || job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
                  job->kind == CACHE_CLONE;
    int error = 0;
    w.did[job->kind]++;
    size_t told = strlen(w.story);
    if (told + 1 < sizeof w.story)
        w.story[told] = job->both ? 'W' : letters[job->kind];
    if ((remote && w.lost) || (job->kind == CACHE_OPEN_REMOTE && w.no_memory))
        result.remote_error = ENOMEM;
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
    if (job->kind == CACHE_CLONE)
        result.ns = w.remote_ns;
    if (job->kind == CACHE_CLONE && w.clone_taken) {
        result.count = w.clone_taken;
        w.clone_taken = 0;
    }
    if (error)
        result.count = -1;
    result.error = error;
    return result;
}

static ssize_t finish(Cache *c, CacheCall *call)
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

static ssize_t do_read(Cache *c, int rd, uint64_t offset, uint64_t len)
{
    CacheCall call;
    memset(w.buf, 0xcc, sizeof w.buf);
    cache_read_start(&call, c, rd, (off_t)offset, w.buf, (size_t)len, w.now_ns);
    return finish(c, &call);
}

static ssize_t do_write(Cache *c, int rd, uint64_t offset, uint64_t len, int value)
{
    CacheCall call;
    memset(w.buf, value, sizeof w.buf);
    cache_write_start(&call, c, rd, (off_t)offset, w.buf, (size_t)len, w.now_ns);
    return finish(c, &call);
}

static ssize_t do_sync(Cache *c, int rd)
{
    CacheCall call;
    cache_sync_start(&call, c, rd, w.now_ns);
    return finish(c, &call);
}

static ssize_t do_close(Cache *c, int rd)
{
    CacheCall call;
    cache_close_start(&call, c, rd, w.now_ns);
    return finish(c, &call);
}

static void background(Cache *c)
{
    CacheJob job;
    for (unsigned n = 0; cache_background_take(c, &job, w.now_ns); n++) {
        assert_true(n < 1000);
        CacheResult result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
    }
    assert_true(cache_check(c));
}

/* A cache of @pieces, with one region of a file of 1s; nothing is bypassed or read ahead. */
static CacheConfig config(unsigned pieces)
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
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.refraction_ns = 5 * NS_PER_S;
    return cfg;
}

static Cache *make(const CacheConfig *cfg, unsigned flags, int *ret_rd)
{
    Cache *c = cache_new(cfg, &(CacheHooks){.file_release = released});
    assert_non_null(c);
    *ret_rd = cache_open(c, BYTES, BYTES, &w, flags);
    assert_int_equal(*ret_rd, 0);
    return c;
}

static int state(Cache *c, unsigned piece)
{
    return cache_state(c, 0, (uint64_t)piece * PIECE);
}

static struct manage_stats stats(Cache *c)
{
    struct manage_stats st;
    cache_stats(c, &st);
    return st;
}

/* ---- the four states, and Figure 5 ------------------------------------------------------------
 */

static void states__disk_local_both_remote(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(state(c, 0), CACHE_DISK);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(state(c, 0), CACHE_LOCAL);
    assert_int_equal(do_sync(c, rd), 0); /* on the disk, and in remote memory */
    assert_int_equal(state(c, 0), CACHE_BOTH);
    assert_int_equal(do_write(c, rd, 0, PIECE, 7), PIECE);
    assert_int_equal(state(c, 0), CACHE_LOCAL); /* what is there is old */
    (void)do_read(c, rd, PIECE, 1);
    (void)do_read(c, rd, 2 * PIECE, 1); /* 0 leaves: to the disk and to remote memory at once */
    assert_int_equal(state(c, 0), CACHE_REMOTE);
    assert_int_equal(w.file[0], 7);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(w.buf[PIECE - 1], 7);
    assert_int_equal(state(c, 0), CACHE_BOTH);
    assert_int_equal(stats(c).remote_hits, 1);
    assert_int_equal(stats(c).remote_bytes, PIECE);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.releases, 1);
    assert_string_equal(w.story, "rSocrWrcRSx");
    cache_free(c);
}

/* In the background, what was used together is copied together; not what was used again since. */
static void reclaim__clones_together(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(48);
    cfg.low_water_bytes = 16 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < 48; i += 4)
        (void)do_read(c, rd, (uint64_t)i * PIECE, 4 * PIECE);
    background(c); /* opens remote memory, and makes room */
    w.did[CACHE_CLONE] = 0;
    for (unsigned i = 48; i < 64; i += 4)
        (void)do_read(c, rd, (uint64_t)i * PIECE, 4 * PIECE);
    for (unsigned i = 0; i < 40; i++) /* time goes by */
        (void)do_read(c, rd, 63 * PIECE, PIECE);
    (void)do_read(c, rd, 20 * PIECE, PIECE);
    background(c);
    assert_int_equal(state(c, 16), CACHE_REMOTE);
    assert_int_equal(state(c, 19), CACHE_REMOTE);
    assert_int_equal(state(c, 20), CACHE_LOCAL);
    assert_int_equal(stats(c).cached_bytes, 32 * PIECE);
    assert_int_equal(stats(c).clone_bytes, stats(c).clones * PIECE);
    assert_in_range(w.did[CACHE_CLONE], 1, 4);
    cache_free(c);
}

/* In the background: a dirty victim to the disk, room allocated, a clone, and only then it leaves.
 */
static void reclaim__as_figure_5(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(4);
    cfg.low_water_bytes = PIECE;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 5);
    for (unsigned i = 1; i < 4; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    w.story[0] = 0;
    memset(w.story, 0, sizeof w.story);
    background(c);
    assert_string_equal(w.story, "w");
    assert_int_equal(state(c, 0), CACHE_DISK); /* dirty: its write was enough of a wait */
    (void)do_read(c, rd, 4 * PIECE, PIECE);
    memset(w.story, 0, sizeof w.story);
    background(c);
    assert_string_equal(w.story, "oc");
    assert_int_equal(state(c, 1), CACHE_REMOTE);
    assert_true(stats(c).cached_bytes <= 3 * PIECE);
    cache_free(c);
}

static void refraction__no_allocation(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(1);
    Cache *c = make(&cfg, 0, &rd);
    w.no_memory = true;
    for (unsigned i = 0; i < 20; i++) {
        (void)do_read(c, rd, i % 4 * PIECE, PIECE);
        background(c);
    }
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 1);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 1);
    w.now_ns += cfg.refraction_ns;
    (void)do_read(c, rd, 5 * PIECE, PIECE);
    background(c);
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 2);
    assert_int_equal(stats(c).refractions, 2);
    assert_int_equal(stats(c).disk_reads, 21);
    cache_free(c);
}

/* The file serves, and gets what is written. */
static void remote_lost__the_file_serves(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 0, 2 * PIECE);
    assert_int_equal(do_sync(c, rd), 0);
    (void)do_read(c, rd, 2 * PIECE, 2 * PIECE);
    assert_int_equal(state(c, 0), CACHE_REMOTE);
    w.lost = true;
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(state(c, 1), CACHE_DISK);
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    assert_int_equal(do_write(c, rd, 0, 10, 9), 10);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[9], 9);
    assert_int_equal(w.file[10], 1);
    cache_free(c);
}

/* ---- the file's errors ------------------------------------------------------------------------
 */

static void full_disk__cwrite_tells_and_nothing_is_lost(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(4);
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    w.write_error = ENOSPC;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(do_write(c, rd, i * PIECE, PIECE, 10 + (int)i), PIECE);
    assert_int_equal(do_write(c, rd, 4 * PIECE, PIECE, 99), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(do_read(c, rd, 8 * PIECE, PIECE), PIECE); /* past the cache */
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(do_close(c, rd), -1); /* still open, its data still there */
    assert_int_equal(errno, ENOSPC);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(do_read(c, rd, i * PIECE, 1), 1);
        assert_int_equal(w.buf[0], 10 + i);
        assert_int_equal(w.file[i * PIECE], 1);
    }
    w.write_error = 0;
    assert_int_equal(do_sync(c, rd), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(w.file[i * PIECE], 10 + i);
    assert_int_equal(w.file[4 * PIECE], 1);
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

/* What the file has after a write of it failed, the file alone can tell. */
static void failed_write_through__is_read_from_the_file(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(4);
    cfg.remote = false;
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    assert_int_equal(do_read(c, rd, 0, 3 * PIECE), 3 * PIECE);
    w.write_error = EIO;
    assert_int_equal(do_write(c, rd, PIECE, PIECE, 5), -1);
    assert_int_equal(errno, EIO);
    w.file[PIECE] = 5; /* it took some of it */
    assert_int_equal(do_read(c, rd, PIECE, 2), 2);
    assert_int_equal(w.buf[0], 5);
    assert_int_equal(w.buf[1], 1);
    w.did[CACHE_READ_FILE] = 0;
    assert_int_equal(do_read(c, rd, 0, 1), 1);
    assert_int_equal(do_read(c, rd, 2 * PIECE, 1), 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 0); /* beside it nothing is lost */
    w.write_error = 0;
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

/* Where one write fails, what else is dirty is written all the same: it may be the last chance. */
static void write_back__goes_on_where_one_fails(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < 6; i += 2)
        assert_int_equal(do_write(c, rd, i * PIECE, PIECE, 10 + (int)i), PIECE);
    w.bad_at = 2 * PIECE;
    assert_int_equal(do_close(c, rd), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(w.file[0], 10);
    assert_int_equal(w.file[2 * PIECE], 1);
    assert_int_equal(w.file[4 * PIECE], 14);
    assert_int_equal(w.did[CACHE_WRITE], 3);
    w.bad_at = 0;
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.file[2 * PIECE], 12);
    cache_free(c);
}

/* What failed in somebody else's call, or in the background, the next csync tells, once. */
static void write_back__failure_is_told_once(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 3);
    (void)do_read(c, rd, PIECE, 1);
    w.write_error = EIO;
    assert_int_equal(do_read(c, rd, 2 * PIECE, 1), 1); /* another victim is found */
    assert_int_equal(state(c, 0), CACHE_LOCAL);
    w.write_error = 0;
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[0], 3);
    cache_free(c);
}

static void fdatasync__failed_is_written_again(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 3);
    w.sync_error = EIO;
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, EIO);
    w.sync_error = 0;
    memset(w.file, 1, PIECE); /* the kernel dropped it */
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[0], 3);
    cache_free(c);
}

static void read_error__is_the_calls(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.read_error = EIO;
    assert_int_equal(do_read(c, rd, 0, PIECE), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_write(c, rd, 1, 1, 9), -1); /* the rest of the block cannot be had */
    assert_int_equal(errno, EIO);
    assert_int_equal(stats(c).cached_bytes, 0);
    w.read_error = 0;
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    cache_free(c);
}

static void arguments__wrong(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, DODO_RDONLY, &rd);
    assert_int_equal(do_read(c, rd + 1, 0, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(do_read(c, rd, BYTES + 1, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(do_read(c, rd, BYTES, 1), 0);
    assert_int_equal(do_read(c, rd, BYTES - 3, 100), 3);
    assert_int_equal(do_write(c, rd, 0, 1, 1), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(cache_open(c, 0, 0, &w, 0), -EINVAL);
    assert_int_equal(cache_open(c, 1, 0, &w, 1u << 20), -EINVAL);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(do_close(c, rd), -1);
    assert_int_equal(errno, EINVAL);
    cache_free(c);
}

/* ---- sizes ------------------------------------------------------------------------------------
 */

static void no_cache_at_all__works(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(0);
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(do_write(c, rd, 5, 3 * PIECE, 4), 3 * PIECE);
    assert_int_equal(w.file[4], 1);
    assert_int_equal(w.file[5], 4);
    assert_int_equal(do_read(c, rd, 5, BYTES - 5), BYTES - 5);
    assert_int_equal(stats(c).bypasses, 1);
    assert_int_equal(stats(c).cached_bytes, 0);
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

static void write_through__is_in_the_file(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(do_write(c, rd, 10, PIECE, 6), PIECE);
    assert_int_equal(w.file[10], 6);
    w.write_error = ENOSPC;
    assert_int_equal(do_write(c, rd, 10, PIECE, 8), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(do_read(c, rd, 9, 2), 2);
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(w.buf[1], 6);
    assert_int_equal(stats(c).local_hits, 0); /* the file was asked what it took */
    assert_int_equal(stats(c).dirty_bytes, 0);
    cache_free(c);
}

/* ---- what costs decide ------------------------------------------------------------------------
 */

static void cheap_file__is_read_past_the_cache(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 8;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.file_ns = 1500; /* as from the kernel's page cache */
    for (unsigned i = 0; i < 20; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    assert_true(stats(c).bypasses >= 18);
    w.file_ns = 5000000; /* now it is a disk */
    for (unsigned i = 0; i < 20; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    uint64_t bypasses = stats(c).bypasses, hits = stats(c).local_hits;
    for (unsigned i = 16; i < 20; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    assert_int_equal(stats(c).bypasses, bypasses);
    assert_int_equal(stats(c).local_hits, hits + 4);
    cache_free(c);
}

/* Measuring may be interrupted, and is done with more bytes than are read at a time: neither makes
 * a disk a cheap file. */
static void cheap_file__is_measured_by_the_least_copy(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, 1 << 20, 100 * 1000);
    cache_copy_cost(c, 1 << 20, 30 * 1000 * 1000); /* it waited for a processor */
    w.file_ns = 100 * 1000;                        /* a fast disk */
    for (unsigned i = 0; i < 8; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    assert_int_equal(stats(c).bypasses, 0);
    w.file_ns = 1000;
    for (unsigned i = 0; i < 400; i++)
        (void)do_read(c, rd, i % 16 * PIECE, PIECE);
    assert_true(stats(c).bypasses > 0); /* the kernel's page cache */
    cache_free(c);
}

/* A clone that was taken in part: what is left of it is not believed to be there. */
static void clone__taken_in_part(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 0, 2 * PIECE);
    w.clone_taken = PIECE;
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(cache_state(c, rd, 0), CACHE_BOTH);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_LOCAL);
    cache_free(c);
}

static void dear_remote__the_file_is_read(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 50000000;
    (void)do_read(c, rd, 0, 2 * PIECE);
    (void)do_sync(c, rd);
    for (unsigned i = 0; i < 40; i++)
        (void)do_read(c, rd, i % 8 * PIECE, PIECE);
    print_message("# %u reads, %u clones\n", w.did[CACHE_READ_REMOTE], w.did[CACHE_CLONE]);
    assert_true(w.did[CACHE_READ_REMOTE] <= 2); /* what is not known is tried */
    assert_true(w.did[CACHE_CLONE] <= 3);       /* the csync's, which does not count, and others */
    cache_free(c);
}

static void read_on(Cache *c, int rd, unsigned piece)
{
    (void)do_read(c, rd, piece * PIECE, PIECE);
    background(c);
}

/* What a host takes at first - a session, pages of its own - says little of what a read will. */
static void dear_clones__are_borne_until_reads_tell(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 2000000; /* twice as long as the file */
    for (unsigned i = 0; i < 16; i++)
        read_on(c, rd, i % 8);
    assert_true(w.did[CACHE_CLONE] >= 6);
    assert_true(w.did[CACHE_READ_REMOTE] >= 1);
    unsigned clones = w.did[CACHE_CLONE], reads = w.did[CACHE_READ_REMOTE];
    for (unsigned i = 0; i < 16; i++)
        read_on(c, rd, i % 8);
    assert_true(w.did[CACHE_CLONE] <= clones + 2); /* now it is known */
    assert_true(w.did[CACHE_READ_REMOTE] <= reads + 2);
    cache_free(c);
}

/* The first use of a host costs more than the later ones. */
static void dear_remote__is_soon_looked_at_again(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 5000000;
    (void)do_read(c, rd, 0, 2 * PIECE);
    (void)do_sync(c, rd);
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 200; i++)
        (void)do_read(c, rd, i % 8 * PIECE, PIECE);
    assert_int_equal(w.did[CACHE_CLONE], 7); /* the csync's, of two pieces; six others */
    assert_true(w.did[CACHE_READ_REMOTE] >= 50);
    cache_free(c);
}

/* A read of @pieces that takes so long from either place. */
static void read_costing(Cache *c, int rd, unsigned piece, unsigned pieces, uint64_t file_ns,
                         uint64_t remote_ns)
{
    w.file_ns = file_ns;
    w.remote_ns = remote_ns;
    assert_int_equal(do_read(c, rd, piece * PIECE, pieces * PIECE), pieces * PIECE);
}

/* Its end alone would be cheaper from the file, and is asked of remote memory with the rest. */
static void a_read__has_one_source(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    const uint64_t large_file = 1000000, large_remote = 200000;
    const uint64_t small_file = 50000, small_remote = 100000;
    for (unsigned at = 0; at < 24; at += 8) { /* the third drives the first ones out */
        read_costing(c, rd, at, 8, large_file, large_remote);
        assert_int_equal(do_sync(c, rd), 0);
    }
    read_costing(c, rd, 0, 8, large_file, large_remote);
    read_costing(c, rd, 8, 1, small_file, small_remote);
    for (unsigned i = 24; i < 32; i++)
        read_costing(c, rd, i, 1, small_file, small_remote);
    memset(w.did, 0, sizeof w.did);
    read_costing(c, rd, 16, 1, small_file, small_remote);
    assert_int_equal(w.did[CACHE_READ_FILE], 1);
    memset(w.did, 0, sizeof w.did);
    read_costing(c, rd, 0, 8, large_file, large_remote);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 0);
    cache_free(c);
}

/* A file that the kernel has most of, and a drive the rest: what counts is what a read of it takes
 * on average, not what most take. */
static void file_in_part_slow__remote_memory_is_used(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 2000; i++) {
        w.file_ns = i % 5 < 4 ? 3000 : 5000000;
        read_on(c, rd, i * 7 % PIECES);
        if (i == 1000)
            memset(w.did, 0, sizeof w.did);
    }
    assert_true(w.did[CACHE_READ_REMOTE] > 800);
    cache_free(c);
}

/* The kernel reads ahead: one read in sixteen waits for the drive, and the next ones do not, though
 * remote memory would be cheaper than that one. */
static void file_read_ahead__is_cheaper(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 250000;
    for (unsigned i = 0; i < 1000; i++) {
        w.file_ns = i % 16 ? 20000 : 2000000;
        read_on(c, rd, i % PIECES);
        if (i == 500)
            memset(w.did, 0, sizeof w.did);
    }
    assert_in_range(w.did[CACHE_READ_REMOTE], 0, 5);
    cache_free(c);
}

/* Whose every read finds the page cache, but for one now and then that waits for a processor. */
static void file_seldom_late__is_read_past_the_cache(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 20000; i++) {
        w.file_ns = i % 50 < 49 ? 3000 : 10000000;
        read_on(c, rd, i * 7 % PIECES);
        w.now_ns += 1000000;
        if (i == 10000)
            memset(w.did, 0, sizeof w.did);
    }
    assert_true(w.did[CACHE_READ_FILE] > 9000);
    cache_free(c);
}

/* ---- reading ahead ----------------------------------------------------------------------------
 */

static uint64_t misses(Cache *c, int rd, uint64_t start, int64_t stride, uint64_t len,
                       unsigned reads)
{
    uint64_t before = stats(c).disk_reads;
    for (unsigned i = 0; i < reads; i++) {
        assert_int_equal(do_read(c, rd, start + (uint64_t)(stride * (int64_t)i), len), len);
        background(c);
    }
    return stats(c).disk_reads - before;
}

static void readahead__streams(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(PIECES);
    cfg.readahead_bytes = 16 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    assert_true(misses(c, rd, 0, PIECE, PIECE, 30) <= 4);           /* one after the other */
    assert_true(misses(c, rd, 31 * PIECE, 4 * PIECE, 100, 8) <= 4); /* strided */
    c = cache_free(c);
    memset(w.did, 0, sizeof w.did);
    c = make(&cfg, 0, &rd);
    assert_true(misses(c, rd, (PIECES - 1) * PIECE, -PIECE, PIECE, 30) <= 4); /* backwards */
    assert_true(stats(c).readahead_used >= 25);
    c = cache_free(c);
    cfg.readahead_bytes = 0;
    c = make(&cfg, 0, &rd);
    assert_int_equal(misses(c, rd, 0, PIECE, PIECE, 30), 30);
    cache_free(c);
}

/* What was used twice stays, however long the stream is. */
static void readahead__evicts_nothing_hotter(void **s)
{
    (void)s;
    int rd;
    CacheConfig cfg = config(8);
    cfg.readahead_bytes = 4 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 8; i++)
            (void)do_read(c, rd, (PIECES - 8 + i * 3 % 8) * PIECE, 1);
    uint64_t ahead = stats(c).readaheads;
    CacheJob job;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t evicted = stats(c).evictions;
        (void)do_read(c, rd, i * PIECE, PIECE);
        assert_int_equal(stats(c).evictions, evicted + 1); /* the call's own */
        while (cache_background_take(c, &job, w.now_ns)) {
            CacheResult result = carry_out(&job);
            cache_background_done(c, &job, &result, w.now_ns);
        }
        assert_int_equal(stats(c).evictions, evicted + 1);
    }
    assert_int_equal(stats(c).readaheads, ahead);
    cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states__disk_local_both_remote),
        cmocka_unit_test(reclaim__clones_together),
        cmocka_unit_test(reclaim__as_figure_5),
        cmocka_unit_test(refraction__no_allocation),
        cmocka_unit_test(remote_lost__the_file_serves),
        cmocka_unit_test(full_disk__cwrite_tells_and_nothing_is_lost),
        cmocka_unit_test(failed_write_through__is_read_from_the_file),
        cmocka_unit_test(write_back__goes_on_where_one_fails),
        cmocka_unit_test(write_back__failure_is_told_once),
        cmocka_unit_test(fdatasync__failed_is_written_again),
        cmocka_unit_test(read_error__is_the_calls),
        cmocka_unit_test(arguments__wrong),
        cmocka_unit_test(no_cache_at_all__works),
        cmocka_unit_test(write_through__is_in_the_file),
        cmocka_unit_test(cheap_file__is_read_past_the_cache),
        cmocka_unit_test(cheap_file__is_measured_by_the_least_copy),
        cmocka_unit_test(clone__taken_in_part),
        cmocka_unit_test(dear_remote__the_file_is_read),
        cmocka_unit_test(dear_remote__is_soon_looked_at_again),
        cmocka_unit_test(dear_clones__are_borne_until_reads_tell),
        cmocka_unit_test(a_read__has_one_source),
        cmocka_unit_test(file_in_part_slow__remote_memory_is_used),
        cmocka_unit_test(file_read_ahead__is_cheaper),
        cmocka_unit_test(file_seldom_late__is_read_past_the_cache),
        cmocka_unit_test(readahead__streams),
        cmocka_unit_test(readahead__evicts_nothing_hotter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
