/* SPDX-License-Identifier: MIT */
#include "imd/pace.h"

#include "base/num.h"

void pace_init(Pace *p, uint64_t bytes_rate, uint64_t packets_rate)
{
    atomic_init(&p->bytes.rate, bytes_rate);
    atomic_init(&p->packets.rate, packets_rate);
    atomic_init(&p->bytes.even_ns, 0);
    atomic_init(&p->packets.even_ns, 0);
}

void pace_set(Pace *p, uint64_t bytes_rate, uint64_t packets_rate)
{
    atomic_store_explicit(&p->bytes.rate, bytes_rate, memory_order_relaxed);
    atomic_store_explicit(&p->packets.rate, packets_rate, memory_order_relaxed);
}

/* Counts of one call are far below what would not fit. */
static uint64_t cost_ns(const PaceBucket *b, uint64_t n)
{
    uint64_t rate = atomic_load_explicit(&b->rate, memory_order_relaxed);
    return rate == 0 ? 0 : n * NS_PER_S / rate;
}

static void charge(PaceBucket *b, uint64_t n, uint64_t now_ns)
{
    uint64_t cost = cost_ns(b, n), earliest = now_ns > PACE_SAVED_NS ? now_ns - PACE_SAVED_NS : 0;
    uint64_t even = atomic_load_explicit(&b->even_ns, memory_order_relaxed), next;
    if (cost == 0)
        return;
    do
        next = time_add(even > earliest ? even : earliest, cost);
    while (!atomic_compare_exchange_weak_explicit(&b->even_ns, &even, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

void pace_charge(Pace *p, uint64_t bytes, uint64_t packets, uint64_t now_ns)
{
    charge(&p->bytes, bytes, now_ns);
    charge(&p->packets, packets, now_ns);
}

static uint64_t debt(const PaceBucket *b, uint64_t now_ns)
{
    uint64_t even = atomic_load_explicit(&b->even_ns, memory_order_relaxed);
    uint64_t rate = atomic_load_explicit(&b->rate, memory_order_relaxed);
    return rate != 0 && even > now_ns ? even - now_ns : 0;
}

uint64_t pace_debt_ns(const Pace *p, uint64_t now_ns)
{
    return max_u64(debt(&p->bytes, now_ns), debt(&p->packets, now_ns));
}

uint64_t pace_cost_ns(const Pace *p, uint64_t bytes, uint64_t packets)
{
    return max_u64(cost_ns(&p->bytes, bytes), cost_ns(&p->packets, packets));
}
