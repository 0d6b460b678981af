/* SPDX-License-Identifier: MIT */
#include "libmanage/extent.h"

#include "libmanage/core_private.h"

enum {
    LEAST_BYTES = 64 << 10,
    WORTH = 2, /* times as long as the read alone: then the next one is twice as large */
    FAR = 4,   /* ... then half as large */
};

/* ---- pure values ----------------------------------------------------------------------------- */

void extents_init(Extents *e, uint64_t most_bytes, unsigned percent)
{
    *e = (Extents){.most_bytes = most_bytes,
                   .bytes = min_u64(LEAST_BYTES, most_bytes),
                   .ledger = {.percent = percent}};
}

/* Nothing is known of the first one: it may take as long again as the read. */
uint64_t extents_may(const Extents *e, uint64_t alone_ns)
{
    uint64_t extra_ns = e->extra_ns ? e->extra_ns : alone_ns;
    bool covered = !GUARD(LEDGER) || ledger_covers(&e->ledger, extra_ns);
    return e->most_bytes && covered ? extra_ns : 0;
}

void extents_begin(Extents *e, uint64_t expected_ns)
{
    e->ledger.spent_ns += expected_ns;
}

void extents_took(Extents *e, uint64_t expected_ns, uint64_t ns, uint64_t alone_ns, bool whole)
{
    uint64_t extra = max_u64(sub_u64(ns, alone_ns), 1);
    e->ledger.spent_ns += extra - expected_ns;
    if (!whole)
        return;
    e->extra_ns = e->extra_ns ? (e->extra_ns + extra) / 2 : extra;
    if (ns <= WORTH * alone_ns)
        e->bytes = min_u64(2 * e->bytes, e->most_bytes);
    else if (ns > FAR * alone_ns)
        e->bytes = max_u64(e->bytes / 2, min_u64(LEAST_BYTES, e->most_bytes));
}

/* ---- of the cache ---------------------------------------------------------------------------- */

uint64_t extent_may(const Cache *c, const Region *r, uint64_t bytes)
{
    uint64_t alone = cost_of(&r->ways->cost[COST_FILE], bytes);
    return alone > COST_NOTHING_NS ? extents_may(&c->extents, alone) : 0;
}

bool extent_around(const Cache *c, const Region *r, uint64_t *from, uint64_t *to)
{
    uint64_t start = *from, end = *to, size = c->extents.bytes;
    while (size < 2 * (end - start) && size < c->extents.most_bytes) /* twice the read at least */
        size *= 2;
    uint64_t low = start / size * size;
    uint64_t high = min_u64(low + size, (r->size + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK);
    while (*from > low && !remote_holds_at(c, r, *from - CACHE_BLOCK))
        *from -= CACHE_BLOCK;
    while (*to < high && !remote_holds_at(c, r, *to))
        *to += CACHE_BLOCK;
    return *from < start || *to > end;
}

void extent_begin(Cache *c, CacheCall *call)
{
    call->job.extent_from = call->extent_from;
    call->job.extent_to = call->extent_to;
    call->job.extent_ns = call->extent_ns;
    extents_begin(&c->extents, call->extent_ns);
}

void extent_brought(Cache *c, const CacheJob *job)
{
    Region *r = job->region;
    uint64_t first = job->extent_from / c->cfg.piece_bytes;
    for (uint64_t i = first; piece_start(c, i) < job->extent_to; i++) {
        uint64_t *brought = brought_map(r, i);
        if (brought)
            *brought |= piece_mask(c, i, job->extent_from, job->extent_to) & remote_held(c, r, i) &
                        ~piece_mask(c, i, job->offset, job->offset + job->len);
    }
    c->stats.extents++;
    c->stats.extent_bytes += job->extent_to - job->extent_from;
}

/* The bytes of [from, to) that extents have brought. They count once. */
static uint64_t brought_take(const Cache *c, const Region *r, uint64_t from, uint64_t to)
{
    uint64_t blocks = 0;
    for (uint64_t i = from / c->cfg.piece_bytes; piece_start(c, i) < to; i++) {
        uint64_t *brought = brought_map(r, i);
        uint64_t mask = brought ? *brought & piece_mask(c, i, from, to) : 0;
        blocks += (uint64_t)__builtin_popcountll(mask);
        if (mask)
            *brought &= ~mask;
    }
    return min_u64(blocks * CACHE_BLOCK, to - from);
}

void extent_note(Cache *c, const CacheJob *job, const CacheResult *result)
{
    Extents *e = &c->extents;
    uint64_t alone = cost_of(&job->region->ways->cost[COST_FILE], job->len);
    e->ledger.reads_ns += result->ns;
    if (job->extent_to)
        extents_took(e, job->extent_ns, result->ns, alone, result->extent);
    if (job->kind != CACHE_READ_REMOTE || result->remote_error)
        return;
    uint64_t bytes = brought_take(c, job->region, job->offset, job->offset + job->len);
    uint64_t saved = sub_u64(alone, result->ns);
    e->ledger.earned_ns += (uint64_t)((double)saved * (double)bytes / (double)job->len);
}
