/* SPDX-License-Identifier: MIT */
/* The pool's limit: the owner wants memory back, or has some to spare again. Regions that must go
 * are dropped as for a FREE that nobody asked for. Their clients find them gone at the next read or
 * write, and the manager learns of it from the digest of a BEAT that comes soon. */
#include <stdlib.h>

#include "imd/control_priv.h"

static int by_use(const void *a, const void *b)
{
    const Victim *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return x->region < y->region ? -1 : x->region > y->region;
}

static void victims_forget(Victims *v)
{
    free(v->all);
    *v = (Victims){.all = NULL};
}

/* One look at all open regions, and the order in which they go. Thousands may have to, and must not
 * each cost a look at all. A region that is used meanwhile still goes in its turn. */
static void victims_choose(ImdControl *c)
{
    Victims *v = &c->victims;
    victims_forget(v);
    if (c->directory.by_region.count > 0)
        v->all = calloc(c->directory.by_region.count, sizeof *v->all);
    if (!v->all)
        return;
    LIST_FOREACH(node, &c->directory.entries) {
        Entry *e = CONTAINER_OF(node, Entry, in_order);
        if (e->state == ENTRY_OPEN)
            v->all[v->count++] = (Victim){atomic_load_explicit(&e->last_use, memory_order_relaxed),
                                          e->address.region};
    }
    qsort(v->all, v->count, sizeof *v->all, by_use);
}

static Entry *victim_next(ImdControl *c)
{
    Victims *v = &c->victims;
    while (v->next < v->count) {
        Entry *e = directory_find(&c->directory, v->all[v->next++].region);
        if (e && e->state == ENTRY_OPEN)
            return e;
    }
    return NULL;
}

/* Without memory for the order, any will do. */
static Entry *open_any(const ImdControl *c)
{
    LIST_FOREACH(node, &c->directory.entries) {
        Entry *e = CONTAINER_OF(node, Entry, in_order);
        if (e->state == ENTRY_OPEN)
            return e;
    }
    return NULL;
}

/* The next to go; NULL: all that is left has a command under way, and is looked at after that. */
static Entry *victim(ImdControl *c)
{
    const ListNode *released = &c->directory.released;
    if (!list_empty(released))
        return CONTAINER_OF(released->next, Entry, in_release);
    Entry *e = victim_next(c);
    if (e)
        return e;
    victims_choose(c);
    e = victim_next(c);
    return e ? e : open_any(c);
}

void control_limit_keep(ImdControl *c)
{
    bool dropped = false;
    Entry *e;
    while (directory_over_limit(&c->directory) && c->dropping < LIMIT_DROPS_MAX &&
           (e = victim(c)) != NULL) {
        control_trace(c, "beyond the limit", e->address.region);
        control_drop(c, e);
        dropped = true;
    }
    if (!directory_over_limit(&c->directory))
        victims_forget(&c->victims);
    if (dropped)
        control_manager_hurry(c);
}

uint64_t imd_control_limit_bytes(const ImdControl *c)
{
    uint64_t all = pool_bytes(c->directory.pool);
    return c->directory.limit_bytes < all ? c->directory.limit_bytes : all;
}

uint64_t imd_control_used_bytes(const ImdControl *c)
{
    return directory_used_bytes(&c->directory);
}

void control_limit_deinit(ImdControl *c)
{
    victims_forget(&c->victims);
}

/* More is in use only while something is going, or is moving and will be seen to when it rests. */
bool control_limit_check(const ImdControl *c)
{
    if (!directory_over_limit(&c->directory) || c->dropping >= LIMIT_DROPS_MAX)
        return true;
    LIST_FOREACH(node, &c->directory.entries)
        if (CONTAINER_OF(node, Entry, in_order)->command == 0)
            return false;
    return true;
}
