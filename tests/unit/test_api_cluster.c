/* SPDX-License-Identifier: MIT */
/* Every row of the calls' errors that needs a cluster, by name. (Without a cluster: test_api.) */
#include "tests/lib/case.h"
#include "tests/lib/posix_lock.h"
#include "tests/unit/api_fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { ERRNO_KEPT = 12345 };

static const char long_refraction[] = PATIENT "refraction = 1h\n";
/* Who is given up so soon may be, on a busy machine, while he is there: what must succeed is tried
 * again. */
#define HASTY_MANAGER "[client]\nrequest_deadline = 300ms\ntransfer_deadline = 60s\n"
static const char hasty_manager[] = HASTY_MANAGER "refraction = 1us\n";
static const char hasty_manager_once[] = HASTY_MANAGER "refraction = 1h\n";
static const char hasty_host[] =
    "[client]\nrequest_deadline = 60s\ntransfer_deadline = 2s\nrefraction = 1us\n";

#define CASE(name) TEST_WITH(name, NULL, tear_down)

/* ---- mopen ---------------------------------------------------------------------------------- */

CASE(mopen__says_what_it_has)
{
    begin(no_refraction, "16M");
    int rd = opened(2 * MIB + 5, 1000, 0);
    DodoStat st = stat_of(rd);
    assert_int_equal(st.active, 1);
    assert_true(cluster_is_host(&cluster.imds[0], st.host));
    assert_int_equal(st.length, 2 * MIB + 5);
    assert_int_equal(st.filled_bytes + st.hits + st.misses + st.written,
                     0); /* reads no file data */
    assert_int_equal(st.reused, 0);
    fill(rd, 1000, 0, 2 * MIB + 5);
    st = stat_of(rd);
    assert_int_equal(st.filled_bytes, 2 * MIB + 5);
    assert_true(st.hits >= 2 * MIB + 5 && st.misses >= 2 * MIB + 5);
    assert_int_equal(dodo_mclose(rd), 0);
}

CASE(mopen__leaves_the_programs_locks)
{
    begin(no_refraction, "16M");
    posix_lock(fd, F_WRLCK);
    int rd = opened(MIB, 0, 0), other = opened(MIB, MIB, DODO_RDONLY);
    assert_fails(dodo_mopen(MIB, fd, 0), EBUSY);
    assert_true(posix_locked(fd));
    assert_int_equal(dodo_mclose(rd), 0);
    assert_int_equal(dodo_mclose(other), 0);
    assert_true(posix_locked(fd));
    assert_int_equal(dodo_shutdown(), 0);
    assert_true(posix_locked(fd));
}

CASE(mopen__enomem_when_no_room)
{
    begin(no_refraction, "1M");
    assert_fails(dodo_mopen(2 * MIB, fd, 0), ENOMEM);
    assert_says("memory");
    int rd = opened_again(MIB, 0, 0);
    assert_reads(rd, 0, 0, MIB);
}

/* At once and without traffic: the manager could not answer. */
CASE(mopen__enomem_in_refraction_without_traffic)
{
    begin(long_refraction, "1M");
    int before = opened(4096, 0, 0);
    assert_fails(dodo_mopen(2 * MIB, fd, MIB), ENOMEM);
    process_pause(cluster.cmd.pid);
    for (int i = 0; i < 100; i++) {
        assert_fails(dodo_mopen(4096, fd, MIB), ENOMEM);
        assert_says("refraction");
    }
    /* Errors of the call itself go before, and the open region is not touched. */
    assert_fails(dodo_mopen(4096, fd, 0), EBUSY);
    assert_fails(dodo_mopen(0, fd, 0), EINVAL);
    assert_reads(before, 0, 0, 4096);
    int rd = opened(4096, MIB, DODO_FALLBACK);
    assert_int_equal(stat_of(rd).active, 0);
    assert_reads(rd, MIB, 0, 4096);
}

CASE(mopen__enomem_when_the_manager_is_silent)
{
    begin(hasty_manager_once, "1M");
    process_pause(cluster.cmd.pid);
    assert_fails(dodo_mopen(4096, fd, 0), ENOMEM);
    assert_says("manager");
    (void)kill(cluster.cmd.pid, SIGCONT);
    assert_fails(dodo_mopen(4096, fd, 0), ENOMEM); /* that, too, starts the period */
    assert_says("refraction");
}

CASE(mopen__enomem_with_another_key)
{
    char key[160];
    begin(hasty_manager, "1M");
    (void)snprintf(key, sizeof key, "%s/key", cluster.dir);
    int out = open(key, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    for (int i = 0; i < 64; i++)
        assert_int_equal(write(out, "5", 1), 1);
    assert_int_equal(close(out), 0);
    assert_int_equal(setenv("DODO_KEY", key, 1), 0);
    assert_fails(dodo_mopen(4096, fd, 0), ENOMEM);
    assert_says("manager");
    assert_int_equal(dodo_shutdown(), -1);
    assert_int_equal(unsetenv("DODO_KEY"), 0);
    assert_reads(opened_again(4096, 0, 0), 0, 0, 4096);
}

CASE(mopen__ebusy_starts_no_refraction)
{
    begin(long_refraction, "1M");
    int one = opened(8192, 0, 0);
    assert_fails(dodo_mopen(4096, fd, 8191), EBUSY);
    assert_fails(dodo_mopen_flags(4096, fd, 4096, DODO_RDONLY), EBUSY);
    assert_fails(dodo_mopen_flags(4096, fd, 4096, DODO_FALLBACK), EBUSY);
    int two = opened(4096, 8192, 0);
    assert_int_equal(dodo_mclose(one), 0);
    assert_reads(opened(8192, 0, 0), 0, 0, 8192);
    assert_reads(two, 8192, 0, 4096);
}

/* ---- mread and mwrite: arguments and counts ------------------------------------------------- */

CASE(calls__bad_arguments)
{
    char buf[8] = "";
    begin(no_refraction, "16M");
    int rd = opened(10000, 0, 0);
    assert_fails(dodo_mread(rd, -1, buf, 1), EINVAL);
    assert_fails(dodo_mread(rd, 10001, buf, 1), EINVAL);
    assert_fails(dodo_mread(rd, 0, NULL, 1), EINVAL);
    assert_fails(dodo_mread(rd, 0, buf, (size_t)SSIZE_MAX + 1), EINVAL);
    assert_fails(dodo_mwrite(rd, -1, buf, 1), EINVAL);
    assert_fails(dodo_mwrite(rd, 10001, buf, 1), EINVAL);
    assert_fails(dodo_mwrite(rd, 0, NULL, 1), EINVAL);
    assert_fails(dodo_mwrite(rd, 0, buf, (size_t)SSIZE_MAX + 1), EINVAL);
    assert_fails(dodo_stat(rd, NULL), EINVAL);
    assert_int_equal(dodo_mread(rd, 0, NULL, 0), 0);
    assert_int_equal(dodo_mwrite(rd, 10000, NULL, 0), 0);
    assert_int_equal(stat_of(rd).active, 1); /* none of it harms the region */
    assert_reads(rd, 0, 0, 10000);
}

CASE(calls__short_at_the_regions_end)
{
    uint8_t buf[200];
    begin(no_refraction, "16M");
    int rd = opened(10000, 0, 0);
    for (int i = 0; i < 2; i++) { /* from the file, then from remote memory */
        assert_int_equal(dodo_mread(rd, 9900, buf, sizeof buf), 100);
        assert_memory_equal(buf, content + 9900, 100);
        assert_int_equal(dodo_mread(rd, 10000, buf, sizeof buf), 0);
        fill(rd, 0, 0, 10000);
    }
    memset(buf, 'w', sizeof buf);
    assert_int_equal(dodo_mwrite(rd, 9900, buf, sizeof buf), 100);
    assert_int_equal(dodo_mwrite(rd, 10000, buf, sizeof buf), 0);
    memset(content + 9900, 'w', 100);
    assert_reads(rd, 0, 0, 10000);
    assert_int_equal(pread(fd, buf, 200, 9900), 200);
    assert_memory_equal(buf, content + 9900, 200); /* what is behind the region is as it was */
}

/* The region goes on where the file does not: reads are short there, until a write makes it longer.
 */
CASE(calls__short_at_the_files_end)
{
    uint8_t buf[9000];
    begin(no_refraction, "16M");
    int rd = opened(100000, FILE_BYTES - 5000, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dodo_mread(rd, 0, buf, sizeof buf), 5000);
        assert_memory_equal(buf, content + FILE_BYTES - 5000, 5000);
        assert_int_equal(dodo_mread(rd, 4999, buf, sizeof buf), 1);
        assert_int_equal(dodo_mread(rd, 5000, buf, sizeof buf), 0);
        assert_int_equal(dodo_mread(rd, 50000, buf, sizeof buf), 0);
    }
    assert_int_equal(dodo_mwrite(rd, 7000, "end", 3), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dodo_mread(rd, 4000, buf, sizeof buf), 3003);
        assert_memory_equal(buf, content + FILE_BYTES - 1000, 1000);
        for (int zero = 1000; zero < 3000; zero++)
            assert_int_equal(buf[zero], 0);
        assert_memory_equal(buf + 3000, "end", 3);
    }
}

CASE(calls__larger_than_any_window)
{
    begin(no_refraction, "16M");
    int rd = opened(FILE_BYTES - 1234, 1234, 0);
    assert_reads(rd, 1234, 0, FILE_BYTES - 1234);
    fill(rd, 1234, 0, FILE_BYTES - 1234);
    for (size_t i = 0; i < FILE_BYTES; i++)
        content[i] ^= 0x55;
    assert_int_equal(dodo_mwrite(rd, 0, content + 1234, FILE_BYTES - 1234), FILE_BYTES - 1234);
    assert_reads(rd, 1234, 0, FILE_BYTES - 1234);
    uint8_t *got = malloc(FILE_BYTES);
    assert_int_equal(pread(fd, got, FILE_BYTES, 0), FILE_BYTES);
    assert_memory_equal(got + 1234, content + 1234, FILE_BYTES - 1234);
    free(got);
    assert_int_equal(stat_of(rd).active, 1);
    assert_int_equal(dodo_msync(rd), 0);
}

CASE(calls__errno_is_left_alone)
{
    char buf[5000];
    begin(no_refraction, "16M");
#define KEPT(call)                           \
    do {                                     \
        errno = ERRNO_KEPT;                  \
        assert_true((call) >= 0);            \
        assert_int_equal(errno, ERRNO_KEPT); \
    } while (0)
    int rd = -1;
    KEPT(rd = dodo_mopen(100000, fd, 0));
    KEPT(dodo_mread(rd, 0, buf, sizeof buf));
    KEPT(dodo_mread(rd, 0, buf, sizeof buf));
    KEPT(dodo_mwrite(rd, 0, buf, sizeof buf));
    KEPT(dodo_mwrite(rd, 0, content, 100000)); /* with the writer thread */
    KEPT(dodo_msync(rd));
    DodoStat st;
    KEPT(dodo_stat(rd, &st));
    KEPT(dodo_mclose(rd));
    KEPT(dodo_shutdown());
    KEPT(rd = dodo_mopen_flags(100000, fd, 0, DODO_FALLBACK | DODO_RETAIN));
    KEPT(dodo_mclose(rd));
}

CASE(calls__closed_descriptor_is_not_the_next)
{
    char byte;
    begin(no_refraction, "16M");
    int old = opened(4096, 0, 0);
    assert_int_equal(dodo_mclose(old), 0);
    for (int i = 0; i < 50; i++) {
        int rd = opened(4096, 0, 0);
        assert_int_not_equal(rd, old);
        assert_fails(dodo_mread(old, 0, &byte, 1), ENOMEM);
        assert_fails(dodo_mwrite(old, 0, &byte, 1), ENOMEM);
        assert_fails(dodo_msync(old), EINVAL);
        assert_fails(dodo_mclose(old), EINVAL);
        assert_int_equal(dodo_mclose(rd), 0);
    }
}

CASE(rdonly__reads_and_shares)
{
    begin(no_refraction, "16M");
    int read_only = open(path, O_RDONLY | O_CLOEXEC);
    assert_fails(dodo_mopen(8192, read_only, 0), EINVAL);
    int one = dodo_mopen_flags(8192, read_only, 0, DODO_RDONLY);
    int two = dodo_mopen_flags(8192, read_only, 4096, DODO_RDONLY);
    close(read_only);
    assert_true(one >= 0 && two >= 0);
    fill(one, 0, 0, 8192);
    fill(two, 4096, 0, 8192);
    assert_fails(dodo_mwrite(one, 0, "x", 1), EINVAL);
    assert_fails(dodo_mopen(4096, fd, 0), EBUSY);
    assert_int_equal(dodo_mclose(one), 0);
    assert_fails(dodo_mopen(4096, fd, 4096), EBUSY); /* the other one's */
    assert_reads(opened(4096, 0, 0), 0, 0, 4096);
    assert_int_equal(dodo_mclose(two), 0);
}

/* ---- a host that is lost -------------------------------------------------------------------- */

CASE(lost__every_call)
{
    char buf[100] = "", again[100];
    begin(hasty_host, "16M");
    int other = opened_active(8192, fd, 8192, 0), rd = opened_full(8192, 0);
    daemon_kill(&cluster.imds[0]);
    assert_fails(dodo_mread(rd, 0, buf, sizeof buf), ENOMEM);
    assert_int_equal(stat_of(other).active, 0); /* one deadline for all of a host's */
    assert_string_equal(stat_of(other).host, "");
    assert_fails(dodo_mwrite(rd, 0, buf, sizeof buf), ENOMEM);
    assert_int_equal(pread(fd, again, sizeof again, 0), sizeof again);
    assert_memory_equal(again, content, sizeof again); /* nothing reached the file */
    assert_int_equal(dodo_msync(rd), 0);
    assert_fails(dodo_mclose(rd), EINVAL);
    assert_fails(dodo_mread(rd, 0, buf, 1), ENOMEM);
    (void)cluster_imd(&cluster, "16M");
    (void)opened_full(8192, 0); /* its lock is gone with it */
    assert_fails(dodo_mclose(other), EINVAL);
}

/* The remote half fails, the file half does not: the count, and then ENOMEM. */
CASE(mwrite__counts_when_only_the_remote_half_failed)
{
    char buf[100], again[100];
    begin(hasty_host, "16M");
    int rd = opened_full(8192, 0);
    process_pause(cluster.imds[0].pid);
    memset(buf, 'n', sizeof buf);
    assert_int_equal(dodo_mwrite(rd, 50, buf, sizeof buf), sizeof buf);
    assert_int_equal(pread(fd, again, sizeof again, 50), sizeof again);
    assert_memory_equal(again, buf, sizeof again);
    assert_fails(dodo_mread(rd, 50, buf, sizeof buf), ENOMEM);
    assert_fails(dodo_mwrite(rd, 50, buf, sizeof buf), ENOMEM);
    /* The copy that was cut short is never read again. */
    (void)kill(cluster.imds[0].pid, SIGCONT);
    assert_fails(dodo_mread(rd, 50, buf, sizeof buf), ENOMEM);
    assert_fails(dodo_mclose(rd), EINVAL);
}

/* ---- a file that fails ---------------------------------------------------------------------- */

CASE(mwrite__errno_of_the_file)
{
    uint8_t buf[20000];
    begin(no_refraction, "16M");
    int sealed = memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_int_equal(pwrite(sealed, content, 16384, 0), 16384);
    int rd = dodo_mopen(65536, sealed, 0);
    assert_true(rd >= 0);
    fill(rd, 0, 0, 16384);
    assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_GROW), 0);
    memset(buf, 'x', sizeof buf);
    assert_fails(dodo_mwrite(rd, 20000, buf, sizeof buf), EPERM);
    assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    assert_fails(dodo_mwrite(rd, 100, buf, 5000), EPERM);
    assert_int_equal(stat_of(rd).active, 1); /* the blocks were made unfilled, no more */
    assert_reads(rd, 0, 0, 16384);
    assert_int_equal(dodo_mread(rd, 16384, buf, sizeof buf), 0);
    fill(rd, 0, 0, 16384);
    assert_int_equal(dodo_mclose(rd), 0);
    close(sealed);
}

CASE(mwrite__short_when_the_file_takes_less)
{
    struct rlimit old, limit;
    uint8_t *new = malloc(200000);
    begin(no_refraction, "16M");
    int rd = opened(400000, FILE_BYTES, 0);
    memset(new, 'l', 200000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = FILE_BYTES + 150001;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(dodo_mwrite(rd, 1000, new, 200000), 149001);
    assert_fails(dodo_mwrite(rd, 150001, new, 10), EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    uint8_t *got = malloc(400000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dodo_mread(rd, 0, got, 400000), 150001);
        assert_memory_equal(got + 1000, new, 149001);
    }
    assert_int_equal(stat_of(rd).active, 1);
    free(new);
    free(got);
}

/* ---- a manager that is gone ----------------------------------------------------------------- */

CASE(mclose__einval_when_the_manager_is_silent)
{
    char byte;
    begin(hasty_manager, "16M");
    int rd = opened_again(8192, 0, 0), other = opened_again(8192, 8192, 0);
    process_pause(cluster.cmd.pid);
    assert_reads(rd, 0, 0, 8192); /* reads and writes go on */
    assert_int_equal(dodo_mwrite(other, 0, content + 8192, 8192), 8192);
    assert_fails(dodo_mclose(rd), EINVAL);
    assert_says("manager");
    assert_fails(dodo_mread(rd, 0, &byte, 1), ENOMEM); /* freed all the same */
    assert_fails(dodo_mclose(rd), EINVAL);
    rd = dodo_mopen_flags(8192, fd, 0, DODO_FALLBACK); /* its lock, too */
    assert_true(rd >= 0);
    (void)kill(cluster.cmd.pid, SIGCONT);
    assert_reads(other, 8192, 0, 8192);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
