/* SPDX-License-Identifier: MIT */
/* Remote memory has all of a file, from an earlier run. Is the file looked at all the same, and is
 * the cheaper of the two read? */
#include "tests/unit/cache_fixture.h"

static const uint64_t US = 1000;

static Cache *make_all_held(uint64_t file_ns, uint64_t remote_ns, int *ret_rd)
{
    CacheJob job;
    CacheConfig cfg = config(4);
    w.kernel_says = true;
    Cache *c = make(&cfg, DODO_RETAIN, ret_rd);
    w.file_ns = file_ns;
    w.remote_ns = remote_ns;
    w.in_order.end = UINT64_MAX;
    memcpy(w.remote, w.file, sizeof w.file);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.kind, CACHE_OPEN_REMOTE);
    CacheResult result = carry_out(&job);
    result.held = true;
    cache_background_done(c, &job, &result, w.now_ns);
    memset(w.did, 0, sizeof w.did);
    return c;
}

static void read_passes(Cache *c, int rd, unsigned passes, unsigned step)
{
    for (unsigned i = 0; i < passes * PIECES; i++)
        assert_int_equal(do_read(c, rd, i * step % PIECES * PIECE, PIECE), PIECE);
}

/* A read here and there would take longer than one of remote memory: what a drive and its kernel do
 * in order, only reads in a row can show. */
TEST(a_file_that_is_cheaper_in_order__is_found_out)
{
    int rd;
    Cache *c = make_all_held(1350 * US, 840 * US, &rd);
    w.in_order.ns = 690 * US;
    read_passes(c, rd, 1, 1);
    memset(w.did, 0, sizeof w.did);
    read_passes(c, rd, 2, 1);
    assert_true(w.did[CACHE_READ_FILE] >= 2 * PIECES - 12); /* remote memory is looked at, too */
    cache_free(c);
}

TEST(a_file_that_is_read_here_and_there__is_left)
{
    int rd;
    Cache *c = make_all_held(1350 * US, 840 * US, &rd);
    w.in_order.ns = 690 * US;
    read_passes(c, rd, 4, 7);
    assert_in_range(w.did[CACHE_READ_FILE], 1, 8);
    cache_free(c);
}

/* One read of an expensive drive is enough. */
TEST(an_expensive_file__is_looked_at_once)
{
    int rd;
    Cache *c = make_all_held(8000 * US, 200 * US, &rd);
    w.in_order.ns = 690 * US;
    read_passes(c, rd, 4, 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 1);
    cache_free(c);
}

/* And again after a while, for drives change. */
TEST(an_expensive_file__is_looked_at_again)
{
    int rd;
    Cache *c = make_all_held(8000 * US, 200 * US, &rd);
    read_passes(c, rd, 2, 1);
    w.now_ns += 60 * NS_PER_S;
    read_passes(c, rd, 1, 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 2);
    w.file_ns = 50 * US;
    w.now_ns += 60 * NS_PER_S;
    read_passes(c, rd, 2, 1);
    assert_true(w.did[CACHE_READ_FILE] >= PIECES);
    cache_free(c);
}

/* Past a full cache, too: there such a read fills nothing that is filled already. */
TEST(a_look_past_the_cache__reads_the_file)
{
    int rd;
    Cache *c = make_all_held(1350 * US, 840 * US, &rd);
    assert_int_equal(cache_set_policy(c, MANAGE_FIRST_IN), 0);
    w.in_order.ns = 690 * US;
    read_passes(c, rd, 1, 1);
    memset(w.did, 0, sizeof w.did);
    read_passes(c, rd, 2, 1);
    assert_int_equal(w.did[CACHE_READ_FILL], 0);
    assert_true(w.did[CACHE_READ_FILE] >= 2 * (PIECES - 4) - 12);
    cache_free(c);
}

/* What the kernel has in memory is read from there, and says nothing of the drive. */
TEST(a_look__is_not_at_what_the_kernel_has)
{
    int rd;
    Cache *c = make_all_held(8000 * US, 200 * US, &rd);
    w.held_to = 54 * PIECE;
    cache_copy_cost(c, PIECE, 500);
    for (unsigned i = 0; i < 64; i++) /* what remote memory takes is known */
        assert_int_equal(do_read(c, rd, (54 + i % 9) * PIECE, PIECE), PIECE);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 64);
    read_passes(c, rd, 4, 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 4 * 54 + 1);
    cache_free(c);
}

/* The first answers of a host may take long. They are no measure of it. */
TEST(a_look__waits_until_remote_memory_is_known)
{
    int rd;
    Cache *c = make_all_held(690 * US, 400 * US, &rd);
    for (unsigned i = 0; i < 4 * PIECES; i++) {
        w.remote_ns = i < 16 ? 4000 * US : 400 * US;
        assert_int_equal(do_read(c, rd, i % PIECES * PIECE, PIECE), PIECE);
        assert_true(i >= PIECES || w.did[CACHE_READ_FILE] == 0);
    }
    assert_in_range(w.did[CACHE_READ_FILE], 1, 8);
    cache_free(c);
}

/* While a program opens regions the drive works ahead unseen, and would seem cheaper than it is. */
TEST(a_look__waits_until_all_is_open)
{
    int rd;
    Cache *c = make_all_held(690 * US, 840 * US, &rd);
    for (unsigned i = 0; i < 4 * PIECES; i++) {
        if (i % 32 == 0)
            assert_true(cache_open(c, PIECE, PIECE, &w, 0) > 0);
        assert_int_equal(do_read(c, rd, i % PIECES * PIECE, PIECE), PIECE);
    }
    assert_int_equal(w.did[CACHE_READ_FILE], 0);
    read_passes(c, rd, 2, 1);
    assert_true(w.did[CACHE_READ_FILE] > 0);
    cache_free(c);
}
