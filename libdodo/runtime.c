/* SPDX-License-Identifier: MIT */
#include "libdodo/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/os.h"
#include "base/time.h"
#include "dodo/dodo.h"
#include "libdodo/link.h"

enum {
    EXIT_DEADLINE_MS = 250, /* a program's exit waits for the manager no longer than this */
    LINKS_MAX = 1024,       /* calls at once in a process */
};

struct Runtime {
    Settings settings;
    Id128 self;
    Client *client;
    pthread_mutex_t lock; /* the core's */
    pthread_cond_t woken; /* with @lock: wakes changed */
    uint64_t wakes;
    pthread_mutex_t pool_lock;
    Link *idle, *all;
    unsigned links;
    Link *background;
    pthread_t thread;
    int background_fd;
    _Atomic bool stop;
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static Runtime *_Atomic running;

const Settings *runtime_settings(const Runtime *rt)
{
    return &rt->settings;
}

Client *runtime_client(Runtime *rt)
{
    return rt->client;
}

Channel *link_channel(Link *link)
{
    return link->channel;
}

/* ---- the core's hooks ----------------------------------------------------------------------- */

static void hook_lock(void *ctx)
{
    (void)pthread_mutex_lock(&((Runtime *)ctx)->lock);
}

static void hook_unlock(void *ctx)
{
    (void)pthread_mutex_unlock(&((Runtime *)ctx)->lock);
}

static void hook_wake(void *ctx)
{
    Runtime *rt = ctx;
    (void)pthread_mutex_lock(&rt->lock);
    rt->wakes++;
    (void)pthread_cond_broadcast(&rt->woken);
    (void)pthread_mutex_unlock(&rt->lock);
}

static void hook_wake_background(void *ctx)
{
    (void)eventfd_write(((Runtime *)ctx)->background_fd, 1);
}

static void hook_file_release(void *ctx, void *file)
{
    (void)ctx;
    file_close(file);
}

static void hook_log(void *ctx, int level, const char *text)
{
    (void)ctx;
    log_line(level, text);
}

/* ---- running a call ------------------------------------------------------------------------- */

static uint64_t wakes_now(Runtime *rt)
{
    (void)pthread_mutex_lock(&rt->lock);
    uint64_t wakes = rt->wakes;
    (void)pthread_mutex_unlock(&rt->lock);
    return wakes;
}

/* Until another call ended since @seen; the timeout only bounds what a missed wake could cost. */
static void wait_woken(Runtime *rt, uint64_t seen)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    (void)pthread_mutex_lock(&rt->lock);
    while (rt->wakes == seen &&
           pthread_cond_clockwait(&rt->woken, &rt->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    (void)pthread_mutex_unlock(&rt->lock);
}

static void write_file(Link *link, Call *call)
{
    FileResult result;
    File *file = call->file;
    const void *buf = call->file_buf;
    size_t len = call->file_len;
    uint64_t offset = call->file_offset;
    call_file_taken(call);
    if (len > FILE_INLINE_MAX && writer_start(&link->writer, file, buf, len, offset))
        return;
    file_write(file, buf, len, offset, &result);
    call_file_done(call, &result, os_now_ns());
}

static void do_file(Call *call)
{
    FileResult result;
    if (call->need == NEED_FILE_READ)
        file_read(call->file, call->file_buf, call->file_len, call->file_offset, &result);
    else if (call->need == NEED_FILE_SYNC)
        file_sync(call->file, &result);
    else
        file_stamp(call->file, &result);
    call_file_done(call, &result, os_now_ns());
}

static void wait_network(Link *link, Call *call)
{
    FileResult result;
    link_wait(link, call->file_pending ? link->writer.done_fd : -1,
              channel_deadline(link->channel));
    if (call->file_pending && writer_take(&link->writer, &result))
        call_file_done(call, &result, os_now_ns());
    link_receive(link);
}

void link_run(Runtime *rt, Link *link, Call *call)
{
    while (call->need != NEED_NOTHING) {
        uint64_t seen = call->need == NEED_BLOCKED ? wakes_now(rt) : 0;
        bool was_blocked = call->need == NEED_BLOCKED;
        channel_step(link->channel, os_now_ns());
        switch ((enum CallNeed)call->need) {
        case NEED_NOTHING:
            return;
        case NEED_NETWORK:
            wait_network(link, call);
            break;
        case NEED_BLOCKED:
            if (was_blocked)
                wait_woken(rt, seen);
            break;
        case NEED_FILE_WRITE:
            write_file(link, call);
            break;
        case NEED_FILE_READ:
        case NEED_FILE_SYNC:
        case NEED_FILE_STAMP:
            do_file(call);
            break;
        }
    }
}

/* ---- links ---------------------------------------------------------------------------------- */

Link *runtime_link_take(Runtime *rt)
{
    (void)pthread_mutex_lock(&rt->pool_lock);
    Link *link = rt->idle;
    bool room = rt->links < LINKS_MAX;
    if (link) {
        rt->idle = link->next;
        link->idle = false;
    } else if (room) {
        rt->links++;
    }
    (void)pthread_mutex_unlock(&rt->pool_lock);
    if (link || !room)
        return link;
    link = link_new(rt->client, &rt->settings, &rt->self, false);
    (void)pthread_mutex_lock(&rt->pool_lock);
    if (link) {
        link->all = rt->all;
        rt->all = link;
    } else {
        rt->links--;
    }
    (void)pthread_mutex_unlock(&rt->pool_lock);
    return link;
}

void runtime_link_give(Runtime *rt, Link *link)
{
    (void)pthread_mutex_lock(&rt->pool_lock);
    link->idle = true;
    link->next = rt->idle;
    rt->idle = link;
    (void)pthread_mutex_unlock(&rt->pool_lock);
}

/* ---- the background ------------------------------------------------------------------------- */

static void *background_main(void *arg)
{
    Runtime *rt = arg;
    Link *link = rt->background;
    eventfd_t count;
    while (!rt->stop) {
        channel_step(link->channel, os_now_ns());
        link_wait(link, rt->background_fd, channel_deadline(link->channel));
        (void)eventfd_read(rt->background_fd, &count);
        link_receive(link);
    }
    return NULL;
}

static int background_start(Runtime *rt)
{
    sigset_t all, old;
    rt->background = link_new(rt->client, &rt->settings, &rt->self, true);
    if (!rt->background)
        return -ENOMEM;
    client_receive_granted(rt->client, rt->background->transport->receive_bytes);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int result = pthread_create(&rt->thread, NULL, background_main, rt);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (result != 0)
        rt->background = link_free(rt->background);
    return -result;
}

/* ---- fork and exit -------------------------------------------------------------------------- */

static void fork_prepare(void)
{
    (void)pthread_mutex_lock(&start_lock);
    Runtime *rt = running;
    if (rt) {
        (void)pthread_mutex_lock(&rt->pool_lock);
        (void)pthread_mutex_lock(&rt->lock);
    }
}

static void fork_parent(void)
{
    Runtime *rt = running;
    if (rt) {
        (void)pthread_mutex_unlock(&rt->lock);
        (void)pthread_mutex_unlock(&rt->pool_lock);
    }
    (void)pthread_mutex_unlock(&start_lock);
}

/* The child starts with nothing: no regions, no sockets, no keys, no locks on files. What the
 * parent's other threads were in the middle of is left alone (and leaks). */
static void fork_child(void)
{
    Runtime *rt = running;
    running = NULL;
    if (rt) {
        (void)pthread_mutex_unlock(&rt->lock);
        (void)pthread_mutex_unlock(&rt->pool_lock);
        for (Link *link = rt->all; link; link = link->all)
            link_abandon(link);
        rt->background->idle = false;
        link_abandon(rt->background);
        (void)close(rt->background_fd);
        explicit_bzero(rt->settings.keys, sizeof rt->settings.keys);
        file_abandon_all();
    }
    (void)pthread_mutex_unlock(&start_lock);
}

static void at_exit(void)
{
    (void)runtime_stop(false);
}

static void once_a_process(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
    (void)OPENSSL_init_crypto(0, NULL); /* its exit handler must run after ours */
    (void)atexit(at_exit);
}

/* ---- starting and stopping ------------------------------------------------------------------ */

static Client *client_make(Runtime *rt)
{
    const Settings *s = &rt->settings;
    ClientConfig config = {
        .manager = s->manager,
        .self = rt->self,
        .refraction_ns = s->refraction_ns,
        .transfer_deadline_ns = s->transfer_deadline_ns,
        .alive_ns = s->alive_ns,
        .reopen_ns = s->reopen_ns,
        .request = {s->request_retry_ns, s->request_retry_max_ns, s->request_deadline_ns},
        .credit_cap_bytes = s->receive_bytes / 4,
        .regions_max = (unsigned)s->regions_max,
        .fill_queue_bytes = s->fill_queue_bytes,
    };
    ClientHooks hooks = {.lock = hook_lock,
                         .unlock = hook_unlock,
                         .wake = hook_wake,
                         .wake_background = hook_wake_background,
                         .file_release = hook_file_release,
                         .log = hook_log,
                         .ctx = rt};
    Env env = os_env();
    return client_new(&config, &env, &hooks);
}

static void runtime_free(Runtime *rt)
{
    for (Link *link = rt->all, *next; link; link = next) {
        next = link->all;
        link_free(link);
    }
    link_free(rt->background);
    client_free(rt->client);
    if (rt->background_fd >= 0)
        (void)close(rt->background_fd);
    (void)pthread_mutex_destroy(&rt->lock);
    (void)pthread_mutex_destroy(&rt->pool_lock);
    (void)pthread_cond_destroy(&rt->woken);
    explicit_bzero(rt, sizeof *rt);
    free(rt);
}

static int runtime_start(Runtime **ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char error[SETTINGS_ERROR_MAX] = "";
    (void)pthread_once(&once, once_a_process);
    log_environment();
    Runtime *rt = calloc(1, sizeof *rt);
    if (!rt)
        return -ENOMEM;
    (void)pthread_mutex_init(&rt->lock, NULL);
    (void)pthread_mutex_init(&rt->pool_lock, NULL);
    (void)pthread_cond_init(&rt->woken, NULL);
    rt->background_fd = -1;
    int result = settings_load(&rt->settings, error);
    if (result < 0) {
        log_line(DODO_LOG_ERROR, error);
        reason_set_copy(error);
        runtime_free(rt);
        return result;
    }
    os_random(NULL, &rt->self, sizeof rt->self);
    rt->background_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rt->client = client_make(rt);
    result = rt->background_fd < 0 || !rt->client ? -ENOMEM : background_start(rt);
    if (result < 0) {
        reason_set("no memory, socket or thread for the library itself");
        runtime_free(rt);
        return result;
    }
    *ret = rt;
    return 0;
}

Runtime *runtime_peek(void)
{
    return running;
}

int runtime_get(Runtime **ret)
{
    Runtime *rt = running;
    int result = 0;
    if (!rt) {
        (void)pthread_mutex_lock(&start_lock);
        rt = running;
        if (!rt) {
            result = runtime_start(&rt);
            if (result == 0)
                running = rt;
        }
        (void)pthread_mutex_unlock(&start_lock);
    }
    *ret = rt;
    return result;
}

static void background_stop(Runtime *rt)
{
    rt->stop = true;
    hook_wake_background(rt);
    (void)pthread_join(rt->thread, NULL);
}

static int leave(Runtime *rt)
{
    ClientStats stats;
    Call call;
    client_stats(rt->client, &stats);
    if (stats.active == 0)
        return 0;
    Link *link = runtime_link_take(rt);
    if (!link)
        return -EINVAL;
    call_leave_start(&call, link->channel, EXIT_DEADLINE_MS * NS_PER_MS, os_now_ns());
    link_run(rt, link, &call);
    int result = (int)call.result;
    runtime_link_give(rt, link);
    return result < 0 ? -EINVAL : 0;
}

static int close_all(Runtime *rt)
{
    int result = 0;
    for (int rd = -1; (rd = client_region_next(rt->client, rd)) >= 0;) {
        Link *link = runtime_link_take(rt);
        Call call;
        if (!link)
            return -EINVAL;
        call_close_start(&call, link->channel, rd, os_now_ns());
        link_run(rt, link, &call);
        if (call.result < 0)
            result = -EINVAL;
        runtime_link_give(rt, link);
    }
    return result;
}

/* At exit other threads may still be in the library: then nothing is freed. */
int runtime_stop(bool close_regions)
{
    (void)pthread_mutex_lock(&start_lock);
    Runtime *rt = running;
    int result = 0;
    if (rt) {
        if (close_regions)
            result = close_all(rt);
        background_stop(rt);
        if (leave(rt) < 0)
            result = -EINVAL;
        running = NULL;
        if (close_regions)
            runtime_free(rt);
    }
    (void)pthread_mutex_unlock(&start_lock);
    return result;
}
