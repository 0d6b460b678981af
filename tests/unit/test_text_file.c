/* SPDX-License-Identifier: MIT */
/* Files of settings, on a file system that lets signals in. */
#undef _FILE_OFFSET_BITS /* both names of open() are defined here */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text_file.h"
#include "tests/lib/case.h"

static unsigned signals; /* so often opening a file is interrupted */

static int open_interrupted(const char *path, int flags)
{
    if (signals == 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
    signals--;
    errno = EINTR;
    return -1;
}

/* Also by the names that a hardened build calls. */
#define EXPORT __attribute__((visibility("default")))
EXPORT int open(const char *path, int flags, ...)
{
    return open_interrupted(path, flags);
}
EXPORT int open64(const char *path, int flags, ...)
{
    return open_interrupted(path, flags);
}
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open_2(const char *path, int flags)
{
    return open_interrupted(path, flags);
}
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags)
{
    return open_interrupted(path, flags);
}

TEST(read__goes_on_after_a_signal)
{
    TextFile file = {0};
    char error[256] = "";
    signals = 3;
    assert_int_equal(text_file_read("/dev/null", NULL, &file, error, sizeof error), 0);
    assert_int_equal(signals, 0);
    assert_int_equal(file.len, 0);
    free(file.bytes);
}

int main(void)
{
    return cases_run(NULL, NULL);
}
