/* SPDX-License-Identifier: MIT */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/time.h"

uint64_t os_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    (void)clock_gettime(clock, &t);
    return time_from_timespec(t);
}

uint64_t os_now_ns(void)
{
    return os_clock_ns(CLOCK_MONOTONIC);
}

uint64_t os_thread_cpu_ns(void)
{
    return os_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int os_random_try(void *buf, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = getrandom((char *)buf + at, len - at, 0);
        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

void os_random(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    if (os_random_try(buf, len) < 0)
        abort(); /* keys and capabilities cannot be made: nothing safe is left to do */
}

Env os_env(void)
{
    return (Env){.random = os_random};
}

/* Each open() takes the lowest number. */
void os_keep_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static OsDescriptors descriptors;

void os_descriptors_place(const OsDescriptors *where)
{
    descriptors = *where;
}

void os_descriptors_begin(void)
{
    if (descriptors.busy)
        descriptors.busy(true);
}

void os_descriptors_end(const bool *begun)
{
    (void)begun;
    if (descriptors.busy)
        descriptors.busy(false);
}

unsigned os_descriptors_part(unsigned parts, unsigned most)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / parts > most)
        return most;
    return (unsigned)(limit.rlim_cur / parts);
}

int os_descriptors_half(void)
{
    return (int)os_descriptors_part(2, INT_MAX);
}

/* A duplicate of @fd at @floor or above, lower only where there is none; @fd is closed. */
static int move_above(int fd, int floor)
{
    int above = fcntl(fd, F_DUPFD_CLOEXEC, floor), error = errno;
    if (above < 0 && error == EINVAL) /* the limit has been lowered since */
        above = fcntl(fd, F_DUPFD_CLOEXEC, os_descriptors_half()), error = errno;
    if (above < 0 && floor > STDERR_FILENO + 1)
        above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    (void)close(fd);
    errno = error;
    return above;
}

int os_descriptors_move(int fd)
{
    int floor = descriptors.floor > 0 ? descriptors.floor : STDERR_FILENO + 1;
    if (fd >= 0 && fd < floor)
        fd = move_above(fd, floor);
    if (fd >= 0 && descriptors.own)
        descriptors.own(fd);
    os_descriptors_end(NULL);
    return fd;
}

ssize_t os_text_read(int dir, const char *path, char *text, size_t cap)
{
    OS_DESCRIPTORS_BUSY;
    CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, cap - 1) : -1;
    text[n > 0 ? n : 0] = '\0';
    return n >= 0 ? n : -errno;
}

/* No more of one advice is taken than of one read: the device's window, 128 KiB unless somebody has
 * changed it. Of a read that is longer than the memory for it, the kernel drops first what it has
 * read first, and the read asks for that once more. */
void os_ask_for_all(int fd, uint64_t offset, uint64_t len)
{
    len = len < OS_ASK_BYTES ? len : OS_ASK_BYTES;
    for (uint64_t at = 0; len > OS_ASK_LONG && at < len; at += OS_ASK_LONG)
        (void)posix_fadvise(fd, (off_t)(offset + at),
                            (off_t)(len - at < OS_ASK_LONG ? len - at : OS_ASK_LONG),
                            POSIX_FADV_WILLNEED);
}

/* cachestat(2), which glibc 2.36 and its headers do not know. The number is the same on all
 * architectures but alpha. */
enum { CACHESTAT = 451 };
typedef struct CacheStatRange {
    uint64_t offset, len;
} CacheStatRange;
typedef struct CacheStat {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
} CacheStat;

bool os_file_held(int fd, uint64_t offset, uint64_t len)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    CacheStatRange range = {offset, len};
    CacheStat st;
    uint64_t pages = (offset + len - 1) / page - offset / page + 1;
    return len > 0 && syscall(CACHESTAT, fd, &range, &st, 0) == 0 && st.cached >= pages;
}

bool os_file_held_known(void)
{
    CacheStatRange range = {0, 1};
    CacheStat st;
    return syscall(CACHESTAT, -1, &range, &st, 0) < 0 && errno == EBADF;
}

bool os_is_same_file(int fd, const struct stat *st)
{
    struct stat now;
    return fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
           now.st_size == st->st_size && now.st_ctim.tv_sec == st->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

bool os_file_may_have(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || bytes <= limit.rlim_cur;
}

typedef struct Start {
    void *(*run)(void *ctx);
    void *ctx;
} Start;

/* It is never counted before it is there: who sees that no other thread is left may end the
 * process. */
static void *counted_main(void *arg)
{
    Start start = *(Start *)arg;
    free(arg);
    descriptors.threads(1);
    void *res = start.run(start.ctx);
    descriptors.threads(-1);
    return res;
}

/* Blocks all signals in it. */
static int thread_create(pthread_t *ret, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(ret, NULL, run, ctx);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int os_thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx)
{
    if (!descriptors.threads)
        return thread_create(ret, run, ctx);
    Start *start = malloc(sizeof *start);
    if (!start)
        return -ENOMEM;
    *start = (Start){run, ctx};
    int res = thread_create(ret, counted_main, start);
    if (res < 0)
        free(start);
    return res;
}

int64_t os_preemptions(void)
{
    struct rusage usage = {.ru_nivcsw = 0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}
