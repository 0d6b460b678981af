/* SPDX-License-Identifier: MIT */
/* What a daemon that has read its configuration again says of it. Pure. */
#ifndef DODO_DAEMON_CONFIG_CHANGES_H
#define DODO_DAEMON_CONFIG_CHANGES_H

#include "daemon/config.h"

enum { CONFIG_CHANGES_MAX = 256 };

/* Keys with commas between them, "[dodo] manager, [imd] pool"; empty: none. Those that there is no
 * room for are left out, and "..." stands for them. */
typedef struct ConfigChanges {
    char taken[CONFIG_CHANGES_MAX];   /* the new value is in effect */
    char waiting[CONFIG_CHANGES_MAX]; /* not before the next start */
} ConfigChanges;

/* The options before, those in effect now, and those that were read. */
void config_changes(const ConfigProgram *program, const void *before, const void *now,
                    const void *wanted, ConfigChanges *ret);
/* The key file had others: its key is among those taken. */
void config_changes_key(ConfigChanges *c);

#endif
