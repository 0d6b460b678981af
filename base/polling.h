/* SPDX-License-Identifier: MIT */
/* Polling: a thread that waits for datagrams looks for them again and again for a while before it
 * falls asleep. That saves the wake-up, a good part of a short read, and costs processor time.
 *
 * A thread polls until a fixed time after the last traffic, however long single waits were. Four
 * limits bound what that costs. All threads of a process together may poll for a share of one
 * processor (PollingBudget). None polls while more threads of the process wait than there are
 * processors: an answer to one that sleeps would find no processor free. With one processor none
 * does: who is to answer may need it. And where other programs want the processor, polling
 * takes a twentieth of what they take: a thread that has lost the processor to another for a while
 * makes a pause twenty times as long. It sees that by a look that takes long, and by the kernel's
 * count of its preemptions; a look may also take long by an interrupt.
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

/* Sets the budget of this process, and counts the processors that it may run on. Before a sandbox
 * closes, which may hide them. No thread polls before. */
void polling_setup(unsigned percent);

/* Around a thread's wait for something that should come soon, polling and asleep. */
void polling_wait_begin(void);
void polling_wait_end(void);

/* All of the above, by this clock and for this thread, within a wait. Calls @look until it finds
 * something (true), the deadline comes, or a limit is reached. After false: fall asleep. */
bool polling_for(Polling *p, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx);

#endif
