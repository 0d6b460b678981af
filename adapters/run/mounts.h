/* SPDX-License-Identifier: MIT */
/* The processes of `dodo mount` that show directories to the program. */
#ifndef DODO_ADAPTERS_RUN_MOUNTS_H
#define DODO_ADAPTERS_RUN_MOUNTS_H

#include <glib.h>
#include <sys/types.h>

#include "adapters/mount/program.h"

/* A mount of @dir over itself: its process when it is ready, or -1: it has said why. */
pid_t mounts_start(const MountOptions *o, const char *dir);
/* Ends them, from the last to the first. */
void mounts_end(const pid_t *pids, guint count);

#endif
