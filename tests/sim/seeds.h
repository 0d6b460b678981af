/* SPDX-License-Identifier: MIT */
/* The command line of a simulation that breaks guards: many seeds, one again with its story, each
 * guard broken in turn.
 *
 *   PROGRAM --seeds 1..1000          each must be clean
 *   PROGRAM --seed 4711 --trace      one again, with its story
 *   PROGRAM --seed 3 --break GUARD   with a guard broken
 *   PROGRAM --scenario NAME          all seeds in this scenario
 *   PROGRAM --each-guard             breaks each guard in turn; each must be noticed
 *   PROGRAM --seeds 1..50 --twice    each must go the same way again */
#ifndef DODO_TESTS_SIM_SEEDS_H
#define DODO_TESTS_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct SeedResult {
    char violation[512];     /* "": none */
    uint64_t digest, events; /* the same when it is run again */
} SeedResult;

typedef struct SeedsGuard {
    const char *name, *text;
} SeedsGuard;

/* In any other than 0 a guard is noticed by one of the first so many seeds. */
enum { SEEDS_OF_SCENARIO = 30 };

/* Where a guard was noticed last: tried first, because it takes long to come there. That such a
 * seed notices it no more is no fault. */
typedef struct SeedsNoticed {
    const char *name;
    uint64_t seed;
} SeedsNoticed;

typedef struct Seeds {
    const char *program;
    const SeedsGuard *guards; /* up to a NULL name; 64 at most */
    const SeedsNoticed *noticed_before;
    uint64_t guard_seeds; /* in which a guard must be noticed */
    /* Names of scenarios up to a NULL; in the first a seed decides all for itself. NULL: none. */
    const char *const *scenarios;
    const uint8_t *guard_scenarios; /* where a guard is to be noticed, by its number */
    /* @broken: bit per guard. @counts: what it exercises is to be reported. */
    void (*run)(uint64_t seed, unsigned scenario, uint64_t broken, FILE *trace, bool counts,
                SeedResult *ret);
    /* Prints what was exercised. False: something never happened, and @all of it was to. */
    bool (*report)(bool all);
    uint64_t report_seeds; /* that must exercise all */
} Seeds;

/* The program's exit status. */
int seeds_main(const Seeds *s, int argc, char **argv);

#endif
