/* SPDX-License-Identifier: MIT */
/* What is to be cached, as the environment says: `dodo run` sets it, and anybody may. */
#ifndef DODO_ADAPTERS_PRELOAD_SETTINGS_H
#define DODO_ADAPTERS_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PreloadSettings {
    uint64_t min_bytes;       /* DODO_PRELOAD_MIN_SIZE: of smaller files nothing is cached */
    const char *only, *never; /* patterns, one a line; NULL: none */
    const char *dirs;         /* absolute directories, one a line; NULL: all */
    const char *report;       /* where the report goes; NULL: nobody wants one */
    bool local;               /* no other host writes the files, whatever has them */
} PreloadSettings;

void settings_read(PreloadSettings *s);
/* Whether the file at @path, absolute, may be cached. A pattern is for the path below the directory
 * of `dirs`; where there is none, for the path or any of its ends that begins a name. */
bool settings_choose(const PreloadSettings *s, const char *path);

#endif
