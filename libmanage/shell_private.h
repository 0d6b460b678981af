/* SPDX-License-Identifier: MIT */
/* What the files of the shell share: shell.c, the cache's start; hooks.c, the core's; workers.c,
 * its threads; drive.c, calls that run to their ends; ending.c; instance.c, below all of them. */
#ifndef DODO_LIBMANAGE_SHELL_PRIVATE_H
#define DODO_LIBMANAGE_SHELL_PRIVATE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "libmanage/shell.h"

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
    ProgramPart *_Atomic part; /* of the process's page; NULL: it has none, or none yet */
    atomic_bool ending; /* the process ends: what was written has been flushed, or is being */
};

/* instance.c */
extern pthread_mutex_t manage_start_lock;
extern Manage *_Atomic manage_running; /* never freed */

/* hooks.c */
CacheHooks manage_hooks(Manage *m);

/* workers.c */
/* Wakes one worker, for there may be something to do. That one wakes the next, if there was. A
 * process whose files are as fast as its memory has no workers: system calls on descriptors are
 * cheaper in a process with one thread. False: there is no worker, and none could be started. */
bool manage_workers_wake(Manage *m, uint64_t *ret_works);

/* drive.c */
void manage_carry_out(Manage *m, const CacheJob *job, CacheResult *result);
/* The background's, beside each other: see job_carry_out_beside(). The core has their results then.
 */
void manage_carry_out_beside(Manage *m, CacheJob *jobs, unsigned count);

/* ending.c: what is retained is given to the hosts in exit(), before libdodo ends */
void manage_retain_at_exit(void);

#endif
