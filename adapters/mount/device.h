/* SPDX-License-Identifier: MIT */
#ifndef DODO_ADAPTERS_MOUNT_DEVICE_H
#define DODO_ADAPTERS_MOUNT_DEVICE_H

/* Opens /dev/fuse, and closes it. 0: it can be used; errno. */
int device_try(void);

#endif
