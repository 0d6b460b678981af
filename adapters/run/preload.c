/* SPDX-License-Identifier: MIT */
#include "adapters/run/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/mount/cache.h"
#include "adapters/paths.h"
#include "base/cleanup.h"

#define LIBRARY "libdodo-preload.so"

/* Beside the module that has this code, or where a build has it. */
char *preload_library(void)
{
    static const char *const places[] = {LIBRARY, "../preload/" LIBRARY};
    Dl_info info;
    errno = ENOENT;
    if (dladdr(places, &info) == 0 || !info.dli_fname)
        return NULL;
    g_autofree char *dir = g_path_get_dirname(info.dli_fname);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        g_autofree char *path = g_build_filename(dir, places[i], NULL);
        char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
        if (real)
            return real;
    }
    return NULL;
}

static void set_text(const char *name, const char *text)
{
    if (text)
        g_setenv(name, text, TRUE);
    else
        g_unsetenv(name);
}

/* A list as one variable; an empty one is none. */
static bool set_list(const char *name, char *const *list, size_t count)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < count; i++) {
        if (strchr(list[i], '\n'))
            return false;
        g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", list[i]);
    }
    set_text(name, count > 0 ? text->str : NULL);
    return true;
}

static size_t count_of(char *const *list)
{
    return list ? g_strv_length((char **)list) : 0;
}

/* Before those that are there: it calls them. */
static void set_library(const char *path)
{
    const char *others = g_getenv("LD_PRELOAD");
    size_t len = strlen(path);
    g_autofree char *all =
        others && *others ? g_strconcat(path, ":", others, NULL) : g_strdup(path);
    if (!others || strncmp(others, path, len) != 0 || (others[len] && others[len] != ':'))
        g_setenv("LD_PRELOAD", all, TRUE);
}

bool preload_set(const char *library, const MountOptions *o, const GPtrArray *dirs, char *error,
                 size_t cap)
{
    char number[32], file[PATH_FILE_MAX];
    if (strpbrk(library, " :\t\n")) {
        (void)g_snprintf(error, (gulong)cap, "%s: LD_PRELOAD takes no path with a space or a colon",
                         library);
        return false;
    }
    if (!set_list("DODO_PRELOAD_DIRS", dirs ? (char **)dirs->pdata : NULL, dirs ? dirs->len : 0) ||
        !set_list("DODO_PRELOAD_ONLY", o->only, count_of(o->only)) ||
        !set_list("DODO_PRELOAD_NEVER", o->never, count_of(o->never))) {
        (void)g_snprintf(error, (gulong)cap,
                         "a directory or pattern for the library has a newline");
        return false;
    }
    set_library(library);
    (void)g_snprintf(number, sizeof number, "%" PRIu64, o->min_bytes);
    set_text("DODO_PRELOAD_MIN_SIZE", number);
    set_text("DODO_PRELOAD_LOCAL", o->local ? "1" : NULL);
    set_text("DODO_PRELOAD_REPORT", o->report);
    set_text("DODO_PRELOAD_REPORT_FILE", o->report && path_file(o->report, file) ? file : NULL);
    (void)g_snprintf(number, sizeof number, "%" PRIu64, o->cache_bytes);
    if (o->cache_bytes != CACHE_AS_CONFIGURED)
        set_text("DODO_CACHE_SIZE", number);
    return true;
}
