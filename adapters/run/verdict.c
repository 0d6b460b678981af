/* SPDX-License-Identifier: MIT */
#include "adapters/run/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "adapters/mount/refused.h"
#include "base/cleanup.h"

/* ---- the way ------------------------------------------------------------------------------- */

bool verdict_how(const char *text, enum How *ret)
{
    static const char *const words[] = {
        [HOW_AUTO] = "auto",           [HOW_MOUNT] = "mount",
        [HOW_NAMESPACE] = "namespace", [HOW_USER_NAMESPACE] = "user-namespace",
        [HOW_PRELOAD] = "preload",
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = (enum How)i;
            return true;
        }
    }
    return false;
}

enum Way verdict_mount_way(enum How how, uid_t uid)
{
    bool user = how == HOW_USER_NAMESPACE || (how != HOW_NAMESPACE && uid != 0);
    return user ? WAY_USER_NAMESPACE : WAY_NAMESPACE;
}

/* A right that the program has from its file, and the user has not; NULL: none. */
static const char *right_of(const Executable *e, const Surroundings *s)
{
    if (e->set_user && e->owner != s->uid)
        return "is set-user-ID";
    if (e->set_group && e->group != s->gid)
        return "is set-group-ID";
    return e->capabilities && s->uid != 0 ? "has file capabilities" : NULL;
}

const char *verdict_unreached(const Executable *e, const Surroundings *s)
{
    const char *right = right_of(e, s);
    if (right)
        return right;
    if (e->kind == EXECUTABLE_STATIC)
        return "is linked statically, as most Go programs are";
    return e->foreign ? "is started by another loader, of another C library or word size" : NULL;
}

enum Way verdict_way(const Executable *e, const Surroundings *s)
{
    bool preload = s->preload_error == 0 && !verdict_unreached(e, s);
    if (s->how == HOW_PRELOAD || (s->how == HOW_AUTO && preload))
        return WAY_PRELOAD;
    return verdict_mount_way(s->how, s->uid);
}

/* ---- obstacles ----------------------------------------------------------------------------- */

#define MOUNT_INSTEAD "dodo mount DIRECTORY MOUNTPOINT"

static const char *namespace_fix(const Surroundings *s)
{
    if (verdict_mount_way(s->how, s->uid) == WAY_NAMESPACE)
        return "only root may make a mount namespace; other users use --how mount, or";
    return "the system allows this user no user namespace (see sysctl user.max_user_namespaces, "
           "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns);";
}

/* Why there is no mount and what to do, in @text; false: nothing is in its way. */
static bool no_mount_text(const Surroundings *s, char *text, size_t cap)
{
    char device[200];
    if (s->fuse_error != 0) {
        refused_device_text(s->fuse_error, device, sizeof device);
        (void)snprintf(text, cap, "%s; or, outside, show the directory by `" MOUNT_INSTEAD "`",
                       device);
    } else if (s->namespace_error != 0) {
        (void)snprintf(text, cap, "no namespace: %s: %s use `" MOUNT_INSTEAD "` instead",
                       strerror(s->namespace_error), namespace_fix(s));
    } else {
        return false;
    }
    return true;
}

/* Where there is no mount, and HOW_AUTO has found no other way: why not, for the end of a line. */
static void neither_text(const Executable *e, const Surroundings *s, char *text, size_t cap)
{
    const char *unreached = verdict_unreached(e, s);
    *text = 0;
    if (s->how == HOW_AUTO && unreached)
        (void)snprintf(text, cap, "; nor does LD_PRELOAD reach %s: it %s", e->binary, unreached);
    else if (s->how == HOW_AUTO)
        (void)snprintf(text, cap, "; nor is there libdodo-preload.so: %s",
                       strerror(s->preload_error));
}

static bool mount_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap)
{
    char why[500], neither[PATH_MAX + 200];
    const char *right =
        verdict_mount_way(s->how, s->uid) == WAY_USER_NAMESPACE ? right_of(e, s) : NULL;
    if (right) {
        (void)snprintf(text, cap,
                       "%s %s, and would run without these rights in a user namespace; instead, "
                       "root shows the directory by `" MOUNT_INSTEAD
                       "`, and the program reads below MOUNTPOINT",
                       e->binary, right);
        return true;
    }
    neither_text(e, s, neither, sizeof neither);
    if (no_mount_text(s, why, sizeof why))
        (void)snprintf(text, cap, "%s%s", why, neither);
    else if (s->mount_failed)
        (void)snprintf(text, cap,
                       "the mount does not start, for the reason above: remove that, or run the "
                       "program without `dodo run`");
    else
        return false;
    return true;
}

static bool preload_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap)
{
    const char *unreached = verdict_unreached(e, s);
    if (s->preload_error != 0)
        (void)snprintf(text, cap, "libdodo-preload.so: %s: install it, or take another --how",
                       strerror(s->preload_error));
    else if (unreached)
        (void)snprintf(text, cap,
                       "%s %s: LD_PRELOAD does not reach it, and it would read plainly; a mount "
                       "reaches it: take another --how, or `" MOUNT_INSTEAD
                       "`, and the program reads below MOUNTPOINT",
                       e->binary, unreached);
    else
        return false;
    return true;
}

bool verdict_obstacle(const Executable *e, const Surroundings *s, char *text, size_t cap)
{
    if (e->error != 0) {
        (void)snprintf(text, cap, "%s: %s", e->binary, strerror(e->error));
        return true;
    }
    return verdict_way(e, s) == WAY_PRELOAD ? preload_obstacle(e, s, text, cap)
                                            : mount_obstacle(e, s, text, cap);
}

/* ---- words --------------------------------------------------------------------------------- */

const char *verdict_way_text(enum Way way)
{
    static const char *const texts[] = {
        [WAY_NAMESPACE] = "in a mount namespace, which takes root",
        [WAY_USER_NAMESPACE] = "in a mount namespace in a user namespace, which needs no root",
        [WAY_PRELOAD] = "with a library that LD_PRELOAD names, which needs no rights",
    };
    return texts[way];
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
