/* SPDX-License-Identifier: MIT */
#include "adapters/mount/cache.h"

#include <dlfcn.h>
#include <glib.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "adapters/paths.h"
#include "base/cleanup.h"
#include "daemon/log.h"

static CacheCalls calls;
static atomic_bool loaded;
static uint64_t local_bytes = CACHE_AS_CONFIGURED;

/* ---- where it is --------------------------------------------------------------------------- */

/* Whether the directory or file at @path is @mountpoint or below it. */
static bool is_below(const char *mountpoint, const char *path)
{
    char *real CLEANUP_FREE = path ? realpath(path, NULL) : NULL;
    return real && path_below(mountpoint, real);
}

static bool is_built_below(const char *mountpoint, const char *place)
{
    char *path CLEANUP_FREE = region_cache_built(&calls, place);
    return is_below(mountpoint, path);
}

/* The loader looks there first. */
static bool is_searched_below(const char *mountpoint)
{
    const char *path = g_getenv("LD_LIBRARY_PATH");
    g_auto(GStrv) dirs = g_strsplit_set(path ? path : "", ":;", -1);
    for (char **dir = dirs; *dir; dir++)
        if (is_below(mountpoint, **dir ? *dir : "."))
            return true;
    return false;
}

/* Whether a library that has to be loaded may be below @mountpoint: ours, or others, which are
 * where the C library is. */
static bool may_be_below(const char *mountpoint)
{
    struct link_map *libc = NULL; /* dladdr(3) would look at all of its symbols */
    void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (handle)
        (void)dlinfo(handle, RTLD_DI_LINKMAP, &libc);
    char *other CLEANUP_FREE = libc ? g_path_get_dirname(libc->l_name) : NULL;
    return is_below(mountpoint, other) || is_below(mountpoint, DODO_LIBDIR) ||
           is_built_below(mountpoint, "../../libmanage") ||
           is_built_below(mountpoint, "../../libdodo") || is_searched_below(mountpoint);
}

/* ---- loading it ---------------------------------------------------------------------------- */

static void load(void)
{
    const char *error = region_cache_load(&calls, &calls);
    if (error) {
        log_event(LOG_LEVEL_ERROR, "cache_missing",
                  "error=\"%s\" fix=\"install it: nothing is cached without\"", error);
        return;
    }
    if (local_bytes != CACHE_AS_CONFIGURED)
        (void)calls.set(DODO_MANAGE_CACHE_BYTES, local_bytes);
    loaded = true;
}

const CacheCalls *cache_calls_if_loaded(void)
{
    return loaded ? &calls : NULL;
}

const CacheCalls *cache_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return cache_calls_if_loaded();
}

void cache_prepare(const char *mountpoint, uint64_t bytes)
{
    local_bytes = bytes;
    if (may_be_below(mountpoint))
        (void)cache_calls();
}
