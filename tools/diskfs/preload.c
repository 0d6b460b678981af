/* SPDX-License-Identifier: MIT */
/* The disk model where FUSE is unavailable: LD_PRELOADed into a program, it makes pread(2) and
 * pwrite(2) of one file as slow as the disk; there is no page cache above it. DISK_FILE names the
 * file, DISK_POSITION and DISK_BANDWIDTH are as diskfs's options. Not installed. */
#undef _FILE_OFFSET_BITS /* both names of each call are defined here */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "tools/diskfs/model.h"
#include "tools/diskfs/wait.h"

typedef ssize_t PreadFn(int, void *, size_t, off_t);
typedef ssize_t PwriteFn(int, const void *, size_t, off_t);

static PreadFn *next_pread;
static PwriteFn *next_pwrite;
static pthread_mutex_t head = PTHREAD_MUTEX_INITIALIZER; /* one access at a time */
static DiskModel model;
static struct stat file;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("DISK_FILE"), *position = getenv("DISK_POSITION"),
               *bandwidth = getenv("DISK_BANDWIDTH");
    void *symbol = dlsym(RTLD_NEXT, "pread");
    disk_model_init(&model);
    memcpy(&next_pread, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_NEXT, "pwrite");
    memcpy(&next_pwrite, &symbol, sizeof symbol);
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
