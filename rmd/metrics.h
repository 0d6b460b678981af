/* SPDX-License-Identifier: MIT */
/* What the resource monitor measures, as docs/metrics.md lists it. Nothing of it tells more of the
 * owner than what others see of a host that is lent or not. Pure. */
#ifndef DODO_RMD_METRICS_H
#define DODO_RMD_METRICS_H

#include "daemon/metrics.h"
#include "rmd/monitor.h"

typedef struct RmdMetrics {
    CommonMetrics common;
    uint64_t busy, starting, lending, saving; /* one of them is 1 */
    uint64_t lendable_bytes, used_bytes, held_bytes, owed_bytes;
    uint64_t evicted_bytes, reclaimed_bytes;
    uint64_t memory_pause_ns, crash_pause_ns;
    MonitorCounts counts;
    uint64_t manager_answers;
} RmdMetrics;

extern const MetricTable rmd_metrics;
/* The monitor's part. */
void rmd_metrics_read(RmdMetrics *ret, const Monitor *m, uint64_t now_ns);

#endif
