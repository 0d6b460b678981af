/* SPDX-License-Identifier: MIT */
/* Copies for the next run. What a retained region has in local memory is copied to remote memory
 * before it has to leave: beside the program, in the order in which it was read, and what is left
 * of it at the end of the process or before a close.
 *
 * All that takes no more of a run than a small part of what its reads took: of the program's
 * processors as long as it runs, of its time when it waits. A piece that leaves later would have
 * been copied then, so what its copy took is given back. */
#include "libmanage/core_private.h"

static bool covers(const Cache *c, uint64_t ns)
{
    const Ledger l = {.percent = c->cfg.spend_percent,
                      .reads_ns = c->fill.ledger.reads_ns,
                      .spent_ns = c->keep.spent_ns};
    return ledger_covers(&l, ns);
}

static void keep_begin(Cache *c, CacheJob *job, bool waited, uint64_t ns)
{
    c->keep.jobs++;
    c->keep.spent_ns += ns;
    job->keeps = true;
    job->waited = waited;
    job->keeps_ns = ns;
}

/* ---- beside the program --------------------------------------------------------------------- */

/* What a piece's takes of the program's processors; 0: nobody knows. */
static uint64_t copy_ns(const Cache *c)
{
    return cost_of(&c->keep.cpu, c->cfg.piece_bytes);
}

/* It is being read, or its region's remote memory is being opened. */
static bool is_too_early(const Piece *p)
{
    return p->job || p->region->remote.state == REMOTE_OPENING;
}

/* Beside each other they cost less. While nobody knows what one takes, one shows it. */
static bool is_due(const Cache *c)
{
    return c->keep.due_count >= CACHE_BESIDE &&
           !is_too_early(CONTAINER_OF(c->keep.due.next, Piece, links.keep)) &&
           (copy_ns(c) > 0 || !c->keep.jobs) && covers(c, CACHE_BESIDE * copy_ns(c));
}

void keep_wake(Cache *c)
{
    if (is_due(c))
        background_wake(c);
}

/* The piece that was read first; what need not be copied, or cannot, is left out. NULL: none now.
 */
static Piece *due_next(Cache *c, uint64_t now_ns)
{
    LIST_FOREACH(n, &c->keep.due) {
        Piece *p = CONTAINER_OF(n, Piece, links.keep);
        const Region *r = p->region;
        if (is_too_early(p))
            return NULL;
        piece_keep_over(c, p);
        if (!r->closing && r->remote.state == REMOTE_OPEN && !piece_no_clone(p) &&
            clone_is_due(c, p, now_ns))
            return p;
    }
    return NULL;
}

bool keep_more(Cache *c, CacheJob *job, uint64_t now_ns)
{
    Piece *p = covers(c, copy_ns(c)) ? due_next(c, now_ns) : NULL;
    if (!p || !clone_out(c, job, p, PIECES_BESIDE, true, now_ns))
        return false;
    job->probe = probe_len(c, job, p, now_ns);
    keep_begin(c, job, false, cost_of(&c->keep.cpu, job->len));
    return true;
}

bool keep_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    return is_due(c) && keep_more(c, job, now_ns);
}

/* ---- at the end ----------------------------------------------------------------------------- */

Piece *keep_next(const Cache *c, const Region *r, uint64_t *at, uint64_t now_ns)
{
    Piece *p = NULL;
    if (!region_is_kept(r))
        return NULL;
    while ((p = piece_next(r, at)) && (piece_no_clone(p) || !clone_is_due(c, p, now_ns)))
        (*at)++;
    return p && covers(c, clone_ns(r, p->len)) ? p : NULL;
}

/* While nobody knows what a copy takes, one shows it. */
static bool may_keep(const Cache *c, const Region *r)
{
    return r && !r->closing && (clone_ns(r, c->cfg.piece_bytes) > 0 || !c->keep.jobs);
}

bool cache_keep_take(Cache *c, int rd, uint64_t *at, CacheJob *job, uint64_t now_ns)
{
    cache_enter(c);
    Region *r = region_find(c, rd);
    bool taken = false, may = may_keep(c, r);
    for (Piece *p; may && !taken && (p = keep_next(c, r, at, now_ns)); (*at)++)
        taken = clone_out(c, job, p, PIECES_BESIDE, false, now_ns);
    if (taken)
        keep_begin(c, job, true, clone_ns(r, job->len));
    cache_unlock(c);
    return taken;
}
