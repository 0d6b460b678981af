/* SPDX-License-Identifier: MIT */
/* Reclamation, the paper's Figure 5: while there is too little room, the policy picks a victim. It
 * is written to the disk if it is dirty, copied to remote memory if that is available and worth it,
 * and evicted. A call evicts the one victim that it needs; the background goes on to the low-water
 * mark. */
#include "libmanage/core_private.h"

enum Plan { PLAN_DROP, PLAN_WRITE, PLAN_CLONE, PLAN_OPEN };

/* Whether the piece belongs into remote memory is decided for reads like the one that brought it:
 * in a file that is read in large steps, the few small reads say nothing. */
static bool copy_pays(const Cache *c, const Piece *p, uint64_t now_ns)
{
    return clone_pays(c, p->region, max_u64(p->len, p->read_bytes), p->in_order, now_ns);
}

static enum Plan plan_for(const Cache *c, const Piece *p, uint64_t now_ns)
{
    const Region *r = p->region;
    if (GUARD(DIRTY_VICTIM) && p->dirty)
        return PLAN_WRITE;
    if (!p->valid || r->closing || !copy_pays(c, p, now_ns))
        return PLAN_DROP;
    if (r->remote.state == REMOTE_OPEN)
        return p->valid & ~remote_held(c, r, p->index) ? PLAN_CLONE : PLAN_DROP;
    return remote_may_open(c, r, now_ns) ? PLAN_OPEN : PLAN_DROP;
}

bool clone_is_due(const Cache *c, const Piece *p, uint64_t now_ns)
{
    return !p->dirty && (p->valid & ~remote_held(c, p->region, p->index)) &&
           copy_pays(c, p, now_ns);
}

static enum Plan plan_of(Cache *c, const Piece *p, uint64_t now_ns)
{
    enum Plan plan = plan_for(c, p, now_ns);
    c->local.drops = plan == PLAN_DROP ? c->local.drops + 1 : 0;
    return plan;
}

/* The background makes room before a call needs it, up to the low-water mark. It is woken when half
 * of that is left, so that it has many victims at a time. If victims need no write and no copy, the
 * calls evict them themselves. */
static void room_left(Cache *c, uint64_t bytes)
{
    if (c->local.drops < DROPS_ENOUGH &&
        c->cfg.limit_bytes - c->local.used_bytes - bytes < c->cfg.low_water_bytes / 2)
        background_wake(c);
}

static bool evict_begin(Cache *c, CacheJob *job, Piece *p, enum Plan plan, uint64_t pieces_max,
                        uint64_t now_ns)
{
    if (plan == PLAN_WRITE)
        write_out(c, job, p, pieces_max, now_ns);
    else if (!clone_out(c, job, p, pieces_max, true, now_ns))
        return false;
    job->evict = true;
    c->local.evicting++;
    return true;
}

void reclaim_unstick(Cache *c, uint64_t now_ns)
{
    if (!c->local.stuck || now_ns < c->local.stuck_until_ns)
        return;
    for (struct manage_entry *e = c->policies.dir.oldest; e; e = e->newer)
        piece_unstick(c, piece_of(e));
}

static Piece *policy_victim(Cache *c)
{
    struct manage_entry *e = c->policies.active->reclaim(c->policies.self, &c->policies.dir);
    return e && !(e->flags & MANAGE_ENTRY_BUSY) ? piece_of(e) : NULL;
}

/* getRegionToEvict() of Figure 5; where the policy keeps all, what was fetched and not asked for.
 */
static Piece *victim(Cache *c)
{
    Piece *p = policy_victim(c);
    if (p)
        return p;
    LIST_FOREACH(n, &c->ahead.pieces) {
        p = CONTAINER_OF(n, Piece, links.ahead);
        if (!(p->entry.flags & MANAGE_ENTRY_BUSY))
            return p;
    }
    return NULL;
}

/* As plan_of(), for a call. Its program does not wait for a copy while the background makes others:
 * what the background cannot keep up with is dropped. */
static enum Plan plan_of_call(Cache *c, const Piece *p, uint64_t now_ns)
{
    enum Plan plan = plan_of(c, p, now_ns);
    return plan == PLAN_CLONE && c->local.evicting ? PLAN_DROP : plan;
}

static bool fits(const Cache *c, uint64_t bytes)
{
    return !GUARD(LIMIT) ||
           (bytes <= c->cfg.limit_bytes && c->local.used_bytes <= c->cfg.limit_bytes - bytes);
}

enum Room room_make(Cache *c, uint64_t bytes, CacheJob *job, uint64_t now_ns)
{
    if (bytes > c->cfg.limit_bytes)
        return ROOM_NONE;
    reclaim_unstick(c, now_ns);
    while (!fits(c, bytes)) {
        Piece *p = victim(c);
        if (!p)
            return c->local.evicting ? ROOM_WAIT : ROOM_NONE;
        enum Plan plan = plan_of_call(c, p, now_ns);
        if (plan == PLAN_OPEN) {
            remote_want(c, p->region); /* too late for this one: nobody waits for an allocation */
            plan = PLAN_DROP;
        }
        if (plan == PLAN_DROP || !evict_begin(c, job, p, plan, 1, now_ns))
            (void)evict(c, p); /* else another one */
        else
            return ROOM_JOB;
    }
    room_left(c, bytes);
    return ROOM_YES;
}

bool room_at_once(Cache *c, uint64_t bytes, const Region *r, uint64_t first, uint64_t count,
                  bool cold, uint64_t now_ns)
{
    while (!fits(c, bytes)) {
        Piece *p = policy_victim(c);
        if (!p || (p->region == r && p->index - first < count) || (cold && p->entry.uses > 1))
            return false;
        enum Plan plan = cold ? plan_of(c, p, now_ns) : plan_of_call(c, p, now_ns);
        if (plan == PLAN_OPEN)
            remote_want(c, p->region);
        else if (plan != PLAN_DROP)
            return false;
        (void)evict(c, p);
    }
    room_left(c, bytes);
    return true;
}

/* ---- the background ------------------------------------------------------------------------- */

/* Is it to be seen what remote memory costs, by reads like the one that brought the piece? */
static bool is_unproven(const Cache *c, const Piece *p, uint64_t now_ns)
{
    return remote_unproven(c, p->region, max_u64(p->len, p->read_bytes), now_ns);
}

/* Where it is to be seen what remote memory costs, no more is copied than that takes. */
static uint64_t pieces_together(const Cache *c, const Piece *p, enum Plan plan, uint64_t now_ns)
{
    uint64_t bytes = max_u64(p->len, p->read_bytes), piece = c->cfg.piece_bytes;
    bool look = plan == PLAN_CLONE && is_unproven(c, p, now_ns);
    return look ? min_u64((bytes + piece - 1) / piece, PIECES_TOGETHER) : PIECES_TOGETHER;
}

uint64_t probe_len(const Cache *c, const CacheJob *job, const Piece *p, uint64_t now_ns)
{
    uint64_t bytes = max_u64(p->len, p->read_bytes);
    bool due = job->kind == CACHE_CLONE && job->len * 2 >= bytes;
    return due && is_unproven(c, p, now_ns) ? min_u64(bytes, job->len) : 0;
}

static uint64_t low_water(const Cache *c)
{
    return min_u64(c->cfg.low_water_bytes, c->cfg.limit_bytes);
}

bool reclaim_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    uint64_t low = low_water(c);
    while (c->cfg.limit_bytes - c->local.used_bytes < low) {
        Piece *p = policy_victim(c);
        if (!p)
            return false;
        enum Plan plan = plan_of(c, p, now_ns);
        if (plan == PLAN_OPEN) {
            Region *r = p->region;
            job_begin(job, r, CACHE_OPEN_REMOTE, now_ns);
            r->remote.state = REMOTE_OPENING;
            return true;
        }
        if (plan != PLAN_DROP &&
            evict_begin(c, job, p, plan, pieces_together(c, p, plan, now_ns), now_ns)) {
            job->probe = probe_len(c, job, p, now_ns);
            return true;
        }
        (void)evict(c, p);
    }
    return false;
}

/* As much as there will be when those have left that are leaving. */
static uint64_t room_soon(const Cache *c)
{
    return c->cfg.limit_bytes - c->local.used_bytes + c->local.evicting * c->cfg.piece_bytes;
}

bool reclaim_more(Cache *c, CacheJob *job, uint64_t now_ns)
{
    while (room_soon(c) < low_water(c)) {
        Piece *p = policy_victim(c);
        enum Plan plan = p ? plan_of(c, p, now_ns) : PLAN_OPEN;
        if (plan == PLAN_WRITE || plan == PLAN_OPEN)
            return false; /* by itself, next time */
        if (plan == PLAN_CLONE && evict_begin(c, job, p, plan, PIECES_BESIDE, now_ns))
            return true;
        (void)evict(c, p);
    }
    return false;
}
