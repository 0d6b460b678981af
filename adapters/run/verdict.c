/* SPDX-License-Identifier: MIT */
#include "adapters/run/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the program would have as a right that a user namespace does not give; NULL: nothing. */
static const char *right_lost(const Executable *e, const Surroundings *s)
{
    if (!s->user_namespace)
        return NULL;
    if (e->set_user && e->owner != s->uid)
        return "is set-user-ID";
    if (e->set_group && e->group != s->gid)
        return "is set-group-ID";
    return e->capabilities && s->uid != 0 ? "has file capabilities" : NULL;
}

static const char *namespace_fix(const Surroundings *s)
{
    if (!s->user_namespace)
        return "only root may make a mount namespace; other users use --how user-namespace, or";
    return "the system allows this user no user namespace (see sysctl user.max_user_namespaces, "
           "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns);";
}

static const char *fuse_fix(int error)
{
    if (error == EACCES || error == EPERM)
        return "allow this user or container to use it";
    return "load the kernel's module fuse, or give the container that device";
}

#define MOUNT_INSTEAD "dodo mount DIRECTORY MOUNTPOINT"

bool verdict_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap)
{
    const char *right = right_lost(e, s);
    if (e->error != 0)
        (void)snprintf(text, cap, "%s: %s", e->binary, strerror(e->error));
    else if (right)
        (void)snprintf(text, cap,
                       "%s %s, and would run without these rights in a user namespace; instead, "
                       "root shows the directory by `" MOUNT_INSTEAD
                       "`, and the program reads below MOUNTPOINT",
                       e->binary, right);
    else if (s->fuse_error != 0)
        (void)snprintf(text, cap,
                       "/dev/fuse: %s: %s; or, outside, show the directory by `" MOUNT_INSTEAD "`",
                       strerror(s->fuse_error), fuse_fix(s->fuse_error));
    else if (s->namespace_error != 0)
        (void)snprintf(text, cap, "no namespace: %s: %s use `" MOUNT_INSTEAD "` instead",
                       strerror(s->namespace_error), namespace_fix(s));
    else if (s->mount_failed)
        (void)snprintf(text, cap,
                       "the mount does not start, for the reason above: remove that, or run the "
                       "program without `dodo run`");
    else
        return false;
    return true;
}

const char *verdict_way(const Surroundings *s)
{
    return s->user_namespace ? "a mount namespace in a user namespace, which needs no root"
                             : "a mount namespace, which takes root";
}

const char *verdict_kind(const Executable *e)
{
    static const char *const kinds[] = {
        [EXECUTABLE_UNKNOWN] = "no binary of the kernel's own format",
        [EXECUTABLE_DYNAMIC] = "linked dynamically",
        [EXECUTABLE_STATIC] = "linked statically, as most Go programs are",
    };
    return kinds[e->kind];
}
