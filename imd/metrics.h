/* SPDX-License-Identifier: MIT */
/* What the idle memory daemon measures, as docs/metrics.md lists it. Pure. */
#ifndef DODO_IMD_METRICS_H
#define DODO_IMD_METRICS_H

#include "daemon/metrics.h"
#include "imd/control.h"
#include "imd/data.h"

/* Of one data thread. Of uint64_t alone, so that the thread can leave it word by word where another
 * one reads it. */
typedef struct ImdCounts {
    ImdDataStats data;
    EndpointCounters refused;
    uint64_t sent, astray;
    uint64_t frames_sent, frames_received, frames_refused;
    uint64_t reads_waiting;
} ImdCounts;
enum { IMD_COUNTS_WORDS = sizeof(ImdCounts) / sizeof(uint64_t) };

typedef struct ImdMetrics {
    CommonMetrics common;
    ImdDataStats data; /* of all data threads */
    uint64_t reads_waiting, threads;
    uint64_t frames_sent, frames_received, frames_refused;
    uint64_t pool_bytes, limit_bytes, used_bytes, filled_bytes, free_bytes, locked;
    uint64_t regions, joined, managers;
} ImdMetrics;

extern const MetricTable imd_metrics;
/* The control thread's part. */
void imd_metrics_read(ImdMetrics *ret, const ImdControl *c);
/* Another data thread's. */
void imd_metrics_add(ImdMetrics *ret, const ImdCounts *counts);

#endif
