/* SPDX-License-Identifier: MIT */
/* What the monitor promises its owner, by name, at the places that keep it. In the product GUARD()
 * is the constant 1; in the simulation of days a test breaks one on purpose and must be caught. */
#ifndef DODO_RMD_GUARDS_H
#define DODO_RMD_GUARDS_H

#define RMD_GUARDS(X)                                                                \
    X(CONSOLE, "a touch of the console ends the lending at the next look")           \
    X(TOUCHED_SINCE, "a touch since the last look counts, however long ago")         \
    X(BATTERY, "running on the battery counts as busy")                              \
    X(LOAD, "load ends the lending at the next look")                                \
    X(UNKNOWN, "what is not known counts as busy")                                   \
    X(FAILED_RULE, "a rule that fails counts as busy")                               \
    X(CONSOLE_HELD, "the console was quiet for idle_after before a start")           \
    X(LOAD_HELD, "the load was low for idle_after before a start")                   \
    X(CLOCK, "no idle time is longer than what was watched of it")                   \
    X(CLOCK_SET, "a touch hidden by a clock that was set counts")                    \
    X(SILENCE, "a looker that says nothing counts as busy")                          \
    X(LATE, "a look that comes late starts nothing")                                 \
    X(GAP, "after a gap in its own ticks the monitor starts again")                  \
    X(SLEPT, "after the host has slept the monitor starts again")                    \
    X(SLEEP, "nothing is lent when the host falls asleep")                           \
    X(CALM, "idle_after lies between a reclaim and the next start")                  \
    X(CRASH_PAUSE, "an imd that ends by itself is started again later and later")    \
    X(PRESSURE, "memory pressure ends the lending at once")                          \
    X(PRESSURE_PAUSE, "after memory pressure the host rests, longer each time")      \
    X(FAR_BELOW, "memory far below the headroom ends the lending at once")           \
    X(MEMORY_UNKNOWN, "no lending while the memory's state is not known")            \
    X(CAP, "the owner's cap on the pool is kept")                                    \
    X(SHRINK, "the limit follows what may be lent")                                  \
    X(STORM, "who takes memory fast has it back before it is short")                 \
    X(STEADY, "who takes memory steadily has it back before the slack is gone")      \
    X(EVICTED, "what the owner's programs lose to swap or read again is given back") \
    X(ACTIVE_CACHE, "the owner's active file cache is not lent when it has aged")    \
    X(GROW, "the limit grows slowly")                                                \
    X(ONE_IMD, "no imd is started before the last one is gone")                      \
    X(DEADLINE, "an imd that does not leave by its deadline is killed")              \
    X(START_DEADLINE, "an imd that does not become ready is ended")                  \
    X(GIVE_BACK, "an imd that has to give memory back and does not is ended")        \
    X(UNSAID, "a limit that rises forgives nothing that is yet to be said")          \
    X(LEAVE, "a monitor that leaves starts nothing")                                 \
    X(SAVE_LITTLE, "what imd keeps to save it is a small part of the memory")        \
    X(SAVE_SPARE, "imd saves only while the owner has memory to spare")              \
    X(SAVE_QUIET, "imd saves only for a touch of the console, and nothing else")     \
    X(SAVE_HEARD, "an imd that says nothing when it is to save is ended")            \
    X(SAVE_ENDS, "an imd that saves is asked to leave after save_within")

enum RmdGuard {
#define X(name, text) RMD_GUARD_##name,
    RMD_GUARDS(X)
#undef X
        RMD_GUARD_MAX
};

#ifdef RMD_GUARD_SWITCHES
#include <stdint.h>
extern uint64_t rmd_broken_guards; /* bit per enum RmdGuard; only in tests */
#define GUARD(name) (!(rmd_broken_guards >> RMD_GUARD_##name & 1))
#else
#define GUARD(name) 1
#endif

#endif
