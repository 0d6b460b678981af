/* SPDX-License-Identifier: MIT */
/* Hints of what will be read: what the background makes of them. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#include <limits.h>

enum { BLOCK = 4096, PIECE = 64 * BLOCK };

static unsigned pieces;
static uint64_t piece_bytes;

static Call *piece_needed(void)
{
    settle();
    return next_file_needed(w.channels[0]);
}

/* Until the background is at rest. */
static void work(void)
{
    pieces = 0;
    piece_bytes = 0;
    for (Call *needs; (needs = piece_needed());) {
        assert_true(needs->file_len <= PIECE);
        pieces++;
        piece_bytes += needs->file_len;
        do_file(needs);
    }
    assert_true(client_check(w.client));
}

static void assert_hits_alone(int rd, uint64_t start, uint64_t len)
{
    uint64_t misses = info(rd).misses;
    assert_reads_file(rd, start, 0, len);
    assert_int_equal(info(rd).misses, misses);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(prefetch__fills)
{
    uint64_t len = FILE_BYTES - 12345;
    int rd = open_at(len, 345, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, SSIZE_MAX), 0);
    work();
    assert_int_equal(pieces, (len + PIECE - 1) / PIECE);
    assert_int_equal(piece_bytes, len);
    assert_int_equal(info(rd).filled_bytes, len);
    assert_int_equal(info(rd).hits + info(rd).misses, 0); /* nobody read */
    assert_hits_alone(rd, 345, len);
    assert_int_equal(stats().prefetches, pieces);
}

CASE(prefetch__only_the_part)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 5 * BLOCK + 100, BLOCK), 0); /* on two blocks */
    work();
    assert_int_equal(piece_bytes, 2 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, 2 * BLOCK);
}

CASE(prefetch__skips_what_was_seen_filled)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_reads_file(rd, 0, 10 * BLOCK, 3 * BLOCK);
    assert_reads_file(rd, 0, 100 * BLOCK, 90 * BLOCK);
    work(); /* their fills */
    assert_int_equal(info(rd).filled_bytes, 93 * BLOCK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(piece_bytes, FILE_BYTES - 93 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    assert_hits_alone(rd, 0, FILE_BYTES);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 0);
}

/* A block of which a write had a part is not known to be filled. */
CASE(prefetch__of_blocks_written_in_part)
{
    static uint8_t bytes[4 * BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(write_at(rd, 5 * BLOCK + 100, bytes, 3 * BLOCK), 3 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, 2 * BLOCK); /* 6 and 7 */
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(piece_bytes, FILE_BYTES - 2 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    assert_hits_alone(rd, 0, FILE_BYTES);
}

CASE(prefetch__errors)
{
    int rd = open_at(10000, 0, 0);
    assert_int_equal(client_prefetch(w.client, -1, 0, 1), -ENOMEM);
    assert_int_equal(client_prefetch(w.client, rd + 1, 0, 1), -ENOMEM);
    assert_int_equal(client_prefetch(w.client, rd, -1, 1), -EINVAL);
    assert_int_equal(client_prefetch(w.client, rd, 10001, 1), -EINVAL);
    assert_int_equal(client_prefetch(w.client, rd, 0, (size_t)SSIZE_MAX + 1), -EINVAL);
    assert_int_equal(client_prefetch(w.client, rd, 10000, 1), 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, 0), 0);
    work();
    assert_int_equal(pieces, 0);
    w.imd_dead = true;
    uint8_t byte;
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(client_prefetch(w.client, rd, 0, 1), -ENOMEM);
}

CASE(prefetch__fallback_without_memory)
{
    w.open_status = STATUS_NO_MEMORY;
    int rd = open_at(FILE_BYTES, 0, DODO_FALLBACK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 0);
}

/* Blocks that reach past the file's end are not filled; what lies beyond is not looked for. */
CASE(prefetch__end_of_the_file)
{
    w.file_size = 10 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 1);
    assert_int_equal(info(rd).filled_bytes, 10 * BLOCK);
    static uint8_t buf[FILE_BYTES];
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), w.file_size);
    assert_memory_equal(buf, w.file, w.file_size);
}

CASE(prefetch__an_error_of_the_file_harms_nobody)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    w.read_error = EIO;
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 1); /* it is not tried over and over */
    assert_int_equal(info(rd).filled_bytes, 0);
    w.read_error = 0;
    assert_reads_file(rd, 0, 0, FILE_BYTES);
}

/* So many wait; what goes on where the last one ended is part of it. */
CASE(prefetch__hints_beyond_the_limit_are_ignored)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(client_prefetch(w.client, rd, i * BLOCK, BLOCK), 0);
    work();
    assert_int_equal(piece_bytes, 200 * BLOCK);
    int other = open_at(FILE_BYTES, 0, 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(client_prefetch(w.client, other, i * 2 * BLOCK, BLOCK), 0);
    work();
    assert_int_equal(piece_bytes, 64 * BLOCK);
    for (unsigned i = 64; i < 100; i++)
        assert_int_equal(client_prefetch(w.client, other, i * 2 * BLOCK, BLOCK), 0);
    work();
    assert_int_equal(piece_bytes, 36 * BLOCK);
}

/* A piece is in the queue of fills: no other is read before it is on its way. */
CASE(prefetch__gives_way_to_fills)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    Call *needs = piece_needed();
    assert_non_null(needs);
    w.imd_dead = true; /* what is sent from now on is not acknowledged */
    do_file(needs);
    needs = piece_needed(); /* while the first one is on its way */
    assert_non_null(needs);
    do_file(needs);
    assert_null(piece_needed());
    w.imd_dead = false;
    run_until(w.now + 500 * NS_PER_MS);
    work();
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
}

/* Closing waits for the piece that is being read, and for no more. */
CASE(prefetch__ends_with_its_region)
{
    Call call;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    Call *needs = piece_needed();
    assert_non_null(needs);
    call_close_start(&call, w.channels[1], rd, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(call.need, NEED_BLOCKED);
    assert_int_equal(w.released, 0);
    unsigned wakes = w.wakes;
    do_file(needs);
    assert_true(w.wakes > wakes); /* the close waits for nothing else */
    assert_int_equal(done(&call), 0);
    assert_int_equal(w.released, 1);
    work();
    assert_int_equal(pieces, 0);
}

/* A piece holds what the file was; a write came between: it is refused. */
CASE(prefetch__never_overtakes_a_write)
{
    static uint8_t fresh[3 * BLOCK], got[FILE_BYTES];
    int rd = open_at(FILE_BYTES, 0, 0);
    memset(fresh, 'w', sizeof fresh);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    Call *needs = piece_needed();
    assert_non_null(needs);
    FileResult old = {.count = (ssize_t)needs->file_len};
    memcpy(needs->file_buf, w.file + needs->file_offset, needs->file_len);
    assert_int_equal(write_at(rd, 7 * BLOCK + 5, fresh, sizeof fresh), sizeof fresh);
    call_file_done(needs, &old, w.now);
    work();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_at(rd, 0, got, FILE_BYTES), FILE_BYTES);
        assert_memory_equal(got, w.file, FILE_BYTES);
        work();
    }
    assert_memory_equal(w.file + 7 * BLOCK + 5, fresh, sizeof fresh);
}

/* While a write is under way its blocks are not read. */
CASE(prefetch__leaves_out_what_is_being_written)
{
    static uint8_t fresh[2 * BLOCK];
    Call call;
    int rd = open_at(FILE_BYTES, 0, 0);
    call_write_start(&call, w.channels[1], rd, 20 * BLOCK, fresh, sizeof fresh, w.now);
    channel_step(w.channels[1], w.now);
    Call *write = next_file_needed(w.channels[1]);
    assert_non_null(write);
    call_file_taken(write);
    assert_int_equal(client_prefetch(w.client, rd, 0, 30 * BLOCK), 0);
    work();
    assert_int_equal(piece_bytes, 28 * BLOCK);
    memcpy(w.file + 20 * BLOCK, fresh, sizeof fresh);
    FileResult written = {.count = sizeof fresh};
    call_file_done(write, &written, w.now);
    assert_int_equal(done(&call), sizeof fresh);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
}

CASE(prefetch__of_stripes)
{
    uint64_t len = 10 * STRIPE_BYTES + 999;
    int rd = open_at(len, 0, DODO_STRIPE);
    assert_true(info(rd).stripes > 1);
    assert_int_equal(client_prefetch(w.client, rd, 100, len), 0);
    work();
    assert_int_equal(info(rd).filled_bytes, len);
    assert_hits_alone(rd, 0, len);
    assert_int_equal(client_prefetch(w.client, rd, 0, len), 0);
    assert_int_equal(close_rd(rd), 0);
    work();
    assert_int_equal(pieces, 0);
}
