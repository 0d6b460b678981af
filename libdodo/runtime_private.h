/* SPDX-License-Identifier: MIT */
/* What the files of the runtime share: runtime.c, its start; hooks.c, the core's; serving.c, the
 * background's thread; ending.c; fork.c; link_pool.c; instance.c, below all of them. */
#ifndef DODO_LIBDODO_RUNTIME_PRIVATE_H
#define DODO_LIBDODO_RUNTIME_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "libdodo/drive.h"
#include "libdodo/names.h"
#include "libdodo/program_page.h"
#include "libdodo/runtime.h"

struct Runtime {
    Settings settings;
    Id128 self;
    pid_t pid; /* whose it is */
    Client *client;
    Names *names; /* of the manager; NULL: it has none */
    Waker waker;
    uint64_t life; /* of all runtimes of the process */
    pthread_mutex_t pool_lock;
    pthread_cond_t returned; /* with @pool_lock: a link is idle */
    Link *all;               /* links of calls; one that is not busy is idle */
    unsigned links;
    _Atomic unsigned waiters; /* for an idle link */
    Link *background;
    pthread_t thread;     /* the background's, from the first region on */
    _Atomic bool serving; /* it was started; changed under runtime_start_lock */
    int background_fd;
    _Atomic bool stop;         /* the background's thread */
    _Atomic bool ended;        /* the process is in exit() */
    bool forked;               /* its files are the parent's */
    ProgramPart *_Atomic part; /* of the process's page; NULL: it has none, or none yet */
};

/* instance.c */
extern pthread_mutex_t runtime_start_lock;
extern unsigned runtime_generation;      /* under that lock: of the next runtime's descriptors */
extern Runtime *_Atomic runtime_running; /* never freed but by dodo_shutdown(), and in a child */
Runtime *runtime_new(void); /* without its settings, client and sockets; NULL: no memory */
void runtime_free(Runtime *rt);

/* hooks.c; NULL: no memory */
Client *runtime_client_new(Runtime *rt, const Finder *finder);

/* serving.c */
int runtime_background_make(Runtime *rt); /* 0, -ENOMEM */
void runtime_background_stop(Runtime *rt);

/* link_pool.c; under the pool's lock: an idle link, or a new one, or NULL. */
Link *runtime_link_find(Runtime *rt);

/* fork.c */
void runtime_watch_forks(void);

/* ending.c: an exit handler */
void runtime_at_exit(void);

#endif
