/* SPDX-License-Identifier: MIT */
/* Which of the cluster's hosts is this one. */
#ifndef DODO_TOOLS_DRAIN_HERE_H
#define DODO_TOOLS_DRAIN_HERE_H

#include "tools/client.h"

/* The imd that the manager lists at an address of this host. 0; -ENOENT: it lists none, or several;
 * another -errno. @error says what to do. */
int drain_find_here(ToolClient *manager, Addr *ret, char error[CONFIG_ERROR_MAX]);

#endif
