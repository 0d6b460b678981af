/* SPDX-License-Identifier: MIT */
/* What the cache takes from its environment and the config file. */
#ifndef DODO_LIBMANAGE_SETTINGS_H
#define DODO_LIBMANAGE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ManageSettings {
    uint64_t cache_bytes;
    uint64_t readahead_bytes; /* UINT64_MAX: not said */
    bool cache_given;         /* somebody has chosen cache_bytes */
    bool cluster;             /* a manager is named: there may be remote memory */
    bool stats;               /* a line of them at the end */
} ManageSettings;

enum { MANAGE_SETTINGS_ERROR_MAX = 512 };

/* What the program has set, which goes before all else. */
typedef struct ManagePreset {
    uint64_t cache_bytes, readahead_bytes;
    bool cache, readahead; /* it has set that */
} ManagePreset;

/* Defaults, then the file, then the environment, then the program, within what the control group
 * allows. 0, -EINVAL, or -errno of the file, with a text. */
int manage_settings_load(ManageSettings *s, const ManagePreset *preset,
                         char error[MANAGE_SETTINGS_ERROR_MAX]);

/* What a control group with such a limit of memory leaves to the cache. The kernel takes its own
 * cache back where the group's memory is short, but not ours: it would kill the program. */
void manage_settings_limit(ManageSettings *s, uint64_t limit_bytes);

#endif
