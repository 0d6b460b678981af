/* SPDX-License-Identifier: MIT */
/* The monitor's decisions (the paper's 4.1). In go looks at the host, readings of its memory, what
 * happens to imd, and the time. Out come what to do with imd and what to report to cmd. Pure: the
 * time is CLOCK_MONOTONIC [ns] and is always given.
 *
 * Whatever is not known counts as busy. So does all the time before the monitor began to watch, or
 * began again after a gap in its own ticks or after the host had slept. What was touched while
 * nobody watched may have been touched just now.
 *
 * What keeps a host from flapping: the owner's return ends the lending within one look, but the
 * next begins only after idle_after of quiet, counted again from everything that was not quiet or
 * not known. Whatever the rules say, idle_after also lies between a reclaim and the next start.
 * After memory was short, and after imd ended by itself, a pause is added that doubles each
 * time.
 *
 * When the owner touches the console, imd may save: all but a small part of the memory comes back
 * at once, and what programs used last in that part moves to other hosts before imd leaves, for
 * save_within at most. Whatever else speaks against lending ends that at once. */
#ifndef DODO_RMD_MONITOR_H
#define DODO_RMD_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "rmd/facts.h"
#include "rmd/pool_size.h"

#define MONITOR_MEMORY_POLL_NS (100 * NS_PER_MS)  /* between memory readings while lending */
#define MONITOR_FULL_POLL_NS (40 * NS_PER_MS)     /* likewise, while hardly more could be lent */
#define MONITOR_STORM_POLL_NS (20 * NS_PER_MS)    /* likewise, while the owner takes memory */
#define MONITOR_SILENCE_MIN_NS (1 * NS_PER_S)     /* of the looker; else MONITOR_SILENCE_POLLS */
#define MONITOR_GAP_MIN_NS (2 * NS_PER_S)         /* in our own ticks; else MONITOR_GAP_POLLS */
#define MONITOR_START_DEADLINE_NS (30 * NS_PER_S) /* for imd to be ready */
#define MONITOR_USED_NS NS_PER_S /* so often imd says what is in use, while that changes */
#define MONITOR_EMERGENCY_DEADLINE_NS (100 * NS_PER_MS) /* TERM to KILL, memory short */
#define MONITOR_CRASH_PAUSE_NS (1 * NS_PER_S)           /* the first; doubles */
#define MONITOR_PRESSURE_PAUSE_NS (60 * NS_PER_S)       /* the first; doubles */
#define MONITOR_PAUSE_MAX_NS (960 * NS_PER_S) /* lending for so long makes the next the first */
#define MONITOR_POOL_MIN_BYTES (64ull << 20)  /* less is not worth a start, unless asked for */
#define MONITOR_SAVE_MIN_BYTES (1ull << 20)   /* less is not worth saving */
enum {
    MONITOR_SILENCE_POLLS = 3,
    MONITOR_GAP_POLLS = 5,
    MONITOR_REASON_MAX = 96,
    MONITOR_ENDED_MAX = 32,
};

typedef struct Monitor Monitor;

/* What a rule of the owner's says. */
enum Verdict { VERDICT_UNKNOWN, VERDICT_NO, VERDICT_YES };

/* What was seen at one look. */
typedef struct Look {
    uint64_t taken_ns; /* when it began */
    uint64_t slept_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC: how long the host slept in all */
    uint64_t clock_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME: moves when the clock is set */
    Facts facts; /* console_idle as the sources say; what only the monitor knows is left out */
    const char *console_source; /* which one saw the owner last; static; NULL: none knows */
} Look;

typedef struct MonitorConfig {
    uint64_t idle_after_ns, poll_ns, leave_deadline_ns;
    double load_below;
    bool dedicated;                      /* the load alone decides */
    bool has_recruit_rule;               /* recruit_when replaces our own condition */
    bool has_reclaim_rule;               /* reclaim_when */
    uint64_t pool_max_bytes;             /* the owner's cap; UINT64_MAX: none */
    uint64_t save_bytes, save_within_ns; /* at most; no bytes: nothing is saved */
    bool watch_only;                     /* nothing is ever started */
} MonitorConfig;

/* None of them calls back into the monitor. What fails in start() is reported by
 * monitor_ended(), later. */
typedef struct MonitorSink {
    /* The owner's rules over @facts, which are complete now. Called only where a rule is set. */
    void (*judge)(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim);
    /* Start imd with a pool that can hold @pool_bytes, of which @limit_bytes may be used now. */
    void (*start)(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes);
    void (*limit)(void *ctx, uint64_t limit_bytes);
    /* Have imd keep so much, and leave when that is saved. False: it does not listen. */
    bool (*save)(void *ctx, uint64_t bytes, uint64_t within_ns);
    void (*terminate)(void *ctx); /* ask imd to leave; it may be gone already */
    void (*kill)(void *ctx);      /* its deadline is over */
    void (*changed)(void *ctx);   /* monitor_status() has something new to say */
    void *ctx;
} MonitorSink;

/* NULL: no memory. */
Monitor *monitor_new(const MonitorConfig *config, const MonitorSink *sink, uint64_t now_ns);
/* Other values of idle_after, load_below, the cap and what is saved, from now on; all else of
 * @config counts not. */
void monitor_configure(Monitor *m, const MonitorConfig *config, uint64_t now_ns);
Monitor *monitor_free(Monitor *m); /* NULL is fine; returns NULL */

/* A user of the host lets nothing be lent before then; 0: no more so; TIME_NEVER: without an end.
 */
void monitor_pause(Monitor *m, uint64_t until_ns, uint64_t now_ns);
/* Whether users want that is not known any more: nothing is lent while it is so. */
void monitor_pauses_unknown(Monitor *m, bool unknown, uint64_t now_ns);
void monitor_look(Monitor *m, const Look *look, uint64_t now_ns);
/* @held_bytes: what imd has of the host's memory now. @state NULL: it could not be read. Wanted
 * whenever monitor_memory_due_ns() has come. */
void monitor_memory(Monitor *m, const MemoryState *state, uint64_t held_bytes, uint64_t now_ns);
uint64_t monitor_memory_due_ns(const Monitor *m);
/* Tasks had to wait for memory, says the kernel. */
void monitor_pressure(Monitor *m, uint64_t now_ns);

/* The host is about to sleep, or is not any more. */
void monitor_sleep(Monitor *m, bool begins, uint64_t now_ns);
/* Memory is lent that should be back before the host sleeps. */
bool monitor_delays_sleep(const Monitor *m);

/* What imd says, and how it ends. */
void monitor_ready(Monitor *m, uint64_t epoch, uint64_t pool_bytes, uint64_t now_ns);
void monitor_used(Monitor *m, uint64_t used_bytes, uint64_t now_ns);
/* It knows how to save. */
void monitor_saves(Monitor *m);
/* It is gone and waited for, or could not be started. @how: "signal 9"; borrowed. */
void monitor_ended(Monitor *m, const char *how, uint64_t now_ns);

/* rmd itself ends: imd is reclaimed and not started again. Finished: it is gone. */
void monitor_leave(Monitor *m, uint64_t now_ns);
bool monitor_finished(const Monitor *m);

/* Call monitor_expire() at the deadline at the latest. */
uint64_t monitor_deadline(const Monitor *m);
void monitor_expire(Monitor *m, uint64_t now_ns);

/* By the looks alone the host would be lent, now and for the next one. */
bool monitor_idle(const Monitor *m, uint64_t now_ns);

/* ---- status --------------------------------------------------------------------------------- */

/* SAVING: the owner is back, and imd has the rest of its time. */
enum MonitorState { MONITOR_BUSY, MONITOR_STARTING, MONITOR_LENDING, MONITOR_SAVING };
const char *monitor_state_word(enum MonitorState state); /* "lending" */
/* Nothing for so long: then we did not run meanwhile, but slept or stood still. */
uint64_t monitor_gap_ns(const Monitor *m);

/* Whether the host is lent, and why not, roughly: for sums over time. */
enum MonitorWhy {
    MONITOR_WHY_LENT,
    MONITOR_WHY_CONSOLE,
    MONITOR_WHY_LOAD,
    MONITOR_WHY_MEMORY,
    MONITOR_WHY_PAUSED,
    MONITOR_WHY_RULES,
    MONITOR_WHY_OTHER,
    MONITOR_WHY_MAX
};
/* While the host rests after a lending, what ended it. */
enum MonitorWhy monitor_why(const Monitor *m);

/* Since the start. */
typedef struct MonitorCounts {
    uint64_t starts, reclaims, saves, shortages, kills, crashes;
} MonitorCounts;

typedef struct MonitorStatus {
    enum MonitorState state;         /* busy: imd is gone, or has been asked to leave */
    uint64_t epoch;                  /* of the imd that runs or ran last; 0: none */
    uint64_t lendable_bytes;         /* lending, saving: the limit; else what could be lent */
    uint64_t used_bytes;             /* of the pool, as imd said last */
    char reason[MONITOR_REASON_MAX]; /* in plain words, why it is so */
} MonitorStatus;
void monitor_status(const Monitor *m, uint64_t now_ns, MonitorStatus *ret);
/* Likewise, but for others than the owner: times in steps of an hour. */
void monitor_status_coarse(const Monitor *m, uint64_t now_ns, MonitorStatus *ret);
/* Each condition with what it says now, a line each, and which of them decides. @cap bytes at
 * most, terminated; returns @buf. */
char *monitor_explain(const Monitor *m, uint64_t now_ns, char *buf, size_t cap);
char *monitor_explain_coarse(const Monitor *m, uint64_t now_ns, char *buf, size_t cap);
/* For a single look: a monitor that has watched for long enough, on a clock of its own. It has seen
 * the present load all that time, and the last touch of the console at an earlier look. Sets
 * @look->taken_ns. @memory NULL: not known. NULL: no memory. */
Monitor *monitor_once(const MonitorConfig *config, const MonitorSink *sink, Look *look,
                      const MemoryState *memory, uint64_t *ret_now_ns);

#endif
