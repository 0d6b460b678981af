/* SPDX-License-Identifier: MIT */
/* The library's shell: the process's cache, its threads, fork and exit. */
#ifndef DODO_LIBMANAGE_SHELL_H
#define DODO_LIBMANAGE_SHELL_H

#include <pthread.h>

#include "libmanage/core.h"
#include "libmanage/settings.h"

typedef struct Manage Manage;

/* A call of a thread's. */
typedef struct ManageCall {
    CacheCall call;
    pthread_cond_t woken;
    bool wake;
} ManageCall;

/* The process's cache, made if need be. 0; -EINVAL: wrong settings; -ENOMEM; another -errno of the
 * config file. @error: what is wrong with the settings, or "". */
int manage_get(Manage **ret, char error[MANAGE_SETTINGS_ERROR_MAX]);
/* The same if it is there already, else NULL. */
Manage *manage_peek(void);
Cache *manage_cache(Manage *m);
/* Others on this host may see what the cache does, from the first region on. */
void manage_publish(Manage *m);
/* The process is at its end: nobody will close what is opened now. */
bool manage_ending(const Manage *m);
/* What a hit needs, side by side. */
typedef struct ManageLane {
    const Manage *of;
    Cache *cache;
    struct Lane *lane; /* this thread's; NULL: none */
} ManageLane;
const ManageLane *manage_lane(Manage *m);
/* Runs a call that was begun to its end. */
void manage_run(Manage *m, ManageCall *e);
/* Before the region's cclose or the end of the process: what it has here goes to remote memory, if
 * it is retained. */
void manage_keep(Manage *m, int rd);
void manage_call_init(ManageCall *e);
void manage_call_deinit(ManageCall *e);
/* 0, or -EBUSY: there is a cache already. */
int manage_preset(enum manage_option option, uint64_t value);

#endif
