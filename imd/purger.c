/* SPDX-License-Identifier: MIT */
#include "imd/purger.h"

#include <glib.h>

#include "base/os.h"
#include "imd/priority.h"

/* A row of extents that go is given back as one. */
static void give_extents_back(const PoolMemory *pool, uint64_t pool_offset, const ImdExtents *x)
{
    uint64_t begin = 0, end = 0, from, to;
    for (unsigned i = 0; i < x->count; i++) {
        if (!extents_goes(x, i))
            continue;
        extents_bounds(x, i, &from, &to);
        if (from != end) {
            pool_memory_give_back(pool, pool_offset + begin, end - begin);
            begin = from;
        }
        end = to;
    }
    pool_memory_give_back(pool, pool_offset + begin, end - begin);
}

static void give_back(const PoolMemory *pool, const ImdRegion *region)
{
    if (region->extents)
        give_extents_back(pool, region->pool_offset, region->extents);
    else
        pool_memory_clear(pool, region->pool_offset, region->len);
}

/* True: it is over. */
static bool obey(Purger *p, ImdOrder *o)
{
    if (o->stop) {
        g_free(o);
        return true;
    }
    if (o->command.kind == IMD_LEAVE)
        pool_memory_give_back_all(p->pool);
    else if (!p->pool->kept)
        give_back(p->pool, &o->command.region);
    o->result = 0;
    if (o->unasked)
        g_free(o);
    else
        mailbox_post(p->done, &o->letter);
    return false;
}

static void *purge(void *arg)
{
    Purger *p = arg;
    bool over = false;
    hurry(); /* all that it does is for the owner */
    while (!over) {
        mailbox_wait(&p->orders);
        for (Letter *l = mailbox_take(&p->orders), *next; l; l = next) {
            next = l->next;
            over |= obey(p, (ImdOrder *)l);
        }
    }
    return NULL;
}

int purger_start(Purger *p, const PoolMemory *pool, Mailbox *done)
{
    int res = mailbox_init(&p->orders);
    if (res < 0)
        return res;
    p->pool = pool;
    p->done = done;
    res = os_thread_start(&p->thread, purge, p);
    p->running = res == 0;
    if (!p->running)
        mailbox_deinit(&p->orders);
    return res;
}

void purger_order(Purger *p, ImdOrder *order)
{
    mailbox_post(&p->orders, &order->letter);
}

void purger_stop(Purger *p)
{
    if (!p->running)
        return;
    ImdOrder *o = g_new0(ImdOrder, 1);
    o->stop = true;
    purger_order(p, o);
    (void)pthread_join(p->thread, NULL);
    mailbox_deinit(&p->orders);
    p->running = false;
}
