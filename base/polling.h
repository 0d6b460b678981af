/* SPDX-License-Identifier: MIT */
/* Polling: a thread that waits for datagrams looks for them again and again for a while before it
 * falls asleep. That saves the wake-up, a good part of a short read, and costs processor time.
 *
 * A thread polls until a fixed time after the last traffic, however long single waits were. Four
 * limits bound what that costs:
 * - All threads of a process together poll for a share of one processor (PollingBudget).
 * - No thread polls while more threads of the process wait than there are processors. An answer to
 *   one that sleeps would find no free processor.
 * - No thread polls on a host with one processor. The program that answers may run there.
 * - A thread that loses the processor to another program makes a pause twenty times as long. It
 *   notices that by a look that takes long, if the kernel has counted a preemption; without one, it
 *   was an interrupt.
 *
 * A thread that waits for an answer also measures whether polling makes its waits shorter
 * (PollingTrial). It may make them longer: a thread that polls keeps the processor from the program
 * that answers, where both share one. One wait in 32 is taken the other way, and all others the way
 * with the shorter mean.
 *
 * The decisions are pure: times go in. Shells call polling_for() and polling_traffic(). */
#ifndef DODO_BASE_POLLING_H
#define DODO_BASE_POLLING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    POLLING_LOOK_NS = 20000, /* after a look that took longer the preemptions are counted */
    POLLING_PAUSE_FACTOR = 20,
    POLLING_PAUSE_MAX_NS = 500000000,
    POLLING_BURST_NS = 100000000, /* the share is kept over about so long */
    POLLING_TRY = 32,             /* one wait in so many goes the other way */
    POLLING_WEIGHT = 8,           /* of a mean; a new wait has one part of it */
    POLLING_WAIT_MAX_NS =
        2000000, /* a longer wait counts as one of so long: the host may be dead */
};

/* ---- a thread -------------------------------------------------------------------------------- */

typedef struct Polling {
    uint64_t limit_ns;   /* after traffic; 0: never */
    uint64_t traffic_ns; /* when there was some last */
    int64_t preempted;   /* how often the thread was, at the last count; -1: not counted yet */
    uint64_t paused_until_ns;
} Polling;

void polling_init(Polling *p, uint64_t limit_ns);
/* Something was sent or has come. */
void polling_traffic(Polling *p, uint64_t now_ns);
/* Until when to poll; not after @now_ns: not at all. */
uint64_t polling_until(const Polling *p, uint64_t now_ns);
/* A look, which ended now, took so long; the thread was preempted so often in its life. */
void polling_looked(Polling *p, uint64_t took_ns, int64_t preempted, uint64_t now_ns);

/* How long the latest waits for answers took, asleep and polling; 0: there was none yet. */
typedef struct PollingTrial {
    uint64_t mean_ns[2]; /* by whether it polled */
    unsigned waits;
} PollingTrial;

/* Whether to poll in the next wait. */
bool polling_try(PollingTrial *t);
void polling_waited(PollingTrial *t, bool polled, uint64_t ns);

/* ---- all threads of a process ---------------------------------------------------------------- */

/* @percent of one processor. What has been polled counts as time that passes at that share:
 * @owed_until_ns is when all of it will have passed. */
typedef struct PollingBudget {
    unsigned percent;
    _Atomic uint64_t owed_until_ns;
} PollingBudget;

/* So long may all threads together still poll; 0: not now. */
uint64_t polling_budget_left(const PollingBudget *b, uint64_t now_ns);
void polling_budget_spend(PollingBudget *b, uint64_t start_ns, uint64_t spent_ns);

/* Sets the budget of this process, and counts the processors that it may run on. A sandbox may hide
 * them, so call it before. No thread polls before this call. */
void polling_setup(unsigned percent);

/* In the child of a fork(): the threads that waited are the parent's. */
void polling_forget(void);

/* All of the limits, by this clock and for this thread. Calls @look until it finds something, the
 * deadline comes, or a limit is reached. */
enum PollingEnd {
    POLLING_NONE, /* a limit forbids it: fall asleep */
    POLLING_VAIN, /* nothing came: fall asleep */
    POLLING_FOUND,
};
enum PollingEnd polling_for(Polling *p, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx);
/* Around the sleep of a thread for which an answer should come soon. */
void polling_wait_begin(void);
void polling_wait_end(void);

#endif
