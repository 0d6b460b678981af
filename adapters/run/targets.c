/* SPDX-License-Identifier: MIT */
#include "adapters/run/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/paths.h"
#include "base/printable.h"

/* A mount over these would hide what the program and the kernel need. */
static gboolean is_refused(const char *dir)
{
    static const char *const kernels[] = {"/proc", "/sys", "/dev", "/run"};
    for (size_t i = 0; i < G_N_ELEMENTS(kernels); i++)
        if (path_below(kernels[i], dir))
            return TRUE;
    return strcmp(dir, "/") == 0;
}

/* Adds @dir (taken), unless one that is there covers it; those that it covers go. */
static void add(GPtrArray *targets, char *dir)
{
    for (guint i = 0; i < targets->len; i++) {
        if (path_below(targets->pdata[i], dir)) {
            free(dir);
            return;
        }
    }
    for (guint i = targets->len; i > 0; i--)
        if (path_below(dir, targets->pdata[i - 1]))
            g_ptr_array_remove_index(targets, i - 1);
    g_ptr_array_add(targets, dir);
}

/* The directory that @argument names, or that has the large file that it names; "--option=FILE" may
 * name one, too. NULL: none. */
static char *directory_of(const char *argument, uint64_t min_bytes)
{
    struct stat st;
    const char *value = *argument == '-' ? strchr(argument, '=') : NULL;
    char *path = realpath(value ? value + 1 : argument, NULL);
    if (!path || stat(path, &st) < 0)
        return path ? free(path), NULL : NULL;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size >= min_bytes) {
        char *slash = strrchr(path, '/');
        slash[slash == path] = 0;
        return path;
    }
    if (S_ISDIR(st.st_mode))
        return path;
    free(path);
    return NULL;
}

static gboolean add_given(GPtrArray *targets, const char *given, char *error, size_t cap)
{
    struct stat st;
    char *path = realpath(given, NULL), shown[200];
    if (!path || stat(path, &st) < 0) {
        const char *why = strerror(errno);
        (void)g_snprintf(error, (gulong)cap, "--dir %s: %s",
                         printable_path(given, shown, sizeof shown), why);
    } else if (!S_ISDIR(st.st_mode) || is_refused(path)) {
        (void)g_snprintf(error, (gulong)cap, "--dir %s: %s",
                         printable_path(given, shown, sizeof shown),
                         S_ISDIR(st.st_mode) ? "the system needs it as it is: name one below"
                                             : "is no directory");
    } else {
        add(targets, path);
        return TRUE;
    }
    free(path);
    return FALSE;
}

GPtrArray *targets_choose(char **given, char **arguments, uint64_t min_bytes, char *error,
                          size_t cap)
{
    GPtrArray *targets = g_ptr_array_new_with_free_func(free);
    for (char **g = given; g && *g; g++) {
        if (!add_given(targets, *g, error, cap)) {
            g_ptr_array_unref(targets);
            return NULL;
        }
    }
    for (char **a = arguments; !given && *a; a++) {
        char *dir = directory_of(*a, min_bytes);
        if (dir && !is_refused(dir))
            add(targets, dir);
        else
            free(dir);
    }
    char *cwd = targets->len == 0 ? realpath(".", NULL) : NULL;
    if (cwd && !is_refused(cwd))
        add(targets, cwd);
    else
        free(cwd);
    return targets;
}
