/* SPDX-License-Identifier: MIT */
#include "tests/sim/seeds.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAILURES_SHOWN = 10 };

typedef struct Options {
    uint64_t first, last, broken;
    bool trace, twice, each_guard;
} Options;

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- many seeds ----------------------------------------------------------------------------- */

static bool alike(const Seeds *s, uint64_t seed, uint64_t broken, const SeedResult *r)
{
    SeedResult again;
    s->run(seed, broken, NULL, false, &again);
    return again.digest == r->digest && again.events == r->events;
}

static int run_seeds(const Seeds *s, const Options *o)
{
    uint64_t events = 0, count = o->last - o->first + 1;
    unsigned failed = 0;
    double from = seconds_now();
    for (uint64_t seed = o->first; seed <= o->last; seed++) {
        SeedResult r;
        s->run(seed, o->broken, o->trace ? stdout : NULL, true, &r);
        events += r.events;
        if (!r.violation[0] && o->twice && !alike(s, seed, o->broken, &r))
            (void)snprintf(r.violation, sizeof r.violation, "not the same when it is run again");
        if (r.violation[0] && ++failed <= FAILURES_SHOWN)
            printf("seed %" PRIu64 ": %s\n  again: %s --seed %" PRIu64 " --trace\n", seed,
                   r.violation, s->program, seed);
    }
    /* A plan that nothing carries out proves nothing. */
    failed += !s->report(count >= s->report_seeds && !o->broken);
    printf("%" PRIu64 " seeds, %u failed, %" PRIu64 " events, %.1f s\n", count, failed, events,
           seconds_now() - from);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- each guard ----------------------------------------------------------------------------- */

enum Found { UNKNOWN, CLEAN, FAULTY };

static bool is_clean(const Seeds *s, uint8_t *found, uint64_t seed)
{
    if (found[seed] == UNKNOWN) {
        SeedResult r;
        s->run(seed, 0, NULL, false, &r);
        found[seed] = r.violation[0] ? FAULTY : CLEAN;
    }
    return found[seed] == CLEAN;
}

/* Whether the seed is clean, but not without the guard. */
static bool notices(const Seeds *s, uint8_t *found, unsigned guard, uint64_t seed, SeedResult *ret)
{
    s->run(seed, 1ull << guard, NULL, false, ret);
    return ret->violation[0] && is_clean(s, found, seed);
}

/* A seed that notices the guard; 0: none of them does. */
static uint64_t noticed(const Seeds *s, uint8_t *found, unsigned guard, SeedResult *ret)
{
    for (const SeedsNoticed *n = s->noticed_before; n->name; n++)
        if (strcmp(n->name, s->guards[guard].name) == 0 && n->seed <= s->guard_seeds &&
            notices(s, found, guard, n->seed, ret))
            return n->seed;
    for (uint64_t seed = 1; seed <= s->guard_seeds; seed++)
        if (notices(s, found, guard, seed, ret))
            return seed;
    return 0;
}

static int each_guard(const Seeds *s)
{
    uint8_t *found = calloc(s->guard_seeds + 1, sizeof *found); /* enum Found of each seed */
    unsigned missed = 0;
    if (!found)
        abort();
    for (unsigned g = 0; s->guards[g].name; g++) {
        SeedResult r;
        uint64_t seed = noticed(s, found, g, &r);
        missed += seed == 0;
        if (seed > 0)
            printf("%-16s seed %3" PRIu64 ": %s\n", s->guards[g].name, seed, r.violation);
        else
            printf("%-16s NOT NOTICED: %s\n", s->guards[g].name, s->guards[g].text);
        (void)fflush(stdout);
    }
    free(found);
    return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- command line --------------------------------------------------------------------------- */

/* False: there is no such guard. */
static bool guard_break(const Seeds *s, const char *name, uint64_t *broken)
{
    unsigned g = 0;
    while (s->guards[g].name && strcmp(s->guards[g].name, name) != 0)
        g++;
    if (s->guards[g].name)
        *broken |= 1ull << g;
    return s->guards[g].name;
}

/* "A" or, with @range, "A..B". */
static bool take_seeds(Options *o, const char *text, bool range)
{
    char *end;
    o->first = o->last = strtoull(text, &end, 10);
    if (range && end[0] == '.' && end[1] == '.')
        o->last = strtoull(end + 2, &end, 10);
    return end != text && !*end && o->first <= o->last;
}

static bool take_option(const Seeds *s, Options *o, int c, const char *value)
{
    switch (c) {
    case 's':
    case 'o':
        return take_seeds(o, value, c == 's');
    case 't':
        return o->trace = true;
    case 'w':
        return o->twice = true;
    case 'b':
        return guard_break(s, value, &o->broken);
    case 'g':
        return o->each_guard = true;
    default:
        return false;
    }
}

int seeds_main(const Seeds *s, int argc, char **argv)
{
    static const struct option options[] = {{"seeds", required_argument, NULL, 's'},
                                            {"seed", required_argument, NULL, 'o'},
                                            {"trace", no_argument, NULL, 't'},
                                            {"break", required_argument, NULL, 'b'},
                                            {"each-guard", no_argument, NULL, 'g'},
                                            {"twice", no_argument, NULL, 'w'},
                                            {0}};
    Options o = {.first = 1, .last = 50};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!take_option(s, &o, c, optarg))
            return 2;
    if (optind != argc)
        return 2;
    return o.each_guard ? each_guard(s) : run_seeds(s, &o);
}
