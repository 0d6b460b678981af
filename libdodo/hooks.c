/* SPDX-License-Identifier: MIT */
/* The core of the library, and what it has the process do: lock, wake, close files, log. */
#include <pthread.h>
#include <sys/eventfd.h>

#include "base/memory_limit.h"
#include "libdodo/queue.h"
#include "libdodo/random.h"
#include "libdodo/runtime_private.h"
#include "libdodo/share_map.h"

enum { REFRACTION_MAX_S = 60 }; /* the refraction period doubles up to it */

static void hook_lock(void *ctx)
{
    (void)pthread_mutex_lock(&((Runtime *)ctx)->waker.lock);
}

/* What the core has counted is in the process's page before others may count on. */
static void hook_unlock(void *ctx)
{
    Runtime *rt = ctx;
    ProgramFigures figures;
    ProgramPart *part = atomic_load_explicit(&rt->part, memory_order_acquire);
    if (part && client_figures(rt->client, &figures))
        program_part_write(part, &figures);
    (void)pthread_mutex_unlock(&((Runtime *)ctx)->waker.lock);
}

static void hook_wake(void *ctx)
{
    waker_wake(&((Runtime *)ctx)->waker);
}

static void hook_wake_background(void *ctx)
{
    (void)eventfd_write(((Runtime *)ctx)->background_fd, 1);
}

static void hook_file_release(void *ctx, void *file)
{
    if (!((Runtime *)ctx)->forked)
        file_close(file);
}

static void hook_share_end(void *ctx, Share *share)
{
    if (!((Runtime *)ctx)->forked)
        share_map_end(share);
}

static void hook_log(void *ctx, int level, const char *text)
{
    (void)ctx;
    log_line(level, text);
}

static bool hook_log_wanted(void *ctx, int level)
{
    (void)ctx;
    return log_wanted(level);
}

static void hook_resolve(void *ctx)
{
    names_resolve(((Runtime *)ctx)->names);
}

/* Shared maps are memory of the control group, and the kernel kills where that has none left. Of
 * its limit they take one part. */
enum { SHARED_PARTS = 16 };

Client *runtime_client_new(Runtime *rt, const Finder *finder)
{
    const Settings *s = &rt->settings;
    ClientConfig config = {
        .finder = finder,
        .self = rt->self,
        .refraction_ns = s->refraction_ns,
        .refraction_max_ns = REFRACTION_MAX_S * NS_PER_S,
        .transfer_deadline_ns = s->transfer_deadline_ns,
        .alive_ns = s->alive_ns,
        .reopen_ns = s->reopen_ns,
        .request = {s->request_retry_ns, s->request_retry_max_ns, s->request_deadline_ns},
        .credit_cap_bytes = s->receive_bytes / 4,
        .regions_max = (unsigned)s->regions_max,
        .fill_queue_bytes = s->fill_queue_bytes,
        .generation = runtime_generation,
        .stripe_bytes = s->stripe_bytes,
        .block_sum = s->verify ? blocksum_fastest() : NULL,
        .loopback_only = s->keys_count == 0 && !s->insecure,
    };
    ClientHooks hooks = {.lock = hook_lock,
                         .unlock = hook_unlock,
                         .wake = hook_wake,
                         .wake_background = hook_wake_background,
                         .file_release = hook_file_release,
                         .share_end = s->share ? hook_share_end : NULL,
                         .log = hook_log,
                         .log_wanted = hook_log_wanted,
                         .resolve = rt->names ? hook_resolve : NULL,
                         .ctx = rt};
    share_map_cluster(s);
    share_map_limit(memory_limit_bytes() / SHARED_PARTS);
    Env env = {.random = random_bytes};
    return client_new(&config, &env, &hooks);
}
