/* SPDX-License-Identifier: MIT */
/* The disk model on the real clock. */
#ifndef DODO_TOOLS_DISKFS_WAIT_H
#define DODO_TOOLS_DISKFS_WAIT_H

#include <errno.h>
#include <time.h>

#include "base/time.h"

static inline void disk_wait_until(uint64_t end_ns)
{
    struct timespec end = time_to_timespec(end_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

#endif
