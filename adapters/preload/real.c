/* SPDX-License-Identifier: MIT */
#include "adapters/preload/real.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct {
    ssize_t (*read)(int fd, void *buf, size_t len);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t offset);
    ssize_t (*readv)(int fd, const struct iovec *iov, int count);
    ssize_t (*preadv)(int fd, const struct iovec *iov, int count, off_t offset);
    ssize_t (*preadv2)(int fd, const struct iovec *iov, int count, off_t offset, int flags);
    int (*close)(int fd);
    int (*close_range)(unsigned from, unsigned to, int flags);
    int (*dup2)(int fd, int to);
    int (*dup3)(int fd, int to, int flags);
    int (*sigaction)(int number, const struct sigaction *action, struct sigaction *before);
    sighandler_t (*signal)(int number, sighandler_t handler);
    sighandler_t (*sysv_signal)(int number, sighandler_t handler);
    sighandler_t (*sigset)(int number, sighandler_t handler);
    int (*setuid)(uid_t user);
    int (*seteuid)(uid_t user);
    int (*setreuid)(uid_t user, uid_t effective);
    int (*setresuid)(uid_t user, uid_t effective, uid_t saved);
    int (*setfsuid)(uid_t user);
    int (*capset)(CapHeader header, CapData data);
} real;

/* What dlsym() returns may be stored so (POSIX). */
void real_find(void)
{
    const struct {
        const char *name;
        void *to;
    } all[] = {
        {"read", &real.read},
        {"pread64", &real.pread},
        {"readv", &real.readv},
        {"preadv64v2", &real.preadv2},
        {"close", &real.close},
        {"close_range", &real.close_range},
        {"dup2", &real.dup2},
        {"dup3", &real.dup3},
        {"sigaction", &real.sigaction},
        {"signal", &real.signal},
        {"sysv_signal", &real.sysv_signal},
        {"sigset", &real.sigset},
        {"setuid", &real.setuid},
        {"seteuid", &real.seteuid},
        {"setreuid", &real.setreuid},
        {"setresuid", &real.setresuid},
        {"setfsuid", &real.setfsuid},
        {"capset", &real.capset},
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        *(void **)all[i].to = dlsym(RTLD_NEXT, all[i].name);
}

ssize_t real_read(int fd, void *buf, size_t len)
{
    return real.read ? real.read(fd, buf, len) : syscall(SYS_read, fd, buf, len);
}

ssize_t real_pread(int fd, void *buf, size_t len, off_t offset)
{
    return real.pread ? real.pread(fd, buf, len, offset)
                      : syscall(SYS_pread64, fd, buf, len, offset);
}

ssize_t real_readv(int fd, const struct iovec *iov, int count)
{
    return real.readv ? real.readv(fd, iov, count) : syscall(SYS_readv, fd, iov, count);
}

ssize_t real_preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
    return real.preadv ? real.preadv(fd, iov, count, offset)
                       : syscall(SYS_preadv, fd, iov, count, offset, 0L);
}

ssize_t real_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
    return real.preadv2 ? real.preadv2(fd, iov, count, offset, flags)
                        : syscall(SYS_preadv2, fd, iov, count, offset, 0L, flags);
}

int real_close(int fd)
{
    return real.close ? real.close(fd) : (int)syscall(SYS_close, fd);
}

int real_close_range(unsigned from, unsigned to, int flags)
{
    return real.close_range ? real.close_range(from, to, flags)
                            : (int)syscall(SYS_close_range, from, to, flags);
}

int real_dup2(int fd, int to)
{
    if (real.dup2)
        return real.dup2(fd, to);
    if (fd == to) /* which dup3 refuses */
        return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
    return (int)syscall(SYS_dup3, fd, to, 0);
}

int real_dup3(int fd, int to, int flags)
{
    return real.dup3 ? real.dup3(fd, to, flags) : (int)syscall(SYS_dup3, fd, to, flags);
}

/* Libraries that begin earlier may set handlers, too. The C library always has these calls, and the
 * kernel's have another form. */
static void find_early(void)
{
    if (!real.sigaction)
        real_find();
}

int real_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    find_early();
    return real.sigaction(number, action, before);
}

sighandler_t real_signal(int number, sighandler_t handler)
{
    find_early();
    return real.signal(number, handler);
}

sighandler_t real_sysv_signal(int number, sighandler_t handler)
{
    find_early();
    return real.sysv_signal(number, handler);
}

sighandler_t real_sigset(int number, sighandler_t handler)
{
    find_early();
    return real.sigset(number, handler);
}

/* The C library's calls change all threads; where they are not found yet, there is one thread. */

int real_setuid(uid_t user)
{
    return real.setuid ? real.setuid(user) : (int)syscall(SYS_setuid, user);
}

int real_seteuid(uid_t user)
{
    return real.seteuid ? real.seteuid(user) : (int)syscall(SYS_setresuid, -1, user, -1);
}

int real_setreuid(uid_t user, uid_t effective)
{
    return real.setreuid ? real.setreuid(user, effective)
                         : (int)syscall(SYS_setreuid, user, effective);
}

int real_setresuid(uid_t user, uid_t effective, uid_t saved)
{
    return real.setresuid ? real.setresuid(user, effective, saved)
                          : (int)syscall(SYS_setresuid, user, effective, saved);
}

int real_setfsuid(uid_t user)
{
    return real.setfsuid ? real.setfsuid(user) : (int)syscall(SYS_setfsuid, user);
}

int real_capset(CapHeader header, CapData data)
{
    return real.capset ? real.capset(header, data) : (int)syscall(SYS_capset, header, data);
}
