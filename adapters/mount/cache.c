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
#include "daemon/program.h"

#define LIBRARY "libmanage.so.0"

static CacheCalls calls;
static atomic_bool loaded;
static uint64_t local_bytes = CACHE_AS_CONFIGURED;

/* ---- where it is --------------------------------------------------------------------------- */

/* Of this code, which may have been loaded by a program. On the heap. */
static char *directory(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    bool found = dladdr1(&calls, &info, (void **)&map, RTLD_DL_LINKMAP) != 0;
    return found && *map->l_name ? g_path_get_dirname(map->l_name) : program_directory();
}

/* In the directory of a build, @name is at @place from this code; NULL: this is none. On the heap.
 */
static char *built(const char *place)
{
    g_autofree char *dir = directory();
    g_autofree char *path = g_build_filename(dir, place, NULL);
    return realpath(path, NULL);
}

/* Whether the directory or file at @path is @mountpoint or below it. */
static bool is_below(const char *mountpoint, const char *path)
{
    char *real CLEANUP_FREE = path ? realpath(path, NULL) : NULL;
    return real && path_below(mountpoint, real);
}

static bool is_built_below(const char *mountpoint, const char *place)
{
    char *path CLEANUP_FREE = built(place);
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

typedef struct Symbol {
    const char *name;
    void *to;
} Symbol;

/* What dlsym() returns may be stored so (POSIX). */
static bool find_all(void *library)
{
    const Symbol symbols[] = {
        {"dodo_manage_set", &calls.set},          {"dodo_manage_stats", &calls.stats},
        {"dodo_copen_flags", &calls.copen_flags}, {"dodo_cread", &calls.cread},
        {"dodo_cclose", &calls.cclose},
    };
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
        if (!(*(void **)symbols[i].to = dlsym(library, symbols[i].name)))
            return false;
    return true;
}

/* It stays until the process ends, and says good-bye to the cluster then. */
static void load(void)
{
    char *path CLEANUP_FREE = built("../../libmanage/" LIBRARY);
    void *library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find_all(library)) {
        log_event(LOG_LEVEL_ERROR, "cache_missing",
                  "error=\"%s\" fix=\"install it: nothing is cached without\"", dlerror());
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
