/* SPDX-License-Identifier: MIT */
/* days: many runs of a host and its monitor, or one again, or each guard broken in turn.
 *
 *   days --seeds 1..100         each must be clean
 *   days --seed 4711 --trace    one again, with its story
 *   days --seed 3 --break CLOCK with a guard broken
 *   days --each-guard           breaks each guard in turn; each must be noticed */
#include "base/cleanup.h"
#include "tests/sim/days.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD_SEEDS = 400, FAILURES_SHOWN = 10 };

static const struct {
    const char *name, *text;
} guards[] = {
#define X(name, text) {#name, text},
    RMD_GUARDS(X)
#undef X
};

/* Where a guard was noticed last, if not by seed 1: tried first, because it takes a minute to come
 * there. That such a seed notices it no more is no fault. */
static const struct {
    const char *name;
    uint64_t seed;
} noticed_before[] = {
    {"FAILED_RULE", 5}, {"CONSOLE_HELD", 15},  {"CLOCK", 3},  {"CLOCK_SET", 24}, {"GAP", 13},
    {"STORM", 3},       {"PRESSURE_PAUSE", 8}, {"SHRINK", 2}, {"ONE_IMD", 10},
};

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sum(DaysResult *all, const DaysResult *r)
{
    uint64_t *to = &all->awake_ns;
    const uint64_t *from = &r->awake_ns;
    for (; to <= &all->limits; to++, from++)
        *to += *from;
}

static int run_seeds(uint64_t first, uint64_t last, bool trace, uint64_t broken)
{
    DaysResult all = {0}, r;
    unsigned failed = 0;
    double from = seconds_now();
    for (uint64_t seed = first; seed <= last; seed++) {
        days_run(&(DaysOptions){.seed = seed, .trace = trace, .broken_guards = broken}, &r);
        sum(&all, &r);
        if (r.violation[0] && ++failed <= FAILURES_SHOWN)
            printf("seed %" PRIu64 ": %s\n  again: days --seed %" PRIu64 " --trace\n", seed,
                   r.violation, seed);
    }
    printf("%" PRIu64 " runs, %.1f days awake, lent %.1f %% of them; %.1f s\n", last - first + 1,
           (double)all.awake_ns / (double)DAY_NS,
           100.0 * (double)all.lent_ns / (double)all.awake_ns, seconds_now() - from);
    printf("looks=%" PRIu64 " readings=%" PRIu64 " starts=%" PRIu64 " returns=%" PRIu64
           " crashes=%" PRIu64 " kills=%" PRIu64 " pressures=%" PRIu64 " gaps=%" PRIu64
           " sleeps=%" PRIu64 " leaps=%" PRIu64 " silences=%" PRIu64 " limits=%" PRIu64 "\n",
           all.looks, all.readings, all.starts, all.returns, all.crashes, all.kills, all.pressures,
           all.gaps, all.sleeps, all.leaps, all.silences, all.limits);
    /* A run in which nothing happened proves nothing. */
    if (last - first >= 30 &&
        (!all.starts || !all.returns || !all.crashes || !all.kills || !all.pressures || !all.gaps ||
         !all.sleeps || !all.leaps || !all.silences || !all.limits)) {
        printf("something never happened\n");
        failed++;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool is_clean(uint64_t seed)
{
    static enum { UNKNOWN, CLEAN, FAULTY } found[GUARD_SEEDS + 1];
    if (found[seed] == UNKNOWN) {
        DaysResult r;
        days_run(&(DaysOptions){.seed = seed}, &r);
        found[seed] = r.violation[0] ? FAULTY : CLEAN;
    }
    return found[seed] == CLEAN;
}

/* Whether the seed is clean, but not without the guard. */
static bool notices(unsigned guard, uint64_t seed, DaysResult *ret)
{
    days_run(&(DaysOptions){.seed = seed, .broken_guards = 1ull << guard}, ret);
    return ret->violation[0] && is_clean(seed);
}

/* A seed that notices the guard; 0: none of them does. */
static uint64_t noticed(unsigned guard, DaysResult *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(noticed_before); i++)
        if (strcmp(noticed_before[i].name, guards[guard].name) == 0 &&
            notices(guard, noticed_before[i].seed, ret))
            return noticed_before[i].seed;
    for (uint64_t seed = 1; seed <= GUARD_SEEDS; seed++)
        if (notices(guard, seed, ret))
            return seed;
    return 0;
}

static int each_guard(void)
{
    unsigned missed = 0;
    for (unsigned g = 0; g < RMD_GUARD_MAX; g++) {
        DaysResult r;
        uint64_t seed = noticed(g, &r);
        missed += seed == 0;
        if (seed > 0)
            printf("%-16s seed %3" PRIu64 ": %s\n", guards[g].name, seed, r.violation);
        else
            printf("%-16s NOT NOTICED: %s\n", guards[g].name, guards[g].text);
        (void)fflush(stdout);
    }
    return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static uint64_t guard_bit(const char *name)
{
    for (unsigned g = 0; g < RMD_GUARD_MAX; g++)
        if (strcmp(guards[g].name, name) == 0)
            return 1ull << g;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'o'},
        {"trace", no_argument, NULL, 't'},       {"break", required_argument, NULL, 'b'},
        {"each-guard", no_argument, NULL, 'g'},  {0}};
    uint64_t first = 1, last = 50, broken = 0;
    bool trace = false, guards_wanted = false;
    char *end;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's' || c == 'o') {
            first = last = strtoull(optarg, &end, 10);
            if (c == 's' && end[0] == '.' && end[1] == '.')
                last = strtoull(end + 2, &end, 10);
        } else if (c == 't') {
            trace = true;
        } else if (c == 'b') {
            broken |= guard_bit(optarg);
        } else if (c == 'g') {
            guards_wanted = true;
        } else {
            return 2;
        }
    }
    if (guards_wanted)
        return each_guard();
    return run_seeds(first, last, trace, broken);
}
