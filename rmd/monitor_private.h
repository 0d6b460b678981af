/* SPDX-License-Identifier: MIT */
/* The monitor's state, for monitor.c and what puts it into words. */
#ifndef DODO_RMD_MONITOR_PRIVATE_H
#define DODO_RMD_MONITOR_PRIVATE_H

#include "rmd/idleness.h"
#include "rmd/lending.h"

enum ImdState {
    IMD_NONE,
    IMD_STARTING,
    IMD_READY,
    IMD_SAVING,  /* leaves when what was used last lives elsewhere */
    IMD_LEAVING, /* asked to leave */
    IMD_KILLED,
};

/* A pause before the next start, longer each time. */
typedef struct Pause {
    uint64_t first_ns, next_ns, until_ns;
} Pause;

/* What imd has to give back. */
typedef struct MonitorOwed {
    uint64_t bytes;     /* in use, when that was last looked at */
    uint64_t since_ns;  /* imd has had more than its limit since then, and has given nothing back;
                           TIME_NEVER: it has not */
    uint64_t within_ns; /* the limit is above what imd has said since then; TIME_NEVER: below */
} MonitorOwed;

struct Monitor {
    MonitorConfig config;
    MonitorSink sink;
    Idleness idleness;
    Lending lending;
    uint64_t ticked_ns; /* we ran */

    enum ImdState imd;
    uint64_t imd_since_ns; /* in this state */
    uint64_t kill_ns;      /* leaving, killed: the next KILL */
    bool failed;           /* leaving: because it was never ready, or did not give back */
    bool can_save;         /* it has said so */
    uint64_t save_bytes;   /* saving: that it keeps */
    uint64_t save_ns;      /* saving: until then */
    bool unheard;          /* saving: it has said nothing since that began */
    uint64_t epoch, pool_bytes, used_bytes;
    MonitorOwed owed;
    char ended[MONITOR_ENDED_MAX]; /* how the last one ended that nobody had asked to leave */

    uint64_t calm_until_ns;
    Pause crash, pressure;
    uint64_t paused_until_ns; /* by a user; 0: not */
    bool pauses_unknown;      /* users may have paused it */
    bool leaving;
    bool sleeps;              /* the host is about to */
    enum Cause cause;         /* why not lent, as decided last */
    enum Cause reclaimed_for; /* why the last one was asked to leave; NONE: it never was */
    uint64_t reclaimed_ns;
    MonitorCounts counts;
};

/* imd runs, and should. */
static inline bool monitor_lends(const Monitor *m)
{
    return m->imd == IMD_STARTING || m->imd == IMD_READY;
}

#endif
