/* SPDX-License-Identifier: MIT */
#include "libmanage/trace.h"

#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

enum {
    NEAR = 64,           /* ranges around the expected one: threads overtake each other */
    LEAD_MAX = 64,       /* ranges that are fetched before they are needed */
    STRAYED_MAX = 1024,  /* reads in a row that are not near it: the earlier run was another one */
    ROOM_LEAST = 16,     /* ranges of a list, when it is made */
    ROOM_MOST = 1 << 16, /* for a read all of a list may be looked through */
    BUDGET_SHARE = 32,   /* all lists take such a part of the cache's limit at most */
};

/* ---- lists ---------------------------------------------------------------------------------- */

static bool list_grow(Cache *c, TraceList *l, unsigned room)
{
    uint64_t more = (uint64_t)(room - l->room) * sizeof *l->ranges;
    if (room > ROOM_MOST || c->traces.bytes + more > c->cfg.limit_bytes / BUDGET_SHARE)
        return false;
    CacheRange *ranges = realloc(l->ranges, room * sizeof *ranges);
    if (!ranges)
        return false;
    c->traces.bytes += more;
    *l = (TraceList){.ranges = ranges, .count = l->count, .room = room};
    return true;
}

static void list_drop(Cache *c, TraceList *l)
{
    c->traces.bytes -= (uint64_t)l->room * sizeof *l->ranges;
    free(l->ranges);
    *l = (TraceList){0};
}

/* Does @range go on where @last ends, or in the block in which that ends? */
static bool goes_on(const CacheRange *last, CacheRange range)
{
    uint64_t end = (uint64_t)last->block + last->blocks;
    return range.block > last->block && range.block <= end;
}

/* Where there is no room for more, the beginning of the run is kept. */
static void list_add(Cache *c, TraceList *l, CacheRange range)
{
    CacheRange *last = l->count ? &l->ranges[l->count - 1] : NULL;
    if (last && goes_on(last, range)) {
        uint64_t end = (uint64_t)range.block + range.blocks; /* fits, as no block is above */
        last->blocks = (uint32_t)max_u64(last->blocks, end - last->block);
        return;
    }
    if (l->count < l->room || list_grow(c, l, l->room ? 2 * l->room : ROOM_LEAST))
        l->ranges[l->count++] = range;
}

static bool holds(const CacheRange *g, uint32_t block)
{
    return block >= g->block && block - g->block < g->blocks;
}

/* The first range of [from, to) that holds the block; @to: none does. */
static unsigned list_find(const TraceList *l, uint32_t block, unsigned from, unsigned to)
{
    while (from < to && !holds(&l->ranges[from], block))
        from++;
    return from;
}

/* ---- the traces of the cache ---------------------------------------------------------------- */

static void trace_free(Cache *c, Trace *t)
{
    list_drop(c, &t->before);
    list_drop(c, &t->now);
    list_remove(&t->link);
    c->traces.count--;
    free(t);
}

/* That of a file which is closed the longest makes room. */
static bool traces_room(Cache *c)
{
    for (ListNode *n = c->traces.all.prev; c->traces.count >= TRACES_MAX && n != &c->traces.all;
         n = n->prev) {
        Trace *t = CONTAINER_OF(n, Trace, link);
        if (t->regions == 0) {
            trace_free(c, t);
            return true;
        }
    }
    return c->traces.count < TRACES_MAX;
}

static Trace *traces_find(const Cache *c, CacheFileId id)
{
    LIST_FOREACH(n, &c->traces.all) {
        Trace *t = CONTAINER_OF(n, Trace, link);
        if (is_same_file(t->id, id))
            return t;
    }
    return NULL;
}

static Trace *traces_add(Cache *c, CacheFileId id)
{
    Trace *t = traces_room(c) ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->id = id;
    t->stream = ++c->ahead.stream_ids;
    list_push_front(&c->traces.all, &t->link);
    c->traces.count++;
    return t;
}

static void asks_begin(Cache *c, Trace *t, Region *r)
{
    if (t->asks || t->recalled)
        return;
    t->asks = r;
    c->traces.asking++;
    background_wake(c);
}

static void asks_end(Cache *c, Trace *t)
{
    c->traces.asking -= t->asks != NULL;
    t->asks = NULL;
}

Trace *trace_get(Cache *c, Region *r)
{
    if (!(r->flags & DODO_RETAIN) || !c->hooks.file_id || !c->cfg.readahead_bytes ||
        r->id.offset % CACHE_BLOCK != 0)
        return NULL;
    Trace *t = traces_find(c, r->id);
    if (!t)
        t = traces_add(c, r->id);
    if (!t)
        return NULL;
    t->regions++;
    asks_begin(c, t, r);
    list_remove(&t->link);
    list_push_front(&c->traces.all, &t->link);
    return t;
}

void trace_leave(Cache *c, const Region *r)
{
    if (r->trace && r->trace->asks == r)
        asks_end(c, r->trace);
}

void trace_put(Cache *c, Region *r)
{
    Trace *t = r->trace;
    if (!t)
        return;
    t->regions--;
    trace_leave(c, r);
    if (t->region == r)
        t->region = NULL;
    r->trace = NULL;
}

void traces_free(Cache *c)
{
    while (!list_empty(&c->traces.all))
        trace_free(c, CONTAINER_OF(c->traces.all.next, Trace, link));
}

/* ---- from one process to the next ----------------------------------------------------------- */

Region *trace_asks(Cache *c)
{
    Region *r = NULL;
    LIST_FOREACH(n, &c->traces.all) {
        Trace *t = CONTAINER_OF(n, Trace, link);
        if (r || !c->traces.asking)
            break;
        r = t->asks;
        t->recalled |= r != NULL;
        asks_end(c, t);
    }
    return r;
}

void trace_loaded(Cache *c, const Region *r, const CacheResult *result)
{
    Trace *t = r->trace;
    unsigned count = min_u64(result->ranges_count, c->cfg.limit_bytes / sizeof(CacheRange));
    if (!t || !count)
        return;
    while (count >= TRACE_RANGES_LEAST && !list_grow(c, &t->before, count))
        count /= 2; /* its beginning, then */
    if (!t->before.ranges)
        return;
    memcpy(t->before.ranges, result->ranges, count * sizeof *result->ranges);
    t->before.count = count;
}

/* A shorter one that went along the earlier one knows less. */
static bool worth_keeping(const Trace *t)
{
    bool less = t->now.count < t->before.count / 2 && t->along >= t->reads / 2;
    return t->now.count >= TRACE_RANGES_LEAST && !less;
}

bool cache_recorded(Cache *c, unsigned *at, CacheRecord *ret)
{
    unsigned i = 0;
    LIST_FOREACH(n, &c->traces.all) {
        const Trace *t = CONTAINER_OF(n, Trace, link);
        if (i++ < *at || !worth_keeping(t))
            continue;
        *at = i;
        *ret = (CacheRecord){.file = t->id, .ranges = t->now.ranges, .count = t->now.count};
        return true;
    }
    return false;
}

/* ---- where the program is ------------------------------------------------------------------- */

static void ahead_move(TraceAhead *at, TraceAhead to)
{
    if (at->range < to.range || (at->range == to.range && at->part < to.part))
        *at = to;
}

/* The read is in range @i, up to block @to. */
static void place_set(Trace *t, unsigned i, uint64_t to)
{
    const CacheRange *g = &t->before.ranges[i];
    bool ends = to >= (uint64_t)g->block + g->blocks;
    uint32_t part = ends ? 0 : (uint32_t)(to - g->block);
    t->next = i + ends;
    t->elsewhere = t->next;
    ahead_move(&t->ahead, (TraceAhead){t->next, part});
}

/* A read that is not near the expected place. Of such ones in a row two decide: the program may
 * have gone on elsewhere. */
static bool place_look(Trace *t, CacheRange read)
{
    unsigned count = t->before.count, near = min_u64(count, (uint64_t)t->elsewhere + NEAR);
    unsigned i = list_find(&t->before, read.block, t->elsewhere, near);
    t->lead -= (t->lead + 3) / 4;
    if (t->elsewhere != t->next && i < near) {
        t->ahead = t->far = (TraceAhead){0};
        place_set(t, i, (uint64_t)read.block + read.blocks);
        t->lead = TRACE_FOLLOWED;
        t->strayed = 0;
        return true;
    }
    t->strayed++;
    i = list_find(&t->before, read.block, 0, count);
    if (i < count)
        t->elsewhere = i + 1;
    return false;
}

/* True: it goes along the earlier run. */
static bool place_follow(Trace *t, CacheRange read)
{
    unsigned count = t->before.count, near = min_u64(count, (uint64_t)t->next + NEAR);
    unsigned back = t->next > NEAR ? t->next - NEAR : 0;
    if (!count || t->strayed >= STRAYED_MAX)
        return false;
    unsigned i = list_find(&t->before, read.block, t->next, near);
    if (i < near) {
        t->lead = min_u64(t->lead + 1, LEAD_MAX);
        place_set(t, i, (uint64_t)read.block + read.blocks);
    } else if (list_find(&t->before, read.block, back, t->next) == t->next) {
        return place_look(t, read);
    }
    t->strayed = 0;
    return true;
}

void trace_note(Cache *c, Region *r, uint64_t from, uint64_t to, bool in_order)
{
    Trace *t = r->trace;
    uint64_t first = (r->id.offset + from) / CACHE_BLOCK;
    uint64_t blocks = (to - from + CACHE_BLOCK - 1) / CACHE_BLOCK;
    if (!t || from >= to || first > UINT32_MAX || blocks > UINT32_MAX - first)
        return;
    CacheRange read = {(uint32_t)first, (uint32_t)blocks};
    list_add(c, &t->now, read);
    t->reads++;
    t->region = r;
    t->bytes = blocks * CACHE_BLOCK;
    t->in_order = in_order;
    if (!place_follow(t, read))
        return;
    t->along++;
    if (t->ahead.range >= t->before.count || r->ways->left)
        return;
    c->ahead.wanted = true;
    if (c->ahead.files == 0 || r->remote.state == REMOTE_OPEN)
        background_wake(c); /* else the one who reads the file looks again by itself */
}

/* ---- what comes next ------------------------------------------------------------------------ */

/* The open region that holds the file's byte @at. Where there are several, they are as long as each
 * other and follow one another, or nothing is fetched. */
static Region *region_at(const Cache *c, const Trace *t, uint64_t at)
{
    const Region *like = t->region;
    if (!like)
        return NULL;
    CacheFileId id = like->id;
    uint64_t phase = id.offset % like->len;
    if (at < phase)
        return NULL;
    id.offset = at - (at - phase) % like->len;
    Region *r = place_find(c, id);
    return r && r->trace == t && at - id.offset < r->size ? r : NULL;
}

Region *trace_ahead(const Cache *c, const Trace *t, TraceAhead *at, uint64_t *ret_from,
                    uint64_t *ret_to, uint64_t *ret_bytes)
{
    uint64_t end = min_u64(t->before.count, (uint64_t)t->next + t->lead);
    ahead_move(at, t->ahead);
    for (; t->lead >= TRACE_FOLLOWED && at->range < end; at->range++, at->part = 0) {
        const CacheRange *g = &t->before.ranges[at->range];
        uint64_t from = ((uint64_t)g->block + at->part) * CACHE_BLOCK;
        uint64_t to = ((uint64_t)g->block + g->blocks) * CACHE_BLOCK;
        Region *r = at->part < g->blocks ? region_at(c, t, from) : NULL;
        if (!r)
            continue;
        if (r->ways->left) /* nothing is kept */
            return NULL;
        if (r->remote.wanted || r->remote.state == REMOTE_OPENING) /* it may be there */
            return NULL;
        *ret_bytes = (uint64_t)g->blocks * CACHE_BLOCK;
        *ret_from = from - r->id.offset;
        *ret_to = min_u64(to - r->id.offset, r->size);
        return r;
    }
    return NULL;
}

void trace_far_half(Trace *t)
{
    ahead_move(&t->far, (TraceAhead){t->next + t->lead / 2, 0});
}

void trace_fetched(const Trace *t, TraceAhead *at, const Region *r, uint64_t to)
{
    const CacheRange *g = &t->before.ranges[at->range];
    uint64_t block = (r->id.offset + to + CACHE_BLOCK - 1) / CACHE_BLOCK;
    at->part = (uint32_t)min_u64(block - g->block, g->blocks);
}
