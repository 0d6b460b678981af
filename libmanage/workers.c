/* SPDX-License-Identifier: MIT */
/* The cache's own threads: they do what no call waits for. */
#include <stdlib.h>

#include "base/os.h"
#include "base/time.h"
#include "libmanage/backing.h"
#include "libmanage/carry.h"
#include "libmanage/pages.h"
#include "libmanage/shell_private.h"

enum { WORKERS = 2 }; /* one may wait for a disk, the other for the network */

typedef struct Worker {
    Manage *m;
    CacheJob jobs[CACHE_TOGETHER];
} Worker;

static void *worker_main(void *arg);

/* Without a single thread nothing moves in the background: what must,
 * the calls do themselves. */
static void worker_start(Manage *m)
{
    pthread_t thread;
    Worker *w = calloc(1, sizeof *w);
    if (!w)
        return;
    w->m = m;
    if (os_thread_start(&thread, worker_main, w) < 0) {
        free(w);
        return;
    }
    (void)pthread_detach(thread); /* its file may hang: nobody waits for it */
    m->threads_count++;
}

bool manage_workers_wake(Manage *m, uint64_t *ret_works)
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

/* Until there may be something to do. */
static void wait_work(Manage *m, uint64_t seen)
{
    uint64_t until_ns = cache_background_deadline(m->cache);
    struct timespec until = time_to_timespec(until_ns);
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

/* Jobs for data come first, then jobs for its memory. */
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

static void carry_out_one(Manage *m, CacheJob *job)
{
    CacheResult result;
    manage_carry_out(m, job, &result);
    cache_background_done(m->cache, job, &result, os_now_ns());
    job_result_free(&result);
}

static bool more(Manage *m, CacheJob *first, CacheJob *job)
{
    return cache_background_more(m->cache, first, job, os_now_ns());
}

static void ask(const CacheJob *job)
{
    backing_ask(job->file, job->offset, job->len);
}

/* Reads that a file's drive carries out at the same time. As one is over, a further one is asked
 * for: the drive always has as many. */
static void work_together(Manage *m, CacheJob jobs[CACHE_TOGETHER], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ask(&jobs[i]);
    for (unsigned first = 0; count > 0;) {
        carry_out_one(m, &jobs[first]);
        first = (first + 1) % CACHE_TOGETHER;
        count--;
        while (count > 0 && count < CACHE_TOGETHER) {
            CacheJob *next = &jobs[(first + count) % CACHE_TOGETHER];
            if (!more(m, &jobs[first], next))
                break;
            ask(next);
            count++;
        }
    }
}

/* Carries out the job, and what may go beside it. */
static void work(Manage *m, CacheJob jobs[CACHE_TOGETHER])
{
    unsigned count = 1, i = 0, end;
    while (count < CACHE_BESIDE && more(m, jobs, &jobs[count]))
        count++;
    if (jobs->together) {
        work_together(m, jobs, count);
        return;
    }
    for (; i < count; i = end) {
        end = i;
        while (end < count && cache_job_goes_beside(&jobs[end]))
            end++;
        if (end > i + 1)
            manage_carry_out_beside(m, &jobs[i], end - i);
        else
            carry_out_one(m, &jobs[i]);
        end += end == i;
    }
}

static void *worker_main(void *arg)
{
    Worker *w = arg;
    Manage *m = w->m;
    uint64_t seen;
    for (;;) {
        seen = works_now(m);
        while (work_take(m, w->jobs)) {
            (void)manage_workers_wake(m, &seen);
            work(m, w->jobs);
        }
        wait_work(m, seen);
    }
    return arg;
}
