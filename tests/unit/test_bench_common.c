/* SPDX-License-Identifier: MIT */
/* The benchmarks' data set, random numbers and percentiles: what their verdicts stand on. */

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "bench/common.h"
#include "tests/lib/case.h"

TEST(data__is_a_function_of_the_offset)
{
    uint8_t whole[256], part[256];
    bench_data_make(1000, whole, sizeof whole);
    for (size_t at = 0; at < 40; at++)
        for (size_t len = 0; len < 40; len++) {
            memset(part, 0xEE, sizeof part);
            bench_data_make(1000 + at, part, len);
            assert_memory_equal(part, whole + at, len);
            assert_int_equal(part[len], 0xEE);
            assert_int_equal(bench_data_wrong(1000 + at, whole + at, len), 0);
        }
}

TEST(data__differs_from_place_to_place)
{
    uint8_t a[64], b[64], zero[64] = {0};
    bench_data_make(0, a, sizeof a);
    assert_true(bench_data_wrong(0, zero, sizeof zero) > 32); /* a hole does not pass */
    for (uint64_t at = 8; at < 1 << 20; at *= 2) {
        bench_data_make(at, b, sizeof b);
        assert_true(bench_data_wrong(0, b, sizeof b) > 32);
    }
}

TEST(data_wrong__counts_each_byte)
{
    uint8_t buf[100];
    for (size_t i = 0; i < sizeof buf; i++) {
        bench_data_make(12345, buf, sizeof buf);
        buf[i] ^= 1;
        assert_int_equal(bench_data_wrong(12345, buf, sizeof buf), 1);
        buf[(i + 50) % sizeof buf] ^= 0x80;
        assert_int_equal(bench_data_wrong(12345, buf, sizeof buf), 2);
    }
}

TEST(file_make__has_the_size_and_the_data)
{
    enum { SIZE = 3 * (1 << 20) / 2 + 5 };
    char path[] = "/tmp/dodo-bench-XXXXXX";
    int fd CLEANUP_CLOSE = mkstemp(path);
    uint8_t *buf CLEANUP_FREE = malloc(SIZE);
    struct stat st;
    assert_true(fd >= 0 && buf);
    assert_int_equal(bench_file_make(path, SIZE), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, SIZE);
    assert_int_equal(pread(fd, buf, SIZE, 0), SIZE);
    assert_int_equal(bench_data_wrong(0, buf, SIZE), 0);
    assert_int_equal(unlink(path), 0);
    assert_true(bench_file_make("/nonexistent/file", SIZE) < 0);
}

TEST(random_below__repeats_and_covers)
{
    Random a = {7}, b = {7}, other = {8};
    unsigned seen[10] = {0}, differ = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t v = random_below(&a, 10);
        assert_true(v < 10);
        assert_int_equal(random_below(&b, 10), v);
        differ += random_below(&other, 10) != v;
        seen[v]++;
    }
    for (unsigned i = 0; i < 10; i++)
        assert_in_range(seen[i], 50, 150);
    assert_true(differ > 800);
}

TEST(percentile__picks_by_rank)
{
    uint32_t values[] = {5, 1, 4, 2, 3, 10, 9, 8, 7, 6};
    assert_int_equal(bench_percentile(values, 10, 0), 1);
    assert_int_equal(bench_percentile(values, 10, 500), 6);
    assert_int_equal(bench_percentile(values, 10, 990), 10);
    assert_int_equal(bench_percentile(values, 10, 1000), 10);
    assert_int_equal(bench_percentile(values, 0, 500), 0);
}

TEST(median__is_in_the_middle)
{
    double values[] = {5, -1, 4, 2.5, 30, 7};
    assert_true(bench_median(values, 1) == 5);
    assert_true(bench_median(values, 5) == 4);
    assert_true(values[0] == -1 && values[4] == 30);
    assert_true(bench_median(values, 6) == 5);
}
