/* SPDX-License-Identifier: MIT */
/* The cache's own threads, where there is no memory for one; and what the program's have of it. */
#include <stdbool.h>
#include <stdlib.h>

/* Theirs alone. */
static bool no_memory;
static void *calloc_or_fail(size_t n, size_t size)
{
    return no_memory ? NULL : calloc(n, size);
}
#define calloc calloc_or_fail
#include "libmanage/workers.c"
#undef calloc

#include "tests/lib/case.h"

enum { CACHE_BYTES = 1 << 20 };

/* Its threads never end. */
static Manage m = {.lock = PTHREAD_MUTEX_INITIALIZER,
                   .work_lock = PTHREAD_MUTEX_INITIALIZER,
                   .work = PTHREAD_COND_INITIALIZER};

static bool wake(void)
{
    uint64_t works;
    return manage_workers_wake(&m, &works);
}

static void make_cache(Manage *of)
{
    const CacheHooks hooks = manage_hooks(of);
    CacheConfig config;
    cache_config_init(&config, CACHE_BYTES);
    of->cache = cache_new(&config, &hooks);
    assert_non_null(of->cache);
}

/* The core leaves the work to a worker where it hears of one. */
TEST(worker__no_memory)
{
    make_cache(&m);

    no_memory = true;
    for (unsigned i = 0; i < 2 * WORKERS; i++)
        assert_false(wake());
    no_memory = false;
    assert_true(wake());
}

/* One that starts no threads. */
static Manage idle = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .work_lock = PTHREAD_MUTEX_INITIALIZER,
                      .work = PTHREAD_COND_INITIALIZER};

static void *take_lane(void *ret)
{
    *(struct Lane **)ret = manage_lane(&idle)->lane;
    return NULL;
}

/* A thread that ends gives its lane back, so that a program of many short threads has few. */
TEST(lane__is_the_next_threads)
{
    enum { THREADS = 4 };
    struct Lane *lanes[THREADS] = {NULL}, *own;
    make_cache(&idle);
    manage_running = &idle;
    (void)take_lane(&own);
    assert_non_null(own);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_lane, &lanes[i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_non_null(lanes[i]);
        assert_ptr_not_equal(lanes[i], own);
        assert_ptr_equal(lanes[i], lanes[0]);
    }
    manage_running = NULL;
    cache_lane_give(idle.cache, own);
    idle.cache = cache_free(idle.cache);
}
