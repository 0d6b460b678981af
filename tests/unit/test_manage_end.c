/* SPDX-License-Identifier: MIT */
/* The region cache's core at the end of its process: what is dirty is written even while others use
 * it, and what was to be kept in remote memory is, beside calls that do not end. */
#include "tests/lib/case.h"
#include "tests/unit/cache_fixture.h"

enum { OWN = 7, PATIENCE_NS = 1000000 };

static void end(Cache *c)
{
    CacheEnd e = {0};
    CacheJob job;
    memset(w.did, 0, sizeof w.did);
    for (unsigned n = 0; cache_end_take(&e, c, &job, w.now_ns); n++) {
        assert_true(n < 1000);
        assert_true(job.kind == CACHE_WRITE || job.kind == CACHE_SYNC);
        assert_false(job.both);
        (void)carry_out(&job);
    }
    assert_true(cache_check(c));
}

static void file_has(uint64_t from, uint64_t to, int value)
{
    for (uint64_t at = from; at < to; at++)
        assert_int_equal(w.file[at], value);
}

TEST(end__writes_all_that_is_dirty)
{
    int rd;
    CacheConfig cfg = config(16);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, 3 * PIECE, OWN);
    (void)do_write(c, rd, 9 * PIECE + 100, 10, OWN);
    (void)do_write(c, rd, 5 * PIECE + CACHE_BLOCK, CACHE_BLOCK, OWN);
    end(c);
    file_has(0, 3 * PIECE, OWN);
    file_has(3 * PIECE, 5 * PIECE + CACHE_BLOCK, 1);
    file_has(5 * PIECE + CACHE_BLOCK, 6 * PIECE, OWN);
    file_has(9 * PIECE, 9 * PIECE + 100, 1);
    file_has(9 * PIECE + 100, 9 * PIECE + 110, OWN);
    assert_int_equal(w.did[CACHE_WRITE], 3); /* pieces next to each other at once */
    assert_int_equal(w.did[CACHE_SYNC], 1);
    assert_int_equal(stats(c).writebacks, 5);
    cache_free(c);
}

/* Each region's file goes to the disk, once, after what was dirty is in it. */
TEST(end__syncs_each_file)
{
    enum { REGIONS = 3 };
    int files[REGIONS], rd[REGIONS];
    unsigned written[REGIONS] = {0}, synced[REGIONS] = {0};
    CacheEnd e = {0};
    CacheJob job;
    CacheConfig cfg = config(16);
    Cache *c = cache_new(&cfg, &(CacheHooks){.file_release = released});
    for (unsigned i = 0; i < REGIONS; i++) {
        rd[i] = cache_open(c, BYTES, BYTES, &files[i], 0);
        (void)do_write(c, rd[i], i * PIECE, PIECE, OWN);
    }
    while (cache_end_take(&e, c, &job, w.now_ns)) {
        unsigned i = (unsigned)((int *)job.file - files);
        assert_in_range(i, 0, REGIONS - 1);
        if (job.kind == CACHE_SYNC)
            assert_int_equal(written[i], 1);
        (job.kind == CACHE_SYNC ? synced : written)[i]++;
        assert_true(written[i] <= 1 && synced[i] <= 1);
        (void)carry_out(&job);
    }
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(synced[i], 1);
    cache_free(c);
}

/* In the last block of a file, and no more than there is of it. */
TEST(end__makes_no_file_longer)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = cache_new(&cfg, &(CacheHooks){.file_release = released});
    rd = cache_open(c, BYTES, 10, &w, 0);
    (void)do_write(c, rd, 0, 100, OWN);
    end(c);
    file_has(0, 100, OWN);
    file_has(100, PIECE, 1);
    cache_free(c);
}

TEST(end__waits_for_nobody)
{
    static uint8_t buf[PIECE], nothing;
    int rd;
    CacheCall read, write, close;
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, CACHE_BLOCK, OWN);
    (void)do_write(c, rd, 2 * PIECE, PIECE, OWN);
    cache_read_start(&read, c, rd, CACHE_BLOCK, buf, CACHE_BLOCK, w.now_ns);
    assert_int_equal(read.need, CACHE_JOB); /* in the piece that is dirty */
    cache_write_start(&write, c, rd, 4 * PIECE + 1, &nothing, 1, w.now_ns);
    assert_int_equal(write.need, CACHE_JOB);
    cache_close_start(&close, c, rd, w.now_ns);
    assert_int_equal(close.need, CACHE_BLOCKED);
    end(c);
    file_has(0, CACHE_BLOCK, OWN);
    file_has(2 * PIECE, 3 * PIECE, OWN);
    assert_int_equal(w.did[CACHE_SYNC], 1);
    assert_int_equal(finish(c, &read), CACHE_BLOCK); /* which may go on all the same */
    assert_int_equal(finish(c, &write), 1);
    assert_int_equal(w.file[4 * PIECE + 1], 0); /* written through */
    cache_call_step(&close, c, w.now_ns);
    assert_int_equal(finish(c, &close), 0);
    cache_free(c);
}

/* The end of a program writes past the cache. Where that fails, what was written before is still to
 * be written, and read until then. */
TEST(end__failed_writes_lose_nothing_older)
{
    int rd;
    CacheJob job;
    CacheEnd e = {0};
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, OWN);
    (void)do_write(c, rd, 4 * PIECE, CACHE_BLOCK, OWN);
    assert_true(cache_end_take(&e, c, &job, w.now_ns));
    (void)carry_out(&job);
    w.write_error = EIO;
    assert_int_equal(do_write(c, rd, 4 * PIECE, PIECE, 9), -1);
    assert_int_equal(errno, EIO);
    w.write_error = 0;
    assert_int_equal(do_read(c, rd, 4 * PIECE, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(w.buf[0], OWN);
    while (cache_end_take(&e, c, &job, w.now_ns))
        (void)carry_out(&job);
    file_has(0, PIECE, OWN);
    file_has(4 * PIECE, 4 * PIECE + CACHE_BLOCK, OWN);
    cache_free(c);
}

TEST(end__of_what_wrote_nothing)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, DODO_RDONLY, &rd);
    (void)do_read(c, rd, 0, PIECE);
    end(c);
    assert_int_equal(w.did[CACHE_WRITE] + w.did[CACHE_SYNC], 0);
    cache_free(c);
}

/* ---- remote memory ----------------------------------------------------------------------------
 */

static ssize_t retain(Cache *c, int rd)
{
    CacheCall call;
    memset(w.story, 0, sizeof w.story);
    cache_retain_start(&call, c, rd, PATIENCE_NS, w.now_ns);
    return finish(c, &call);
}

/* A region that is in remote memory, with something dirty. */
static Cache *remote_region(const CacheConfig *cfg, unsigned flags, int *ret_rd)
{
    Cache *c = make(cfg, flags, ret_rd);
    (void)do_read(c, *ret_rd, 0, 4 * PIECE);
    assert_int_equal(do_sync(c, *ret_rd), 0);
    (void)do_write(c, *ret_rd, 0, PIECE, OWN);
    return c;
}

TEST(retain__gives_remote_memory_back_and_goes_on)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = remote_region(&cfg, DODO_RETAIN, &rd);
    assert_int_equal(retain(c, rd), 0);
    assert_string_equal(w.story, "WSx");
    file_has(0, PIECE, OWN);
    w.now_ns += 100 * cfg.refraction_ns;
    memset(w.did, 0, sizeof w.did);
    for (unsigned i = 0; i < 8; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    background(c);
    assert_int_equal(w.did[CACHE_READ_REMOTE] + w.did[CACHE_OPEN_REMOTE], 0);
    (void)do_write(c, rd, 0, PIECE, 9);
    end(c);
    file_has(0, PIECE, 9);
    cache_free(c);
}

TEST(retain__only_what_shall_be)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = remote_region(&cfg, 0, &rd);
    assert_int_equal(retain(c, rd), 0);
    assert_string_equal(w.story, "");
    cache_free(c);
}

/* What is in the midst of remote memory is waited for, but not without end, and what could not be
 * written is not kept. */
TEST(retain__waits_so_long)
{
    static uint8_t buf[PIECE];
    int rd;
    CacheCall read, call, again;
    CacheConfig cfg = config(2);
    Cache *c = remote_region(&cfg, DODO_RETAIN, &rd);
    (void)do_read(c, rd, 8 * PIECE, 2 * PIECE);
    cache_read_start(&read, c, rd, 3 * PIECE, buf, PIECE, w.now_ns);
    while (read.need == CACHE_JOB && read.job.kind != CACHE_READ_REMOTE) { /* victims leave */
        CacheResult result = carry_out(&read.job);
        cache_call_done(&read, c, &result, w.now_ns);
    }
    assert_int_equal(read.job.kind, CACHE_READ_REMOTE);
    memset(w.did, 0, sizeof w.did);
    cache_retain_start(&call, c, rd, PATIENCE_NS, w.now_ns);
    while (call.need == CACHE_JOB) {
        CacheResult result = carry_out(&call.job);
        cache_call_done(&call, c, &result, w.now_ns);
    }
    assert_int_equal(call.need, CACHE_BLOCKED);
    assert_int_equal(call.until_ns, w.now_ns + PATIENCE_NS);
    w.now_ns += PATIENCE_NS;
    cache_call_step(&call, c, w.now_ns);
    assert_int_equal(call.need, CACHE_OVER);
    cache_retain_start(&again, c, rd, PATIENCE_NS, w.now_ns);
    assert_int_equal(again.need, CACHE_OVER); /* all of them together */
    memset(&call, 0xee, sizeof call);         /* nobody wakes what is over */
    memset(&again, 0xee, sizeof again);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 0);
    assert_int_equal(finish(c, &read), PIECE);
    cache_free(c);
}

/* What an earlier run left may be older than what is written while it is asked for: it is given
 * back, and other memory need not wait. */
TEST(held__not_beside_a_write)
{
    int rd;
    CacheJob job;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, DODO_RETAIN | MANAGE_WRITE_THROUGH, &rd);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.kind, CACHE_OPEN_REMOTE);
    assert_int_equal(do_write(c, rd, 0, PIECE, OWN), PIECE);
    CacheResult result = carry_out(&job);
    result.held = true;
    cache_background_done(c, &job, &result, w.now_ns);
    assert_int_equal(cache_state(c, rd, 3 * PIECE), CACHE_DISK);
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 2);
    file_has(0, PIECE, OWN);
    cache_free(c);
}

/* An earlier run has left some blocks: what it has not comes from the file. Memory of the region
 * for where the pieces are is there for a part of them only. */
TEST(held__a_part)
{
    int rd;
    CacheJob job;
    CacheConfig cfg = config(16);
    Cache *c = make(&cfg, DODO_RETAIN, &rd);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.kind, CACHE_OPEN_REMOTE);
    assert_int_equal(do_read(c, rd, 9 * PIECE, PIECE), PIECE);
    CacheResult result = carry_out(&job);
    result.held = true;
    uint64_t blocks[BYTES / CACHE_BLOCK / 64] = {
        3 << 2 | 1 << 8 | 3 << 18, /* pieces 1 and 9, and half of 4 */
        3ull << 62,                /* and the last one */
    };
    result.held_blocks = blocks;
    cache_background_done(c, &job, &result, w.now_ns);
    memset(w.did, 0, sizeof w.did);
    assert_int_equal(do_read(c, rd, PIECE, PIECE), PIECE);
    assert_int_equal(do_read(c, rd, BYTES - PIECE, PIECE), PIECE);
    assert_int_equal(do_read(c, rd, 4 * PIECE, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 3);
    assert_int_equal(w.did[CACHE_READ_FILE], 0);
    assert_int_equal(do_read(c, rd, 4 * PIECE + CACHE_BLOCK, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(do_read(c, rd, 2 * PIECE, PIECE), PIECE);
    assert_int_equal(do_read(c, rd, BYTES - 2 * PIECE, PIECE), PIECE);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 3);
    assert_int_equal(w.did[CACHE_READ_FILE], 4);
    assert_int_equal(cache_state(c, rd, 9 * PIECE), CACHE_BOTH);
    cache_free(c);
}

/* There is nothing in it to be kept. */
TEST(retain__waits_for_no_opening)
{
    int rd;
    CacheJob job;
    CacheCall call;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, DODO_RETAIN, &rd);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.kind, CACHE_OPEN_REMOTE);
    cache_retain_start(&call, c, rd, PATIENCE_NS, w.now_ns);
    assert_int_equal(call.need, CACHE_OVER);
    assert_int_equal(call.result, 0);
    CacheResult result = carry_out(&job);
    cache_background_done(c, &job, &result, w.now_ns);
    cache_free(c);
}

TEST(retain__not_what_could_not_be_written)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = remote_region(&cfg, DODO_RETAIN, &rd);
    w.write_error = ENOSPC;
    (void)retain(c, rd);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 0);
    w.write_error = 0;
    cache_free(c);
}
