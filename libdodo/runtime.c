/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/os.h"
#include "base/polling.h"
#include "base/time.h"
#include "dodo/dodo.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/names.h"
#include "libdodo/queue.h"
#include "libdodo/random.h"
#include "libdodo/runtime_private.h"
#include "libdodo/share_map.h"

enum { REFRACTION_MAX_S = 60 }; /* the refraction period doubles up to it */

void runtime_run(Runtime *rt, Link *link, Call *call)
{
    link_run(&rt->waker, link, call);
}

/* ---- the core's hooks ----------------------------------------------------------------------- */

static void hook_lock(void *ctx)
{
    (void)pthread_mutex_lock(&((Runtime *)ctx)->waker.lock);
}

static void hook_unlock(void *ctx)
{
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

/* A NamesTellFn; also where the library starts. */
static void log_names(const Resolved *found)
{
    char text[RESOLVE_ERROR_MAX + 64];
    if (!*found->error)
        return;
    (void)snprintf(text, sizeof text, "manager_not_resolved error=\"%s\"", found->error);
    log_line(DODO_LOG_WARN, text);
}

/* The first link had no raw frames: all goes by UDP, and no other link asks for them. */
static void log_raw(const char *interface, int error)
{
    char text[256];
    (void)snprintf(text, sizeof text, "no_raw_frames interface=%s error=\"%s\" fix=\"%s\"",
                   interface, strerrordesc_np(-error), transport_raw_advice(error));
    log_line(DODO_LOG_WARN, text);
}

static void on_names(void *ctx, const Resolved *found)
{
    client_found(((Runtime *)ctx)->client, found->found, found->count);
}

/* ---- the background ------------------------------------------------------------------------- */

static void *background_main(void *arg)
{
    Runtime *rt = arg;
    Link *link = rt->background;
    eventfd_t count;
    for (;;) {
        gate_enter();
        uint64_t deadline = link_turn(link);
        gate_leave();
        if (rt->stop)
            return NULL;
        link_wait(link, rt->background_fd, deadline);
        (void)eventfd_read(rt->background_fd, &count);
    }
}

static int background_make(Runtime *rt)
{
    rt->background = link_new(rt->client, &rt->settings, &rt->self, 1, true);
    if (!rt->background)
        return -ENOMEM;
    file_worker_init(&rt->background->worker, rt->background_fd);
    client_receive_granted(rt->client, rt->background->batches.transport->receive_bytes);
    return 0;
}

/* Not before it is needed: system calls on descriptors are cheaper in a process of one thread. */
static int background_start(Runtime *rt)
{
    int result = os_thread_start(&rt->thread, background_main, rt);
    rt->serving = result == 0;
    return result;
}

/* When the library is loaded, so that it sees every fork. */
__attribute__((constructor)) static void at_load(void)
{
    runtime_watch_forks();
}

/* ---- starting ------------------------------------------------------------------------------- */

static Client *client_make(Runtime *rt, const Finder *finder)
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
    Env env = {.random = random_bytes};
    return client_new(&config, &env, &hooks);
}

static Runtime *runtime_new(void)
{
    static _Atomic uint64_t lives;
    Runtime *rt = calloc(1, sizeof *rt);
    if (!rt)
        return NULL;
    rt->life = atomic_fetch_add(&lives, 1) + 1;
    (void)waker_init(&rt->waker);
    rt->waker.help = queue_help_all;
    (void)pthread_mutex_init(&rt->pool_lock, NULL);
    (void)pthread_cond_init(&rt->returned, NULL);
    rt->background_fd = -1;
    rt->pid = getpid();
    random_bytes(NULL, &rt->self, sizeof rt->self);
    return rt;
}

/* With a link, so that no call fails later because there is no socket. */
static int runtime_begin(Runtime *rt, const Finder *finder)
{
    rt->background_fd = os_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    rt->names = names_new(&rt->settings, on_names, rt, log_names);
    rt->client = client_make(rt, finder);
    rt->all = rt->client ? link_new(rt->client, &rt->settings, &rt->self, 1, false) : NULL;
    if (rt->background_fd < 0 || !rt->all)
        return -ENOMEM;
    rt->links = 1;
    rt->settings.raw = rt->settings.raw && rt->all->raw == 0;
    return background_make(rt);
}

static void once_a_process(void)
{
    /* The crypto library's exit handler must run after ours, so it must be registered before: with
     * no option at all it would not be registered yet. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    (void)atexit(runtime_at_exit);
}

/* The sockets are of one family: it must be known before the first. */
static void find_manager(Settings *s, Finder *finder, Resolved *found)
{
    finder_init(finder, &s->managers);
    names_first(s, found);
    (void)finder_found(finder, found->found, found->count);
    s->family = finder->count ? finder_peer(finder).kind : ADDR_IP4;
}

/* @error: what is wrong with the settings, if anything is. */
static int runtime_start(Runtime **ret, Resolved *found, char error[SETTINGS_ERROR_MAX])
{
    Finder finder;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, once_a_process);
    log_environment();
    int result = random_start();
    if (result < 0) {
        (void)snprintf(error, SETTINGS_ERROR_MAX,
                       "no random numbers (getrandom: %s): allow that system call",
                       strerrordesc_np(-result));
        return result;
    }
    Runtime *rt = runtime_new();
    if (!rt)
        return -ENOMEM;
    result = settings_load(&rt->settings, error);
    if (result == 0) {
        polling_setup((unsigned)rt->settings.poll_share);
        find_manager(&rt->settings, &finder, found);
        result = runtime_begin(rt, &finder);
    }
    if (result < 0) {
        runtime_free(rt);
        return result;
    }
    *ret = rt;
    return 0;
}

static int get_first(Runtime **ret)
{
    char error[SETTINGS_ERROR_MAX] = "";
    Resolved found = {.count = 0};
    int result = 0, raw = 0;
    (void)pthread_mutex_lock(&runtime_start_lock);
    Runtime *rt = runtime_running;
    if (!rt) {
        result = runtime_start(&rt, &found, error);
        if (result == 0) {
            runtime_running = rt;
            raw = rt->all->raw;
        }
    }
    (void)pthread_mutex_unlock(&runtime_start_lock);
    log_names(&found);
    if (raw < 0) /* nobody changes the settings any more */
        log_raw(runtime_settings(rt)->interface, raw);
    if (*error) { /* the user's hook is called without a lock */
        char text[SETTINGS_ERROR_MAX + 32];
        (void)snprintf(text, sizeof text, "start_failed reason=\"%s\"", error);
        log_line(DODO_LOG_ERROR, text);
        reason_set_copy(error);
    } else if (result < 0) {
        reason_set("no memory or socket for the library itself");
    }
    *ret = rt;
    return result;
}

int runtime_get(Runtime **ret)
{
    *ret = runtime_running;
    return *ret ? 0 : get_first(ret);
}

int runtime_serve(Runtime *rt)
{
    int result = 0;
    if (rt->serving)
        return 0;
    (void)pthread_mutex_lock(&runtime_start_lock);
    if (!rt->serving && !rt->ended)
        result = background_start(rt);
    (void)pthread_mutex_unlock(&runtime_start_lock);
    if (result < 0)
        reason_set("no thread for the library itself");
    return result;
}
