/* SPDX-License-Identifier: MIT */
#include "tools/beside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void beside_run(const char *const *places, char **argv, char path[PATH_MAX])
{
    char dir[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", dir, sizeof dir - 1);
    dir[len > 0 ? len : 0] = 0;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    for (; *places; places++) {
        const char *from = **places == '/' ? "" : dir, *between = *from ? "/" : "";
        if (snprintf(path, PATH_MAX, "%s%s%s", from, between, *places) < PATH_MAX)
            (void)execv(path, argv);
    }
}
