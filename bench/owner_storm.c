/* SPDX-License-Identifier: MIT */
/* owner-storm: the owner's own program takes memory as fast as the kernel gives it, for
 * scripts/bench-owner. First it takes what leaves a little to lend (the ballast), waits until imd
 * has filled that, then goes on. Measures until imd gives the first page back, and when the
 * headroom that is the owner's anyway was touched first, if ever. A line of JSON. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/os.h"
#include "base/parse.h"
#include "base/time.h"
#include "bench/owner_common.h"

enum {
    STEP_BYTES = 4 << 20,
    LOOK_NS = 500000,
    FILL_LOOK_NS = 10000000,
    NOTICED_BYTES = 1 << 20, /* less of imd is a page given back, and not its bookkeeping */
    PATIENCE_S = 20,
    PAGE = 4096,
    HEADROOM_PERCENT = 15, /* of all memory stays with the owner */
};

/* Where it had to give back, for another program's sake, rmd lends more after 5 s. */
static const uint64_t FILL_NS = 90 * NS_PER_S, SETTLED_NS = 6 * NS_PER_S;

static int usage(int status)
{
    (void)fprintf(
        status ? stderr : stdout,
        "Usage: owner-storm RMD-PID CONSOLE-FILE LEND-BYTES STORM-BYTES COUNT [BYTES-PER-S]\n"
        "Takes memory until rmd can lend about LEND-BYTES; then COUNT times: waits until an imd "
        "is\n"
        "filled with that, takes STORM-BYTES more (at that rate), gives them back, and touches the "
        "file,\n"
        "so that the next imd begins again. Prints a line of JSON a storm.\n");
    return status;
}

typedef struct Taker {
    uint8_t *at;
    uint64_t bytes, rate; /* rate: bytes a second; 0: as fast as the kernel gives them */
    _Atomic uint64_t taken;
    _Atomic bool stop;
} Taker;

static void take(Taker *t)
{
    const uint64_t a_ms = t->rate / 1000 / PAGE * PAGE + PAGE, start = os_now_ns();
    const uint64_t step = t->rate ? a_ms : STEP_BYTES;
    while (t->taken < t->bytes && !t->stop) {
        uint64_t n = t->bytes - t->taken < step ? t->bytes - t->taken : step;
        memset(t->at + t->taken, 1, n);
        t->taken += n;
        while (t->rate && (os_now_ns() - start) / 1000 * t->rate / 1000000 < t->taken && !t->stop)
            owner_pause_ns(LOOK_NS);
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

/* Waits until clients have filled what imd lends, or nearly. What it has then; 0: too little. */
static uint64_t wait_settled(pid_t imd, uint64_t least)
{
    uint64_t at = 0, now_ns = os_now_ns(), since_ns = now_ns, until_ns = now_ns + FILL_NS;
    for (; now_ns < until_ns && now_ns - since_ns < SETTLED_NS; now_ns = os_now_ns()) {
        uint64_t has = owner_resident(imd);
        if (has > at + NOTICED_BYTES || has + NOTICED_BYTES < at) {
            at = has;
            since_ns = now_ns;
        }
        owner_pause_ns(FILL_LOOK_NS);
    }
    return at >= least ? at : 0;
}

typedef struct Seen {
    uint64_t most, lowest;         /* bytes: of imd; available */
    uint64_t given_ns, touched_ns; /* since the start; 0: never */
    uint64_t given_taken;          /* the storm's bytes, then */
    uint64_t still_ns;             /* the longest between two looks, until then */
} Seen;

static void look(Seen *s, pid_t imd, uint64_t headroom, uint64_t taken, uint64_t since_ns)
{
    uint64_t left = owner_resident(imd); /* 0: it is gone */
    uint64_t available = owner_meminfo("MemAvailable") + owner_listed();
    if (left > s->most)
        s->most = left;
    if (available < s->lowest)
        s->lowest = available;
    if (!s->given_ns && left + NOTICED_BYTES <= s->most) {
        s->given_ns = since_ns;
        s->given_taken = taken;
    }
    if (!s->touched_ns && available < headroom)
        s->touched_ns = since_ns;
}

static void print(const Seen *s, const Taker *t, uint64_t headroom, uint64_t storm_ns)
{
    (void)printf("{\"ms\": %.3f, \"taken_bytes\": %" PRIu64 ", \"lent_bytes\": %" PRIu64
                 ", \"storm_bytes\": %" PRIu64 ", \"storm_ms\": %.3f, \"headroom_bytes\": %" PRIu64
                 ", \"lowest_bytes\": %" PRIu64 ", \"still_ms\": %.3f, \"touched_ms\": ",
                 (double)s->given_ns / 1e6, s->given_taken, s->most, t->taken,
                 (double)storm_ns / 1e6, headroom, s->lowest, (double)s->still_ns / 1e6);
    if (s->touched_ns)
        (void)printf("%.3f}\n", (double)s->touched_ns / 1e6);
    else
        (void)printf("null}\n");
}

/* The storm, and what becomes of imd and of the headroom meanwhile. */
static int measure(pid_t imd, Taker *rest, uint64_t headroom)
{
    pthread_t thread;
    Seen seen = {.most = owner_resident(imd), .lowest = UINT64_MAX};
    uint64_t start = os_now_ns(), now = start, before, storm_ns = 0;
    if (os_thread_start(&thread, storm, rest) != 0)
        return EXIT_FAILURE;
    do {
        before = now;
        owner_pause_ns(LOOK_NS);
        now = os_now_ns();
        if (!seen.given_ns && now - before > seen.still_ns)
            seen.still_ns = now - before;
        look(&seen, imd, headroom, rest->taken, now - start);
        if (!storm_ns && rest->taken == rest->bytes)
            storm_ns = now - start;
    } while ((!seen.given_ns || !storm_ns) && now - start < PATIENCE_S * NS_PER_S);
    rest->stop = true;
    (void)pthread_join(thread, NULL);
    if (seen.given_ns)
        print(&seen, rest, headroom, storm_ns);
    else
        (void)fprintf(stderr, "owner-storm: imd has given nothing back\n");
    return seen.given_ns ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* rmd takes back what is left, and lends again. */
static void start_over(pid_t imd, const char *console)
{
    static const struct timespec touch[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    uint64_t until_ns = os_now_ns() + PATIENCE_S * NS_PER_S;
    if (utimensat(AT_FDCWD, console, touch, 0) < 0)
        (void)fprintf(stderr, "owner-storm: %s: %s\n", console, strerror(errno));
    while (owner_resident(imd) > 0 && os_now_ns() < until_ns)
        owner_pause_ns(LOOK_NS);
}

static int once(pid_t rmd, uint64_t lend, uint64_t more, uint64_t rate, uint64_t headroom)
{
    Taker rest;
    pid_t imd = owner_wait_imd(rmd, lend / 2);
    if (!imd || !wait_settled(imd, lend / 2) || !reserve(&rest, more)) {
        (void)fprintf(stderr, "owner-storm: imd does not lend that\n");
        return EXIT_FAILURE;
    }
    rest.rate = rate;
    int status = measure(imd, &rest, headroom);
    (void)fflush(stdout);
    (void)munmap(rest.at, rest.bytes);
    return status;
}

/* Takes, or gives back, until @keep bytes are left beside what imd has. */
static void fit(Taker *ballast, uint64_t keep, pid_t imd)
{
    uint64_t available = owner_meminfo("MemAvailable") + owner_resident(imd);
    uint64_t all = ballast->taken + available, want = all > keep ? (all - keep) / PAGE * PAGE : 0;
    if (want < ballast->taken)
        (void)madvise(ballast->at + want, ballast->taken - want, MADV_DONTNEED);
    if (want < ballast->taken)
        ballast->taken = want;
    ballast->bytes = want;
    take(ballast);
}

static int run(pid_t rmd, const char *console, uint64_t lend, uint64_t more, int count,
               uint64_t rate)
{
    Taker ballast;
    uint64_t total = owner_meminfo("MemTotal"), headroom = total / 100 * HEADROOM_PERCENT;
    uint64_t keep = headroom + total / 100 + lend; /* the slack is not lent, either */
    int status = EXIT_SUCCESS;
    if (owner_meminfo("MemAvailable") + owner_listed() < keep || !reserve(&ballast, total)) {
        (void)fprintf(stderr, "owner-storm: too little memory is available for that\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < count && status == EXIT_SUCCESS; i++) {
        pid_t imd = owner_wait_imd(rmd, 0);
        if (!imd)
            return EXIT_FAILURE;
        fit(&ballast, keep, imd); /* while other programs come and go */
        start_over(imd, console); /* a new imd begins with all that is left, at once */
        status = once(rmd, lend, more, rate, headroom);
    }
    return status;
}

int main(int argc, char **argv)
{
    uint64_t lend, more, rate = 0;
    (void)prctl(PR_SET_PDEATHSIG, 9); /* it holds most of the memory */
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(EXIT_SUCCESS);
    if (argc < 6 || argc > 7 || parse_size(argv[3], &lend) < 0 || parse_size(argv[4], &more) < 0 ||
        (argc == 7 && parse_size(argv[6], &rate) < 0))
        return usage(2);
    return run((pid_t)atoi(argv[1]), argv[2], lend, more, atoi(argv[5]), rate);
}
