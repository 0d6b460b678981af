/* SPDX-License-Identifier: MIT */
/* One of the programs of failover-load: it holds regions, opens others, reads and writes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/dodo.h>

#include "base/num.h"
#include "base/os.h"
#include "base/random.h"
#include "bench/common.h"
#include "bench/failover_load.h"

enum {
    REGION_BYTES = 8192,
    BLOCK = 4096,
    FILE_REGIONS = 256, /* in a file: the kernel walks through all locks of one at each open */
    HOT = 256,          /* of the held regions of a process, those that are read and written */
    RING = 64,          /* regions of an opener that are to be closed */
    FILLERS = 4,        /* threads that open what is held */
    WRITE_PERCENT = 20,
};

static const uint64_t OPEN_EVERY_NS = 200 * NS_PER_MS, CALL_EVERY_NS = 100 * NS_PER_MS;

/* Regions that an opener has opened and its closer is to close. */
typedef struct Ring {
    sem_t wake; /* of the closer, once for each region and for the end */
    atomic_uint put, taken;
    int rds[RING];
} Ring;

static Child *self;
static int *files, *rds; /* one file more: what openers open */
static Ring rings[OPENERS_MAX];

static void sleep_until(uint64_t at_ns)
{
    const uint64_t now = os_now_ns();
    if (at_ns > now)
        sleep_ns(at_ns - now);
}

/* ---- what it holds ------------------------------------------------------------ */

static off_t place_of(unsigned region)
{
    return (off_t)(region % FILE_REGIONS) * REGION_BYTES;
}

static unsigned files_held(void)
{
    return (regions_each + FILE_REGIONS - 1) / FILE_REGIONS;
}

static int file_of(unsigned region)
{
    return files[region / FILE_REGIONS];
}

static void *filler_main(void *ctx)
{
    for (unsigned i = (unsigned)(uintptr_t)ctx; i < regions_each; i += FILLERS) {
        rds[i] = dodo_mopen(REGION_BYTES, file_of(i), place_of(i));
        if (rds[i] < 0)
            die(dodo_last_error());
        self->held++;
    }
    return NULL;
}

static void thread_start(pthread_t *id, void *(*fn)(void *), unsigned number)
{
    if (os_thread_start(id, fn, (void *)(uintptr_t)number) != 0)
        die("no thread");
}

static void hold_all(void)
{
    pthread_t id[FILLERS];
    rds = calloc(regions_each, sizeof *rds);
    if (!rds)
        die("no memory");
    for (unsigned i = 0; i < FILLERS; i++)
        thread_start(&id[i], filler_main, i);
    for (unsigned i = 0; i < FILLERS; i++)
        (void)pthread_join(id[i], NULL);
}

/* Blocks beyond the data are holes of the file. */
static uint64_t wrong_bytes(unsigned region, const uint8_t *block, unsigned hot)
{
    uint64_t wrong = 0;
    if (region < hot)
        return bench_data_wrong((uint64_t)place_of(region), block, BLOCK);
    for (unsigned i = 0; i < BLOCK; i++)
        wrong += block[i] != 0;
    return wrong;
}

static unsigned hot_regions(void)
{
    return regions_each < HOT ? regions_each : HOT;
}

static void one_call(Random *random, uint8_t *block)
{
    const unsigned i = (unsigned)random_below(random, hot_regions());
    const bool writes = random_below(random, 100) < WRITE_PERCENT;
    if (writes)
        bench_data_make((uint64_t)place_of(i), block, BLOCK);
    const uint64_t begun = os_now_ns();
    const ssize_t n =
        writes ? dodo_mwrite(rds[i], 0, block, BLOCK) : dodo_mread(rds[i], 0, block, BLOCK);
    const uint64_t took = os_now_ns() - begun;
    self->failed += n != BLOCK;
    if (n == BLOCK && !writes)
        self->wrong += wrong_bytes(i, block, hot_regions());
    if (writes)
        self->writes++;
    else
        self->reads++;
    if (self->calls_count == CALLS_MAX)
        die("too many calls");
    self->calls[self->calls_count] =
        (CallEntry){.begun_ns = begun, .took_ns = (uint32_t)min_u64(took, UINT32_MAX)};
    self->calls_count++;
}

static void *caller_main(void *ctx)
{
    static uint8_t block[BLOCK];
    Random random = {.state = (uint64_t)(uintptr_t)ctx};
    for (uint64_t due = os_now_ns(); !shared->over; due += CALL_EVERY_NS) {
        sleep_until(due);
        one_call(&random, block);
    }
    return NULL;
}

/* ---- openers ------------------------------------------------------------------ */

static void *closer_main(void *ctx)
{
    Ring *ring = ctx;
    for (;;) {
        while (sem_wait(&ring->wake) < 0)
            ;
        if (ring->taken == ring->put)
            return NULL;
        self->closes_failed += dodo_mclose(ring->rds[ring->taken % RING]) < 0;
        self->closes++;
        ring->taken++;
    }
}

static bool opener_pauses(OpenerLog *log, const Ring *ring)
{
    const bool pauses = shared->still;
    log->still = pauses && ring->taken == ring->put;
    if (pauses)
        sleep_ns(LOOK_NS);
    return pauses;
}

static void open_one(unsigned number, OpenerLog *log, Ring *ring, uint64_t due_ns)
{
    const unsigned at = log->count;
    if (at == OPENS_MAX)
        die("too many opens");
    while (ring->put - ring->taken == RING && !shared->over)
        sleep_ns(LOOK_NS); /* it waits for its regions to be closed, and so does its open */
    const unsigned place = number * RING + ring->put % RING;
    Open o = {.due_ns = due_ns, .begun_ns = os_now_ns()};
    const int rd = dodo_mopen(REGION_BYTES, files[files_held()], place_of(place));
    o.ended_ns = os_now_ns();
    o.good = rd >= 0;
    log->of[at] = o;
    log->count++;
    if (!o.good)
        (void)fprintf(stderr, "failover-load: mopen: %s\n", dodo_last_error());
    else {
        ring->rds[ring->put % RING] = rd;
        ring->put++;
        (void)sem_post(&ring->wake);
    }
}

static void *opener_main(void *ctx)
{
    const unsigned number = (unsigned)(uintptr_t)ctx;
    OpenerLog *log = &self->openers[number];
    Ring *ring = &rings[number];
    /* Not all at the same moment. */
    uint64_t due = os_now_ns() + mix64(number + (uint64_t)getpid()) % OPEN_EVERY_NS;
    while (!shared->over) {
        if (opener_pauses(log, ring)) {
            due = os_now_ns();
            continue;
        }
        sleep_until(due);
        open_one(number, log, ring, due);
        due += OPEN_EVERY_NS;
    }
    (void)sem_post(&ring->wake);
    return NULL;
}

/* ---- commands ----------------------------------------------------------------- */

static unsigned long count_held(void)
{
    unsigned long n = 0;
    for (unsigned i = 0; i < regions_each; i++) {
        DodoStat st;
        n += dodo_stat(rds[i], &st) == 0 && st.copies > 0;
    }
    return n;
}

/* How many of the reads failed. */
static unsigned long sweep(void)
{
    static uint8_t block[BLOCK];
    unsigned long failed = 0;
    for (unsigned i = 0; i < regions_each; i++) {
        const bool good = dodo_mread(rds[i], 0, block, BLOCK) == BLOCK;
        failed += !good;
        if (good)
            self->wrong += wrong_bytes(i, block, hot_regions());
    }
    return failed;
}

static void follow_commands(void)
{
    for (enum Command command = COMMAND_NONE; command != COMMAND_END;) {
        if (self->done == shared->number) {
            sleep_ns(LOOK_NS);
            continue;
        }
        command = (enum Command)shared->command;
        if (command == COMMAND_COUNT)
            self->result = count_held();
        else if (command == COMMAND_SWEEP)
            self->result = sweep();
        self->done++;
    }
}

static int file_make(const char *directory, unsigned child, unsigned number)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/held-%u-%u", directory, child, number);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || unlink(path) < 0 || ftruncate(file, (off_t)FILE_REGIONS * REGION_BYTES) < 0)
        die(path);
    return file;
}

/* The first one has data, the others are holes. */
static void files_make(const char *directory, unsigned child)
{
    files = calloc(files_held() + 1, sizeof *files);
    if (!files)
        die("no memory");
    for (unsigned i = 0; i <= files_held(); i++)
        files[i] = file_make(directory, child, i);
    if (bench_file_write(files[0], 0, (uint64_t)hot_regions() * REGION_BYTES) < 0)
        die("the data cannot be written");
}

int program_main(const char *directory, unsigned number)
{
    pthread_t caller, opener[OPENERS_MAX], closer[OPENERS_MAX];
    self = &children[number];
    files_make(directory, number);
    hold_all();
    while (!shared->begun)
        sleep_ns(LOOK_NS);
    thread_start(&caller, caller_main, number);
    for (unsigned i = 0; i < openers; i++) {
        if (sem_init(&rings[i].wake, 0, 0) < 0)
            die("no semaphore");
        thread_start(&opener[i], opener_main, i);
        if (os_thread_start(&closer[i], closer_main, &rings[i]) != 0)
            die("no thread");
    }
    follow_commands();
    (void)pthread_join(caller, NULL);
    for (unsigned i = 0; i < openers; i++) {
        (void)pthread_join(opener[i], NULL);
        (void)pthread_join(closer[i], NULL);
    }
    return EXIT_SUCCESS; /* what it holds goes with it: the library says farewell at exit */
}
