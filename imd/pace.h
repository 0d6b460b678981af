/* SPDX-License-Identifier: MIT */
/* The cap on what an imd sends and receives: token buckets for bytes and for datagrams, which all
 * data threads share without a lock. A bucket is a point in time, at which it is even again. Work
 * moves that point on, and idle time counts for a little while only. Pure. */
#ifndef DODO_IMD_PACE_H
#define DODO_IMD_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

enum { PACE_PACKETS_MIN = 100 };      /* a second: fewer would not carry an answer */
#define PACE_SAVED_NS (5 * NS_PER_MS) /* what idle time is worth at most */

typedef struct PaceBucket {
    _Atomic uint64_t rate; /* a second; 0: no cap */
    _Atomic uint64_t even_ns;
} PaceBucket;

typedef struct Pace {
    PaceBucket bytes, packets;
} Pace;

void pace_init(Pace *p, uint64_t bytes_rate, uint64_t packets_rate);
/* Other rates from now on, in any thread. */
void pace_set(Pace *p, uint64_t bytes_rate, uint64_t packets_rate);
static inline bool pace_is_on(const Pace *p)
{
    return atomic_load_explicit(&p->bytes.rate, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&p->packets.rate, memory_order_relaxed) != 0;
}
/* So much has been done, allowed or not. */
void pace_charge(Pace *p, uint64_t bytes, uint64_t packets, uint64_t now_ns);
/* How long nothing may be done; 0: go on. */
uint64_t pace_debt_ns(const Pace *p, uint64_t now_ns);
/* How long so much takes. */
uint64_t pace_cost_ns(const Pace *p, uint64_t bytes, uint64_t packets);

#endif
