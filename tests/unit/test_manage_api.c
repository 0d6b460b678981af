/* SPDX-License-Identifier: MIT */
/* libmanage's public calls without a cluster: what each returns, and its errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "tests/lib/posix_lock.h"
#include "tests/lib/scenario.h"

enum { FILE_BYTES = 200000, PIECE = 16384 };

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)(offset * 131 + (offset >> 8));
}

static int file_new(void)
{
    return scenario_file(FILE_BYTES, byte_at);
}

static int open_good(size_t len, int fd, off_t offset, unsigned flags)
{
    int rd = dodo_copen_flags(len, fd, offset, flags);
    CHECK(rd >= 0);
    return rd;
}

static void check_bytes(const uint8_t *buf, uint64_t offset, size_t len)
{
    for (size_t i = 0; i < len; i++)
        CHECK(buf[i] == byte_at(offset + i));
}

static struct manage_stats stats(void)
{
    struct manage_stats st;
    CHECK(manage_stats(&st) == 0);
    return st;
}

/* ---- copen ---------------------------------------------------------------------------------- */

static void copen__bad_arguments(void)
{
    int fd = file_new(), ends[2];
    CHECK_FAILS(copen(0, fd, 0), EINVAL);
    CHECK_FAILS(copen(1, fd, -1), EINVAL);
    CHECK_FAILS(copen(SIZE_MAX, fd, 1), EINVAL);
    CHECK_FAILS(copen(4096, fd, (off_t)(INT64_MAX - 10)), EINVAL);
    CHECK_FAILS(copen(4096, -1, 0), EINVAL);
    CHECK_FAILS(copen(4096, 9999, 0), EINVAL);
    CHECK_FAILS(dodo_copen_flags(4096, fd, 0, 1u << 20), EINVAL);
    CHECK(pipe(ends) == 0);
    CHECK_FAILS(copen(4096, ends[1], 0), EINVAL);
    int dir = open("/tmp", O_RDONLY | O_CLOEXEC);
    CHECK_FAILS(dodo_copen_flags(4096, dir, 0, DODO_RDONLY), EINVAL);
    CHECK(stats().regions == 0);
}

static void copen__takes_the_flags_of_mopen(void)
{
    static const unsigned flags[] = {DODO_RDONLY, DODO_RETAIN, DODO_FALLBACK,
                                     DODO_STRIPE, DODO_MIRROR, DODO_MANAGE_WRITE_THROUGH};
    int fd = file_new();
    for (unsigned i = 0; i < ARRAY_SIZE(flags); i++)
        CHECK(cclose(open_good(PIECE, fd, 0, flags[i])) == 0);
}

static void copen__leaves_the_programs_locks(void)
{
    int fd = file_new();
    posix_lock(fd, F_WRLCK);
    int a = open_good(PIECE, fd, 0, 0), b = open_good(PIECE, fd, PIECE, DODO_RDONLY);
    CHECK_FAILS(copen(PIECE, fd, 0), EBUSY);
    CHECK(posix_locked(fd));
    CHECK(cclose(b) == 0);
    CHECK(posix_locked(fd));
    CHECK(cclose(a) == 0);
    CHECK(posix_locked(fd));
    close(fd);
}

/* Of a lock that ends nowhere, the library's is a part. */
static void copen__beside_a_lock_to_the_files_end(void)
{
    int fd = file_new();
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CHECK(fcntl(fd, F_SETLK, &all) == 0);
    CHECK_FAILS(copen(PIECE, fd, 0), EBUSY);
    CHECK(strstr(dodo_last_error(), "l_len 0"));
    all.l_type = F_RDLCK;
    CHECK(fcntl(fd, F_SETLK, &all) == 0);
    CHECK(cclose(open_good(PIECE, fd, 0, DODO_RDONLY)) == 0);
    all.l_type = F_UNLCK;
    CHECK(fcntl(fd, F_SETLK, &all) == 0 && flock(fd, LOCK_EX) == 0);
    int rd = open_good(PIECE, fd, 0, 0);
    all.l_type = F_WRLCK;
    CHECK_FAILS(fcntl(fd, F_SETLK, &all), EAGAIN);
    CHECK(cclose(rd) == 0 && fcntl(fd, F_SETLK, &all) == 0);
}

static void copen__not_open_for_writing(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file_new());
    int reader = open(path, O_RDONLY | O_CLOEXEC), writer = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(reader >= 0 && writer >= 0);
    CHECK_FAILS(copen(4096, reader, 0), EINVAL);
    CHECK_FAILS(copen(4096, writer, 0), EINVAL);
    CHECK_FAILS(dodo_copen_flags(4096, writer, 0, DODO_RDONLY), EINVAL);
    CHECK(cclose(open_good(4096, reader, 0, DODO_RDONLY)) == 0);
}

/* It reads nothing, keeps errno, and has a description of its own. */
static void copen__own_description(void)
{
    uint8_t buf[100];
    int fd = file_new();
    errno = 77;
    int rd = open_good(FILE_BYTES, fd, 0, 0);
    CHECK(errno == 77 && stats().disk_reads == 0 && stats().regions == 1);
    CHECK(close(fd) == 0);
    CHECK(cread(rd, 1000, buf, sizeof buf) == sizeof buf);
    check_bytes(buf, 1000, sizeof buf);
    CHECK(cclose(rd) == 0 && stats().regions == 0);
}

static void copen__overlap_is_busy(void)
{
    int fd = file_new(), other = file_new();
    int rd = open_good(8192, fd, 4096, 0);
    CHECK_FAILS(copen(8192, fd, 4096), EBUSY);
    CHECK_FAILS(copen(1, fd, 12287), EBUSY);
    CHECK_FAILS(copen(5000, fd, 0), EBUSY);
    CHECK_FAILS(dodo_copen_flags(1, fd, 4096, DODO_RDONLY), EBUSY);
    int before = open_good(4096, fd, 0, 0), after = open_good(4096, fd, 12288, 0);
    int elsewhere = open_good(8192, other, 4096, 0);
    CHECK(cclose(rd) == 0);
    int again = open_good(8192, fd, 4096, 0);
    CHECK(cclose(again) == 0 && cclose(before) == 0 && cclose(after) == 0);
    CHECK(cclose(elsewhere) == 0);
    int readers[] = {open_good(8192, fd, 0, DODO_RDONLY), open_good(8192, fd, 4096, DODO_RDONLY)};
    CHECK_FAILS(copen(1, fd, 5000), EBUSY);
    CHECK(cclose(readers[0]) == 0 && cclose(readers[1]) == 0);
}

/* @flags of another process on the same file: 0, or the errno that it got. */
static int open_elsewhere(int fd, off_t offset, unsigned flags)
{
    pid_t pid = fork();
    if (pid == 0) {
        int rd = dodo_copen_flags(4096, fd, offset, flags);
        _exit(rd >= 0 ? 0 : errno);
    }
    int status = scenario_wait(pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void copen__busy_between_processes(void)
{
    int fd = file_new();
    CHECK(open_elsewhere(fd, 0, 0) == 0);
    int rd = open_good(8192, fd, 4096, 0);
    CHECK(open_elsewhere(fd, 4096, 0) == EBUSY);
    CHECK(open_elsewhere(fd, 2000, DODO_RDONLY) == EBUSY);
    CHECK(open_elsewhere(fd, 0, 0) == 0);
    CHECK(cclose(rd) == 0);
    CHECK(open_elsewhere(fd, 4096, 0) == 0);
    rd = open_good(8192, fd, 4096, DODO_RDONLY);
    CHECK(open_elsewhere(fd, 4096, DODO_RDONLY) == 0);
    CHECK(open_elsewhere(fd, 4096, 0) == EBUSY);
    CHECK(cclose(rd) == 0);
}

/* ---- the other calls ------------------------------------------------------------------------ */

static void calls__no_such_region(void)
{
    uint8_t b = 0;
    for (int round = 0; round < 2; round++) { /* without a cache, and with one */
        int rds[] = {-1, 0, 7, INT_MAX, INT_MIN};
        for (unsigned i = 0; i < ARRAY_SIZE(rds); i++) {
            CHECK_FAILS(cread(rds[i], 0, &b, 1), EINVAL);
            CHECK_FAILS(cwrite(rds[i], 0, &b, 1), EINVAL);
            CHECK_FAILS(csync(rds[i]), EINVAL);
            CHECK_FAILS(cclose(rds[i]), EINVAL);
        }
        CHECK(cclose(open_good(4096, file_new(), 0, 0)) == 0);
    }
}

static void calls__bad_arguments(void)
{
    uint8_t buf[8] = {0};
    int rd = open_good(4096, file_new(), 0, 0);
    CHECK_FAILS(cread(rd, -1, buf, 1), EINVAL);
    CHECK_FAILS(cread(rd, 4097, buf, 1), EINVAL);
    CHECK_FAILS(cread(rd, 0, NULL, 1), EINVAL);
    CHECK_FAILS(cread(rd, 0, buf, (size_t)SSIZE_MAX + 1), EINVAL);
    CHECK_FAILS(cwrite(rd, -1, buf, 1), EINVAL);
    CHECK_FAILS(cwrite(rd, 4097, buf, 1), EINVAL);
    CHECK_FAILS(cwrite(rd, 0, NULL, 1), EINVAL);
    CHECK_FAILS(cwrite(rd, 0, buf, (size_t)SSIZE_MAX + 1), EINVAL);
    CHECK_FAILS(cread(rd, 4097, NULL, 0), EINVAL);
    CHECK(cread(rd, 0, NULL, 0) == 0 && cwrite(rd, 4096, NULL, 0) == 0);
    CHECK(cread(rd, 4096, buf, 8) == 0 && cwrite(rd, 4096, buf, 8) == 0);
    CHECK(cclose(rd) == 0);
    CHECK_FAILS(cclose(rd), EINVAL);
    CHECK_FAILS(manage_stats(NULL), EINVAL);
}

static void calls__short_at_the_regions_end(void)
{
    uint8_t buf[100];
    int fd = file_new(), rd = open_good(5000, fd, 3000, 0);
    CHECK(cread(rd, 4950, buf, sizeof buf) == 50);
    check_bytes(buf, 7950, 50);
    memset(buf, 0xaa, sizeof buf);
    CHECK(cwrite(rd, 4950, buf, sizeof buf) == 50);
    CHECK(csync(rd) == 0 && pread(fd, buf, 100, 7950) == 100);
    CHECK(buf[49] == 0xaa && buf[50] == byte_at(8000));
    CHECK(cclose(rd) == 0);
}

static void calls__read_only(void)
{
    uint8_t buf[64];
    int rd = open_good(FILE_BYTES, file_new(), 0, DODO_RDONLY);
    CHECK_FAILS(cwrite(rd, 0, buf, 1), EINVAL);
    CHECK(cread(rd, 65500, buf, sizeof buf) == sizeof buf);
    check_bytes(buf, 65500, sizeof buf);
    CHECK(csync(rd) == 0 && cclose(rd) == 0);
}

/* ---- the file's end ------------------------------------------------------------------------- */

static void advice__changes_no_byte(void)
{
    uint8_t buf[3 * PIECE];
    int rd = open_good(3 * PIECE, file_new(), 0, 0);
    for (int advice = DODO_CADVISE_NORMAL; advice <= DODO_CADVISE_DONTNEED; advice++) {
        CHECK(dodo_cadvise(rd, PIECE, PIECE, advice) == 0);
        CHECK(cread(rd, 0, buf, sizeof buf) == sizeof buf);
        check_bytes(buf, 0, sizeof buf);
    }
    memset(buf, 0xaa, sizeof buf);
    CHECK(cwrite(rd, PIECE, buf, PIECE) == PIECE);
    CHECK(dodo_cadvise(rd, 0, 0, DODO_CADVISE_DONTNEED) == 0);
    CHECK(cread(rd, PIECE, buf, 1) == 1 && buf[0] == 0xaa);
    CHECK(cclose(rd) == 0);
}

static void file_end__inside_the_region(void)
{
    static uint8_t buf[50000];
    struct stat st;
    int fd = file_new(), rd = open_good(FILE_BYTES, fd, FILE_BYTES - 20000, 0);
    CHECK(cread(rd, 0, buf, sizeof buf) == 20000);
    check_bytes(buf, FILE_BYTES - 20000, 20000);
    CHECK(cread(rd, 20000, buf, 1) == 0 && cread(rd, 150000, buf, 1) == 0);
    CHECK(fstat(fd, &st) == 0 && st.st_size == FILE_BYTES);
    CHECK(cwrite(rd, 30000, "end", 3) == 3); /* a hole before it reads as zeros */
    CHECK(cread(rd, 20000, buf, sizeof buf) == 10003);
    for (int i = 0; i < 10000; i++)
        CHECK(buf[i] == 0);
    CHECK(memcmp(buf + 10000, "end", 3) == 0);
    CHECK(csync(rd) == 0);
    CHECK(fstat(fd, &st) == 0 && st.st_size == FILE_BYTES + 10003);
    CHECK(cclose(rd) == 0);
    CHECK(fstat(fd, &st) == 0 && st.st_size == FILE_BYTES + 10003);
}

static void file_end__grows(void)
{
    uint8_t buf[10];
    int fd = file_new(), rd = open_good(4096, fd, FILE_BYTES, 0);
    CHECK(cread(rd, 0, buf, sizeof buf) == 0);
    CHECK(pwrite(fd, "0123456789", 10, FILE_BYTES) == 10); /* by somebody else, before a read */
    CHECK(cread(rd, 0, buf, sizeof buf) == 10 && memcmp(buf, "0123456789", 10) == 0);
    CHECK(pwrite(fd, "abcdefghij", 10, FILE_BYTES + 10) == 10); /* in a block that was read */
    CHECK(cread(rd, 10, buf, sizeof buf) == 10 && memcmp(buf, "abcdefghij", 10) == 0);
    CHECK(cwrite(rd, 0, "0", 1) == 1 && cclose(rd) == 0);
    CHECK(pread(fd, buf, sizeof buf, FILE_BYTES + 10) == 10 && memcmp(buf, "abcdefghij", 10) == 0);
}

/* Somebody else cuts it, and makes it longer again. */
static void file_end__shrinks(void)
{
    uint8_t buf[100];
    const off_t cut = FILE_BYTES - 50000;
    int fd = file_new(), rd = open_good(FILE_BYTES, fd, 0, DODO_RDONLY);
    CHECK(cread(rd, 0, buf, sizeof buf) == sizeof buf);
    CHECK(ftruncate(fd, cut) == 0);
    CHECK(cread(rd, cut + 20000, buf, sizeof buf) == 0);
    CHECK(cread(rd, cut - 10, buf, sizeof buf) == 10);
    check_bytes(buf, (uint64_t)cut - 10, 10);
    CHECK(cread(rd, cut, buf, sizeof buf) == 0);
    CHECK(pwrite(fd, "hello", 5, cut + 5) == 5 && pwrite(fd, "world", 5, cut + 20000) == 5);
    CHECK(cread(rd, cut + 5, buf, 5) == 5 && memcmp(buf, "hello", 5) == 0);
    CHECK(cread(rd, cut + 20000, buf, sizeof buf) == 5 && memcmp(buf, "world", 5) == 0);
    CHECK(cclose(rd) == 0);
}

/* ---- the cache ------------------------------------------------------------------------------ */

static void set__before_the_first_region(void)
{
    CHECK_FAILS(dodo_manage_set(0, 1), EINVAL);
    CHECK_FAILS(dodo_manage_set(3, 1), EINVAL);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 1 << 20) == 0);
    CHECK(dodo_manage_set(MANAGE_READAHEAD_BYTES, 0) == 0);
    int rd = open_good(4096, file_new(), 0, 0);
    CHECK(stats().limit_bytes == 1 << 20);
    CHECK_FAILS(dodo_manage_set(MANAGE_CACHE_BYTES, 1 << 20), EBUSY);
    CHECK_FAILS(dodo_manage_set(MANAGE_READAHEAD_BYTES, 0), EBUSY);
    CHECK(cclose(rd) == 0);
    CHECK_FAILS(dodo_manage_set(MANAGE_CACHE_BYTES, 1), EBUSY);
}

static void set__overrides_the_environment(void)
{
    CHECK(setenv("DODO_READAHEAD", "128M", 1) == 0); /* more than the cache has by default */
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 1 << 30) == 0);
    int rd = open_good(4096, file_new(), 0, 0);
    CHECK(stats().limit_bytes == 1 << 30);
    CHECK(cclose(rd) == 0);
}

/* Writes and reads all of a region; the file has it in the end. */
static void use_all(int fd)
{
    static uint8_t buf[FILE_BYTES];
    int rd = open_good(FILE_BYTES, fd, 0, 0);
    for (size_t at = 0; at < FILE_BYTES; at += 7000) {
        size_t n = FILE_BYTES - at < 7000 ? FILE_BYTES - at : 7000;
        memset(buf + at, (int)(at / 7000 + 1), n);
        CHECK(cwrite(rd, (off_t)at, buf + at, n) == (ssize_t)n);
        CHECK(stats().cached_bytes <= stats().limit_bytes);
    }
    for (int pass = 0; pass < 2; pass++) {
        static uint8_t got[FILE_BYTES];
        CHECK(cread(rd, 0, got, sizeof got) == FILE_BYTES && memcmp(got, buf, FILE_BYTES) == 0);
        CHECK(stats().cached_bytes <= stats().limit_bytes);
        CHECK(csync(rd) == 0 && stats().dirty_bytes == 0);
        CHECK(pread(fd, got, sizeof got, 0) == FILE_BYTES && memcmp(got, buf, FILE_BYTES) == 0);
    }
    CHECK(cclose(rd) == 0 && stats().cached_bytes == 0);
}

static void cache__smaller_than_the_region(void)
{
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 3 * PIECE) == 0);
    use_all(file_new());
    CHECK(stats().evictions > 0 && stats().writebacks > 0);
}

static void cache__smaller_than_a_piece(void)
{
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 4095) == 0);
    use_all(file_new());
}

static void cache__of_size_zero(void)
{
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, 0) == 0);
    use_all(file_new());
    CHECK(stats().local_hits == 0 && stats().bypasses > 0);
}

/* Nothing is on the file before it must be, and everything is in the cache. */
static void write__back(void)
{
    uint8_t buf[5];
    int fd = file_new(), rd = open_good(FILE_BYTES, fd, 0, 0);
    CHECK(cwrite(rd, 100, "hello", 5) == 5);
    CHECK(pread(fd, buf, 5, 100) == 5);
    check_bytes(buf, 100, 5);
    CHECK(stats().dirty_bytes > 0 && stats().writebacks == 0);
    CHECK(cread(rd, 100, buf, 5) == 5 && memcmp(buf, "hello", 5) == 0);
    CHECK(stats().local_hits == 1 && stats().local_bytes == 5);
    CHECK(cclose(rd) == 0);
    CHECK(pread(fd, buf, 5, 100) == 5 && memcmp(buf, "hello", 5) == 0);
}

static void write__through(void)
{
    uint8_t buf[5];
    int fd = file_new(), rd = open_good(FILE_BYTES, fd, 0, MANAGE_WRITE_THROUGH);
    for (off_t at = 100; at < FILE_BYTES - 5; at += 9973) {
        CHECK(cread(rd, at, buf, 5) == 5);
        CHECK(cwrite(rd, at, "hello", 5) == 5);
        CHECK(pread(fd, buf, 5, at) == 5 && memcmp(buf, "hello", 5) == 0);
        CHECK(cread(rd, at, buf, 5) == 5 && memcmp(buf, "hello", 5) == 0);
        CHECK(stats().dirty_bytes == 0);
    }
    CHECK(cclose(rd) == 0);
}

/* Each byte and each call is counted once, and where it came from. */
static void stats__add_up(void)
{
    static uint8_t buf[30000];
    struct manage_stats st;
    int rd = open_good(FILE_BYTES, file_new(), 0, 0);
    uint64_t reads = 0, bytes = 0;
    for (off_t at = 0; at < FILE_BYTES; at += 4999, reads++) {
        ssize_t n = cread(rd, at, buf, at % 3 == 0 ? sizeof buf : 100);
        CHECK(n > 0);
        bytes += (uint64_t)n;
    }
    for (int i = 0; i < 10; i++)
        CHECK(cwrite(rd, i * 1000, buf, 1000) == 1000);
    CHECK(csync(rd) == 0);
    st = stats();
    CHECK(st.local_hits + st.remote_hits + st.disk_reads == reads);
    CHECK(st.local_bytes + st.remote_bytes + st.disk_bytes == bytes);
    CHECK(st.remote_hits == 0 && st.clones == 0);
    CHECK(st.writes == 10 && st.write_bytes == 10000);
    CHECK(st.writebacks >= 1 && st.writeback_bytes >= 10000);
    CHECK(st.regions == 1 && st.limit_bytes == 64 << 20);
    CHECK(cclose(rd) == 0);
}

/* ---- the text behind errno --------------------------------------------------------------------
 */

/* The text of the last failure names the call, tells what is wrong, and what to do. */
static void says(const char *call, const char *wrong, const char *to_do)
{
    const char *text = dodo_last_error();
    if (strncmp(text, call, strlen(call)) == 0 && strstr(text, wrong) && strstr(text, to_do))
        return;
    (void)fprintf(stderr, "\"%s\": not %s, %s, %s\n", text, call, wrong, to_do);
    _exit(1);
}

static void last_error__of_copen(void)
{
    int fd = file_new(), rd = open_good(FILE_BYTES, fd, 0, 0);
    CHECK_FAILS(copen(0, fd, 0), EINVAL);
    says("copen: ", "length", "correct the call");
    CHECK_FAILS(dodo_copen_flags(1, fd, 0, 1u << 20), EINVAL);
    says("copen: ", "flag", "correct the call");
    CHECK_FAILS(copen(1, 9999, 0), EINVAL);
    says("copen: ", "no regular file", "DODO_RDONLY");
    CHECK_FAILS(copen(1, fd, 5), EBUSY);
    says("copen: ", "part of an open region", "close that one");
    CHECK(cclose(rd) == 0);
}

static void last_error__of_settings(void)
{
    CHECK(setenv("DODO_CACHE_SIZE", "much", 1) == 0);
    CHECK_FAILS(copen(1, file_new(), 0), EINVAL);
    says("copen: ", "DODO_CACHE_SIZE", "much");
    CHECK(unsetenv("DODO_CACHE_SIZE") == 0);
    char path[] = "/tmp/dodo-test-conf-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "[manage]\ncolour = blue\n", 24) == 24);
    CHECK(setenv("DODO_CONFIG", path, 1) == 0);
    CHECK_FAILS(copen(1, file_new(), 0), EINVAL);
    CHECK(unlink(path) == 0 && close(fd) == 0);
    says("copen: ", path, "colour");
    CHECK_FAILS(copen(1, file_new(), 0), ENOENT);
    says("copen: ", path, "No such file");
}

static void last_error__of_the_others(void)
{
    char b = 0;
    int rd = open_good(100, file_new(), 0, DODO_RDONLY);
    CHECK_FAILS(cread(rd, 101, &b, 1), EINVAL);
    says("cread: ", "no open region", "correct the call");
    CHECK_FAILS(cwrite(rd, 0, &b, 1), EINVAL);
    says("cwrite: ", "DODO_RDONLY", "correct the call");
    CHECK_FAILS(csync(rd + 1), EINVAL);
    says("csync: ", "no open region", "correct the call");
    CHECK_FAILS(cclose(rd + 1), EINVAL);
    says("cclose: ", "no open region", "correct the call");
    CHECK_FAILS(dodo_cadvise(rd, 0, 1, 99), EINVAL);
    says("cadvise: ", "no such advice", "correct the call");
    CHECK_FAILS(csetPolicy(99), EINVAL);
    says("csetPolicy: ", "no such policy", "correct the call");
    CHECK_FAILS(dodo_manage_set(MANAGE_CACHE_BYTES, 1), EBUSY);
    says("manage_set: ", "a cache already", "before the first copen");
    CHECK(cclose(rd) == 0);
}

/* Memory where none can be: reads and writes of that file get EIO. */
static void last_error__of_a_file_that_fails(void)
{
    char b = 0;
    int rd = open_good(PIECE, open("/proc/self/mem", O_RDWR | O_CLOEXEC), 4096, 0);
    CHECK(cwrite(rd, 0, &b, 1) == 1);
    CHECK_FAILS(csync(rd), EIO);
    says("csync: ", "Input/output error", "call again");
    CHECK_FAILS(cclose(rd), EIO);
    says("cclose: ", "Input/output error", "still open");
    int through =
        open_good(PIECE, open("/proc/self/mem", O_RDWR | O_CLOEXEC), 40960, MANAGE_WRITE_THROUGH);
    CHECK_FAILS(cwrite(through, 0, &b, 1), EIO);
    says("cwrite: ", "Input/output error", "write again");
    _exit(0);
}

static const Scenario scenarios[] = {
    SCENARIO(copen__bad_arguments),
    SCENARIO(copen__takes_the_flags_of_mopen),
    SCENARIO(copen__leaves_the_programs_locks),
    SCENARIO(copen__beside_a_lock_to_the_files_end),
    SCENARIO(copen__not_open_for_writing),
    SCENARIO(copen__own_description),
    SCENARIO(copen__overlap_is_busy),
    SCENARIO(copen__busy_between_processes),
    SCENARIO(calls__no_such_region),
    SCENARIO(calls__bad_arguments),
    SCENARIO(calls__short_at_the_regions_end),
    SCENARIO(calls__read_only),
    SCENARIO(advice__changes_no_byte),
    SCENARIO(file_end__inside_the_region),
    SCENARIO(file_end__grows),
    SCENARIO(file_end__shrinks),
    SCENARIO(set__before_the_first_region),
    SCENARIO(set__overrides_the_environment),
    SCENARIO(cache__smaller_than_the_region),
    SCENARIO(cache__smaller_than_a_piece),
    SCENARIO(cache__of_size_zero),
    SCENARIO(write__back),
    SCENARIO(write__through),
    SCENARIO(stats__add_up),
    SCENARIO(last_error__of_copen),
    SCENARIO(last_error__of_settings),
    SCENARIO(last_error__of_the_others),
    SCENARIO(last_error__of_a_file_that_fails),
};

int main(int argc, char **argv)
{
    return scenario_main_alone(argc, argv, scenarios, ARRAY_SIZE(scenarios), ARRAY_SIZE(scenarios));
}
