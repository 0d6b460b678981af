/* SPDX-License-Identifier: MIT */
#include "libdodo/state_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "libdodo/state_dir.h"

static bool write_all(int fd, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, bytes + at, len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

int state_file_save(int dir, const char *name, const void *bytes, size_t len)
{
    OS_DESCRIPTORS_BUSY;
    char draft[NAME_MAX + 1];
    int chars = snprintf(draft, sizeof draft, ".%s.%d.%d", name, (int)getpid(), (int)gettid());
    if (chars >= (int)sizeof draft || !os_file_may_have(len))
        return -1;
    CLEANUP_CLOSE int fd = os_above_standard(
        openat(dir, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return -1;
    if (write_all(fd, bytes, len) && renameat(dir, draft, dir, name) == 0)
        return 0;
    (void)unlinkat(dir, draft, 0);
    return -1;
}

ssize_t state_file_load(int dir, const char *name, void *bytes, size_t cap)
{
    OS_DESCRIPTORS_BUSY;
    struct stat st;
    CLEANUP_CLOSE int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > cap)
        return 0;
    size_t at = 0;
    for (ssize_t n; at < cap && (n = read(fd, (uint8_t *)bytes + at, cap - at)) != 0;) {
        if (n < 0 && errno != EINTR)
            return 0;
        at += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)at;
}

unsigned state_files_sweep(const char *part, time_t before)
{
    OS_DESCRIPTORS_BUSY;
    struct stat st;
    unsigned left = 0;
    int dir = state_dir_open(part);
    DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
    if (!d) {
        if (dir >= 0)
            (void)close(dir);
        return 0;
    }
    for (const struct dirent *e; (e = readdir(d));) {
        if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        left += st.st_mtim.tv_sec >= before || unlinkat(dir, e->d_name, 0) < 0;
    }
    (void)closedir(d);
    return left;
}
