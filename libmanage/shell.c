/* SPDX-License-Identifier: MIT */
#include "libmanage/shell.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/num.h"
#include "base/os.h"
#include "base/time.h"
#include "libmanage/backing.h"
#include "libmanage/carry.h"
#include "libmanage/pages.h"

enum {
    WORKERS = 2, /* one may wait for a disk, the other for the network */
    COPY_BYTES = 1 << 20,
    COPY_ROUNDS = 3,
    EXIT_DEADLINE_MS = 250, /* what exit() waits for others at most; files take what they take */
    ON_THE_WAY_PART = 8,    /* of the cache's memory, at most, for an extent on its way */
};

struct Manage {
    ManageSettings settings;
    Cache *cache;
    pthread_mutex_t lock; /* the core's */
    pthread_mutex_t work_lock;
    pthread_cond_t work; /* with @work_lock: for one worker, works changed */
    uint64_t works;
    unsigned threads_count; /* started when there is work and no other waits for it */
    unsigned threads_waiting;
    pid_t pid;
    atomic_bool ending; /* the process ends: what was written has been flushed, or is being */
};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static Manage *_Atomic running; /* never freed */
static struct {
    bool cache, readahead;
    uint64_t cache_bytes, readahead_bytes;
} preset; /* under start_lock */

Manage *manage_peek(void)
{
    return running;
}

Cache *manage_cache(Manage *m)
{
    return m->cache;
}

bool manage_ending(const Manage *m)
{
    return m->ending;
}

/* Initial-exec: found without a call. There is room for a few words in programs that load the
 * library later, too. */
static _Thread_local __attribute__((tls_model("initial-exec"))) ManageLane mine;

const ManageLane *manage_lane(Manage *m)
{
    if (mine.of != m) /* a child's is another one */
        mine = (ManageLane){.of = m, .cache = m->cache, .lane = cache_lane(m->cache)};
    return &mine;
}

/* ---- the core's hooks ----------------------------------------------------------------------- */

static void hook_lock(void *ctx)
{
    (void)pthread_mutex_lock(&((Manage *)ctx)->lock);
}

static void hook_unlock(void *ctx)
{
    (void)pthread_mutex_unlock(&((Manage *)ctx)->lock);
}

/* With the lock held. */
static void hook_wake(void *ctx, CacheCall *call)
{
    ManageCall *e = CONTAINER_OF(call, ManageCall, call);
    (void)ctx;
    e->wake = true;
    (void)pthread_cond_signal(&e->woken);
}

static void *worker_main(void *arg);

/* Without a single thread nothing moves in the background: what must,
 * the calls do themselves. */
static void worker_start(Manage *m)
{
    pthread_t thread;
    if (os_thread_start(&thread, worker_main, m) < 0)
        return;
    (void)pthread_detach(thread); /* its file may hang: nobody waits for it */
    m->threads_count++;
}

/* Wakes one worker, for there may be something to do. That one wakes the next, if there was. A
 * process whose files are as fast as its memory has no workers: system calls on descriptors are
 * cheaper in a process with one thread. False: there is no worker, and none could be started. */
static bool worker_wake(Manage *m, uint64_t *ret_works)
{
    (void)pthread_mutex_lock(&m->work_lock);
    *ret_works = ++m->works;
    if (!m->threads_waiting && m->threads_count < WORKERS)
        worker_start(m);
    else
        (void)pthread_cond_signal(&m->work);
    bool somebody = m->threads_count > 0;
    (void)pthread_mutex_unlock(&m->work_lock);
    return somebody;
}

static bool hook_wake_background(void *ctx)
{
    uint64_t works;
    return worker_wake(ctx, &works);
}

static CacheFileId hook_file_id(void *ctx, const void *file)
{
    dev_t device;
    ino_t inode;
    backing_id(file, &device, &inode);
    return (CacheFileId){device, inode};
}

static bool hook_file_held(void *ctx, const void *file, uint64_t offset, uint64_t len)
{
    (void)ctx;
    return backing_held(file, offset, (size_t)len);
}

static void hook_file_release(void *ctx, void *file)
{
    (void)ctx;
    backing_close(file);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

void manage_call_init(ManageCall *e)
{
    (void)pthread_cond_init(&e->woken, NULL);
    e->wake = false;
}

void manage_call_deinit(ManageCall *e)
{
    (void)pthread_cond_destroy(&e->woken);
}

static void wait_woken(Manage *m, ManageCall *e)
{
    uint64_t until_ns = e->call.until_ns;
    struct timespec until = timespec_of(until_ns);
    int result = 0;
    (void)pthread_mutex_lock(&m->lock);
    while (!e->wake && result == 0)
        result = until_ns == TIME_NEVER
                     ? pthread_cond_wait(&e->woken, &m->lock)
                     : pthread_cond_clockwait(&e->woken, &m->lock, CLOCK_MONOTONIC, &until);
    e->wake = false;
    (void)pthread_mutex_unlock(&m->lock);
}

static void register_retain(void);

/* No write of the program's waits for a host: what goes there is copied first. */
static bool carry_out_copied(Manage *m, const CacheJob *job, CacheResult *result)
{
    CLEANUP_FREE uint8_t *copy = job->kind == CACHE_CLONE ? job_copy(job) : NULL;
    if (!copy)
        return false;
    CacheJob of_copy = *job;
    of_copy.iov[0] = (struct iovec){.iov_base = copy, .iov_len = (size_t)job->len};
    of_copy.iov_count = 1;
    cache_clone_copied(m->cache, job);
    job_carry_out(&of_copy, result);
    return true;
}

static void carry_out(Manage *m, const CacheJob *job, CacheResult *result)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!carry_out_copied(m, job, result))
        job_carry_out(job, result);
    if (job->kind == CACHE_OPEN_REMOTE && !result->remote_error)
        (void)pthread_once(&once, register_retain);
}

void manage_run(Manage *m, ManageCall *e)
{
    while (e->call.need != CACHE_OVER) {
        if (e->call.need == CACHE_JOB) {
            CacheResult result;
            carry_out(m, &e->call.job, &result);
            cache_call_done(&e->call, m->cache, &result, os_now_ns());
            job_result_free(&result);
        } else {
            wait_woken(m, e);
            cache_call_step(&e->call, m->cache, os_now_ns());
        }
    }
}

/* ---- background threads --------------------------------------------------------------------- */

/* Until there may be something to do. */
static void wait_work(Manage *m, uint64_t seen)
{
    uint64_t until_ns = cache_background_deadline(m->cache);
    struct timespec until = timespec_of(until_ns);
    int result = 0;
    (void)pthread_mutex_lock(&m->work_lock);
    m->threads_waiting++;
    while (m->works == seen && result == 0)
        result = until_ns == TIME_NEVER
                     ? pthread_cond_wait(&m->work, &m->work_lock)
                     : pthread_cond_clockwait(&m->work, &m->work_lock, CLOCK_MONOTONIC, &until);
    m->threads_waiting--;
    (void)pthread_mutex_unlock(&m->work_lock);
}

static uint64_t works_now(Manage *m)
{
    (void)pthread_mutex_lock(&m->work_lock);
    uint64_t works = m->works;
    (void)pthread_mutex_unlock(&m->work_lock);
    return works;
}

/* What is to be done for the data first, then for its memory. */
static bool work_take(Manage *m, CacheJob *job)
{
    void *at;
    size_t bytes;
    bool taken;
    while (!(taken = cache_background_take(m->cache, job, os_now_ns())) &&
           cache_collapse_take(m->cache, &at, &bytes))
        manage_pages_collapse(at, bytes);
    return taken;
}

static void *worker_main(void *arg)
{
    Manage *m = arg;
    CacheJob *job = malloc(sizeof *job);
    CacheResult result;
    uint64_t seen;
    if (!job)
        return NULL;
    for (;;) {
        seen = works_now(m);
        while (work_take(m, job)) {
            (void)worker_wake(m, &seen);
            carry_out(m, job, &result);
            cache_background_done(m->cache, job, &result, os_now_ns());
            job_result_free(&result);
        }
        wait_work(m, seen);
    }
}

/* ---- exit ------------------------------------------------------------------------------------ */

static void print_stats(Manage *m)
{
    struct manage_stats s;
    cache_stats(m->cache, &s);
    (void)dprintf(STDERR_FILENO,
                  "dodo manage: local_hits=%llu remote_hits=%llu disk_reads=%llu evictions=%llu "
                  "clones=%llu bypasses=%llu writebacks=%llu local_bytes=%llu remote_bytes=%llu "
                  "disk_bytes=%llu extents=%llu extent_bytes=%llu extent_spent_ns=%llu "
                  "extent_earned_ns=%llu\n",
                  (unsigned long long)s.local_hits, (unsigned long long)s.remote_hits,
                  (unsigned long long)s.disk_reads, (unsigned long long)s.evictions,
                  (unsigned long long)s.clones, (unsigned long long)s.bypasses,
                  (unsigned long long)s.writebacks, (unsigned long long)s.local_bytes,
                  (unsigned long long)s.remote_bytes, (unsigned long long)s.disk_bytes,
                  (unsigned long long)s.extents, (unsigned long long)s.extent_bytes,
                  (unsigned long long)s.extent_spent_ns, (unsigned long long)s.extent_earned_ns);
}

/* The process's cache, if this is no child of a fork that went by unseen. */
static Manage *ending_cache(void)
{
    Manage *m = running;
    return m && m->pid == getpid() ? m : NULL;
}

/* False: this thread has it, and was interrupted by a signal whose handler has called exit(); or
 * another one stands still. */
static bool lock_in_time(Manage *m)
{
    struct timespec now; /* realtime is what a timed lock goes by */
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    struct timespec until = timespec_of(now_ns + EXIT_DEADLINE_MS * NS_PER_MS);
    return pthread_mutex_timedlock(&m->lock, &until) == 0;
}

/* An exit handler, for libdodo's own, which is registered before it, ends remote memory. */
static void at_exit_retain(void)
{
    Manage *m = ending_cache();
    ManageCall e;
    if (!m || !lock_in_time(m))
        return;
    hook_unlock(m);
    for (int rd = -1; (rd = cache_region_next(m->cache, rd)) >= 0;) {
        manage_call_init(&e);
        cache_retain_start(&e.call, m->cache, rd, EXIT_DEADLINE_MS * NS_PER_MS, os_now_ns());
        manage_run(m, &e);
        manage_call_deinit(&e);
    }
}

static void register_retain(void)
{
    (void)atexit(at_exit_retain);
}

/* As stdio does: what was written is in the files when the program ends in order. This runs after
 * all exit handlers, which may still write. Other threads may go on or hang: it waits for none of
 * them. */
__attribute__((destructor)) static void at_unload(void)
{
    Manage *m = ending_cache();
    CacheEnd end = {0};
    CacheJob job;
    CacheResult result;
    if (!m || !lock_in_time(m))
        return;
    m->ending = true;
    while (cache_end_take(&end, m->cache, &job, os_now_ns()))
        job_carry_out(&job, &result);
    hook_unlock(m);
    if (m->settings.stats)
        print_stats(m);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static void fork_prepare(void)
{
    (void)pthread_mutex_lock(&start_lock);
    backing_lock_all();
}

static void fork_parent(void)
{
    backing_unlock_all();
    (void)pthread_mutex_unlock(&start_lock);
}

/* The child starts with nothing. What the parent's threads were at work on is left as it is: some
 * of it may be half done. */
static void fork_child(void)
{
    running = NULL;
    backing_abandon_all();
    backing_unlock_all();
    (void)pthread_mutex_unlock(&start_lock);
}

__attribute__((constructor)) static void at_load(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- starting -------------------------------------------------------------------------------- */

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
    cache_config_init(config, preset.cache ? preset.cache_bytes : s->cache_bytes);
    if (preset.readahead)
        config->readahead_bytes = preset.readahead_bytes;
    else if (s->readahead_bytes != UINT64_MAX)
        config->readahead_bytes = s->readahead_bytes;
    if (s->cluster) { /* an extent, and the read that it comes with */
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
    int result = manage_settings_load(&m->settings, error);
    if (result < 0) {
        free(m);
        return result;
    }
    const CacheHooks hooks = {.lock = hook_lock,
                              .unlock = hook_unlock,
                              .wake = hook_wake,
                              .wake_background = hook_wake_background,
                              .file_id = hook_file_id,
                              .file_held = backing_can_tell() ? hook_file_held : NULL,
                              .file_release = hook_file_release,
                              .ctx = m};
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
    *ret = running;
    if (*ret)
        return 0;
    (void)pthread_mutex_lock(&start_lock);
    *ret = running;
    if (!*ret)
        result = manage_start(ret, error);
    if (result == 0)
        running = *ret;
    (void)pthread_mutex_unlock(&start_lock);
    return result;
}

int manage_preset(enum manage_option option, uint64_t value)
{
    (void)pthread_mutex_lock(&start_lock);
    int result = running ? -EBUSY : 0;
    if (result == 0 && option == MANAGE_CACHE_BYTES) {
        preset.cache = true;
        preset.cache_bytes = value;
    } else if (result == 0) {
        preset.readahead = true;
        preset.readahead_bytes = value;
    }
    (void)pthread_mutex_unlock(&start_lock);
    return result;
}
