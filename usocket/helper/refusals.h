/* SPDX-License-Identifier: MIT */
/* How often the log tells of refused requests, which could fill it. Pure. */
#ifndef DODO_USOCKET_HELPER_REFUSALS_H
#define DODO_USOCKET_HELPER_REFUSALS_H

#include <stdint.h>

#include "base/time.h"

#define REFUSALS_EVERY_NS (10 * NS_PER_S) /* as for what a daemon's port refuses */

typedef struct Refusals {
    uint64_t from_ns; /* the next line may come */
    uint64_t untold;
} Refusals;

/* Another request was refused. How many a line is to tell of, with this one; 0: there is none. */
uint64_t refusals_add(Refusals *r, uint64_t now_ns);

#endif
