/* SPDX-License-Identifier: MIT */
/* The region cache's core: what a retained region has in local memory is copied for the next run,
 * within a share of what reads took, beside the program and at its end. */
#include "tests/lib/case.h"
#include "tests/unit/cache_fixture.h"

enum { KEPT = DODO_RETAIN | DODO_RDONLY };

/* A cache that has read @pieces of a file that costs 1 ms a piece, and remote memory that is open.
 * A copy takes 100 us of the time, and 10 us of a processor. */
static Cache *with_reads(CacheConfig *cfg, unsigned flags, unsigned pieces, int *ret_rd)
{
    *cfg = config(PIECES);
    Cache *c = make(cfg, flags, ret_rd);
    w.file_ns = 1000000;
    w.remote_ns = w.clone_ns = 100000;
    w.clone_cpu_ns = 10000;
    for (unsigned i = 0; i < pieces; i++)
        assert_int_equal(do_read(c, *ret_rd, i * 2 * PIECE, PIECE), PIECE);
    if (flags & DODO_RETAIN) { /* nothing else is done in the background */
        CacheJob job;
        assert_true(cache_background_take(c, &job, w.now_ns));
        assert_int_equal(job.kind, CACHE_OPEN_REMOTE);
        CacheResult result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
    }
    assert_int_equal(w.did[CACHE_CLONE], 0);
    return c;
}

/* ---- beside the program ---------------------------------------------------------------------- */

/* As a thread of the shell's does: jobs for several pieces beside each other. */
static void work(Cache *c)
{
    CacheJob jobs[CACHE_BESIDE];
    while (cache_background_take(c, &jobs[0], w.now_ns)) {
        unsigned n = 1;
        while (n < CACHE_BESIDE && cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
            n++;
        for (unsigned i = 0; i < n; i++) {
            CacheResult result = carry_out(&jobs[i]);
            cache_background_done(c, &jobs[i], &result, w.now_ns);
        }
    }
    assert_true(cache_check(c));
}

/* Which is read as number @i: none is beside another that is here, so each is copied by itself. */
static unsigned piece_of_read(unsigned i)
{
    return i < PIECES / 2 ? 2 * i : 2 * (i - PIECES / 2) + 1;
}

static void read_pieces(Cache *c, int rd, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        assert_int_equal(do_read(c, rd, piece_of_read(i) * PIECE, PIECE), PIECE);
}

/* One that shows what a copy takes, and then by eight. The others go at the end. */
TEST(beside__copies_what_need_not_leave)
{
    int rd;
    CacheConfig cfg;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    work(c);
    assert_int_equal(w.did[CACHE_CLONE], 1 + 3 * CACHE_BESIDE);
    assert_memory_equal(w.remote, w.file, PIECE);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.did[CACHE_CLONE], 30);
    cache_free(c);
}

/* The neighbours that go with one are being copied: those behind them need not wait for that. */
TEST(beside__copies_by_eight_what_was_read_by_several_pieces)
{
    int rd;
    CacheJob jobs[CACHE_BESIDE];
    unsigned n = 0;
    CacheConfig cfg = config(PIECES);
    Cache *c = make(&cfg, KEPT, &rd);
    w.file_ns = NS_PER_MS;
    w.remote_ns = w.clone_ns = w.clone_cpu_ns = 10000;
    work(c);
    for (unsigned i = 0; i < 2 * CACHE_BESIDE; i++)
        assert_int_equal(do_read(c, rd, i * 3 * PIECE, 2 * PIECE), 2 * PIECE);
    assert_true(cache_background_take(c, &jobs[0], w.now_ns));
    CacheResult result = carry_out(&jobs[0]); /* which shows what a copy takes */
    cache_background_done(c, &jobs[0], &result, w.now_ns);
    assert_true(cache_background_take(c, &jobs[n++], w.now_ns));
    while (n < CACHE_BESIDE && cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        n++;
    assert_int_equal(n, CACHE_BESIDE);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(jobs[i].len, 2 * PIECE);
        result = carry_out(&jobs[i]);
        cache_background_done(c, &jobs[i], &result, w.now_ns);
    }
    assert_true(cache_check(c));
    cache_free(c);
}

/* A copy takes 200 us of a processor, so that eight are too many for the share of 900 us. Beside
 * another job there is enough for three more. */
TEST(beside__takes_no_more_than_its_share)
{
    int rd;
    unsigned more = 0;
    CacheConfig cfg;
    CacheJob first, job;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    w.clone_cpu_ns = 200000;
    assert_true(cache_background_take(c, &first, w.now_ns));
    CacheResult result = carry_out(&first);
    cache_background_done(c, &first, &result, w.now_ns);
    assert_false(cache_background_take(c, &job, w.now_ns));
    first.kind = CACHE_READ_REMOTE; /* which no copy holds up */
    assert_false(cache_background_more(c, &first, &job, w.now_ns));
    first.kind = CACHE_CLONE;
    for (; cache_background_more(c, &first, &job, w.now_ns); more++) {
        result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
    }
    assert_int_equal(more, 3);
    cache_free(c);
}

/* What leaves has to be copied in any case. So what is still there at the end is copied within the
 * share of all reads, 1.9 ms of 64, though all copies together took far more. */
TEST(beside__gives_back_what_took_a_piece_that_leaves)
{
    int rd;
    CacheConfig cfg = config(16);
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, KEPT, &rd);
    w.remote_ns = w.clone_ns = w.clone_cpu_ns = 100000;
    work(c);
    for (unsigned i = 0; i < PIECES; i++) {
        read_pieces(c, rd, i, i + 1);
        work(c);
    }
    unsigned copied = w.did[CACHE_CLONE];
    assert_true(copied * w.clone_cpu_ns > 2 * 3 * PIECES * w.file_ns / 100);
    w.lost = true; /* so that nothing is copied at the end */
    work(c);
    for (unsigned i = PIECES - 14; i < PIECES - CACHE_BESIDE; i++)
        assert_int_equal(piece_state(c, piece_of_read(i)), CACHE_BOTH);
    cache_free(c);
}

TEST(beside__copies_nothing_that_is_not_retained)
{
    static const unsigned flags[] = {DODO_RDONLY, DODO_RETAIN};
    for (unsigned i = 0; i < 2; i++) {
        int rd;
        CacheConfig cfg;
        Cache *c = with_reads(&cfg, flags[i], 30, &rd);
        work(c);
        assert_int_equal(w.did[CACHE_CLONE], 0);
        cache_free(c);
    }
}

/* What was read before remote memory was open is copied when it is. */
TEST(beside__waits_for_remote_memory)
{
    int rd;
    CacheJob opening, job;
    CacheConfig cfg = config(PIECES);
    Cache *c = make(&cfg, KEPT, &rd);
    w.clone_ns = w.clone_cpu_ns = 20000;
    assert_true(cache_background_take(c, &opening, w.now_ns));
    read_pieces(c, rd, 0, 30);
    assert_false(cache_background_take(c, &job, w.now_ns));
    CacheResult result = carry_out(&opening);
    cache_background_done(c, &opening, &result, w.now_ns);
    work(c);
    assert_in_range(w.did[CACHE_CLONE], 30 - CACHE_BESIDE + 1, 30);
    cache_free(c);
}

/* A region that has no remote memory does not keep another one's pieces waiting. */
TEST(beside__leaves_out_what_has_no_remote_memory)
{
    int rd;
    CacheConfig cfg = config(PIECES);
    Cache *c = make(&cfg, KEPT, &rd);
    w.clone_ns = w.clone_cpu_ns = 20000;
    w.no_memory = true;
    work(c);
    read_pieces(c, rd, 0, 30);
    w.no_memory = false;
    w.now_ns += 6 * NS_PER_S; /* no refraction */
    int other = cache_open(c, BYTES, BYTES, &w, KEPT);
    work(c);
    read_pieces(c, other, 0, 30);
    work(c);
    assert_in_range(w.did[CACHE_CLONE], 30 - CACHE_BESIDE + 1, 30);
    cache_free(c);
}

static bool count_wake(void *ctx)
{
    ++*(unsigned *)ctx;
    return true;
}

/* Eight at once, as nobody waits: it is woken once for so many. */
TEST(beside__wakes_the_background_for_several)
{
    int rd;
    unsigned wakes = 0;
    CacheConfig cfg = config(PIECES);
    Cache *c = cache_new(
        &cfg,
        &(CacheHooks){.wake_background = count_wake, .file_release = released, .ctx = &wakes});
    rd = cache_open(c, BYTES, BYTES, &w, KEPT);
    w.clone_ns = w.clone_cpu_ns = 20000;
    work(c);
    read_pieces(c, rd, 0, CACHE_BESIDE);
    work(c); /* one, which shows what it takes; so there are seven */
    read_pieces(c, rd, CACHE_BESIDE, CACHE_BESIDE + 1);
    work(c);
    assert_int_equal(w.did[CACHE_CLONE], 1 + CACHE_BESIDE);
    wakes = 0;
    read_pieces(c, rd, 10, 10 + CACHE_BESIDE - 1);
    assert_int_equal(wakes, 0);
    read_pieces(c, rd, 20, 21);
    assert_int_equal(wakes, 1);
    work(c);
    assert_int_equal(w.did[CACHE_CLONE], 1 + 2 * CACHE_BESIDE);
    cache_free(c);
}

/* ---- at the end ------------------------------------------------------------------------------ */

/* 3 % of 30 ms are 900 us: the tenth copy would be one too many. */
TEST(close__copies_for_the_next_run_within_its_share)
{
    int rd;
    CacheConfig cfg;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.did[CACHE_CLONE], 9);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    assert_memory_equal(w.remote, w.file, PIECE);
    cache_free(c);
}

/* The same beforehand, several beside each other. */
TEST(keep__copies_go_beside_each_other_within_its_share)
{
    int rd;
    CacheConfig cfg;
    CacheJob jobs[PIECES];
    uint64_t at = 0;
    unsigned most = 0;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    for (unsigned n = 1; n > 0; most = n > most ? n : most) {
        for (n = 0; n < PIECES && cache_keep_take(c, rd, &at, &jobs[n], w.now_ns);)
            n++;
        assert_true(n <= 1 || w.did[CACHE_CLONE] > 1); /* it is known what one takes */
        for (unsigned i = 0; i < n; i++) {
            CacheResult result = carry_out(&jobs[i]);
            assert_int_equal(jobs[i].kind, CACHE_CLONE);
            cache_background_done(c, &jobs[i], &result, w.now_ns);
        }
    }
    assert_true(most > 1);
    assert_in_range(w.did[CACHE_CLONE], 4, 9);
    assert_int_equal(do_close(c, rd), 0); /* which goes on */
    assert_int_equal(w.did[CACHE_CLONE], 9);
    cache_free(c);
}

/* A host that takes nothing of a copy is not offered it again and again. */
TEST(keep__offers_each_piece_once)
{
    int rd;
    CacheConfig cfg;
    CacheJob job;
    uint64_t at = 0;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    for (unsigned i = 0; cache_keep_take(c, rd, &at, &job, w.now_ns); i++) {
        assert_true(i < 30);
        const CacheResult none = {.remote = -1, .ns = 1};
        cache_background_done(c, &job, &none, w.now_ns);
    }
    assert_true(cache_check(c));
    cache_free(c);
}

TEST(keep__copies_nothing_that_is_not_retained)
{
    static const unsigned flags[] = {DODO_RDONLY, DODO_RETAIN};
    for (unsigned i = 0; i < 2; i++) {
        int rd;
        CacheConfig cfg;
        CacheJob job;
        uint64_t at = 0;
        Cache *c = with_reads(&cfg, flags[i], 30, &rd);
        assert_false(cache_keep_take(c, rd, &at, &job, w.now_ns));
        assert_false(cache_keep_take(c, rd + 1, &at, &job, w.now_ns)); /* there is none */
        cache_free(c);
    }
}

TEST(retain__copies_for_the_next_run_too)
{
    int rd;
    CacheConfig cfg;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    CacheCall call;
    cache_retain_start(&call, c, rd, NS_PER_MS, w.now_ns);
    assert_int_equal(finish(c, &call), 0);
    assert_int_equal(w.did[CACHE_CLONE], 9);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    cache_free(c);
}

/* Nobody finds it again: it is not retained, or a program may have written to the file. */
TEST(close__copies_nothing_that_is_not_retained)
{
    static const unsigned flags[] = {DODO_RDONLY, DODO_RETAIN};
    for (unsigned i = 0; i < 2; i++) {
        int rd;
        CacheConfig cfg;
        Cache *c = with_reads(&cfg, flags[i], 30, &rd);
        assert_int_equal(do_close(c, rd), 0);
        assert_int_equal(w.did[CACHE_CLONE], 0);
        cache_free(c);
    }
}

/* A host that is lost ends it: the close does not. */
TEST(close__copies_until_the_host_is_lost)
{
    int rd;
    CacheConfig cfg;
    Cache *c = with_reads(&cfg, KEPT, 30, &rd);
    w.lost = true;
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.did[CACHE_CLONE], 1);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    cache_free(c);
}
