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
    unsigned scenario;
    bool trace, twice, each_guard;
} Options;

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- many seeds ----------------------------------------------------------------------------- */

static bool alike(const Seeds *s, const Options *o, uint64_t seed, const SeedResult *r)
{
    SeedResult again;
    s->run(seed, o->scenario, o->broken, NULL, false, &again);
    return again.digest == r->digest && again.events == r->events;
}

static int run_seeds(const Seeds *s, const Options *o)
{
    uint64_t events = 0, count = o->last - o->first + 1;
    unsigned failed = 0;
    double from = seconds_now();
    for (uint64_t seed = o->first; seed <= o->last; seed++) {
        SeedResult r;
        s->run(seed, o->scenario, o->broken, o->trace ? stdout : NULL, true, &r);
        events += r.events;
        if (!r.violation[0] && o->twice && !alike(s, o, seed, &r))
            (void)snprintf(r.violation, sizeof r.violation, "not the same when it is run again");
        if (r.violation[0] && ++failed <= FAILURES_SHOWN)
            printf("seed %" PRIu64 ": %s\n  again: %s --seed %" PRIu64 " --trace%s%s\n", seed,
                   r.violation, s->program, seed, o->scenario ? " --scenario " : "",
                   o->scenario ? s->scenarios[o->scenario] : "");
    }
    /* A plan that nothing carries out proves nothing. */
    failed += !s->report(count >= s->report_seeds && !o->broken && !o->scenario);
    printf("%" PRIu64 " seeds, %u failed, %" PRIu64 " events, %.1f s\n", count, failed, events,
           seconds_now() - from);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- each guard ----------------------------------------------------------------------------- */

enum Found { UNKNOWN, CLEAN, FAULTY };

static bool run_clean(const Seeds *s, unsigned scenario, uint64_t seed)
{
    SeedResult r;
    s->run(seed, scenario, 0, NULL, false, &r);
    return !r.violation[0];
}

/* @found: of seeds that decide all for themselves. */
static bool is_clean(const Seeds *s, uint8_t *found, unsigned scenario, uint64_t seed)
{
    if (scenario)
        return run_clean(s, scenario, seed);
    if (found[seed] == UNKNOWN)
        found[seed] = run_clean(s, 0, seed) ? CLEAN : FAULTY;
    return found[seed] == CLEAN;
}

/* Whether the seed is clean, but not without the guard. */
static bool notices(const Seeds *s, uint8_t *found, unsigned guard, uint64_t seed, SeedResult *ret)
{
    unsigned scenario = s->guard_scenarios ? s->guard_scenarios[guard] : 0;
    s->run(seed, scenario, 1ull << guard, NULL, false, ret);
    return ret->violation[0] && is_clean(s, found, scenario, seed);
}

/* A seed that notices the guard; 0: none of them does. */
static uint64_t noticed(const Seeds *s, uint8_t *found, unsigned guard, SeedResult *ret)
{
    bool general = !s->guard_scenarios || !s->guard_scenarios[guard];
    for (const SeedsNoticed *n = s->noticed_before; n->name; n++)
        if (strcmp(n->name, s->guards[guard].name) == 0 && n->seed <= s->guard_seeds &&
            notices(s, found, guard, n->seed, ret))
            return n->seed;
    for (uint64_t seed = 1; seed <= (general ? s->guard_seeds : SEEDS_OF_SCENARIO); seed++)
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
        unsigned scenario = s->guard_scenarios ? s->guard_scenarios[g] : 0;
        missed += seed == 0;
        if (seed > 0)
            printf("%-16s seed %3" PRIu64 ": %s%s%s\n", s->guards[g].name, seed,
                   scenario ? s->scenarios[scenario] : "", scenario ? ": " : "", r.violation);
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

static bool take_scenario(const Seeds *s, Options *o, const char *name)
{
    unsigned n = 0;
    while (s->scenarios && s->scenarios[n] && strcmp(s->scenarios[n], name) != 0)
        n++;
    o->scenario = n;
    return s->scenarios && s->scenarios[n];
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
    case 'c':
        return take_scenario(s, o, value);
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
    static const struct option options[] = {
        {"seeds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'o'},
        {"trace", no_argument, NULL, 't'},       {"scenario", required_argument, NULL, 'c'},
        {"break", required_argument, NULL, 'b'}, {"each-guard", no_argument, NULL, 'g'},
        {"twice", no_argument, NULL, 'w'},       {0}};
    Options o = {.first = 1, .last = 50};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!take_option(s, &o, c, optarg))
            return 2;
    if (optind != argc)
        return 2;
    return o.each_guard ? each_guard(s) : run_seeds(s, &o);
}
