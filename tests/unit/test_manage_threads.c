/* SPDX-License-Identifier: MIT */
/* libmanage with many threads in it at once. Every byte of a region has one owner among the
 * threads, who alone writes it and checks it whenever it is read. No cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "tests/lib/sanitizer.h"
#include "tests/lib/scenario.h"
#include "tests/lib/sim_rng.h"
#include "tests/lib/tasks.h"

enum { SCALE = UNDER_TSAN ? 8 : 1 };

/* A cell is what one thread writes at once: its number and version, all over it. */
enum { THREADS = 8, REGIONS = 4, CELL = 1000, CELLS = 400, LEN = CELL * CELLS, OPS = 4000 / SCALE };

static int fd;
static int rds[REGIONS];
static uint8_t versions[REGIONS][CELLS]; /* the owner's */

static uint8_t cell_byte(unsigned cell, uint8_t version)
{
    return (uint8_t)(cell * 37 + version);
}

static uint8_t byte_at(uint64_t offset)
{
    return cell_byte((unsigned)(offset % LEN / CELL), 0);
}

static struct manage_stats stats(void)
{
    struct manage_stats st;
    CHECK(manage_stats(&st) == 0);
    return st;
}

typedef struct Worker {
    pthread_t thread;
    unsigned number;
    unsigned threads;
    int own_region; /* -1: all of them */
    SimRng rng;
} Worker;

static void cell_write(unsigned r, unsigned cell)
{
    uint8_t buf[CELL];
    uint8_t version = (uint8_t)(versions[r][cell] + 1);
    memset(buf, cell_byte(cell, version), sizeof buf);
    CHECK(cwrite(rds[r], (off_t)cell * CELL, buf, CELL) == CELL);
    versions[r][cell] = version;
}

/* Some cells in one read; those of one's own are as one wrote them last. */
static void cells_read(Worker *w, unsigned r, unsigned cell)
{
    uint8_t buf[CELL * 20];
    unsigned count = 1 + (unsigned)sim_rng_below(&w->rng, 20);
    if (count > CELLS - cell)
        count = CELLS - cell;
    CHECK(cread(rds[r], (off_t)cell * CELL, buf, count * CELL) == (ssize_t)(count * CELL));
    for (unsigned i = 0; i < count; i++) {
        if ((cell + i) % w->threads != w->number)
            continue;
        uint8_t want = cell_byte(cell + i, versions[r][cell + i]);
        for (unsigned at = 0; at < CELL; at++)
            CHECK(buf[i * CELL + at] == want);
    }
}

/* One near @cell. */
static unsigned own_cell(const Worker *w, unsigned cell)
{
    unsigned own = cell / w->threads * w->threads + w->number;
    return own < CELLS ? own : w->number;
}

static void *worker_main(void *arg)
{
    Worker *w = arg;
    for (int i = 0; i < OPS; i++) {
        unsigned r = w->own_region >= 0 ? (unsigned)w->own_region
                                        : (unsigned)sim_rng_below(&w->rng, REGIONS);
        unsigned cell = (unsigned)sim_rng_below(&w->rng, CELLS);
        uint64_t what = sim_rng_below(&w->rng, 200);
        if (what < 100)
            cells_read(w, r, cell);
        else if (what < 198)
            cell_write(r, own_cell(w, cell));
        else
            CHECK(csync(rds[r]) == 0);
    }
    return NULL;
}

static void regions_open(unsigned flags)
{
    fd = scenario_file((size_t)LEN * REGIONS, byte_at);
    for (unsigned r = 0; r < REGIONS; r++) {
        rds[r] = dodo_copen_flags(LEN, fd, (off_t)LEN * r, flags);
        CHECK(rds[r] >= 0);
    }
}

/* All is written back, and right. */
static void regions_close(void)
{
    static uint8_t got[LEN];
    for (unsigned r = 0; r < REGIONS; r++) {
        CHECK(cclose(rds[r]) == 0);
        CHECK(pread(fd, got, LEN, (off_t)LEN * r) == LEN);
        for (unsigned at = 0; at < LEN; at++)
            CHECK(got[at] == cell_byte(at / CELL, versions[r][at / CELL]));
    }
    CHECK(stats().cached_bytes == 0 && stats().dirty_bytes == 0);
}

static void workers_run(bool apart)
{
    Worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (Worker){.number = apart ? i / REGIONS : i,
                              .threads = apart ? THREADS / REGIONS : THREADS,
                              .own_region = apart ? (int)(i % REGIONS) : -1};
        sim_rng_init(&workers[i].rng, 42, i);
        CHECK(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

static void set_cache(uint64_t bytes)
{
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, bytes) == 0);
}

static void threads__on_the_same_regions(void)
{
    set_cache(4 << 20);
    regions_open(0);
    workers_run(false);
    regions_close();
}

static void threads__on_different_regions(void)
{
    set_cache(4 << 20);
    regions_open(0);
    workers_run(true);
    regions_close();
}

static void threads__write_through(void)
{
    set_cache(300000);
    regions_open(MANAGE_WRITE_THROUGH);
    workers_run(false);
    regions_close();
}

static void threads__in_no_cache(void)
{
    set_cache(0);
    regions_open(0);
    workers_run(false);
    regions_close();
}

/* ---- beside other calls -----------------------------------------------------------------------
 */

static atomic_bool over;
static atomic_uint samples;

/* The limit holds at every instant, and policies come and go. */
static void *meddler_main(void *arg)
{
    static const int policies[] = {MANAGE_MRU, MANAGE_FIRST_IN, MANAGE_LRU};
    (void)arg;
    for (unsigned i = 0; !over; i++) {
        struct manage_stats st = stats();
        CHECK(st.cached_bytes <= st.limit_bytes && st.dirty_bytes <= st.cached_bytes);
        if (i % 16 == 0)
            CHECK(csetPolicy(policies[i / 16 % ARRAY_SIZE(policies)]) == 0);
        samples++;
    }
    return NULL;
}

static void with_meddler(uint64_t cache_bytes)
{
    pthread_t meddler;
    set_cache(cache_bytes);
    regions_open(0);
    CHECK(pthread_create(&meddler, NULL, meddler_main, NULL) == 0);
    workers_run(false);
    over = true;
    CHECK(pthread_join(meddler, NULL) == 0 && samples > 0);
    regions_close();
}

static void threads__within_the_limit(void)
{
    with_meddler(300000);
    CHECK(stats().evictions > 0);
}

static void threads__in_two_pieces(void)
{
    with_meddler(2 * 16384);
}

static pthread_barrier_t barrier;
static atomic_uint closed;

/* A close waits for calls in progress, and one of many closes. */
static void *closer_main(void *arg)
{
    uint8_t buf[CELL];
    (void)arg;
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < 20; i++) {
        ssize_t n = cread(rds[0], i * 5000, buf, sizeof buf);
        CHECK((n == CELL && buf[0] == byte_at((uint64_t)i * 5000)) || (n == -1 && errno == EINVAL));
    }
    if (cclose(rds[0]) == 0)
        closed++;
    else
        CHECK(errno == EINVAL);
    return NULL;
}

static void threads__close_once(void)
{
    pthread_t threads[THREADS];
    regions_open(0);
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int round = 0; round < 40 / SCALE; round++) {
        closed = 0;
        for (unsigned i = 0; i < THREADS; i++)
            CHECK(pthread_create(&threads[i], NULL, closer_main, NULL) == 0);
        for (unsigned i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(closed == 1);
        rds[0] = copen(LEN, fd, 0);
        CHECK(rds[0] >= 0);
    }
    regions_close();
}

/* Threads that start with the first call of all. */
static void *first_main(void *arg)
{
    unsigned i = *(unsigned *)arg;
    uint8_t b;
    (void)pthread_barrier_wait(&barrier);
    int rd = copen(LEN, fd, (off_t)LEN * i);
    CHECK(rd >= 0 && cread(rd, 1234, &b, 1) == 1 && b == byte_at(1234));
    CHECK(cclose(rd) == 0);
    return NULL;
}

static void threads__first_calls_together(void)
{
    pthread_t threads[REGIONS];
    unsigned numbers[REGIONS];
    fd = scenario_file((size_t)LEN * REGIONS, byte_at);
    CHECK(pthread_barrier_init(&barrier, NULL, REGIONS) == 0);
    for (unsigned i = 0; i < REGIONS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, first_main, &numbers[i]) == 0);
    }
    for (unsigned i = 0; i < REGIONS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(stats().regions == 0);
}

/* ---- its own --------------------------------------------------------------------------------- */

/* Reads of what has room cost a program no thread, though there is a cluster. */
static void threads__none_without_need(void)
{
    uint8_t buf[CELL];
    fd = scenario_file(LEN, byte_at);
    CHECK(setenv("DODO_MANAGER", "127.0.0.1:1", 1) == 0);
    unsigned before = tasks_count();
    CHECK(before > 0);
    int rd = copen(LEN, fd, 0);
    CHECK(rd >= 0);
    for (unsigned i = 0; i < 3 * CELLS; i++) { /* one after the other, then anywhere */
        unsigned cell = i < CELLS ? i : (unsigned)(mix64(i) % CELLS);
        CHECK(cread(rd, (off_t)cell * CELL, buf, CELL) == CELL && buf[0] == cell_byte(cell, 0));
    }
    CHECK(tasks_count() == before);
    CHECK(cclose(rd) == 0);
}

static void threads__when_room_gets_short(void)
{
    enum { CACHE = 16 << 10 };
    uint8_t buf[CACHE] = {1};
    fd = scenario_file(LEN, byte_at);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, CACHE) == 0);
    unsigned before = tasks_count();
    int rd = copen(LEN, fd, 0);
    CHECK(rd >= 0 && tasks_count() == before);
    CHECK(cwrite(rd, 0, buf, CACHE) == CACHE); /* somebody is to write it, and nobody waits */
    CHECK(tasks_count() > before);
    CHECK(cclose(rd) == 0);
}

#if !UNDER_SANITIZER /* which has a malloc of its own */
/* ---- memory ---------------------------------------------------------------------------------- */

enum { SCAN_BYTES = 16 << 20, SCAN_CALL = 32 << 10, SCAN_CACHE = 4 << 20 };

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fscanf(f, "%*u %lu", &pages) == 1 && fclose(f) == 0);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void *scan_main(void *arg)
{
    Worker *w = arg;
    uint8_t buf[SCAN_CALL];
    memset(buf, 1, sizeof buf);
    for (unsigned i = 0; i < 4 * SCAN_BYTES / SCAN_CALL; i++) {
        off_t at = (off_t)sim_rng_below(&w->rng, SCAN_BYTES / SCAN_CALL) * SCAN_CALL;
        CHECK(cwrite(rds[0], at, buf, SCAN_CALL) == SCAN_CALL);
    }
    return NULL;
}

/* The limit is of the memory that is taken, whichever threads take it and give it back. */
static void threads__take_no_more_than_the_limit(void)
{
    Worker workers[THREADS];
    fd = scenario_file(SCAN_BYTES, byte_at);
    CHECK(dodo_manage_set(MANAGE_CACHE_BYTES, SCAN_CACHE) == 0);
    CHECK((rds[0] = copen(SCAN_BYTES, fd, 0)) >= 0);
    uint64_t before = resident_bytes();
    for (unsigned i = 0; i < THREADS; i++) {
        sim_rng_init(&workers[i].rng, i, 1);
        CHECK(pthread_create(&workers[i].thread, NULL, scan_main, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    uint64_t taken = resident_bytes() - before;
    CHECK(taken < SCAN_CACHE * 3 / 2);
    CHECK(cclose(rds[0]) == 0);
}
#endif

static const Scenario scenarios[] = {
    SCENARIO(threads__on_the_same_regions),
    SCENARIO(threads__on_different_regions),
    SCENARIO(threads__write_through),
    SCENARIO(threads__in_no_cache),
    SCENARIO(threads__within_the_limit),
    SCENARIO(threads__in_two_pieces),
    SCENARIO(threads__close_once),
    SCENARIO(threads__first_calls_together),
    SCENARIO(threads__none_without_need),
    SCENARIO(threads__when_room_gets_short),
#if !UNDER_SANITIZER /* which has a malloc of its own */
    SCENARIO(threads__take_no_more_than_the_limit),
#endif
};

int main(int argc, char **argv)
{
    return scenario_main_alone(argc, argv, scenarios, ARRAY_SIZE(scenarios), ARRAY_SIZE(scenarios));
}
