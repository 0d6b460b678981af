/* SPDX-License-Identifier: MIT */
/* What the kernel is asked for: long reads, and descriptors out of the way. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "tests/lib/case.h"

enum { PAGE = 4096, BYTES = 3 * OS_ASK_BYTES };

/* A file of holes, none of which is in memory. */
static int file_new(void)
{
    char path[256];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/dodo-os-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    return fd;
}

/* Bytes of [from, to) that are in memory. */
static uint64_t resident(int fd, uint64_t from, uint64_t to)
{
    static unsigned char map[BYTES / PAGE];
    uint64_t pages = 0;
    void *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mincore(p, BYTES, map), 0);
    for (uint64_t i = from / PAGE; i < to / PAGE; i++)
        pages += map[i] & 1;
    (void)munmap(p, BYTES);
    return pages * PAGE;
}

/* Else it would be read twice where memory is short. */
TEST(ask__for_so_much_of_a_long_read)
{
    int fd = file_new();
    os_ask_for_all(fd, 0, BYTES);
    assert_int_equal(resident(fd, OS_ASK_BYTES, BYTES), 0);
    (void)close(fd);
}

static int owned[4], owned_count;

static int busy, busy_times;

static void note_busy(bool begins)
{
    busy += begins ? 1 : -1;
    busy_times += begins;
}

static void note_own(int fd)
{
    assert_int_equal(busy, 1);
    owned[owned_count++] = fd;
}

/* A program that closes what it has not opened, and counts on low numbers, meets none of ours. */
TEST(descriptors__are_placed_above_a_floor_and_named)
{
    os_descriptors_place(&(OsDescriptors){100, note_own, note_busy});
    int low = os_above_standard(dup(STDERR_FILENO)), high = os_above_standard(dup2(low, 150));
    assert_int_equal(os_above_standard(-1), -1);
    assert_int_equal(busy, 0);
    os_descriptors_place(&(OsDescriptors){0});
    assert_int_equal(busy_times, 3);
    assert_true(low >= 100);
    assert_int_equal(high, 150);
    assert_int_equal(owned_count, 2);
    assert_int_equal(owned[0], low);
    assert_int_equal(owned[1], high);
    assert_true(fcntl(low, F_GETFD) & FD_CLOEXEC);
    assert_true(close(low) == 0 && close(high) == 0);
}

/* Later the program lowers its limit below the floor. */
TEST(descriptors__are_in_the_upper_half_of_a_lowered_limit)
{
    enum { LOWERED = 64 };
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    os_descriptors_place(&(OsDescriptors){.floor = 1000});
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){LOWERED, before.rlim_max}), 0);
    int fd = os_above_standard(dup(STDERR_FILENO));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    os_descriptors_place(&(OsDescriptors){0});
    assert_in_range(fd, LOWERED / 2, LOWERED - 1);
    assert_int_equal(close(fd), 0);
}

static void be_without_standard(void)
{
    char byte = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)close(fd);
    os_keep_standard();
    bool lost = write(STDOUT_FILENO, &byte, 1) < 0 && errno == EBADF &&
                write(STDERR_FILENO, &byte, 1) < 0 && errno == EBADF;
    bool unread = read(STDIN_FILENO, &byte, 1) < 0 && errno == EBADF;
    _exit(!(lost && unread && open("/dev/zero", O_RDONLY | O_CLOEXEC) > STDERR_FILENO));
}

/* No file that is opened later stands there, and what is written is lost, as without them. */
TEST(descriptors__the_standard_ones_are_taken)
{
    int status, before[3];
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        before[fd] = fcntl(fd, F_GETFL);
    pid_t child = fork();
    if (child == 0)
        be_without_standard();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    os_keep_standard(); /* those that are there stay */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        assert_int_equal(fcntl(fd, F_GETFL), before[fd]);
}

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_t counted_in;
static int counted;

static void note_thread(int by)
{
    counted += by;
    counted_in = pthread_self();
}

static void *see_count(void *ctx)
{
    *(bool *)ctx = counted == 1 && pthread_equal(counted_in, pthread_self());
    return ctx;
}

/* By itself: one that is not there yet is not counted. */
TEST(threads__are_counted_while_they_run)
{
    pthread_t thread;
    bool seen = false;
    os_descriptors_place(&(OsDescriptors){.threads = note_thread});
    assert_int_equal(os_thread_start(&thread, see_count, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    os_descriptors_place(&(OsDescriptors){0});
    assert_true(seen);
    assert_int_equal(counted, 0);
    assert_true(pthread_equal(counted_in, thread));
}
