/* SPDX-License-Identifier: MIT */
#include "adapters/run/reads.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "adapters/run/imports.h"
#include "base/cleanup.h"

static bool get_part(void *ctx, uint64_t at, void *buf, size_t len)
{
    return at <= INT64_MAX && pread(*(int *)ctx, buf, len, (off_t)at) == (ssize_t)len;
}

static bool imports_of_file(const char *path, unsigned *ret)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && imports_of(get_part, &fd, ret);
}

/* The library that a line of the loader's list says it would load, on the heap; NULL: the line says
 * another thing. The loader and the C library import nothing from others. */
static char *library_of(const char *line)
{
    const char *path = strchr(line, '/'), *end = strrchr(line, '(');
    if (!strstr(line, " => ") || !path || !end || end <= path + 1)
        return NULL;
    return g_strndup(path, (gsize)(end - path - 1));
}

/* What the loader would load for it; it runs nothing of it. NULL: it does not say. */
static GPtrArray *libraries_of(const Executable *e)
{
    g_autofree char *path = g_canonicalize_filename(e->binary, NULL), *list = NULL;
    char *loader = (char *)executable_own_loader();
    char *argv[] = {loader, (char *)"--list", path, NULL};
    int status;
    if (!loader ||
        !g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &list, NULL,
                      &status, NULL) ||
        status != 0)
        return NULL;
    GPtrArray *libraries = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) lines = g_strsplit(list, "\n", -1);
    for (char **line = lines; *line; line++) {
        char *library = library_of(*line);
        if (library)
            g_ptr_array_add(libraries, library);
    }
    return libraries;
}

/* ---- words --------------------------------------------------------------------------------- */

static const struct {
    enum Imports way;
    const char *text;
} lines[] = {
    {IMPORTS_READ, "read(2) and the like, which --how preload serves: imported by"},
    {IMPORTS_STDIO, "stdio, which it leaves to the kernel: imported by"},
    {IMPORTS_MAPPING, "memory mappings, which it leaves to the kernel: imported by"},
    {IMPORTS_KERNEL, "copies in the kernel, which it leaves there: imported by"},
};
enum { LINES = ARRAY_SIZE(lines) };

static void add_file(GString *users[LINES], const char *path, unsigned ways)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < LINES; i++)
        if (ways & lines[i].way)
            g_string_append_printf(users[i], "%s %s", users[i]->len > 0 ? "," : "", name);
}

static char *lines_text(GString *users[LINES])
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < LINES; i++)
        if (users[i]->len > 0 || i == 0)
            g_string_append_printf(text, "%s%s\n", lines[i].text,
                                   users[i]->len > 0 ? users[i]->str : " none of its files");
    return g_string_free(text, FALSE);
}

char *reads_text(const Executable *e)
{
    GString *users[LINES];
    unsigned ways;
    g_autoptr(GPtrArray) libraries = libraries_of(e);
    bool good = libraries && imports_of_file(e->binary, &ways);
    if (!good)
        return NULL;
    for (size_t i = 0; i < LINES; i++)
        users[i] = g_string_new(NULL);
    add_file(users, e->binary, ways);
    for (guint i = 0; good && i < libraries->len; i++) {
        good = imports_of_file(libraries->pdata[i], &ways);
        add_file(users, libraries->pdata[i], good ? ways : 0);
    }
    char *text = good ? lines_text(users) : NULL;
    for (size_t i = 0; i < LINES; i++)
        (void)g_string_free(users[i], TRUE);
    return text;
}
