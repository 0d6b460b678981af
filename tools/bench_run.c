/* SPDX-License-Identifier: MIT */
/* Calls of one kind and size by some threads, each in a part of the area of its own. What makes
 * and checks contents is outside of what is timed, and is taken out of the CPU time again. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/os.h"
#include "base/time.h"
#include "bench/common.h"
#include "examples/progress.h"
#include "tools/bench.h"

enum { ALIGNMENT = 4096, VERSION_MAX = (1 << 24) - 1, WARM_PART = 10 };

typedef struct Worker {
    const BenchArea *area;
    pthread_t thread;
    bool write;
    uint64_t size, time_ns, pause_ns;
    BenchPart part;
    uint32_t *versions; /* of the part's slots, while writes are measured */
    uint8_t *buf, *spare;
    Histogram *times;
    uint64_t own_cpu_ns; /* making and checking contents */
    uint64_t checked_bytes, wrong_bytes;
    int result;
    char error[CONFIG_ERROR_MAX]; /* why, as its thread heard */
} Worker;

static uint64_t process_cpu_ns(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

/* ---- one thread ------------------------------------------------------------------------------ */

static int check(Worker *w, uint64_t offset, uint32_t version)
{
    uint64_t wrong;
    int res = bench_area_check(w->area, offset, version, w->buf, w->spare, w->size, &wrong);
    if (res == 0) {
        w->checked_bytes += w->size;
        w->wrong_bytes += wrong;
    }
    return res;
}

static int one_read(Worker *w, uint64_t offset, uint64_t *ret_ns)
{
    uint64_t start = os_now_ns();
    int res = bench_area_read(w->area, offset, w->buf, w->size);
    *ret_ns = os_now_ns() - start;
    uint64_t cpu = os_thread_cpu_ns();
    if (res == 0)
        res = check(w, offset, 0);
    w->own_cpu_ns += os_thread_cpu_ns() - cpu;
    return res;
}

static int one_write(Worker *w, uint64_t offset, uint32_t *version, uint64_t *ret_ns)
{
    uint64_t cpu = os_thread_cpu_ns();
    *version = *version % VERSION_MAX + 1;
    bench_contents_make(offset, *version, w->buf, w->size);
    w->own_cpu_ns += os_thread_cpu_ns() - cpu;
    uint64_t start = os_now_ns();
    int res = bench_area_write(w->area, offset, w->buf, w->size);
    *ret_ns = os_now_ns() - start;
    return res;
}

/* A signal may end it, and is seen next. */
static void pause_for(uint64_t ns)
{
    const struct timespec t = time_to_timespec(ns);
    if (ns > 0)
        (void)nanosleep(&t, NULL);
}

static void *work(void *arg)
{
    Worker *w = arg;
    uint64_t until = time_add(os_now_ns(), w->time_ns), ns;
    do {
        uint64_t slot = bench_part_next(&w->part);
        uint64_t offset = bench_slot_offset(&w->area->layout, w->size, slot);
        w->result = w->write ? one_write(w, offset, &w->versions[slot - w->part.first], &ns)
                             : one_read(w, offset, &ns);
        if (w->result == 0)
            histogram_add(w->times, ns);
        else
            (void)bench_call_failed(w->write ? "writing" : "reading", offset, w->result, w->error);
        pause_for(w->pause_ns);
    } while (w->result == 0 && !bench_signal && os_now_ns() < until);
    return NULL;
}

/* Everything that was written last is there, in the region and in the file. */
static int read_back(Worker *w, bool progress, char *error)
{
    Progress p = {.on = progress};
    for (uint64_t i = 0; i < w->part.count; i++) {
        uint64_t offset = bench_slot_offset(&w->area->layout, w->size, w->part.first + i), wrong;
        if (w->versions[i] == 0)
            continue;
        int res = bench_signal ? -EINTR : bench_area_read(w->area, offset, w->buf, w->size);
        if (res == 0)
            res = check(w, offset, w->versions[i]);
        if (res == 0)
            res = bench_area_check_file(w->area, offset, w->buf, w->spare, w->size, &wrong);
        if (res < 0)
            return bench_call_failed("reading back", offset, res, error);
        w->wrong_bytes += wrong;
        progress_show(&p, i + 1, w->part.count, "reading back");
    }
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void workers_free(Worker *w, uint64_t count)
{
    for (uint64_t i = 0; w && i < count; i++) {
        free(w[i].versions);
        free(w[i].buf);
        free(w[i].spare);
        free(w[i].times);
    }
    free(w);
}

static Worker *workers_new(const BenchArea *a, const BenchOptions *o, bool write, uint64_t size)
{
    uint64_t slots = bench_slots(&a->layout, size), seed;
    size_t room = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Worker *all = calloc(o->threads, sizeof *all);
    os_random(NULL, &seed, sizeof seed);
    for (unsigned i = 0; all && i < o->threads; i++) {
        Worker *w = &all[i];
        *w = (Worker){.area = a, .write = write, .size = size, .pause_ns = o->pause_ns};
        w->part = bench_part(slots, i, (unsigned)o->threads, o->pattern, seed);
        w->versions = calloc(write ? w->part.count : 1, sizeof *w->versions);
        w->buf = aligned_alloc(ALIGNMENT, room);
        w->spare = aligned_alloc(ALIGNMENT, room);
        w->times = calloc(1, sizeof *w->times);
        if (!w->versions || !w->buf || !w->spare || !w->times) {
            workers_free(all, o->threads);
            return NULL;
        }
        memset(w->buf, 0, room); /* so that no call pays for the first touch */
    }
    return all;
}

/* 0, or what the first thread that failed says. */
static int run_all(Worker *all, uint64_t count, uint64_t time_ns, char *error)
{
    uint64_t started = 0;
    int res = 0;
    while (res == 0 && started < count) {
        Worker *w = &all[started];
        w->time_ns = time_ns;
        w->own_cpu_ns = 0;
        memset(w->times, 0, sizeof *w->times);
        res = os_thread_start(&w->thread, work, w);
        started += res == 0;
    }
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot start %" PRIu64 " threads: %s", count,
                       strerror(-res));
    for (uint64_t i = 0; i < started; i++) {
        (void)pthread_join(all[i].thread, NULL);
        if (res == 0 && all[i].result < 0) {
            res = all[i].result;
            memcpy(error, all[i].error, CONFIG_ERROR_MAX);
        }
    }
    return bench_signal ? -EINTR : res;
}

static void sum_up(const Worker *all, uint64_t count, BenchRow *ret)
{
    for (uint64_t i = 0; i < count; i++) {
        const Worker *w = &all[i];
        histogram_merge(&ret->times, w->times);
        ret->calls_per_s += (double)w->times->count * (double)NS_PER_S / (double)w->times->sum;
        ret->cpu_ns = sub_u64(ret->cpu_ns, w->own_cpu_ns);
    }
}

static int measure(const BenchArea *a, const BenchOptions *o, Worker *all, BenchRow *ret,
                   char *error)
{
    int res = run_all(all, o->threads, o->time_ns / WARM_PART, error);
    if (res < 0)
        return res;
    BenchSources before = bench_area_sources(a);
    uint64_t cpu_ns = process_cpu_ns();
    res = run_all(all, o->threads, o->time_ns, error);
    ret->cpu_ns = process_cpu_ns() - cpu_ns;
    if (ret->write && res == 0)
        before = bench_area_sources(a);
    for (uint64_t i = 0; ret->write && res == 0 && i < o->threads; i++)
        res = read_back(&all[i], o->progress, error);
    BenchSources after = bench_area_sources(a);
    ret->sources = (BenchSources){after.remote_bytes - before.remote_bytes,
                                  after.file_bytes - before.file_bytes};
    sum_up(all, o->threads, ret);
    for (uint64_t i = 0; i < o->threads; i++) {
        ret->checked_bytes += all[i].checked_bytes;
        ret->wrong_bytes += all[i].wrong_bytes;
    }
    return res;
}

int bench_run(const BenchArea *a, const BenchOptions *o, bool write, uint64_t size, BenchRow *ret,
              char error[CONFIG_ERROR_MAX])
{
    *ret = (BenchRow){.write = write, .size = size};
    if (bench_slots(&a->layout, size) < o->threads) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the area has room for %" PRIu64 " calls of %" PRIu64
                       " bytes, fewer than threads",
                       bench_slots(&a->layout, size), size);
        return -EINVAL;
    }
    Worker *all = workers_new(a, o, write, size);
    if (!all) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for %" PRIu64 " threads", o->threads);
        return -ENOMEM;
    }
    int res = measure(a, o, all, ret, error);
    workers_free(all, o->threads);
    return res;
}
