/* SPDX-License-Identifier: MIT */
/* File systems whose files only this host writes, and never beside a lease. On others a lease says
 * nothing of other hosts, or not all of this one. */
#ifndef DODO_ADAPTERS_MOUNT_FILESYSTEMS_H
#define DODO_ADAPTERS_MOUNT_FILESYSTEMS_H

#include <stdbool.h>

/* Of the file system that @fd is on. Unknown ones are not. */
bool filesystem_is_local(int fd);
/* Of a type as statfs(2) tells it. */
bool filesystem_type_is_local(unsigned long type);

#endif
