/* SPDX-License-Identifier: MIT */
/* Days in the life of a host and its monitor: the owner comes and goes, sources vanish, clocks
 * leap, the host sleeps, memory is short, imd crashes and hangs. All from one seed, none of it in
 * real time. The host (days_host.c) knows the truth, the oracle (days_oracle.c) holds what the
 * monitor does against it. */
#ifndef DODO_TESTS_SIM_DAYS_H
#define DODO_TESTS_SIM_DAYS_H

#include "rmd/guards.h"
#include "rmd/node.h"
#include "tests/lib/sim_rng.h"

#define DAY_NS (24 * 3600 * NS_PER_S)
#define MINUTE_NS (60 * NS_PER_S)

enum {
    LOOK_LATENCY_MS_MAX = 20, /* of the sources, when nothing hangs */
    DEATH_MS_MAX = 100,       /* from KILL to the end, when nothing hangs */
    VIOLATION_MAX = 200,
};

typedef struct DaysOptions {
    uint64_t seed, broken_guards;
    bool trace;
} DaysOptions;

typedef struct DaysResult {
    char violation[VIOLATION_MAX]; /* "": none */
    uint64_t awake_ns, lent_ns, looks, readings;
    uint64_t starts, returns, crashes, kills, pressures, gaps, sleeps, leaps, unknowns, silences,
        saves, limits;
} DaysResult;

/* What a look saw, and what was true. */
typedef struct Seen {
    bool pending, any;
    uint64_t taken_ns, deliver_ns, touched_ns;
    Look look;
    enum Verdict recruit, reclaim;
} Seen;

/* A value that changes now and then, for no reason that anybody could foresee. */
typedef struct Mood {
    uint64_t until_ns;
    bool bad;
} Mood;

typedef struct Owner {
    bool present;
    uint64_t switch_ns, next_touch_ns, touched_ns;
    double touched_clock_s; /* what the host's clock said then */
} Owner;

typedef struct Machine {
    double running, average; /* tasks */
    uint64_t averaged_ns, step_ns, tasks_until_ns;
    double keep;           /* of the average, over @step_ns */
    double clock_offset_s; /* the host's clock less the monotonic one */
    struct {
        uint64_t slept_ns, leap_ns, gap_ns, sleep_ns, hang_ns, pressure_ns;
    } times;
    Mood console, load, memory, rules; /* bad: not known, failing */
    Mood battery;                      /* bad: the host runs on it */
    uint64_t verdicts_until_ns;
    enum Verdict recruit, reclaim;
    uint64_t total, reserve, used; /* bytes; used: by the owner */
    bool lists;                    /* what imd gives back stays on the processors' lists */
    uint64_t aside, aside_ns;      /* bytes there; when they were looked through last */
    double growth;                 /* bytes a second */
    struct {
        Mood mood; /* bad: the kernel evicts what the owner's programs use */
        uint64_t bytes, until_ns, last_ns; /* ever */
    } evicts;
    Mood aged; /* bad: the owner's active file cache has become inactive */
    uint64_t used_ns, growth_from_ns, growth_until_ns;
} Machine;

typedef struct Imd {
    bool alive, hangs, stuck;            /* stuck: in the kernel, so that KILL comes late */
    uint64_t ready_ns, crash_ns, end_ns; /* TIME_NEVER: will not */
    bool ready;
    uint64_t limit, held, filled_ns, obey_ns, obey_limit;
    double rate; /* bytes a second that clients fill it with */
    bool deaf;   /* it gives nothing back but by its end, and says nothing when it is to save */
    uint64_t told, told_ns; /* what it has said that it holds, and when */
    bool answers;           /* it is to save, and will say when it holds no more than it may keep */
    bool answered;          /* it has said something since */
    bool asked;             /* to leave */
} Imd;

typedef struct Oracle {
    bool lends;
    struct {
        bool on;
        uint64_t at_ns, excused_ns; /* it began to; 0: it has not */
    } saves;
    uint64_t started_ns, ready_ns, terminated_ns, killed_ns;
    uint64_t calm_from_ns, loaded_ns;
    uint64_t limit, limit_ns;
    struct {
        uint64_t at_ns, pause_ns, next_pause_ns;
    } crash, pressure;
    bool memory_known, must_end, left;
    MemoryState memory;
    uint64_t held, slack;
    uint64_t kept; /* active file cache when the lending began */
    struct {
        uint64_t bytes, at_ns;    /* at the last reading; when it grew last, */
        uint64_t before_ns;       /* ... and when it had before this lending began */
        uint64_t limit, limit_ns; /* what has to come back of the limit, and when */
    } evicted;
    uint64_t read_ns, storm_ns, storm_read_ns; /* since when memory goes as it does; 0: not read */
    uint64_t touch_ns, touch_excused_ns;       /* the first one while imd is there */
    uint64_t beat_ns, beat_excused_ns;         /* imd heard of us last */
    uint64_t over_ns, over_excused_ns, over_bytes; /* it gave back of what is beyond the limit */
} Oracle;

typedef struct Days {
    const DaysOptions *options;
    DaysResult *result;
    SimRng owner_rng, machine_rng, imd_rng, memory_rng, monitor_rng, power_rng, evict_rng, save_rng,
        deaf_rng;
    MonitorConfig config;
    Node node;
    uint64_t now_ns, next_look_ns, excused_ns;
    uint64_t memory_patience_ns; /* memory is read so late, while all is steady */
    uint64_t slept_ns;           /* as of the last look that was delivered */
    uint64_t looked_ns;          /* likewise */
    bool healed, dedicated_crashes;
    bool old_imd; /* which does not know how to save */
    Seen seen;
    Owner owner;
    Machine machine;
    Imd imd;
    Oracle oracle;
} Days;

void days_run(const DaysOptions *options, DaysResult *ret);

/* ---- the host -------------------------------------------------------------------------------- */

void host_begin(Days *d);
/* Everything that happens by itself until then. */
void host_advance(Days *d, uint64_t now_ns);
/* The next instant at which the monitor is concerned. */
uint64_t host_next(const Days *d);
void host_look(Days *d); /* begins one */
void host_memory(Days *d, MemoryState *ret);
/* From now on nothing goes wrong, and nobody comes. */
void host_heal(Days *d);
void imd_start(Days *d, uint64_t limit);
void imd_limit(Days *d, uint64_t limit);
void imd_save(Days *d);
void imd_terminate(Days *d);
void imd_kill(Days *d);

/* ---- the oracle ------------------------------------------------------------------------------ */

void oracle_begin(Days *d);
void oracle_start(Days *d, uint64_t pool, uint64_t limit);
void oracle_limit(Days *d, uint64_t limit);
void oracle_save(Days *d, uint64_t bytes, uint64_t within_ns);
void oracle_terminate(Days *d);
void oracle_kill(Days *d);
void oracle_beat(Days *d);
void oracle_touch(Days *d, uint64_t at_ns);
void oracle_look(Days *d);
void oracle_memory(Days *d, const MemoryState *m, uint64_t held);
void oracle_pressure(Days *d);
void oracle_reset(Days *d); /* a gap, or the host has slept */
void oracle_ended(Days *d, bool by_itself);
void oracle_check(Days *d); /* after everything */
void violation(Days *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void story(const Days *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
