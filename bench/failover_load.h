/* SPDX-License-Identifier: MIT */
/* failover-load: its programs, and what they tell their parent in memory that they share. */
#ifndef DODO_BENCH_FAILOVER_LOAD_H
#define DODO_BENCH_FAILOVER_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum {
    PROCESSES_MAX = 64,
    OPENERS_MAX = 4,
    OPENS_MAX = 1 << 17,
    CALLS_MAX = 1 << 19,
};

#define LOOK_NS (50 * NS_PER_MS)

enum Command { COMMAND_NONE, COMMAND_COUNT, COMMAND_SWEEP, COMMAND_END };

typedef struct Open {
    uint64_t due_ns, begun_ns, ended_ns;
    bool good;
} Open;

typedef struct OpenerLog {
    atomic_uint count;
    atomic_bool still; /* it has seen that it is to pause */
    Open of[OPENS_MAX];
} OpenerLog;

typedef struct CallEntry {
    uint64_t begun_ns;
    uint32_t took_ns;
} CallEntry;

/* What a process tells its parent. */
typedef struct Child {
    atomic_uint held, calls_count, done; /* done: number of the last command */
    atomic_ulong reads, writes, closes, failed, wrong, closes_failed, result;
    CallEntry calls[CALLS_MAX];
    OpenerLog openers[OPENERS_MAX];
} Child;

typedef struct Shared {
    atomic_bool over, still, begun;
    atomic_uint command, number; /* a command is for all processes */
} Shared;

extern Shared *shared;
extern Child *children; /* one for each process */
extern unsigned processes, regions_each, openers;

_Noreturn void die(const char *what);
void sleep_ns(uint64_t ns);
/* Process @number, from making its files to its end: its exit status. */
int program_main(const char *directory, unsigned number);

#endif
