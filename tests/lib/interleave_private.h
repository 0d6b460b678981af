/* SPDX-License-Identifier: MIT */
/* Between the explorer, which decides who goes on, its memory, and the schedules that it runs. */
#ifndef DODO_TESTS_LIB_INTERLEAVE_PRIVATE_H
#define DODO_TESTS_LIB_INTERLEAVE_PRIVATE_H

#include "tests/lib/interleave.h"
#include "tests/lib/sim_rng.h"

enum { NOBODY = -1 };

/* When a thread's stores that are not sequentially consistent are seen. */
enum Lateness {
    STORES_NOW,
    STORES_LATE, /* as late as may be */
    STORES_ANY   /* the schedule says when */
};

/* One of several ways to go on. Ways other than 0 cost a preemption, or nothing. */
typedef struct Decision {
    uint8_t taken, ways, cost;
    uint8_t spent; /* preemptions before it */
} Decision;

/* What survives the process that explores. */
typedef struct Shared {
    InterleaveResult result;
    enum Lateness lateness;
    bool late_ever; /* some thread has stored what may be seen late */
    unsigned decisions_count;
    Decision decisions[INTERLEAVE_DECISIONS];
} Shared;

/* What is run next, and whether it has failed. */
typedef struct ExplorerPlan {
    const InterleaveScenario *scenario;
    unsigned breaks;
    Shared *shared;
    unsigned prefix; /* decisions that are given; the others are random ones, or the first ways */
    bool random, trace, failed;
    SimRng rng;
} ExplorerPlan;
extern ExplorerPlan plan;
void explorer_run(void); /* one schedule */

/* The thread that runs, or NOBODY: the scenario begins or ends. */
int explorer_self(void);
/* The thread is about to do that; another one may go on first. @pc: where in the code. */
void explorer_point(const char *what, const void *at, const void *pc);

/* Nothing is allocated, stored late or being copied. */
void memory_reset(void);
/* [at, at + n) is the thread's to touch, or the schedule fails. */
void memory_check(const void *at, size_t n, const char *what);
bool memory_has_late(int thread);
/* What it stored is seen: all, or the oldest of it. */
void memory_drain(int thread);
void memory_drain_one(int thread);

#endif
