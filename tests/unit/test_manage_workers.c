/* SPDX-License-Identifier: MIT */
/* The cache's own threads, where there is no memory for one. */
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

/* The core leaves the work to a worker where it hears of one. */
TEST(worker__no_memory)
{
    const CacheHooks hooks = manage_hooks(&m);
    CacheConfig config;
    cache_config_init(&config, CACHE_BYTES);
    m.cache = cache_new(&config, &hooks);
    assert_non_null(m.cache);

    no_memory = true;
    for (unsigned i = 0; i < 2 * WORKERS; i++)
        assert_false(wake());
    no_memory = false;
    assert_true(wake());
}
