/* SPDX-License-Identifier: MIT */
#include "base/description.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/os.h"
#include "base/parked.h"

static bool mode_allows(int flags, bool read_only)
{
    int mode = flags & O_ACCMODE;
    if (flags & O_PATH) /* it reads nothing, and looks as if it might */
        return false;
    return mode == O_RDWR || (read_only && mode == O_RDONLY);
}

/* Fills the places of closed standard descriptors, so that no file opened meanwhile gets one of
 * them. A write to one of them has no lasting effect. */
static unsigned standard_fill(int held[3])
{
    unsigned n = 0;
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            continue;
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd > 2)
            (void)close(fd);
        else if (fd >= 0)
            held[n++] = fd;
    }
    return n;
}

/* Slow file systems let signals in. */
static int open_again(const char *path, int flags)
{
    int fd, held[3];
    unsigned n = standard_fill(held);
    do
        fd = open(path, flags);
    while (fd < 0 && errno == EINTR);
    int error = errno;
    while (n > 0)
        (void)close(held[--n]);
    errno = error;
    return fd;
}

/* Another description of the same file; -errno. */
static int own_description(int fd, int flags, const struct stat *st)
{
    char path[40];
    struct stat now;
    (void)snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
    int own = parked_take(st, flags);
    if (own >= 0)
        return own;
    own = os_above_standard(open_again(path, flags | O_CLOEXEC | O_NOCTTY));
    if (own < 0 && errno == EMFILE && parked_close_unlocked() > 0)
        own = os_above_standard(open_again(path, flags | O_CLOEXEC | O_NOCTTY));
    if (own < 0)
        return -errno;
    int error = fstat(own, &now) < 0 ? errno : 0;
    if (!error && now.st_dev == st->st_dev && now.st_ino == st->st_ino)
        return own;
    parked_give(own, false);
    return error ? -error : -ENOENT; /* a /proc that describes something else */
}

/* Is it a descriptor of a file that a description of our own may read, or write? Its *ret_flags. 0,
 * -EINVAL, or the file's -errno. */
static int look_at(int fd, bool read_only, int *ret_flags, struct stat *ret_stat)
{
    *ret_flags = fcntl(fd, F_GETFL);
    if (*ret_flags < 0 || !mode_allows(*ret_flags, read_only))
        return -EINVAL;
    if (fstat(fd, ret_stat) < 0)
        return errno == EBADF ? -EINVAL : -errno;
    return S_ISREG(ret_stat->st_mode) ? 0 : -EINVAL;
}

/* No /proc, or no right to the file; else it is the file that failed. */
static bool may_not_open(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
           error == ELOOP || error == ENXIO;
}

/* By the program's descriptor there was none. Another thread may have closed that, and opened
 * something else. A copy of the descriptor is our own, and stays what it is. If there is none by
 * that, either (no /proc, no right to the file), it is shared: with the program, for a reader only.
 * A writer's fdatasync would take the error that the program's fdatasync must see, and its lock
 * would belong to every duplicate. */
static int description_of_copy(int fd, bool read_only, int mode, int error, struct stat *ret_stat,
                               bool *ret_shared)
{
    int flags;
    if (error == EMFILE || error == ENFILE || error == ENOMEM)
        return -error;
    if (!read_only)
        return may_not_open(error) ? -EACCES : -error;
    int copy = os_above_standard(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (copy < 0)
        return -errno;
    int result = look_at(copy, read_only, &flags, ret_stat);
    int own = result < 0 ? result : own_description(copy, mode, ret_stat);
    *ret_shared = result == 0 && own < 0 && !(flags & (O_APPEND | O_DIRECT));
    if (*ret_shared)
        return copy;
    parked_give(copy, true);
    return own;
}

int description_open(int fd, bool read_only, struct stat *ret_stat, bool *ret_shared)
{
    OS_DESCRIPTORS_BUSY;
    int flags;
    int result = look_at(fd, read_only, &flags, ret_stat);
    if (result < 0)
        return result;
    int mode = read_only ? O_RDONLY : O_RDWR | (flags & (O_SYNC | O_DSYNC));
    int own = own_description(fd, mode, ret_stat);
    *ret_shared = false;
    return own >= 0 ? own : description_of_copy(fd, read_only, mode, -own, ret_stat, ret_shared);
}

void description_close(int fd, bool shared)
{
    parked_give(fd, shared);
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
