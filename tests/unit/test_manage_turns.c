/* SPDX-License-Identifier: MIT */
/* A piece that is always being read is written all the same: who copies from it ends, and nobody
 * else begins before the write has had its turn. Several threads' calls, step by step. And the
 * background's turn. */
#include <string.h>

#include "base/time.h"
#include "libmanage/core.h"
#include "tests/lib/cache_job.h"
#include "tests/lib/case.h"
#include "tests/lib/heap_pages.h"

enum { PIECE = 2 * CACHE_BLOCK, BYTES = 4 * PIECE, READERS = 3 };

static uint8_t file[BYTES];
static Cache *cache;
static int rd;
static struct Lane *lanes[READERS];
static unsigned wakes;
static void (*beside)(void); /* what other threads do while bytes are copied, once */

static bool locked;

static void lock(void *ctx)
{
    (void)ctx;
    assert_false(locked);
    locked = true;
}

static void unlock(void *ctx)
{
    void (*now)(void) = beside;
    (void)ctx;
    assert_true(locked);
    locked = false;
    beside = NULL;
    if (now)
        now();
}

static void wake(void *ctx, CacheCall *call)
{
    (void)ctx;
    (void)call;
    wakes++;
}

static void job_do(const CacheJob *job, CacheResult *ret)
{
    *ret = (CacheResult){.count = (ssize_t)job->len, .ns = 1000000};
    if (job->kind == CACHE_READ_FILE)
        cache_job_give(job, (uint8_t *)job->file + job->offset, job->len);
    else if (job->kind == CACHE_WRITE)
        cache_job_take(job, (uint8_t *)job->file + job->offset, job->len);
}

/* Until it waits for another's, or is over. */
static uint8_t go_on(CacheCall *call)
{
    while (call->need == CACHE_JOB) {
        CacheResult result;
        job_do(&call->job, &result);
        cache_call_done(call, cache, &result, 0);
    }
    assert_true(cache_check(cache));
    return call->need;
}

static uint8_t step(CacheCall *call)
{
    cache_call_step(call, cache, 0);
    return go_on(call);
}

static uint8_t read_begin(CacheCall *call, uint8_t *buf)
{
    cache_read_start(call, cache, rd, 0, buf, PIECE, 0);
    return go_on(call);
}

static uint8_t write_begin(CacheCall *call, const uint8_t *buf)
{
    cache_write_start(call, cache, rd, 0, buf, PIECE, 0);
    return go_on(call);
}

static enum CacheHitKind hit_begin(CacheHit *h, unsigned reader)
{
    return cache_hit_begin(h, cache, lanes[reader], rd, 0, PIECE);
}

/* All of the file is in the cache. */
static void begin(unsigned flags)
{
    static uint8_t buf[BYTES];
    CacheConfig cfg;
    CacheCall call;
    cache_config_init(&cfg, 2 * BYTES);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    memset(file, 1, sizeof file);
    cache = cache_new(&cfg, &(CacheHooks){.lock = lock, .unlock = unlock, .wake = wake});
    assert_non_null(cache);
    rd = cache_open(cache, BYTES, BYTES, file, flags);
    for (unsigned i = 0; i < READERS; i++)
        lanes[i] = cache_lane(cache);
    cache_read_start(&call, cache, rd, 0, buf, BYTES, 0);
    assert_int_equal(go_on(&call), CACHE_OVER);
    wakes = 0;
}

/* Readers that need no lock are at the piece, and more of them come. */
static void write_behind_hits(unsigned flags)
{
    static uint8_t old[PIECE], new[PIECE], theirs[PIECE];
    CacheHit hit, later;
    CacheCall write, read;
    begin(flags);
    memset(new, 2, sizeof new);
    assert_int_equal(hit_begin(&hit, 0), CACHE_HIT_LOCAL);
    assert_int_equal(write_begin(&write, new), CACHE_BLOCKED);
    assert_true(write.until_ns < TIME_NEVER); /* a hit that ends may not see that it waits */
    assert_int_equal(hit_begin(&later, 1), CACHE_HIT_NONE);
    assert_int_equal(read_begin(&read, theirs), CACHE_BLOCKED);
    assert_int_equal(hit_begin(&later, 1), CACHE_HIT_NONE); /* still */
    cache_hit_copy(&hit, cache, old);
    assert_int_equal(step(&write), CACHE_BLOCKED); /* those that got nothing have woken it */
    assert_int_equal(step(&read), CACHE_BLOCKED);
    wakes = 0;
    cache_hit_end(&hit, cache);
    assert_int_equal(wakes, 2);
    assert_int_equal(step(&read), CACHE_BLOCKED); /* the one that is first */
    assert_int_equal(hit_begin(&later, 1), CACHE_HIT_NONE);
    assert_int_equal(step(&write), CACHE_OVER);
    assert_int_equal(write.result, PIECE);
    assert_int_equal(wakes, 3);
    assert_int_equal(step(&read), CACHE_OVER);
    assert_int_equal(old[PIECE - 1], 1);
    assert_int_equal(theirs[PIECE - 1], 2);
    assert_int_equal(hit_begin(&later, 1), CACHE_HIT_LOCAL);
    cache_hit_end(&later, cache);
    cache = cache_free(cache);
}

TEST(write__behind_hits)
{
    write_behind_hits(0);
}

TEST(write_past_the_cache__behind_hits)
{
    write_behind_hits(MANAGE_WRITE_THROUGH);
}

/* ---- readers that hold the piece while they copy --------------------------------------------- */

static CacheCall other_write, other_read;
static uint8_t other_new[PIECE], other_buf[PIECE];

static void write_and_read(void)
{
    assert_int_equal(write_begin(&other_write, other_new), CACHE_BLOCKED);
    assert_int_equal(read_begin(&other_read, other_buf), CACHE_BLOCKED);
}

TEST(write__behind_copies)
{
    static uint8_t buf[PIECE];
    CacheCall read;
    begin(0);
    memset(other_new, 3, sizeof other_new);
    beside = write_and_read;
    assert_int_equal(read_begin(&read, buf), CACHE_OVER);
    assert_int_equal(wakes, 2);
    assert_int_equal(step(&other_read), CACHE_BLOCKED);
    assert_int_equal(step(&other_write), CACHE_OVER);
    assert_int_equal(step(&other_read), CACHE_OVER);
    assert_int_equal(buf[0], 1);
    assert_int_equal(other_buf[0], 3);
    cache = cache_free(cache);
}

/* What another call reads from the file is waited for, however long: to ask the file twice is no
 * quicker. */
TEST(read__behind_a_read_of_the_file)
{
    static uint8_t buf[2][PIECE];
    CacheCall first, second;
    CacheResult result;
    begin(0);
    int other = cache_open(cache, BYTES, BYTES, file, 0);
    cache_read_start(&first, cache, other, 0, buf[0], PIECE, 0);
    assert_int_equal(first.need, CACHE_JOB);
    assert_int_equal(first.job.kind, CACHE_READ_FILE);
    cache_read_start(&second, cache, other, 0, buf[1], PIECE, 0);
    assert_int_equal(second.need, CACHE_BLOCKED);
    assert_int_equal(second.until_ns, TIME_NEVER);
    cache_call_step(&second, cache, 1000 * NS_PER_S);
    assert_int_equal(second.need, CACHE_BLOCKED);
    job_do(&first.job, &result);
    cache_call_done(&first, cache, &result, 1000 * NS_PER_S);
    assert_int_equal(first.need, CACHE_OVER);
    assert_int_equal(wakes, 1);
    assert_int_equal(step(&second), CACHE_OVER);
    assert_memory_equal(buf[1], file, PIECE);
    cache = cache_free(cache);
}

/* A write that waits for a job at the piece, which may take long, keeps no reader away. */
TEST(write__behind_a_job)
{
    static uint8_t new[PIECE], buf[PIECE];
    CacheHit hit;
    CacheCall write, read, sync;
    CacheResult result;
    begin(0);
    memset(new, 2, sizeof new);
    assert_int_equal(write_begin(&write, new), CACHE_OVER);
    assert_int_equal(hit_begin(&hit, 0), CACHE_HIT_LOCAL);
    memset(new, 3, sizeof new);
    assert_int_equal(write_begin(&write, new), CACHE_BLOCKED);
    assert_int_equal(read_begin(&read, buf), CACHE_BLOCKED);
    cache_sync_start(&sync, cache, rd, 0);
    assert_int_equal(sync.need, CACHE_JOB); /* it writes the piece */
    cache_hit_end(&hit, cache);
    wakes = 0;
    assert_int_equal(step(&read), CACHE_BLOCKED);
    assert_int_equal(step(&write), CACHE_BLOCKED);
    assert_int_equal(wakes, 1); /* the read, which may go on */
    assert_int_equal(step(&read), CACHE_OVER);
    assert_int_equal(buf[0], 2);
    job_do(&sync.job, &result);
    cache_call_done(&sync, cache, &result, 0);
    assert_int_equal(step(&write), CACHE_OVER);
    assert_int_equal(go_on(&sync), CACHE_OVER);
    assert_int_equal(file[0], 2);
    cache = cache_free(cache);
}

/* ---- the background -------------------------------------------------------------------------- */

static bool somebody;
static unsigned told;

static bool wake_background(void *ctx)
{
    (void)ctx;
    told++;
    return somebody;
}

/* Work wakes it once; if nobody could be woken, again. */
TEST(background__is_reported_until_somebody_is_there)
{
    static uint8_t buf[PIECE];
    CacheConfig cfg;
    CacheCall call;
    cache_config_init(&cfg, BYTES);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    cfg.low_water_bytes = 2 * BYTES; /* each piece is one too many */
    cache = cache_new(&cfg, &(CacheHooks){.wake_background = wake_background});
    assert_non_null(cache);
    rd = cache_open(cache, BYTES, BYTES, file, 0);
    somebody = false;
    told = 0;
    for (unsigned i = 0; i < 2; i++) {
        cache_write_start(&call, cache, rd, (off_t)i * PIECE, buf, PIECE, 0);
        assert_int_equal(go_on(&call), CACHE_OVER);
        assert_int_equal(told, i + 1);
    }
    somebody = true;
    for (unsigned i = 2; i < 4; i++) {
        cache_write_start(&call, cache, rd, (off_t)i * PIECE, buf, PIECE, 0);
        assert_int_equal(go_on(&call), CACHE_OVER);
        assert_int_equal(told, 3);
    }
    cache = cache_free(cache);
}

/* It then makes room up to the mark: many victims at a time. */
TEST(background__is_woken_where_half_of_the_room_is_left)
{
    enum { ROOM = BYTES / PIECE, LOW = ROOM / 2 };
    static uint8_t buf[PIECE];
    CacheConfig cfg;
    CacheCall call;
    CacheJob job;
    cache_config_init(&cfg, BYTES);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    cfg.low_water_bytes = LOW * PIECE;
    cache = cache_new(&cfg, &(CacheHooks){.wake_background = wake_background});
    assert_non_null(cache);
    rd = cache_open(cache, BYTES, BYTES, file, 0);
    somebody = true;
    told = 0;
    for (unsigned i = 0; i < ROOM - LOW / 2; i++) {
        cache_write_start(&call, cache, rd, (off_t)i * PIECE, buf, PIECE, 0);
        assert_int_equal(go_on(&call), CACHE_OVER);
        assert_int_equal(told, 0);
    }
    cache_write_start(&call, cache, rd, (off_t)(ROOM - LOW / 2) * PIECE, buf, PIECE, 0);
    assert_int_equal(go_on(&call), CACHE_OVER);
    assert_int_equal(told, 1);
    while (cache_background_take(cache, &job, 0)) {
        CacheResult result = {.count = (ssize_t)job.len};
        cache_background_done(cache, &job, &result, 0);
    }
    struct manage_stats st;
    cache_stats(cache, &st);
    assert_int_equal(st.cached_bytes, (ROOM - LOW) * PIECE);
    cache = cache_free(cache);
}

static void read_all(void)
{
    static uint8_t buf[BYTES];
    CacheCall call;
    cache_read_start(&call, cache, rd, 0, buf, BYTES, 0);
    assert_int_equal(go_on(&call), CACHE_OVER);
}

/* A cache of all of the file, on pages that can collapse. */
static void all_local(void)
{
    CacheConfig cfg;
    cache_config_init(&cfg, BYTES);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.pages = &heap_pages;
    cache = cache_new(&cfg, &(CacheHooks){.wake_background = wake_background});
    assert_non_null(cache);
    rd = cache_open(cache, BYTES, BYTES, file, 0);
    somebody = true;
    told = 0;
}

/* Not for what may never be read again; and then each part once. */
TEST(huge_pages__for_what_is_read_again_and_again)
{
    void *at, *first;
    size_t bytes;
    all_local();
    for (unsigned i = 0; i < 4; i++) { /* a miss, and three times all of it */
        read_all();
        assert_false(cache_collapse_take(cache, &at, &bytes));
    }
    assert_int_equal(told, 0);
    read_all();
    assert_true(cache_collapse_take(cache, &first, &bytes));
    assert_int_equal(told, 1);
    unsigned parts = 1;
    for (; cache_collapse_take(cache, &at, &bytes); parts++)
        assert_ptr_not_equal(at, first);
    assert_in_range(parts, 2, 4); /* of two mappings, each with a boundary in it at most */
    for (unsigned i = 0; i < 8; i++) {
        read_all();
        assert_false(cache_collapse_take(cache, &at, &bytes));
    }
    assert_int_equal(told, 1);
    cache = cache_free(cache);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* A file so cheap that it is read past the cache. */
static void begin_cheap(void)
{
    static uint8_t buf[PIECE];
    CacheConfig cfg;
    CacheCall call;
    cache_config_init(&cfg, 0);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    memset(file, 1, sizeof file);
    cache = cache_new(&cfg, &(CacheHooks){.lock = lock, .unlock = unlock, .wake = wake});
    assert_non_null(cache);
    cache_copy_cost(cache, PIECE, 1000000);
    rd = cache_open(cache, BYTES, BYTES, file, 0);
    lanes[0] = cache_lane(cache);
    cache_read_start(&call, cache, rd, 0, buf, PIECE, 0);
    assert_int_equal(go_on(&call), CACHE_OVER);
}

/* The read of the file comes short or fails, so the lock is needed after all. A close that has
 * waited for the read goes on waiting, and a region opened meanwhile gets another
 * descriptor: else the read would end in that one, with another file's bytes. */
TEST(close__behind_a_read_that_takes_the_lock_after_all)
{
    static uint8_t other[BYTES], buf[PIECE];
    CacheHit hit;
    CacheCall read, close;
    begin_cheap();
    memset(other, 2, sizeof other);
    assert_int_equal(hit_begin(&hit, 0), CACHE_HIT_FILE);
    cache_close_start(&close, cache, rd, 0);
    assert_int_equal(go_on(&close), CACHE_BLOCKED);
    wakes = 0;
    cache_hit_read_start(&read, &hit, cache, buf, 0);
    assert_int_equal(wakes, 1);
    assert_int_equal(read.need, CACHE_JOB);
    assert_int_equal(step(&close), CACHE_BLOCKED);
    assert_int_not_equal(cache_open(cache, BYTES, BYTES, other, 0), rd);
    assert_int_equal(go_on(&read), CACHE_OVER);
    assert_int_equal(read.result, PIECE);
    assert_int_equal(buf[0], 1);
    assert_int_equal(step(&close), CACHE_OVER);
    assert_int_equal(close.result, 0);
    cache = cache_free(cache);
}

/* While all is local, nothing but hits takes the lock. */
TEST(huge_pages__for_what_hits_read)
{
    enum { HITS = 4 * BYTES / PIECE + 2 * 4096 };
    CacheHit hit;
    all_local();
    read_all();
    struct Lane *lane = cache_lane(cache);
    assert_non_null(lane);
    for (unsigned i = 0; i < HITS; i++) {
        off_t at = (off_t)(i % (BYTES / PIECE)) * PIECE;
        if (cache_hit_begin(&hit, cache, lane, rd, at, PIECE) == CACHE_HIT_LOCAL)
            cache_hit_end(&hit, cache);
        else /* a lane without room */
            assert_true(i < BYTES / PIECE);
    }
    assert_int_equal(told, 1);
    cache = cache_free(cache);
}

/* Each thread has its own as long as there are enough. */
TEST(lanes__are_given_back)
{
    enum { MOST = 3 };
    struct Lane *taken[MOST];
    CacheConfig cfg;
    cache_config_init(&cfg, BYTES);
    cfg.lanes = MOST;
    cache = cache_new(&cfg, &(CacheHooks){0});
    assert_non_null(cache);
    for (unsigned i = 0; i < MOST; i++) {
        taken[i] = cache_lane(cache);
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(taken[i], taken[k]);
    }
    cache_lane_give(cache, taken[1]);
    assert_ptr_equal(cache_lane(cache), taken[1]);
    assert_ptr_equal(cache_lane(cache), taken[0]); /* two threads share it */
    assert_ptr_equal(cache_lane(cache), taken[1]);
    cache_lane_give(cache, taken[0]);
    assert_ptr_equal(cache_lane(cache), taken[0]);
    cache = cache_free(cache);
}

static void read_third(void)
{
    static uint8_t buf[PIECE];
    CacheCall call;
    cache_read_start(&call, cache, rd, 2 * PIECE, buf, PIECE, 0);
    assert_int_equal(go_on(&call), CACHE_OVER);
}

/* Another thread's read takes the place of what was fetched and not copied yet. */
TEST(bytes__that_came_twice_count_once)
{
    static uint8_t buf[2 * PIECE];
    CacheConfig cfg;
    CacheCall call;
    CacheResult result;
    struct manage_stats st;
    cache_config_init(&cfg, 2 * PIECE);
    cfg.piece_bytes = PIECE;
    cfg.remote = false;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cache = cache_new(&cfg, &(CacheHooks){.lock = lock, .unlock = unlock, .wake = wake});
    assert_non_null(cache);
    assert_int_equal(cache_set_policy(cache, MANAGE_LRU), 0);
    rd = cache_open(cache, BYTES, BYTES, file, 0);
    cache_read_start(&call, cache, rd, 0, buf, 2 * PIECE, 0);
    assert_int_equal(call.job.len, 2 * PIECE);
    job_do(&call.job, &result);
    beside = read_third; /* while the first piece is copied */
    cache_call_done(&call, cache, &result, 0);
    assert_int_equal(call.need, CACHE_JOB); /* the second one again */
    assert_int_equal(go_on(&call), CACHE_OVER);
    assert_int_equal(call.result, 2 * PIECE);
    cache_stats(cache, &st);
    assert_int_equal(st.local_bytes, 0);
    assert_int_equal(st.disk_bytes, 3 * PIECE);
    cache = cache_free(cache);
}
