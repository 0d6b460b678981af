/* SPDX-License-Identifier: MIT */
/* What needs a file of several megabytes: writes of several windows, and what becomes of those that
 * are over when the file's half fails; the size of an extent. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { CHUNKS = 40, BYTES = CHUNKS * WIRE_CHUNK_MAX, BLOCKS = BYTES / WIRE_BLOCK_SIZE };
enum { WINDOW_BLOCKS = 32 * WIRE_CHUNK_MAX / WIRE_BLOCK_SIZE };

static unsigned blocks_filled(uint64_t first, uint64_t end)
{
    unsigned n = 0;
    for (uint64_t b = first; b < end; b++)
        n += imd_data_block_filled(w.data, w.cmd.last.region, b);
    return n;
}

/* One datagram, if there is one. */
static void step_on(void)
{
    channel_step(w.channels[1], w.now);
    if (w.net.head != w.net.tail)
        pump();
    channel_step(w.channels[1], w.now);
}

static uint8_t data[BYTES];

/* The first window is done at the host, the second one begun, and the file still has nothing.
 * Returns the descriptor. */
static int write_into_second_window(Call *call)
{
    int rd = open_at(BYTES, 0, 0);
    memset(data, 0x66, sizeof data);
    call_write_start(call, w.channels[1], rd, 0, data, BYTES, w.now);
    for (unsigned guard = 0; call->need != NEED_FILE_WRITE; guard++) {
        assert_true(guard < 100);
        channel_step(w.channels[1], w.now);
    }
    call_file_taken(call);
    for (unsigned guard = 0; blocks_filled(0, WINDOW_BLOCKS) < WINDOW_BLOCKS; guard++) {
        assert_true(guard < 100000);
        step_on();
    }
    for (unsigned i = 0; i < 40; i++)
        step_on();
    assert_true(blocks_filled(WINDOW_BLOCKS, BLOCKS) < BLOCKS - WINDOW_BLOCKS);
    return rd;
}

static int set_up_large(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES_MAX, NULL);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up_large, tear_down)

CASE(windows__all_are_voided_when_the_file_fails)
{
    Call call;
    int rd = write_into_second_window(&call);
    FileResult failed = {.count = -1, .error = EIO};
    call_file_done(&call, &failed, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    assert_int_equal(blocks_filled(0, BLOCKS), 0);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, BYTES);
    assert_int_equal(close_rd(rd), 0);
}

/* The file took a part of it: none of the others is read from the host either. */
CASE(windows__all_are_voided_when_the_file_takes_less)
{
    Call call;
    int rd = write_into_second_window(&call);
    memcpy(w.disk.bytes, data, 100000);
    FileResult less = {.count = 100000};
    call_file_done(&call, &less, w.now);
    assert_int_equal(done(&call), 100000);
    assert_int_equal(blocks_filled(0, BLOCKS), 0);
    assert_int_equal(stats().regions, 1);
    assert_reads_file(rd, 0, 0, BYTES);
}

/* ---- what the thread is wanted for ----------------------------------------------------------- */

/* Until the file half is wanted. The hosts have answered nothing of the write yet. */
static void write_begin(Call *call, int rd, size_t len)
{
    call_write_start(call, w.channels[1], rd, 0, data, len, w.now);
    for (unsigned guard = 0; call->need != NEED_FILE_WRITE; guard++) {
        assert_true(guard < 100);
        channel_step(w.channels[1], w.now);
    }
}

static void write_finish(Call *call, size_t len)
{
    call_file_taken(call);
    assert_true(len <= w.disk.size);
    memcpy(w.disk.bytes, data, len);
    FileResult good = {.count = (ssize_t)len};
    call_file_done(call, &good, w.now);
    assert_int_equal(done(call), len);
}

CASE(busy__not_once_all_has_been_sent)
{
    Call call;
    int rd = open_at(BYTES, 0, 0);
    memset(data, 0x66, sizeof data);
    assert_int_equal(write_at(rd, 0, data, 8192), 8192); /* there is a session now */
    assert_false(channel_is_busy(w.channels[1]));
    write_begin(&call, rd, 8192);
    assert_false(channel_is_busy(w.channels[1]));
    write_finish(&call, 8192);
    assert_int_equal(close_rd(rd), 0);
}

/* The first credit is for one chunk. */
CASE(busy__while_there_is_more_to_send)
{
    Call call;
    int rd = open_at(BYTES, 0, 0);
    memset(data, 0x66, sizeof data);
    assert_int_equal(write_at(rd, 0, data, 8192), 8192);
    write_begin(&call, rd, 10 * WIRE_CHUNK_MAX);
    assert_true(channel_is_busy(w.channels[1]));
    write_finish(&call, 10 * WIRE_CHUNK_MAX);
    assert_int_equal(close_rd(rd), 0);
}

CASE(busy__while_another_window_is_left)
{
    Call call;
    int rd = write_into_second_window(&call);
    assert_true(channel_is_busy(w.channels[1]));
    memcpy(w.disk.bytes, data, BYTES);
    FileResult good = {.count = BYTES};
    call_file_done(&call, &good, w.now);
    assert_int_equal(done(&call), BYTES);
    assert_false(channel_is_busy(w.channels[1]));
    assert_int_equal(close_rd(rd), 0);
}

/* What comes needs a thread that takes it. */
CASE(busy__while_data_comes)
{
    static uint8_t buf[8192];
    Call call;
    int rd = open_at(BYTES, 0, 0);
    assert_reads_file(rd, 0, 0, 8192);
    settle();
    call_read_start(&call, w.channels[1], rd, 0, buf, sizeof buf, w.now);
    channel_step(w.channels[1], w.now);
    assert_true(channel_is_busy(w.channels[1]));
    assert_int_equal(finish(&call), sizeof buf);
    assert_int_equal(close_rd(rd), 0);
}

/* ---- extents -------------------------------------------------------------------------------- */

/* Of a long hint a read brings its own megabyte alone; the rest stays announced on both sides. */
CASE(announced__no_more_than_a_megabyte)
{
    enum { MIB = 1 << 20, PIECE = 64 * WIRE_BLOCK_SIZE };
    static uint8_t byte;
    Call reader;
    int rd = open_at(FILE_BYTES_MAX, 0, 0);
    assert_int_equal(client_prefetch(w.client, rd, 0, FILE_BYTES_MAX), 0);
    call_read_start(&reader, w.channels[1], rd, MIB + 5, &byte, 1, w.now);
    for (uint64_t at = MIB; at < 2 * MIB; at += PIECE) {
        Call *needs = run_to_file(&reader);
        assert_ptr_equal(needs, &reader);
        assert_int_equal(needs->file_offset, at);
        assert_int_equal(needs->file_len, PIECE);
        do_file(needs);
    }
    assert_int_equal(finish(&reader), 1);
    assert_int_equal(stats().extents, 1);
    uint64_t in_background = 0;
    for (Call *needs; settle(), (needs = next_file_needed(w.channels[0])); do_file(needs))
        in_background += needs->file_len;
    assert_int_equal(in_background, FILE_BYTES_MAX - MIB);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES_MAX);
}
