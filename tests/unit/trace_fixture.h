/* SPDX-License-Identifier: MIT */
/* A cache that goes along the record of an earlier run, for tests. A test file includes this once.
 */
#ifndef DODO_TESTS_TRACE_FIXTURE_H
#define DODO_TESTS_TRACE_FIXTURE_H

#include "libmanage/trace.h"
#include "tests/unit/cache_fixture.h"

enum { CACHED = 16, AHEAD = 8, RUN = 56 /* pieces */ };

FIXTURE Cache *make_retained(const CacheConfig *cfg, int *ret_rd)
{
    return make(cfg, DODO_RETAIN | DODO_RDONLY, ret_rd);
}

/* Reads of the file are slow, and reading ahead is on. */
FIXTURE CacheConfig ahead_config(void)
{
    CacheConfig cfg = config(CACHED);
    cfg.readahead_bytes = AHEAD * PIECE;
    cfg.remote = false;
    return cfg;
}

/* Pieces in the order in which a run needs them: different ones, none behind the one before it, and
 * no two of the same distance in a row, which would be a stream. */
FIXTURE unsigned piece_at(unsigned i)
{
    unsigned at = 1;
    while (i-- > 0)
        at = at * 26 % 61;
    return at;
}

FIXTURE CacheRange range_of(unsigned piece)
{
    return (CacheRange){.block = piece * (PIECE / CACHE_BLOCK), .blocks = PIECE / CACHE_BLOCK};
}

static CacheRange earlier[RUN];

FIXTURE void earlier_run(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        earlier[i] = range_of(piece_at(i));
    w.earlier = earlier;
    w.earlier_count = count;
}

/* ... of which the cache knows. */
FIXTURE Cache *make_followed(unsigned count, int *ret_rd)
{
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, ret_rd);
    earlier_run(count);
    background(c);
    return c;
}

FIXTURE void read_piece(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    for (unsigned i = 0; i < PIECE; i++)
        assert_int_equal(w.buf[i], 1);
}

FIXTURE bool is_local(Cache *c, unsigned piece)
{
    return piece_state(c, piece) == CACHE_LOCAL;
}

FIXTURE CacheRecord recorded(Cache *c)
{
    CacheRecord record = {0};
    unsigned at = 0;
    if (cache_recorded(c, &at, &record)) {
        CacheRecord other;
        assert_false(cache_recorded(c, &at, &other)); /* one file */
    }
    return record;
}

FIXTURE void job_over(Cache *c, CacheJob *job)
{
    CacheResult result = carry_out(job);
    cache_background_done(c, job, &result, w.now_ns);
}

FIXTURE CacheJob *take_next(Cache *c, CacheJob *job, enum CacheJobKind kind)
{
    assert_true(cache_background_take(c, job, w.now_ns));
    assert_int_equal(job->kind, kind);
    return job;
}

/* A batch of jobs ahead of the program begins; its length. */
FIXTURE unsigned batch_begin(Cache *c, CacheJob jobs[AHEAD])
{
    unsigned n = 1;
    if (!cache_background_take(c, &jobs[0], w.now_ns))
        return 0;
    while (n < AHEAD && cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        n++;
    return n;
}

/* A batch of reads of the file ahead of the program, which take @batch_ns if there are several; its
 * length. */
FIXTURE unsigned batch_over(Cache *c, uint64_t batch_ns)
{
    CacheJob jobs[AHEAD];
    unsigned n = batch_begin(c, jobs);
    if (n == AHEAD) /* all that may be ahead */
        assert_false(cache_background_more(c, &jobs[0], &(CacheJob){0}, w.now_ns));
    w.now_ns += n > 1 ? batch_ns : w.file_ns;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(jobs[i].kind, CACHE_READ_FILE);
        assert_int_equal(jobs[i].together, n > 1);
        CacheResult result = carry_out(&jobs[i]);
        result.ns = 1; /* the kernel has read it by then */
        cache_background_done(c, &jobs[i], &result, w.now_ns);
    }
    return n;
}

#endif
