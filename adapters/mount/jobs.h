/* SPDX-License-Identifier: MIT */
/*
 * Threads for work that waits for the kernel.
 *
 * Such work waits for requests that the threads of the session answer. So no thread that answers
 * requests does it. The first thread is there from the beginning, others are started when they are
 * needed.
 *
 * Thread-safe. jobs_end() comes last.
 */
#ifndef DODO_ADAPTERS_MOUNT_JOBS_H
#define DODO_ADAPTERS_MOUNT_JOBS_H

#include "base/list.h"

typedef struct Jobs Jobs;

/* The first member of what a job needs. */
typedef struct Job {
    ListNode node;
    void (*run)(struct Job *job); /* in one of the threads; frees the job */
} Job;

int jobs_new(Jobs **ret); /* 0, -errno: -EAGAIN if no thread can be started */
/* Does what is left, and ends the threads. NULL is nothing. */
void jobs_end(Jobs *jobs);
/* Takes @job. Jobs run in any order, up to eight at once. */
void jobs_push(Jobs *jobs, Job *job);
/* Waits until there is no job. */
void jobs_drain(Jobs *jobs);

#endif
