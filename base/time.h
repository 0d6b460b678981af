/* SPDX-License-Identifier: MIT */
/* Units of time. Inside, every time is uint64_t nanoseconds of one monotonic clock. */
#ifndef DODO_BASE_TIME_H
#define DODO_BASE_TIME_H

#include <stdint.h>
#include <time.h>

#include "base/num.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull
#define TIME_NEVER UINT64_MAX

/* Saturating: TIME_NEVER stays never. */
static inline uint64_t time_add(uint64_t t, uint64_t d)
{
    return t > TIME_NEVER - d ? TIME_NEVER : t + d;
}

static inline uint64_t time_from_timespec(struct timespec t)
{
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline struct timespec time_to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

#endif
