/* SPDX-License-Identifier: MIT */
/* mdiscard: blocks leave remote memory, and the file serves them. */
#include <limits.h>

#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 300000, BLOCK = 4096, LAST = LEN / BLOCK * BLOCK };

static ssize_t discard(int rd, off_t offset, size_t len)
{
    Call call;
    call_discard_start(&call, w.channels[1], rd, offset, len, w.now);
    return done(&call);
}

/* Bytes of a read of the region's [at, at + len) that came from remote memory. */
static uint64_t remote_of(int rd, off_t at, size_t len)
{
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, at, len);
    return info(rd).hits - hits;
}

/* A region, all of which is remote. */
static int open_full(unsigned flags)
{
    int rd = open_at(LEN, 0, flags);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_int_equal(remote_of(rd, 0, LEN), LEN);
    return rd;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(discard__whole_blocks_leave)
{
    int rd = open_full(0);
    assert_int_equal(discard(rd, 100, 3 * BLOCK), 0); /* blocks 1 and 2 */
    for (uint64_t b = 0; b < 5; b++)
        assert_int_equal(imd_data_block_filled(w.data, w.cmd.last.region, b), b != 1 && b != 2);
    assert_int_equal(info(rd).filled_bytes, 72 * BLOCK);
    assert_int_equal(discard(rd, LAST + 1, LEN), 0); /* part of the last one */
    assert_true(imd_data_block_filled(w.data, w.cmd.last.region, LAST / BLOCK));
    assert_int_equal(discard(rd, LAST, LEN - LAST), 0); /* to the region's end */
    assert_false(imd_data_block_filled(w.data, w.cmd.last.region, LAST / BLOCK));
    assert_int_equal(remote_of(rd, BLOCK, 2 * BLOCK), 0);
    settle(); /* what was read is there again */
    assert_int_equal(remote_of(rd, BLOCK, 2 * BLOCK), 2 * BLOCK);
    assert_int_equal(close_rd(rd), 0);
}

CASE(discard__of_all)
{
    int rd = open_full(0);
    assert_int_equal(discard(rd, 0, LEN), 0);
    assert_int_equal(info(rd).filled_bytes, 0);
    assert_true(info(rd).active);
    assert_int_equal(remote_of(rd, 0, LEN), 0);
    settle();
    assert_int_equal(remote_of(rd, 0, LEN), LEN);
    for (unsigned i = 0; i < 100; i++) /* no number stays open */
        assert_int_equal(discard(rd, 0, LEN), 0);
    assert_int_equal(close_rd(rd), 0);
}

CASE(discard__arguments)
{
    int rd = open_full(0);
    assert_int_equal(discard(rd, 0, 0), 0);
    assert_int_equal(discard(rd, LEN, 10), 0);
    assert_int_equal(discard(rd, BLOCK + 1, BLOCK), 0); /* no whole block */
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(discard(rd, -1, 10), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_int_equal(discard(rd, LEN + 1, 10), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_int_equal(discard(rd, 0, (size_t)SSIZE_MAX + 1), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_int_equal(discard(rd + 1, 0, 10), -1);
    assert_int_equal(fail_error, ENOMEM);
}

/* A fill that was read before does not bring back what the program has given up since. */
CASE(discard__a_fill_under_way_comes_too_late)
{
    int rd = open_at(LEN, 0, 0);
    assert_reads_file(rd, 0, 0, 2 * BLOCK); /* its fill waits for the background */
    assert_int_equal(discard(rd, 0, BLOCK), 0);
    settle();
    assert_false(imd_data_block_filled(w.data, w.cmd.last.region, 0));
    assert_int_equal(remote_of(rd, 0, BLOCK), 0);
}

CASE(discard__a_write_to_the_part_goes_first)
{
    Call write, call;
    uint8_t data[BLOCK] = {1};
    int rd = open_full(0);
    call_write_start(&write, w.channels[1], rd, 0, data, sizeof data, w.now);
    call_file_taken(run_to_file(&write));
    call_discard_start(&call, w.channels[2], rd, 0, 2 * BLOCK, w.now);
    run_until(w.now + 10 * NS_PER_MS);
    assert_int_equal(call.need, NEED_BLOCKED);
    w.disk.bytes[0] = 1;
    memset(w.disk.bytes + 1, 0, BLOCK - 1);
    call_file_done(&write, &(FileResult){.count = sizeof data}, w.now);
    assert_int_equal(finish(&write), sizeof data);
    assert_int_equal(done(&call), 0);
    assert_false(imd_data_block_filled(w.data, w.cmd.last.region, 0));
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(discard__without_memory)
{
    int rd = open_full(DODO_FALLBACK);
    imd_data_drop(w.data, w.cmd.last.region);
    assert_int_equal(discard(rd, 0, LEN), 0); /* the host has nothing of it any more */
    assert_false(info(rd).active);
    assert_int_equal(discard(rd, 0, LEN), 0);
    int other = open_at(LEN, 0, DODO_RDONLY);
    assert_true(other >= 0);
    assert_reads_file(other, 0, 0, LEN);
    imd_data_drop(w.data, w.cmd.last.region);
    assert_int_equal(discard(other, 0, LEN), 0);
    assert_int_equal(discard(other, 0, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(discard__over_stripes)
{
    int rd = open_at(3 * STRIPE_BYTES, 0, DODO_STRIPE);
    assert_reads_file(rd, 0, 0, 3 * STRIPE_BYTES);
    settle();
    assert_int_equal(remote_of(rd, 0, 3 * STRIPE_BYTES), 3 * STRIPE_BYTES);
    assert_int_equal(discard(rd, STRIPE_BYTES - 2 * BLOCK, STRIPE_BYTES + 4 * BLOCK), 0);
    assert_int_equal(info(rd).filled_bytes, 2 * STRIPE_BYTES - 4 * BLOCK);
    assert_int_equal(remote_of(rd, 0, STRIPE_BYTES - 2 * BLOCK), STRIPE_BYTES - 2 * BLOCK);
    assert_int_equal(remote_of(rd, STRIPE_BYTES - 2 * BLOCK, STRIPE_BYTES + 4 * BLOCK), 0);
    assert_int_equal(close_rd(rd), 0);
}
