/* SPDX-License-Identifier: MIT */
#include "adapters/preload/cache.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "adapters/preload/own.h"
#include "adapters/preload/report.h"

static CacheCalls calls;
static atomic_bool loaded;
static atomic_bool loading;
static bool failed;

static bool load(void)
{
    if (region_cache_load(&calls, &calls) != NULL)
        return false;
    own_code_add((const void *)calls.cread);
    own_code_add((const void *)calls.version);
    calls.descriptors(own_floor(), own_add);
    report_at_exit(); /* before the cache ends */
    return true;
}

const CacheCalls *cache_calls(void)
{
    if (!loaded && !failed) {
        loading = true;
        loaded = load();
        failed = !loaded;
        loading = false;
    }
    return cache_calls_if_loaded();
}

bool cache_is_loading(void)
{
    return loading;
}

const CacheCalls *cache_calls_if_loaded(void)
{
    return loaded ? &calls : NULL;
}
