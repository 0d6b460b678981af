/* SPDX-License-Identifier: MIT */
#include "adapters/run/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapters/run/namespace.h"
#include "adapters/run/verdict.h"
#include "base/cleanup.h"

/* 0: it can be used; errno. */
static int try_fuse(void)
{
    CLEANUP_CLOSE int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    return fd < 0 ? errno : 0;
}

static bool try_mounts(const MountOptions *o, const GPtrArray *dirs)
{
    g_autofree StartedMount *mounts = g_new0(StartedMount, dirs->len + 1);
    guint count = 0;
    while (count < dirs->len && mounts_start(o, dirs->pdata[count], &mounts[count]))
        count++;
    mounts_end(mounts, count);
    return count == dirs->len;
}

static void print_way(const Executable *e, const Surroundings *where, const GPtrArray *dirs)
{
    printf("yes: %s would run in %s\n", e->path, verdict_way(where));
    printf("%s is %s; that does not matter, as it reads through a mount\n", e->binary,
           verdict_kind(e));
    for (guint i = 0; i < dirs->len; i++)
        printf("through the cache: %s\n", (const char *)dirs->pdata[i]);
    if (dirs->len == 0)
        printf("nothing would go through the cache: name a directory by --dir\n");
}

bool check_program(const MountOptions *o, bool user, const GPtrArray *dirs, const char *name)
{
    Executable e;
    char text[PATH_MAX + 512];
    Surroundings where = {.user_namespace = user, .uid = geteuid(), .gid = getegid()};
    executable_look(name, getenv("PATH"), &e);
    where.fuse_error = try_fuse();
    if (!verdict_obstacle(&e, &where, text, sizeof text)) {
        where.namespace_error = namespace_enter(user) ? 0 : errno;
        where.mount_failed = where.namespace_error == 0 && !try_mounts(o, dirs);
    }
    bool obstacle = verdict_obstacle(&e, &where, text, sizeof text);
    if (obstacle)
        printf("no: %s\n", text);
    else
        print_way(&e, &where, dirs);
    return !obstacle;
}
