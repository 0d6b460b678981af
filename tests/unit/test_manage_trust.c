/* SPDX-License-Identifier: MIT */
/* The region cache's core above remote memory that returns other bytes than it was given: reads
 * may be wrong, the file never is. */
#include "tests/lib/case.h"
#include "tests/unit/cache_fixture.h"

enum { LIE = 0x99, OWN = 7 };

/* Remote memory holds the first @pieces, the cache nothing of them. Whatever is read from there is
 * LIE from now on; the file has 1s. */
static Cache *lied_to(CacheConfig *cfg, unsigned pieces, int *ret_rd)
{
    Cache *c = make(cfg, 0, ret_rd);
    uint64_t cached = cfg->limit_bytes / cfg->piece_bytes;
    for (uint64_t i = 0; i < pieces; i++)
        (void)do_read(c, *ret_rd, i * cfg->piece_bytes, cfg->piece_bytes);
    assert_int_equal(do_sync(c, *ret_rd), 0);
    for (uint64_t i = 0; i < cached; i++)
        (void)do_read(c, *ret_rd, (pieces + i) * cfg->piece_bytes, cfg->piece_bytes);
    for (uint64_t i = 0; i < pieces; i++)
        assert_int_equal(cache_state(c, *ret_rd, i * cfg->piece_bytes), CACHE_REMOTE);
    memset(w.remote, LIE, sizeof w.remote);
    return c;
}

/* Of the file's first @len bytes, OWN in [from, to), 1 elsewhere. */
static void file_has(uint64_t len, uint64_t from, uint64_t to)
{
    for (uint64_t at = 0; at < len; at++)
        if (w.file[at] != (at >= from && at < to ? OWN : 1))
            fail_msg("byte %llu of the file is %#x", (unsigned long long)at, w.file[at]);
}

TEST(edges__of_a_block_that_is_remote)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = lied_to(&cfg, 1, &rd);
    assert_int_equal(do_write(c, rd, 100, 10, OWN), 10);
    assert_int_equal(do_sync(c, rd), 0);
    file_has(PIECE, 100, 110);
    (void)do_read(c, rd, 0, CACHE_BLOCK);
    assert_int_equal(w.buf[99], 1);
    assert_int_equal(w.buf[100], OWN);
    cache_free(c);
}

/* Both ends of a write, in two pieces. */
TEST(edges__of_a_write_across_pieces)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = lied_to(&cfg, 2, &rd);
    assert_int_equal(do_write(c, rd, 5000, PIECE, OWN), PIECE);
    assert_int_equal(do_close(c, rd), 0);
    file_has(2 * PIECE, 5000, 5000 + PIECE);
    cache_free(c);
}

TEST(edges__of_a_block_read_from_there_before)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = lied_to(&cfg, 1, &rd);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(w.buf[0], LIE);
    assert_int_equal(do_write(c, rd, 100, 10, OWN), 10);
    assert_int_equal(do_sync(c, rd), 0);
    file_has(PIECE, 100, 110);
    (void)do_read(c, rd, 0, CACHE_BLOCK); /* what the program sees is what the file has */
    assert_int_equal(w.buf[0], 1);
    cache_free(c);
}

/* What was written whole needs nothing of the file. */
TEST(edges__of_a_whole_block)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = lied_to(&cfg, 1, &rd);
    (void)do_read(c, rd, 0, PIECE);
    w.did[CACHE_READ_FILE] = 0;
    assert_int_equal(do_write(c, rd, CACHE_BLOCK, CACHE_BLOCK, OWN), CACHE_BLOCK);
    assert_int_equal(do_write(c, rd, CACHE_BLOCK + 5, 10, OWN), 10); /* the program'state own now */
    assert_int_equal(w.did[CACHE_READ_FILE], 0);
    assert_int_equal(do_sync(c, rd), 0);
    file_has(PIECE, CACHE_BLOCK, PIECE);
    cache_free(c);
}

/* The file cannot be read: the write fails, and what is in the cache stays readable. */
TEST(edges__that_cannot_be_read)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = lied_to(&cfg, 1, &rd);
    (void)do_read(c, rd, 0, PIECE);
    w.read_error = EIO;
    assert_int_equal(do_write(c, rd, 100, 10, OWN), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(do_sync(c, rd), 0);
    file_has(PIECE, 0, 0);
    assert_int_equal(do_read(c, rd, CACHE_BLOCK, CACHE_BLOCK), CACHE_BLOCK);
    w.read_error = 0;
    assert_int_equal(do_write(c, rd, 100, 10, OWN), 10);
    assert_int_equal(do_sync(c, rd), 0);
    file_has(PIECE, 100, 110);
    cache_free(c);
}

/* Clean blocks between dirty ones are written with them, where the file has them already. */
TEST(between__only_what_came_from_the_file)
{
    enum { FOUR = 4 * CACHE_BLOCK };
    int rd;
    CacheConfig cfg = config(4);
    cfg.piece_bytes = FOUR;
    Cache *c = lied_to(&cfg, 1, &rd);
    (void)do_read(c, rd, CACHE_BLOCK, CACHE_BLOCK);
    assert_int_equal(w.buf[0], LIE);
    assert_int_equal(do_write(c, rd, 0, CACHE_BLOCK, 1), CACHE_BLOCK);
    assert_int_equal(do_write(c, rd, 2 * CACHE_BLOCK, CACHE_BLOCK, OWN), CACHE_BLOCK);
    w.did[CACHE_WRITE] = 0;
    assert_int_equal(do_sync(c, rd), 0);
    file_has(FOUR, 2 * CACHE_BLOCK, 3 * CACHE_BLOCK);
    assert_int_equal(w.did[CACHE_WRITE], 2);
    uint64_t at = 2 * FOUR; /* which was never remote */
    (void)do_read(c, rd, at, FOUR);
    (void)do_write(c, rd, at, CACHE_BLOCK, 1);
    (void)do_write(c, rd, at + 2 * CACHE_BLOCK, CACHE_BLOCK, 1);
    w.did[CACHE_WRITE] = 0;
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.did[CACHE_WRITE], 1);
    cache_free(c);
}

/* ---- the file's end ------------------------------------------------------------------------- */

enum { END = PIECE + 100, MORE = 100, ADDED = 5 };

/* The file ends in its second piece, and what it has there is cached. */
static Cache *ends_early(unsigned pieces, bool remote, int *ret_rd)
{
    CacheConfig cfg = config(pieces);
    cfg.remote = remote;
    Cache *c = make(&cfg, 0, ret_rd);
    memset(w.file + END, 0, sizeof w.file - END);
    assert_int_equal(do_close(c, *ret_rd), 0);
    *ret_rd = cache_open(c, BYTES, END, &w, 0);
    assert_int_equal(do_read(c, *ret_rd, PIECE, 100), 100);
    return c;
}

/* Somebody else has made the file longer. */
static void file_grew(void)
{
    memset(w.file + END, ADDED, sizeof w.file - END);
}

static void read_has(Cache *c, int rd)
{
    assert_int_equal(do_read(c, rd, PIECE, 100 + MORE), 100 + MORE);
    assert_int_equal(w.buf[99], 1);
    assert_int_equal(w.buf[100], ADDED);
    assert_int_equal(w.buf[100 + MORE - 1], ADDED);
}

TEST(growth__of_a_block_that_is_cached)
{
    int rd;
    Cache *c = ends_early(4, false, &rd);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_LOCAL);
    file_grew();
    read_has(c, rd);
    assert_int_equal(do_write(c, rd, PIECE, 1, 1), 1);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.file[END], ADDED);
    cache_free(c);
}

TEST(growth__of_a_block_that_is_remote)
{
    int rd;
    CacheCall call;
    Cache *c = ends_early(4, true, &rd);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_BOTH);
    cache_advise_start(&call, c, rd, 0, 0, DODO_CADVISE_DONTNEED, w.now_ns);
    assert_int_equal(finish(c, &call), 0);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_REMOTE);
    file_grew();
    read_has(c, rd);
    cache_free(c);
}

/* The end does not move across bytes that the disk does not have: they are written up to it. */
TEST(growth__of_a_block_that_is_dirty)
{
    int rd;
    Cache *c = ends_early(4, false, &rd);
    assert_int_equal(do_write(c, rd, PIECE, 1, 1), 1);
    file_grew();
    assert_int_equal(do_read(c, rd, PIECE, 100 + MORE), 100);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[END], ADDED);
    read_has(c, rd);
    cache_free(c);
}

/* A read that wants to move the end waits for who copies from the block. */
TEST(growth__beside_a_copy)
{
    int rd;
    CacheCall call;
    CacheHit hit;
    Cache *c = ends_early(4, false, &rd);
    struct Lane *lane = cache_lane(c);
    assert_int_equal(cache_hit_begin(&hit, c, lane, rd, PIECE, 100), CACHE_HIT_LOCAL);
    file_grew();
    cache_read_start(&call, c, rd, PIECE, w.buf, 100 + MORE, w.now_ns);
    assert_int_equal(call.need, CACHE_JOB); /* the file's size */
    CacheResult size = carry_out(&call.job);
    cache_call_done(&call, c, &size, w.now_ns);
    assert_int_equal(call.need, CACHE_BLOCKED);
    uint8_t copy[100];
    cache_hit_copy(&hit, c, copy);
    cache_hit_end(&hit, c);
    cache_call_step(&call, c, w.now_ns);
    assert_int_equal(finish(c, &call), 100 + MORE);
    assert_int_equal(w.buf[100], ADDED);
    read_has(c, rd);
    cache_free(c);
}

/* Two reads want to move the end. The first one waits for who copies from the block; the second one
 * moves it, and what it fetches then fails, so that the piece leaves. */
TEST(growth__of_a_piece_that_leaves_meanwhile)
{
    int rd;
    CacheCall first, second;
    CacheHit hit;
    const CacheResult size = {.count = BYTES};
    uint8_t other[100 + MORE];
    Cache *c = ends_early(4, false, &rd);
    assert_int_equal(cache_hit_begin(&hit, c, cache_lane(c), rd, PIECE, 100), CACHE_HIT_LOCAL);
    file_grew();
    cache_read_start(&first, c, rd, PIECE, w.buf, 100 + MORE, w.now_ns);
    cache_call_done(&first, c, &size, w.now_ns);
    assert_int_equal(first.need, CACHE_BLOCKED);
    cache_hit_end(&hit, c);
    cache_read_start(&second, c, rd, PIECE, other, sizeof other, w.now_ns);
    cache_call_done(&second, c, &size, w.now_ns);
    assert_int_equal(second.job.kind, CACHE_READ_FILE);
    w.read_error = EIO;
    assert_int_equal(finish(c, &second), -1);
    w.read_error = 0;
    cache_call_step(&first, c, w.now_ns);
    assert_int_equal(finish(c, &first), 100 + MORE);
    assert_int_equal(w.buf[100], ADDED);
    cache_free(c);
}

/* Of a file that somebody has cut, what came is counted, and not what was asked for. */
TEST(cut__counts_what_came)
{
    int rd;
    CacheCall call;
    Cache *c = make_local(4, DODO_RDONLY, &rd);
    const CacheResult cut = {.count = 100}, size = {.count = PIECE + 100};
    cache_read_start(&call, c, rd, PIECE, w.buf, PIECE, w.now_ns);
    assert_int_equal(call.job.kind, CACHE_READ_FILE);
    cache_call_done(&call, c, &cut, w.now_ns);
    assert_int_equal(call.job.kind, CACHE_SIZE);
    cache_call_done(&call, c, &size, w.now_ns);
    assert_int_equal(finish(c, &call), 100);
    assert_int_equal(stats(c).disk_bytes, 100);
    assert_int_equal(stats(c).local_bytes, 0);
    cache_free(c);
}

/* libdodo reads the file where remote memory has nothing. It is shorter by now: a read ends there,
 * and no zeros are cached for what was not read. */
TEST(cut__of_what_is_read_through_remote_memory)
{
    int rd;
    CacheCall call;
    CacheConfig cfg = config(1);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(do_close(c, rd), 0);
    rd = cache_open(c, BYTES, BYTES, &w, DODO_RDONLY);
    (void)do_read(c, rd, PIECE, PIECE);
    assert_int_equal(do_sync(c, rd), 0); /* a copy goes to remote memory */
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_REMOTE);
    cache_read_start(&call, c, rd, PIECE, w.buf, PIECE, w.now_ns);
    assert_int_equal(call.job.kind, CACHE_CLONE); /* of what makes room */
    CacheResult cloned = carry_out(&call.job);
    cache_call_done(&call, c, &cloned, w.now_ns);
    assert_int_equal(call.job.kind, CACHE_READ_REMOTE);
    CacheResult lost = carry_out(&call.job);
    lost.count = 100;
    cache_call_done(&call, c, &lost, w.now_ns);
    assert_int_equal(call.job.kind, CACHE_SIZE); /* is it longer again? */
    CacheResult size = {.count = PIECE + 100};
    cache_call_done(&call, c, &size, w.now_ns);
    assert_int_equal(finish(c, &call), 100);
    assert_int_equal(do_read(c, rd, PIECE + 100, PIECE), PIECE); /* it is */
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(w.buf[CACHE_BLOCK], 1);
    cache_free(c);
}
