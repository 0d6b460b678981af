/* SPDX-License-Identifier: MIT */
/* manage-hit: what a cread that local memory answers costs over a memcpy of the same bytes, and how
 * both scale with threads. The same places in the same order, in turn, round by round; each figure
 * is the median of the rounds with the lowest and the highest. Prints a line of JSON; status 1 if a
 * byte was wrong, or a read was no local hit. */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dodo/manage.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum {
    REQUEST_MAX = 1 << 20,
    ROUNDS_MAX = 101,
    THREADS_MAX = 256,
    CALLS_MAX = 100000000,
    LARGE_MB_MAX = 1 << 20,
    CHECK_EVERY = 61,
    WRITE_BYTES = 1 << 20,
};

static struct {
    uint64_t small, large; /* sets: one that a processor's caches hold, one that they do not */
    size_t request;
    unsigned rounds, threads, calls;
} opt = {.small = 256 << 10,
         .large = 64 << 20,
         .request = 4096,
         .rounds = 11,
         .threads = 0,
         .calls = 40000};

static int rd;
static uint8_t *memory; /* the same bytes as the region's */
static _Atomic uint64_t wrong;

/* ---- reading ----------------------------------------------------------------------------------
 */

typedef struct Reader {
    pthread_t thread;
    Random random;
    uint64_t set;
    bool cached;  /* cread, or memcpy */
    uint32_t *ns; /* of each call; NULL: only the sum */
    uint64_t total_ns;
    pthread_barrier_t *start;
} Reader;

static void read_one(const Reader *r, uint8_t *buf, uint64_t offset)
{
    if (!r->cached)
        memcpy(buf, memory + offset, opt.request);
    else if (dodo_cread(rd, (off_t)offset, buf, opt.request) != (ssize_t)opt.request)
        wrong++;
    __asm__ volatile("" : : "r"(buf) : "memory"); /* or it would not be copied at all */
}

static void *reader_main(void *arg)
{
    Reader *r = arg;
    CLEANUP_FREE uint8_t *buf = aligned_alloc(4096, REQUEST_MAX);
    if (!buf)
        abort();
    if (r->start)
        (void)pthread_barrier_wait(r->start);
    uint64_t start_ns = os_now_ns(), checks_ns = 0;
    for (unsigned i = 0; i < opt.calls; i++) {
        uint64_t offset = random_below(&r->random, r->set / opt.request) * opt.request;
        if (r->ns) {
            uint64_t from_ns = os_now_ns();
            read_one(r, buf, offset);
            r->ns[i] = (uint32_t)(os_now_ns() - from_ns);
        } else {
            read_one(r, buf, offset);
        }
        if (i % CHECK_EVERY == 0) {
            uint64_t from_ns = os_now_ns();
            wrong += bench_data_wrong(offset, buf, opt.request);
            checks_ns += os_now_ns() - from_ns;
        }
    }
    r->total_ns = os_now_ns() - start_ns - checks_ns;
    return NULL;
}

/* ---- figures ----------------------------------------------------------------------------------
 */

typedef struct Figure {
    double of[ROUNDS_MAX];
} Figure;

static void figure_print(const char *name, Figure *f)
{
    double median = bench_median(f->of, opt.rounds);
    printf("\"%s\": [%.3f, %.3f, %.3f]", name, median, f->of[0], f->of[opt.rounds - 1]);
}

/* One thread: what each call takes. */
static void measure_calls(const char *name, uint64_t set)
{
    static Figure p50, p99, mean, copy_p50;
    CLEANUP_FREE uint32_t *ns = calloc(opt.calls, sizeof *ns);
    if (!ns)
        abort();
    for (unsigned round = 0; round < opt.rounds; round++) {
        double at50[2], at99[2], all[2];
        for (unsigned k = 0; k < 2; k++) {
            bool cached = (k + round) % 2;
            Reader r = {.random = {round + 1}, .set = set, .cached = cached, .ns = ns};
            (void)reader_main(&r);
            all[cached] = (double)r.total_ns / opt.calls;
            at50[cached] = bench_percentile(ns, opt.calls, 500);
            at99[cached] = bench_percentile(ns, opt.calls, 990);
        }
        copy_p50.of[round] = at50[0];
        p50.of[round] = at50[1] - at50[0];
        p99.of[round] = at99[1] - at99[0];
        mean.of[round] = all[1] - all[0];
    }
    printf("{\"set\": \"%s\", \"bytes\": %" PRIu64 ", ", name, set);
    figure_print("memcpy_p50_ns", &copy_p50);
    printf(", ");
    figure_print("over_p50_ns", &p50);
    printf(", ");
    figure_print("over_p99_ns", &p99);
    printf(", ");
    figure_print("over_mean_ns", &mean);
    printf("}");
}

/* Calls a second of @threads together. */
static double run_threads(unsigned threads, bool cached, unsigned round)
{
    static Reader readers[THREADS_MAX];
    pthread_barrier_t start;
    uint64_t slowest_ns = 1;
    (void)pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        readers[i] = (Reader){.random = {round * THREADS_MAX + i + 1},
                              .set = opt.large,
                              .cached = cached,
                              .start = &start};
        if (os_thread_start(&readers[i].thread, reader_main, &readers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(readers[i].thread, NULL);
        slowest_ns = readers[i].total_ns > slowest_ns ? readers[i].total_ns : slowest_ns;
    }
    (void)pthread_barrier_destroy(&start);
    return (double)threads * opt.calls * NS_PER_S / (double)slowest_ns;
}

static void measure_threads(unsigned threads)
{
    static Figure ratio, calls;
    for (unsigned round = 0; round < opt.rounds; round++) {
        double done[2];
        for (unsigned k = 0; k < 2; k++) {
            bool cached = (k + round) % 2;
            done[cached] = run_threads(threads, cached, round);
        }
        ratio.of[round] = done[1] / done[0];
        calls.of[round] = done[1] / 1e6;
    }
    printf("{\"threads\": %u, ", threads);
    figure_print("million_calls_per_s", &calls);
    printf(", ");
    figure_print("of_memcpy", &ratio);
    printf("}");
}

/* ---- the data ---------------------------------------------------------------------------------
 */

/* What is written is in the cache, whatever the file costs. */
static bool data_make(void)
{
    char path[] = "/tmp/manage-hit-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    memory = aligned_alloc(4096, opt.large);
    if (fd < 0 || unlink(path) < 0 || ftruncate(fd, (off_t)opt.large) < 0 || !memory ||
        dodo_manage_set(MANAGE_CACHE_BYTES, opt.large * 2) < 0)
        return false;
    bench_data_make(0, memory, opt.large);
    rd = dodo_copen(opt.large, fd, 0);
    for (uint64_t at = 0; rd >= 0 && at < opt.large; at += WRITE_BYTES)
        if (dodo_cwrite(rd, (off_t)at, memory + at, WRITE_BYTES) != WRITE_BYTES)
            return false;
    return rd >= 0 && close(fd) == 0 && dodo_csync(rd) == 0;
}

static int usage(void)
{
    fprintf(stderr, "Usage: manage-hit [--quick] [--rounds N] [--calls N] [--threads N] "
                    "[--request BYTES] [--large MB]\n");
    return 2;
}

static bool number(const char *text, unsigned long max, unsigned long *ret)
{
    char *end;
    *ret = strtoul(text, &end, 10);
    return *text && !*end && *ret >= 1 && *ret <= max;
}

static unsigned long option_max(int k)
{
    switch (k) {
    case 'b':
        return REQUEST_MAX;
    case 'r':
        return ROUNDS_MAX;
    case 't':
        return THREADS_MAX;
    case 'l':
        return LARGE_MB_MAX;
    default:
        return CALLS_MAX;
    }
}

static bool options(int argc, char **argv)
{
    static const struct option known[] = {{"quick", no_argument, NULL, 'q'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {"calls", required_argument, NULL, 'c'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"request", required_argument, NULL, 'b'},
                                          {"large", required_argument, NULL, 'l'},
                                          {0}};
    for (int k; (k = getopt_long(argc, argv, "", known, NULL)) >= 0;) {
        unsigned long n = 1;
        if (k == '?' || (optarg && !number(optarg, option_max(k), &n)))
            return false;
        opt.rounds = k == 'r' ? (unsigned)n : k == 'q' ? 3 : opt.rounds;
        opt.calls = k == 'c' ? (unsigned)n : k == 'q' ? 4000 : opt.calls;
        opt.threads = k == 't' ? (unsigned)n : opt.threads;
        opt.request = k == 'b' ? n : opt.request;
        opt.large = k == 'l' ? (uint64_t)n << 20 : opt.large;
    }
    return optind == argc && opt.request <= opt.small;
}

int main(int argc, char **argv)
{
    struct manage_stats st;
    if (!options(argc, argv))
        return usage();
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!opt.threads)
        opt.threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
    (void)unsetenv("DODO_MANAGER");
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    if (!data_make()) {
        perror("manage-hit");
        return 1;
    }
    printf("{\"request\": %zu, \"rounds\": %u, \"calls\": %u, \"cores\": %ld, \"figures\": "
           "[\"median\", \"lowest\", \"highest\"], \"sets\": [",
           opt.request, opt.rounds, opt.calls, cores);
    measure_calls("small", opt.small);
    printf(", ");
    measure_calls("large", opt.large);
    printf("], \"threads\": [");
    for (unsigned n = 1; n <= opt.threads;
         n = n * 2 <= opt.threads || n == opt.threads ? n * 2 : opt.threads) {
        printf("%s", n > 1 ? ", " : "");
        measure_threads(n);
    }
    bool hits = dodo_manage_stats(&st) == 0 && st.local_hits > 0 && st.disk_reads == 0;
    printf("], \"wrong\": %" PRIu64 ", \"all_local\": %s}\n", (uint64_t)wrong,
           hits ? "true" : "false");
    free(memory);
    return wrong || !hits || dodo_cclose(rd) < 0;
}
