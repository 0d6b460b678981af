/* SPDX-License-Identifier: MIT */
#include "adapters/mount/device.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

int device_try(void)
{
    CLEANUP_CLOSE int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    return fd < 0 ? errno : 0;
}
