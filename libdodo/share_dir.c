/* SPDX-License-Identifier: MIT */
#include "libdodo/share_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libdodo/state_dir.h"

static const char maps[] = "shared", pages[] = "programs";
static char known[PATH_MAX]; /* the one that was chosen; empty: none was */

/* Of a kind on which all processes of this host see the same, at once, and on which room that was
 * allocated is there for each store: on Btrfs a store may find the disk full. */
static bool is_local(int dir)
{
    static const int64_t kinds[] = {0xEF53 /* ext4 */, 0x58465342 /* XFS */,
                                    0x01021994 /* tmpfs */};
    struct statfs fs;
    if (fstatfs(dir, &fs) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if ((int64_t)fs.f_type == kinds[i])
            return true;
    return false;
}

/* @parent/@part, if it is of such a kind. */
static int open_shared(int parent, const char *part)
{
    CLEANUP_CLOSE int shared = parent < 0 ? parent : state_dir_own(parent, part);
    if (shared < 0)
        return shared;
    return is_local(shared) ? STEAL_FD(shared) : -EOPNOTSUPP;
}

/* @base/@own/@part. In a directory for all, @own may be another user's. */
static int open_at(const char *base, const char *own, const char *part)
{
    CLEANUP_CLOSE int at = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    CLEANUP_CLOSE int dir = state_dir_own(at, own);
    return open_shared(dir, part);
}

static bool runtime_base(char *out, size_t cap)
{
    const char *given = secure_getenv("XDG_RUNTIME_DIR");
    int len = given && *given == '/' ? snprintf(out, cap, "%s", given)
                                     : snprintf(out, cap, "/run/user/%u", geteuid());
    return (size_t)len < cap;
}

/* One of those in memory, and its path. */
static int open_in_memory(const char *part, char *ret, size_t cap)
{
    char base[PATH_MAX - 32], own[32];
    int dir = runtime_base(base, sizeof base) ? open_at(base, "dodo", part) : -ENAMETOOLONG;
    (void)snprintf(ret, cap, "%s/dodo/%s", base, part);
    if (dir >= 0)
        return dir;
    (void)snprintf(own, sizeof own, "dodo-%u", geteuid());
    (void)snprintf(ret, cap, "/dev/shm/%s/%s", own, part);
    return open_at("/dev/shm", own, part);
}

/* That on disk is looked for each time: the way is long, but its disk takes longer. */
static int choose(void)
{
    int dir = open_in_memory(maps, known, sizeof known);
    if (dir >= 0)
        return dir;
    *known = '\0';
    CLEANUP_CLOSE int state = state_dir_open(NULL);
    return open_shared(state, maps);
}

static int open_known(void)
{
    CLEANUP_CLOSE int dir = open(known, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir >= 0 && state_dir_judge(dir) == 0 && is_local(dir) ? STEAL_FD(dir) : -ENOENT;
}

int share_dir_open(void)
{
    int dir = *known ? open_known() : -ENOENT;
    return dir >= 0 ? dir : choose();
}

int share_dir_programs(char *ret_path, size_t cap)
{
    return open_in_memory(pages, ret_path, cap);
}
