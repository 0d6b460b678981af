/* SPDX-License-Identifier: MIT */
/* What the cache takes from its environment and the config file. */
#ifndef DODO_LIBMANAGE_SETTINGS_H
#define DODO_LIBMANAGE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ManageSettings {
    uint64_t cache_bytes;
    uint64_t readahead_bytes; /* UINT64_MAX: not said */
    bool cluster;             /* a manager is named: there may be remote memory */
    bool stats;               /* a line of them at the end */
} ManageSettings;

enum { MANAGE_SETTINGS_ERROR_MAX = 512 };

/* Defaults, then the file, then the environment. 0, -EINVAL, or -errno of the file, with a text. */
int manage_settings_load(ManageSettings *s, char error[MANAGE_SETTINGS_ERROR_MAX]);

#endif
