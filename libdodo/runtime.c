/* SPDX-License-Identifier: MIT */
#include "libdodo/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/os.h"
#include "base/polling.h"
#include "base/parked.h"
#include "base/time.h"
#include "dodo/dodo.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/names.h"
#include "libdodo/queue.h"
#include "libdodo/random.h"

enum {
    EXIT_DEADLINE_MS = 250, /* a program's exit waits for anything no longer than this */
    REFRACTION_MAX_S = 60,  /* the refraction period doubles up to it */
    LINKS_MAX = 1024,       /* calls at once in a process; more wait for one of these to end */
};

struct Runtime {
    Settings settings;
    Id128 self;
    pid_t pid; /* whose it is */
    Client *client;
    Names *names; /* of the manager; NULL: it has none */
    Waker waker;
    uint64_t life; /* of all runtimes of the process */
    pthread_mutex_t pool_lock;
    pthread_cond_t returned; /* with @pool_lock: a link is idle */
    Link *all;               /* links of calls; one that is not busy is idle */
    unsigned links;
    _Atomic unsigned waiters; /* for an idle link */
    Link *background;
    pthread_t thread;     /* the background's, from the first region on */
    _Atomic bool serving; /* it was started; changed under start_lock */
    int background_fd;
    _Atomic bool stop;  /* the background's thread */
    _Atomic bool ended; /* the process is in exit() */
    bool forked;        /* its files are the parent's */
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned generation;      /* under start_lock: of the next runtime's descriptors */
static Runtime *_Atomic running; /* never freed but by dodo_shutdown(), and in a child */

const Settings *runtime_settings(const Runtime *rt)
{
    return &rt->settings;
}

Client *runtime_client(Runtime *rt)
{
    return rt->client;
}

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

static void on_names(void *ctx, const Resolved *found)
{
    client_found(((Runtime *)ctx)->client, found->found, found->count);
}

/* ---- links ---------------------------------------------------------------------------------- */

/* The link that this thread had last, and of which runtime. */
static _Thread_local struct {
    uint64_t life;
    Link *link;
} last;

static bool link_claim(Link *link)
{
    return !atomic_load_explicit(&link->busy, memory_order_relaxed) &&
           !atomic_exchange(&link->busy, true);
}

/* Under the pool's lock: an idle link, or a new one, or NULL. */
static Link *link_find(Runtime *rt)
{
    for (Link *link = rt->all; link; link = link->all)
        if (link_claim(link))
            return link;
    if (rt->links == LINKS_MAX || rt->ended)
        return NULL;
    gate_enter();
    Link *link = link_new(rt->client, &rt->settings, &rt->self, 1, false);
    gate_leave();
    if (link) {
        link->busy = true;
        link->all = rt->all;
        rt->all = link;
        rt->links++;
    }
    return link;
}

static Link *link_wait_for(Runtime *rt)
{
    Link *link;
    (void)pthread_mutex_lock(&rt->pool_lock);
    while (!(link = link_find(rt))) { /* there is one at least, and each call ends */
        (void)atomic_fetch_add(&rt->waiters, 1);
        /* Given back just now, before its owner could see that somebody waits? */
        link = link_find(rt);
        if (!link)
            (void)pthread_cond_wait(&rt->returned, &rt->pool_lock);
        (void)atomic_fetch_sub(&rt->waiters, 1);
        if (link)
            break;
    }
    (void)pthread_mutex_unlock(&rt->pool_lock);
    return link;
}

/* A thread keeps to its link, with no lock and a warm cache, as long as there are links enough. */
Link *runtime_link_take(Runtime *rt)
{
    Link *link = last.life == rt->life ? last.link : NULL;
    if (!link || !link_claim(link)) {
        link = link_wait_for(rt);
        last.life = rt->life;
        last.link = link;
    }
    gate_enter();
    return link;
}

static void link_return(Runtime *rt, Link *link)
{
    atomic_store(&link->busy, false);
    if (atomic_load(&rt->waiters) == 0)
        return;
    (void)pthread_mutex_lock(&rt->pool_lock);
    (void)pthread_cond_signal(&rt->returned);
    (void)pthread_mutex_unlock(&rt->pool_lock);
}

void runtime_link_give(Runtime *rt, Link *link)
{
    gate_leave();
    link_return(rt, link);
}

Link *runtime_link_new(Runtime *rt, unsigned calls_max)
{
    return rt->ended ? NULL : link_new(rt->client, &rt->settings, &rt->self, calls_max, false);
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

static void background_stop(Runtime *rt)
{
    rt->stop = true;
    hook_wake_background(rt);
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* Everything is whole at the moment of the fork: see gate.h. A fork in the log hook, which is
 * called inside the gate, goes without that: the child then only forgets. */
static void fork_prepare(void)
{
    if (gate_inside())
        return;
    (void)pthread_mutex_lock(&start_lock);
    Runtime *rt = running;
    if (rt)
        (void)pthread_mutex_lock(&rt->pool_lock);
    (void)gate_close(TIME_NEVER);
    if (rt)
        (void)pthread_mutex_lock(&rt->waker.lock);
    file_lock_all();
    queue_lock_all();
    log_lock_all();
}

static void fork_parent(void)
{
    if (gate_inside())
        return;
    Runtime *rt = running;
    log_unlock_all();
    queue_unlock_all();
    file_unlock_all();
    if (rt)
        (void)pthread_mutex_unlock(&rt->waker.lock);
    gate_open();
    if (rt)
        (void)pthread_mutex_unlock(&rt->pool_lock);
    (void)pthread_mutex_unlock(&start_lock);
}

/* Closes and wipes all that the parent had. The parent's threads are not here. Its conditions may
 * have waiters, which are not here either, so they are not destroyed. */
static void runtime_abandon(Runtime *rt)
{
    rt->forked = true;
    (void)pthread_mutex_unlock(&rt->waker.lock);
    (void)pthread_mutex_unlock(&rt->pool_lock);
    for (Link *link = rt->all, *next; link; link = next) {
        next = link->all;
        link_abandon(link);
    }
    link_abandon(rt->background);
    names_abandon(rt->names);
    client_free(rt->client);
    (void)close(rt->background_fd);
    explicit_bzero(rt, sizeof *rt);
    free(rt);
}

/* The child starts with nothing: no regions, no sockets, no keys, no locks on files. */
static void fork_child(void)
{
    Runtime *rt = running;
    running = NULL;
    queue_forget_all();
    random_forget();
    polling_forget();
    gate_reset();
    if (gate_inside()) {
        start_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        return;
    }
    log_unlock_all();
    queue_abandon_all();
    queue_unlock_all();
    file_abandon_all();
    file_unlock_all();
    if (rt)
        runtime_abandon(rt);
    (void)pthread_mutex_unlock(&start_lock);
}

/* When the library is loaded, so that it sees every fork. */
__attribute__((constructor)) static void at_load(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- starting and stopping ------------------------------------------------------------------ */

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
        .generation = generation,
        .stripe_bytes = s->stripe_bytes,
        .block_sum = s->verify ? blocksum_fastest() : NULL,
        .loopback_only = s->keys_count == 0 && !s->insecure,
    };
    ClientHooks hooks = {.lock = hook_lock,
                         .unlock = hook_unlock,
                         .wake = hook_wake,
                         .wake_background = hook_wake_background,
                         .file_release = hook_file_release,
                         .log = hook_log,
                         .log_wanted = hook_log_wanted,
                         .resolve = rt->names ? hook_resolve : NULL,
                         .ctx = rt};
    Env env = {.random = random_bytes};
    return client_new(&config, &env, &hooks);
}

static void runtime_free(Runtime *rt)
{
    names_end(rt->names);
    for (Link *link = rt->all, *next; link; link = next) {
        next = link->all;
        link_free(link);
    }
    link_free(rt->background);
    client_free(rt->client);
    if (rt->background_fd >= 0)
        (void)close(rt->background_fd);
    waker_deinit(&rt->waker);
    (void)pthread_mutex_destroy(&rt->pool_lock);
    (void)pthread_cond_destroy(&rt->returned);
    explicit_bzero(rt, sizeof *rt);
    free(rt);
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
    return background_make(rt);
}

static void at_exit(void);

static void once_a_process(void)
{
    /* The crypto library's exit handler must run after ours, so it must be registered before: with
     * no option at all it would not be registered yet. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    (void)atexit(at_exit);
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

Runtime *runtime_peek(void)
{
    return running;
}

static int get_first(Runtime **ret)
{
    char error[SETTINGS_ERROR_MAX] = "";
    Resolved found = {.count = 0};
    int result = 0;
    (void)pthread_mutex_lock(&start_lock);
    Runtime *rt = running;
    if (!rt) {
        result = runtime_start(&rt, &found, error);
        if (result == 0)
            running = rt;
    }
    (void)pthread_mutex_unlock(&start_lock);
    log_names(&found);
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
    *ret = running;
    return *ret ? 0 : get_first(ret);
}

int runtime_serve(Runtime *rt)
{
    int result = 0;
    if (rt->serving)
        return 0;
    (void)pthread_mutex_lock(&start_lock);
    if (!rt->serving && !rt->ended)
        result = background_start(rt);
    (void)pthread_mutex_unlock(&start_lock);
    if (result < 0)
        reason_set("no thread for the library itself");
    return result;
}

bool runtime_ended(const Runtime *rt)
{
    return rt->ended;
}

/* Says good-bye to the manager, if that knows us. */
static int leave(Runtime *rt)
{
    ClientStats stats;
    Call call;
    client_stats(rt->client, &stats);
    if (stats.requests == 0)
        return 0;
    (void)pthread_mutex_lock(&rt->pool_lock);
    Link *link = link_find(rt);
    (void)pthread_mutex_unlock(&rt->pool_lock);
    if (!link)
        return -EINVAL;
    gate_enter();
    call_leave_start(&call, link->channel, EXIT_DEADLINE_MS * NS_PER_MS, os_now_ns());
    link_run(&rt->waker, link, &call);
    runtime_link_give(rt, link);
    return call.result < 0 ? -EINVAL : 0;
}

/* A manager that left one request unanswered is not asked for each of the others. */
static int close_all(Runtime *rt)
{
    for (int rd = -1; (rd = client_region_next(rt->client, rd)) >= 0;) {
        Call call;
        Link *link = runtime_link_take(rt);
        call_close_start(&call, link->channel, rd, os_now_ns());
        link_run(&rt->waker, link, &call);
        runtime_link_give(rt, link);
        if (call.unanswered)
            return -EINVAL;
    }
    return 0;
}

int runtime_stop(void)
{
    (void)pthread_mutex_lock(&start_lock);
    Runtime *rt = running;
    int result = 0;
    if (rt && !rt->ended) {
        queue_shut_all();
        result = close_all(rt);
        background_stop(rt);
        if (rt->serving)
            (void)pthread_join(rt->thread, NULL);
        if (leave(rt) < 0)
            result = -EINVAL;
        running = NULL;
        generation = client_generation(rt->client); /* a number of before is nobody's */
        runtime_free(rt);
    }
    (void)parked_close_unlocked();
    (void)pthread_mutex_unlock(&start_lock);
    return result;
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* Realtime: what the timed calls go by. */
static struct timespec exit_deadline(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)EXIT_DEADLINE_MS * (long)NS_PER_MS;
    t.tv_sec += t.tv_nsec / (long)NS_PER_S;
    t.tv_nsec %= (long)NS_PER_S;
    return t;
}

/* Other threads may be in the library and go on while the process ends, so nothing is freed. They
 * find all hosts silent, because the cipher's own exit handler comes next. */
static void runtime_end(Runtime *rt)
{
    background_stop(rt);
    (void)leave(rt);
    rt->ended = true;
    (void)gate_close(EXIT_DEADLINE_MS * NS_PER_MS); /* not in time: somebody is in the log hook */
    client_stop(rt->client, os_now_ns());
    gate_open();
    struct timespec until = exit_deadline();
    if (rt->serving)
        (void)pthread_timedjoin_np(rt->thread, NULL, &until);
}

/* Another thread holds the lock, because it is starting or shutting down; or this one does, and a
 * signal handler called exit(). Then there is no good-bye. */
static void at_exit(void)
{
    struct timespec until = exit_deadline();
    if (gate_inside())
        gate_leave(); /* exit() out of the log hook: the call that it is in does not go on */
    if (pthread_mutex_timedlock(&start_lock, &until) != 0)
        return;
    Runtime *rt = running;
    if (rt && rt->pid == getpid() && !rt->ended)
        runtime_end(rt);
    (void)pthread_mutex_unlock(&start_lock);
}
