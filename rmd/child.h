/* SPDX-License-Identifier: MIT */
/* The imd that rmd has started. It is a process of a session of its own, gets only what others
 * leave of processor and disk, is the first to go when memory is out, leaves no core files, and
 * does not outlive rmd by more than its time to leave. At most one at a time. */
#ifndef DODO_RMD_CHILD_H
#define DODO_RMD_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rmd/cgroup.h"
#include "rmd/guard.h"
#include "rmd/options.h"

enum { CHILD_HOW_MAX = 32 };

typedef struct ChildOps {
    void (*ready)(void *ctx, uint64_t epoch, uint64_t pool_bytes);
    void (*used)(void *ctx, uint64_t used_bytes, uint64_t limit_bytes);
    void (*saves)(void *ctx);                  /* it knows child_save() */
    void (*ended)(void *ctx, const char *how); /* it is gone and waited for; "signal 9" */
} ChildOps;

typedef struct Child {
    const RmdOptions *options; /* borrowed */
    char *program;
    const ChildOps *ops;
    void *ctx;
    int fd;      /* becomes readable when there is something for child_take(); -1: not open */
    pid_t pid;   /* 0: none runs */
    int pidfd;   /* of it, or -1 */
    int channel; /* to it, or -1 */
    uint64_t limit_bytes; /* the newest */
    uint64_t used_bytes;  /* of it, as imd said last */
    bool untold;          /* it did not listen when it was to hear of it */
    bool leaving;         /* it was asked to */
    Cgroup cgroup;
    Guard guard;
} Child;

/* 0, or -errno. */
int child_open(Child *c, const RmdOptions *options, const ChildOps *ops, void *ctx);
/* Kills what runs, and waits for it. */
void child_close(Child *c);

/* 0, or -errno: none runs. */
int child_start(Child *c, uint64_t pool_bytes, uint64_t limit_bytes);
void child_limit(Child *c, uint64_t limit_bytes);
/* Has it keep so much, and leave when that lives elsewhere. False: it did not listen. */
bool child_save(Child *c, uint64_t bytes, uint64_t within_ns);
/* Has it read the key again, and passes on those of our own options that concern it. False: it did
 * not listen. */
bool child_reload(Child *c, const RmdOptions *o);
/* Tells the limit again, if imd did not listen. To be called now and then. */
void child_remind(Child *c);
/* Says that we are there. */
void child_beat(Child *c);
/* Where none runs, nothing happens. */
void child_terminate(Child *c);
void child_kill(Child *c); /* and has the kernel take its memory back at once */
/* Messages and the end of it, by the ops. */
void child_take(Child *c);
/* Memory of the host that it has now. */
uint64_t child_held_bytes(const Child *c);

#endif
