/* SPDX-License-Identifier: MIT */
#include "base/description.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool mode_allows(int flags, bool read_only)
{
    int mode = flags & O_ACCMODE;
    return mode == O_RDWR || (read_only && mode == O_RDONLY);
}

/* Slow file systems let signals in. */
static int open_again(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int description_open(int fd, bool read_only, struct stat *ret_stat, bool *ret_shared)
{
    char path[32];
    struct stat now;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || !mode_allows(flags, read_only) || fstat(fd, ret_stat) < 0 ||
        !S_ISREG(ret_stat->st_mode))
        return -EINVAL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CLEANUP_CLOSE int own =
        open_again(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY);
    int error = errno;
    if (own >= 0 && fstat(own, &now) == 0 && now.st_dev == ret_stat->st_dev &&
        now.st_ino == ret_stat->st_ino) {
        *ret_shared = false;
        return STEAL_FD(own);
    }
    if (flags & (O_APPEND | O_DIRECT))
        return own >= 0 ? -EIO : -error;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    *ret_shared = true;
    return copy >= 0 ? copy : -errno;
}

int description_lock(int fd, uint64_t offset, uint64_t len, short type)
{
    struct flock lock = {.l_type = type,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)(offset + DESCRIPTION_LOCK_SHIFT),
                         .l_len = (off_t)len};
    int result;
    do
        result = fcntl(fd, F_OFD_SETLK, &lock);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}
