/* SPDX-License-Identifier: MIT */
/* The library ends: all is closed and the manager hears it, or the process is in exit(). */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/parked.h"
#include "base/time.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/queue.h"
#include "libdodo/runtime_private.h"
#include "libdodo/share_map.h"

enum { EXIT_DEADLINE_MS = 250 }; /* a program's exit waits for anything no longer than this */

/* Says good-bye to the manager, if that knows us. */
static int leave(Runtime *rt)
{
    ClientStats stats;
    Call call;
    client_stats(rt->client, &stats);
    if (stats.requests == 0)
        return 0;
    (void)pthread_mutex_lock(&rt->pool_lock);
    Link *link = runtime_link_find(rt);
    (void)pthread_mutex_unlock(&rt->pool_lock);
    if (!link)
        return -EINVAL;
    gate_enter();
    call_leave_start(&call, link->channel, EXIT_DEADLINE_MS * NS_PER_MS, os_now_ns());
    link_run(&rt->waker, link, &call);
    runtime_link_give(rt, link);
    return call.result < 0 ? -EINVAL : 0;
}

/* A manager that left one request unanswered is not asked for each of the others. */
static int close_all(Runtime *rt)
{
    for (int rd = -1; (rd = client_region_next(rt->client, rd)) >= 0;) {
        Call call;
        Link *link = runtime_link_take(rt);
        call_close_start(&call, link->channel, rd, os_now_ns());
        link_run(&rt->waker, link, &call);
        runtime_link_give(rt, link);
        if (call.unanswered)
            return -EINVAL;
    }
    return 0;
}

int runtime_stop(void)
{
    (void)pthread_mutex_lock(&runtime_start_lock);
    Runtime *rt = runtime_running;
    int result = 0;
    if (rt && !rt->ended) {
        queue_shut_all();
        result = close_all(rt);
        runtime_background_stop(rt);
        if (rt->serving)
            (void)pthread_join(rt->thread, NULL);
        if (leave(rt) < 0)
            result = -EINVAL;
        runtime_running = NULL;
        runtime_generation = client_generation(rt->client); /* a number of before is nobody's */
        runtime_free(rt);
    }
    (void)parked_close_unlocked();
    (void)pthread_mutex_unlock(&runtime_start_lock);
    return result;
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* Realtime: what the timed calls go by. */
static struct timespec exit_deadline(void)
{
    return time_to_timespec(os_clock_ns(CLOCK_REALTIME) + EXIT_DEADLINE_MS * NS_PER_MS);
}

/* Other threads may be in the library and go on while the process ends, so nothing is freed. They
 * find all hosts silent, because the program's cipher may be gone next. */
static void runtime_end(Runtime *rt)
{
    runtime_background_stop(rt);
    (void)leave(rt);
    rt->ended = true;
    (void)gate_close(EXIT_DEADLINE_MS * NS_PER_MS); /* not in time: somebody is in the log hook */
    client_stop(rt->client, os_now_ns());
    gate_open();
    struct timespec until = exit_deadline();
    share_map_exit(&until);
    if (rt->serving)
        (void)pthread_timedjoin_np(rt->thread, NULL, &until);
}

void runtime_ends(void)
{
    struct timespec until = exit_deadline();
    if (pthread_mutex_timedlock(&runtime_start_lock, &until) != 0)
        return;
    if (runtime_running && runtime_running->pid == getpid())
        client_ends(runtime_running->client, EXIT_DEADLINE_MS * NS_PER_MS);
    (void)pthread_mutex_unlock(&runtime_start_lock);
}

/* Another thread holds the lock, because it is starting or shutting down; or this one does, and a
 * signal handler called exit(). Then there is no good-bye. */
void runtime_at_exit(void)
{
    struct timespec until = exit_deadline();
    if (gate_inside())
        gate_leave(); /* exit() out of the log hook: the call that it is in does not go on */
    if (pthread_mutex_timedlock(&runtime_start_lock, &until) != 0)
        return;
    Runtime *rt = runtime_running;
    if (rt && rt->pid == getpid() && !rt->ended)
        runtime_end(rt);
    (void)pthread_mutex_unlock(&runtime_start_lock);
}
