/* SPDX-License-Identifier: MIT */
/* What a call needs to go on, and who wakes those that wait. */
#include "libmanage/core_private.h"

/* Who waits for a hit looks again after so long: see hit.c. */
#define HIT_LOOK_NS NS_PER_MS

void background_wake(Cache *c)
{
    if (c->background_idle && c->hooks.wake_background)
        c->background_idle = !c->hooks.wake_background(c->hooks.ctx);
}

void waiters_wake(Cache *c)
{
    while (c->waiters) {
        CacheCall *call = c->waiters;
        c->waiters = call->links.next;
        if (call->links.next)
            call->links.next->links.prev = &c->waiters;
        call->waiting = false;
        if (c->hooks.wake)
            c->hooks.wake(c->hooks.ctx, call);
    }
}

void call_job(CacheCall *call)
{
    call->need = CACHE_JOB;
}

void call_block(Cache *c, CacheCall *call, uint64_t until_ns)
{
    call->need = CACHE_BLOCKED;
    call->until_ns = until_ns;
    if (call->waiting)
        return;
    call->waiting = true;
    call->links.prev = &c->waiters;
    call->links.next = c->waiters;
    if (call->links.next)
        call->links.next->links.prev = &call->links.next;
    c->waiters = call;
}

void call_block_hit(Cache *c, CacheCall *call, uint64_t now_ns)
{
    call_block(c, call, time_add(now_ns, HIT_LOOK_NS));
}

void call_unblock(CacheCall *call)
{
    if (!call->waiting)
        return;
    call->waiting = false;
    *call->links.prev = call->links.next;
    if (call->links.next)
        call->links.next->links.prev = call->links.prev;
}

void call_over(CacheCall *call, ssize_t result, int error)
{
    call->need = CACHE_OVER;
    call->result = result;
    call->error = error;
}

void call_leave(Cache *c, CacheCall *call)
{
    Region *r = call->region;
    call->region = NULL;
    r->calls--;
    if (r->closing)
        waiters_wake(c);
}
