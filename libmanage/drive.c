/* SPDX-License-Identifier: MIT */
/* A call runs to its end: its jobs are carried out, and it waits for others'. */
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "libmanage/carry.h"
#include "libmanage/shell_private.h"

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
    struct timespec until = time_to_timespec(until_ns);
    int result = 0;
    (void)pthread_mutex_lock(&m->lock);
    while (!e->wake && result == 0)
        result = until_ns == TIME_NEVER
                     ? pthread_cond_wait(&e->woken, &m->lock)
                     : pthread_cond_clockwait(&e->woken, &m->lock, CLOCK_MONOTONIC, &until);
    e->wake = false;
    (void)pthread_mutex_unlock(&m->lock);
}

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

void manage_carry_out(Manage *m, const CacheJob *job, CacheResult *result)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!carry_out_copied(m, job, result))
        job_carry_out(job, result);
    if (job->kind == CACHE_OPEN_REMOTE && !result->remote_error)
        (void)pthread_once(&once, manage_retain_at_exit);
}

typedef struct Besides {
    Cache *cache;
    CacheJob *jobs;
} Besides;

static void beside_over(void *ctx, unsigned i, const CacheResult *result)
{
    const Besides *b = ctx;
    cache_background_done(b->cache, &b->jobs[i], result, os_now_ns());
}

void manage_carry_out_beside(Manage *m, CacheJob *jobs, unsigned count)
{
    Besides b = {m->cache, jobs};
    struct iovec copies[CACHE_BESIDE] = {{0}};
    for (unsigned i = 0; i < count; i++) {
        if (jobs[i].kind != CACHE_CLONE)
            continue;
        copies[i] = (struct iovec){job_copy(&jobs[i]), (size_t)jobs[i].len};
        if (copies[i].iov_base)
            cache_clone_copied(m->cache, &jobs[i]);
    }
    job_carry_out_beside(jobs, copies, count, beside_over, &b);
    for (unsigned i = 0; i < count; i++)
        free(copies[i].iov_base);
}

void manage_keep(Manage *m, int rd)
{
    CLEANUP_FREE CacheJob *jobs = calloc(CACHE_BESIDE, sizeof *jobs);
    uint64_t at = 0;
    unsigned count = jobs != NULL;
    while (count > 0) {
        count = 0;
        while (count < CACHE_BESIDE &&
               cache_keep_take(m->cache, rd, &at, &jobs[count], os_now_ns()))
            count++;
        if (count > 0)
            manage_carry_out_beside(m, jobs, count);
    }
}

void manage_run(Manage *m, ManageCall *e)
{
    while (e->call.need != CACHE_OVER) {
        if (e->call.need == CACHE_JOB) {
            CacheResult result;
            manage_carry_out(m, &e->call.job, &result);
            cache_call_done(&e->call, m->cache, &result, os_now_ns());
            job_result_free(&result);
        } else {
            wait_woken(m, e);
            cache_call_step(&e->call, m->cache, os_now_ns());
        }
    }
}
