/* SPDX-License-Identifier: MIT */
/* A program whose reads are redirected by libdodo-preload.so: its environment. */
#ifndef DODO_ADAPTERS_RUN_PRELOAD_H
#define DODO_ADAPTERS_RUN_PRELOAD_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "adapters/mount/program.h"

/* The path of the library, on the heap; NULL with errno. */
char *preload_library(void);
/* That library and its settings into the environment of this process: what of @o is not of mounts
 * alone; only files below @dirs are cached, or all where that is NULL. On error false, with @error
 * (of @cap bytes). */
bool preload_set(const char *library, const MountOptions *o, const GPtrArray *dirs, char *error,
                 size_t cap);

#endif
