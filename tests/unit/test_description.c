/* SPDX-License-Identifier: MIT */
/* Descriptions of a program's files, while its threads close and open what they like. */
#undef _FILE_OFFSET_BITS /* both names of open() are defined here */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/description.h"
#include "base/parked.h"
#include "tests/lib/tmpdir_case.h"

static unsigned missing; /* so often there is nothing by a number */

static int open_number(const char *path, int flags)
{
    if (strncmp(path, "/proc/self/fd/", 14) == 0 && missing > 0) {
        missing--;
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
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

/* A file of the directory; @missing_times: as above. Is its description shared with @fd? */
static bool is_shared(unsigned missing_times)
{
    struct stat st, now;
    bool shared = false;
    int at = (int)syscall(SYS_openat, AT_FDCWD, dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int fd = openat(at, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    missing = missing_times;
    int got = description_open(fd, true, &st, &shared);
    missing = 0;
    assert_true(got >= 0);
    assert_int_equal(fstat(got, &now), 0);
    assert_true(now.st_ino == st.st_ino && now.st_dev == st.st_dev);
    description_close(got, shared);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(at), 0);
    (void)parked_close_unlocked();
    return shared;
}

TEST_WITH(description__is_our_own, dir_set_up, dir_tear_down)
{
    assert_false(is_shared(0));
}

/* Another thread has closed the number, and opens a file that gets it. */
TEST_WITH(description__is_our_own_though_the_number_was_closed, dir_set_up, dir_tear_down)
{
    assert_false(is_shared(1));
}

TEST_WITH(description__is_shared_without_proc, dir_set_up, dir_tear_down)
{
    assert_true(is_shared(UINT_MAX));
}
