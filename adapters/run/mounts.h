/* SPDX-License-Identifier: MIT */
/* The processes of `dodo mount` that show directories to the program. */
#ifndef DODO_ADAPTERS_RUN_MOUNTS_H
#define DODO_ADAPTERS_RUN_MOUNTS_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Options that are the mounts'; NULL: as theirs are by default. */
typedef struct MountSettings {
    char **only, **never;
    char *min_size, *cache_size;
    bool local;
    int report; /* a file that the mounts append to; -1: none */
} MountSettings;

/* A mount of @dir over itself: its process when it is ready, or -1: it has said why. */
pid_t mounts_start(const MountSettings *s, const char *dir);
/* Ends them, from the last to the first. */
void mounts_end(const pid_t *pids, guint count);

#endif
