/* SPDX-License-Identifier: MIT */
#include "libdodo/file_worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/os.h"
#include "libdodo/share_map.h"

void file_job_do(FileJob *job)
{
    switch (job->kind) {
    case FILE_JOB_READ:
        file_read(job->file, job->buf, job->len, job->offset, &job->result);
        break;
    case FILE_JOB_WRITE:
        file_write(job->file, job->buf, job->len, job->offset, &job->result);
        break;
    case FILE_JOB_SYNC:
        file_sync(job->file, &job->result);
        break;
    case FILE_JOB_STAMP:
        file_stamp(job->file, &job->result);
        break;
    case FILE_JOB_SHARE:
        job->result = (FileResult){0};
        share_map_join(job->buf);
        break;
    }
}

static FileJob *first_of(ListNode *list)
{
    if (list_empty(list))
        return NULL;
    FileJob *job = CONTAINER_OF(list->next, FileJob, link);
    list_remove(&job->link);
    return job;
}

static void *worker_main(void *arg)
{
    FileWorker *w = arg;
    FileJob *job;
    (void)pthread_mutex_lock(&w->lock);
    for (;;) {
        while (list_empty(&w->waiting) && !w->stop)
            (void)pthread_cond_wait(&w->wanted, &w->lock);
        job = first_of(&w->waiting);
        if (!job)
            break;
        (void)pthread_mutex_unlock(&w->lock);
        file_job_do(job);
        (void)pthread_mutex_lock(&w->lock);
        list_push_back(&w->done, &job->link);
        (void)eventfd_write(w->done_fd, 1);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

void file_worker_init(FileWorker *w, int done_fd)
{
    *w = (FileWorker){.done_fd = done_fd};
    list_init(&w->waiting);
    list_init(&w->done);
}

static bool worker_start(FileWorker *w)
{
    if (w->done_fd < 0) {
        w->done_fd = os_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        w->own_fd = w->done_fd >= 0;
    }
    if (w->done_fd < 0)
        return false;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->wanted, NULL);
    w->started = os_thread_start(&w->thread, worker_main, w) == 0;
    if (!w->started) {
        (void)pthread_mutex_destroy(&w->lock);
        (void)pthread_cond_destroy(&w->wanted);
    }
    return w->started;
}

bool file_worker_give(FileWorker *w, FileJob *job)
{
    if (!w->started && !worker_start(w))
        return false;
    (void)pthread_mutex_lock(&w->lock);
    list_push_back(&w->waiting, &job->link);
    (void)pthread_cond_signal(&w->wanted);
    (void)pthread_mutex_unlock(&w->lock);
    return true;
}

FileJob *file_worker_take(FileWorker *w)
{
    if (!w->started)
        return NULL;
    eventfd_t count;
    (void)pthread_mutex_lock(&w->lock);
    FileJob *job = first_of(&w->done);
    if (list_empty(&w->done)) /* under the lock: no news is lost */
        (void)eventfd_read(w->done_fd, &count);
    (void)pthread_mutex_unlock(&w->lock);
    return job;
}

void file_worker_stop(FileWorker *w)
{
    if (w->started) {
        (void)pthread_mutex_lock(&w->lock);
        w->stop = true;
        (void)pthread_cond_signal(&w->wanted);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_join(w->thread, NULL);
        (void)pthread_mutex_destroy(&w->lock);
        (void)pthread_cond_destroy(&w->wanted);
    }
    file_worker_abandon(w);
}

void file_worker_abandon(FileWorker *w)
{
    if (w->own_fd)
        (void)close(w->done_fd);
    w->own_fd = false;
    w->done_fd = -1;
    w->started = false;
}
