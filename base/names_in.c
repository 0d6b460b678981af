/* SPDX-License-Identifier: MIT */
#include "base/names_in.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

void names_in(int dir, unsigned most, void (*look)(void *ctx, int dir, const char *name), void *ctx)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (!d) {
        if (again >= 0)
            (void)close(again);
        return;
    }
    const struct dirent *e;
    for (unsigned i = 0; i < most && (e = readdir(d)); i++)
        if (e->d_name[0] != '.')
            look(ctx, dir, e->d_name);
    (void)closedir(d);
}
