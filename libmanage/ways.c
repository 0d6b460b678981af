/* SPDX-License-Identifier: MIT */
#include "libmanage/ways.h"

#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

static Ways *find(const Cache *c, CacheFileId id)
{
    LIST_FOREACH(n, &c->ways.all) {
        Ways *w = CONTAINER_OF(n, Ways, link);
        if (is_same_file(w->id, id))
            return w;
    }
    return NULL;
}

/* The latest one of the device; NULL: there is none. */
static Ways *find_device(const Cache *c, uint64_t device)
{
    LIST_FOREACH(n, &c->ways.all) {
        Ways *w = CONTAINER_OF(n, Ways, link);
        if (w->id.device == device)
            return w;
    }
    return NULL;
}

void ways_set_left(Cache *c, Ways *w, bool left)
{
    c->ways.files_left += left;
    c->ways.files_left -= w->left;
    w->left = left;
}

/* Room for one more: a new one, or that of a file that is closed the longest. NULL: neither. */
static Ways *room(Cache *c)
{
    if (c->ways.count < WAYS_MAX) {
        Ways *w = malloc(sizeof *w);
        c->ways.count += w != NULL;
        return w;
    }
    for (ListNode *n = c->ways.all.prev; n != &c->ways.all; n = n->prev) {
        Ways *w = CONTAINER_OF(n, Ways, link);
        if (w->regions == 0) {
            list_remove(&w->link);
            ways_set_left(c, w, false);
            return w;
        }
    }
    return NULL;
}

static Ways *add(Cache *c, CacheFileId id)
{
    Ways *w = room(c);
    if (!w)
        return NULL;
    const Ways *like = find_device(c, id.device);
    memset(w, 0, sizeof *w);
    w->id = id;
    if (like) {
        memcpy(w->cost, like->cost, sizeof w->cost);
        w->together = like->together;
        w->held_slow = like->held_slow;
        w->lost = like->lost;
        memcpy(w->file_mean, like->file_mean, sizeof w->file_mean);
        for (unsigned k = 0; k < COST_CLASSES; k++)
            w->cheap_ns[k] = like->cheap_ns[k];
    }
    list_init(&w->pieces);
    worth_init(&w->worth, c->cfg.lets_go ? c->cfg.limit_bytes : 0);
    list_push_front(&c->ways.all, &w->link);
    return w;
}

Ways *ways_get(Cache *c, CacheFileId id)
{
    Ways *w = find(c, id);
    if (!w)
        w = add(c, id);
    if (!w)
        w = find_device(c, id.device);
    if (!w && !list_empty(&c->ways.all))
        w = CONTAINER_OF(c->ways.all.next, Ways, link);
    if (!w)
        return NULL;
    w->regions++;
    list_remove(&w->link);
    list_push_front(&c->ways.all, &w->link);
    return w;
}

void ways_put(Ways *w)
{
    w->regions--;
}

void ways_unknown(Cache *c)
{
    LIST_FOREACH(n, &c->ways.all)
        for (unsigned k = 0; k < COST_CLASSES; k++)
            CONTAINER_OF(n, Ways, link)->cheap_ns[k] = 0;
}

void ways_worth_again(Cache *c)
{
    LIST_FOREACH(n, &c->ways.all) {
        Ways *w = CONTAINER_OF(n, Ways, link);
        worth_again(&w->worth);
        ways_set_left(c, w, false);
    }
}

unsigned ways_turns(const Cache *c)
{
    unsigned turns = 0;
    LIST_FOREACH(n, &c->ways.all)
        turns += CONTAINER_OF(n, Ways, link)->worth.turns;
    return turns;
}

void ways_free(Cache *c)
{
    while (!list_empty(&c->ways.all)) {
        Ways *w = CONTAINER_OF(c->ways.all.next, Ways, link);
        list_remove(&w->link);
        free(w);
    }
}
