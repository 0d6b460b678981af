/* SPDX-License-Identifier: MIT */
/* Descriptions of a program's files, while its threads close and open what they like. */
#undef _FILE_OFFSET_BITS /* both names of open() are defined here */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/description.h"
#include "base/parked.h"
#include "tests/lib/child.h"
#include "tests/lib/seccomp.h"
#include "tests/lib/tmpdir_case.h"

/* The next times that a file is opened by a number: so often it fails, */
static unsigned missing;
static int missing_errno;
static int turns_from = -1, turns_to; /* and this descriptor becomes a copy of that one */

static int open_number(const char *path, int flags)
{
    if (strncmp(path, "/proc/thread-self/fd/", 14) != 0 || missing == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    missing--;
    if (turns_from >= 0)
        (void)dup2(turns_to, turns_from);
    errno = missing_errno;
    return -1;
}

/* Also by the names that a hardened build calls. */
#define EXPORT __attribute__((visibility("default")))
EXPORT int open(const char *path, int flags, ...)
{
    return open_number(path, flags);
}
EXPORT int open64(const char *path, int flags, ...)
{
    return open_number(path, flags);
}
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open_2(const char *path, int flags)
{
    return open_number(path, flags);
}
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags)
{
    return open_number(path, flags);
}

static int stats_left = -1, stat_errno; /* after so many an fstat fails */

EXPORT int fstat(int number, struct stat *ret)
{
    if (stats_left-- != 0)
        return (int)syscall(SYS_fstat, number, ret);
    errno = stat_errno;
    return -1;
}
EXPORT int fstat64(int number, struct stat64 *ret)
{
    return fstat(number, (struct stat *)ret);
}

static int directory, fd;
static struct stat st;
static bool shared;

/* A file of the directory, opened with the @flags. */
static void begin(int flags)
{
    directory = (int)syscall(SYS_openat, AT_FDCWD, dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    fd = openat(directory, "file", flags | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
}

/* A description of it for a reader, where by its number there is none @times times. */
static int describe(unsigned times, int error)
{
    missing = times;
    missing_errno = error;
    int got = description_open(fd, true, &st, &shared);
    missing = 0;
    return got;
}

static void end(int got)
{
    if (got >= 0)
        description_close(got, shared);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(directory), 0);
    (void)parked_close_unlocked();
    turns_from = -1;
}

static void assert_is_file(int got)
{
    struct stat now;
    assert_true(got >= 0);
    assert_int_equal(fstat(got, &now), 0);
    assert_true(now.st_ino == st.st_ino && now.st_dev == st.st_dev);
}

#define CASE(name) TEST_WITH(name, dir_set_up, dir_tear_down)

CASE(description__is_our_own)
{
    begin(O_RDWR);
    int got = describe(0, 0);
    assert_is_file(got);
    assert_false(shared);
    end(got);
}

/* Another thread has closed the number, and opens a file that gets it. */
CASE(description__is_our_own_though_the_number_was_closed)
{
    begin(O_RDWR);
    int got = describe(1, ENOENT);
    assert_is_file(got);
    assert_false(shared);
    end(got);
}

/* ... or it was something that cannot be opened in between; however the file is open. */
CASE(description__is_our_own_though_the_number_was_something_else)
{
    begin(O_RDONLY | O_DIRECT);
    int got = describe(1, ENXIO);
    assert_is_file(got);
    assert_false(shared);
    end(got);
}

CASE(description__of_what_is_no_file_any_more)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    begin(O_RDWR);
    turns_from = fd;
    turns_to = ends[0];
    assert_int_equal(describe(1, ENXIO), -EINVAL);
    assert_false(shared);
    assert_int_equal(close(ends[0]), 0);
    end(-1);
    struct pollfd nobody = {.fd = ends[1], .events = POLLOUT};
    assert_int_equal(poll(&nobody, 1, 0), 1);
    assert_true(nobody.revents & POLLERR); /* no copy of it is left */
    assert_int_equal(close(ends[1]), 0);
}

static int describe_the_stale(void)
{
    return seccomp_refuse(SYS_newfstatat, ESTALE) && seccomp_refuse(SYS_fstat, ESTALE)
               ? -describe(0, 0)
               : EPERM;
}

/* It is what the kernel says, and not that it is no regular file. */
CASE(description__of_a_file_that_the_server_has_forgotten)
{
    begin(O_RDWR);
    assert_int_equal(in_a_child(describe_the_stale), ESTALE);
    end(-1);
}

/* It may be of a file that the program may not read. */
CASE(description__of_a_path_alone)
{
    begin(O_RDWR); /* O_PATH makes none */
    end(-1);
    begin(O_PATH);
    assert_int_equal(describe(0, 0), -EINVAL);
    end(-1);
}

CASE(description__is_shared_without_proc)
{
    begin(O_RDWR);
    int got = describe(UINT_MAX, ENOENT);
    assert_is_file(got);
    assert_true(shared);
    end(got);
}

/* A description for a writer, which shares none; @error is what opening the file says. */
static int describe_for_writer(int error)
{
    begin(O_RDWR);
    missing = UINT_MAX;
    missing_errno = error;
    int got = description_open(fd, false, &st, &shared);
    missing = 0;
    end(got);
    return got;
}

/* Only what the program may not, or cannot, open is EACCES. */
CASE(description__of_a_file_that_fails)
{
    assert_int_equal(describe_for_writer(EACCES), -EACCES);
    assert_int_equal(describe_for_writer(ENOENT), -EACCES);
    assert_int_equal(describe_for_writer(EIO), -EIO);
    assert_int_equal(describe_for_writer(ESTALE), -ESTALE);
    assert_int_equal(describe_for_writer(EMFILE), -EMFILE);
}

/* Looking at it fails with @error, after @stats times that it does not. */
static int describe_unseen(int stats, int error)
{
    begin(O_RDWR);
    stats_left = stats;
    stat_errno = error;
    int got = description_open(fd, false, &st, &shared);
    stats_left = -1;
    end(got);
    return got;
}

CASE(description__of_a_file_that_cannot_be_looked_at)
{
    assert_int_equal(describe_unseen(0, EIO), -EIO); /* by the program's descriptor */
    assert_int_equal(describe_unseen(1, EIO), -EIO); /* by ours */
    assert_int_equal(describe_unseen(0, EBADF), -EINVAL);
}

/* It would read and write as the program wants, not as the library does. */
CASE(description__is_not_shared_if_it_appends_or_is_direct)
{
    begin(O_RDWR | O_APPEND);
    assert_int_equal(describe(UINT_MAX, EACCES), -EACCES);
    assert_false(shared);
    end(-1);
}
