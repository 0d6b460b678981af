/* SPDX-License-Identifier: MIT */
/* What rmd knows about its host, by the names that the owner's rules use. Pure. */
#ifndef DODO_RMD_FACTS_H
#define DODO_RMD_FACTS_H

#include <math.h>
#include <stdbool.h>

/* X(name, unit, text): units s, bytes, "%", bool or "" (a plain number). The manual lists them. */
#define RMD_FACTS(X)                                                                          \
    X(console_idle, "s", "since anybody touched the console, by the source that saw it last") \
    X(load, "", "load average of one minute, less the shares of imd and the screen saver")    \
    X(load_idle, "s", "since the load was last at or above load_below")                       \
    X(cpus, "", "processors that are online")                                                 \
    X(mem_total, "bytes", "memory of the host")                                               \
    X(mem_available, "bytes", "memory that programs could have without swapping")             \
    X(mem_lent, "bytes", "memory that imd holds now")                                         \
    X(mem_pressure, "%", "of the last 10 s in which some task waited for memory")             \
    X(hour, "", "of the day, 0 to 23, local time")                                            \
    X(weekday, "", "1 Monday to 7 Sunday, local time")                                        \
    X(on_battery, "bool", "the host runs on its battery")                                     \
    X(user_sessions, "", "people logged in")                                                  \
    X(idle_after, "s", "the setting of that name")                                            \
    X(load_below, "", "the setting of that name")                                             \
    X(lending, "bool", "imd is running")

enum Fact {
#define X(name, unit, text) FACT_##name,
    RMD_FACTS(X)
#undef X
        FACT_COUNT
};

/* NAN: unknown. A bool is 0 or 1. */
typedef struct Facts {
    double value[FACT_COUNT];
} Facts;

static inline void facts_init(Facts *f)
{
    for (int i = 0; i < FACT_COUNT; i++)
        f->value[i] = NAN;
}
static inline bool facts_known(const Facts *f, enum Fact i)
{
    return !isnan(f->value[i]);
}

#endif
