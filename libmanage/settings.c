/* SPDX-License-Identifier: MIT */
#include "libmanage/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_limit.h"
#include "base/num.h"
#include "proto/conf/conf.h"

/* Of a control group's memory, a cache whose size nobody has chosen takes one. */
enum { LIMIT_PARTS = 4 };

/* A ConfFn. */
static int take(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    ManageSettings *s = ctx;
    (void)error;
    (void)cap;
    if (strcmp(k->name, "cache_size") == 0) {
        s->cache_bytes = v->count;
        s->cache_given = true;
    } else if (strcmp(k->name, "readahead") == 0)
        s->readahead_bytes = v->count;
    else if (strcmp(k->name, "manager") == 0)
        s->cluster = true;
    return 0;
}

/* The variables may contradict each other, or the file. */
static int check(const ManageSettings *s, char *error)
{
    char shown[2][32];
    if (s->readahead_bytes == UINT64_MAX || s->readahead_bytes <= s->cache_bytes)
        return 0;
    (void)snprintf(error, MANAGE_SETTINGS_ERROR_MAX,
                   "readahead (DODO_READAHEAD) of %s must be at most cache_size "
                   "(DODO_CACHE_SIZE), %s; otherwise the cache has no room for what is read ahead",
                   format_size(s->readahead_bytes, shown[0], sizeof shown[0]),
                   format_size(s->cache_bytes, shown[1], sizeof shown[1]));
    return -EINVAL;
}

/* What the program has set contradicts nothing: reading ahead gets what room there is. */
static void preset_take(ManageSettings *s, const ManagePreset *preset)
{
    if (preset->cache) {
        s->cache_bytes = preset->cache_bytes;
        s->cache_given = true;
    }
    if (preset->readahead)
        s->readahead_bytes = preset->readahead_bytes;
    else if (s->readahead_bytes == UINT64_MAX)
        return; /* a part of the cache */
    s->readahead_bytes = min_u64(s->readahead_bytes, s->cache_bytes);
}

/* The least that what is read ahead needs stays. */
void manage_settings_limit(ManageSettings *s, uint64_t limit_bytes)
{
    uint64_t most = limit_bytes / LIMIT_PARTS;
    if (s->readahead_bytes != UINT64_MAX)
        most = max_u64(most, s->readahead_bytes);
    if (!s->cache_given)
        s->cache_bytes = min_u64(s->cache_bytes, most);
}

int manage_settings_load(ManageSettings *s, const ManagePreset *preset,
                         char error[MANAGE_SETTINGS_ERROR_MAX])
{
    *error = '\0';
    *s = (ManageSettings){.cache_bytes = conf_find("manage", "cache_size")->count,
                          .readahead_bytes = UINT64_MAX};
    const char *path = secure_getenv("DODO_CONFIG"), *stats = secure_getenv("DODO_STATS");
    int result = conf_file_read(path && *path ? path : NULL, CONF_MANAGE, take, s, error,
                                MANAGE_SETTINGS_ERROR_MAX);
    if (result == 0)
        result =
            conf_env_read(CONF_MANAGE, secure_getenv, take, s, error, MANAGE_SETTINGS_ERROR_MAX);
    s->stats = stats && strcmp(stats, "1") == 0;
    if (preset->cache || preset->readahead)
        preset_take(s, preset);
    else if (result == 0)
        result = check(s, error);
    if (result == 0 && !s->cache_given)
        manage_settings_limit(s, memory_limit_bytes());
    return result;
}
