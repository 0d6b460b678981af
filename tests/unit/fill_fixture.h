/* SPDX-License-Identifier: MIT */
/* Filling under a test: a file whose drive moves its head, and reads that have paid for parts. */
#ifndef DODO_TESTS_FILL_FIXTURE_H
#define DODO_TESTS_FILL_FIXTURE_H

#include "libmanage/fill.h"
#include "tests/unit/cache_fixture.h"

static const uint64_t MS = 1000000;
enum { K = 1 << 10, M = 1 << 20 };

/* A file as expensive as a drive whose head moves; remote memory as fast as a network. */
FIXTURE Cache *make_with(CacheConfig cfg, int *ret_rd)
{
    cfg.extent_bytes = M;
    w.kernel_says = true;
    Cache *c = make(&cfg, 0, ret_rd);
    for (unsigned i = 0; i < BYTES; i++)
        w.file[i] = (uint8_t)(1 + i / CACHE_BLOCK);
    w.file_ns = 8 * MS;
    w.remote_ns = MS;
    w.part_ns = MS;
    return c;
}

FIXTURE Cache *make_expensive(unsigned pieces, int *ret_rd)
{
    return make_with(config(pieces), ret_rd);
}

/* One that looks for streams, too. */
FIXTURE Cache *make_ahead(uint64_t readahead_bytes, int *ret_rd)
{
    CacheConfig cfg = config(2);
    cfg.readahead_bytes = readahead_bytes;
    return make_with(cfg, ret_rd);
}

/* As background(), but that parts take their time: the drive has nothing else to do for @ns. */
FIXTURE void idle(Cache *c, uint64_t ns)
{
    CacheJob job;
    uint64_t until = w.now_ns + ns;
    while (cache_background_take(c, &job, w.now_ns)) {
        CacheResult result = carry_out(&job);
        w.now_ns += job.kind == CACHE_FILL ? result.ns : 0;
        cache_background_done(c, &job, &result, w.now_ns);
    }
    w.now_ns = w.now_ns < until ? until : w.now_ns;
    assert_true(cache_check(c));
}

FIXTURE void assert_reads(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    assert_memory_equal(w.buf, w.file + (uint64_t)piece * PIECE, PIECE);
    idle(c, 0);
}

/* @count reads of a piece each of [@from, @from + @pieces), in no order that is a stream's. */
FIXTURE void read_apart(Cache *c, int rd, unsigned count, unsigned from, unsigned pieces)
{
    for (unsigned i = 0, at = 1; i < count; i++, at = (at * 5 + 3) % pieces)
        assert_reads(c, rd, from + at);
}

/* Reads of the first eight pieces, over and over, from the file: so much the ledger has. */
FIXTURE void pay(Cache *c, int rd)
{
    w.no_memory = true;
    read_apart(c, rd, 64, 0, 8);
    w.no_memory = false;
    w.now_ns += 10 * NS_PER_S;
    (void)do_read(c, rd, 0, PIECE);
    (void)do_read(c, rd, PIECE, PIECE);
}

/* The same, and its remote memory is open. */
FIXTURE Cache *make_paid(unsigned pieces, int *ret_rd)
{
    Cache *c = make_expensive(pieces, ret_rd);
    pay(c, *ret_rd);
    w.no_part = true;
    assert_reads(c, *ret_rd, 0);
    assert_reads(c, *ret_rd, 5);
    w.no_part = false;
    return c;
}

#endif
