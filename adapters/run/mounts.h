/* SPDX-License-Identifier: MIT */
/* The processes of `dodo mount` that show directories to the program. */
#ifndef DODO_ADAPTERS_RUN_MOUNTS_H
#define DODO_ADAPTERS_RUN_MOUNTS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "adapters/mount/program.h"

typedef struct StartedMount {
    const char *dir;
    pid_t pid;
    int output; /* of its process */
} StartedMount;

/* A mount of @dir over itself, which is ready then. False: it has said why not. */
bool mounts_start(const MountOptions *o, const char *dir, StartedMount *ret);
/* Ends them, from the last to the first. */
void mounts_end(const StartedMount *mounts, guint count);

#endif
