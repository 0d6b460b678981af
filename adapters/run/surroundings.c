/* SPDX-License-Identifier: MIT */
#include "adapters/run/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "adapters/run/namespace.h"
#include "adapters/run/preload.h"
#include "base/cleanup.h"

/* 0: it can be used; errno. */
static int try_fuse(void)
{
    CLEANUP_CLOSE int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    return fd < 0 ? errno : 0;
}

void surroundings_look(enum How how, Surroundings *ret)
{
    *ret = (Surroundings){.how = how, .uid = geteuid(), .gid = getegid()};
    if (how == HOW_PRELOAD || how == HOW_AUTO) {
        char *library CLEANUP_FREE = preload_library();
        ret->preload_error = library ? 0 : errno;
    }
}

void surroundings_try_mount(Surroundings *s)
{
    s->fuse_error = try_fuse();
    if (s->fuse_error == 0)
        s->namespace_error = namespace_try(verdict_mount_way(s->how, s->uid) == WAY_USER_NAMESPACE);
}
