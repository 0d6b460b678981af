/* SPDX-License-Identifier: MIT */
#include "adapters/run/surroundings.h"

#include <errno.h>
#include <unistd.h>

#include "adapters/mount/device.h"
#include "adapters/run/namespace.h"
#include "adapters/run/preload.h"
#include "base/cleanup.h"

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
    s->fuse_error = device_try();
    if (s->fuse_error == 0)
        s->namespace_error = namespace_try(verdict_mount_way(s->how, s->uid) == WAY_USER_NAMESPACE);
}
