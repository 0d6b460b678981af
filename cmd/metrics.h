/* SPDX-License-Identifier: MIT */
/* What the manager measures, as docs/metrics.md lists it. Pure. */
#ifndef DODO_CMD_METRICS_H
#define DODO_CMD_METRICS_H

#include "cmd/core.h"
#include "daemon/metrics.h"

typedef struct CmdMetrics {
    CommonMetrics common;
    ManagerStats stats;
    uint64_t idle, silent, leaving; /* of stats.hosts */
    uint64_t draining;              /* of stats.hosts, too */
    uint64_t pool_bytes, free_bytes;
    uint64_t monitors, busy; /* busy: of the monitors */
    uint64_t retained, opening, calls;
    uint64_t active, lease; /* of this manager; lease: 0 without one */
} CmdMetrics;

extern const MetricTable cmd_metrics;
/* All but @ret->common. */
void cmd_metrics_read(CmdMetrics *ret, const Manager *m);

#endif
