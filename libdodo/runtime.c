/* SPDX-License-Identifier: MIT */
/* The library starts, when the process first needs it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/os.h"
#include "base/polling.h"
#include "dodo/dodo.h"
#include "libdodo/drive.h"
#include "libdodo/names.h"
#include "libdodo/queue.h"
#include "libdodo/random.h"
#include "libdodo/runtime_private.h"

/* When the library is loaded, so that it sees every fork. */
__attribute__((constructor)) static void at_load(void)
{
    runtime_watch_forks();
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

/* With a link, so that no call fails later because there is no socket. */
static int runtime_begin(Runtime *rt, const Finder *finder)
{
    rt->waker.help = queue_help_all;
    rt->background_fd = os_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    rt->names = names_new(&rt->settings, on_names, rt, log_names);
    rt->client = runtime_client_new(rt, finder);
    rt->all = rt->client ? link_new(rt->client, &rt->settings, &rt->self, LINK_CALLS, false) : NULL;
    if (rt->background_fd < 0 || !rt->all)
        return -ENOMEM;
    rt->links = 1;
    rt->settings.raw = rt->settings.raw && rt->all->raw == 0;
    return runtime_background_make(rt);
}

static void once_a_process(void)
{
    /* Without the crypto library's exit handler, which frees what it has: threads may still be in
     * the library, or about to start it, when the process ends. Where the program has used the
     * crypto library before, that handler is registered before ours, and runs after it. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ATEXIT, NULL);
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
    OS_DESCRIPTORS_BUSY; /* also of the C and the crypto library */
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
