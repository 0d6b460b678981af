/* SPDX-License-Identifier: MIT */
/* The client's core, call by call: regions are written, beside each other and beside reads. */
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/run.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(write__both_halves)
{
    static uint8_t data[300000];
    int rd = open_at(500000, 1000, 0);
    memset(data, 0x5A, sizeof data);
    assert_int_equal(write_at(rd, 4096, data, sizeof data), sizeof data);
    assert_memory_equal(w.disk.bytes + 1000 + 4096, data, sizeof data);
    assert_reads_file(rd, 1000, 4096, 290000);
    assert_int_equal(info(rd).misses, 0);
    assert_int_equal(info(rd).written, sizeof data);
}

/* The last block is shorter, and whole all the same. */
CASE(write__fills_the_end_of_the_region)
{
    enum { LEN = WIRE_BLOCK_SIZE + 100 };
    static uint8_t data[LEN], back[100];
    int rd = open_at(LEN, 0, 0);
    memset(data, 0x5A, sizeof data);
    assert_int_equal(write_at(rd, 0, data, LEN), LEN);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(read_at(rd, WIRE_BLOCK_SIZE, back, sizeof back), sizeof back);
    assert_memory_equal(back, data, sizeof back);
    assert_int_equal(info(rd).hits, sizeof back);
}

/* The process ends: no host is asked, nor waited for, also by calls under way. */
CASE(stop__ends_calls_under_way)
{
    static uint8_t buf[8192];
    Call call;
    int rd = open_at(sizeof buf, 0, 0);
    assert_reads_file(rd, 0, 0, sizeof buf);
    settle();
    call_read_start(&call, w.channels[1], rd, 0, buf, sizeof buf, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(call.need, NEED_NETWORK);
    uint64_t begin = w.now;
    client_stop(w.client, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_true(w.now - begin < NS_PER_MS);
}

CASE(cancel__not_of_a_close)
{
    Call call;
    int rd = open_at(8192, 0, 0);
    call_close_start(&call, w.channels[1], rd, w.now);
    assert_false(call_cancel(&call));
    assert_int_equal(done(&call), 0);
}

/* The endpoint gives up the session with the host: the transfer starts again on the next one, and
 * what credit it had is free again. */
CASE(session__may_end_under_a_call)
{
    static uint8_t buf[8192];
    int rd = open_at(sizeof buf, 0, 0);
    assert_reads_file(rd, 0, 0, sizeof buf);
    settle();
    for (unsigned writes = 0; writes < 2; writes++) {
        Call call;
        Channel *ch = w.channels[1];
        if (writes)
            call_write_start(&call, ch, rd, 0, buf, sizeof buf, w.now);
        else
            call_read_start(&call, ch, rd, 0, buf, sizeof buf, w.now);
        channel_step(ch, w.now);
        const Addr host = info(rd).host;
        Session *s = endpoint_find(ch->endpoint, &host);
        assert_non_null(s);
        assert_true(w.client->credit.used_bytes > 0);
        runs_session_closed(ch, s);
        assert_int_equal(w.client->credit.used_bytes, 0);
        endpoint_forget(ch->endpoint, s);
        assert_int_equal(done(&call), sizeof buf);
        assert_true(info(rd).active);
        assert_int_equal(w.client->credit.used_bytes, 0);
    }
}

CASE(write__remote_failure_poisons)
{
    uint8_t data[100] = {1, 2, 3};
    int rd = open_at(8192, 0, 0);
    assert_reads_file(rd, 0, 0, 8192);
    settle();
    w.net.imd_dead = true;
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data); /* the file has it */
    assert_memory_equal(w.disk.bytes, data, sizeof data);
    w.net.imd_dead = false;
    assert_int_equal(write_at(rd, 0, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(read_at(rd, 0, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(write__file_failure_unfills)
{
    static uint8_t data[100000];
    int rd = open_at(200000, 0, 0);
    assert_reads_file(rd, 0, 0, 200000);
    settle();
    memset(data, 0x33, sizeof data);
    w.disk.write_error = ENOSPC;
    assert_int_equal(write_at(rd, 4096, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOSPC);
    w.disk.write_error = 0;
    assert_true(info(rd).active);
    assert_true(stats().voided > 0);
    for (uint64_t b = 1; b <= (4096 + sizeof data - 1) / 4096; b++)
        assert_false(imd_data_block_filled(w.data, w.cmd.last.region, b));
    assert_true(imd_data_block_filled(w.data, w.cmd.last.region, 0));
    assert_reads_file(rd, 0, 0, 200000);
}

CASE(write__short_file_write_tells_its_count)
{
    uint8_t data[20000];
    int rd = open_at(40960, 0, 0);
    memset(data, 0x44, sizeof data);
    w.disk.write_short = 6000;
    assert_int_equal(write_at(rd, 0, data, sizeof data), 6000);
    w.disk.write_short = 0;
    assert_reads_file(rd, 0, 0, 40960);
    assert_int_equal(w.disk.bytes[6000], (uint8_t)(6000 * 7 + (6000 >> 9)));
}

/* Windows that were done before the file failed are made unfilled too. */
CASE(write__late_file_failure_unfills_all_windows)
{
    static uint8_t data[FILE_BYTES];
    enum { LEN = 40 * 14 * 4096 / 3 };
    int rd = open_at(LEN, 0, 0);
    Call call;
    memset(data, 0x66, sizeof data);
    call_write_start(&call, w.channels[1], rd, 0, data, LEN, w.now);
    channel_step(w.channels[1], w.now);
    while (call.need != NEED_FILE_WRITE)
        channel_step(w.channels[1], w.now);
    call_file_taken(&call);
    settle(); /* the whole remote half is over, the disk is slow */
    assert_true(imd_data_block_filled(w.data, w.cmd.last.region, 0));
    FileResult failed = {.count = -1, .error = EIO};
    call_file_done(&call, &failed, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    for (uint64_t b = 0; b < (LEN + 4095) / 4096; b++)
        assert_false(imd_data_block_filled(w.data, w.cmd.last.region, b));
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(write__inactive_reaches_no_file)
{
    uint8_t data[10] = {0}, before = w.disk.bytes[0];
    int rd = open_at(8192, 0, 0);
    imd_data_drop(w.data, w.cmd.last.region);
    assert_int_equal(read_at(rd, 0, data, 1), -1);
    data[0] = (uint8_t)(before + 1);
    assert_int_equal(write_at(rd, 0, data, 10), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.disk.bytes[0], before);
}

/* ---- calls beside each other ---------------------------------------------------------------- */

CASE(beside__read_takes_the_file)
{
    uint8_t data[4096], buf[4096];
    int rd = open_at(40960, 0, 0);
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    Call call;
    memset(data, 0x77, sizeof data);
    call_write_start(&call, w.channels[1], rd, 4096, data, sizeof data, w.now);
    channel_step(w.channels[1], w.now);
    while (call.need != NEED_FILE_WRITE)
        channel_step(w.channels[1], w.now);
    call_file_taken(&call);
    memcpy(w.disk.bytes + 4096, data,
           sizeof data); /* the file half is over, the remote half is not */
    Call reader;
    call_read_start(&reader, w.channels[2], rd, 4096, buf, sizeof buf, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(reader.need, NEED_FILE_READ);
    assert_int_equal(finish(&reader), sizeof buf);
    assert_memory_equal(buf, data, sizeof buf);
    assert_int_equal(stats().reads_beside_writes, 1);
    FileResult good = {.count = sizeof data};
    call_file_done(&call, &good, w.now);
    assert_int_equal(done(&call), sizeof data);
}

CASE(beside__writes_of_a_common_block_queue)
{
    uint8_t a[100], b[100];
    int rd = open_at(40960, 0, 0);
    Call one, two;
    memset(a, 1, sizeof a);
    memset(b, 2, sizeof b);
    call_write_start(&one, w.channels[1], rd, 4096, a, sizeof a, w.now);
    channel_step(w.channels[1], w.now);
    call_write_start(&two, w.channels[2], rd, 8191, b, sizeof b, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(two.need, NEED_BLOCKED);
    assert_int_equal(done(&one), sizeof a);
    assert_int_equal(done(&two), sizeof b);
    assert_int_equal(stats().blocked >= 1, 1);
}

CASE(sync__failure_poisons)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0);
    Call call;
    w.disk.sync_error = EIO;
    call_sync_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
}

/* The host remembers 64 numbers from the lowest that is open: the one after waits for it. */
CASE(write__as_many_numbers_as_the_host_remembers)
{
    uint8_t data[100] = {1};
    int rd = open_at(16384, 0, 0);
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data);
    assert_writes_wait(rd);
    assert_int_equal(stats().poisoned, 0);
}
