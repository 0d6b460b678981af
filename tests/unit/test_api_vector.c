/* SPDX-License-Identifier: MIT */
/* Vectored calls and prefetches of the library on a real cluster, every byte verified. (The core's
 * decisions: test_client_vector, test_client_prefetch.) */
#include "tests/lib/case.h"
#include "libdodo/range_held.h"
#include "tests/unit/api_fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char hasty_host[] = "[client]\nrequest_deadline = 60s\ntransfer_deadline = 2s\n"
                                 "refraction = 1us\nreopen = 1h\n";

static uint8_t got[FILE_BYTES];

static void await_filled(int rd, uint64_t bytes)
{
    while (stat_of(rd).filled_bytes < bytes)
        (void)sched_yield();
}

/* ---- vectors -------------------------------------------------------------------------------- */

enum { BUFFERS = 300 };

/* Of many lengths, some none at all, one after the other in memory. */
static size_t lay_out(struct iovec *iov, uint8_t *memory)
{
    size_t sum = 0;
    for (unsigned i = 0; i < BUFFERS; i++) {
        size_t n = i % 50 == 49 ? 100000 : i * i % 997;
        iov[i] = (struct iovec){memory + sum, n};
        sum += n;
    }
    return sum;
}

#define CASE(name) TEST_WITH(name, NULL, tear_down)

CASE(vector__every_byte)
{
    struct iovec iov[BUFFERS];
    begin(no_refraction, "32M");
    int rd = opened_active(FILE_BYTES - 100, fd, 100, 0);
    for (int pass = 0; pass < 3; pass++) { /* from the file, then from memory */
        size_t sum = lay_out(iov, got);
        memset(got, 0, sum);
        assert_int_equal(dodo_mreadv(rd, iov, BUFFERS, 4097), sum);
        assert_memory_equal(got, content + 100 + 4097, sum);
        assert_int_equal(dodo_prefetch(rd, 0, FILE_BYTES), 0);
        await_filled(rd, FILE_BYTES - 100);
    }
    assert_true(stat_of(rd).hits > 0);
    size_t sum = lay_out(iov, got);
    for (size_t i = 0; i < sum; i++)
        got[i] = (uint8_t)~content[100 + 12345 + i];
    assert_int_equal(dodo_mwritev(rd, iov, BUFFERS, 12345), sum);
    memcpy(content + 100 + 12345, got, sum);
    assert_int_equal(pread(fd, got, FILE_BYTES, 0), FILE_BYTES);
    assert_memory_equal(got, content, FILE_BYTES);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(dodo_mread(rd, 0, got, FILE_BYTES), FILE_BYTES - 100);
        assert_memory_equal(got, content + 100, FILE_BYTES - 100);
    }
    assert_int_equal(stat_of(rd).written, sum);
    assert_int_equal(stat_of(rd).active, 1);
}

CASE(vector__arguments)
{
    begin(no_refraction, "32M");
    uint8_t bytes[4];
    struct iovec iov[2] = {{bytes, 2}, {bytes + 2, 2}}, none = {NULL, 1},
                 much[2] = {{bytes, SSIZE_MAX}, {bytes, 1}};
    int rd = opened_active(10000, fd, 0, 0);
    for (int write = 0; write < 2; write++) {
        ssize_t (*call)(int, const struct iovec *, int, off_t) = write ? dodo_mwritev : dodo_mreadv;
        assert_fails(call(-1, iov, 2, 0), ENOMEM);
        assert_fails(call(rd, iov, 2, -1), EINVAL);
        assert_fails(call(rd, iov, 2, 10001), EINVAL);
        assert_fails(call(rd, iov, -1, 0), EINVAL);
        assert_fails(call(rd, iov, IOV_MAX + 1, 0), EINVAL);
        assert_fails(call(rd, NULL, 1, 0), EINVAL);
        assert_fails(call(rd, &none, 1, 0), EINVAL);
        assert_fails(call(rd, much, 2, 0), EINVAL);
        assert_int_equal(call(rd, NULL, 0, 0), 0);
        assert_int_equal(call(rd, iov, 2, 10000), 0);
        assert_int_equal(call(rd, iov, 2, 9997), 3); /* short at the region's end */
    }
    int read_only = dodo_mopen_flags(4096, fd, MIB, DODO_RDONLY);
    assert_fails(dodo_mwritev(read_only, iov, 2, 0), EINVAL);
}

/* ---- several calls ------------------------------------------------------------------------- */

static unsigned overs;

static void over(void *ctx, unsigned i)
{
    const DodoEach *each = ctx;
    assert_int_equal(i, overs++);
    assert_true(each[i].result != 0);
}

/* Two regions, fills and then reads, in pieces that lie apart. */
CASE(each__calls_of_any_regions)
{
    enum { EACH = DODO_EACH_MAX, LEN = 20480, APART = 100 << 10 };
    DodoEach each[EACH];
    struct iovec iov[EACH];
    begin(no_refraction, "32M");
    const int rds[] = {opened_active(2 * MIB, fd, 0, 0), opened_active(2 * MIB, fd, 4 * MIB, 0)};
    errno = 12345;
    for (int pass = 0; pass < 2; pass++) {
        memset(got, 0, sizeof got);
        for (int i = 0; i < EACH; i++) {
            off_t at = (off_t)i * APART;
            const uint8_t *bytes = content + (i % 2 ? 4 * MIB : 0) + at;
            iov[i] = (struct iovec){pass == 0 ? (uint8_t *)(uintptr_t)bytes : got + at, LEN};
            each[i] = (DodoEach){
                .rd = rds[i % 2], .fills = pass == 0, .iov = &iov[i], .iovcnt = 1, .offset = at};
        }
        overs = 0;
        dodo_each(each, EACH, over, each);
        assert_int_equal(overs, EACH);
        for (int i = 0; i < EACH; i++)
            assert_int_equal(each[i].result, LEN);
        for (int k = 0; k < 2; k++)
            assert_int_equal(stat_of(rds[k]).filled_bytes, EACH / 2 * LEN);
    }
    assert_int_equal(errno, 12345);
    for (int i = 0; i < EACH; i++) {
        off_t at = (off_t)i * APART;
        assert_memory_equal(got + at, content + (i % 2 ? 4 * MIB : 0) + at, LEN);
    }
    for (int k = 0; k < 2; k++)
        assert_int_equal(stat_of(rds[k]).hits, EACH / 2 * LEN);
}

CASE(each__fails_by_itself)
{
    uint8_t bytes[3][10];
    struct iovec iov[] = {{bytes[0], 10}, {bytes[1], 10}, {bytes[2], 10}};
    DodoEach each[] = {{.rd = -1, .iov = &iov[0], .iovcnt = 1},
                       {.iov = &iov[1], .iovcnt = 1, .offset = 50},
                       {.iov = &iov[2], .iovcnt = 1, .offset = 10001}};
    overs = 0;
    dodo_each(each, 1, over, each); /* nothing was ever opened */
    assert_int_equal(each[0].error, ENOMEM);
    begin(no_refraction, "32M");
    each[1].rd = each[2].rd = opened_active(10000, fd, 0, 0);
    overs = 0;
    dodo_each(each, 3, over, each);
    assert_int_equal(each[0].result, -1);
    assert_int_equal(each[0].error, ENOMEM);
    assert_int_equal(each[1].result, 10);
    assert_memory_equal(bytes[1], content + 50, 10);
    assert_int_equal(each[2].result, -1);
    assert_int_equal(each[2].error, EINVAL);
}

/* ---- prefetch ------------------------------------------------------------------------------- */

CASE(prefetch__the_first_read_hits)
{
    begin(no_refraction, "32M");
    int rd = opened_active(FILE_BYTES - 7, fd, 7, 0);
    errno = 12345;
    assert_int_equal(dodo_prefetch(rd, 0, FILE_BYTES), 0);
    assert_int_equal(errno, 12345);
    await_filled(rd, FILE_BYTES - 7);
    assert_int_equal(stat_of(rd).misses + stat_of(rd).hits, 0);
    assert_int_equal(dodo_mread(rd, 0, got, FILE_BYTES), FILE_BYTES - 7);
    assert_memory_equal(got, content + 7, FILE_BYTES - 7);
    assert_int_equal(stat_of(rd).misses, 0);
}

CASE(prefetch__arguments)
{
    begin(hasty_host, "32M");
    int rd = opened_active(10000, fd, 0, 0);
    assert_fails(dodo_prefetch(-1, 0, 1), ENOMEM);
    assert_fails(dodo_prefetch(rd, -1, 1), EINVAL);
    assert_fails(dodo_prefetch(rd, 10001, 1), EINVAL);
    assert_fails(dodo_prefetch(rd, 0, (size_t)SSIZE_MAX + 1), EINVAL);
    assert_int_equal(dodo_prefetch(rd, 10000, 1), 0);
    daemon_kill(&cluster.imds[0]);
    assert_fails(dodo_mread(rd, 0, got, 1), ENOMEM);
    assert_fails(dodo_prefetch(rd, 0, 1), ENOMEM);
}

/* Reads and writes go on beside it, and find what they must. */
CASE(prefetch__beside_calls)
{
    begin(no_refraction, "32M");
    int rd = opened_active(FILE_BYTES, fd, 0, 0);
    assert_int_equal(dodo_prefetch(rd, 0, FILE_BYTES), 0);
    for (unsigned i = 0; i < 200; i++) {
        size_t at = i * 7919 * 41u % (FILE_BYTES - 20000), len = 1 + i * 97 % 20000;
        if (i % 3 == 0) {
            memset(content + at, (int)i, len);
            assert_int_equal(dodo_mwrite(rd, (off_t)at, content + at, len), len);
        }
        assert_int_equal(dodo_mread(rd, (off_t)at, got, len), len);
        assert_memory_equal(got, content + at, len);
    }
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(dodo_mread(rd, 0, got, FILE_BYTES), FILE_BYTES);
        assert_memory_equal(got, content, FILE_BYTES);
    }
    assert_int_equal(stat_of(rd).active, 1);
}

CASE(prefetch__ends)
{
    begin(no_refraction, "32M");
    for (int round = 0; round < 12; round++) {
        int rd = opened_active(FILE_BYTES, fd, 0, 0);
        assert_int_equal(dodo_prefetch(rd, 0, FILE_BYTES), 0);
        if (round % 4)
            await_filled(rd, (uint64_t)round * 100000);
        if (round % 3 == 0) {
            assert_int_equal(dodo_shutdown(), 0);
        } else {
            if (round % 3 == 1) {
                (void)fflush(NULL);
                pid_t child = fork();
                if (child == 0)
                    _exit(dodo_prefetch(rd, 0, 1) == -1 && errno == ENOMEM ? 0 : 1);
                assert_int_equal(child_wait(child), 0);
            }
            assert_int_equal(dodo_mclose(rd), 0);
        }
    }
}

/* argv: the file. Ends in the middle of it. */
static int child_main(char **argv)
{
    fd = open(argv[0], O_RDWR | O_CLOEXEC);
    int rd = dodo_mopen(FILE_BYTES, fd, 0);
    return rd >= 0 && dodo_prefetch(rd, 0, FILE_BYTES) == 0 ? 0 : 1;
}

CASE(prefetch__exit)
{
    begin(no_refraction, "32M");
    const char *args[] = {path, NULL};
    for (int round = 0; round < 3; round++)
        child_must_succeed(child_start(args), "exit");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return child_main(argv + 2);
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
