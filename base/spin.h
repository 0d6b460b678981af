/* SPDX-License-Identifier: MIT */
/* Whether a thread that waits for an answer looks for it again and again for a while before it
 * falls asleep. That saves the wake-up, a good part of a short read, and costs processor time. So
 * it is done only as long as answers mostly come that soon, never by more threads than there are
 * processors, and not while others want the processor. The decision is pure: times and counts go
 * in. Shells call spin_for() and spin_slept(). */
#ifndef DODO_BASE_SPIN_H
#define DODO_BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SPIN_LOOKS = 32,         /* so many spins between two looks at the preemptions */
    SPIN_WAKE_NS = 15000,    /* what a wake-up may have added to a wait asleep */
    SPIN_PAUSE_NS = 2000000, /* first pause after a preemption; doubles, up to */
    SPIN_PAUSE_MAX_NS = 512000000,
};

typedef struct Spin {
    uint64_t limit_ns; /* at a time; 0: never */
    unsigned score;    /* share of answers that came in time, 0..255 */
    unsigned spins;    /* since the preemptions were looked at last */
    int64_t preempted; /* how often the thread was, then */
    uint64_t pause_ns, paused_until_ns;
    bool in_vain; /* the last spin: the sleep after it shows nothing more */
} Spin;

void spin_init(Spin *s, uint64_t limit_ns);
/* How long to spin now; 0: fall asleep at once. */
uint64_t spin_budget(const Spin *s, uint64_t now_ns);
/* An answer came after @waited_ns. @asleep: no spin, or not long enough. */
void spin_waited(Spin *s, uint64_t waited_ns, bool asleep);
/* After a spin: time to count the thread's preemptions? */
bool spin_looks(Spin *s);
/* The count. Somebody else had the processor meanwhile: then it is not ours to waste. */
void spin_saw(Spin *s, int64_t preempted, uint64_t now_ns);

/* All threads of the process. False: as many spin already as there are processors. */
bool spin_begin(void);
void spin_end(void);

/* All of the above, by this clock and for this thread. Calls @look until it finds something (true),
 * the deadline comes, or it is not worth it any more. After false: fall asleep, and call
 * spin_slept(). */
bool spin_for(Spin *s, uint64_t deadline_ns, bool (*look)(void *ctx), void *ctx);
void spin_slept(Spin *s, uint64_t since_ns);

#endif
