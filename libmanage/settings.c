/* SPDX-License-Identifier: MIT */
#include "libmanage/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "base/parse.h"

static int set_manage(ManageSettings *s, const char *key, const char *value)
{
    if (strcmp(key, "cache_size") == 0)
        return parse_size(value, &s->cache_bytes);
    if (strcmp(key, "readahead") == 0)
        return parse_size(value, &s->readahead_bytes);
    return -EINVAL;
}

static int on_key(void *ctx, const char *group, const char *key, const char *value, char *error,
                  size_t cap)
{
    ManageSettings *s = ctx;
    if (strcmp(group, "manage") == 0) {
        int result = set_manage(s, key, value);
        if (result < 0)
            (void)snprintf(error, cap, "[manage] %s = %s is no setting of ours, or no size", key,
                           value);
        return result;
    }
    if (strcmp(group, "dodo") == 0 && strcmp(key, "manager") == 0)
        s->cluster = true;
    return 0;
}

int manage_settings_load(ManageSettings *s, char error[MANAGE_SETTINGS_ERROR_MAX])
{
    static const char *const names[][2] = {{"DODO_CACHE_SIZE", "cache_size"},
                                           {"DODO_READAHEAD", "readahead"}};
    *error = '\0';
    *s = (ManageSettings){.cache_bytes = DEFAULT_MANAGE_CACHE_BYTES, .readahead_bytes = UINT64_MAX};
    const char *path = secure_getenv("DODO_CONFIG");
    bool asked = path && *path;
    int result = key_file_read(asked ? path : DEFAULT_CONFIG_PATH, on_key, s, error,
                               MANAGE_SETTINGS_ERROR_MAX);
    if (result < 0 && (asked || result != -ENOENT)) {
        if (!*error)
            (void)snprintf(error, MANAGE_SETTINGS_ERROR_MAX, "%s: %s",
                           asked ? path : DEFAULT_CONFIG_PATH, strerrordesc_np(-result));
        return result;
    }
    *error = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = secure_getenv(names[i][0]);
        if (!value || !*value || set_manage(s, names[i][1], value) == 0)
            continue;
        (void)snprintf(error, MANAGE_SETTINGS_ERROR_MAX, "%s=%s is no size", names[i][0], value);
        return -EINVAL;
    }
    const char *manager = secure_getenv("DODO_MANAGER"), *stats = secure_getenv("DODO_STATS");
    s->cluster |= manager && *manager;
    s->stats = stats && strcmp(stats, "1") == 0;
    return 0;
}
