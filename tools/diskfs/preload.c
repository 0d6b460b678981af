/* SPDX-License-Identifier: MIT */
/* The disk model where FUSE is unavailable: LD_PRELOADed into a program, it makes reads and writes
 * of one file at an offset as slow as the disk: pread(2), preadv(2), pwrite(2), pwritev(2), and
 * pread by syscall(2), as libmanage calls it. There is no page cache above it. DISK_FILE names the
 * file, DISK_POSITION and DISK_BANDWIDTH are as diskfs's options. Not installed. */
#undef _FILE_OFFSET_BITS /* both names of each call are defined here */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/os.h"
#include "tools/diskfs/model.h"
#include "tools/diskfs/wait.h"

static ssize_t (*next_pread)(int, void *, size_t, off_t);
static ssize_t (*next_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*next_preadv)(int, const struct iovec *, int, off_t);
static ssize_t (*next_pwritev)(int, const struct iovec *, int, off_t);
static long (*next_syscall)(long, ...);
static pthread_mutex_t head = PTHREAD_MUTEX_INITIALIZER; /* one access at a time */
static DiskModel model;
static struct stat file;

/* The function that this one stands before. */
static void find(void *ret, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(ret, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("DISK_FILE"), *position = getenv("DISK_POSITION"),
               *bandwidth = getenv("DISK_BANDWIDTH");
    find(&next_pread, "pread");
    find(&next_pwrite, "pwrite");
    find(&next_preadv, "preadv");
    find(&next_pwritev, "pwritev");
    find(&next_syscall, "syscall");
    disk_model_init(&model);
    if (!path || !position || !bandwidth || stat(path, &file) < 0 ||
        disk_model_set(&model, "position", position) < 0 ||
        disk_model_set(&model, "bandwidth", bandwidth) < 0) {
        fprintf(stderr, "disk model: DISK_FILE, DISK_POSITION or DISK_BANDWIDTH is no good\n");
        _exit(1);
    }
}

static ssize_t serve(int fd, off_t offset, ssize_t n)
{
    struct stat st;
    if (n <= 0 || fstat(fd, &st) < 0 || st.st_ino != file.st_ino || st.st_dev != file.st_dev)
        return n;
    (void)prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
    pthread_mutex_lock(&head);
    disk_wait_until(disk_model_serve(&model, st.st_ino, (uint64_t)offset, (size_t)n, os_now_ns()));
    pthread_mutex_unlock(&head);
    return n;
}

#define EXPORT __attribute__((visibility("default")))
_Static_assert(sizeof(off_t) == sizeof(off64_t), "one implementation for both names");
EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
    return serve(fd, offset, next_pread(fd, buf, len, offset));
}
EXPORT ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
    return pread(fd, buf, len, offset);
}
EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t offset)
{
    return serve(fd, offset, next_pwrite(fd, buf, len, offset));
}
EXPORT ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t offset)
{
    return pwrite(fd, buf, len, offset);
}
EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
    return serve(fd, offset, next_preadv(fd, iov, count, offset));
}
EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return preadv(fd, iov, count, offset);
}
EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return serve(fd, offset, next_pwritev(fd, iov, count, offset));
}
EXPORT ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return pwritev(fd, iov, count, offset);
}
/* As the C library's: it passes six on, however many there are. */
EXPORT __attribute__((no_sanitize_address)) long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    long n = next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return number == SYS_pread64 ? serve((int)a[0], (off_t)a[3], n) : n;
}
