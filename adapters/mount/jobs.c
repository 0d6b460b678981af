/* SPDX-License-Identifier: MIT */
#include "adapters/mount/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/os.h"

enum { THREADS_MAX = 8 };

struct Jobs {
    pthread_mutex_t lock;
    pthread_cond_t changed, idler;
    ListNode waiting;
    unsigned waiting_count, threads, idle;
    bool over;
    pthread_t ids[THREADS_MAX];
};

/* The next job; NULL: there will be none. Under the lock. */
static Job *next_job(Jobs *j)
{
    while (list_empty(&j->waiting) && !j->over) {
        j->idle++;
        pthread_cond_broadcast(&j->idler);
        pthread_cond_wait(&j->changed, &j->lock);
        j->idle--;
    }
    if (list_empty(&j->waiting))
        return NULL;
    Job *job = CONTAINER_OF(j->waiting.next, Job, node);
    list_remove(&job->node);
    j->waiting_count--;
    return job;
}

static void *worker_main(void *ctx)
{
    Jobs *j = ctx;
    pthread_mutex_lock(&j->lock);
    for (Job *job; (job = next_job(j));) {
        pthread_mutex_unlock(&j->lock);
        job->run(job);
        pthread_mutex_lock(&j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static void jobs_free(Jobs *j)
{
    pthread_cond_destroy(&j->changed);
    pthread_cond_destroy(&j->idler);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

int jobs_new(Jobs **ret)
{
    Jobs *j = calloc(1, sizeof *j);
    if (!j)
        return -ENOMEM;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    pthread_cond_init(&j->idler, NULL);
    list_init(&j->waiting);
    int res = os_thread_start(&j->ids[0], worker_main, j); /* so that no job is without one */
    if (res != 0) {
        jobs_free(j);
        return res;
    }
    j->threads = 1;
    *ret = j;
    return 0;
}

void jobs_push(Jobs *j, Job *job)
{
    pthread_mutex_lock(&j->lock);
    list_push_back(&j->waiting, &job->node);
    j->waiting_count++;
    /* A thread that was idle may have been woken for another job, which may wait for this one. */
    if (j->idle < j->waiting_count && j->threads < THREADS_MAX &&
        os_thread_start(&j->ids[j->threads], worker_main, j) == 0)
        j->threads++;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void jobs_drain(Jobs *j)
{
    pthread_mutex_lock(&j->lock);
    while (!list_empty(&j->waiting) || j->idle < j->threads)
        pthread_cond_wait(&j->idler, &j->lock);
    pthread_mutex_unlock(&j->lock);
}

void jobs_end(Jobs *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    j->over = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    for (unsigned i = 0; i < j->threads; i++)
        (void)pthread_join(j->ids[i], NULL);
    jobs_free(j);
}
