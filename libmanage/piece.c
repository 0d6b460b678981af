/* SPDX-License-Identifier: MIT */
/* Pieces: where they are, what they hold, and who may touch them. */
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

static Leaf *leaf_make(Region *r, uint64_t index)
{
    Leaf *leaf = leaf_of(r, index);
    if (!leaf)
        r->leaves[index / LEAF_PIECES] = leaf = calloc(1, sizeof *leaf);
    return leaf;
}

void leaf_release(Cache *c, Region *r, uint64_t index)
{
    const Leaf *leaf = leaf_of(r, index);
    uint64_t any = 0;
    for (unsigned i = 0; leaf && i < LEAF_PIECES / 64; i++)
        any |= leaf->present[i];
    if (leaf && !any)
        free(leaf_take(c, r, index));
}

Piece *piece_next(const Region *r, uint64_t *at)
{
    for (; r->remote.state == REMOTE_OPEN && *at < r->leaf_count * LEAF_PIECES; (*at)++) {
        Piece *p = piece_find(r, *at);
        if (!r->leaves[*at / LEAF_PIECES])
            *at |= LEAF_PIECES - 1;
        else if (p && !p->writer && !p->direct)
            return p;
    }
    return NULL;
}

/* ---- their memory --------------------------------------------------------------------------- */

/* The buffers of whole pieces that left are kept for those to come, while there is any piece. As
 * none is made while one is kept, the limit holds for both together. */
static uint8_t *buffer_take(Cache *c, uint32_t len)
{
    uint8_t *buffer = len == c->cfg.piece_bytes ? buffers_take(&c->local.buffers) : NULL;
    if (buffer)
        return buffer;
    while (buffers_kept(c) && c->local.used_bytes + buffers_kept(c) + len > c->cfg.limit_bytes)
        buffers_release(&c->local.buffers);
    return malloc(len);
}

static void buffer_give(Cache *c, uint8_t *data)
{
    if (!buffers_have(&c->local.buffers, data)) {
        free(data);
        return;
    }
    buffers_give(&c->local.buffers, data);
    if (c->local.used_bytes == 0)
        buffers_release_all(&c->local.buffers);
}

/* To move all of it takes as long as a few hits for each of its pages lose without. Before, it may
 * be let go, and pages of which a part was given back keep their memory. */
enum { COLLAPSE_USES = 4 };

uint64_t collapse_after(const Cache *c)
{
    return COLLAPSE_USES * c->local.buffers.count * c->local.buffers.each;
}

void collapse_begin(Cache *c)
{
    c->collapse.running = !c->ways.files_left;
    c->collapse.at = c->ways.files_left ? c->stats.local_bytes + collapse_after(c) : UINT64_MAX;
    if (c->collapse.running)
        background_wake(c);
}

/* Where what is known of the piece with that data is. */
static Piece *piece_beside(const Cache *c, const uint8_t *data)
{
    return buffers_have(&c->local.buffers, data) ? buffers_beside(&c->local.buffers, data)
                                                 : malloc(sizeof(Piece));
}

Piece *piece_new(Cache *c, Region *r, uint64_t index)
{
    uint32_t len = piece_len(c, r, index);
    Leaf *leaf = r->remote.held && !remote_map_make(c, r, index) ? NULL : leaf_make(r, index);
    uint8_t *data = leaf ? buffer_take(c, len) : NULL;
    Piece *p = data ? piece_beside(c, data) : NULL;
    if (!p) {
        free(data); /* the heap's, if it is any */
        return NULL;
    }
    *p = (Piece){.region = r, .leaf = leaf, .index = index, .data = data, .len = len};
    p->entry.prev = p->entry.next = &p->entry;
    p->entry.region = r->number;
    p->entry.offset = piece_start(c, index);
    p->entry.length = p->len;
    list_init(&p->links.dirty);
    list_init(&p->links.unsynced);
    list_init(&p->links.ahead);
    list_init(&p->links.claimed);
    list_init(&p->links.keep);
    list_push_back(&r->ways->pieces, &p->links.file);
    leaf->pieces[index % LEAF_PIECES] = p;
    leaf->data[index % LEAF_PIECES] = p->data;
    leaf->heard[index % LEAF_PIECES] = 0;
    leaf->present[index % LEAF_PIECES / 64] |= 1ull << index % 64;
    c->local.used_bytes += p->len;
    return p;
}

/* ---- what the policy knows ------------------------------------------------------------------ */

enum { GENERATIONS = 8 /* in the time in which as many pieces leave as the cache has */ };

void generation_reset(Cache *c)
{
    c->hits.generation = policy_is_coarse(c->policies.active);
    c->hits.left_in_generation = 0;
}

static void generation_count(Cache *c)
{
    if (!c->hits.generation ||
        ++c->hits.left_in_generation * GENERATIONS <= c->policies.dir.entries)
        return;
    c->hits.generation = c->hits.generation == UINT8_MAX ? 1 : c->hits.generation + 1;
    c->hits.left_in_generation = 0;
}

static void directory_add(Cache *c, Piece *p)
{
    p->known = true;
    p->entry.older = c->policies.dir.newest;
    *(c->policies.dir.newest ? &c->policies.dir.newest->newer : &c->policies.dir.oldest) =
        &p->entry;
    c->policies.dir.newest = &p->entry;
    c->policies.dir.entries++;
    c->policies.dir.bytes += p->len;
}

/* What was read is due to be copied for the next run. */
static void keep_begin(Cache *c, Piece *p)
{
    if (!c->cfg.remote || !region_is_kept(p->region))
        return;
    list_push_back(&c->keep.due, &p->links.keep);
    c->keep.due_count++;
}

void piece_keep_over(Cache *c, Piece *p)
{
    c->keep.due_count -= !list_empty(&p->links.keep);
    list_remove(&p->links.keep);
}

static void directory_remove(Cache *c, Piece *p)
{
    struct manage_entry *e = &p->entry;
    *(e->older ? &e->older->newer : &c->policies.dir.oldest) = e->newer;
    *(e->newer ? &e->newer->older : &c->policies.dir.newest) = e->older;
    c->policies.dir.entries--;
    c->policies.dir.bytes -= p->len;
    if (c->policies.active->removed)
        c->policies.active->removed(c->policies.self, e);
    manage_entry_unlink(e);
    generation_count(c);
}

static void ahead_end(Cache *c, Piece *p)
{
    if (!p->ahead)
        return;
    p->ahead = false;
    list_remove(&p->links.ahead);
    c->ahead.bytes -= p->len;
}

void piece_unstick(Cache *c, Piece *p)
{
    if (p->stuck)
        c->local.stuck--;
    p->stuck = false;
    piece_flags(p);
}

void piece_drop(Cache *c, Piece *p)
{
    Region *r = p->region;
    ahead_end(c, p);
    piece_clean(c, p, UINT64_MAX);
    piece_unstick(c, p);
    r->writeback.lone += p->unsynced != 0;
    r->writeback.lone_syncing += p->syncing != 0;
    list_remove(&p->links.unsynced);
    if (p->known)
        directory_remove(c, p);
    list_remove(&p->links.claimed);
    piece_keep_over(c, p);
    list_remove(&p->links.file);
    p->leaf->pieces[p->index % LEAF_PIECES] = NULL;
    uint8_t *data = p->data;
    p->leaf->data[p->index % LEAF_PIECES] = NULL;
    p->leaf->present[p->index % LEAF_PIECES / 64] &= ~(1ull << p->index % 64);
    c->local.used_bytes -= p->len;
    uint64_t index = p->index;
    if (!buffers_have(&c->local.buffers, data))
        free(p);
    buffer_give(c, data);
    leaf_release(c, r, index);
    remote_map_release(c, r, index);
}

bool piece_busy(const Piece *p)
{
    return p->job || p->pins || p->writer || p->cloning;
}

void piece_flags(Piece *p)
{
    bool busy =
        piece_busy(p) || p->direct || p->stuck || p->wanted_by || !list_empty(&p->links.claimed);
    p->entry.flags = (busy ? MANAGE_ENTRY_BUSY : 0) | (p->dirty ? MANAGE_ENTRY_DIRTY : 0);
}

void piece_want(Piece *p, CacheCall *call)
{
    if (!p->wanted_by)
        p->wanted_by = call;
    piece_flags(p);
}

void piece_unwant(Cache *c, Piece *p, const CacheCall *call)
{
    if (p->wanted_by != call)
        return;
    p->wanted_by = NULL;
    piece_flags(p);
    waiters_wake(c);
}

void piece_use(Cache *c, Piece *p, bool writing)
{
    if (p->ahead)
        c->stats.readahead_used++;
    ahead_end(c, p);
    if (!p->known) {
        directory_add(c, p);
        keep_begin(c, p);
    }
    p->entry.uses++;
    p->entry.last_use = ++c->uses;
    (writing ? c->policies.active->write : c->policies.active->read)(c->policies.self, &p->entry);
}

void piece_dirty(Cache *c, Piece *p, uint64_t blocks)
{
    if (!blocks)
        return;
    if (!p->dirty) {
        p->dirty_epoch = ++c->epoch;
        list_push_back(&p->region->writeback.dirty, &p->links.dirty);
        c->local.dirty_bytes += p->len;
    }
    p->dirty |= blocks;
    if (GUARD(DIRTY_HELD))
        remote_map_remove(c, p->region, p->index, blocks);
    piece_flags(p);
}

void piece_clean(Cache *c, Piece *p, uint64_t blocks)
{
    if (!p->dirty)
        return;
    p->dirty &= ~blocks;
    if (!p->dirty) {
        list_remove(&p->links.dirty);
        c->local.dirty_bytes -= p->len;
    }
    piece_flags(p);
}
