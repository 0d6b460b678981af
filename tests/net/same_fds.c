/* SPDX-License-Identifier: MIT */
/* Calls on descriptors: all ways to read, to copy them, and to give them to others. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/net/same.h"

bool same_alone;
bool same_shares, same_refused;

static int *slot_of(Side *s, unsigned n)
{
    return &s->fds[n % FDS];
}

/* What comes into the slot, in place of what was there; opened @behind the mount. */
static long slot_take(Side *s, unsigned n, int fd, bool behind)
{
    int *slot = slot_of(s, n);
    if (fd >= 0)
        s->fd_behind[n % FDS] = behind;
    if (*slot >= 0 && fd >= 0 && *slot != fd)
        (void)close(*slot);
    if (fd >= 0)
        *slot = fd;
    return fd < 0 ? -1 : 0;
}

static void say_position(Side *s, int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    say(s, &at, sizeof at);
}

/* ---- files that are rarely changed ------------------------------------------------------------
 */

static const char *still_name(unsigned n)
{
    static const char *const names[] = {"still0", "still1", "still2", "still3", "still4"};
    return names[n % (sizeof names / sizeof *names)];
}

static unsigned char *fresh_bytes(unsigned seed)
{
    static unsigned char bytes[SIZE_MAX_];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(seed + i * 13 + (i >> 7));
    return bytes;
}

static void still_make(int dir, const char *name, unsigned seed)
{
    size_t len = 1 + seed % SIZE_MAX_;
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, fresh_bytes(seed), len) != (ssize_t)len)
        abort();
    (void)close(fd);
}

void same_make_files(int dir)
{
    const unsigned sizes[] = {SIZE_MAX_ - 1, 65535, 40000, 8191, 12};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        still_make(dir, still_name(i), sizes[i]);
}

/* Where libdodo-preload.so is in this program, it has a moment to take the file. */
static void await_cache(int fd)
{
    char byte;
    struct stat st;
    const struct timespec moment = {.tv_nsec = 500000};
    bool (*holds)(int fd) = NULL;
    *(void **)&holds = dlsym(RTLD_DEFAULT, "dodo_preload_holds");
    if (!holds || fstat(fd, &st) < 0 || st.st_size < 4096)
        return;
    for (int i = 0; i < 100 && !holds(fd) && pread(fd, &byte, 1, 0) == 1; i++)
        (void)nanosleep(&moment, NULL);
}

static long call_open_still(Side *s, const Draws *d)
{
    static const int flags[] = {O_RDONLY,
                                O_RDONLY | O_NONBLOCK,
                                O_RDONLY | O_APPEND,
                                O_RDONLY,
                                O_RDONLY | O_SYNC,
                                O_RDONLY | O_CLOEXEC,
                                O_RDONLY,
                                O_RDONLY | O_NOCTTY,
                                O_RDONLY | O_NOFOLLOW,
                                O_PATH,
                                O_RDONLY | O_NOATIME,
                                O_RDONLY,
                                O_RDONLY | O_DIRECT};
    size_t count = sizeof flags / sizeof *flags - (same_alone ? 0 : 1);
    int dir = d->behind ? s->behind : s->root;
    bool named = d->n[3] % 4 == 0;
    if (named && fchdir(dir) < 0)
        return -1;
    int fd = named ? open(still_name(d->n[1]), flags[d->n[2] % count])
                   : openat(dir, still_name(d->n[1]), flags[d->n[2] % count]);
    if (same_alone && d->n[4] % 8 == 0)
        await_cache(fd);
    return slot_take(s, d->n[0], fd, d->behind);
}

/* Now and then one is changed after all, by each way there is, or another takes its name. */
static long call_change_still(Side *s, const Draws *d)
{
    const char *name = still_name(d->n[1]);
    int dir = d->behind ? s->behind : s->root;
    if (d->n[0] % 40 > 0)
        return 0;
    switch (d->n[2] % 4) {
    case 0:
        still_make(dir, name, d->n[3]);
        return 0;
    case 1:
        still_make(dir, "next", d->n[3]);
        return renameat(dir, "next", dir, name);
    case 2:
        (void)unlinkat(dir, name, 0);
        still_make(dir, name, d->n[3]);
        return 0;
    default:
        break;
    }
    int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long res = d->n[3] % 2 ? ftruncate(fd, d->n[4] % SIZE_MAX_)
                           : pwrite(fd, "changed", 7, d->n[4] % SIZE_MAX_);
    (void)close(fd);
    return res;
}

/* ---- all ways to read -------------------------------------------------------------------------
 */

enum { VECTORS = 8, VECTORS_MANY = IOV_MAX + 1 };

/* Buffers in a row; of many, small ones. Returns how many. */
static int make_vectors(const Draws *d, struct iovec *iov, unsigned char *buf)
{
    if (d->n[4] % 16 == 0) {
        for (int i = 0; i < VECTORS_MANY; i++)
            iov[i] = (struct iovec){buf + i * 7, 7};
        return IOV_MAX + (int)(d->n[5] % 2);
    }
    size_t at = 0;
    int count = (int)(d->n[4] % VECTORS);
    for (int i = 0; i < count; i++) {
        size_t len = d->n[5 + i % 5] % (i % 3 == 1 ? 40000 : 3000);
        len = d->n[5 + i % 5] % 7 == 0 ? 0 : len;
        len = len < RESULT_MAX / 2 - at ? len : 0;
        iov[i] = (struct iovec){buf + at, len};
        at += len;
    }
    return d->n[4] % 61 == 5 ? -1 : count;
}

static long call_vectors(Side *s, const Draws *d)
{
    static unsigned char buf[RESULT_MAX / 2];
    struct iovec iov[VECTORS_MANY];
    int fd = *slot_of(s, d->n[0]), count = make_vectors(d, iov, buf);
    off_t at = d->n[1] % 11 == 0 ? -(off_t)(d->n[2] % 3) : d->n[2] % SIZE_MAX_;
    ssize_t n;
    switch (d->n[3] % 5) {
    case 0:
        n = readv(fd, iov, count);
        break;
    case 1:
        n = preadv(fd, iov, count, at);
        break;
    case 2:
        n = preadv2(fd, iov, count, at, 0);
        break;
    case 3:
        n = preadv2(fd, iov, count, d->n[6] % 2 ? -1 : at, RWF_HIPRI);
        break;
    default: /* flags that there are not */
        n = preadv2(fd, iov, count, at, same_alone && d->n[6] % 2 ? 1 << 30 : 0);
        break;
    }
    if (n > 0)
        say(s, buf, (size_t)n);
    say_position(s, fd);
    return n;
}

static long call_read_edges(Side *s, const Draws *d)
{
    static unsigned char buf[SIZE_MAX_];
    static const int bad[] = {-1, 1000000, INT_MIN};
    struct stat st = {0};
    int fd = d->n[1] % 8 == 0 ? bad[d->n[2] % 3] : *slot_of(s, d->n[0]);
    (void)fstat(fd, &st);
    off_t end = S_ISREG(st.st_mode) ? st.st_size : 0;
    const off_t far = same_alone ? INT64_MAX : 0; /* each file system has its own answer there */
    const off_t places[] = {end, end - 1, end + 1, -1, far, far - 10, 0, end / 2};
    const size_t lengths[] = {0, 1, 2, sizeof buf, 4096, 100, sizeof buf, 4097};
    size_t len = lengths[d->n[4] % 8];
    off_t at = places[d->n[3] % 8];
    if (d->n[5] % 2 && at >= 0)
        (void)lseek(fd, at, SEEK_SET);
    ssize_t n = d->n[5] % 2 ? read(fd, buf, len) : pread(fd, buf, len, at);
    if (n > 0)
        say(s, buf, (size_t)n);
    int error = errno;
    say_position(s, fd);
    errno = error;
    return n;
}

/* A page that is there, and one that is not. */
static unsigned char *half_a_buffer(void)
{
    static unsigned char *pages;
    if (pages)
        return pages;
    pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) < 0)
        abort();
    return pages;
}

/* Buffers that are not there, not all there, or not writable. */
static long call_read_nowhere(Side *s, const Draws *d)
{
    static const unsigned char constant[4096];
    unsigned char *half = half_a_buffer();
    void *buffers[] = {NULL, (void *)8, half + 4096, half, half + 4000, (void *)constant};
    void *buf = buffers[d->n[1] % 6];
    struct iovec iov[2] = {{half, d->n[5] % 100}, {buf, 2000}};
    int fd = *slot_of(s, d->n[0]);
    size_t len = d->n[2] % 3 ? 4096 : 16;
    ssize_t n;
    if (same_goes_straight(s, d->n[0] % FDS))
        return 0;
    memset(half, 0, 4096);
    switch (d->n[3] % 4) {
    case 0:
        n = read(fd, buf, len);
        break;
    case 1:
        n = pread(fd, buf, len, d->n[4] % 50000);
        break;
    case 2:
        n = preadv(fd, iov, 2, d->n[4] % 50000);
        break;
    default:
        n = readv(fd, d->n[6] % 4 ? iov : NULL, 2);
        break;
    }
    int error = errno;
    if (n > 0)
        say(s, half, n < 4096 ? (size_t)n : 4096);
    say_position(s, fd);
    errno = error;
    return n;
}

/* ---- copies of descriptors --------------------------------------------------------------------
 */

static long call_dup(Side *s, const Draws *d)
{
    int fd = *slot_of(s, d->n[0]), *to = slot_of(s, d->n[1]);
    bool behind = s->fd_behind[d->n[0] % FDS];
    switch (d->n[2] % 7) {
    case 0:
        return slot_take(s, d->n[1], dup(fd), behind);
    case 1:
        return slot_take(s, d->n[1], fcntl(fd, F_DUPFD, 20), behind);
    case 2:
        return slot_take(s, d->n[1], fcntl(fd, F_DUPFD_CLOEXEC, 0), behind);
    case 3:
        return *to < 0 ? 0 : slot_take(s, d->n[1], dup2(fd, *to), behind);
    case 4:
        return *to < 0 ? 0 : slot_take(s, d->n[1], dup3(fd, *to, O_CLOEXEC), behind);
    case 5: /* the same file by another description */
        if (fd >= 0) {
            char path[64];
            (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            return slot_take(s, d->n[1], open(path, O_RDONLY | O_NONBLOCK), behind);
        }
        return 0;
    default:
        if (fd >= 0 &&
            close_range((unsigned)fd, (unsigned)fd, d->n[3] % 2 ? CLOSE_RANGE_CLOEXEC : 0) < 0)
            return -1;
        if (fd >= 0 && d->n[3] % 2 == 0)
            *slot_of(s, d->n[0]) = -1;
        return 0;
    }
}

static long call_flags(Side *s, const Draws *d)
{
    int fd = *slot_of(s, d->n[0]);
    int flags = fcntl(fd, F_GETFL), res = 0;
    if (flags < 0)
        return -1;
    if (d->n[1] % 3 == 0)
        res = fcntl(fd, F_SETFL, flags ^ (d->n[2] % 2 ? O_APPEND : O_NONBLOCK));
    if (d->n[1] % 3 == 1)
        res = fcntl(fd, F_SETFD, d->n[2] % 2 ? FD_CLOEXEC : 0);
    flags = fcntl(fd, F_GETFL) | fcntl(fd, F_GETFD) << 28;
    say(s, &flags, sizeof flags);
    return res;
}

/* Through a socket and back: another number of the same description. */
static long call_pass(Side *s, const Draws *d)
{
    int ends[2], fd = *slot_of(s, d->n[0]), got = -1;
    char byte = 'x';
    struct iovec iov = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (fd < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
        return 0;
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    if (sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1)
        memcpy(&got, CMSG_DATA(&control.head), sizeof got);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return slot_take(s, d->n[0], got, s->fd_behind[d->n[0] % FDS]);
}

/* ---- other processes --------------------------------------------------------------------------
 */

/* What comes out of the pipe; its writer ends. */
static void say_output(Side *s, int from, pid_t pid)
{
    static char buf[SIZE_MAX_];
    ssize_t n;
    int status = -1;
    while ((n = read(from, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            say(s, buf, (size_t)n);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    say(s, &status, sizeof status);
}

static _Noreturn void child_reads(int fd, int to, size_t len)
{
    static char buf[SIZE_MAX_];
    ssize_t n = read(fd, buf, len);
    ssize_t other = pread(fd, buf + SIZE_MAX_ / 2, 100, 1000);
    if (n > 0)
        (void)!write(to, buf, (size_t)n);
    if (other > 0)
        (void)!write(to, buf + SIZE_MAX_ / 2, (size_t)other);
    _exit(0);
}

/* The child reads on from where the parent is, and the parent from where the child was. */
static long call_fork(Side *s, const Draws *d)
{
    int ends[2], fd = *slot_of(s, d->n[0]);
    struct stat st;
    if (d->n[1] % 4 > 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0)
        child_reads(fd, ends[1], d->n[2] % 30000);
    (void)close(ends[1]);
    say_output(s, ends[0], pid);
    (void)close(ends[0]);
    say_position(s, fd);
    return pid < 0 ? -1 : 0;
}

int same_child(const char *len)
{
    child_reads(STDIN_FILENO, STDOUT_FILENO, strtoul(len, NULL, 10));
}

/* So does a program that it runs. */
static long call_spawn(Side *s, const Draws *d)
{
    int ends[2], fd = *slot_of(s, d->n[0]);
    struct stat st;
    char len[16];
    char *argv[] = {(char *)"same", (char *)"child", len, NULL};
    posix_spawn_file_actions_t actions;
    if (d->n[1] % 20 > 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    (void)snprintf(len, sizeof len, "%u", d->n[2] % 30000);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t pid;
    int error = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    say_output(s, ends[0], error == 0 ? pid : -1);
    (void)close(ends[0]);
    say_position(s, fd);
    errno = error;
    return error == 0 ? 0 : -1;
}

const NamedCall same_fd_calls[] = {
    {"open_still", call_open_still},
    {"open_still", call_open_still},
    {"change_still", call_change_still},
    {"vectors", call_vectors},
    {"vectors", call_vectors},
    {"read_edges", call_read_edges},
    {"read_edges", call_read_edges},
    {"read_nowhere", call_read_nowhere},
    {"dup", call_dup},
    {"flags", call_flags},
    {"pass", call_pass},
    {"fork", call_fork},
    {"spawn", call_spawn},
};
const size_t same_fd_calls_count = sizeof same_fd_calls / sizeof *same_fd_calls;
