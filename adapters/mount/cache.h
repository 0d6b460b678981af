/* SPDX-License-Identifier: MIT */
/* The region cache of a mount. Thread-safe after cache_prepare(). */
#ifndef DODO_ADAPTERS_MOUNT_CACHE_H
#define DODO_ADAPTERS_MOUNT_CACHE_H

#include <stdint.h>

#include "adapters/region_cache.h"

#define CACHE_AS_CONFIGURED UINT64_MAX

/* Before anything is mounted at @mountpoint, an absolute path without links: a process whose own
 * libraries were read through its mount might wait for itself. If they are below that, they are
 * loaded now. @bytes: local memory, or CACHE_AS_CONFIGURED. */
void cache_prepare(const char *mountpoint, uint64_t bytes);
/* Loads it if need be; NULL: it cannot be loaded, which is logged once. */
const CacheCalls *cache_calls(void);
/* NULL: nothing has been cached yet. */
const CacheCalls *cache_calls_if_loaded(void);

#endif
