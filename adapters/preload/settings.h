/* SPDX-License-Identifier: MIT */
/* What is to be cached: settings in the environment. `dodo run` writes them there. */
#ifndef DODO_ADAPTERS_PRELOAD_SETTINGS_H
#define DODO_ADAPTERS_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PreloadSettings {
    uint64_t min_bytes;       /* DODO_PRELOAD_MIN_SIZE: of smaller files nothing is cached */
    const char *only, *never; /* DODO_PRELOAD_ONLY, _NEVER: patterns, one a line; NULL: none */
    const char *dirs;         /* DODO_PRELOAD_DIRS: absolute, one a line; NULL: all */
    const char *report;       /* DODO_PRELOAD_REPORT: a file; NULL: nobody wants a report */
    const char *report_file;  /* DODO_PRELOAD_REPORT_FILE: which that is; NULL: any of that name */
    bool local;               /* DODO_PRELOAD_LOCAL: only this host writes the files */
    bool eager;               /* DODO_PRELOAD_EAGER: the cache has all reads, for tests */
} PreloadSettings;

void settings_read(PreloadSettings *s);
/* Whether the file at @path, absolute, may be cached. A pattern is for the path below the directory
 * of `dirs`; where there is none, for the path or any of its ends that begins a name. One caller at
 * a time. */
bool settings_choose(const PreloadSettings *s, const char *path);

#endif
