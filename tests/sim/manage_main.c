/* SPDX-License-Identifier: MIT */
/* manage: programs that use libmanage; its command line is as seeds.h says. */
#include <inttypes.h>

#include "tests/sim/manage.h"

static uint64_t covered[MANAGE_COVER_MAX];

static void run(uint64_t seed, uint64_t broken, FILE *trace, bool counts, SeedResult *ret)
{
    uint64_t other[MANAGE_COVER_MAX] = {0};
    manage_broken_guards = broken;
    manage_run(seed, trace, counts ? covered : other, ret);
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
    static const SeedsNoticed noticed_before[] = {{"RACED", 461},
                                                  {"FILL_BESIDE", 375},
                                                  {"DIRECT_ALONE", 1139},
                                                  {"SYNC_BESIDE", 239},
                                                  {"DOUBT", 202},
                                                  {"CLONE_BESIDE", 228},
                                                  {0}};
    const Seeds seeds = {.program = "manage",
                         .guards = guards,
                         .noticed_before = noticed_before,
                         .guard_seeds = 2000,
                         .run = run,
                         .report = report,
                         .report_seeds = 300};
    return seeds_main(&seeds, argc, argv);
}
