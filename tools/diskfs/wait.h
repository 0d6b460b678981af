/* SPDX-License-Identifier: MIT */
/* The disk model on the real clock. */
#ifndef DODO_TOOLS_DISKFS_WAIT_H
#define DODO_TOOLS_DISKFS_WAIT_H

#include <errno.h>
#include <time.h>

#include "base/time.h"

static inline void disk_wait_until(uint64_t end_ns)
{
    struct timespec end = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                           .tv_nsec = (long)(end_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

#endif
