/* SPDX-License-Identifier: MIT */
/* The one runtime of a process, and what goes with it. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

void runtime_background_stop(Runtime *rt)
{
    rt->stop = true;
    (void)eventfd_write(rt->background_fd, 1);
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
