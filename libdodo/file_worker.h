/* SPDX-License-Identifier: MIT */
/* A thread that reads and writes files while another serves the network: a slow disk stops one
 * call, not all of them. Started at the first need, with all signals blocked. */
#ifndef DODO_LIBDODO_FILE_WORKER_H
#define DODO_LIBDODO_FILE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "libdodo/file.h"

enum FileJobKind { FILE_JOB_READ, FILE_JOB_WRITE, FILE_JOB_SYNC, FILE_JOB_STAMP, FILE_JOB_SHARE };

/* In the owner's storage, which stays until the job was taken back. */
typedef struct FileJob {
    ListNode link;
    void *owner; /* the owner's */
    File *file;
    void *buf; /* FILE_JOB_WRITE: only read from */
    size_t len;
    uint64_t offset;
    enum FileJobKind kind;
    FileResult result; /* once it is taken back */
} FileJob;

typedef struct FileWorker {
    pthread_t thread;
    bool started;
    bool own_fd; /* done_fd was made here */
    int done_fd; /* eventfd: a job is done that was not taken back */
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    bool stop;
    ListNode waiting, done; /* of FileJob; the oldest first */
} FileWorker;

/* @done_fd: an eventfd of the caller's that reports what is done; -1: one is made when needed. */
void file_worker_init(FileWorker *w, int done_fd);
/* False: no thread could be started; do it yourself. */
bool file_worker_give(FileWorker *w, FileJob *job);
/* A job that is done, or NULL. With the last one the eventfd falls silent. */
FileJob *file_worker_take(FileWorker *w);
/* Does all that was given, and ends the thread. Fine without one. */
void file_worker_stop(FileWorker *w);
/* In the child of a fork, where the thread is not. */
void file_worker_abandon(FileWorker *w);

/* What the thread does, for who has none. */
void file_job_do(FileJob *job);

#endif
