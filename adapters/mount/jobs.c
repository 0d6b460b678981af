/* SPDX-License-Identifier: MIT */
/* A few threads for what waits for the kernel. They are started when they are needed. */
#include <errno.h>
#include <stdlib.h>

#include "adapters/mount/mount.h"
#include "base/list.h"
#include "base/os.h"

enum { THREADS_MAX = 8 };

typedef struct Entry {
    ListNode node;
    Job job;
} Entry;

typedef struct Jobs {
    Mount *mount;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ListNode waiting;
    unsigned threads, idle;
    bool over;
    pthread_t ids[THREADS_MAX];
} Jobs;

int jobs_init(Mount *m)
{
    Jobs *j = calloc(1, sizeof *j);
    if (!j)
        return -ENOMEM;
    j->mount = m;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    list_init(&j->waiting);
    m->jobs = j;
    return 0;
}

/* Takes the lock and gives it back around each job. */
static void *jobs_main(void *ctx)
{
    Jobs *j = ctx;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (list_empty(&j->waiting) && !j->over) {
            j->idle++;
            pthread_cond_wait(&j->changed, &j->lock);
            j->idle--;
        }
        if (list_empty(&j->waiting))
            break;
        Entry *entry = CONTAINER_OF(j->waiting.next, Entry, node);
        list_remove(&entry->node);
        pthread_mutex_unlock(&j->lock);
        fresh_job(j->mount, &entry->job);
        free(entry);
        pthread_mutex_lock(&j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

void jobs_push(Mount *m, const Job *job)
{
    Jobs *j = m->jobs;
    Entry *entry = malloc(sizeof *entry);
    if (!entry)
        abort(); /* without it a page may stay that nobody may read */
    entry->job = *job;
    pthread_mutex_lock(&j->lock);
    list_push_back(&j->waiting, &entry->node);
    if (j->idle == 0 && j->threads < THREADS_MAX &&
        os_thread_start(&j->ids[j->threads], jobs_main, j) == 0)
        j->threads++;
    if (j->threads == 0)
        abort();
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

void jobs_end(Mount *m)
{
    Jobs *j = m->jobs;
    pthread_mutex_lock(&j->lock);
    j->over = true;
    pthread_cond_broadcast(&j->changed);
    pthread_mutex_unlock(&j->lock);
    for (unsigned i = 0; i < j->threads; i++)
        (void)pthread_join(j->ids[i], NULL);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    free(j);
    m->jobs = NULL;
}
