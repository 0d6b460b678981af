/* SPDX-License-Identifier: MIT */
#include "libmanage/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "base/parse.h"

enum { ERROR_MAX = 512 };

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
    (void)error;
    (void)cap;
    if (strcmp(group, "manage") == 0)
        return set_manage(s, key, value);
    if (strcmp(group, "dodo") == 0 && strcmp(key, "manager") == 0)
        s->cluster = true;
    return 0;
}

int manage_settings_load(ManageSettings *s)
{
    static const char *const names[][2] = {{"DODO_CACHE_SIZE", "cache_size"},
                                           {"DODO_READAHEAD", "readahead"}};
    char error[ERROR_MAX];
    *s = (ManageSettings){.cache_bytes = DEFAULT_MANAGE_CACHE_BYTES, .readahead_bytes = UINT64_MAX};
    const char *path = getenv("DODO_CONFIG");
    bool asked = path && *path;
    int result = key_file_read(asked ? path : DEFAULT_CONFIG_PATH, on_key, s, error, sizeof error);
    if (result < 0 && (asked || result != -ENOENT))
        return result;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i][0]);
        if (value && *value && set_manage(s, names[i][1], value) < 0)
            return -EINVAL;
    }
    const char *manager = getenv("DODO_MANAGER"), *stats = getenv("DODO_STATS");
    s->cluster |= manager && *manager;
    s->stats = stats && strcmp(stats, "1") == 0;
    return 0;
}
