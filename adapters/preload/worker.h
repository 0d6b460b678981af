/* SPDX-License-Identifier: MIT */
/* The threads: the worker opens and closes regions, the keeper hears of those who want to write.
 * They are started for the first file that is wanted. */
#ifndef DODO_ADAPTERS_PRELOAD_WORKER_H
#define DODO_ADAPTERS_PRELOAD_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts both threads where they are not running. False: there are none. Under the lock of all
 * files. */
bool worker_start(void);
/* The worker looks for what there is to do. Safe in signal handlers. */
void worker_wake(void);
/* The child of a fork has none. @for_good: nor will it have one. */
void worker_forget(bool for_good);

/* ---- keeper.c ------------------------------------------------------------------------------ */

bool keeper_start(void);
/* The thread that is to hear of a broken lease. */
pid_t keeper_id(void);
/* Takes a lease on @fd, which the keeper hears of. 0, -errno. */
int keeper_take(int fd);

#endif
