/* SPDX-License-Identifier: MIT */
/* The cluster as its manager sees it, page by page. */
#ifndef DODO_TOOLS_CLUSTER_STATUS_H
#define DODO_TOOLS_CLUSTER_STATUS_H

#include <glib.h>

#include "tools/client.h"

typedef struct ClusterStatus {
    GArray *hosts;      /* of HostStatus */
    OpStatusReply last; /* its counts are the newest */
    uint64_t number;    /* of the manager: as in WireHello.epoch */
} ClusterStatus;

void cluster_status_init(ClusterStatus *s);
void cluster_status_deinit(ClusterStatus *s);
/* All of it, again. 0; -errno, and @error says what to fix. */
int cluster_status_fetch(ClusterStatus *s, ToolClient *manager, char error[CONFIG_ERROR_MAX]);
/* Appends the hosts that are being drained, as DrainStatus. 0; 1: the manager is older, and does
 * not say; -errno, and @error says what to fix. */
int cluster_drains_fetch(GArray *drains, ToolClient *manager, char error[CONFIG_ERROR_MAX]);

#endif
