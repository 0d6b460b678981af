/* SPDX-License-Identifier: MIT */
/* loader: threads that read and write a file through Dodo and verify every byte, until SIGTERM.
 *
 * The file is made of cells of 1000 bytes (so that they do not fall on blocks). What is in a cell
 * follows from its number and version. One thread alone writes a cell: `pending` is the version it
 * is writing, `committed` the last whose write returned. A byte that is read must be of a version
 * that was committed before the call, or was begun before it returned. Both tables lie in a shared
 * mapping of STATE, so that the next run can go on where a killed one stopped.
 *
 * A region that says ENOMEM is closed and opened again; meanwhile its part of the file is read and
 * written directly, as the manual tells programs to do. */
#include <dodo/dodo.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum {
    CELL_BYTES = 1000,
    STRIPE_CELLS = 16, /* next to each other, written by one thread */
    REGION_CELLS = 32 * STRIPE_CELLS,
    REGION_BYTES = REGION_CELLS * CELL_BYTES,
    REGIONS = 16, /* on hosts that chance chooses: as good as never all on one of two */
    CELLS = REGIONS * REGION_CELLS,
    THREADS = 4,
    READ_MAX_BYTES = 100 * 1000,
    WRITE_PERCENT = 25,
    REOPEN_NS = 100 * (int)NS_PER_MS,
    /* Each thread works as fast as it can, in bursts: so much is under way at once, and a test that
     * waits for something else leaves the processors to others. */
    BURST_CALLS = 25,
    BURST_EVERY_NS = 50 * (int)NS_PER_MS,
};

typedef struct Cell {
    _Atomic uint32_t committed, pending;
} Cell;

typedef struct Region {
    pthread_rwlock_t lock; /* shared: using rd or the file; exclusive: opening, closing */
    _Atomic int rd;
    uint64_t retry_ns;                 /* no mopen before */
    uint64_t remote_bytes, file_bytes; /* of closed descriptors */
} Region;

static Cell *cells; /* CELLS */
static Region regions[REGIONS];
static int file;
static _Atomic uint64_t ops, direct_bytes, lost, wrong;
static atomic_bool stop;

static void die(const char *what)
{
    fprintf(stderr, "loader: %s: %s; %s\n", what, strerror(errno), dodo_last_error());
    _exit(1);
}

/* ---- contents ------------------------------------------------------------------------------- */

/* Bytes [from, from + len) of a cell in one of its versions. */
static void cell_make(unsigned cell, uint32_t version, size_t from, uint8_t *out, size_t len)
{
    bench_data_make(((uint64_t)version << 32) + (uint64_t)cell * CELL_BYTES + from, out, len);
}

/* How many of the bytes are of no version in [lo, hi]. */
static size_t cell_wrong(unsigned cell, uint32_t lo, uint32_t hi, size_t from, const uint8_t *data,
                         size_t len)
{
    uint8_t want[CELL_BYTES];
    bool fine[CELL_BYTES] = {false};
    size_t bad = 0;
    for (uint32_t v = lo; v <= hi; v++) {
        cell_make(cell, v, from, want, len);
        if (memcmp(want, data, len) == 0)
            return 0;
        for (size_t i = 0; i < len; i++)
            fine[i] |= want[i] == data[i];
    }
    for (size_t i = 0; i < len; i++)
        bad += !fine[i];
    return bad;
}

/* Checks what was read at @offset of the file; @lo: committed versions before the call, from the
 * first cell touched on. */
static void verify(uint64_t offset, const uint8_t *data, size_t len, const uint32_t *lo,
                   const char *how)
{
    for (size_t at = 0, i = 0; at < len; i++) {
        unsigned cell = (unsigned)((offset + at) / CELL_BYTES);
        size_t from = (offset + at) % CELL_BYTES;
        size_t n = CELL_BYTES - from < len - at ? CELL_BYTES - from : len - at;
        uint32_t hi = atomic_load(&cells[cell].pending);
        size_t bad = cell_wrong(cell, lo[i], hi, from, data + at, n);
        if (bad > 0 && atomic_fetch_add(&wrong, bad) == 0)
            fprintf(stderr,
                    "loader: %zu of %zu bytes at %" PRIu64 " (cell %u, %s) are of no version from "
                    "%u to %u\n",
                    bad, n, offset + at, cell, how, lo[i], hi);
        at += n;
    }
}

/* ---- regions -------------------------------------------------------------------------------- */

static void region_open(unsigned i)
{
    Region *r = &regions[i];
    pthread_rwlock_wrlock(&r->lock);
    if (r->rd < 0 && os_now_ns() >= r->retry_ns) {
        r->rd = dodo_mopen(REGION_BYTES, file, (off_t)i * REGION_BYTES);
        if (r->rd < 0 && errno != ENOMEM)
            die("mopen");
        r->retry_ns = os_now_ns() + REOPEN_NS;
    }
    pthread_rwlock_unlock(&r->lock);
}

/* @rd said ENOMEM: gone, unless another thread has closed it already. */
static void region_close(unsigned i, int rd)
{
    Region *r = &regions[i];
    DodoStat st;
    pthread_rwlock_wrlock(&r->lock);
    if (r->rd == rd && rd >= 0) {
        if (dodo_stat(rd, &st) == 0) {
            r->remote_bytes += st.hits;
            r->file_bytes += st.misses;
        }
        (void)dodo_mclose(rd); /* EINVAL is what a lost region says */
        r->rd = -1;
    }
    pthread_rwlock_unlock(&r->lock);
}

/* One call on the region, or on the file while there is none: the result, @ret_rd tells which. */
static ssize_t region_call(unsigned i, bool writing, uint64_t offset, void *buf, size_t len,
                           int *ret_rd)
{
    Region *r = &regions[i];
    off_t inside = (off_t)(offset - (uint64_t)i * REGION_BYTES);
    ssize_t n;
    pthread_rwlock_rdlock(&r->lock);
    int rd = *ret_rd = r->rd;
    if (rd >= 0)
        n = writing ? dodo_mwrite(rd, inside, buf, len) : dodo_mread(rd, inside, buf, len);
    else
        n = writing ? pwrite(file, buf, len, (off_t)offset) : pread(file, buf, len, (off_t)offset);
    int e = errno;
    pthread_rwlock_unlock(&r->lock);
    errno = e;
    if (rd < 0 && n > 0 && !writing)
        atomic_fetch_add(&direct_bytes, (uint64_t)n);
    return n;
}

/* All of [offset, offset + len), which lies in one region; whatever happens to the region. */
static const char *transfer(bool writing, uint64_t offset, void *buf, size_t len)
{
    unsigned i = (unsigned)(offset / REGION_BYTES);
    for (;;) {
        int rd;
        if (regions[i].rd < 0) /* only a hint, unlocked; region_open() looks again */
            region_open(i);
        ssize_t n = region_call(i, writing, offset, buf, len, &rd);
        if (n == (ssize_t)len)
            return rd >= 0 ? "region" : "file";
        if (n >= 0 || rd < 0 || errno != ENOMEM)
            die(writing ? "mwrite" : "mread");
        atomic_fetch_add(&lost, 1);
        region_close(i, rd);
    }
}

/* ---- work ----------------------------------------------------------------------------------- */

static void read_some(Random *random)
{
    static _Thread_local uint8_t buf[READ_MAX_BYTES];
    uint32_t lo[READ_MAX_BYTES / CELL_BYTES + 2];
    uint64_t offset = random_below(random, (uint64_t)CELLS * CELL_BYTES);
    uint64_t left = REGION_BYTES - offset % REGION_BYTES;
    /* As many short reads as long ones. */
    uint64_t most = random_below(random, 2) ? READ_MAX_BYTES : 8192;
    size_t len = (size_t)random_below(random, most < left ? most : left) + 1;
    for (size_t c = offset / CELL_BYTES, i = 0; c <= (offset + len - 1) / CELL_BYTES; c++, i++)
        lo[i] = atomic_load(&cells[c].committed);
    const char *how = transfer(false, offset, buf, len);
    verify(offset, buf, len, lo, how);
}

/* Some cells of one of the thread's stripes, each to its next version. */
static void write_some(unsigned thread, Random *random)
{
    static _Thread_local uint8_t buf[STRIPE_CELLS * CELL_BYTES];
    unsigned stripe = (unsigned)random_below(random, CELLS / STRIPE_CELLS / THREADS);
    unsigned first = (unsigned)random_below(random, STRIPE_CELLS);
    unsigned count = (unsigned)random_below(random, STRIPE_CELLS - first) + 1;
    first += (stripe * THREADS + thread) * STRIPE_CELLS;
    for (unsigned i = 0; i < count; i++) {
        uint32_t version = atomic_load(&cells[first + i].committed) + 1;
        cell_make(first + i, version, 0, buf + i * CELL_BYTES, CELL_BYTES);
        atomic_store(&cells[first + i].pending, version);
    }
    (void)transfer(true, (uint64_t)first * CELL_BYTES, buf, (size_t)count * CELL_BYTES);
    for (unsigned i = 0; i < count; i++)
        atomic_store(&cells[first + i].committed, atomic_load(&cells[first + i].pending));
}

static void rest(uint64_t until_ns)
{
    const uint64_t now = os_now_ns();
    if (now < until_ns)
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(until_ns - now)}, NULL);
}

static void *work(void *arg)
{
    unsigned thread = (unsigned)(uintptr_t)arg;
    Random random = {os_now_ns() + thread};
    uint64_t begun_ns = 0;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        if (i % BURST_CALLS == 0) {
            rest(begun_ns + BURST_EVERY_NS);
            begun_ns = os_now_ns();
        }
        if (random_below(&random, 100) < WRITE_PERCENT)
            write_some(thread, &random);
        else
            read_some(&random);
        atomic_fetch_add(&ops, 1);
    }
    return NULL;
}

/* ---- start, status, end --------------------------------------------------------------------- */

/* What a killed run left: a cell that was being written holds bytes of both versions. */
static void repair(unsigned cell)
{
    uint8_t data[CELL_BYTES];
    uint32_t lo = atomic_load(&cells[cell].committed), hi = atomic_load(&cells[cell].pending);
    off_t offset = (off_t)cell * CELL_BYTES;
    if (pread(file, data, sizeof data, offset) != sizeof data)
        die("reading the file");
    verify((uint64_t)offset, data, sizeof data, &lo, "left by the last run");
    if (lo == hi)
        return;
    cell_make(cell, hi, 0, data, sizeof data);
    if (pwrite(file, data, sizeof data, offset) != sizeof data)
        die("writing the file");
    atomic_store(&cells[cell].committed, hi);
}

static void start(const char *path, const char *state)
{
    uint8_t data[CELL_BYTES];
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int fd = open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    off_t old = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (file < 0 || old < 0 || ftruncate(fd, CELLS * sizeof *cells) < 0)
        die("opening the files");
    cells = mmap(NULL, CELLS * sizeof *cells, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (cells == MAP_FAILED)
        die("mapping the state");
    (void)close(fd);
    for (unsigned i = 0; i < CELLS; i++) {
        cell_make(i, 0, 0, data, sizeof data);
        if (old > 0)
            repair(i);
        else if (pwrite(file, data, sizeof data, (off_t)i * CELL_BYTES) != sizeof data)
            die("making the file");
    }
    for (unsigned i = 0; i < REGIONS; i++) {
        regions[i].rd = -1;
        pthread_rwlock_init(&regions[i].lock, NULL);
        region_open(i);
    }
}

/* For the harness to wait on. */
static void tell(void)
{
    uint64_t remote = 0, from_file = atomic_load(&direct_bytes);
    unsigned open_count = 0;
    for (unsigned i = 0; i < REGIONS; i++) {
        DodoStat st;
        pthread_rwlock_rdlock(&regions[i].lock);
        remote += regions[i].remote_bytes;
        from_file += regions[i].file_bytes;
        if (regions[i].rd >= 0 && dodo_stat(regions[i].rd, &st) == 0) {
            remote += st.hits;
            from_file += st.misses;
            open_count += st.active;
        }
        pthread_rwlock_unlock(&regions[i].lock);
    }
    printf("ops=%" PRIu64 " remote=%" PRIu64 " file=%" PRIu64 " lost=%" PRIu64 " open=%u "
           "wrong=%" PRIu64 "\n",
           atomic_load(&ops), remote, from_file, atomic_load(&lost), open_count,
           atomic_load(&wrong));
    fflush(stdout);
}

/* Nobody writes any more: each byte is of the one committed version, in the regions and in the
 * file. */
static void check_all(void)
{
    uint8_t data[CELL_BYTES];
    for (unsigned i = 0; i < CELLS; i++) {
        uint32_t version = atomic_load(&cells[i].committed);
        off_t offset = (off_t)i * CELL_BYTES;
        const char *how = transfer(false, (uint64_t)offset, data, sizeof data);
        verify((uint64_t)offset, data, sizeof data, &version, how);
        if (pread(file, data, sizeof data, offset) != sizeof data)
            die("reading the file");
        verify((uint64_t)offset, data, sizeof data, &version, "file at the end");
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    sigset_t term;
    if (argc != 3) {
        fprintf(stderr, "usage: loader FILE STATE\n");
        return 2;
    }
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    start(argv[1], argv[2]);
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
            die("starting a thread");
    do
        tell();
    while (sigtimedwait(&term, NULL, &(struct timespec){.tv_nsec = 100 * NS_PER_MS}) != SIGTERM);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_all();
    tell();
    for (unsigned i = 0; i < REGIONS; i++)
        region_close(i, regions[i].rd);
    (void)dodo_shutdown(); /* the manager may be away */
    return atomic_load(&wrong) > 0;
}
