/* SPDX-License-Identifier: MIT */
/* days: a host and its monitor; its command line is as seeds.h says. */
#include "tests/sim/days.h"
#include "tests/sim/seeds.h"

#include <inttypes.h>

static DaysResult all;
static uint64_t runs;

static uint64_t digest_of(const DaysResult *r)
{
    uint64_t h = 14695981039346656037ull;
    for (const uint64_t *n = &r->awake_ns; n <= &r->limits; n++)
        h = (h ^ *n) * 1099511628211ull;
    return h;
}

static void sum(const DaysResult *r)
{
    uint64_t *to = &all.awake_ns;
    const uint64_t *from = &r->awake_ns;
    for (; to <= &all.limits; to++, from++)
        *to += *from;
    runs++;
}

static void run(uint64_t seed, unsigned scenario, uint64_t broken, FILE *trace, bool counts,
                SeedResult *ret)
{
    DaysResult r;
    (void)scenario; /* there is one */
    days_run(&(DaysOptions){.seed = seed, .trace = trace, .broken_guards = broken}, &r);
    if (counts)
        sum(&r);
    *ret = (SeedResult){.digest = digest_of(&r), .events = r.looks + r.readings};
    (void)snprintf(ret->violation, sizeof ret->violation, "%s", r.violation);
}

static bool report(bool whole)
{
    printf("%" PRIu64 " runs, %.1f days awake, lent %.1f %% of them\n", runs,
           (double)all.awake_ns / (double)DAY_NS,
           100.0 * (double)all.lent_ns / (double)all.awake_ns);
    printf("looks=%" PRIu64 " readings=%" PRIu64 " starts=%" PRIu64 " returns=%" PRIu64
           " crashes=%" PRIu64 " kills=%" PRIu64 " pressures=%" PRIu64 " gaps=%" PRIu64
           " sleeps=%" PRIu64 " leaps=%" PRIu64 " silences=%" PRIu64 " saves=%" PRIu64
           " limits=%" PRIu64 "\n",
           all.looks, all.readings, all.starts, all.returns, all.crashes, all.kills, all.pressures,
           all.gaps, all.sleeps, all.leaps, all.silences, all.saves, all.limits);
    bool each = all.starts && all.returns && all.crashes && all.kills && all.pressures &&
                all.gaps && all.sleeps && all.leaps && all.silences && all.saves && all.limits;
    if (whole && !each)
        printf("something never happened\n");
    return each || !whole;
}

int main(int argc, char **argv)
{
    static const SeedsGuard guards[] = {
#define X(name, text) {#name, text},
        RMD_GUARDS(X){0}
#undef X
    };
    static const SeedsNoticed noticed_before[] = {{"TOUCHED_SINCE", 11}, {"FAILED_RULE", 5},
                                                  {"CONSOLE_HELD", 15},  {"CLOCK", 26},
                                                  {"CLOCK_SET", 172},    {"LATE", 152},
                                                  {"GAP", 19},           {"STORM", 3},
                                                  {"UNSAID", 698},       {"SHRINK", 2},
                                                  {"SAVE_LITTLE", 20},   {"SAVE_QUIET", 25},
                                                  {"SAVE_HEARD", 11},    {0}};
    const Seeds seeds = {.program = "days",
                         .guards = guards,
                         .noticed_before = noticed_before,
                         .guard_seeds = 700,
                         .run = run,
                         .report = report,
                         .report_seeds = 31};
    return seeds_main(&seeds, argc, argv);
}
