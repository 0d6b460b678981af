/* SPDX-License-Identifier: MIT */
/* dodo: becomes the program that has the subcommand. `dodo run` is started often, for programs that
 * may be short, so this one has none of the libraries that the others need, and loads that one. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/beside.h"
#include "tools/external.h"

enum { EXIT_MISSING = 1 };

static int missing(const char *command, const char *path, const char *package)
{
    (void)fprintf(stderr, "dodo%s%s: %s: %s; it is in the package %s\n", *command ? " " : "",
                  command, path, strerror(errno), package);
    return EXIT_MISSING;
}

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < externals_count; i++) {
        const External *e = &externals[i];
        if (strcmp(e->name, name) == 0) {
            if (e->entry)
                beside_load(e->places, e->entry, argv + 1, path);
            else
                beside_run(e->places, argv + 1, path);
            return missing(name, path, e->package);
        }
    }
    static const char *const places[] = {"dodo-tools", DODO_LIBEXEC_FROM_BIN "/dodo-tools",
                                         DODO_LIBEXEC "/dodo-tools", NULL};
    beside_run(places, argv, path);
    return missing("", path, "dodo-tools");
}
