/* SPDX-License-Identifier: MIT */
/* owner-load: what the owner of a host might be doing on it, for scripts/bench-owner. One thread
 * that computes, or walks through memory, or wakes up a thousand times a second; prints how far it
 * got, or how late it woke, as a line of JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "base/parse.h"
#include "base/random.h"
#include "base/time.h"
#include "bench/common.h"

enum {
    CPU_STEPS = 20000,       /* between looks at the clock: some ten microseconds */
    MEMORY_BYTES = 64 << 20, /* more than any cache of a core */
    MEMORY_STEPS = 500,      /* likewise */
    WAKE_NS = 1000000,
    WAKES_MAX = 1 << 20,
};

static int usage(int status)
{
    (void)fprintf(
        status ? stderr : stdout,
        "Usage: owner-load cpu|memory|wake TIME\n"
        "Computes, walks through 64 MiB of memory at random, or wakes up each millisecond.\n"
        "Prints steps a second, or microseconds too late, as a line of JSON.\n");
    return status;
}

static volatile uint64_t sink; /* so that nothing is optimized away */

static void print_rate(const char *name, uint64_t steps, uint64_t ns)
{
    (void)printf("{\"load\": \"%s\", \"per_s\": %.0f}\n", name,
                 (double)steps * (double)NS_PER_S / (double)ns);
}

static int load_cpu(uint64_t ns)
{
    uint64_t x = 88172645463325252u, steps = 0, start = os_now_ns(), now = start;
    while (now - start < ns) {
        for (unsigned i = 0; i < CPU_STEPS; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        steps += CPU_STEPS;
        now = os_now_ns();
    }
    sink = x;
    print_rate("cpu", steps, now - start);
    return EXIT_SUCCESS;
}

/* One cycle through all cache lines in an order that no prefetcher guesses: each step waits for
 * memory. */
static int load_memory(uint64_t ns)
{
    enum { LINE = 64 / sizeof(uint32_t) };
    const uint32_t lines = MEMORY_BYTES / 64;
    uint32_t *next = aligned_alloc(64, MEMORY_BYTES), *order = malloc(lines * sizeof *order);
    Random random = {1};
    if (!next || !order) {
        (void)fprintf(stderr, "owner-load: no memory\n");
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < lines; i++)
        order[i] = i;
    for (uint32_t i = lines - 1; i > 0; i--) {
        uint32_t j = (uint32_t)random_below(&random, i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint32_t i = 0; i < lines; i++)
        next[(size_t)order[i] * LINE] = order[(i + 1) % lines];
    free(order);
    uint32_t at = 0;
    uint64_t steps = 0, start = os_now_ns(), now = start;
    while (now - start < ns) {
        for (unsigned i = 0; i < MEMORY_STEPS; i++)
            at = next[(size_t)at * LINE];
        steps += MEMORY_STEPS;
        now = os_now_ns();
    }
    sink = at;
    print_rate("memory", steps, now - start);
    free(next);
    return EXIT_SUCCESS;
}

static int load_wake(uint64_t ns)
{
    static uint32_t late[WAKES_MAX]; /* [ns] */
    size_t count = 0;
    double sum = 0;
    uint64_t start = os_now_ns(), at = start;
    while (at - start < ns && count < WAKES_MAX) {
        at += WAKE_NS;
        struct timespec until = time_to_timespec(at);
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        uint64_t now = os_now_ns();
        late[count] = now - at > UINT32_MAX ? UINT32_MAX : (uint32_t)(now - at);
        sum += late[count++];
        if (now > at + WAKE_NS) /* one that was missed is late, not two */
            at += (now - at) / WAKE_NS * WAKE_NS;
    }
    (void)printf("{\"load\": \"wake\", \"wakes\": %zu, \"mean_us\": %.3f, \"p50_us\": %.3f, "
                 "\"p99_us\": %.3f, \"max_us\": %.3f}\n",
                 count, sum / (double)count / 1e3, bench_percentile(late, count, 500) / 1e3,
                 bench_percentile(late, count, 990) / 1e3,
                 bench_percentile(late, count, 1000) / 1e3);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    uint64_t ns;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc != 3 || parse_time(argv[2], &ns) < 0 || ns == 0)
        return usage(2);
    if (strcmp(argv[1], "cpu") == 0)
        return load_cpu(ns);
    if (strcmp(argv[1], "memory") == 0)
        return load_memory(ns);
    if (strcmp(argv[1], "wake") == 0)
        return load_wake(ns);
    return usage(2);
}
