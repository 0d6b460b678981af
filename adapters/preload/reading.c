/* SPDX-License-Identifier: MIT */
#include "adapters/preload/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "adapters/mount/reason.h"
#include "adapters/preload/cache.h"
#include "adapters/preload/handlers.h"
#include "adapters/preload/own.h"
#include "adapters/preload/real.h"
#include "adapters/preload/report.h"
#include "adapters/preload/start.h"
#include "adapters/preload/worker.h"
#include "adapters/preload/writable.h"
#include "base/os.h"

/* ---- from the region cache ------------------------------------------------------------------- */

/* The kernel reads no more by one call: MAX_RW_COUNT, less than INT_MAX by a page of 4 KiB. */
enum { READ_MAX = INT_MAX & ~0xfff };

enum { IOV_MOST = 8 };

/* Where the memory of a program ends. With five levels of page tables x86-64 has more for programs
 * that ask for it: reads into that are the kernel's. */
#ifdef __x86_64__
#define ADDRESS_END (((uint64_t)1 << 47) - 4096)
#else
#define ADDRESS_END ((uint64_t)1 << 63)
#endif

/* Copies the vector, as the kernel does: it may lie in a buffer that it names. All bytes that are
 * wanted; 0: none, or the kernel is to look: they are more than any call reads, a buffer reaches
 * beyond what a program may have, or there are many. */
static size_t vector_copy(struct iovec own[IOV_MOST], const struct iovec *iov, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++) {
        if (i == IOV_MOST || iov[i].iov_len > READ_MAX - len ||
            (uintptr_t)iov[i].iov_base > ADDRESS_END - iov[i].iov_len)
            return 0;
        own[i] = iov[i];
        len += iov[i].iov_len;
    }
    return len;
}

/* Whether @fd is @f's, and what is cached of @f is what it has. Lost leases are found here,
 * whatever has happened to them. */
static bool is_true(const File *f, int fd)
{
    if (!files_is(fd, f)) {
        files_forget(fd);
        return false;
    }
    return fcntl(f->lease_fd, F_GETLEASE) == F_RDLCK;
}

/* Takes the next *@len bytes for this read, or what the file has of them: the descriptor stands
 * behind them afterwards, as if they had been read. Other threads and processes that have the same
 * description take others. It stood at *@at, where the file has so many; @cut: and no more. So it
 * is moved past the end only where somebody else has moved it meanwhile, and for a moment. False:
 * nothing is taken, the kernel is to read. */
static bool position_take(const File *f, int fd, bool cut, off_t *at, size_t *len)
{
    const off_t there = *at, end = lseek(fd, (off_t)*len, SEEK_CUR);
    if (end < 0)
        return false;
    *at = end - (off_t)*len;
    if (*at >= f->size || (cut && *at < there)) {
        (void)lseek(fd, -(off_t)*len, SEEK_CUR);
        return false;
    }
    if (end > f->size) {
        (void)lseek(fd, f->size - end, SEEK_CUR);
        *len = (size_t)(f->size - *at);
    }
    return true;
}

/* Whether the program may write where the first @len bytes go. Where it may not, the kernel fills
 * what it can, and says EFAULT, and we would end in a signal. */
static bool can_fill(const struct iovec *iov, size_t len)
{
    for (; len > 0; iov++) {
        size_t part = iov->iov_len < len ? iov->iov_len : len;
        if (!writable(iov->iov_base, part))
            return false;
        len -= part;
    }
    return true;
}

/* The kernel reads what the cache has not: all that can_fill() has looked at is to be filled. No
 * point at which a thread may be cancelled, as it has the file. */
static ssize_t fill_rest(int fd, const struct iovec *iov, ssize_t done, size_t len, off_t at)
{
    int state;
    size_t from = done > 0 ? (size_t)done : 0;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    ssize_t n = real_pread(fd, (char *)iov->iov_base + from, len - from, at + (off_t)from);
    (void)pthread_setcancelstate(state, NULL);
    return n >= 0 ? (ssize_t)from + n : done;
}

/* Reads @len bytes of @f from @at on. How many it has got. */
static size_t fill(const File *f, int fd, const struct iovec *iov, off_t at, size_t len)
{
    const CacheCalls *calls = cache_calls_if_loaded();
    size_t done = 0;
    for (; done < len; iov++) {
        size_t part = iov->iov_len < len - done ? iov->iov_len : len - done;
        ssize_t n = part > 0 ? calls->cread(f->rd, at + (off_t)done, iov->iov_base, part) : 0;
        if (n < (ssize_t)part)
            n = fill_rest(fd, iov, n, part, at + (off_t)done);
        if (n < 0)
            break;
        done += (size_t)n;
        if ((size_t)n < part)
            break;
    }
    return done;
}

/* Of a file that is entered. True: done, with *@ret bytes. */
static bool read_held(const File *f, int fd, const struct iovec *iov, off_t offset, size_t len,
                      ssize_t *ret)
{
    if (!is_true(f, fd))
        return false;
    off_t at = offset == AT_POSITION ? lseek(fd, 0, SEEK_CUR) : offset;
    if (at < 0 || at >= f->size)
        return false;
    const bool cut = (off_t)len > f->size - at;
    if (cut)
        len = (size_t)(f->size - at);
    if (!can_fill(iov, len) || (offset == AT_POSITION && !position_take(f, fd, cut, &at, &len)))
        return false;
    size_t done = fill(f, fd, iov, at, len);
    if (done < len && offset == AT_POSITION)
        (void)lseek(fd, -(off_t)(len - done), SEEK_CUR);
    *ret = (ssize_t)done;
    return done > 0;
}

/* ---- which way ------------------------------------------------------------------------------- */

/* False: another thread is telling the same. */
static bool way_begin(File *f)
{
    return pthread_mutex_trylock(&f->way_lock) == 0;
}

static void way_end(File *f)
{
    f->cache = f->way.cache;
    (void)pthread_mutex_unlock(&f->way_lock);
}

/* Whether it has what is about to be read. */
static void ask_kernel(File *f, int fd, off_t offset, size_t len)
{
    off_t at = offset == AT_POSITION ? lseek(fd, 0, SEEK_CUR) : offset;
    if (at < 0 || files_settings()->eager)
        return;
    bool cached = cache_calls_if_loaded()->has(f->rd, at, len);
    bool held = !cached && os_file_held(f->lease_fd, (uint64_t)at, len);
    if (!way_begin(f))
        return;
    way_answered(&f->way, cached, held);
    if (f->cache && !f->way.cache)
        f->read.reason = REASON_FAST;
    way_end(f);
}

static bool read_cached(File *f, int fd, const struct iovec *iov, int count, off_t offset,
                        ssize_t *ret)
{
    struct iovec own[IOV_MOST];
    size_t len = vector_copy(own, iov, count);
    int error = errno;
    OwnBefore before;
    if (len == 0 || !file_may_enter(f))
        return false;
    own_begin(&before);
    bool done = file_enter(f);
    if (!done) {
        own_end(&before);
        return false;
    }
    if (way_asks(atomic_fetch_add_explicit(&f->cached_reads, 1, memory_order_relaxed)))
        ask_kernel(f, fd, offset, len);
    done = read_held(f, fd, own, offset, len, ret);
    file_leave(f);
    own_end(&before);
    errno = error;
    return done;
}

/* How often this thread has slept. */
static long sleeps(void)
{
    struct rusage usage = {.ru_nvcsw = 0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void want(File *f, int fd)
{
    OwnBefore before;
    own_begin(&before);
    if (file_want(f, fd))
        worker_start();
    own_end(&before);
}

/* The kernel is to read. */
static void watch(Reading *r, int fd)
{
    File *f = r->file;
    uint64_t number = atomic_fetch_add_explicit(&f->plain_reads, 1, memory_order_relaxed);
    r->weight = way_weight(number);
    if (r->weight == 0)
        return;
    if (!files_is(fd, f)) { /* the C library has closed the number by itself */
        files_forget(fd);
        r->file = NULL;
        return;
    }
    if (f->cache) {
        want(f, fd);
        r->weight = 0;
        return;
    }
    r->slept = sleeps();
    r->watched_ns = os_now_ns();
}

bool reading_try(Reading *r, const void *caller, int fd, const struct iovec *iov, int count,
                 off_t offset, ssize_t *ret)
{
    r->file = NULL;
    if (!start_check() || own_calls(caller) || handlers_run())
        return false;
    File *f = files_of(fd);
    if (!f)
        return false;
    pthread_testcancel(); /* the kernel's reads are such points, too */
    *r = (Reading){.file = f, .began_ns = report_begin()};
    if (atomic_load_explicit(&f->cache, memory_order_relaxed) && iov &&
        read_cached(f, fd, iov, count, offset, ret)) {
        report_read(f, true, *ret, r->began_ns);
        return true;
    }
    watch(r, fd);
    return false;
}

void reading_end(const Reading *r, ssize_t n)
{
    if (!r->file)
        return;
    int error = errno;
    if (r->weight > 0 && way_begin(r->file)) {
        way_watched(&r->file->way, sleeps() != r->slept, os_now_ns() - r->watched_ns, r->weight);
        way_end(r->file);
    }
    report_read(r->file, false, n, r->began_ns);
    errno = error;
}
