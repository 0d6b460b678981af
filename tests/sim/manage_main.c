/* SPDX-License-Identifier: MIT */
/* manage: programs that use libmanage; its command line is as seeds.h says. */
#include <inttypes.h>

#include "tests/sim/manage.h"

static uint64_t covered[MANAGE_COVER_MAX];

static void run(uint64_t seed, unsigned scenario, uint64_t broken, FILE *trace, bool counts,
                SeedResult *ret)
{
    uint64_t other[MANAGE_COVER_MAX] = {0};
    manage_broken_guards = broken;
    manage_run(seed, (enum ManageScenario)scenario, trace, counts ? covered : other, ret);
    manage_broken_guards = 0;
}

static bool report(bool all)
{
    static const char *const texts[] = {
#define X(name, text) text,
        MANAGE_COVERS(X)
#undef X
    };
    bool good = true;
    for (unsigned i = 0; i < MANAGE_COVER_MAX; i++) {
        printf("%10" PRIu64 "  %s\n", covered[i], texts[i]);
        if (covered[i] || !all)
            continue;
        printf("            ^ never happened\n");
        good = false;
    }
    return good;
}

int main(int argc, char **argv)
{
    static const SeedsGuard guards[] = {
#define X(name, text) {#name, text},
        MANAGE_GUARDS(X){0}
#undef X
    };
    static const SeedsNoticed noticed_before[] = {{"HIT_ALONE", 144},
                                                  {"HIT_DIRECT", 145},
                                                  {"FILE_EDGES", 96},
                                                  {"FILE_BETWEEN", 97},
                                                  {"WRITTEN_BESIDE", 53},
                                                  {"PAST", 32},
                                                  {0}};
    static const char *const scenarios[] = {
#define X(name) #name,
        MANAGE_SCENARIOS(X) NULL
#undef X
    };
    static const uint8_t guard_scenarios[MANAGE_GUARD_MAX] = {
        [MANAGE_GUARD_RACED] = SCENARIO_held,         [MANAGE_GUARD_FILL_BESIDE] = SCENARIO_fill,
        [MANAGE_GUARD_CLONE_BESIDE] = SCENARIO_clone, [MANAGE_GUARD_DIRECT_ALONE] = SCENARIO_clone,
        [MANAGE_GUARD_SYNC_BESIDE] = SCENARIO_sync,   [MANAGE_GUARD_DOUBT] = SCENARIO_sync,
        [MANAGE_GUARD_SYNC_JOINED] = SCENARIO_sync,   [MANAGE_GUARD_CLOSING] = SCENARIO_brief,
        [MANAGE_GUARD_GROWS] = SCENARIO_grows,        [MANAGE_GUARD_GROWS_DIRTY] = SCENARIO_grows,
        [MANAGE_GUARD_GROWS_ALONE] = SCENARIO_grows,  [MANAGE_GUARD_CUT] = SCENARIO_grows,
    };
    const Seeds seeds = {.program = "manage",
                         .guards = guards,
                         .noticed_before = noticed_before,
                         .guard_seeds = 2000,
                         .scenarios = scenarios,
                         .guard_scenarios = guard_scenarios,
                         .run = run,
                         .report = report,
                         .report_seeds = 300};
    return seeds_main(&seeds, argc, argv);
}
