/* SPDX-License-Identifier: MIT */
/* The worker: no thread of the program waits while the region cache is loaded, a manager is found,
 * or memory is given back. */
#include "adapters/preload/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/mount/filesystems.h"
#include "adapters/mount/reason.h"
#include "adapters/preload/cache.h"
#include "adapters/preload/files.h"
#include "adapters/preload/keeper.h"
#include "adapters/preload/own.h"
#include "base/description.h"
#include "base/lease.h"
#include "base/os.h"
#include "base/parked.h"
#include "base/time.h"

/* Both threads. OVER: there will be none in this process. */
static atomic_int threads;
enum { THREADS_NONE, THREADS_RUN, THREADS_OVER };

/* ---- a file is held -------------------------------------------------------------------------- */

static enum Reason reason_for(int error)
{
    if (error == EAGAIN)
        return REASON_WRITER;
    return error == EACCES || error == EPERM ? REASON_NOT_OURS : REASON_NO_LEASES;
}

/* No file is kept open that the program may have removed, or wants to unmount. */
static void close_unused(void)
{
    const CacheCalls *calls = cache_calls_if_loaded();
    (void)parked_close_unlocked();
    if (calls)
        (void)calls->close_files();
}

/* The worker is done with @f, which is not held. Under no lock. */
static void leave_plain(File *f, bool never, enum Reason reason, uint64_t pause_ns)
{
    files_lock();
    int fd = f->lease_fd;
    f->lease_fd = -1;
    hold_end(&f->hold, never, pause_ns, os_now_ns());
    if (reason != REASON_NONE)
        f->read.reason = reason;
    files_unlock();
    if (fd < 0)
        return;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    description_close(fd, false); /* the program's locks on the file stay */
    close_unused();
}

/* A description of our own of the file that the program has open; -errno. */
static int description(const File *f)
{
    struct stat st;
    bool shared;
    int fd = description_open(f->fd, true, &st, &shared);
    if (fd == -EINVAL || fd == -EBADF || fd == -ENOENT)
        return -EAGAIN; /* the number is closed, or a writer's by now */
    if (fd < 0)
        return fd;
    bool same = st.st_dev == f->dev && st.st_ino == f->ino; /* else the number is another file's */
    if (same && !shared)
        return fd;
    description_close(fd, shared);
    return same ? -EACCES : -EAGAIN;
}

static unsigned forks_now(void)
{
    files_lock();
    unsigned forks = files_forks();
    files_unlock();
    return forks;
}

/* 0: the lease is there, and the keeper knows of it; -errno. A description that the child of a fork
 * has as well gets none: it would stay when this process is killed. */
static int lease(File *f)
{
    const unsigned forks = forks_now();
    int fd = description(f);
    if (fd < 0)
        return fd;
    bool local = files_settings()->local || filesystem_is_local(fd);
    files_lock(); /* until it is there, nobody gives up the rights to give it back */
    f->lease_fd = fd;
    hold_take(&f->hold);
    int error = files_forks() != forks ? -EAGAIN : local ? keeper_take(fd) : -EXDEV;
    files_unlock();
    return error;
}

/* The region is there: readers may enter, if nobody wanted to write meanwhile. */
static bool let_in(File *f, int rd, off_t size)
{
    files_lock();
    bool good = hold_begin(&f->hold);
    if (good) {
        f->rd = rd;
        f->size = size;
        f->read.reason = REASON_NONE;
        (void)atomic_fetch_or(&f->word, FILE_OPEN);
    }
    files_unlock();
    return good;
}

/* Before what does not work now is tried again: nobody waits for us meanwhile. */
#define PAUSE_NS (20 * NS_PER_MS)

/* Its descriptor, or -errno. A file that is empty has just been emptied by who writes it again. */
static int region_open(const CacheCalls *calls, int fd, off_t *ret_size)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size == 0)
        return -EAGAIN;
    *ret_size = st.st_size;
    int rd = calls->copen_flags((size_t)st.st_size, fd, 0, DODO_RDONLY | DODO_STRIPE | DODO_RETAIN);
    return rd < 0 ? -errno : rd;
}

static void hold(File *f)
{
    off_t size = 0;
    int error = -lease(f);
    if (error != 0) {
        enum Reason why = error == EXDEV ? REASON_OTHER_HOSTS : reason_for(error);
        leave_plain(f, !lease_may_come(error), why, PAUSE_NS);
        return;
    }
    const CacheCalls *calls = cache_calls();
    int rd = calls ? region_open(calls, f->lease_fd, &size) : -ENOSYS;
    if (rd < 0) {
        leave_plain(f, !lease_may_come(-rd), REASON_NO_REGION, PAUSE_NS);
    } else if (!let_in(f, rd, size)) {
        (void)calls->cclose(rd);
        leave_plain(f, false, REASON_BROKEN, 0); /* it waits as for any that was broken */
    }
}

/* ---- and no more ----------------------------------------------------------------------------- */

static void end(File *f)
{
    if (atomic_load(&f->word) != 0)
        return; /* the last reader wakes us */
    (void)cache_calls()->cclose(f->rd);
    leave_plain(f, false, REASON_NONE, 0);
}

static File *next(File *f, enum HoldState state)
{
    files_lock();
    f = files_next(f, state);
    files_unlock();
    return f;
}

/* What is loaded has files of its own open for a moment. */
static void work(void)
{
    OS_DESCRIPTORS_BUSY;
    for (File *f = NULL; (f = next(f, HOLD_ENDING));)
        end(f);
    for (File *f = NULL; (f = next(f, HOLD_WANTED));)
        hold(f);
}

static void *worker_main(void *ctx)
{
    own_thread();
    for (;;) {
        files_await_work();
        work();
    }
    return ctx;
}

void worker_start(void)
{
    pthread_t thread;
    int none = THREADS_NONE;
    if (!atomic_compare_exchange_strong(&threads, &none, THREADS_RUN))
        return;
    if (keeper_start() && os_thread_start(&thread, worker_main, NULL) == 0)
        (void)pthread_detach(thread);
}

void worker_forget(bool for_good)
{
    threads = for_good ? THREADS_OVER : threads == THREADS_OVER ? THREADS_OVER : THREADS_NONE;
}
