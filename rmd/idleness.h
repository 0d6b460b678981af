/* SPDX-License-Identifier: MIT */
/* Is the host idle? Console and load held against the time asked for, or the owner's rules. Pure.
 */
#ifndef DODO_RMD_IDLENESS_H
#define DODO_RMD_IDLENESS_H

#include "rmd/monitor.h"

/* Why a host is not lent; CAUSE_NONE: nothing speaks against it. */
enum Cause {
    CAUSE_NONE,
    /* of the look */
    CAUSE_UNSEEN, /* not looked at since the beginning, or since it began again */
    CAUSE_SILENT, /* the looker says nothing */
    CAUSE_CONSOLE_UNKNOWN,
    CAUSE_CONSOLE, /* touched less than idle_after ago, or since the look before */
    CAUSE_LOAD_UNKNOWN,
    CAUSE_LOAD,      /* load_below or more */
    CAUSE_LOAD_HELD, /* less, but not for idle_after yet */
    CAUSE_BATTERY,   /* the host runs on its battery */
    CAUSE_RECLAIM_FAILED,
    CAUSE_RECLAIM, /* the rule reclaim_when is true */
    CAUSE_RECRUIT_FAILED,
    CAUSE_RECRUIT, /* the rule recruit_when is false */
    /* of the memory */
    CAUSE_MEMORY_UNKNOWN,
    CAUSE_MEMORY_SHORT,  /* far below what stays with the owner */
    CAUSE_MEMORY_LITTLE, /* not worth a start */
    CAUSE_PRESSURE,      /* the kernel says that tasks wait for memory */
    /* of the monitor itself */
    CAUSE_GAP,   /* it did not run */
    CAUSE_SLEPT, /* the host slept */
    CAUSE_SLEEP, /* the host is about to sleep */
    CAUSE_CALM,  /* reclaimed, or begun, less than idle_after ago */
    CAUSE_PRESSURE_PAUSE,
    CAUSE_CRASH_PAUSE,
    CAUSE_NOT_READY,      /* imd was not ready by its deadline */
    CAUSE_NOT_GIVEN,      /* it has not given back what it had to */
    CAUSE_ENDING,         /* the last imd is not gone yet */
    CAUSE_LEAVING,        /* rmd ends */
    CAUSE_WATCH_ONLY,     /* rmd lends nothing */
    CAUSE_PAUSED,         /* a user of the host wants it so */
    CAUSE_PAUSES_UNKNOWN, /* or may have wanted it so */
};

typedef struct Idleness {
    const MonitorConfig *config; /* borrowed */
    bool seen;                   /* since it began again */
    uint64_t looked_ns;          /* the last look; or when it began again */
    uint64_t touched_ns;         /* the console: last touched, unknown or unwatched */
    bool touched_since;          /* since the look before, be it longer ago than idle_after */
    uint64_t loaded_ns;          /* the load: last high, unknown or unwatched */
    bool clocks_known;
    uint64_t slept_ns, clock_ns; /* as of Look */
    double console_idle_s;       /* as reported; NAN: unknown */
    double load;                 /* likewise */
    double on_battery;           /* likewise; 0 or 1 */
    const char *console_source;
    enum Verdict recruit, reclaim;
} Idleness;

void idleness_init(Idleness *i, const MonitorConfig *config, uint64_t now_ns);
/* Nothing that was before is known. */
void idleness_reset(Idleness *i, uint64_t now_ns);
/* Takes in what was seen, and puts console_idle and load_idle into @facts as they may be believed.
 * False: it is older than what is known. */
bool idleness_look(Idleness *i, const Look *look, uint64_t now_ns, Facts *facts);
/* The host has slept since the last look. Asked before idleness_look(). */
bool idleness_slept(const Idleness *i, const Look *look);
/* The first cause that ends a lending. */
enum Cause idleness_reclaims(const Idleness *i, uint64_t now_ns);
/* The first cause not to begin one; reclaims first. */
enum Cause idleness_forbids(const Idleness *i, uint64_t now_ns);
/* Beside the console something else speaks against lending, or may: the load, the battery. */
bool idleness_strained(const Idleness *i);
/* When silence will be a cause, should nothing come. */
uint64_t idleness_deadline(const Idleness *i);

#endif
