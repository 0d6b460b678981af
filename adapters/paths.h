/* SPDX-License-Identifier: MIT */
#ifndef DODO_ADAPTERS_PATHS_H
#define DODO_ADAPTERS_PATHS_H

#include <string.h>

/* Where @path goes on below the directory @dir, without a leading "/": "" for @dir itself, NULL
 * where @path is not below it. Both are absolute, without symbolic links, ".." and a "/" at the end
 * (but for "/" itself). */
static inline const char *path_below(const char *dir, const char *path)
{
    size_t len = strlen(dir);
    len -= len == 1; /* "/" */
    if (strncmp(dir, path, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len + (path[len] == '/');
}

#endif
