/* SPDX-License-Identifier: MIT */
/* Which of two managers that both believe that they are active is obeyed: the one whose lease has
 * the greater number. A manager that was cut off, or stood still, may not know yet that its lease
 * is over. Who has heard its successor orders nothing from it, and takes no orders. Pure.
 *
 * The memory of a number fades: where the store that numbers the leases is made from nothing, its
 * numbers begin again, and the cluster must not be lost to that. */
#ifndef DODO_PROTO_FENCE_H
#define DODO_PROTO_FENCE_H

#include <stdbool.h>

#include "base/time.h"
#include "proto/rules.h"
#include "proto/wire.h"

/* So long after its manager was heard last, a number holds off smaller ones. */
#define FENCE_MEMORY_NS (300 * NS_PER_S)

typedef struct Fence {
    uint64_t number; /* the greatest of all leases that we heard of */
    uint64_t heard_ns;
} Fence;

/* Whether a manager may be obeyed that has the lease @number, or is MANAGER_UNLEASED. */
static inline bool fence_allows(const Fence *f, uint64_t number, uint64_t now_ns)
{
    if (number == MANAGER_STANDBY)
        return false;
    return !(RULE(FENCE) && number < f->number && now_ns < time_add(f->heard_ns, FENCE_MEMORY_NS));
}

/* The manager with this lease, which is allowed, was heard. */
static inline void fence_heard(Fence *f, uint64_t number, uint64_t now_ns)
{
    if (RULE(FENCE) && number < f->number && now_ns < time_add(f->heard_ns, FENCE_MEMORY_NS))
        return; /* a late word of one that is allowed no more */
    f->number = number;
    f->heard_ns = now_ns;
}

#endif
