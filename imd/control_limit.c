/* SPDX-License-Identifier: MIT */
/* The pool's limit: the owner wants memory back, or has some to spare again. What goes are extents,
 * the least recently used first. Their clients learn at the next read that the blocks are unfilled.
 * A region that would have nothing left is dropped as for a FREE that nobody asked for: its client
 * finds it gone, may find memory elsewhere, and the manager learns of it from the digest of a BEAT
 * that comes soon. */
#include <stdlib.h>

#include "imd/control_priv.h"

/* What was used within it gives way to nothing but the owner. */
static const uint64_t RENEW_AGE_NS = 2 * NS_PER_S;
enum { RENEW_PART = 64 }; /* of the limit, that gives way at once */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_turn(const void *a, const void *b)
{
    const Victim *x = a, *y = b;
    int order = by_number(x->turn, y->turn);
    order = order ? order : by_number(x->used, y->used);
    order = order ? order : by_number(x->region, y->region);
    return order ? order : by_number(x->extent, y->extent);
}

static void victims_forget(Victims *v)
{
    free(v->all);
    *v = (Victims){.all = NULL};
}

static bool may_go(const Entry *e)
{
    return e->state == ENTRY_OPEN || e->state == ENTRY_RELEASED;
}

static size_t extents_taken(const Entry *e)
{
    size_t n = 0;
    for (unsigned i = 0; i < e->extents->count; i++)
        n += extents_has(e->extents, i);
    return n;
}

static void victims_add(Victims *v, const Entry *e, uint64_t turn)
{
    for (unsigned i = 0; i < e->extents->count; i++)
        if (v->count < v->room && extents_has(e->extents, i))
            v->all[v->count++] = (Victim){.turn = turn,
                                          .used = extents_used(e->extents, i),
                                          .region = e->address.region,
                                          .extent = i};
}

/* One look at all extents, and the order in which they go. Thousands may have to, and must not each
 * cost a look at all. One that is used meanwhile still goes in its turn. */
static void victims_choose(ImdControl *c)
{
    Victims *v = &c->victims;
    victims_forget(v);
    LIST_FOREACH(node, &c->directory.entries)
        v->room += extents_taken(CONTAINER_OF(node, Entry, in_order));
    if (v->room > 0)
        v->all = calloc(v->room, sizeof *v->all);
    if (!v->all)
        return;
    uint64_t turn = 0;
    LIST_FOREACH(node, &c->directory.released)
        victims_add(v, CONTAINER_OF(node, Entry, in_release), turn++);
    LIST_FOREACH(node, &c->directory.entries)
        if (CONTAINER_OF(node, Entry, in_order)->state == ENTRY_OPEN)
            victims_add(v, CONTAINER_OF(node, Entry, in_order), UINT64_MAX);
    qsort(v->all, v->count, sizeof *v->all, by_turn);
}

/* Regions of which extents were chosen, and go now. */
typedef struct Going {
    Entry *entries[LIMIT_GOING_MAX];
    unsigned count;
} Going;

/* Chooses extents in their order, until @bytes are, or too many regions. Returns what is left. */
static uint64_t going_choose(ImdControl *c, Going *g, uint64_t bytes, uint64_t before_tick)
{
    Victims *v = &c->victims;
    unsigned most = LIMIT_GOING_MAX - c->dropping - c->shrinking;
    for (; v->next < v->count && bytes > 0; v->next++) {
        const Victim *t = &v->all[v->next];
        Entry *e = directory_find(&c->directory, t->region);
        if (!e || !may_go(e) || !extents_has(e->extents, t->extent) || t->used >= before_tick)
            continue;
        if (e->going_bytes == 0) {
            if (g->count == most)
                break;
            g->entries[g->count++] = e;
        }
        uint64_t goes = extents_bytes(e->extents, t->extent);
        extents_choose(e->extents, t->extent);
        directory_going(&c->directory, e, e->going_bytes + goes);
        bytes -= goes < bytes ? goes : bytes;
    }
    return bytes;
}

/* Without memory for the order, any region will do. */
static void going_any(ImdControl *c, Going *g)
{
    LIST_FOREACH(node, &c->directory.entries) {
        Entry *e = CONTAINER_OF(node, Entry, in_order);
        uint64_t bytes = extents_filled_bytes(e->extents);
        if (!may_go(e) || bytes == 0)
            continue;
        directory_going(&c->directory, e, bytes);
        g->entries[g->count++] = e;
        return;
    }
}

/* True: regions go. @spare: one that is open keeps its name. */
static bool going_go(ImdControl *c, const Going *g, bool spare)
{
    bool dropped = false;
    for (unsigned i = 0; i < g->count; i++) {
        Entry *e = g->entries[i];
        bool all = e->going_bytes >= extents_filled_bytes(e->extents);
        if (all && !(spare && e->state == ENTRY_OPEN)) {
            control_trace(c, "beyond the limit", e->address.region);
            control_drop(c, e);
            dropped = true;
        } else {
            control_trace(c, "extents beyond the limit", e->address.region);
            control_shrink(c, e);
        }
    }
    return dropped;
}

/* What could be begun of it. */
static Going limit_round(ImdControl *c, uint64_t excess)
{
    Going g = {.count = 0};
    uint64_t left = going_choose(c, &g, excess, UINT64_MAX);
    if (left == 0 || g.count > 0)
        return g;
    victims_choose(c);
    (void)going_choose(c, &g, excess, UINT64_MAX);
    if (g.count == 0 && !c->victims.all)
        going_any(c, &g);
    return g;
}

void control_limit_keep(ImdControl *c)
{
    bool dropped = false;
    uint64_t excess;
    while ((excess = directory_excess(&c->directory)) > 0 &&
           c->dropping + c->shrinking < LIMIT_GOING_MAX) {
        Going g = limit_round(c, excess);
        if (g.count == 0)
            break; /* all that is left has a command under way, and is looked at after that */
        dropped |= going_go(c, &g, false);
    }
    if (excess == 0)
        victims_forget(&c->victims);
    if (dropped)
        control_manager_hurry(c);
}

/* What holds no data any more. False: there is more of it, of regions that move or are too many. */
static bool idle_choose(ImdControl *c, Going *g)
{
    bool all = true;
    LIST_FOREACH(node, &c->directory.entries) {
        Entry *e = CONTAINER_OF(node, Entry, in_order);
        bool goes = may_go(e) && g->count < LIMIT_GOING_MAX;
        uint64_t bytes = 0;
        for (unsigned i = 0; i < e->extents->count; i++) {
            if (!extents_idle(e->extents, i))
                continue;
            all &= goes;
            if (!goes)
                break;
            extents_choose(e->extents, i);
            bytes += extents_bytes(e->extents, i);
        }
        if (bytes == 0)
            continue;
        directory_going(&c->directory, e, bytes);
        g->entries[g->count++] = e;
    }
    return all;
}

/* What nobody has used for a while, for what could not be filled. */
static void old_choose(ImdControl *c, Going *g, uint64_t now_ns)
{
    const Directory *d = &c->directory;
    uint64_t part = d->limit_bytes / RENEW_PART;
    uint64_t old = now_ns > RENEW_AGE_NS ? now_ns - RENEW_AGE_NS : 0;
    victims_choose(c);
    (void)going_choose(c, g, part > d->extent_bytes ? part : d->extent_bytes, imd_use_tick(old));
    victims_forget(&c->victims);
}

static bool take_flag(_Atomic bool *flag)
{
    return atomic_exchange_explicit(flag, false, memory_order_relaxed);
}

void control_limit_renew(ImdControl *c, uint64_t now_ns)
{
    ImdSpace *space = &c->directory.space;
    Going g = {.count = 0};
    if (now_ns < time_add(c->renewed_ns, c->config.beat_ns) || c->dropping + c->shrinking > 0)
        return;
    c->renewed_ns = now_ns;
    if (take_flag(&space->idle)) {
        if (!idle_choose(c, &g))
            atomic_store_explicit(&space->idle, true, memory_order_relaxed);
    } else if (take_flag(&space->wanted)) {
        old_choose(c, &g, now_ns);
    }
    if (going_go(c, &g, true))
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

uint64_t imd_control_filled_bytes(const ImdControl *c)
{
    return directory_filled_bytes(&c->directory);
}

void control_limit_deinit(ImdControl *c)
{
    victims_forget(&c->victims);
}

/* More is filled only while something is going, or is moving and will be seen to when it rests. */
bool control_limit_check(const ImdControl *c)
{
    if (directory_excess(&c->directory) == 0 || c->dropping + c->shrinking >= LIMIT_GOING_MAX)
        return true;
    LIST_FOREACH(node, &c->directory.entries) {
        const Entry *e = CONTAINER_OF(node, Entry, in_order);
        if (e->command == 0 && extents_filled_bytes(e->extents) > 0)
            return false;
    }
    return true;
}
