/* SPDX-License-Identifier: MIT */
/* owner-storm: the owner's own program takes memory as fast as the kernel gives it, for
 * scripts/bench-owner. First it takes what leaves a little to lend (the ballast), waits until imd
 * has that, then goes on, and measures until imd gives the first page back. A line of JSON. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/os.h"
#include "base/parse.h"
#include "base/time.h"
#include "tests/bench/owner_common.h"

enum {
    STEP_BYTES = 4 << 20,
    LOOK_NS = 500000,
    NOTICED_BYTES = 1 << 20, /* less of imd is a page given back, and not its bookkeeping */
    PATIENCE_S = 20,
};

static int usage(int status)
{
    (void)fprintf(
        status ? stderr : stdout,
        "Usage: owner-storm RMD-PID LEND-BYTES STORM-BYTES\n"
        "Takes memory until rmd can lend about LEND-BYTES, waits until imd has nearly as\n"
        "much, takes STORM-BYTES more at once. Prints a line of JSON.\n");
    return status;
}

typedef struct Taker {
    uint8_t *at;
    uint64_t bytes;
    _Atomic uint64_t taken;
    _Atomic bool stop;
} Taker;

static void take(Taker *t)
{
    while (t->taken < t->bytes && !t->stop) {
        uint64_t n = t->bytes - t->taken < STEP_BYTES ? t->bytes - t->taken : STEP_BYTES;
        memset(t->at + t->taken, 1, n);
        t->taken += n;
    }
}

static void *storm(void *arg)
{
    take(arg);
    return NULL;
}

static bool reserve(Taker *t, uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    *t = (Taker){.at = p, .bytes = bytes};
    return p != MAP_FAILED;
}

static int run(pid_t rmd, uint64_t lend, uint64_t more)
{
    Taker ballast, rest;
    pthread_t thread;
    uint64_t total = owner_meminfo("MemTotal:"), available = owner_meminfo("MemAvailable:");
    uint64_t keep = total / 100 * 16 + lend; /* the headroom of 15 %, and the slack */
    if (available < keep + more / 2 || !reserve(&ballast, available - keep) ||
        !reserve(&rest, more)) {
        (void)fprintf(stderr, "owner-storm: too little memory is available for that\n");
        return EXIT_FAILURE;
    }
    take(&ballast);
    pid_t imd = owner_wait_imd(rmd, lend / 10 * 8);
    if (!imd)
        return EXIT_FAILURE;
    uint64_t most = owner_resident(imd), start = os_now_ns(), now = start, left = most;
    if (pthread_create(&thread, NULL, storm, &rest) != 0)
        return EXIT_FAILURE;
    do {
        owner_pause_ns(LOOK_NS);
        left = owner_resident(imd); /* 0: it is gone */
        now = os_now_ns();
        if (left > most)
            most = left;
    } while (left + NOTICED_BYTES > most && now - start < PATIENCE_S * NS_PER_S);
    uint64_t taken = rest.taken;
    rest.stop = true;
    (void)pthread_join(thread, NULL);
    bool noticed = left + NOTICED_BYTES <= most;
    if (noticed)
        (void)printf("{\"ms\": %.3f, \"taken_bytes\": %" PRIu64 ", \"lent_bytes\": %" PRIu64 "}\n",
                     (double)(now - start) / 1e6, taken, most);
    else
        (void)fprintf(stderr, "owner-storm: imd has given nothing back\n");
    return noticed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    uint64_t lend, more;
    (void)prctl(PR_SET_PDEATHSIG, 9); /* it holds most of the memory */
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc != 4 || parse_size(argv[2], &lend) < 0 || parse_size(argv[3], &more) < 0)
        return usage(2);
    return run((pid_t)atoi(argv[1]), lend, more);
}
