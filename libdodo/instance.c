/* SPDX-License-Identifier: MIT */
/* The one runtime of a process, and what goes with it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdodo/random.h"
#include "libdodo/runtime_private.h"

pthread_mutex_t runtime_start_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned runtime_generation;
Runtime *_Atomic runtime_running;

Runtime *runtime_peek(void)
{
    return runtime_running;
}

bool runtime_ended(const Runtime *rt)
{
    return rt->ended;
}

const Settings *runtime_settings(const Runtime *rt)
{
    return &rt->settings;
}

Client *runtime_client(Runtime *rt)
{
    return rt->client;
}

Runtime *runtime_new(void)
{
    static _Atomic uint64_t lives;
    Runtime *rt = calloc(1, sizeof *rt);
    if (!rt)
        return NULL;
    rt->life = atomic_fetch_add(&lives, 1) + 1;
    (void)waker_init(&rt->waker);
    (void)pthread_mutex_init(&rt->pool_lock, NULL);
    (void)pthread_cond_init(&rt->returned, NULL);
    rt->background_fd = -1;
    rt->pid = getpid();
    random_bytes(NULL, &rt->self, sizeof rt->self);
    return rt;
}

void runtime_free(Runtime *rt)
{
    names_end(rt->names);
    for (Link *link = rt->all, *next; link; link = next) {
        next = link->all;
        link_free(link);
    }
    link_free(rt->background);
    client_free(rt->client);
    if (rt->background_fd >= 0)
        (void)close(rt->background_fd);
    waker_deinit(&rt->waker);
    (void)pthread_mutex_destroy(&rt->pool_lock);
    (void)pthread_cond_destroy(&rt->returned);
    explicit_bzero(rt, sizeof *rt);
    free(rt);
}
