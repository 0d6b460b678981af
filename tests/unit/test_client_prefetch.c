/* SPDX-License-Identifier: MIT */
/* Hints of what will be read: what the background makes of them. */
#include "base/cleanup.h"
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

/* ---- reads of what was announced ------------------------------------------------------------ */

static Call reader;
static uint8_t read_bytes[FILE_BYTES];

/* The next piece that the read asks the file for; the background has no turn yet. */
static void assert_asks(uint64_t from, uint64_t to)
{
    Call *needs = run_to_file(&reader);
    assert_ptr_equal(needs, &reader);
    assert_int_equal(needs->file_offset, from);
    assert_int_equal(needs->file_len, to - from);
}

static void begin_read(int rd, uint64_t offset, size_t len)
{
    memset(read_bytes, 0xcc, sizeof read_bytes);
    call_read_start(&reader, w.channels[1], rd, (off_t)offset, read_bytes, len, w.now);
}

static void end_read(uint64_t file_offset, size_t len)
{
    assert_int_equal(finish(&reader), len);
    assert_memory_equal(read_bytes, w.disk.bytes + file_offset, len);
    assert_true(client_check(w.client));
}

/* Of a region of the whole file: such a read brings [from, to), one piece after the other. */
static void assert_brings(int rd, uint64_t offset, size_t len, uint64_t from, uint64_t to)
{
    begin_read(rd, offset, len);
    for (; from < to; from += min_u64(PIECE, to - from)) {
        assert_asks(from, from + min_u64(PIECE, to - from));
        do_file(&reader);
    }
    end_read(offset, len);
}

CASE(announced__a_read_that_misses_brings_all_of_it)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_brings(rd, 100 * BLOCK + 7, 2 * BLOCK, 0, FILE_BYTES);
    assert_int_equal(info(rd).misses, 2 * BLOCK); /* what the caller asked for */
    work();
    assert_int_equal(pieces, 0); /* nothing of it is announced any more */
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    assert_hits_alone(rd, 0, FILE_BYTES);
}

/* A region that begins and ends elsewhere than the file, in no whole number of blocks. */
CASE(announced__a_part_of_the_file)
{
    uint64_t len = FILE_BYTES - 9999;
    int rd = open_at(len, 5000, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, len), 0);
    begin_read(rd, len - 3 * BLOCK, 3 * BLOCK);
    for (uint64_t at = 0; at < len; at += PIECE) {
        assert_asks(5000 + at, 5000 + min_u64(at + PIECE, len));
        do_file(&reader);
    }
    end_read(5000 + len - 3 * BLOCK, 3 * BLOCK);
    work();
    assert_int_equal(info(rd).filled_bytes, len);
    assert_hits_alone(rd, 5000, len);
}

CASE(announced__only_what_was)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 40 * BLOCK, 60 * BLOCK), 0);
    assert_brings(rd, 30 * BLOCK, BLOCK, 30 * BLOCK, 31 * BLOCK);
    assert_brings(rd, 50 * BLOCK, BLOCK, 40 * BLOCK, 100 * BLOCK);
    work();
    assert_int_equal(pieces, 0);
    assert_int_equal(info(rd).filled_bytes, 61 * BLOCK);
}

/* Blocks that are filled end the extent; the background reads what lies behind them. */
CASE(announced__not_what_is_there)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_reads_file(rd, 0, 20 * BLOCK, BLOCK);
    assert_reads_file(rd, 0, 60 * BLOCK, BLOCK);
    work(); /* their fills */
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_brings(rd, 30 * BLOCK, BLOCK, 21 * BLOCK, 60 * BLOCK);
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
    assert_int_equal(w.disk.bytes_read, FILE_BYTES);
    assert_int_equal(info(rd).misses, FILE_BYTES);
    work();
    assert_int_equal(pieces, 0);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
}

/* A read over the border of two pieces of its extent. */
CASE(announced__a_run_in_two_pieces)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_brings(rd, PIECE - 3 * BLOCK + 9, 6 * BLOCK, 0, FILE_BYTES);
    assert_int_equal(info(rd).misses, 6 * BLOCK);
}

/* A bad place of the file elsewhere in the extent is not the caller's: before its bytes, behind
 * them, and between the two pieces in which they lie. */
CASE(announced__an_error_elsewhere_is_not_this_read_s)
{
    const struct {
        uint64_t read, bad, alone_from;
    } cases[] = {
        {150 * BLOCK, 0, 150 * BLOCK},
        {10 * BLOCK, PIECE, 0},
        {PIECE - BLOCK, PIECE, PIECE},
    };
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        int rd = open_at(FILE_BYTES, 0, 0);
        assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
        begin_read(rd, cases[i].read, 3 * BLOCK);
        for (uint64_t at = 0; at <= cases[i].bad; at += PIECE) {
            assert_asks(at, at + PIECE);
            w.disk.read_error = at == cases[i].bad ? EIO : 0;
            do_file(&reader);
        }
        w.disk.read_error = 0;
        if (cases[i].alone_from)
            assert_asks(cases[i].alone_from, cases[i].read + 3 * BLOCK);
        end_read(cases[i].read, 3 * BLOCK);
        assert_int_equal(info(rd).misses, 3 * BLOCK);
        work();
        assert_reads_file(rd, 0, 0, FILE_BYTES);
        assert_int_equal(close_rd(rd), 0);
    }
}

CASE(announced__a_piece_that_is_read_in_part)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    begin_read(rd, 50 * BLOCK, BLOCK);
    assert_asks(0, PIECE);
    w.disk.size = 20 * BLOCK; /* so much comes before the bad place */
    do_file(&reader);
    w.disk.size = FILE_BYTES;
    assert_asks(50 * BLOCK, 51 * BLOCK);
    end_read(50 * BLOCK, BLOCK);
}

CASE(announced__the_file_ends_in_the_extent)
{
    w.disk.size = 60 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    begin_read(rd, 50 * BLOCK, BLOCK);
    end_read(50 * BLOCK, BLOCK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    begin_read(rd, 60 * BLOCK, BLOCK);
    end_read(60 * BLOCK, 17);
    work();
    assert_int_equal(info(rd).filled_bytes, 60 * BLOCK);
}

/* What a write is under way for is left out: what the file holds of it is not known. */
CASE(announced__beside_a_write)
{
    static uint8_t bytes[BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    Call writer;
    call_write_start(&writer, w.channels[2], rd, 40 * BLOCK, bytes, BLOCK, w.now);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    assert_brings(rd, 20 * BLOCK, BLOCK, 0, 40 * BLOCK);
    assert_int_equal(finish(&writer), BLOCK);
    work();
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    assert_hits_alone(rd, 0, FILE_BYTES);
}

/* ... also a write that begins between two pieces. */
CASE(announced__overtaken_by_a_write)
{
    static uint8_t bytes[BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    Call writer;
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    begin_read(rd, 20 * BLOCK, BLOCK);
    assert_asks(0, PIECE);
    memset(bytes, 'w', sizeof bytes);
    call_write_start(&writer, w.channels[2], rd, PIECE + BLOCK, bytes, BLOCK, w.now);
    do_file(&reader);
    end_read(20 * BLOCK, BLOCK);
    assert_int_equal(finish(&writer), BLOCK);
    work();
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    work();
    assert_hits_alone(rd, 0, FILE_BYTES);
}

/* The host is lost between two pieces: the caller has its bytes all the same. */
CASE(announced__lost_meanwhile)
{
    int rd = open_at(FILE_BYTES, 0, DODO_FALLBACK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    begin_read(rd, 150 * BLOCK, BLOCK);
    assert_asks(0, PIECE);
    w.net.imd_dead = true;
    static uint8_t byte;
    Call other;
    call_read_start(&other, w.channels[2], rd, 0, &byte, 1, w.now);
    assert_int_equal(finish(&other), 1); /* which finds out, and reads the file */
    do_file(&reader);
    assert_asks(150 * BLOCK, 151 * BLOCK);
    end_read(150 * BLOCK, BLOCK);
}

CASE(announced__stripes_have_extents_of_their_own)
{
    int rd = open_at(FILE_BYTES, 0, DODO_STRIPE);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    for (uint64_t at = 0; at < FILE_BYTES; at += STRIPE_BYTES)
        assert_brings(rd, at + 5 * BLOCK, BLOCK, at, at + STRIPE_BYTES);
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
    w.net.imd_dead = true;
    uint8_t byte;
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(client_prefetch(w.client, rd, 0, 1), -ENOMEM);
}

CASE(prefetch__fallback_without_memory)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    int rd = open_at(FILE_BYTES, 0, DODO_FALLBACK);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 0);
}

/* Blocks that reach past the file's end are not filled; what lies beyond is not looked for. */
CASE(prefetch__end_of_the_file)
{
    w.disk.size = 10 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 1);
    assert_int_equal(info(rd).filled_bytes, 10 * BLOCK);
    static uint8_t buf[FILE_BYTES];
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), w.disk.size);
    assert_memory_equal(buf, w.disk.bytes, w.disk.size);
}

/* ... but what lies before it, announced later, is. */
CASE(prefetch__the_end_of_the_file_ends_no_other_hint)
{
    w.disk.size = 50 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 40 * BLOCK, 20 * BLOCK), 0);
    assert_int_equal(client_prefetch(w.client, rd, 100 * BLOCK, 20 * BLOCK), 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, 10 * BLOCK), 0);
    work();
    assert_int_equal(pieces, 2);
    assert_int_equal(info(rd).filled_bytes, 20 * BLOCK);
}

CASE(prefetch__an_error_of_the_file_harms_nobody)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    w.disk.read_error = EIO;
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES), 0);
    work();
    assert_int_equal(pieces, 1); /* it is not tried over and over */
    assert_int_equal(info(rd).filled_bytes, 0);
    w.disk.read_error = 0;
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
    w.net.imd_dead = true; /* what is sent from now on is not acknowledged */
    do_file(needs);
    needs = piece_needed(); /* while the first one is on its way */
    assert_non_null(needs);
    do_file(needs);
    assert_null(piece_needed());
    w.net.imd_dead = false;
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
    assert_int_equal(w.disk.released, 0);
    unsigned wakes = w.wakes;
    do_file(needs);
    assert_true(w.wakes > wakes); /* the close waits for nothing else */
    assert_int_equal(done(&call), 0);
    assert_int_equal(w.disk.released, 1);
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
    memcpy(needs->file_buf, w.disk.bytes + needs->file_offset, needs->file_len);
    assert_int_equal(write_at(rd, 7 * BLOCK + 5, fresh, sizeof fresh), sizeof fresh);
    call_file_done(needs, &old, w.now);
    work();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(read_at(rd, 0, got, FILE_BYTES), FILE_BYTES);
        assert_memory_equal(got, w.disk.bytes, FILE_BYTES);
        work();
    }
    assert_memory_equal(w.disk.bytes + 7 * BLOCK + 5, fresh, sizeof fresh);
}

/* The program's calls on a region go first; the last one of them tells the background. */
CASE(prefetch__wakes_the_background_for_something)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    unsigned wakes = w.background_wakes;
    assert_int_equal(client_prefetch(w.client, rd, 0, 0), 0);
    assert_int_equal(w.background_wakes, wakes);
    assert_int_equal(client_prefetch(w.client, rd, 0, BLOCK), 0);
    assert_int_equal(w.background_wakes, wakes + 1);
}

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
    assert_int_equal(piece_bytes, 7 * BLOCK); /* no call uses the other region */
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

/* What is announced behind a stripe without memory is fetched all the same, and the background
 * comes to rest. */
CASE(prefetch__goes_on_behind_a_lost_stripe)
{
    ClientRegionInfo lost;
    int rd = open_at(4 * STRIPE_BYTES, 0, DODO_STRIPE);
    assert_int_equal(client_stripe_info(w.client, rd, 1, &lost), 0);
    imd_data_drop(w.data, lost.address.region);
    assert_reads_file(rd, 0, STRIPE_BYTES, BLOCK); /* finds it gone */
    assert_int_equal(client_stripe_info(w.client, rd, 1, &lost), 0);
    assert_false(lost.active);
    assert_int_equal(client_prefetch(w.client, rd, 0, SSIZE_MAX), 0);
    work();
    assert_int_equal(piece_bytes, 3 * STRIPE_BYTES);
}

/* ---- parts of the file ----------------------------------------------------------------------- */

/* The result of filling [@from, @to). */
static ssize_t fill_file(int rd, uint64_t from, uint64_t to)
{
    Call call;
    call_fill_start(&call, w.channels[0], rd, from, to, w.now);
    work();
    return finish(&call);
}

CASE(fill_file__comes_to_the_host)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(fill_file(rd, 20 * BLOCK, 90 * BLOCK), 70 * BLOCK);
    assert_int_equal(pieces, 2);
    assert_int_equal(piece_bytes, 70 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, 70 * BLOCK);
    assert_int_equal(info(rd).misses, 0);
    assert_reads_file(rd, 0, 20 * BLOCK, 70 * BLOCK);
    assert_int_equal(info(rd).misses, 0);
}

/* What is filled is read once more, and stays as it is. */
CASE(fill_file__over_what_is_filled)
{
    static uint8_t bytes[BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    memset(bytes, 'w', sizeof bytes);
    assert_int_equal(write_at(rd, 30 * BLOCK, bytes, BLOCK), BLOCK);
    assert_int_equal(fill_file(rd, 20 * BLOCK, 50 * BLOCK), 30 * BLOCK);
    assert_int_equal(piece_bytes, 30 * BLOCK);
    assert_int_equal(info(rd).filled_bytes, 30 * BLOCK);
    assert_reads_file(rd, 0, 20 * BLOCK, 30 * BLOCK);
    assert_int_equal(info(rd).misses, 0);
}

/* Its ends need not be those of blocks: only whole blocks are filled. */
CASE(fill_file__whole_blocks)
{
    int rd = open_at(FILE_BYTES - 100, 0, 0);
    assert_true(fill_file(rd, FILE_BYTES - 3 * BLOCK + 10, FILE_BYTES - 100) > 0);
    assert_int_equal(info(rd).filled_bytes, 3 * BLOCK);
    assert_int_equal(fill_file(rd, 10, BLOCK - 10), 0);
    assert_int_equal(info(rd).filled_bytes, 3 * BLOCK);
}

CASE(fill_file__the_file_ends)
{
    w.disk.size = 60 * BLOCK + 17;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(fill_file(rd, 50 * BLOCK, 90 * BLOCK), 10 * BLOCK + 17);
    assert_int_equal(info(rd).filled_bytes, 10 * BLOCK);
    assert_int_equal(fill_file(rd, 61 * BLOCK, 90 * BLOCK), 0);
}

CASE(fill_file__a_bad_place)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    w.disk.read_error = EIO;
    assert_int_equal(fill_file(rd, 0, 90 * BLOCK), 0);
    w.disk.read_error = 0;
    assert_int_equal(info(rd).filled_bytes, 0);
    assert_int_equal(fill_file(rd, 0, 90 * BLOCK), 90 * BLOCK);
}

/* What a read offers goes first. */
CASE(fill_file__not_while_fills_wait)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    Call call;
    begin_read(rd, 0, BLOCK);
    assert_asks(0, BLOCK);
    do_file(&reader); /* its fill waits for the background */
    call_fill_start(&call, w.channels[0], rd, 20 * BLOCK, 90 * BLOCK, w.now);
    assert_int_equal(call.need, NEED_NOTHING);
    assert_int_equal(call.result, 0);
    end_read(0, BLOCK);
    work();
    assert_int_equal(fill_file(rd, 20 * BLOCK, 90 * BLOCK), 70 * BLOCK);
}

/* What the file holds beside a write is not known. */
CASE(fill_file__beside_a_write)
{
    static uint8_t bytes[BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    Call writer;
    call_write_start(&writer, w.channels[2], rd, 40 * BLOCK, bytes, BLOCK, w.now);
    settle();
    assert_int_equal(fill_file(rd, 20 * BLOCK, 50 * BLOCK), 0);
    assert_int_equal(finish(&writer), BLOCK);
    assert_int_equal(fill_file(rd, 20 * BLOCK, 50 * BLOCK), 30 * BLOCK);
    assert_reads_file(rd, 0, 20 * BLOCK, 30 * BLOCK);
}

/* A write that begins while the file is being read is not overtaken by what was read before it. */
CASE(fill_file__overtaken_by_a_write)
{
    static uint8_t bytes[BLOCK / 4], old[30 * BLOCK];
    int rd = open_at(FILE_BYTES, 0, 0);
    Call call;
    call_fill_start(&call, w.channels[0], rd, 20 * BLOCK, 50 * BLOCK, w.now);
    assert_int_equal(call.need, NEED_FILE_READ);
    assert_int_equal(call.file_len, sizeof old);
    memcpy(call.file_buf, w.disk.bytes + 20 * BLOCK, sizeof old);
    memset(bytes, 'w', sizeof bytes);
    /* A part of a block, so that the host has no use for what is written. */
    assert_int_equal(write_at(rd, 40 * BLOCK + 100, bytes, sizeof bytes), sizeof bytes);
    call_file_done(&call, &(FileResult){.count = sizeof old}, w.now);
    work();
    assert_int_equal(finish(&call), 30 * BLOCK);
    assert_reads_file(rd, 0, 20 * BLOCK, 30 * BLOCK);
}

CASE(fill_file__errors)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_int_equal(fill_file(rd + 1, 0, BLOCK), -1);
    assert_int_equal(fill_file(rd, 0, FILE_BYTES + 1), -1);
    assert_int_equal(fill_file(rd, BLOCK, BLOCK), -1);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(fill_file(rd, 0, BLOCK), -1);
}

CASE(fill_file__of_stripes)
{
    int rd = open_at(4 * STRIPE_BYTES, 0, DODO_STRIPE);
    assert_int_equal(fill_file(rd, 0, 4 * STRIPE_BYTES), 4 * STRIPE_BYTES);
    assert_int_equal(info(rd).filled_bytes, 4 * STRIPE_BYTES);
    assert_hits_alone(rd, 0, 4 * STRIPE_BYTES);
}
