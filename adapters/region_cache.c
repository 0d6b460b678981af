/* SPDX-License-Identifier: MIT */
#include "adapters/region_cache.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LIBRARY "libmanage.so.0"

/* The path of the object that has @code. False: none is known. */
static bool object_of(const void *code, char path[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && *map->l_name)
        return snprintf(path, PATH_MAX, "%s", map->l_name) < PATH_MAX;
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1); /* the program itself */
    path[len > 0 ? len : 0] = '\0';
    return len > 0;
}

char *region_cache_built(const void *code, const char *place)
{
    char path[PATH_MAX];
    if (!object_of(code, path))
        return NULL;
    char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    if (dir + strlen(place) >= PATH_MAX)
        return NULL;
    memcpy(path + dir, place, strlen(place) + 1);
    return realpath(path, NULL);
}

typedef struct Symbol {
    const char *name;
    void *to;
} Symbol;

/* What dlsym() returns may be stored so (POSIX). */
static bool find_all(void *library, CacheCalls *calls)
{
    const Symbol symbols[] = {
        {"dodo_manage_set", &calls->set},
        {"dodo_manage_stats", &calls->stats},
        {"dodo_copen_flags", &calls->copen_flags},
        {"dodo_cread", &calls->cread},
        {"dodo_cclose", &calls->cclose},
        {"dodo_manage_private_descriptors", &calls->descriptors},
        {"dodo_manage_private_has", &calls->has},
        {"dodo_manage_private_close_files", &calls->close_files},
        {"dodo_version", &calls->version},
    };
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
        if (!(*(void **)symbols[i].to = dlsym(library, symbols[i].name)))
            return false;
    return true;
}

const char *region_cache_load(const void *code, CacheCalls *ret)
{
    char *path CLEANUP_FREE = region_cache_built(code, "../../libmanage/" LIBRARY);
    void *library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return library && find_all(library, ret) ? NULL : dlerror();
}
