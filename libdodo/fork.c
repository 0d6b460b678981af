/* SPDX-License-Identifier: MIT */
/* The process forks: the parent goes on, the child has nothing of its own. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/polling.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/guests.h"
#include "libdodo/program_file.h"
#include "libdodo/queue.h"
#include "libdodo/random.h"
#include "libdodo/runtime_private.h"
#include "libdodo/share_map.h"

/* Everything is whole at the moment of the fork: see gate.h. A fork in the log hook, which is
 * called inside the gate, goes without that: the child then only forgets. */
static void fork_prepare(void)
{
    if (gate_inside())
        return;
    (void)pthread_mutex_lock(&runtime_start_lock);
    Runtime *rt = runtime_running;
    if (rt)
        (void)pthread_mutex_lock(&rt->pool_lock);
    (void)gate_close(TIME_NEVER);
    if (rt)
        (void)pthread_mutex_lock(&rt->waker.lock);
    file_lock_all();
    share_map_lock_all();
    program_lock_all();
    queue_lock_all();
    log_lock_all();
}

static void fork_parent(void)
{
    if (gate_inside())
        return;
    Runtime *rt = runtime_running;
    log_unlock_all();
    queue_unlock_all();
    program_unlock_all();
    share_map_unlock_all();
    file_unlock_all();
    if (rt)
        (void)pthread_mutex_unlock(&rt->waker.lock);
    gate_open();
    if (rt)
        (void)pthread_mutex_unlock(&rt->pool_lock);
    (void)pthread_mutex_unlock(&runtime_start_lock);
}

/* Closes and wipes all that the parent had. The parent's threads are not here. Its conditions may
 * have waiters, which are not here either, so they are not destroyed. */
static void runtime_abandon(Runtime *rt)
{
    rt->forked = true;
    (void)pthread_mutex_unlock(&rt->waker.lock);
    (void)pthread_mutex_unlock(&rt->pool_lock);
    for (Link *link = rt->all, *next; link; link = next) {
        next = link->all;
        link_abandon(link);
    }
    link_abandon(rt->background);
    names_abandon(rt->names);
    client_free(rt->client);
    (void)close(rt->background_fd);
    explicit_bzero(rt, sizeof *rt);
    free(rt);
}

/* The child starts with nothing: no regions, no sockets, no keys, no locks on files. */
static void fork_child(void)
{
    Runtime *rt = runtime_running;
    runtime_running = NULL;
    program_abandon();
    queue_forget_all();
    random_forget();
    polling_forget();
    gate_reset();
    guests_forget();
    if (gate_inside()) {
        runtime_start_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        return;
    }
    log_unlock_all();
    queue_abandon_all();
    queue_unlock_all();
    file_abandon_all();
    file_unlock_all();
    share_map_unlock_all();
    if (rt)
        runtime_abandon(rt);
    share_map_abandon_all(); /* the client named them to the end */
    (void)pthread_mutex_unlock(&runtime_start_lock);
}

void runtime_watch_forks(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}
