/* SPDX-License-Identifier: MIT */
#ifndef DODO_ADAPTERS_PATHS_H
#define DODO_ADAPTERS_PATHS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* What file @path is now, as text: "DEVICE:INODE". False: there is none. */
enum { PATH_FILE_MAX = 48 };
static inline bool path_file(const char *path, char text[PATH_FILE_MAX])
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    (void)snprintf(text, PATH_FILE_MAX, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return true;
}

#endif
