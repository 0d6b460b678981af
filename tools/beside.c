/* SPDX-License-Identifier: MIT */
#include "tools/beside.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory of this program. */
static void directory(char dir[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
    dir[len > 0 ? len : 0] = 0;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
}

/* False: it would be too long. */
static bool path_make(const char *dir, const char *place, char path[PATH_MAX])
{
    const char *from = *place == '/' ? "" : dir, *between = *from ? "/" : "";
    return snprintf(path, PATH_MAX, "%s%s%s", from, between, place) < PATH_MAX;
}

void beside_run(const char *const *places, char **argv, char path[PATH_MAX])
{
    char dir[PATH_MAX];
    directory(dir);
    for (; *places; places++)
        if (path_make(dir, *places, path))
            (void)execv(path, argv);
}

static int count(char **argv)
{
    int n = 0;
    while (argv[n])
        n++;
    return n;
}

void beside_load(const char *const *places, const char *entry, char **argv, char path[PATH_MAX])
{
    typedef int Main(int argc, char **argv);
    char dir[PATH_MAX];
    directory(dir);
    for (; *places; places++) {
        if (!path_make(dir, *places, path) || access(path, R_OK) < 0)
            continue;
        void *program = dlopen(path, RTLD_NOW);
        Main *run = NULL;
        if (program)
            *(void **)&run = dlsym(program, entry); /* as POSIX has it */
        if (run)
            exit(run(count(argv), argv));
        (void)fprintf(stderr, "dodo: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
}
