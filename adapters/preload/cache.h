/* SPDX-License-Identifier: MIT */
/* The region cache of a program that knows nothing of it. */
#ifndef DODO_ADAPTERS_PRELOAD_CACHE_H
#define DODO_ADAPTERS_PRELOAD_CACHE_H

#include <stdbool.h>

#include "adapters/region_cache.h"

/* Loads it if need be: for the worker. NULL: it cannot be loaded. */
const CacheCalls *cache_calls(void);
/* NULL: nothing has been cached yet. */
const CacheCalls *cache_calls_if_loaded(void);
/* In a child of fork(2): whether the cache was made ready for this fork. Where another thread
 * loaded it after the fork had begun, it was not, and what the child has of it is the parent's. */
bool cache_heard_fork(void);
/* For fork: it is not half loaded then, in the child for good. */
void cache_lock(void);
void cache_unlock(void);

#endif
