/* SPDX-License-Identifier: MIT */
#include "imd/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/meminfo.h"
#include "base/num.h"
#include "base/os.h"
#include "base/parse.h"
#include "imd/priority.h"
#include "proto/conf/imd_room.h"

enum { GIVE_BACK_PIECE = 16 * MEMORY_HUGE_PAGE, GIVE_BACK_THREADS_MAX = 16 };
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* likewise */
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* headers older than the kernel */
#endif

uint64_t memory_available(void)
{
    char text[8192];
    uint64_t bytes;
    (void)os_text_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    return meminfo_find(text, "MemAvailable", &bytes) ? bytes : UINT64_MAX;
}

/* ---- the pool ------------------------------------------------------------------------------- */

/* What a control group with this limit leaves to the pool. */
static uint64_t within_limit(uint64_t limit)
{
    return limit == UINT64_MAX ? UINT64_MAX
                               : limit - min_u64(limit / IMD_ROOM_DIVISOR, IMD_ROOM_BYTES);
}

int pool_memory_check(uint64_t bytes, uint64_t available, const MemoryLimit *limit, char *error,
                      size_t error_cap)
{
    char wanted[32], there[32], all[32];
    const uint64_t within = within_limit(limit->bytes);
    (void)format_size(bytes, wanted, sizeof wanted);
    if (bytes > available) {
        (void)snprintf(error, error_cap,
                       "a pool of %s is more than this host has: %s are available; choose a "
                       "smaller --pool",
                       wanted, format_size(available, there, sizeof there));
        return -ENOMEM;
    }
    if (bytes > within) {
        (void)snprintf(error, error_cap,
                       "a pool of %s is more than imd's control group leaves it: %s, of its limit "
                       "of %s; choose a smaller --pool or raise the limit in %s",
                       wanted, format_size(within, there, sizeof there),
                       format_size(limit->bytes, all, sizeof all), limit->file);
        return -ENOMEM;
    }
    return 0;
}

/* A mapping that starts at a huge page's boundary: one is mapped too much, the ends are cut off. */
static uint8_t *map_aligned(uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *p = mmap(NULL, bytes + MEMORY_HUGE_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = (MEMORY_HUGE_PAGE - (uintptr_t)p % MEMORY_HUGE_PAGE) % MEMORY_HUGE_PAGE;
    if (before)
        (void)munmap(p, before);
    (void)munmap(p + before + bytes, MEMORY_HUGE_PAGE - before);
    return p + before;
}

/* Kernels before 5.14 have no call for it. */
static void populate_all(const PoolMemory *m)
{
    if (madvise(m->base, m->bytes, MADV_POPULATE_WRITE) != 0)
        memset(m->base, 0, m->bytes);
}

int pool_memory_map(PoolMemory *m, uint64_t bytes, bool populate, char *error, size_t error_cap)
{
    char wanted[32];
    MemoryLimit limit;
    memory_limit("", &limit);
    int refused = pool_memory_check(bytes, memory_available(), &limit, error, error_cap);
    if (refused < 0)
        return refused;
    long cores = sysconf(_SC_NPROCESSORS_ONLN), page = sysconf(_SC_PAGESIZE);
    *m = (PoolMemory){.base = map_aligned(bytes),
                      .bytes = bytes,
                      .page = page < 1 ? MEMORY_HUGE_PAGE : (uint64_t)page,
                      .kept = populate,
                      .processors = cores < 1 ? 1 : (unsigned)cores};
    if (!m->base) {
        int res = -errno;
        (void)snprintf(error, error_cap,
                       "cannot map a pool of %s: %s; choose a smaller --pool or raise ulimit -v",
                       format_size(bytes, wanted, sizeof wanted), strerror(-res));
        return res;
    }
    /* Advice: what the kernel cannot do costs speed, not correctness. */
    (void)madvise(m->base, bytes, MADV_HUGEPAGE);
    (void)madvise(m->base, bytes, MADV_DONTDUMP);
    m->locked = mlock2(m->base, bytes, MLOCK_ONFAULT) == 0;
    if (populate)
        populate_all(m);
    return 0;
}

/* Locked pages are given back by kernels since 5.18 only; before, the lock is lifted meanwhile. */
static void give_back_piece(const PoolMemory *m, uint8_t *at, size_t bytes)
{
    if (madvise(at, bytes, MADV_DONTNEED_LOCKED) == 0)
        return;
    if (m->locked)
        (void)munlock(at, bytes);
    if (madvise(at, bytes, MADV_DONTNEED) != 0) /* pages of our own: that cannot fail */
        memset(at, 0, bytes);
    if (m->locked)
        (void)mlock2(at, bytes, MLOCK_ONFAULT);
}

/* Whole pages of the host: the kernel would take all of the last one, and what is not the range's
 * with it. Piece by piece, so that nobody who needs the map of memory waits for long. Pieces end
 * where huge pages do, so that none is split. */
void pool_memory_give_back(const PoolMemory *m, uint64_t offset, uint64_t bytes)
{
    const uint64_t end = (offset + bytes) / m->page * m->page;
    for (uint64_t at = (offset + m->page - 1) / m->page * m->page, piece; at < end; at += piece) {
        piece = min_u64(GIVE_BACK_PIECE - at % GIVE_BACK_PIECE, end - at);
        give_back_piece(m, m->base + at, piece);
    }
}

/* ---- huge pages ------------------------------------------------------------------------------ */

void pool_memory_divide(PoolMemory *m)
{
    m->divided = !m->kept;
    if (m->divided)
        (void)madvise(m->base, m->bytes, MADV_NOHUGEPAGE);
}

/* Each run of huge pages is a mapping of its own for the kernel, which keeps a limited number. */
static bool is_worth_a_run(const PoolMemory *m, uint64_t bytes)
{
    return bytes > 0 && bytes >= m->bytes / MEMORY_RUNS_MAX;
}

void pool_memory_lay(const PoolMemory *m, uint64_t offset, uint64_t bytes)
{
    const uint64_t page = MEMORY_HUGE_PAGE;
    const uint64_t first = (offset + page - 1) / page * page, stop = (offset + bytes) / page * page;
    if (!m->divided)
        return;
    (void)madvise(m->base + offset, bytes, MADV_NOHUGEPAGE);
    if (is_worth_a_run(m, sub_u64(stop, first)))
        (void)madvise(m->base + first, stop - first, MADV_HUGEPAGE);
}

void pool_memory_clear(const PoolMemory *m, uint64_t offset, uint64_t bytes)
{
    pool_memory_give_back(m, offset, bytes);
    if (m->divided)
        (void)madvise(m->base + offset, bytes, MADV_NOHUGEPAGE);
}

/* ---- all of it ------------------------------------------------------------------------------- */

typedef struct Share {
    const PoolMemory *pool;
    uint64_t offset, bytes;
} Share;

static void *give_back_share(void *arg)
{
    const Share *s = arg;
    hurry();
    pool_memory_give_back(s->pool, s->offset, s->bytes);
    return NULL;
}

void pool_memory_give_back_all(const PoolMemory *m)
{
    pthread_t threads[GIVE_BACK_THREADS_MAX];
    Share shares[GIVE_BACK_THREADS_MAX];
    bool running[GIVE_BACK_THREADS_MAX] = {false};
    unsigned count = m->processors < 1                       ? 1
                     : m->processors > GIVE_BACK_THREADS_MAX ? GIVE_BACK_THREADS_MAX
                                                             : m->processors;
    uint64_t part = (m->bytes / count / GIVE_BACK_PIECE + 1) * GIVE_BACK_PIECE;

    for (unsigned i = 0; i < count; i++) {
        uint64_t at = min_u64(i * part, m->bytes);
        shares[i] = (Share){m, at, min_u64(m->bytes - at, part)};
        running[i] = i > 0 && shares[i].bytes > 0 &&
                     os_thread_start(&threads[i], give_back_share, &shares[i]) == 0;
    }
    for (unsigned i = 0; i < count; i++)
        if (!running[i])
            (void)give_back_share(&shares[i]);
    for (unsigned i = 0; i < count; i++)
        if (running[i])
            (void)pthread_join(threads[i], NULL);
}

void pool_memory_unmap(PoolMemory *m)
{
    if (m->base)
        (void)munmap(m->base, m->bytes);
    m->base = NULL;
}
