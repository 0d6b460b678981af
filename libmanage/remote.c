/* SPDX-License-Identifier: MIT */
/* The remote memory of a region: whether there is any, what it holds, and what reading from it
 * costs. */
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

enum {
    CLONE_SHARE = 4,   /* so many times as long as a read a clone may take */
    LOOKS = 8,         /* reads in a row of one of the two, where nobody knows what it costs now */
    LOOKS_COUNTED = 4, /* the last of them */
    FAR = 4,           /* times what remote memory takes: no more of the file need be looked at */
    SETTLED = 64,      /* reads of remote memory, before the file is compared with them */
};

/* ---- what it costs -------------------------------------------------------------------------- */

uint64_t clone_ns(const Region *r, uint64_t bytes)
{
    return cost_of(&r->ways->cost[COST_CLONE], bytes) * CLONE_SHARE;
}

/* A region's first transfer may be the first with its host, which costs a session. */
static void cost_note(Cache *c, Region *r, enum CostOf which, uint64_t bytes, uint64_t ns,
                      uint64_t now_ns)
{
    bool first = !r->remote.used;
    r->remote.used = true;
    if (!first)
        cost_add_beside(&r->ways->cost[which], &r->ways->cost[COST_FILE], bytes, ns, now_ns,
                        c->cfg.cost_fresh_ns);
}

void remote_cost_add(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    cost_note(c, r, COST_REMOTE, bytes, ns, now_ns);
}

/* It is made beside the program, and of pages that its host has to get first. */
void clone_cost_add(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    cost_note(c, r, COST_CLONE, bytes, ns / CLONE_SHARE, now_ns);
}

static uint64_t fresh_since(const Cache *c, uint64_t now_ns)
{
    return now_ns > c->cfg.cost_fresh_ns ? now_ns - c->cfg.cost_fresh_ns : 0;
}

uint64_t cost_since(const Cache *c, const Cost *cost, uint64_t bytes, uint64_t now_ns)
{
    uint64_t again = cost_again(cost, bytes), since = fresh_since(c, now_ns);
    return again && again < now_ns ? max_u64(since, now_ns - again) : since;
}

/* The first reads of a look do not count: a read in order costs a seek first, and later ones only
 * what the kernel has not read ahead. A read that takes far longer than remote memory ends it. */
bool file_look_counts(const Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    Ways *w = r->ways;
    uint64_t remote = cost_of(&w->cost[COST_REMOTE], bytes);
    bool known = cost_known_since(&w->cost[COST_FILE], bytes, fresh_since(c, now_ns));
    if (ns > FAR * remote) {
        w->file_looks = 0;
        return true;
    }
    if (!w->file_looks && !known) {
        w->file_looks = LOOKS - 1;
        cost_mixed_again(&w->cost[COST_FILE], bytes);
        return false;
    }
    w->file_looks -= w->file_looks > 0;
    return w->file_looks < LOOKS_COUNTED;
}

void remote_read_note(Cache *c, Region *r, uint64_t bytes, uint64_t ns, uint64_t now_ns)
{
    const Cost *remote = &r->ways->cost[COST_REMOTE];
    unsigned *looks = &r->ways->looks;
    r->ways->remote_reads += r->ways->remote_reads < SETTLED;
    if (!*looks && !cost_known_since(remote, bytes, cost_since(c, remote, bytes, now_ns))) {
        *looks = LOOKS;
        return;
    }
    *looks -= *looks > 0;
    if (*looks < LOOKS_COUNTED)
        remote_cost_add(c, r, bytes, ns, now_ns);
}

/* Is remote memory cheaper than the file to read from, by @saving_ns? An unknown cost is tried, and
 * one that was not measured for long is measured again, the file's first. As long as nothing was
 * read from remote memory, the cost of clones stands in, as far as it can. */
static bool remote_below(const Cache *c, const Region *r, uint64_t bytes, uint64_t saving_ns,
                         uint64_t now_ns)
{
    uint64_t file = cost_of(&r->ways->cost[COST_FILE], bytes);
    bool was_read = cost_of(&r->ways->cost[COST_REMOTE], bytes) > 0;
    const Cost *remote = &r->ways->cost[was_read ? COST_REMOTE : COST_CLONE];
    if (!file || !cost_of(remote, bytes))
        return true;
    if (!cost_known_since(&r->ways->cost[COST_FILE], bytes, fresh_since(c, now_ns)))
        return false;
    return cost_of(remote, bytes) + saving_ns < file ||
           !cost_known_since(remote, bytes, cost_since(c, remote, bytes, now_ns));
}

bool remote_pays(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    return r->ways->looks > 0 || remote_below(c, r, bytes, 0, now_ns);
}

bool file_is_looked_at(const Region *r, uint64_t bytes)
{
    const Ways *w = r->ways;
    bool untried = !cost_of(&w->cost[COST_FILE], bytes) && w->remote_reads >= SETTLED;
    return !w->looks && (w->file_looks > 0 || untried);
}

/* A copy takes time of processors and links, and may never be read: one that saves little is not
 * made. Where a file is read in order, its kernel and its drive work ahead. They do no less work if
 * a part of the file is read from elsewhere, and the drive has to seek. So there remote memory must
 * be far cheaper. */
bool clone_pays(const Cache *c, const Region *r, uint64_t bytes, bool in_order, uint64_t now_ns)
{
    uint64_t remote = cost_of(&r->ways->cost[COST_REMOTE], bytes);
    uint64_t saving = in_order ? (COST_IN_ORDER - 1) * remote : remote / COST_SAVES;
    return remote_below(c, r, bytes, saving, now_ns);
}

/* A clone says little about the cost of a read: it runs beside the program, and its host takes
 * pages for it. If nothing better is known, one piece is read again. */
bool remote_unproven(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    const Cost *remote = &r->ways->cost[COST_REMOTE];
    return cost_of(remote, bytes) == 0 ||
           !cost_known_since(remote, bytes, cost_since(c, remote, bytes, now_ns));
}

/* ---- what it holds -------------------------------------------------------------------------- */

void remote_holds(Cache *c, Region *r, uint64_t from, uint64_t to)
{
    if (r->remote.state != REMOTE_OPEN)
        return;
    from = (from + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK;
    if (to < r->size)
        to = to / CACHE_BLOCK * CACHE_BLOCK;
    for (uint64_t i = from / c->cfg.piece_bytes; from < to; i++) {
        const Piece *p = piece_find(r, i);
        remote_map_add(c, r, i, piece_mask(c, i, from, to) & ~(p ? p->dirty : 0));
        from = piece_start(c, i + 1);
    }
}

/* ---- from its opening on -------------------------------------------------------------------- */

bool remote_may_open(const Cache *c, const Region *r, uint64_t now_ns)
{
    return c->cfg.remote && r->remote.state == REMOTE_NONE &&
           (!GUARD(REFRACTION) || now_ns >= c->remotes.refraction_until_ns) &&
           now_ns >= r->remote.not_before_ns;
}

void remote_want(Cache *c, Region *r)
{
    if (r->remote.wanted || !c->cfg.remote || r->remote.state != REMOTE_NONE)
        return;
    r->remote.wanted = true;
    c->remotes.wanted++;
    background_wake(c);
}

/* Without memory for a copy all counts as held: what is not there comes from the file all the same.
 */
static void held_begin(Region *r, const CacheResult *result)
{
    size_t bytes = (size_t)((r->len - 1) / CACHE_BLOCK / 64 + 1) * sizeof *r->remote.held_blocks;
    free(r->remote.held_blocks);
    r->remote.held = true;
    r->remote.held_blocks = result->held_blocks ? malloc(bytes) : NULL;
    if (r->remote.held_blocks)
        memcpy(r->remote.held_blocks, result->held_blocks, bytes);
}

static void held_end(Region *r)
{
    r->remote.held = false;
    free(r->remote.held_blocks);
    r->remote.held_blocks = NULL;
}

void remote_lost(Cache *c, Region *r, uint64_t now_ns)
{
    if (r->remote.state != REMOTE_OPEN)
        return;
    r->remote.state = REMOTE_CLOSING;
    r->remote_is_open = false;
    c->remotes.closing++;
    r->remote.not_before_ns = time_add(now_ns, c->cfg.refraction_ns);
    if (GUARD(LOST)) {
        held_end(r);
        remote_map_forget(r);
    }
    background_wake(c);
}

void remote_opened(Cache *c, Region *r, const CacheResult *result, uint64_t now_ns)
{
    c->ahead.wanted = true; /* what is fetched ahead waits for it, or for nothing any more */
    if (result->remote_error) {
        /* Figure 5: do no allocation for the refraction period. */
        r->remote.state = REMOTE_NONE;
        c->remotes.refraction_until_ns = time_add(now_ns, c->cfg.refraction_ns);
        c->stats.refractions++;
        return;
    }
    r->remote.rd = result->remote;
    r->remote.state = REMOTE_OPEN;
    r->remote_is_open = true;
    r->remote.used = false;
    if (GUARD(RACED) && result->held && r->remote.raced) {
        /* The file was written beside it: what is held may be older than that. */
        remote_lost(c, r, now_ns);
        r->remote.not_before_ns = 0;
    } else if (result->held) {
        held_begin(r, result);
        if (!remote_map_restore(c, r))
            remote_lost(c, r, now_ns);
    }
}
