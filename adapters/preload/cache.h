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
/* The worker is loading it. In a process that is forked now it stays half loaded. */
bool cache_is_loading(void);

#endif
