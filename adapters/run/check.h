/* SPDX-License-Identifier: MIT */
/* dodo run --check */
#ifndef DODO_ADAPTERS_RUN_CHECK_H
#define DODO_ADAPTERS_RUN_CHECK_H

#include "adapters/run/mounts.h"
#include "adapters/run/verdict.h"

/* Does all that comes before running @name, and undoes it: the namespace and the mounts of @dirs,
 * if it takes that way. Another one has @dirs only if they were @given. Says what came of it. True:
 * it would run. */
bool check_program(const MountOptions *o, enum How how, const GPtrArray *dirs, bool given,
                   const char *name);

#endif
