/* SPDX-License-Identifier: MIT */
/* Advice: what the program says of its reads, and what becomes of it. */
#include "tests/unit/cache_fixture.h"

static int advise(Cache *c, int rd, uint64_t offset, uint64_t len, int advice)
{
    CacheCall call;
    cache_advise_start(&call, c, rd, (off_t)offset, (size_t)len, advice, w.now_ns);
    if (call.need == CACHE_JOB) {
        assert_int_equal(call.job.kind, CACHE_ADVISE);
        assert_int_equal(call.job.advice, advice);
        assert_int_equal(call.job.offset, offset);
        assert_int_equal(call.job.len, len ? len : BYTES - offset);
    }
    return (int)finish(c, &call);
}

TEST(noreuse__reads_past_the_cache)
{
    int rd;
    Cache *c = make_local(8, 0, &rd);
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(advise(c, rd, 0, 0, DODO_CADVISE_NOREUSE), 0);
    read_in_turn(c, rd, 6, 6);
    assert_int_equal(stats(c).cached_bytes, PIECE);
    assert_int_equal(stats(c).local_hits, 1); /* the first piece was there */
    assert_int_equal(stats(c).bypasses, 5);
    assert_int_equal(advise(c, rd, 0, 0, DODO_CADVISE_NORMAL), 0);
    read_in_turn(c, rd, 6, 6);
    assert_int_equal(stats(c).cached_bytes, 6 * PIECE);
    cache_free(c);
}

/* Only whole pieces of the range, and nothing that is dirty. */
TEST(dontneed__drops_what_is_clean)
{
    int rd;
    Cache *c = make_local(16, 0, &rd);
    read_in_turn(c, rd, 8, 8);
    assert_int_equal(do_write(c, rd, 3 * PIECE, PIECE, 5), PIECE);
    assert_int_equal(advise(c, rd, PIECE / 2, 5 * PIECE, DODO_CADVISE_DONTNEED), 0);
    for (unsigned i = 0; i < 8; i++) {
        bool stays = i == 0 || i == 3 || i > 4;
        assert_int_equal(piece_state(c, i), stays ? CACHE_LOCAL : CACHE_DISK);
    }
    (void)do_read(c, rd, 3 * PIECE, PIECE);
    assert_int_equal(w.buf[0], 5);
    cache_free(c);
}

TEST(dontneed__up_to_the_end)
{
    int rd;
    Cache *c = make_local(16, 0, &rd);
    int shorter = cache_open(c, 2 * PIECE + 100, 2 * PIECE + 100, &w, 0);
    assert_int_equal(do_read(c, shorter, 0, 3 * PIECE), 2 * PIECE + 100);
    assert_int_equal(cache_state(c, shorter, 2 * PIECE), CACHE_LOCAL);
    CacheCall call;
    cache_advise_start(&call, c, shorter, PIECE, 0, DODO_CADVISE_DONTNEED, w.now_ns);
    assert_int_equal(call.job.len, PIECE + 100);
    assert_int_equal(finish(c, &call), 0);
    assert_int_equal(cache_state(c, shorter, 0), CACHE_LOCAL);
    assert_int_equal(cache_state(c, shorter, PIECE), CACHE_DISK);
    assert_int_equal(cache_state(c, shorter, 2 * PIECE), CACHE_DISK);
    cache_free(c);
}

static unsigned locked;

static void count_lock(void *ctx)
{
    locked++;
}

static void no_unlock(void *ctx)
{
}

/* A large range is passed over in parts: other calls need not wait for all of it. */
TEST(dontneed__lets_others_in_between)
{
    CacheConfig cfg = config(PIECES);
    cfg.piece_bytes = CACHE_BLOCK;
    cfg.remote = false;
    Cache *c = cache_new(
        &cfg, &(CacheHooks){.lock = count_lock, .unlock = no_unlock, .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, 0);
    for (unsigned i = 0; i < 2 * PIECES; i++)
        (void)do_read(c, rd, (uint64_t)i * CACHE_BLOCK, CACHE_BLOCK);
    assert_int_equal(stats(c).cached_bytes, BYTES);
    CacheCall call;
    locked = 0;
    cache_advise_start(&call, c, rd, 0, 0, DODO_CADVISE_DONTNEED, w.now_ns);
    assert_int_equal(locked, 1 + 2 * PIECES / 64);
    assert_int_equal(finish(c, &call), 0);
    assert_int_equal(stats(c).cached_bytes, 0);
    cache_free(c);
}

/* Reads behind each other, of what remote memory holds: how much is fetched ahead. */
static uint64_t ahead_with(int advice, unsigned reads, int then)
{
    int rd;
    CacheConfig cfg = config(32);
    cfg.readahead_bytes = 8 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    read_in_turn(c, rd, PIECES, PIECES);
    background(c);
    assert_int_equal(do_sync(c, rd), 0);
    read_in_turn(c, rd, PIECES, PIECES); /* remote memory has all of it */
    background(c);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(advise(c, rd, 0, 0, DODO_CADVISE_DONTNEED), 0);
    assert_int_equal(advise(c, rd, 0, 0, advice), 0);
    uint64_t before = stats(c).readaheads;
    for (unsigned i = 0; i < reads; i++) {
        background(c);
        (void)do_read(c, rd, (uint64_t)(10 + i) * PIECE, PIECE);
    }
    if (then >= 0) { /* from now on */
        before = stats(c).readaheads;
        assert_int_equal(advise(c, rd, 0, 0, then), 0);
    }
    background(c);
    uint64_t ahead = stats(c).readaheads - before;
    cache_free(c);
    return ahead;
}

TEST(sequential__is_read_ahead_at_once)
{
    assert_int_equal(ahead_with(DODO_CADVISE_NORMAL, 1, -1), 0);
    assert_true(ahead_with(DODO_CADVISE_SEQUENTIAL, 1, -1) > 0);
}

TEST(random__is_never_read_ahead)
{
    assert_true(ahead_with(DODO_CADVISE_NORMAL, 12, -1) > 0);
    assert_int_equal(ahead_with(DODO_CADVISE_RANDOM, 12, -1), 0);
}

/* What was being read ahead is not wanted any more; other advice lets it go on. */
TEST(random__ends_what_is_read_ahead)
{
    assert_true(ahead_with(DODO_CADVISE_SEQUENTIAL, 1, DODO_CADVISE_SEQUENTIAL) > 0);
    assert_int_equal(ahead_with(DODO_CADVISE_SEQUENTIAL, 1, DODO_CADVISE_RANDOM), 0);
}

/* Remote memory that is open hears of what will be read, and may not be closed meanwhile. */
TEST(willneed__of_remote_memory)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    CacheCall call;
    cache_advise_start(&call, c, rd, 0, PIECE, DODO_CADVISE_WILLNEED, w.now_ns);
    assert_false(call.job.both);
    assert_int_equal(finish(c, &call), 0);
    read_in_turn(c, rd, 8, 8);
    background(c);
    cache_advise_start(&call, c, rd, 0, PIECE, DODO_CADVISE_WILLNEED, w.now_ns);
    assert_true(call.job.both);
    assert_int_equal(call.job.remote, 1);
    w.lost = true; /* another call finds that out */
    (void)do_read(c, rd, 40 * PIECE, 4 * PIECE);
    for (unsigned i = 0; i < 8; i++)
        (void)do_read(c, rd, (uint64_t)i * PIECE, PIECE);
    unsigned closed = w.did[CACHE_CLOSE_REMOTE];
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], closed);
    assert_int_equal(finish(c, &call), 0);
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], closed + 1);
    cache_free(c);
}

TEST(wrong_arguments__are_refused)
{
    int rd;
    Cache *c = make_local(8, 0, &rd);
    static const struct {
        int rd;
        off_t offset;
        int advice;
    } wrong[] = {
        {1, 0, DODO_CADVISE_NORMAL},
        {-1, 0, DODO_CADVISE_NORMAL},
        {0, -1, DODO_CADVISE_NORMAL},
        {0, BYTES + 1, DODO_CADVISE_NORMAL},
        {0, 0, -1},
        {0, 0, DODO_CADVISE_DONTNEED + 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CacheCall call;
        cache_advise_start(&call, c, wrong[i].rd, wrong[i].offset, 1, wrong[i].advice, w.now_ns);
        assert_int_equal(call.need, CACHE_OVER);
        assert_int_equal(call.result, -1);
        assert_int_equal(call.error, EINVAL);
    }
    assert_int_equal(advise(c, rd, BYTES, 0, DODO_CADVISE_WILLNEED), 0); /* of nothing */
    assert_int_equal(do_close(c, rd), 0);                                /* no call is left in it */
    cache_free(c);
}
