/* SPDX-License-Identifier: MIT */
/* The cache starts, when the process first needs it. */
#include "libmanage/shell_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"
#include "libmanage/pages.h"

enum {
    COPY_BYTES = 1 << 20,
    COPY_ROUNDS = 3,
    ON_THE_WAY_PART = 8, /* of the cache's memory, at most, for what is on its way, unasked */
};

static ManagePreset preset; /* under start_lock */

/* What it costs to copy a byte here: a file that is not more expensive is not worth caching. The
 * memory for this is not the heap's: after so large a block was freed, malloc takes all large
 * blocks from the heap, where they take their memory at once and keep it. */
static void measure_copy(Cache *c)
{
    uint8_t *from = manage_pages.map(2 * COPY_BYTES);
    if (!from)
        return;
    uint8_t *to = from + COPY_BYTES;
    memset(from, 1, 2 * COPY_BYTES);
    for (unsigned i = 0; i < COPY_ROUNDS; i++) {
        uint64_t start = os_now_ns();
        memcpy(to, from, COPY_BYTES);
        __asm__ volatile("" : : "r"(to) : "memory"); /* or it would not be copied at all */
        cache_copy_cost(c, COPY_BYTES, os_now_ns() - start);
    }
    manage_pages.unmap(from, 2 * COPY_BYTES);
}

static void configure(const ManageSettings *s, CacheConfig *config)
{
    cache_config_init(config, s->cache_bytes);
    if (s->readahead_bytes != UINT64_MAX)
        config->readahead_bytes = s->readahead_bytes;
    if (s->cluster) { /* a part that is filled, and the piece of it that is being read */
        uint64_t on_the_way = config->extent_bytes + config->extent_bytes / 2;
        config->limit_bytes -= min_u64(on_the_way, config->limit_bytes / ON_THE_WAY_PART);
    }
    config->lets_go = true;
    config->pages = &manage_pages;
    config->remote = s->cluster;
}

static int manage_start(Manage **ret, char *error)
{
    CacheConfig config;
    Manage *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int result = manage_settings_load(&m->settings, &preset, error);
    if (result < 0) {
        free(m);
        return result;
    }
    const CacheHooks hooks = manage_hooks(m);
    (void)pthread_mutex_init(&m->lock, NULL);
    (void)pthread_mutex_init(&m->work_lock, NULL);
    (void)pthread_cond_init(&m->work, NULL);
    configure(&m->settings, &config);
    m->cache = cache_new(&config, &hooks);
    if (!m->cache) {
        free(m);
        return -ENOMEM;
    }
    m->pid = getpid();
    measure_copy(m->cache);
    *ret = m;
    return 0;
}

int manage_get(Manage **ret, char error[MANAGE_SETTINGS_ERROR_MAX])
{
    int result = 0;
    *error = '\0';
    *ret = manage_running;
    if (*ret)
        return 0;
    (void)pthread_mutex_lock(&manage_start_lock);
    *ret = manage_running;
    if (!*ret)
        result = manage_start(ret, error);
    if (result == 0)
        manage_running = *ret;
    (void)pthread_mutex_unlock(&manage_start_lock);
    return result;
}

int manage_preset(enum manage_option option, uint64_t value)
{
    (void)pthread_mutex_lock(&manage_start_lock);
    int result = manage_running ? -EBUSY : 0;
    if (result == 0 && option == MANAGE_CACHE_BYTES) {
        preset.cache = true;
        preset.cache_bytes = value;
    } else if (result == 0) {
        preset.readahead = true;
        preset.readahead_bytes = value;
    }
    (void)pthread_mutex_unlock(&manage_start_lock);
    return result;
}
