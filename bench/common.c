/* SPDX-License-Identifier: MIT */
/* Shared parts of the benchmark programs: see common.h. */
#include "bench/common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/num.h"

enum { MAKE_STEP_BYTES = 1 << 20 };

/* Word @index of every data set. Word 0 is not 0, so that a hole in the file shows. */
static uint64_t data_word(uint64_t index)
{
    return mix64(index + 0x9e3779b97f4a7c15ull);
}

/* The part of word @index that covers [at, at + room): copied to @out; returns its length. */
static size_t data_part(uint64_t at, size_t room, uint8_t *out)
{
    uint8_t word[8];
    size_t skip = at % 8, n = 8 - skip < room ? 8 - skip : room;
    put_u64(word, data_word(at / 8));
    memcpy(out, word + skip, n);
    return n;
}

void bench_data_make(uint64_t offset, void *buf, size_t len)
{
    uint8_t *p = buf;
    while (len > 0) {
        size_t n = data_part(offset, len, p);
        offset += n;
        p += n;
        len -= n;
    }
}

uint64_t bench_data_wrong(uint64_t offset, const void *buf, size_t len)
{
    const uint8_t *p = buf;
    uint64_t wrong = 0;
    while (len > 0) {
        uint8_t part[8];
        size_t n = data_part(offset, len, part);
        if (memcmp(part, p, n) != 0)
            for (size_t i = 0; i < n; i++)
                wrong += part[i] != p[i];
        offset += n;
        p += n;
        len -= n;
    }
    return wrong;
}

static int write_all(int fd, uint64_t offset, const uint8_t *p, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, p, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        offset += (size_t)n;
        len -= (size_t)n;
    }
    return 0;
}

int bench_file_write(int fd, uint64_t offset, uint64_t len)
{
    size_t step = (size_t)min_u64(len, MAKE_STEP_BYTES);
    void *buf CLEANUP_FREE = malloc(step + 1);
    if (!buf)
        return -ENOMEM;
    for (uint64_t at = 0; at < len; at += step) {
        size_t n = (size_t)min_u64(len - at, step);
        bench_data_make(offset + at, buf, n);
        int r = write_all(fd, offset + at, buf, n);
        if (r < 0)
            return r;
    }
    return 0;
}

int bench_file_make(const char *path, uint64_t size)
{
    int fd CLEANUP_CLOSE = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int r = bench_file_write(fd, 0, size);
    return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t bench_percentile(uint32_t *values, size_t count, unsigned permille)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_u32);
    size_t at = count * permille / 1000;
    return values[at < count ? at : count - 1];
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_double);
    return values[count / 2];
}
