/* SPDX-License-Identifier: MIT */
/* What the program says of its reads. Advice changes where bytes come from and what is kept, and
 * never which bytes they are. */
#include <errno.h>

#include "libmanage/call_private.h"

enum { DROP_AT_ONCE = 64 /* pieces, before others may have the lock */ };

/* The first piece from @index on that may be there. Parts of the directory that were never made
 * are passed over. */
static uint64_t next_index(const Region *r, uint64_t index, uint64_t end)
{
    while (index < end && !leaf_of(r, index))
        index = (index / LEAF_PIECES + 1) * LEAF_PIECES;
    return index;
}

/* What is not dirty of [from, to) leaves local memory; pieces that lie there only in part stay. */
static void drop(Cache *c, Region *r, uint64_t from, uint64_t to)
{
    uint64_t piece = c->cfg.piece_bytes, end = to / piece, looks = 0;
    if (to == r->len)
        end = (to + piece - 1) / piece;
    for (uint64_t i = (from + piece - 1) / piece; (i = next_index(r, i, end)) < end; i++) {
        Piece *p = piece_find(r, i);
        bool stays = !p || (GUARD(DIRTY_STAYS) && p->dirty);
        if (!stays && !(p->entry.flags & MANAGE_ENTRY_BUSY))
            (void)evict(c, p);
        if (++looks % DROP_AT_ONCE == 0) {
            cache_unlock(c);
            cache_enter(c);
        }
    }
}

static void advise(Cache *c, CacheCall *call, int advice, uint64_t now_ns)
{
    Region *r = call->region;
    if (advice <= DODO_CADVISE_NOREUSE) /* until the next such advice */
        r->advice = (uint8_t)advice;
    if (advice == DODO_CADVISE_RANDOM)
        stream_forget(c, r);
    if (advice == DODO_CADVISE_DONTNEED)
        drop(c, r, call->start, call->end);
    job_begin(&call->job, r, CACHE_ADVISE, now_ns);
    call->job.offset = call->start;
    call->job.len = call->end - call->start;
    call->job.advice = (uint8_t)advice;
    call_job(call);
}

void cache_advise_start(CacheCall *call, Cache *c, int rd, off_t offset, size_t len, int advice,
                        uint64_t now_ns)
{
    cache_enter(c);
    Region *r = call_begin(c, call, CALL_ADVISE, rd);
    bool wrong = r && (offset < 0 || (uint64_t)offset > r->len || advice < DODO_CADVISE_NORMAL ||
                       advice > DODO_CADVISE_DONTNEED);
    if (r && !wrong) {
        call->start = (uint64_t)offset;
        call->end = len ? call->start + min_u64(len, r->len - call->start) : r->len;
    }
    if (wrong || (r && call->start == call->end)) {
        call_leave(c, call);
        call_over(call, wrong ? -1 : 0, wrong ? EINVAL : 0);
    } else if (r) {
        advise(c, call, advice, now_ns);
    }
    cache_unlock(c);
}
