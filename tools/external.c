/* SPDX-License-Identifier: MIT */
#include "tools/external.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/start.h"

const External externals[] = {
    {"mount", "Show a directory, its files cached, until SIGTERM", "dodo-mount"},
    {"run", "Run a program that reads its files through the cache", "dodo-mount"},
};
const size_t externals_count = ARRAY_SIZE(externals);

/* The one that was built with this program, or the installed one. */
static char *find(const External *e)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(self ? self : "/");
    g_autofree char *name = g_strconcat("dodo-", e->name, NULL);
    char *built = g_build_filename(dir, "..", "adapters", e->name, name, NULL);
    if (g_file_test(built, G_FILE_TEST_IS_EXECUTABLE))
        return built;
    g_free(built);
    return g_build_filename(DODO_LIBEXEC, name, NULL);
}

int external_run(const External *e, char **argv)
{
    g_autofree char *path = find(e);
    (void)execv(path, argv);
    int error = errno;
    (void)fprintf(stderr, "dodo %s: %s: %s; it is in the package %s\n", e->name, path,
                  strerror(error), e->package);
    return EXIT_START;
}
