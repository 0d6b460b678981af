/* SPDX-License-Identifier: MIT */
/* How often the log tells of what those who ask bring about, and which could fill it. Pure. */
#ifndef DODO_USOCKET_HELPER_TOLD_H
#define DODO_USOCKET_HELPER_TOLD_H

#include <stdint.h>

#include "base/time.h"

#define TOLD_EVERY_NS (10 * NS_PER_S) /* as for what a daemon's port refuses */

/* Of one kind of event. */
typedef struct Told {
    uint64_t until_ns; /* of the period */
    unsigned lines;    /* in it */
    uint64_t untold;
} Told;

/* Another one has come, and there are @most lines in a period. Of how many a line is to tell, with
 * this one; 0: there is none. */
uint64_t told_add(Told *t, unsigned most, uint64_t now_ns);

#endif
