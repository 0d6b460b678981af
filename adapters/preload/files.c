/* SPDX-License-Identifier: MIT */
#include "adapters/preload/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "adapters/mount/reason.h"
#include "adapters/preload/own.h"
#include "base/os.h"

enum {
    FILES_MAX = 256,   /* at once; others are the kernel's */
    FDS_MAX = 1 << 16, /* greater numbers are the kernel's */
    PLAIN_CALLS = 64,  /* a number that is no large file's is looked at again after so many */
};

/* What is remembered of a number: 0: nothing; a file; or, odd, how many calls are the kernel's
 * before it is looked at again. */
static atomic_uintptr_t fds[FDS_MAX];
static atomic_int fds_end; /* above all that are remembered */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static File files[FILES_MAX];
static sem_t work;
static void (*tell_of)(const File *f);
static unsigned next_place; /* where the search for one begins that may be given away */
static PreloadSettings settings;

const PreloadSettings *files_settings(void)
{
    return &settings;
}

void files_init(void (*tell)(const File *f))
{
    tell_of = tell;
    settings_read(&settings);
    (void)sem_init(&work, 0, 0);
    for (unsigned i = 0; i < FILES_MAX; i++) {
        files[i].lease_fd = -1;
        (void)pthread_mutex_init(&files[i].way_lock, NULL);
    }
}

void files_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void files_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

void files_await_work(void)
{
    (void)sem_wait(&work);
}

/* ---- the table of files ---------------------------------------------------------------------- */

static File *find(dev_t dev, ino_t ino)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (files[i].hold.state != HOLD_NONE && files[i].dev == dev && files[i].ino == ino)
            return &files[i];
    return NULL;
}

/* A place that nobody has, or one whose file is the kernel's; NULL: all are in use. */
static File *place(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (files[i].hold.state == HOLD_NONE)
            return &files[i];
    for (unsigned i = 0; i < FILES_MAX; i++) {
        File *f = &files[next_place++ % FILES_MAX];
        if ((f->hold.state == HOLD_PLAIN || f->hold.state == HOLD_NEVER) && f->word == 0)
            return f;
    }
    return NULL;
}

/* The path of @fd's file in @path; false: none is known, or the file has lost its name. */
static bool path_of(int fd, char path[PATH_MAX])
{
    char link[40];
    (void)snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    path[len > 0 ? len : 0] = '\0';
    return len > 0 && path[0] == '/';
}

/* Why its reads are the kernel's. */
static enum Reason reason_against(const char *path)
{
    const PreloadSettings *s = &settings;
    bool chosen = (!s->only && !s->never && !s->dirs) || (path && settings_choose(s, path));
    return chosen ? REASON_FAST : REASON_LEFT_OUT;
}

/* The file of @st, which @fd is open for; NULL: there is no place for it. Under the lock. */
static File *meet(int fd, const struct stat *st)
{
    static char path[PATH_MAX]; /* the stack of a coroutine may be small */
    File *f = find(st->st_dev, st->st_ino);
    if (f)
        return f;
    f = place();
    if (!f)
        return NULL;
    tell_of(f);
    free(f->path);
    const char *known = path_of(fd, path) ? path : NULL;
    enum Reason reason = reason_against(known);
    f->dev = st->st_dev;
    f->ino = st->st_ino;
    f->plain_reads = f->cached_reads = 0;
    f->way = (Way){.cache = settings.eager};
    f->cache = settings.eager;
    f->read.cached_bytes = f->read.uncached_bytes = 0;
    f->read.reads = 0;
    f->read.reason = reason;
    f->hold = (Hold){.state = reason == REASON_FAST ? HOLD_PLAIN : HOLD_NEVER};
    f->path = known && settings.report ? strdup(known) : NULL;
    return f;
}

/* ---- the table of numbers -------------------------------------------------------------------- */

static void remember(int fd, uintptr_t what)
{
    int end = fds_end;
    while (end <= fd && !atomic_compare_exchange_weak(&fds_end, &end, fd + 1))
        ;
    fds[fd] = what;
}

/* Whether reads of @fd may be served otherwise than by the kernel, as far as that lasts. */
static bool is_large(int fd, struct stat *st)
{
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || (uint64_t)st->st_size < settings.min_bytes)
        return false;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_DIRECT | O_PATH));
}

static File *look_at(int fd)
{
    struct stat st;
    int error = errno;
    File *f = NULL;
    if (is_large(fd, &st)) {
        OwnBefore before;
        own_begin(&before);
        files_lock();
        f = meet(fd, &st);
        files_unlock();
        own_end(&before);
    }
    remember(fd, f ? (uintptr_t)f : PLAIN_CALLS * 2 + 1);
    errno = error;
    return f;
}

File *files_of(int fd)
{
    if (fd < 0 || fd >= FDS_MAX)
        return NULL;
    uintptr_t what = atomic_load_explicit(&fds[fd], memory_order_acquire);
    if (what == 0 || what == 1)
        return look_at(fd);
    if (what % 2 == 0)
        return (File *)what; // NOLINT
    atomic_store_explicit(&fds[fd], what - 2, memory_order_relaxed);
    return NULL;
}

void files_forget(int fd)
{
    if (fd >= 0 && fd < FDS_MAX && atomic_load_explicit(&fds[fd], memory_order_relaxed) != 0)
        fds[fd] = 0;
}

void files_forget_range(unsigned from, unsigned to)
{
    for (unsigned fd = from; fd <= to && fd < (unsigned)fds_end; fd++)
        files_forget((int)fd);
}

/* What the kernel knows by itself: fstat(2) might ask another host, or another process. */
bool files_is(int fd, const File *f)
{
    struct statx st;
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 &&
           makedev(st.stx_dev_major, st.stx_dev_minor) == f->dev && st.stx_ino == f->ino;
}

bool files_are_open_for(const File *f)
{
    for (int fd = 0; fd < fds_end; fd++)
        if (fds[fd] == (uintptr_t)f && files_is(fd, f))
            return true;
    return false;
}

/* ---- readers ----------------------------------------------------------------------------------
 */

bool file_enter(File *f)
{
    if (!file_may_enter(f))
        return false;
    if (atomic_fetch_add(&f->word, 1) & FILE_OPEN)
        return true;
    file_leave(f);
    return false;
}

void file_leave(File *f)
{
    if (atomic_fetch_sub(&f->word, 1) == 1)
        (void)sem_post(&work);
}

bool file_want(File *f, int fd)
{
    if (file_may_enter(f))
        return false;
    files_lock();
    bool wanted = hold_want(&f->hold, os_now_ns());
    if (wanted)
        f->fd = fd;
    files_unlock();
    if (wanted)
        (void)sem_post(&work);
    return wanted;
}

/* ---- states -----------------------------------------------------------------------------------
 */

File *files_next(File *f, enum HoldState state)
{
    for (f = f ? f + 1 : files; f < files + FILES_MAX; f++)
        if (f->hold.state == state)
            return f;
    return NULL;
}

File *files_by_lease(int lease_fd)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (files[i].lease_fd == lease_fd)
            return &files[i];
    return NULL;
}

void file_give_up(File *f, bool broken)
{
    if (hold_give_up(&f->hold, broken, os_now_ns()))
        (void)atomic_fetch_and(&f->word, ~FILE_OPEN);
    if (broken)
        f->read.reason = REASON_BROKEN;
    (void)fcntl(f->lease_fd, F_SETLEASE, F_UNLCK);
    (void)sem_post(&work);
}

void files_give_up_all(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (files[i].lease_fd >= 0)
            file_give_up(&files[i], files[i].hold.state != HOLD_HELD);
}

/* ---- the process forks, or ends ----------------------------------------------------------------
 */

static unsigned forks;

void files_note_fork(void)
{
    forks++;
}

unsigned files_forks(void)
{
    return forks;
}

void files_forget_all(void)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        File *f = &files[i];
        if (f->lease_fd >= 0) {
            own_remove(f->lease_fd);
            (void)syscall(SYS_close, f->lease_fd); /* the lease is the parent's alone */
        }
        free(f->path);
        *f = (File){.lease_fd = -1};
        (void)pthread_mutex_init(&f->way_lock, NULL);
    }
    for (int fd = 0; fd < fds_end; fd++)
        fds[fd] = 0;
    fds_end = 0;
    (void)pthread_mutex_init(&lock, NULL);
    (void)sem_init(&work, 0, 0);
}

void files_tell_all(void)
{
    files_lock();
    for (unsigned i = 0; i < FILES_MAX; i++)
        tell_of(&files[i]);
    files_unlock();
}
