/* SPDX-License-Identifier: MIT */
/* The links of a process: each call has one alone, and a thread that makes call after call keeps
 * its own. */
#include "base/os.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/runtime_private.h"

/* Calls at once in a process; more wait for one of these to end. A link has LINK_DESCRIPTORS, and
 * all of them no more than one in LINKS_SHARE of the process's: the program needs some, too. */
enum { LINKS_MAX = 1024, LINK_DESCRIPTORS = 2, LINKS_SHARE = 4 };

/* The link that this thread had last, and of which runtime. */
static _Thread_local struct {
    uint64_t life;
    Link *link;
} last;

static unsigned links_most(void)
{
    unsigned most = os_descriptors_part(LINKS_SHARE * LINK_DESCRIPTORS, LINKS_MAX);
    return most > 0 ? most : 1;
}

static bool link_claim(Link *link)
{
    return !atomic_load_explicit(&link->busy, memory_order_relaxed) &&
           !atomic_exchange(&link->busy, true);
}

/* Under the pool's lock: an idle link, or a new one, or NULL. */
Link *runtime_link_find(Runtime *rt)
{
    for (Link *link = rt->all; link; link = link->all)
        if (link_claim(link))
            return link;
    if (rt->links >= links_most() || rt->ended)
        return NULL;
    gate_enter();
    Link *link = link_new(rt->client, &rt->settings, &rt->self, LINK_CALLS, false);
    gate_leave();
    if (link) {
        link->busy = true;
        link->all = rt->all;
        rt->all = link;
        rt->links++;
    }
    return link;
}

static Link *link_wait_for(Runtime *rt)
{
    Link *link;
    (void)pthread_mutex_lock(&rt->pool_lock);
    while (!(link = runtime_link_find(rt))) { /* there is one at least, and each call ends */
        (void)atomic_fetch_add(&rt->waiters, 1);
        /* Given back just now, before its owner could see that somebody waits? */
        link = runtime_link_find(rt);
        if (!link)
            (void)pthread_cond_wait(&rt->returned, &rt->pool_lock);
        (void)atomic_fetch_sub(&rt->waiters, 1);
        if (link)
            break;
    }
    (void)pthread_mutex_unlock(&rt->pool_lock);
    return link;
}

/* A thread keeps to its link, with no lock and a warm cache, as long as there are links enough. */
Link *runtime_link_take(Runtime *rt)
{
    Link *link = last.life == rt->life ? last.link : NULL;
    if (!link || !link_claim(link)) {
        link = link_wait_for(rt);
        last.life = rt->life;
        last.link = link;
    }
    gate_enter();
    return link;
}

static void link_return(Runtime *rt, Link *link)
{
    atomic_store(&link->busy, false);
    if (atomic_load(&rt->waiters) == 0)
        return;
    (void)pthread_mutex_lock(&rt->pool_lock);
    (void)pthread_cond_signal(&rt->returned);
    (void)pthread_mutex_unlock(&rt->pool_lock);
}

void runtime_link_give(Runtime *rt, Link *link)
{
    gate_leave();
    link->patient = false;
    link_return(rt, link);
}

Link *runtime_link_new(Runtime *rt, unsigned calls_max)
{
    return rt->ended ? NULL : link_new(rt->client, &rt->settings, &rt->self, calls_max, false);
}

void runtime_run(Runtime *rt, Link *link, Call *call)
{
    link_run(&rt->waker, link, call);
}
