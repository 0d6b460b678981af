/* SPDX-License-Identifier: MIT */
/* The public calls without a cluster: every row of the errors that need none, FALLBACK as a plain
 * file, fork. (With a cluster: tests/net.) */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "tests/lib/call_asserts.h"
#include "tests/lib/case.h"
#include "tests/lib/tasks.h"

enum { FILE_BYTES = 100000 };

static char path[] = "/tmp/dodo-test-api-XXXXXX";
static int fd = -1;

static uint8_t byte_at(off_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8));
}

static int set_up(void **state)
{
    (void)state;
    uint8_t *data = malloc(FILE_BYTES);
    fd = mkstemp(path);
    for (off_t i = 0; i < FILE_BYTES; i++)
        data[i] = byte_at(i);
    ssize_t n = pwrite(fd, data, FILE_BYTES, 0);
    free(data);
    return n == FILE_BYTES ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(dodo_shutdown(), 0);
    close(fd);
    return unlink(path);
}

/* ---- mopen ---------------------------------------------------------------------------------- */

TEST(mopen__length_below_one)
{
    assert_fails(mopen(0, fd, 0), EINVAL);
}

TEST(mopen__offset_below_zero)
{
    assert_fails(mopen(4096, fd, -1), EINVAL);
}

TEST(mopen__range_overflows)
{
    assert_fails(mopen(SIZE_MAX, fd, 4096), EINVAL);
    assert_fails(mopen(4096, fd, (off_t)(INT64_MAX - 10)), EINVAL);
}

TEST(mopen__bad_descriptor)
{
    assert_fails(mopen(4096, -1, 0), EINVAL);
    assert_fails(mopen(4096, 9999, 0), EINVAL);
}

TEST(mopen__not_open_for_writing)
{
    int read_only = open(path, O_RDONLY | O_CLOEXEC);
    assert_fails(mopen(4096, read_only, 0), EINVAL);
    close(read_only);
}

TEST(mopen__not_a_regular_file)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_fails(mopen(4096, ends[1], 0), EINVAL);
    close(ends[0]);
    close(ends[1]);
    int dir = open("/tmp", O_RDONLY | O_CLOEXEC);
    assert_fails(dodo_mopen_flags(4096, dir, 0, DODO_RDONLY), EINVAL);
    close(dir);
}

/* With DODO_RDONLY it need not be open for writing, and the text does not ask for that. */
TEST(mopen__not_open_for_reading)
{
    int write_only = open(path, O_WRONLY | O_CLOEXEC);
    assert_fails(mopen(4096, write_only, 0), EINVAL);
    assert_non_null(strstr(dodo_last_error(), "open for reading and writing"));
    assert_fails(dodo_mopen_flags(4096, write_only, 0, DODO_RDONLY), EINVAL);
    assert_non_null(strstr(dodo_last_error(), "open for reading"));
    assert_null(strstr(dodo_last_error(), "writing"));
    close(write_only);
}

TEST(mopen__unknown_flag)
{
    for (unsigned flag = 1u << 5; flag != 0; flag <<= 1) /* those of dodo.h come before */
        assert_fails(dodo_mopen_flags(4096, fd, 0, flag), EINVAL);
}

TEST(mopen__no_manager_is_no_memory)
{
    assert_fails(mopen(4096, fd, 0), ENOMEM);
    assert_non_null(strstr(dodo_last_error(), "DODO_MANAGER"));
}

static char logged[1024];

static void on_line(void *ctx, int level, const char *text)
{
    (void)ctx, (void)level;
    (void)snprintf(logged, sizeof logged, "%s", text);
}

/* Programs print it to a terminal. */
TEST(last_error__is_printable)
{
    assert_int_equal(dodo_shutdown(), 0);
    dodo_set_log(on_line, NULL);
    assert_int_equal(setenv("DODO_MANAGER", "a\x1b[31m b", 1), 0);
    assert_fails(mopen(4096, fd, 0), ENOMEM);
    assert_non_null(strstr(dodo_last_error(), "DODO_MANAGER=a?[31m b: expected"));
    assert_non_null(strstr(logged, "start_failed reason=\"DODO_MANAGER=a?[31m b: expected"));
    dodo_set_log(NULL, NULL);
    assert_int_equal(unsetenv("DODO_MANAGER"), 0);
}

/* ---- descriptors that are none -------------------------------------------------------------- */

TEST(calls__unknown_descriptor)
{
    char buf[8];
    DodoStat st;
    for (int rd = -1; rd < 2000000000; rd = rd * 2 + 1000000) {
        assert_fails(mread(rd, 0, buf, sizeof buf), ENOMEM);
        assert_fails(mwrite(rd, 0, buf, sizeof buf), ENOMEM);
        assert_fails(dodo_mreadv(rd, &(struct iovec){buf, 1}, 1, 0), ENOMEM);
        assert_fails(dodo_mwritev(rd, &(struct iovec){buf, 1}, 1, 0), ENOMEM);
        assert_fails(dodo_prefetch(rd, 0, 1), ENOMEM);
        assert_fails(dodo_mdiscard(rd, 0, 1), ENOMEM);
        assert_fails(mclose(rd), EINVAL);
        assert_fails(msync(rd), EINVAL);
        assert_fails(dodo_stat(rd, &st), EINVAL);
    }
}

/* ---- FALLBACK: the file serves -------------------------------------------------------------- */

TEST(fallback__reads_and_writes_the_file)
{
    uint8_t buf[9000], again[9000];
    DodoStat st;
    int rd = dodo_mopen_flags(50000, fd, 1000, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(mread(rd, 100, buf, sizeof buf), sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        assert_int_equal(buf[i], byte_at(1100 + (off_t)i));
    memset(buf, 7, sizeof buf);
    assert_int_equal(mwrite(rd, 20000, buf, sizeof buf), sizeof buf);
    assert_int_equal(msync(rd), 0);
    assert_int_equal(pread(fd, again, sizeof again, 21000), sizeof again);
    assert_memory_equal(buf, again, sizeof buf);
    assert_int_equal(dodo_stat(rd, &st), 0);
    assert_int_equal(st.active, 0);
    assert_int_equal(st.length, 50000);
    assert_int_equal(st.misses, sizeof buf);
    assert_int_equal(st.hits, 0);
    assert_int_equal(st.written, sizeof buf);
    assert_string_equal(st.host, "");
    assert_int_equal(mclose(rd), 0);
    assert_fails(mclose(rd), EINVAL);
}

TEST(fallback__short_at_the_regions_end)
{
    uint8_t buf[100] = {0};
    int rd = dodo_mopen_flags(5000, fd, 0, DODO_FALLBACK);
    assert_int_equal(mread(rd, 4990, buf, sizeof buf), 10);
    assert_int_equal(mread(rd, 5000, buf, sizeof buf), 0);
    assert_int_equal(mwrite(rd, 4990, buf, sizeof buf), 10);
    assert_int_equal(mclose(rd), 0);
}

TEST(fallback__short_at_the_files_end)
{
    uint8_t buf[8192];
    int rd = dodo_mopen_flags(200000, fd, FILE_BYTES - 3000, DODO_FALLBACK);
    assert_int_equal(mread(rd, 0, buf, sizeof buf), 3000);
    assert_int_equal(mread(rd, 3000, buf, sizeof buf), 0);
    assert_int_equal(mread(rd, 100000, buf, sizeof buf), 0);
    assert_int_equal(mclose(rd), 0);
}

TEST(fallback__bad_arguments)
{
    char buf[8];
    int rd = dodo_mopen_flags(5000, fd, 0, DODO_FALLBACK);
    assert_fails(mread(rd, -1, buf, 1), EINVAL);
    assert_fails(mread(rd, 5001, buf, 1), EINVAL);
    assert_fails(mread(rd, 0, NULL, 1), EINVAL);
    assert_fails(mread(rd, 0, buf, (size_t)SSIZE_MAX + 1), EINVAL);
    assert_fails(mwrite(rd, -1, buf, 1), EINVAL);
    assert_fails(mwrite(rd, 5001, buf, 1), EINVAL);
    assert_fails(mwrite(rd, 0, NULL, 1), EINVAL);
    assert_int_equal(mread(rd, 0, NULL, 0), 0);
    assert_int_equal(mwrite(rd, 0, NULL, 0), 0);
    assert_fails(dodo_stat(rd, NULL), EINVAL);
    assert_fails(dodo_mreadv(rd, NULL, 1, 0), EINVAL);
    assert_fails(dodo_mwritev(rd, NULL, 1, 0), EINVAL);
    assert_fails(dodo_prefetch(rd, 5001, 1), EINVAL);
    assert_fails(dodo_mdiscard(rd, 5001, 1), EINVAL);
    assert_fails(dodo_mdiscard(rd, -1, 1), EINVAL);
    assert_int_equal(dodo_mdiscard(rd, 0, 5000), 0);
    assert_int_equal(dodo_prefetch(rd, 0, 5000), 0); /* nowhere to put it */
    assert_int_equal(mclose(rd), 0);
}

TEST(fallback__vectors)
{
    uint8_t a[3000], b[5000];
    struct iovec iov[3] = {{a, sizeof a}, {NULL, 0}, {b, sizeof b}};
    int rd = dodo_mopen_flags(50000, fd, 1000, DODO_FALLBACK);
    assert_int_equal(dodo_mreadv(rd, iov, 3, 100), 8000);
    for (off_t i = 0; i < 8000; i++)
        assert_int_equal(i < 3000 ? a[i] : b[i - 3000], byte_at(1100 + i));
    memset(a, 8, sizeof a);
    memset(b, 9, sizeof b);
    assert_int_equal(dodo_mwritev(rd, iov, 3, 40000), 8000);
    assert_int_equal(mclose(rd), 0);
    assert_int_equal(pread(fd, a, 2, 41000 + 2999), 2);
    assert_int_equal(a[0] * 10 + a[1], 89);
}

TEST(fallback__read_only)
{
    char buf[8] = "";
    int read_only = open(path, O_RDONLY | O_CLOEXEC);
    int rd = dodo_mopen_flags(5000, read_only, 0, DODO_FALLBACK | DODO_RDONLY);
    assert_true(rd >= 0);
    assert_int_equal(mread(rd, 0, buf, sizeof buf), sizeof buf);
    assert_fails(mwrite(rd, 0, buf, sizeof buf), EINVAL);
    assert_int_equal(mclose(rd), 0);
    close(read_only);
}

/* Its own description: no O_APPEND, whatever the program's has; and the program may close its. */
TEST(fallback__own_description)
{
    char buf[4] = "abcd", again[4];
    int appending = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    int rd = dodo_mopen_flags(5000, appending, 0, DODO_FALLBACK);
    close(appending);
    assert_int_equal(mwrite(rd, 10, buf, sizeof buf), sizeof buf);
    assert_int_equal(pread(fd, again, sizeof again, 10), sizeof again);
    assert_memory_equal(buf, again, sizeof buf);
    assert_int_equal(lseek(fd, 0, SEEK_END), FILE_BYTES);
    assert_int_equal(mclose(rd), 0);
}

TEST(fallback__file_error_passes)
{
    int full = memfd_create("full", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    char buf[8] = "1234567";
    assert_int_equal(ftruncate(full, 4096), 0);
    int rd = dodo_mopen_flags(8192, full, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(fcntl(full, F_ADD_SEALS, F_SEAL_GROW), 0);
    assert_int_equal(mwrite(rd, 0, buf, sizeof buf), sizeof buf);
    assert_fails(mwrite(rd, 5000, buf, sizeof buf), EPERM);
    assert_int_equal(mclose(rd), 0);
    close(full);
}

/* ---- locks ---------------------------------------------------------------------------------- */

TEST(lock__overlap_is_busy)
{
    int one = dodo_mopen_flags(8192, fd, 4096, DODO_FALLBACK);
    assert_true(one >= 0);
    assert_fails(dodo_mopen_flags(1, fd, 4096 + 8191, DODO_FALLBACK), EBUSY);
    assert_fails(dodo_mopen_flags(1, fd, 4096, DODO_FALLBACK | DODO_RDONLY), EBUSY);
    int beside = dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK);
    assert_true(beside >= 0);
    assert_int_equal(mclose(one), 0);
    one = dodo_mopen_flags(8192, fd, 4096, DODO_FALLBACK);
    assert_true(one >= 0);
    assert_int_equal(mclose(one), 0);
    assert_int_equal(mclose(beside), 0);
}

TEST(lock__readers_share)
{
    int one = dodo_mopen_flags(8192, fd, 0, DODO_FALLBACK | DODO_RDONLY);
    int two = dodo_mopen_flags(8192, fd, 4096, DODO_FALLBACK | DODO_RDONLY);
    assert_true(one >= 0 && two >= 0 && one != two);
    assert_fails(dodo_mopen_flags(8192, fd, 0, DODO_FALLBACK), EBUSY);
    assert_int_equal(mclose(one), 0);
    assert_int_equal(mclose(two), 0);
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* The child has no regions, may open its own, and does not keep the parent's lock. */
TEST(fork__child_starts_with_nothing)
{
    char buf[8];
    int rd = dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int bad = 0;
        bad |= mread(rd, 0, buf, 1) != -1 || errno != ENOMEM;
        bad |= dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK) != -1 || errno != EBUSY ? 2 : 0;
        int own = dodo_mopen_flags(4096, fd, 8192, DODO_FALLBACK);
        bad |= own < 0 || mread(own, 0, buf, 1) != 1 ? 4 : 0;
        bad |= dodo_shutdown() != 0 ? 8 : 0;
        _exit(bad);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(mread(rd, 0, buf, 1), 1);
    assert_int_equal(mclose(rd), 0);
}

TEST(msync__posix_keeps_its_own)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(msync(page, 4096, MS_SYNC), 0);
    assert_int_equal(munmap(page, 4096), 0);
}

TEST(shutdown__starts_again)
{
    int rd = dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(dodo_shutdown(), 0);
    assert_fails(mclose(rd), EINVAL);
    assert_int_equal(dodo_shutdown(), 0);
    rd = dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(mclose(rd), 0);
}

/* What has no region yet costs a program no thread. */
TEST(thread__with_the_first_region)
{
    assert_int_equal(dodo_shutdown(), 0);
    unsigned before = tasks_count();
    assert_true(before > 0);
    DodoQueue *q = dodo_queue_open(1);
    assert_non_null(q);
    assert_int_equal(tasks_count(), before);
    assert_int_equal(dodo_queue_close(q), 0);
    assert_int_equal(dodo_shutdown(), 0); /* nor does it need one to end */
    assert_non_null(q = dodo_queue_open(1));
    int rd = dodo_mopen_flags(4096, fd, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(tasks_count(), before + 1);
    assert_int_equal(mclose(rd), 0);
    assert_int_equal(dodo_queue_close(q), 0);
    assert_int_equal(dodo_shutdown(), 0);
    assert_int_equal(tasks_count(), before);
}

int main(void)
{
    (void)unsetenv("DODO_MANAGER");
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    return cases_run(set_up, tear_down);
}
