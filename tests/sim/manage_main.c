/* SPDX-License-Identifier: MIT */
/* manage: many seeds of programs that use libmanage, one again, or each guard broken in turn.
 *
 *   manage --seeds 1..1000          each must be clean
 *   manage --seed 4711 --trace      one again, with its story
 *   manage --seed 3 --break BOTH    with a guard (libmanage/guards.h) broken
 *   manage --each-guard             breaks each guard in turn; each must be noticed
 *   manage --seeds 1..50 --twice    each must go the same way again */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/sim/manage.h"

enum { GUARD_SEEDS = 2000, FAILURES_SHOWN = 10, SEEDS_THAT_PROVE = 300 };

static const struct {
    const char *name, *text;
} guards[] = {
#define X(name, text) {#name, text},
    MANAGE_GUARDS(X)
#undef X
};

static const char *const covers[] = {
#define X(name, text) text,
    MANAGE_COVERS(X)
#undef X
};

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool alike(uint64_t seed, const ManageResult *r)
{
    uint64_t cover[MANAGE_COVER_MAX] = {0};
    ManageResult again;
    manage_run(seed, NULL, cover, &again);
    return again.digest == r->digest && again.events == r->events;
}

static int run_seeds(uint64_t first, uint64_t last, bool trace, bool twice)
{
    uint64_t cover[MANAGE_COVER_MAX] = {0}, events = 0;
    unsigned failed = 0;
    double from = seconds_now();
    ManageResult r;
    for (uint64_t seed = first; seed <= last; seed++) {
        manage_run(seed, trace ? stdout : NULL, cover, &r);
        events += r.events;
        if (!r.violation[0] && twice && !alike(seed, &r))
            (void)snprintf(r.violation, sizeof r.violation, "not the same when it is run again");
        if (r.violation[0] && ++failed <= FAILURES_SHOWN)
            printf("seed %" PRIu64 ": %s\n  again: manage --seed %" PRIu64 " --trace\n", seed,
                   r.violation, seed);
    }
    for (unsigned i = 0; i < MANAGE_COVER_MAX; i++) {
        printf("%10" PRIu64 "  %s\n", cover[i], covers[i]);
        /* A plan that nothing carries out proves nothing. */
        if (!cover[i] && last - first >= SEEDS_THAT_PROVE && !manage_broken_guards) {
            printf("            ^ never happened\n");
            failed++;
        }
    }
    printf("%" PRIu64 " seeds, %u failed, %" PRIu64 " events, %.1f s\n", last - first + 1, failed,
           events, seconds_now() - from);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Where the rarer guards were noticed last: tried first, because it takes a minute to come there.
 * That such a seed notices it no more is no fault. */
static const struct {
    const char *name;
    uint64_t seed;
} noticed_before[] = {{"RACED", 109}, {"DIRECT_ALONE", 873}};

/* Whether the seed is clean, but not without the guard. */
static bool notices(unsigned guard, uint64_t seed, ManageResult *ret)
{
    uint64_t cover[MANAGE_COVER_MAX] = {0};
    ManageResult clean;
    manage_broken_guards = 1ull << guard;
    manage_run(seed, NULL, cover, ret);
    manage_broken_guards = 0;
    if (!ret->violation[0])
        return false;
    manage_run(seed, NULL, cover, &clean);
    return !clean.violation[0];
}

/* A seed that notices the guard; 0: none of them does. */
static uint64_t noticed(unsigned guard, ManageResult *ret)
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
    for (unsigned g = 0; g < MANAGE_GUARD_MAX; g++) {
        ManageResult r;
        uint64_t seed = noticed(g, &r);
        missed += seed == 0;
        if (seed)
            printf("%-16s seed %3" PRIu64 ": %s\n", guards[g].name, seed, r.violation);
        else
            printf("%-16s NOT NOTICED: %s\n", guards[g].name, guards[g].text);
        (void)fflush(stdout);
    }
    return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static uint64_t guard_bit(const char *name)
{
    for (unsigned g = 0; g < MANAGE_GUARD_MAX; g++)
        if (strcmp(guards[g].name, name) == 0)
            return 1ull << g;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seeds", required_argument, NULL, 's'},
                                            {"seed", required_argument, NULL, 'o'},
                                            {"trace", no_argument, NULL, 't'},
                                            {"break", required_argument, NULL, 'b'},
                                            {"each-guard", no_argument, NULL, 'g'},
                                            {"twice", no_argument, NULL, 'w'},
                                            {0}};
    uint64_t first = 1, last = 50;
    bool trace = false, guards_wanted = false, twice = false;
    char *end;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 's' || c == 'o') {
            first = last = strtoull(optarg, &end, 10);
            if (c == 's' && end[0] == '.' && end[1] == '.')
                last = strtoull(end + 2, &end, 10);
        } else if (c == 't') {
            trace = true;
        } else if (c == 'w') {
            twice = true;
        } else if (c == 'b') {
            manage_broken_guards |= guard_bit(optarg);
        } else if (c == 'g') {
            guards_wanted = true;
        } else {
            return 2;
        }
    }
    return guards_wanted ? each_guard() : run_seeds(first, last, trace, twice);
}
