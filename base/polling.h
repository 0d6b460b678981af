/* SPDX-License-Identifier: MIT */
/* Polling: a thread that waits for datagrams looks for them again and again for a while before it
 * falls asleep. That saves the wake-up, a good part of a short read, and costs processor time.
 *
 * A thread polls until a fixed time after the last traffic, however long single waits were. Four
 * limits bound what that costs. All threads of a process together may poll for a share of one
 * processor (PollingBudget). No more threads poll than there are processors. With one processor
 * none does: who is to answer may need it. A thread that has lost its processor to another makes a
 * pause, longer each time.
 *
 * The decisions are pure: times and counts go in. Shells call polling_for() and
 * polling_traffic(). */
#ifndef DODO_BASE_POLLING_H
#define DODO_BASE_POLLING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    POLLING_COUNT_NS = 1000000, /* the preemptions are counted each time it has polled so long */
    POLLING_PAUSE_NS = 2000000, /* first pause after a preemption; doubles, up to */
    POLLING_PAUSE_MAX_NS = 512000000,
    POLLING_BURST_NS = 100000000, /* the share is kept over about so long */
};

/* ---- a thread -------------------------------------------------------------------------------- */

typedef struct Polling {
    uint64_t limit_ns;   /* after traffic; 0: never */
    uint64_t traffic_ns; /* when there was some last */
    uint64_t polled_ns;  /* since the preemptions were counted last */
    int64_t preempted;   /* how often the thread was, then; -1: not counted yet */
    uint64_t pause_ns, paused_until_ns;
} Polling;

void polling_init(Polling *p, uint64_t limit_ns);
/* Something was sent or has come. */
void polling_traffic(Polling *p, uint64_t now_ns);
/* Until when to poll; not after @now_ns: not at all. */
uint64_t polling_until(const Polling *p, uint64_t now_ns);
/* It has polled so long. True: time to count the preemptions of the thread. */
bool polling_polled(Polling *p, uint64_t spent_ns);
/* The count. Another program had the processor meanwhile: then it is not ours to waste. */
void polling_counted(Polling *p, int64_t preempted, uint64_t now_ns);

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

/* Of this process; 100 until it is set. */
void polling_share(unsigned percent);

/* False: as many threads poll already as there are processors. */
bool polling_begin(void);
void polling_end(void);

/* All of the above, by this clock and for this thread. Calls @look until it finds something (true),
 * the deadline comes, or a limit is reached. After false: fall asleep. */
bool polling_for(Polling *p, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx);

#endif
