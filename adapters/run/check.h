/* SPDX-License-Identifier: MIT */
/* dodo run --check */
#ifndef DODO_ADAPTERS_RUN_CHECK_H
#define DODO_ADAPTERS_RUN_CHECK_H

#include "adapters/run/mounts.h"

/* Does all that comes before running @name, and undoes it: makes the namespace (@user: in a user
 * namespace) and the mounts of @dirs. Says what came of it. True: it would run. */
bool check_program(const MountOptions *o, bool user, const GPtrArray *dirs, const char *name);

#endif
