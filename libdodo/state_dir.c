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

/* The path of all directories but dodo's own; these may be anybody's, as a home is where it is. The
 * first @given bytes of it are not made where they are missing: a home that is not there, as
 * /nonexistent, shall not be. */
static int base_path(char *out, size_t cap, size_t *given)
{
    const char *state = secure_getenv("XDG_STATE_HOME");
    *given = 0;
    if (state && *state == '/')
        return (size_t)snprintf(out, cap, "%s", state) < cap ? 0 : -ENAMETOOLONG;
    const char *home = secure_getenv("HOME");
    if (!home || *home != '/')
        return -ENOENT;
    *given = strlen(home);
    return (size_t)snprintf(out, cap, "%s/.local/state", home) < cap ? 0 : -ENAMETOOLONG;
}

/* Why @path in @dir is not there, if nobody could make it; 0: it is. */
static int make(int dir, const char *path)
{
    if (mkdirat(dir, path, 0700) == 0 || errno == EEXIST)
        return 0;
    return errno == ENOENT ? -EACCES : -errno; /* as in /proc: what lacks is not HOME itself */
}

/* Makes what is missing of @path, behind the first @given bytes. 0, or why the first could not be
 * made. */
static int make_path(char *path, size_t given)
{
    int first = 0;
    for (char *at = path + given + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        int made = make(AT_FDCWD, path);
        first = first < 0 ? first : made;
        *at = '/';
    }
    int made = make(AT_FDCWD, path);
    return first < 0 ? first : made;
}

/* @made says more than that it is not there. */
static int open_errno(int made)
{
    return errno == ENOENT && made < 0 ? made : -errno;
}

int state_dir_judge(int dir)
{
    struct stat st;
    if (fstat(dir, &st) < 0)
        return -errno;
    return st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

int state_dir_own(int parent, const char *name)
{
    int made = make(parent, name);
    CLEANUP_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return open_errno(made);
    int result = state_dir_judge(fd);
    return result < 0 ? result : STEAL_FD(fd);
}

int state_dir_open(const char *part)
{
    char path[PATH_MAX];
    size_t given;
    int result = base_path(path, sizeof path, &given);
    if (result < 0)
        return result;
    int made = make_path(path, given);
    CLEANUP_CLOSE int base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return open_errno(made);
    int own = state_dir_own(base, "dodo");
    if (own < 0 || !part)
        return own;
    result = state_dir_own(own, part);
    (void)close(own);
    return result;
}
