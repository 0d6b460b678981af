/* SPDX-License-Identifier: MIT */
/* What hits claim, for who holds the lock: nothing of it is changed or freed. The proof is in
 * hit.c. */
#include "libmanage/core_private.h"

static bool region_claimed(const Cache *c, int rd)
{
    for (unsigned i = 0; i < c->hits.lane_count; i++) {
        uint64_t claim = c->hits.lanes[i]->claim;
        if (claim && claim >> CLAIM_RD_SHIFT == (uint64_t)rd)
            return true;
    }
    return false;
}

static bool piece_claimed(const Cache *c, const Piece *p)
{
    for (unsigned i = 0; i < c->hits.lane_count; i++) {
        uint64_t claim = c->hits.lanes[i]->claim;
        uint32_t count = (uint8_t)(claim >> CLAIM_COUNT_SHIFT);
        if (claim >> CLAIM_RD_SHIFT == (uint64_t)p->region->rd &&
            (uint32_t)p->index - (uint32_t)claim < count)
            return true;
    }
    return false;
}

void piece_open(Piece *p)
{
    if (p->known && !p->writer && !p->wanted_by)
        p->leaf->readable[p->index % LEAF_PIECES] = p->valid & ~p->unasked;
}

static bool piece_shut(const Cache *c, Piece *p)
{
    _Atomic uint64_t *readable = &p->leaf->readable[p->index % LEAF_PIECES];
    if (atomic_load_explicit(readable, memory_order_relaxed))
        *readable = 0;
    return !piece_claimed(c, p);
}

bool piece_take(Cache *c, Piece *p)
{
    if (piece_shut(c, p))
        return true;
    c->hits.wanted = true;
    return !piece_claimed(c, p);
}

void region_admit(Cache *c, Region *r)
{
    c->hits.open[r->rd] = r;
}

void region_refuse(Cache *c, const Region *r)
{
    c->hits.open[r->rd] = NULL;
}

bool region_take(Cache *c, const Region *r)
{
    if (!region_claimed(c, r->rd))
        return true;
    c->hits.wanted = true;
    return !region_claimed(c, r->rd);
}

/* Any piece of that part of the directory, which begins at piece @first. */
static bool leaf_claimed(const Cache *c, int rd, uint64_t first)
{
    for (unsigned i = 0; i < c->hits.lane_count; i++) {
        uint64_t claim = c->hits.lanes[i]->claim;
        uint32_t count = (uint8_t)(claim >> CLAIM_COUNT_SHIFT), at = (uint32_t)claim;
        if (count && claim >> CLAIM_RD_SHIFT == (uint64_t)rd &&
            (at - (uint32_t)first < LEAF_PIECES || (uint32_t)first - at < count))
            return true;
    }
    return false;
}

/* As with a piece: it cannot be found first, and then it is looked for claims. */
Leaf *leaf_take(Cache *c, Region *r, uint64_t index)
{
    uint64_t at = index / LEAF_PIECES;
    Leaf *leaf = r->leaves[at];
    r->leaves[at] = NULL;
    if (!leaf_claimed(c, r->rd, at * LEAF_PIECES))
        return leaf;
    r->leaves[at] = leaf;
    return NULL;
}

void claimed_look(Cache *c)
{
    LIST_FOREACH(n, &c->hits.claimed) {
        Piece *p = CONTAINER_OF(n, Piece, links.claimed);
        if (piece_claimed(c, p))
            continue;
        list_remove(&p->links.claimed);
        piece_flags(p);
    }
}

static void piece_claim_note(Cache *c, Piece *p)
{
    piece_open(p);
    if (list_empty(&p->links.claimed))
        list_push_back(&c->hits.claimed, &p->links.claimed);
    piece_flags(p);
}

bool evict(Cache *c, Piece *p)
{
    if (!piece_shut(c, p)) {
        piece_claim_note(c, p);
        return false;
    }
    /* It would have been copied now: that it was before has cost nothing more. */
    c->keep.spent_ns = sub_u64(c->keep.spent_ns, p->kept_ns);
    c->stats.evictions++;
    c->stats.eviction_bytes += p->len;
    piece_drop(c, p);
    return true;
}
