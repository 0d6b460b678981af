/* SPDX-License-Identifier: MIT */
#include "tests/net/same.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *name_of(unsigned n)
{
    static const char *const names[NAMES] = {"a", "b", "c", "d/x", "d/y", "d", "e"};
    return names[n % NAMES];
}

static int dir_of(const Side *s, const Draws *d)
{
    return d->behind ? s->behind : s->root;
}

/* "/proc/self/fd/N/NAME", for calls that take no directory. */
static const char *path_of(const Side *s, const Draws *d, unsigned n)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir_of(s, d), name_of(n));
    return path;
}

static void pattern(unsigned char *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = (unsigned char)(seed + i * 7 + (i >> 8));
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static long call_open(Side *s, const Draws *d)
{
    static const int flags[] = {O_RDONLY,
                                O_RDONLY,
                                O_RDWR,
                                O_WRONLY,
                                O_RDWR | O_CREAT,
                                O_RDWR | O_CREAT | O_EXCL,
                                O_RDWR | O_TRUNC,
                                O_WRONLY | O_APPEND,
                                O_RDWR | O_CREAT | O_TRUNC,
                                O_RDWR | O_APPEND | O_CREAT,
                                O_RDONLY | O_DIRECTORY,
                                O_RDONLY | O_NOFOLLOW};
    int *fd = &s->fds[d->n[0] % FDS];
    if (*fd >= 0)
        (void)close(*fd);
    *fd = openat(dir_of(s, d), name_of(d->n[1]),
                 flags[d->n[2] % (sizeof flags / sizeof *flags)] | O_CLOEXEC, 0600 + d->n[3] % 64);
    s->fd_behind[d->n[0] % FDS] = d->behind;
    return *fd < 0 ? -1 : 0;
}

static long call_pread(Side *s, const Draws *d)
{
    static unsigned char buf[SIZE_MAX_];
    ssize_t n = pread(s->fds[d->n[0] % FDS], buf, d->n[1] % SIZE_MAX_, d->n[2] % SIZE_MAX_);
    if (n > 0)
        say(s, buf, (size_t)n);
    return n;
}

static long call_read(Side *s, const Draws *d)
{
    static unsigned char buf[SIZE_MAX_];
    ssize_t n = read(s->fds[d->n[0] % FDS], buf, d->n[1] % SIZE_MAX_);
    if (n > 0)
        say(s, buf, (size_t)n);
    return n;
}

static long call_pwrite(Side *s, const Draws *d)
{
    static unsigned char buf[SIZE_MAX_];
    size_t len = d->n[1] % (d->n[4] % 2 ? 5000 : SIZE_MAX_);
    pattern(buf, len, d->n[3]);
    return pwrite(s->fds[d->n[0] % FDS], buf, len, d->n[2] % SIZE_MAX_);
}

static long call_write(Side *s, const Draws *d)
{
    static unsigned char buf[SIZE_MAX_];
    size_t len = d->n[1] % 9000;
    struct stat st; /* where an append ends, the kernel takes from the size that it heard last */
    (void)fstat(s->fds[d->n[0] % FDS], &st);
    pattern(buf, len, d->n[3]);
    return write(s->fds[d->n[0] % FDS], buf, len);
}

static long call_lseek(Side *s, const Draws *d)
{
    static const int origin[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_SET};
    struct stat st;
    if (fstat(s->fds[d->n[0] % FDS], &st) == 0 && S_ISDIR(st.st_mode))
        return 0; /* where one may go in a directory is its file system's own */
    return lseek(s->fds[d->n[0] % FDS], (off_t)(d->n[1] % SIZE_MAX_) - 1000, origin[d->n[2] % 4]);
}

static long call_ftruncate(Side *s, const Draws *d)
{
    return ftruncate(s->fds[d->n[0] % FDS], d->n[1] % SIZE_MAX_);
}

static long call_truncate(Side *s, const Draws *d)
{
    return truncate(path_of(s, d, d->n[0]), d->n[1] % SIZE_MAX_);
}

static long call_fallocate(Side *s, const Draws *d)
{
    static const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_ZERO_RANGE};
    return fallocate(s->fds[d->n[0] % FDS], modes[d->n[1] % 4], d->n[2] % SIZE_MAX_,
                     1 + d->n[3] % SIZE_MAX_);
}

static bool reads_and_writes(const Side *s, unsigned n)
{
    return !same_alone && !s->fd_behind[n] && (fcntl(s->fds[n], F_GETFL) & O_ACCMODE) == O_RDWR;
}

/* Beside one for writing, others go straight, too, where the kernel shares mappings. */
bool same_goes_straight(const Side *s, unsigned n)
{
    return reads_and_writes(s, n) || (same_shares && !s->fd_behind[n]);
}

/* Reads or writes a mapping up to the file's end. */
static long call_map(Side *s, const Draws *d)
{
    struct stat st;
    int fd = s->fds[d->n[0] % FDS];
    bool writes = d->n[1] % 2;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > RESULT_MAX)
        return 0;
    size_t size = (size_t)st.st_size;
    int protection = PROT_READ | (writes ? PROT_WRITE : 0);
    bool shared = d->n[2] % 3 && !same_refused;
    unsigned char *map = mmap(NULL, size, protection, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED && errno == ENODEV && reads_and_writes(s, d->n[0] % FDS)) {
        same_refused = true;
        map = mmap(NULL, size, protection, MAP_PRIVATE, fd, 0);
    }
    if (map == MAP_FAILED)
        return -1;
    size_t at = d->n[3] % size, len = d->n[4] % (size - at) + 1;
    if (writes)
        pattern(map + at, len, d->n[5]);
    else
        say(s, map + at, len);
    return munmap(map, size);
}

static long call_stat(Side *s, const Draws *d)
{
    struct stat st;
    int res = fstatat(dir_of(s, d), name_of(d->n[0]), &st, AT_SYMLINK_NOFOLLOW);
    if (res < 0)
        return res;
    const uint64_t told[] = {st.st_mode, st.st_nlink, st.st_uid, st.st_gid,
                             S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size};
    say(s, told, sizeof told);
    return res;
}

/* Modes, owners and counts of links that are changed behind the mount are seen within a second by
 * who has the file open. */
static long call_fstat(Side *s, const Draws *d)
{
    struct stat st;
    int res = fstat(s->fds[d->n[0] % FDS], &st);
    if (res == 0 && !S_ISDIR(st.st_mode))
        say(s, &st.st_size, sizeof st.st_size);
    return res;
}

static long call_times(Side *s, const Draws *d)
{
    struct timespec times[] = {{d->n[1] % 100000, d->n[2] % 1000000000},
                               {d->n[3] % 100000, d->n[4] % 1000000000}};
    struct stat st;
    int res = utimensat(dir_of(s, d), name_of(d->n[0]), times, AT_SYMLINK_NOFOLLOW);
    if (res == 0 && fstatat(dir_of(s, d), name_of(d->n[0]), &st, AT_SYMLINK_NOFOLLOW) == 0)
        say(s, &st.st_mtim, sizeof st.st_mtim);
    return res;
}

static long call_names(Side *s, const Draws *d)
{
    int dir = dir_of(s, d);
    const char *one = name_of(d->n[1]), *two = name_of(d->n[2]);
    struct stat st; /* a directory that was moved behind the mount: a rename finds it stale */
    (void)fstatat(dir, one, &st, AT_SYMLINK_NOFOLLOW);
    (void)fstatat(dir, two, &st, AT_SYMLINK_NOFOLLOW);
    switch (d->n[0] % 9) {
    case 0:
        return renameat(dir, one, dir, two);
    case 1:
        return renameat2(dir, one, dir, two, d->n[3] % 2 ? RENAME_NOREPLACE : RENAME_EXCHANGE);
    case 2:
        return linkat(dir, one, dir, two, 0);
    case 3:
        return unlinkat(dir, one, 0);
    case 4:
        return unlinkat(dir, one, AT_REMOVEDIR);
    case 5:
    case 6:
        return mkdirat(dir, one, 0700 + d->n[3] % 64);
    case 7:
        return symlinkat(two, dir, one);
    default:
        return mknodat(dir, one, (d->n[3] % 2 ? S_IFSOCK : S_IFREG) | 0600, 0);
    }
}

static long call_readlink(Side *s, const Draws *d)
{
    char target[100];
    ssize_t n = readlinkat(dir_of(s, d), name_of(d->n[0]), target, sizeof target);
    if (n > 0)
        say(s, target, (size_t)n);
    return n;
}

static long call_mode(Side *s, const Draws *d)
{
    if (d->n[2] % 2)
        return fchmodat(dir_of(s, d), name_of(d->n[0]), 0400 + d->n[1] % 0400, 0);
    /* The owner, the group, both or none of them. */
    bool root = geteuid() == 0;
    uid_t uid = root && d->n[1] % 4 < 3 ? d->n[1] % 4 : (uid_t)-1;
    gid_t gid = root && d->n[3] % 4 < 3 ? d->n[3] % 4 : (gid_t)-1;
    return fchownat(dir_of(s, d), name_of(d->n[0]), uid, gid, AT_SYMLINK_NOFOLLOW);
}

static long call_xattr(Side *s, const Draws *d)
{
    char value[100];
    const char *path = path_of(s, d, d->n[0]), *key = d->n[1] % 2 ? "user.one" : "user.two";
    ssize_t n;
    switch (d->n[2] % 4) {
    case 0:
        return setxattr(path, key, "value of it", d->n[3] % 12, (int)(d->n[4] % 3));
    case 1:
        return removexattr(path, key);
    case 2:
        n = listxattr(path, value, sizeof value);
        break;
    default:
        n = getxattr(path, key, value, d->n[3] % sizeof value);
        break;
    }
    if (n > 0 && (size_t)n <= sizeof value && d->n[3] % sizeof value > 0)
        say(s, value, (size_t)n);
    return n;
}

static long call_lock(Side *s, const Draws *d)
{
    static const short types[] = {F_RDLCK, F_WRLCK, F_UNLCK};
    static const int operations[] = {LOCK_SH, LOCK_EX, LOCK_UN};
    int fd = s->fds[d->n[0] % FDS];
    struct flock lock = {.l_type = types[d->n[1] % 3],
                         .l_whence = SEEK_SET,
                         .l_start = d->n[2] % 100,
                         .l_len = 1 + d->n[3] % 100};
    if (s->fd_behind[d->n[0] % FDS])
        return 0; /* to this process such a lock is its own, to the mount another's */
    if (d->n[5] % 2) {
        long res = fcntl(fd, F_GETLK, &lock);
        say(s, &lock.l_type, sizeof lock.l_type);
        return res;
    }
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        return 0; /* a lock for reading would be in the way of its own for writing */
    if (d->n[4] % 2)
        return flock(fd, operations[d->n[1] % 3] | LOCK_NB);
    return fcntl(fd, F_SETLK, &lock);
}

static long call_copy(Side *s, const Draws *d)
{
    off_t in = d->n[2] % SIZE_MAX_, out = d->n[3] % SIZE_MAX_;
    struct stat st; /* the kernel goes by the size that it heard last */
    (void)fstat(s->fds[d->n[0] % FDS], &st);
    if (d->n[0] % FDS == d->n[1] % FDS ||
        s->fd_behind[d->n[0] % FDS] != s->fd_behind[d->n[1] % FDS])
        return 0; /* of two file systems */
    return copy_file_range(s->fds[d->n[0] % FDS], &in, s->fds[d->n[1] % FDS], &out, d->n[4] % 30000,
                           0);
}

static long call_sync(Side *s, const Draws *d)
{
    int fd = s->fds[d->n[0] % FDS];
    return d->n[1] % 2 ? fsync(fd) : fdatasync(fd);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static long call_list(Side *s, const Draws *d)
{
    char names[16][256];
    size_t count = 0;
    int fd = openat(dir_of(s, d), d->n[0] % 2 ? "." : "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return -1;
    memset(names, 0, sizeof names);
    for (struct dirent *e; (e = readdir(dir)) && count < 16;)
        strcpy(names[count++], e->d_name);
    (void)closedir(dir);
    qsort(names, count, sizeof names[0], by_name);
    say(s, names, sizeof names);
    return (long)count;
}

static long call_close(Side *s, const Draws *d)
{
    int *fd = &s->fds[d->n[0] % FDS];
    int res = close(*fd);
    *fd = -1;
    return res;
}

const NamedCall same_calls[] = {
    {"open", call_open},
    {"open", call_open},
    {"open", call_open},
    {"pread", call_pread},
    {"pread", call_pread},
    {"read", call_read},
    {"pwrite", call_pwrite},
    {"pwrite", call_pwrite},
    {"write", call_write},
    {"lseek", call_lseek},
    {"ftruncate", call_ftruncate},
    {"truncate", call_truncate},
    {"fallocate", call_fallocate},
    {"map", call_map},
    {"map", call_map},
    {"stat", call_stat},
    {"fstat", call_fstat},
    {"times", call_times},
    {"names", call_names},
    {"names", call_names},
    {"readlink", call_readlink},
    {"mode", call_mode},
    {"xattr", call_xattr},
    {"lock", call_lock},
    {"copy", call_copy},
    {"sync", call_sync},
    {"list", call_list},
    {"close", call_close},
};
const size_t same_calls_count = sizeof same_calls / sizeof *same_calls;
