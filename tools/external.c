/* SPDX-License-Identifier: MIT */
#include "tools/external.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/program.h"
#include "daemon/start.h"

const External externals[] = {
    {"mount", "Show a directory, its files cached, until SIGTERM", "dodo-mount"},
    {"run", "Run a program that reads its files through the cache", "dodo-mount"},
};
const size_t externals_count = ARRAY_SIZE(externals);

static char *find(const External *e)
{
    g_autofree char *built = g_strdup_printf("../adapters/%s/dodo-%s", e->name, e->name);
    g_autofree char *beside = g_strdup_printf(DODO_LIBEXEC_FROM_BIN "/dodo-%s", e->name);
    g_autofree char *installed = g_strdup_printf(DODO_LIBEXEC "/dodo-%s", e->name);
    const char *const places[] = {built, beside, installed, NULL};
    return program_find(places);
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
