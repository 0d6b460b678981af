/* SPDX-License-Identifier: MIT */
/* A clock that counts only the time in which its owner listened: monotonic time less the gaps in
 * which the owner did not come although it had said that it would. A peer's silence is measured on
 * it. So a stopped process, a queue that is polled rarely and a thread that waits for a disk take
 * nobody for dead, and need not move any timer.
 *
 * A timer that is due stands still until the owner comes: it is then exactly due. Pure. */
#ifndef DODO_BASE_LISTEN_CLOCK_H
#define DODO_BASE_LISTEN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

typedef struct ListenClock {
    uint64_t missed_ns; /* all gaps so far */
    uint64_t due_ns;    /* monotonic: the owner comes then at the latest; TIME_NEVER: whenever */
} ListenClock;

/* What the clock shows at @now_ns, when the owner is here. */
static inline uint64_t listen_clock_at(ListenClock *c, uint64_t now_ns)
{
    if (now_ns > c->due_ns) {
        c->missed_ns += now_ns - c->due_ns;
        c->due_ns = now_ns;
    }
    return now_ns - c->missed_ns;
}

/* The owner goes, and comes again at @due_ns (monotonic) or before. At once means now. */
static inline void listen_clock_until(ListenClock *c, uint64_t due_ns, uint64_t now_ns)
{
    c->due_ns = due_ns > now_ns ? due_ns : now_ns;
}

/* When a point on the clock is reached in monotonic time, if nothing more is missed. */
static inline uint64_t listen_clock_monotonic(const ListenClock *c, uint64_t at_ns)
{
    return time_add(at_ns, c->missed_ns);
}

/* The clock went on by @listened_ns. Did nobody listen for most of the real time? Then what was
 * measured says something of the listener, not of the peer. */
static inline bool listen_clock_mostly_missed(uint64_t missed_ns, uint64_t listened_ns)
{
    return missed_ns > listened_ns;
}

#endif
