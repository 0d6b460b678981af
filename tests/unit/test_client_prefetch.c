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

/* ---- reads of what was announced ---------------------------------------------------------------
 */

/* What a read of @len bytes asks the file for, before the background has had a turn. */
static Call reader;
static uint8_t read_bytes[FILE_BYTES];

static const Call *read_announced(int rd, uint64_t offset, size_t len)
{
    call_read_start(&reader, w.channels[1], rd, (off_t)offset, read_bytes, len, w.now);
    return run_to_file(&reader);
}

static void assert_asks(const Call *call, uint64_t from, uint64_t to)
{
    assert_ptr_equal(call, &reader);
    assert_int_equal(call->file_offset, from);
    assert_int_equal(call->file_len, to - from);
}

CASE(announced__a_read_that_misses_brings_all_of_it)
{
    int rd = open_at(FILE_BYTES - 5000, 5000, 0);
    uint64_t len = FILE_BYTES - 5000;
    assert_int_equal(client_prefetch(w.client, rd, 0, len), 0);
    assert_asks(read_announced(rd, 100 * BLOCK + 7, 2 * BLOCK), 5000, FILE_BYTES);
    assert_int_equal(finish(&reader), 2 * BLOCK);
    assert_memory_equal(read_bytes, w.file + 5000 + 100 * BLOCK + 7, 2 * BLOCK);
    assert_int_equal(info(rd).misses, 2 * BLOCK); /* what the caller asked for */
    work();
    assert_int_equal(pieces, 0); /* nothing of it is announced any more */
    assert_int_equal(info(rd).filled_bytes, len);
    assert_hits_alone(rd, 5000, len);
}

CASE(announced__only_what_was)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 40 * BLOCK, 60 * BLOCK), 0);
    assert_asks(read_announced(rd, 30 * BLOCK, BLOCK), 30 * BLOCK, 31 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 40 * BLOCK, 100 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_memory_equal(read_bytes, w.file + 50 * BLOCK, BLOCK);
    work();
    assert_int_equal(pieces, 0);
    assert_int_equal(info(rd).filled_bytes, 61 * BLOCK);
}

/* Of two sides of what is there already the read's own. */
CASE(announced__not_what_is_there)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_reads_file(rd, 0, 20 * BLOCK, BLOCK);
    assert_reads_file(rd, 0, 60 * BLOCK, BLOCK);
    work(); /* their fills */
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_asks(read_announced(rd, 30 * BLOCK, BLOCK), 21 * BLOCK, 60 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    work(); /* the rest of it, in the background */
    assert_int_equal(piece_bytes, FILE_BYTES - 41 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
}

/* A read that begins before what was announced, and ends behind it: each byte comes from the file
 * once. */
CASE(announced__a_long_read)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 10 * BLOCK, FILE_BYTES - 30 * BLOCK), 0);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_int_equal(w.file_bytes, FILE_BYTES);
    assert_int_equal(info(rd).misses, FILE_BYTES);
    work();
    assert_int_equal(pieces, 0);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
}

/* A bad place of the file elsewhere in the extent is not the caller's. */
CASE(announced__an_error_elsewhere_is_not_this_read_s)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    w.read_error = EIO;
    const Call *wide = read_announced(rd, 50 * BLOCK, BLOCK);
    assert_asks(wide, 0, FILE_BYTES);
    do_file(&reader);
    w.read_error = 0;
    assert_asks(run_to_file(&reader), 50 * BLOCK, 51 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_memory_equal(read_bytes, w.file + 50 * BLOCK, BLOCK);
}

CASE(announced__an_extent_that_is_read_in_part)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 0, FILE_BYTES);
    w.file_size = 20 * BLOCK; /* so much comes before the bad place */
    do_file(&reader);
    w.file_size = FILE_BYTES;
    assert_asks(run_to_file(&reader), 50 * BLOCK, 51 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_memory_equal(read_bytes, w.file + 50 * BLOCK, BLOCK);
}

CASE(announced__the_file_ends_in_the_extent)
{
    w.file_size = 60 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 0, FILE_BYTES);
    assert_int_equal(finish(&reader), BLOCK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    (void)read_announced(rd, 60 * BLOCK, BLOCK);
    assert_int_equal(finish(&reader), 17);
    assert_memory_equal(read_bytes, w.file + 60 * BLOCK, 17);
    work();
    assert_int_equal(info(rd).filled_bytes, 60 * BLOCK);
}

/* What a write is under way for is left out: what the file holds of it is not known. */
CASE(announced__beside_a_write)
{
    static uint8_t bytes[BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    Call writer;
    call_write_start(&writer, w.channels[2], rd, 70 * BLOCK, bytes, BLOCK, w.now);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 0, 70 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_int_equal(finish(&writer), BLOCK);
    work();
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    assert_hits_alone(rd, 0, FILE_BYTES);
}

/* No room in the queue of fills, which has three extents already: the caller has its bytes, and
 * what was announced still is. */
CASE(announced__no_room)
{
    for (unsigned i = 0; i < 3; i++) {
        int rd = open_at(FILE_BYTES, 0, 0);
        assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
        assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 0, FILE_BYTES);
        do_file(&reader);
    }
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_asks(read_announced(rd, 50 * BLOCK, BLOCK), 50 * BLOCK, 51 * BLOCK);
    assert_int_equal(finish(&reader), BLOCK);
    assert_memory_equal(read_bytes, w.file + 50 * BLOCK, BLOCK);
    work();
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
}

CASE(announced__stripes_have_extents_of_their_own)
{
    int rd = open_at(FILE_BYTES, 0, DODO_STRIPE);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    uint64_t left = FILE_BYTES;
    for (unsigned at = 0; at < FILE_BYTES; at += 16 * BLOCK) {
        const Call *call = read_announced(rd, at, BLOCK);
        assert_ptr_equal(call, &reader);
        left -= call->file_len;
        assert_int_equal(finish(&reader), BLOCK);
        assert_memory_equal(read_bytes, w.file + at, BLOCK);
    }
    assert_int_equal(left, 0);
    work();
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
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

/* The program's calls on a region go first; the last one of them tells the background. */
CASE(prefetch__waits_for_calls_on_its_region)
{
    static uint8_t fresh[2 * BLOCK];
    Call call;
    int rd = open_at(FILE_BYTES, 0, 0), other = open_at(FILE_BYTES, 0, 0);
    call_write_start(&call, w.channels[1], rd, 20 * BLOCK, fresh, sizeof fresh, w.now);
    channel_step(w.channels[1], w.now);
    assert_non_null(next_file_needed(w.channels[1]));
    assert_int_equal(client_prefetch(w.client, rd, 0, 30 * BLOCK), 0);
    assert_int_equal(client_prefetch(w.client, other, 0, 7 * BLOCK), 0);
    work();
    assert_int_equal(piece_bytes, 7 * BLOCK); /* nobody is on the other one */
    unsigned wakes = w.background_wakes;
    assert_int_equal(done(&call), sizeof fresh);
    assert_true(w.background_wakes > wakes);
    work();
    assert_int_equal(piece_bytes, 28 * BLOCK); /* the write has filled the others */
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
