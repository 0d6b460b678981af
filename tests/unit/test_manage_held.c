/* SPDX-License-Identifier: MIT */
/* What the kernel has in memory of a file: it is read from there, and says nothing of the drive. */
#include "tests/unit/cache_fixture.h"

static const uint64_t MS = 1000000;

/* A drive of 8 ms, a network of 0.2; the kernel says what it has. */
static Cache *make_held(unsigned pieces, int *ret_rd)
{
    CacheConfig cfg = config(pieces);
    cfg.extent_bytes = 0;
    cfg.bypass_factor = 16;
    Cache *c = cache_new(&cfg, &(CacheHooks){.file_held = file_held, .file_release = released});
    assert_non_null(c);
    cache_copy_cost(c, PIECE, 500);
    *ret_rd = cache_open(c, BYTES, BYTES, &w, 0);
    for (unsigned i = 0; i < BYTES; i++)
        w.file[i] = (uint8_t)(1 + i / CACHE_BLOCK);
    w.file_ns = 8 * MS;
    w.remote_ns = MS / 5;
    return c;
}

static void assert_reads(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    assert_memory_equal(w.buf, w.file + (uint64_t)piece * PIECE, PIECE);
    background(c);
}

/* Eight pieces that the kernel does not have, over and over: remote memory gets them. */
static void fill_remote(Cache *c, int rd)
{
    for (unsigned i = 0; i < 64; i++)
        assert_reads(c, rd, 40 + i % 8);
    for (unsigned i = 40; i < 48; i++)
        assert_true(piece_state(c, i) != CACHE_DISK);
}

TEST(held__is_read_from_the_kernel_and_not_kept)
{
    int rd;
    Cache *c = make_held(4, &rd);
    fill_remote(c, rd);
    w.held_to = 20 * PIECE;
    uint64_t cached = stats(c).cached_bytes, evicted = stats(c).evictions;
    for (unsigned i = 0; i < 40; i++)
        assert_reads(c, rd, i % 20);
    assert_int_equal(stats(c).cached_bytes, cached);
    assert_int_equal(stats(c).evictions, evicted);
    assert_int_equal(piece_state(c, 5), CACHE_DISK);
    cache_free(c);
}

/* Remote memory has it, too, and is slower. */
TEST(held__is_not_read_from_remote_memory)
{
    int rd;
    Cache *c = make_held(2, &rd);
    fill_remote(c, rd);
    uint64_t remote = stats(c).remote_hits, files = w.did[CACHE_READ_FILE];
    w.held_to = BYTES;
    for (unsigned i = 0; i < 6; i++)
        assert_reads(c, rd, 40 + i);
    assert_int_equal(stats(c).remote_hits, remote);
    assert_int_equal(w.did[CACHE_READ_FILE], files + 6);
    cache_free(c);
}

/* Of a file nine tenths of which are in the kernel's memory, the rest comes from remote memory:
 * that most reads are fast says nothing of those that are not. */
TEST(held__says_nothing_of_the_drive)
{
    int rd;
    Cache *c = make_held(2, &rd);
    fill_remote(c, rd);
    w.held_to = 40 * PIECE;
    for (unsigned i = 0; i < 400; i++)
        assert_reads(c, rd, i % 40);
    uint64_t remote = stats(c).remote_hits;
    for (unsigned i = 0; i < 80; i++)
        assert_reads(c, rd, i % 10 ? i % 40 : 40 + i / 10);
    assert_true(stats(c).remote_hits >= remote + 6); /* two are cached, perhaps */
    cache_free(c);
}

/* The kernel has what is read again and again, and remote memory has all. */
static Cache *make_read_often(int *ret_rd)
{
    Cache *c = make_held(2, ret_rd);
    fill_remote(c, *ret_rd);
    w.held_to = 40 * PIECE;
    for (unsigned i = 0; i < 2000; i++)
        assert_reads(c, *ret_rd, i % 40);
    return c;
}

/* A read that takes no lock, of a file whose reads cost hardly anything on average: where its
 * region has remote memory, the kernel is asked first. */
TEST(held__is_asked_without_the_lock)
{
    int rd;
    Cache *c = make_read_often(&rd);
    struct Lane *lane = cache_lane(c);
    CacheHit hit;
    assert_int_equal(cache_hit_begin(&hit, c, lane, rd, 3 * PIECE, PIECE), CACHE_HIT_FILE);
    assert_true(hit.ask);
    cache_hit_file_end(&hit, c, 1500, w.now_ns);
    cache_free(c);
    c = make_held(2, &rd); /* without remote memory there is no other place */
    lane = cache_lane(c);
    w.no_memory = true;
    w.file_ns = 1500;
    for (unsigned i = 0; i < 200; i++)
        assert_reads(c, rd, i % 40);
    assert_int_equal(cache_hit_begin(&hit, c, lane, rd, 3 * PIECE, PIECE), CACHE_HIT_FILE);
    assert_false(hit.ask);
    cache_hit_file_end(&hit, c, 1500, w.now_ns);
    cache_free(c);
}

/* A file system that has the pages, and asks its server all the same. */
TEST(held__is_not_believed_where_it_is_slow)
{
    int rd;
    Cache *c = make_held(4, &rd);
    w.held_to = BYTES;
    w.held_ns = 8 * MS;
    for (unsigned i = 0; i < 64; i++)
        assert_reads(c, rd, i % 8);
    uint64_t remote = stats(c).remote_hits;
    for (unsigned i = 0; i < 8; i++)
        assert_reads(c, rd, i % 8);
    assert_true(stats(c).remote_hits >= remote + 4);
    cache_free(c);
}

/* One read in four that waits for a processor is no reason. */
TEST(held__is_believed_where_a_few_are_slow)
{
    int rd;
    Cache *c = make_held(2, &rd);
    fill_remote(c, rd);
    w.held_to = BYTES;
    uint64_t remote = stats(c).remote_hits;
    for (unsigned i = 0; i < 400; i++) {
        w.held_ns = i % 4 == 3 ? MS : 1500;
        assert_reads(c, rd, 40 + i % 8);
    }
    assert_true(stats(c).remote_hits <= remote + 8);
    cache_free(c);
}

/* What is dirty here is newer than what the kernel has. */
TEST(held__is_older_than_what_is_dirty)
{
    int rd;
    Cache *c = make_held(4, &rd);
    fill_remote(c, rd);
    w.held_to = BYTES;
    assert_int_equal(do_write(c, rd, 3 * PIECE + CACHE_BLOCK, CACHE_BLOCK, 99), CACHE_BLOCK);
    assert_int_equal(do_read(c, rd, 3 * PIECE, 2 * PIECE), 2 * PIECE);
    assert_int_equal(w.buf[0], w.file[3 * PIECE]);
    assert_int_equal(w.buf[CACHE_BLOCK], 99);
    assert_int_equal(w.buf[PIECE], w.file[4 * PIECE]);
    cache_free(c);
}

/* Where the drive is hardly slower, asking would cost more than it saves. */
TEST(held__is_not_asked_of_a_fast_file)
{
    int rd;
    Cache *c = make_held(4, &rd);
    w.no_memory = true;
    w.file_ns = 30000;
    for (unsigned i = 0; i < 100; i++)
        assert_reads(c, rd, i % 40);
    assert_int_equal(w.asked, 0);
    cache_free(c);
}

/* Reads that take no lock, where nobody asked: by their time the kernel had it. */
TEST(held__by_its_time_where_nobody_asked)
{
    int rd;
    Cache *c = make_read_often(&rd);
    struct Lane *lane = cache_lane(c);
    CacheHit hit;
    for (unsigned i = 0; i < 5000; i++)
        if (cache_hit_begin(&hit, c, lane, rd, (off_t)(i % 40) * PIECE, PIECE) == CACHE_HIT_FILE)
            cache_hit_file_end(&hit, c, 1500, w.now_ns);
    uint64_t remote = stats(c).remote_hits;
    for (unsigned i = 40; i < 48; i++)
        assert_reads(c, rd, i);
    assert_true(stats(c).remote_hits >= remote + 6);
    cache_free(c);
}
