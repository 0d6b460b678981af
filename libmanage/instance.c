/* SPDX-License-Identifier: MIT */
/* The one cache of a process, and its threads' ways to it; a child of a fork has none. */
#include <stdlib.h>

#include "libdodo/program_file.h"
#include "libmanage/backing.h"
#include "libmanage/shell_private.h"

pthread_mutex_t manage_start_lock = PTHREAD_MUTEX_INITIALIZER;
Manage *_Atomic manage_running;

Manage *manage_peek(void)
{
    return manage_running;
}

Cache *manage_cache(Manage *m)
{
    return m->cache;
}

void manage_publish(Manage *m)
{
    if (!atomic_load_explicit(&m->part, memory_order_acquire))
        atomic_store_explicit(&m->part, dodo_private_program(), memory_order_release);
}

bool manage_ending(const Manage *m)
{
    return m->ending;
}

/* Initial-exec: found without a call. There is room for a few words in programs that load the
 * library later, too. */
static _Thread_local __attribute__((tls_model("initial-exec"))) ManageLane mine;

static pthread_key_t ends; /* of threads that have a lane */
static bool ends_are_seen;

static void thread_ends(void *arg)
{
    ManageLane *lane = arg;
    if (lane->lane && lane->of == manage_running)
        cache_lane_give(lane->cache, lane->lane);
    *lane = (ManageLane){0}; /* a later destructor of the thread may read */
}

const ManageLane *manage_lane(Manage *m)
{
    if (mine.of == m)
        return &mine;
    /* A child's is another one. */
    mine = (ManageLane){.of = m, .cache = m->cache, .lane = cache_lane(m->cache)};
    if (ends_are_seen)
        (void)pthread_setspecific(ends, &mine);
    return &mine;
}

/* ---- fork ------------------------------------------------------------------------------------ */

static void fork_prepare(void)
{
    (void)pthread_mutex_lock(&manage_start_lock);
    backing_lock_all();
}

static void fork_parent(void)
{
    backing_unlock_all();
    (void)pthread_mutex_unlock(&manage_start_lock);
}

/* The child starts with nothing. What the parent's threads were at work on is left as it is: some
 * of it may be half done. */
static void fork_child(void)
{
    manage_running = NULL;
    backing_abandon_all();
    backing_unlock_all();
    (void)pthread_mutex_unlock(&manage_start_lock);
}

__attribute__((constructor)) static void at_load(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
    ends_are_seen = pthread_key_create(&ends, thread_ends) == 0;
}
