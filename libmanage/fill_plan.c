/* SPDX-License-Identifier: MIT */
/* Which part of an expensive file is filled next, and how much of it. */
#include "libmanage/core_private.h"
#include "libmanage/fill.h"

enum {
    LOOK_PIECES = 1 << 12, /* looked at in one go for one that remote memory lacks */
    JOB_BYTES = 256 << 10, /* of a part, in memory at a time */
    BESIDE_MAX = 7,        /* reads in a row beside parts: then one shows what it takes without */
};

/* Is remote memory worth it, for reads of @bytes here and there? */
static bool is_worth_it(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    return c->fill.most_bytes && c->cfg.remote && !r->ways->left &&
           cost_of(&r->ways->cost[COST_FILE], bytes) > COST_NOTHING_NS &&
           clone_pays(c, r, bytes, false, now_ns);
}

void fill_prepare(Cache *c, Region *r, uint64_t bytes, uint64_t now_ns)
{
    if (is_worth_it(c, r, bytes, now_ns) && remote_may_open(c, r, now_ns))
        remote_want(c, r);
}

/* ---- where it goes on ------------------------------------------------------------------------ */

/* The next region of the file; it may be the same one. */
static Region *region_behind(const Cache *c, const Region *r)
{
    ListNode *n = r->link.next;
    for (unsigned i = 0; i <= c->regions.count; i++, n = n->next) {
        Region *q = n == &c->regions.all ? NULL : CONTAINER_OF(n, Region, link);
        if (q && q->ways == r->ways && !q->closing)
            return q;
    }
    return NULL;
}

/* A region that begins in the file where @r ends. */
static Region *neighbour(const Cache *c, const Region *r)
{
    CacheFileId behind = {r->id.device, r->id.inode, r->id.offset + r->len};
    return r->size == r->len ? place_find(c, behind) : NULL;
}

/* Where a part begins, and what it may cost. */
enum PartWay {
    PART_FREE,   /* while the drive idles: nothing */
    PART_BEHIND, /* right behind a read: what the ledger covers */
    PART_SWEPT,  /* where something is missing beside what was read, and the head has to move: what
                    was earned */
};

/* From where on region @r lacks something between @at and @limit, whole blocks; or no less than
 * @limit. */
static uint64_t find_hole(const Cache *c, const Region *r, uint64_t at, uint64_t limit,
                          enum PartWay way)
{
    uint64_t piece = c->cfg.piece_bytes;
    at = (at + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK;
    while (at < limit) {
        uint64_t index = at / piece, end = piece_start(c, index + 1);
        if (way == PART_SWEPT && !remote_map_exists(r, index)) {
            at = piece_start(c, (index / LEAF_PIECES + 1) * LEAF_PIECES);
            continue;
        }
        uint64_t lacks =
            piece_mask(c, index, at, min_u64(end, r->size)) & ~remote_held(c, r, index);
        if (lacks)
            return piece_start(c, index) + (uint64_t)__builtin_ctzll(lacks) * CACHE_BLOCK;
        at = end;
    }
    return at;
}

/* May there be a part now? */
static bool is_due(const Cache *c)
{
    const Fill *f = &c->fill;
    return !f->clock.busy && !c->ahead.files && f->beside < BESIDE_MAX;
}

static bool may_fill(const Region *r)
{
    return r->remote.state == REMOTE_OPEN && !(GUARD(FILL_BESIDE) && r->remote.file_writes);
}

/* Moves on to what remote memory lacks, from region to region. False: it has found nothing so far,
 * or has to wait for a region's remote memory. */
static bool go_on(Cache *c, enum PartWay way, uint64_t *ret_from, uint64_t now_ns)
{
    Fill *f = &c->fill;
    for (uint64_t looks = LOOK_PIECES; f->region && looks;) {
        Region *r = f->region;
        if (!is_worth_it(c, r, f->read_bytes, now_ns))
            return false;
        if (remote_may_open(c, r, now_ns))
            remote_want(c, r);
        if (!may_fill(r))
            return false;
        uint64_t limit = min_u64(f->at + looks * c->cfg.piece_bytes, r->size);
        *ret_from = find_hole(c, r, f->at, limit, way);
        if (*ret_from < limit)
            return true;
        looks = sub_u64(looks, 1 + (*ret_from - f->at) / c->cfg.piece_bytes);
        f->at = *ret_from;
        if (f->at < r->size)
            continue;
        f->region = f->full++ < c->regions.count ? region_behind(c, r) : NULL;
        f->near = f->region && f->region == neighbour(c, r);
        f->at = 0;
    }
    return false;
}

/* How far a part of at most @len bytes reaches from @at on: over what remote memory holds, too,
 * where more that it lacks follows, and as much was lacking before. *@lacks: so much. */
static uint64_t part_end(const Cache *c, const Region *r, uint64_t at, uint64_t len,
                         uint64_t *lacks)
{
    uint64_t end = at, held = 0, limit = min_u64(at + len, r->size);
    for (; at < limit && held <= *lacks; at += CACHE_BLOCK) {
        bool holds = remote_holds_at(c, r, at);
        held = holds ? held + CACHE_BLOCK : 0;
        *lacks += holds ? 0 : CACHE_BLOCK;
        end = holds ? end : at + CACHE_BLOCK;
    }
    return min_u64(end, r->size);
}

/* A part from @from on, of at most @len bytes. @on: it may go on in the next region. */
static FillPart lay_out(const Cache *c, uint64_t from, uint64_t len, bool on)
{
    const Region *r = c->fill.region;
    uint64_t lacks = 0, end = part_end(c, r, from, len, &lacks);
    FillPart part = {.from = from, .len = end - from, .passed = from - c->fill.at};
    Region *q = on && end == r->size ? neighbour(c, r) : NULL;
    if (q && may_fill(q))
        part.rest = part_end(c, q, 0, sub_u64(len, part.len), &lacks);
    part.next = part.rest ? q : NULL;
    return part;
}

/* ---- how much -------------------------------------------------------------------------------- */

/* What a read like the one before takes. */
static uint64_t read_alone_ns(const Fill *f)
{
    return cost_of(&f->region->ways->cost[COST_FILE], f->read_bytes);
}

/* The bytes of a part that the drive reads while it would idle, @far behind the last read; 0: not
 * even twice what a read brings. */
static uint64_t free_bytes(const Fill *f, uint64_t far, uint64_t now_ns)
{
    uint64_t alone = read_alone_ns(f);
    uint64_t fits = fill_fits(&f->clock, far, alone, fill_idle_ns(&f->clock, alone, now_ns));
    return fits >= 2 * f->read_bytes ? min_u64(fits, f->most_bytes) : 0;
}

/* A part that is paid is no longer. */
static uint64_t paid_most(const Fill *f)
{
    return max_u64(f->paid_bytes, 2 * f->read_bytes);
}

/* How much longer than the drive idles, for all that wait for it. */
static uint64_t takes_ns(const Fill *f, enum PartWay way, uint64_t passed, uint64_t bytes,
                         uint64_t now_ns)
{
    if (way == PART_FREE)
        return 0;
    uint64_t alone = read_alone_ns(f), far = way == PART_SWEPT ? UINT64_MAX : passed;
    uint64_t takes = fill_takes_ns(&f->clock, far, bytes, alone);
    uint64_t waiting = max_u64(f->clock.reads, 1);
    return waiting * sub_u64(takes, fill_idle_ns(&f->clock, alone, now_ns));
}

/* A part behind a read is the cheaper way. So sweeping leaves it the small part of the time that
 * may be spent before anything was earned. */
static bool may_cost(const Fill *f, enum PartWay way, uint64_t ns)
{
    if (way == PART_SWEPT)
        return ledger_has_earned(&f->ledger, ns);
    return !GUARD(LEDGER) || ledger_covers(&f->ledger, ns);
}

/* What the latest part has cost, as far as reads beside it are over. */
static void settle(Fill *f)
{
    if (f->part.takes_ns)
        fill_cost_add(&f->cost, f->part.takes_ns, f->charged_ns);
    f->charged_ns = 0;
}

/* A part of @len bytes at most from @from on. False: there may be none. */
static bool plan(Cache *c, uint64_t from, uint64_t len, enum PartWay way, uint64_t now_ns)
{
    Fill *f = &c->fill;
    FillPart part = lay_out(c, from, len, way == PART_BEHIND);
    uint64_t bytes = part.len + part.rest;
    part.takes_ns = takes_ns(f, way, part.passed, bytes, now_ns);
    part.expected_ns = fill_cost_ns(&f->cost, part.takes_ns);
    if (bytes == 0 || !may_cost(f, way, part.expected_ns))
        return false;
    part.asks = way == PART_SWEPT;
    part.due = true;
    settle(f);
    f->part = part;
    f->ledger.spent_ns += part.expected_ns;
    fill_begin(&f->clock, now_ns);
    return true;
}

/* A job of the part that is due. */
static void part_begin(const Cache *c, CacheJob *job, enum CacheJobKind kind, uint64_t now_ns)
{
    job_begin(job, c->fill.region, kind, now_ns);
    job->offset = c->fill.part.from;
    job->len = c->fill.part.len + (kind == CACHE_ASK ? c->fill.part.rest : 0);
}

/* It goes on at the beginning of the next region. */
static void part_on(Fill *f)
{
    f->region = f->part.next;
    f->at = 0;
    f->part.from = 0;
    f->part.len = f->part.rest;
    f->part.next = NULL;
    f->part.rest = 0;
}

/* As much as costs the program nothing. At a region's start the head may be elsewhere. */
static bool plan_free(Cache *c, uint64_t from, uint64_t now_ns)
{
    uint64_t far = c->fill.at || c->fill.near ? from - c->fill.at : UINT64_MAX;
    return plan(c, from, free_bytes(&c->fill, far, now_ns), PART_FREE, now_ns);
}

bool fill_behind(Cache *c, CacheJob *job, Region *r, uint64_t end, uint64_t bytes, uint64_t now_ns)
{
    Fill *f = &c->fill;
    if (!is_due(c) || r->closing || !is_worth_it(c, r, bytes, now_ns))
        return false;
    f->region = r;
    f->at = end;
    f->read_bytes = bytes;
    f->full = 0;
    f->near = false;
    if (!may_fill(r))
        return false;
    uint64_t limit = min_u64(end + paid_most(f), r->size);
    uint64_t from = min_u64(find_hole(c, r, end, limit, PART_BEHIND), r->size);
    if ((from >= limit && from < r->size) ||
        (!plan(c, from, paid_most(f), PART_BEHIND, now_ns) && !plan_free(c, from, now_ns)))
        return false;
    background_wake(c);
    part_begin(c, job, CACHE_ASK, now_ns);
    return true;
}

/* While the drive has no read of the program's: the next one waits for the end of the part. */
static bool may_sweep(const Fill *f, uint64_t now_ns)
{
    uint64_t takes = takes_ns(f, PART_SWEPT, 0, paid_most(f), now_ns);
    return !f->clock.reads && may_cost(f, PART_SWEPT, fill_cost_ns(&f->cost, takes));
}

bool fill_goes_on(const Cache *c, uint64_t now_ns)
{
    const Fill *f = &c->fill;
    return f->region && is_due(c) && (free_bytes(f, 0, now_ns) > 0 || may_sweep(f, now_ns));
}

/* Of the pieces of one map, and of those behind it as long as they have one. */
static uint64_t swept_most(const Cache *c, uint64_t from)
{
    const Region *r = c->fill.region;
    uint64_t to = from, end = min_u64(from + paid_most(&c->fill), r->size);
    while (to < end && remote_map_exists(r, to / c->cfg.piece_bytes))
        to = piece_start(c, (to / c->cfg.piece_bytes / LEAF_PIECES + 1) * LEAF_PIECES);
    return min_u64(to, end) - from;
}

/* Where nothing was read yet, nobody knows that anything will be: only what costs nothing comes. */
static bool plan_more(Cache *c, uint64_t now_ns)
{
    uint64_t from;
    if (!fill_goes_on(c, now_ns))
        return false;
    if (free_bytes(&c->fill, 0, now_ns) > 0)
        return go_on(c, PART_FREE, &from, now_ns) && plan_free(c, from, now_ns);
    return go_on(c, PART_SWEPT, &from, now_ns) &&
           plan(c, from, swept_most(c, from), PART_SWEPT, now_ns);
}

bool fill_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    Fill *f = &c->fill;
    if (f->part.due && f->part.len == 0)
        part_on(f);
    if (f->part.due && !may_fill(f->region)) /* its remote memory was lost meanwhile */
        fill_forget(c, f->region, now_ns);
    if (!f->part.due && !plan_more(c, now_ns))
        return false;
    if (f->part.asks) {
        f->part.asks = false;
        part_begin(c, job, CACHE_ASK, now_ns);
        return true;
    }
    f->part.due = false;
    part_begin(c, job, CACHE_FILL, now_ns);
    job->len = min_u64(job->len, JOB_BYTES);
    f->part.from += job->len;
    f->part.len -= job->len;
    return true;
}
