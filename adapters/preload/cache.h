/* SPDX-License-Identifier: MIT */
/* The region cache of a program that knows nothing of it. */
#ifndef DODO_ADAPTERS_PRELOAD_CACHE_H
#define DODO_ADAPTERS_PRELOAD_CACHE_H

#include "adapters/region_cache.h"

/* Loads it if need be: for the worker. NULL: it cannot be loaded. */
const CacheCalls *cache_calls(void);
/* NULL: nothing has been cached yet. */
const CacheCalls *cache_calls_if_loaded(void);
/* For fork: it is not half loaded then, in the child for good. */
void cache_lock(void);
void cache_unlock(void);

#endif
