/* SPDX-License-Identifier: MIT */
#include "libdodo/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The path of all directories but dodo's own; these may be anybody's, as a home is where it is. */
static int base_path(char *out, size_t cap)
{
    const char *state = secure_getenv("XDG_STATE_HOME");
    if (state && *state == '/')
        return (size_t)snprintf(out, cap, "%s", state) < cap ? 0 : -ENAMETOOLONG;
    const char *home = secure_getenv("HOME");
    if (!home || *home != '/')
        return -ENOENT;
    return (size_t)snprintf(out, cap, "%s/.local/state", home) < cap ? 0 : -ENAMETOOLONG;
}

/* Makes what is missing of @path, from the root on. */
static void make_path(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
}

/* A directory of this user's alone, in @parent. */
static int open_own(int parent, const char *name)
{
    struct stat st;
    (void)mkdirat(parent, name, 0700);
    CLEANUP_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM;
    return STEAL_FD(fd);
}

int state_dir_open(const char *part)
{
    char path[PATH_MAX];
    int result = base_path(path, sizeof path);
    if (result < 0)
        return result;
    make_path(path);
    CLEANUP_CLOSE int base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return -errno;
    int own = open_own(base, "dodo");
    if (own < 0 || !part)
        return own;
    result = open_own(own, part);
    (void)close(own);
    return result;
}
