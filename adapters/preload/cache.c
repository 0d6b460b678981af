/* SPDX-License-Identifier: MIT */
#include "adapters/preload/cache.h"

#include <pthread.h>
#include <stdatomic.h>

#include "adapters/preload/own.h"
#include "adapters/preload/report.h"

static CacheCalls calls;
static atomic_bool loaded;
static bool failed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* This thread's forks call the handlers of the cache, which are older than this one. */
static _Thread_local bool heard;

static void fork_heard(void)
{
    heard = true;
}

static bool load(void)
{
    if (region_cache_load(&calls, &calls) != NULL)
        return false;
    (void)pthread_atfork(fork_heard, NULL, NULL);
    own_code_add((const void *)calls.cread);
    own_code_add((const void *)calls.version);
    calls.descriptors(own_place());
    report_at_exit(); /* before the cache ends */
    return true;
}

const CacheCalls *cache_calls(void)
{
    cache_lock();
    if (!loaded && !failed) {
        loaded = load();
        failed = !loaded;
    }
    cache_unlock();
    return cache_calls_if_loaded();
}

bool cache_heard_fork(void)
{
    return !loaded || heard;
}

void cache_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

void cache_unlock(void)
{
    (void)pthread_mutex_unlock(&lock);
}

const CacheCalls *cache_calls_if_loaded(void)
{
    return loaded ? &calls : NULL;
}
