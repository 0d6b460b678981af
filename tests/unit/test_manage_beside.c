/* SPDX-License-Identifier: MIT */
/* Jobs of the background that may be carried out beside each other. */
#include "tests/unit/cache_fixture.h"

enum { CACHED = 16, LOW = 8 /* pieces */, JOBS = 32 };

static CacheJob jobs[JOBS];

/* The first job, and what may go beside it. How many in all. */
static unsigned take_all(Cache *c)
{
    unsigned n = 1;
    if (!cache_background_take(c, &jobs[0], w.now_ns))
        return 0;
    while (cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        assert_true(++n < JOBS);
    return n;
}

static void end_all(Cache *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CacheResult result = carry_out(&jobs[i]);
        result.beside = count > 1;
        cache_background_done(c, &jobs[i], &result, w.now_ns);
    }
    assert_true(cache_check(c));
}

static void read_one(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    for (unsigned i = 0; i < PIECE; i++)
        assert_int_equal(w.buf[i], 1);
}

static CacheConfig roomy(void)
{
    CacheConfig cfg = config(CACHED);
    cfg.low_water_bytes = LOW * PIECE;
    return cfg;
}

/* It is known what a read of remote memory takes. No two pieces are neighbours. */
static Cache *make_proven(int *ret_rd)
{
    CacheConfig cfg = roomy();
    Cache *c = make(&cfg, 0, ret_rd);
    for (unsigned i = 0; i < 20; i++) {
        read_one(c, *ret_rd, 2 * i % 30);
        background(c);
    }
    for (unsigned i = 0; i < 15; i++) {
        read_one(c, *ret_rd, 2 * i);
        background(c);
    }
    assert_true(w.did[CACHE_READ_REMOTE] > 0);
    return c;
}

/* What is not in remote memory yet. */
static void read_new(Cache *c, int rd, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        read_one(c, rd, 31 + 2 * i);
}

TEST(copies__go_beside_each_other_up_to_the_low_water)
{
    int rd;
    Cache *c = make_proven(&rd);
    read_new(c, rd, 16); /* all that is local is new */
    uint64_t evicted = stats(c).evictions;
    unsigned n = take_all(c);
    assert_int_equal(n, LOW);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(jobs[i].kind, CACHE_CLONE);
        assert_int_equal(jobs[i].len, PIECE);
        assert_int_equal(jobs[i].probe, 0);
    }
    end_all(c, n);
    assert_int_equal(stats(c).evictions, evicted + LOW);
    assert_int_equal(stats(c).cached_bytes, (CACHED - LOW) * PIECE);
    assert_int_equal(take_all(c), 0);
    for (unsigned i = 0; i < LOW; i++)
        assert_int_equal(piece_state(c, 31 + 2 * i), CACHE_REMOTE);
    cache_free(c);
}

/* The first of them is read back, to see what that takes. */
TEST(copies__are_alone_where_the_cost_is_unknown)
{
    int rd;
    CacheConfig cfg = roomy();
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < CACHED; i++)
        read_one(c, rd, 2 * i);
    assert_int_equal(take_all(c), 1);
    assert_int_equal(jobs[0].kind, CACHE_OPEN_REMOTE);
    end_all(c, 1);
    assert_int_equal(take_all(c), 1);
    assert_int_equal(jobs[0].kind, CACHE_CLONE);
    assert_true(jobs[0].probe > 0);
    end_all(c, 1);
    assert_int_equal(take_all(c), LOW - 1);
    end_all(c, LOW - 1);
    cache_free(c);
}

/* A victim that is to be written is a job by itself. */
TEST(copies__are_not_beside_writes)
{
    int rd;
    Cache *c = make_proven(&rd);
    read_new(c, rd, 13);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(do_write(c, rd, (uint64_t)(2 * i) * PIECE, PIECE, 1), PIECE);
    for (unsigned i = 0; i < 11; i++)
        read_one(c, rd, 31 + 2 * i);
    /* the two oldest, then what was written */
    unsigned n = take_all(c);
    assert_int_equal(n, 2);
    assert_int_equal(jobs[1].kind, CACHE_CLONE);
    assert_int_equal(cache_background_take(c, &jobs[2], w.now_ns), true);
    assert_int_equal(jobs[2].kind, CACHE_WRITE);
    end_all(c, 3);
    cache_free(c);
}
