/* SPDX-License-Identifier: MIT */
/* The region cache's core when the file fails: no data is lost, the right call reports the error,
 * and a close waits for its own data alone. */
#include "tests/lib/case.h"
#include "tests/unit/cache_fixture.h"

/* ---- the file's errors ------------------------------------------------------------------------
 */

TEST(full_disk__cwrite_tells_and_nothing_is_lost)
{
    int rd;
    CacheHit hit;
    Cache *c = make_local(4, 0, &rd);
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
    assert_int_equal(cache_hit_begin(&hit, c, cache_lane(c), rd, 0, 1), CACHE_HIT_LOCAL);
    cache_hit_end(&hit, c);
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
TEST(failed_write_through__is_read_from_the_file)
{
    int rd;
    Cache *c = make_local(4, MANAGE_WRITE_THROUGH, &rd);
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
TEST(write_back__goes_on_where_one_fails)
{
    int rd;
    Cache *c = make_local(8, 0, &rd);
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
TEST(write_back__failure_is_reported_once)
{
    int rd;
    Cache *c = make_local(2, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 3);
    (void)do_read(c, rd, PIECE, 1);
    w.write_error = EIO;
    assert_int_equal(do_read(c, rd, 2 * PIECE, 1), 1); /* another victim is found */
    assert_int_equal(piece_state(c, 0), CACHE_LOCAL);
    w.write_error = 0;
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[0], 3);
    cache_free(c);
}

TEST(fdatasync__failed_is_written_again)
{
    int rd;
    Cache *c = make_local(2, 0, &rd);
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

/* A write fails, and then an fdatasync: what was written may be lost. */
static void lose_a_write(Cache *c, int rd)
{
    w.write_error = EIO;
    assert_int_equal(do_write(c, rd, 0, PIECE, 3), -1);
    w.write_error = 0;
    w.sync_error = EIO;
    assert_int_equal(do_sync(c, rd), -1);
    w.sync_error = 0;
    assert_int_equal(do_sync(c, rd), -1);
}

/* The file may have taken some of a write that failed, as a read may have told; an fdatasync that
 * fails then may have lost that, and nobody can write it again: each csync tells. */
TEST(fdatasync__failed_for_a_failed_write)
{
    int rd;
    Cache *c = make_local(2, MANAGE_WRITE_THROUGH, &rd);
    lose_a_write(c, rd);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_sync(c, rd), -1);
    cache_free(c);
}

/* A close tells of lost data once, also after a csync has: else the program that only asks the
 * close takes its data for written. Then the region can be closed. */
TEST(close__tells_once_of_what_is_lost)
{
    int rd;
    Cache *c = make_local(2, MANAGE_WRITE_THROUGH, &rd);
    lose_a_write(c, rd);
    assert_int_equal(do_close(c, rd), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_sync(c, rd), -1); /* each of them */
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

/* The same where the fdatasync fails while the write is under way. */
TEST(fdatasync__failed_beside_a_failed_write)
{
    int rd;
    CacheCall call;
    static uint8_t bytes[PIECE];
    Cache *c = make_local(2, MANAGE_WRITE_THROUGH, &rd);
    cache_write_start(&call, c, rd, 0, bytes, sizeof bytes, w.now_ns);
    assert_int_equal(call.need, CACHE_JOB);
    w.sync_error = EIO;
    assert_int_equal(do_sync(c, rd), -1);
    w.sync_error = 0;
    w.write_error = EIO;
    assert_int_equal(finish(c, &call), -1);
    w.write_error = 0;
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, EIO);
    cache_free(c);
}

/* Nor is anything lost where a write-back that was under way did its work: its piece is still
 * there, and is written once more. */
TEST(fdatasync__failed_beside_a_write_back)
{
    int rd;
    CacheCall first, second;
    Cache *c = make_local(4, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 3);
    cache_sync_start(&first, c, rd, w.now_ns);
    CacheResult result = carry_out(&first.job);
    cache_call_done(&first, c, &result, w.now_ns);
    assert_int_equal(first.job.kind, CACHE_SYNC);
    (void)do_write(c, rd, PIECE, PIECE, 4);
    cache_sync_start(&second, c, rd, w.now_ns);
    assert_int_equal(second.need, CACHE_JOB);
    assert_int_equal(second.job.kind, CACHE_WRITE);
    w.sync_error = EIO;
    assert_int_equal(finish(c, &first), -1);
    w.sync_error = 0;
    memset(w.file, 1, 2 * PIECE); /* the kernel dropped it */
    (void)finish(c, &second);
    (void)do_sync(c, rd);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[0], 3);
    assert_int_equal(w.file[PIECE], 4);
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

/* ---- whose data a close waits for -------------------------------------------------------------
 */

/* What leaves the cache while an fdatasync for it is under way cannot be written again when that
 * fails: each csync tells. */
TEST(fdatasync__failed_for_what_left_meanwhile)
{
    int rd;
    CacheCall sync;
    Cache *c = make_local(1, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 7);
    cache_sync_start(&sync, c, rd, w.now_ns);
    assert_int_equal(sync.job.kind, CACHE_WRITE);
    CacheResult result = carry_out(&sync.job);
    cache_call_done(&sync, c, &result, w.now_ns);
    assert_int_equal(sync.job.kind, CACHE_SYNC);
    (void)do_read(c, rd, PIECE, PIECE);
    assert_int_equal(piece_state(c, 0), CACHE_DISK);
    w.sync_error = EIO;
    assert_int_equal(finish(c, &sync), -1);
    assert_int_equal(errno, EIO);
    w.sync_error = 0;
    assert_int_equal(do_sync(c, rd), -1);
    assert_int_equal(errno, EIO);
    cache_free(c);
}

static unsigned syncs_of_a_close(Cache *c, int rd)
{
    w.did[CACHE_SYNC] = 0;
    assert_int_equal(do_close(c, rd), 0);
    return w.did[CACHE_SYNC];
}

/* Not for what others have written: and so their errors are none of its own. */
TEST(close__of_what_wrote_nothing)
{
    static const unsigned flags[] = {0, DODO_RDONLY, MANAGE_WRITE_THROUGH};
    for (unsigned i = 0; i < 3; i++) {
        int rd;
        CacheConfig cfg = config(4);
        Cache *c = make(&cfg, flags[i], &rd);
        (void)do_read(c, rd, 0, PIECE);
        w.sync_error = EIO;
        assert_int_equal(syncs_of_a_close(c, rd), 0);
        cache_free(c);
    }
}

TEST(close__of_what_is_synced)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, 100, 5);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(syncs_of_a_close(c, rd), 0);
    cache_free(c);
}

/* Written back, written through, or synced without success. */
TEST(close__of_what_is_not_synced)
{
    static const unsigned flags[] = {0, MANAGE_WRITE_THROUGH};
    for (unsigned i = 0; i < 4; i++) {
        int rd;
        CacheConfig cfg = config(1);
        Cache *c = make(&cfg, flags[i % 2], &rd);
        (void)do_write(c, rd, 0, PIECE, 5);
        if (i < 2)
            (void)do_read(c, rd, 5 * PIECE, PIECE); /* it leaves */
        w.sync_error = EIO;
        if (i >= 2)
            assert_int_equal(do_sync(c, rd), -1);
        assert_int_equal(do_close(c, rd), -1);
        w.sync_error = 0;
        assert_int_equal(syncs_of_a_close(c, rd), 1);
        cache_free(c);
    }
}

/* A write that an fdatasync may have missed. */
TEST(close__of_what_was_written_beside_a_csync)
{
    static uint8_t buf[PIECE];
    int rd;
    CacheCall write;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    cache_write_start(&write, c, rd, 0, buf, PIECE, w.now_ns);
    assert_int_equal(write.need, CACHE_JOB);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(finish(c, &write), PIECE);
    assert_int_equal(syncs_of_a_close(c, rd), 1);
    cache_free(c);
}

/* What another description has written is on the disk, too, but not for who reads only. */
TEST(sync__is_for_all_of_the_file)
{
    static const unsigned flags[] = {0, DODO_RDONLY};
    for (unsigned i = 0; i < 2; i++) {
        int rd;
        CacheConfig cfg = config(4);
        Cache *c = make(&cfg, flags[i], &rd);
        assert_int_equal(do_sync(c, rd), 0);
        assert_int_equal(do_sync(c, rd), 0);
        assert_int_equal(w.did[CACHE_SYNC], i == 0 ? 2 : 0);
        cache_free(c);
    }
}

TEST(read_error__is_the_calls)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.read_error = EIO;
    assert_int_equal(do_read(c, rd, 0, PIECE), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_write(c, rd, 1, 1, 9), -1); /* the rest of the block cannot be read */
    assert_int_equal(errno, EIO);
    assert_int_equal(stats(c).cached_bytes, 0);
    w.read_error = 0;
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    cache_free(c);
}

TEST(arguments__wrong)
{
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
