/* SPDX-License-Identifier: MIT */
/* Vectored calls of the client's core: preadv() and pwritev() on a region. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#include <limits.h>

static uint8_t memory[FILE_BYTES];
static struct iovec iov[IOV_MAX + 1];

static ssize_t readv_at(int rd, off_t offset, const struct iovec *v, int count)
{
    Call call;
    call_readv_start(&call, w.channels[1], rd, offset, v, count, w.now);
    return done(&call);
}

static ssize_t writev_at(int rd, off_t offset, const struct iovec *v, int count)
{
    Call call;
    call_writev_start(&call, w.channels[1], rd, offset, v, count, w.now);
    return done(&call);
}

/* Buffers one after the other in memory, with a gap of one byte each that must stay as it is. */
static size_t lay_out(const size_t *lengths, int count)
{
    size_t at = 0, sum = 0;
    memset(memory, 0xEE, sizeof memory);
    for (int i = 0; i < count; i++) {
        iov[i] = (struct iovec){memory + at, lengths[i]};
        at += lengths[i] + 1;
        sum += lengths[i];
    }
    assert_true(at <= sizeof memory);
    return sum;
}

static void assert_scattered(const size_t *lengths, int count, const uint8_t *want, size_t len)
{
    const uint8_t *at = memory;
    for (int i = 0; i < count; i++) {
        size_t n = lengths[i] < len ? lengths[i] : len;
        assert_memory_equal(at, want, n);
        assert_int_equal(at[lengths[i]], 0xEE);
        at += lengths[i] + 1;
        want += n;
        len -= n;
    }
    assert_int_equal(len, 0);
}

static const size_t mixed[] = {1, 0, 100000, 7, 9000, 0, 20000, 3, 65536, 12, 4096, 30000};
enum { MIXED = sizeof mixed / sizeof *mixed };

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- reading -------------------------------------------------------------------------------- */

CASE(readv__buffers_of_all_sizes)
{
    int rd = open_at(FILE_BYTES, 0, 0);
    for (unsigned round = 0; round < 2; round++) {
        size_t sum = lay_out(mixed, MIXED);
        assert_int_equal(readv_at(rd, 1234, iov, MIXED), sum);
        assert_scattered(mixed, MIXED, w.disk.bytes + 1234, sum);
        assert_reads_file(rd, 0, 0, FILE_BYTES);
        settle();
    }
    uint64_t misses = info(rd).misses, hits = info(rd).hits;
    size_t sum = lay_out(mixed, MIXED);
    assert_int_equal(readv_at(rd, 99, iov, MIXED), sum);
    assert_scattered(mixed, MIXED, w.disk.bytes + 99, sum);
    assert_int_equal(info(rd).misses, misses);
    assert_int_equal(info(rd).hits, hits + sum);
}

CASE(readv__small_buffers_share_an_ask)
{
    size_t lengths[1000];
    for (unsigned i = 0; i < 1000; i++)
        lengths[i] = 50;
    int rd = open_at(200000, 0, 0);
    assert_reads_file(rd, 0, 0, 200000);
    settle();
    unsigned before = w.net.datagrams;
    lay_out(lengths, 1000);
    assert_int_equal(readv_at(rd, 5000, iov, 1000), 50000);
    assert_scattered(lengths, 1000, w.disk.bytes + 5000, 50000);
    assert_in_range(w.net.datagrams - before, 50000 / 1472, 50);
}

CASE(readv__pieces_run_beside_each_other)
{
    size_t lengths[40];
    for (unsigned i = 0; i < 40; i++)
        lengths[i] = 20000;
    int rd = open_at(FILE_BYTES, 0, 0);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    settle();
    lay_out(lengths, 40);
    Call call, other;
    uint8_t buf[100];
    call_readv_start(&call, w.channels[1], rd, 0, iov, 40, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(calls_on(w.channels[1]), 17); /* itself and sixteen */
    call_readv_start(&other, w.channels[2], rd, 100, (struct iovec[]){{buf, 40}, {buf + 40, 60}}, 2,
                     w.now);
    assert_int_equal(done(&other), 100);
    assert_memory_equal(buf, w.disk.bytes + 100, 100);
    assert_int_equal(done(&call), 800000);
    assert_scattered(lengths, 40, w.disk.bytes, 800000);
    assert_int_equal(calls_on(w.channels[1]), 0);
}

CASE(readv__ends_at_region_and_file)
{
    size_t lengths[] = {10000, 30000, 40000};
    w.disk.size = 30000;
    int rd = open_at(60000, 0, 0);
    lay_out(lengths, 3);
    assert_int_equal(readv_at(rd, 5000, iov, 3), 25000);
    assert_scattered(lengths, 3, w.disk.bytes + 5000, 25000);
    assert_int_equal(readv_at(rd, 40000, iov, 3), 0);
    assert_int_equal(readv_at(rd, 60000, iov, 3), 0);
    w.disk.size = FILE_BYTES;
    lay_out(lengths, 3);
    assert_int_equal(readv_at(rd, 5000, iov, 3), 55000);
    assert_scattered(lengths, 3, w.disk.bytes + 5000, 55000);
}

/* What would not have been read after a short piece cannot fail the call; what precedes one does.
 */
CASE(readv__the_first_to_end_decides)
{
    size_t lengths[] = {20000, 20000, 20000, 20000};
    int rd = open_at(100000, 0, 0);
    w.disk.size = 30000;
    w.disk.read_error = EIO;
    w.disk.error_from = 50000;
    lay_out(lengths, 4);
    assert_int_equal(readv_at(rd, 0, iov, 4), 30000);
    assert_scattered(lengths, 4, w.disk.bytes, 30000);
    w.disk.error_from = 16384;
    assert_int_equal(readv_at(rd, 0, iov, 4), -1);
    assert_int_equal(fail_error, EIO);
    w.disk.size = FILE_BYTES;
    w.disk.error_from = 50000;
    assert_int_equal(readv_at(rd, 0, iov, 4), -1);
    assert_int_equal(fail_error, EIO);
    assert_int_equal(readv_at(rd, 0, iov, 3), 60000);
}

CASE(readv__region_lost)
{
    size_t lengths[] = {100000, 100000};
    int rd = open_at(200000, 0, 0);
    imd_data_drop(w.data, w.cmd.last.region);
    lay_out(lengths, 2);
    assert_int_equal(readv_at(rd, 0, iov, 2), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(stats().regions_lost, 1);
    rd = open_at(200000, 200000, DODO_FALLBACK);
    imd_data_drop(w.data, w.cmd.last.region);
    assert_int_equal(readv_at(rd, 0, iov, 2), 200000);
    assert_scattered(lengths, 2, w.disk.bytes + 200000, 200000);
}

CASE(vector__arguments)
{
    int rd = open_at(8192, 0, 0), closed = rd + 12345, rdonly = open_at(8192, 8192, DODO_RDONLY);
    struct iovec good = {memory, 10}, null = {NULL, 10}, empty = {NULL, 0};
    struct iovec huge[] = {{memory, SSIZE_MAX}, {memory, 1}};
    for (unsigned i = 0; i <= IOV_MAX; i++)
        iov[i] = (struct iovec){memory + i, 1};
    const struct {
        int rd;
        off_t offset;
        const struct iovec *iov;
        int count, error;
    } bad[] = {
        {-1, 0, &good, 1, ENOMEM},  {closed, 0, &null, -1, ENOMEM},
        {rd, -1, &good, 1, EINVAL}, {rd, 8193, &good, 1, EINVAL},
        {rd, 0, &good, -1, EINVAL}, {rd, 0, iov, IOV_MAX + 1, EINVAL},
        {rd, 0, NULL, 1, EINVAL},   {rd, 0, &null, 1, EINVAL},
        {rd, 0, huge, 2, EINVAL},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(readv_at(bad[i].rd, bad[i].offset, bad[i].iov, bad[i].count), -1);
        assert_int_equal(fail_error, bad[i].error);
        assert_int_equal(writev_at(bad[i].rd, bad[i].offset, bad[i].iov, bad[i].count), -1);
        assert_int_equal(fail_error, bad[i].error);
    }
    assert_int_equal(writev_at(rdonly, 0, &good, 1), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_int_equal(readv_at(rd, 8192, &good, 1), 0);
    assert_int_equal(readv_at(rd, 0, &empty, 1), 0);
    assert_int_equal(readv_at(rd, 0, NULL, 0), 0);
    assert_int_equal(writev_at(rd, 0, NULL, 0), 0);
    assert_int_equal(readv_at(rd, 0, iov, IOV_MAX), IOV_MAX);
    assert_memory_equal(memory, w.disk.bytes, IOV_MAX);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(close_rd(rdonly), 0);
}

/* ---- writing -------------------------------------------------------------------------------- */

static size_t fill_buffers(const size_t *lengths, int count, uint8_t *ret_whole)
{
    size_t sum = lay_out(lengths, count), at = 0;
    for (int i = 0; i < count; i++)
        for (size_t j = 0; j < lengths[i]; j++, at++)
            ret_whole[at] = ((uint8_t *)iov[i].iov_base)[j] = (uint8_t)(at * 11 + (at >> 8));
    return sum;
}

CASE(writev__buffers_of_all_sizes)
{
    static uint8_t whole[FILE_BYTES], before[FILE_BYTES];
    int rd = open_at(FILE_BYTES, 0, 0);
    memcpy(before, w.disk.bytes, sizeof before);
    size_t sum = fill_buffers(mixed, MIXED, whole);
    assert_int_equal(writev_at(rd, 777, iov, MIXED), sum);
    assert_memory_equal(w.disk.bytes + 777, whole, sum);
    assert_memory_equal(w.disk.bytes, before, 777);
    assert_memory_equal(w.disk.bytes + 777 + sum, before + 777 + sum, FILE_BYTES - 777 - sum);
    assert_int_equal(info(rd).written, sum);
    assert_int_equal(write_at(rd, 777, before + 777, 10), 10);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_int_equal(readv_at(rd, (off_t)(FILE_BYTES - 10), iov, MIXED), 10);
}

/* The call returns what reached the file, whatever became of the rest. */
CASE(writev__counts_what_reached_the_file)
{
    static uint8_t whole[FILE_BYTES];
    size_t lengths[] = {30000, 30000, 30000};
    int rd = open_at(200000, 0, 0);
    fill_buffers(lengths, 3, whole);
    w.disk.write_error = ENOSPC;
    w.disk.error_from = 60000;
    assert_int_equal(writev_at(rd, 0, iov, 3), 60000);
    assert_memory_equal(w.disk.bytes, whole, 60000);
    w.disk.error_from = 0;
    assert_int_equal(writev_at(rd, 0, iov, 3), -1);
    assert_int_equal(fail_error, ENOSPC);
    w.disk.write_error = 0;
    w.disk.write_short = 20000;
    assert_int_equal(writev_at(rd, 0, iov, 3), 20000);
    w.disk.write_short = 0;
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, 200000);
}

/* One file write at a time, from the first on. */
CASE(writev__one_piece_after_the_other)
{
    static uint8_t whole[FILE_BYTES];
    size_t lengths[] = {100000, 100000, 100000};
    int rd = open_at(400000, 0, 0);
    fill_buffers(lengths, 3, whole);
    Call call;
    call_writev_start(&call, w.channels[1], rd, 0, iov, 3, w.now);
    for (uint64_t at = 0; at < 300000; at += 100000) {
        Call *needs = run_to_file(&call);
        assert_non_null(needs);
        assert_int_equal(needs->file_offset, at);
        assert_int_equal(calls_on(w.channels[1]), 2);
        do_file(needs);
    }
    assert_int_equal(done(&call), 300000);
    assert_memory_equal(w.disk.bytes, whole, 300000);
}
