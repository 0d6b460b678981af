/* SPDX-License-Identifier: MIT */
/* Files for which the cache is not worth its memory are left to the kernel's. */
#include "libmanage/core_private.h"

enum {
    LET_GO_LOOKS = 16,
    LOOKS_ENOUGH = 6, /* each after twice as long as the one before */
};

/* About as much of the file as a read has brought into the kernel's cache. What is dirty stays
 * until it is written. */
static void let_go(Cache *c, Ways *w, uint64_t bytes)
{
    uint64_t gone = 0, given = 0;
    for (unsigned n = 0; n < LET_GO_LOOKS && gone < bytes && !list_empty(&w->pieces); n++) {
        Piece *p = CONTAINER_OF(w->pieces.next, Piece, links.file);
        uint64_t len = p->len;
        bool stays =
            (GUARD(DIRTY_STAYS) && p->dirty) || p->entry.flags & MANAGE_ENTRY_BUSY || !evict(c, p);
        gone += stays ? 0 : len;
        if (stays) { /* others come first */
            list_remove(&p->links.file);
            list_push_back(&w->pieces, &p->links.file);
        }
    }
    for (; given < bytes && buffers_kept(c); given += c->cfg.piece_bytes)
        buffers_release(&c->local.buffers);
}

/* Is remote memory of no use? A saving of more than some 40 us may be worth the copy at the
 * next look. One measurement of a small saving says little: it was made beside clones on the same
 * link, or a host was held up. More of them count, and twice as many are needed if remote memory
 * was of use before. */
static bool remote_is_no_use(const Cache *c, const Region *r, uint64_t bytes, bool in_order,
                             uint64_t now_ns)
{
    bool known =
        cost_of(&r->ways->cost[COST_REMOTE], bytes) || cost_of(&r->ways->cost[COST_CLONE], bytes);
    bool was_of_use = c->stats.remote_bytes > c->cfg.limit_bytes / 2;
    return !known || (in_order && !clone_pays(c, r, bytes, true, now_ns)) ||
           cost_looks(&r->ways->cost[COST_REMOTE], bytes) >= LOOKS_ENOUGH * (was_of_use ? 2u : 1u);
}

/* The reads of a recorded run come ahead of the program, several at a time. */
static bool is_led(const Region *r, uint64_t bytes)
{
    return r->trace && r->trace->lead >= TRACE_FOLLOWED && together_pays(r, bytes);
}

/* If what leaves is not dirty, goes to no other host, and the kernel would keep it. A program that
 * chose another policy than the default knows better than the kernel. */
static bool may_leave(const Cache *c, const Region *r, uint64_t bytes, bool in_order,
                      uint64_t now_ns)
{
    uint64_t enough = min_u64(DROPS_ENOUGH, c->cfg.limit_bytes / c->cfg.piece_bytes);
    return c->local.drops >= enough && kernel_caches(r) && !is_led(r, bytes) &&
           c->policies.active == policy_builtin(POLICY_DEFAULT) &&
           remote_is_no_use(c, r, bytes, in_order, now_ns);
}

void worth_note(Cache *c, const Region *r, uint64_t bytes, bool in_order, uint64_t ns,
                enum WorthFrom from, uint64_t now_ns)
{
    Ways *w = r->ways;
    if (from == WORTH_FILE && file_is_cheap(c, r, bytes))
        return; /* it is read past the cache in any case */
    if (worth_read(&w->worth, bytes, sample_ns(c, bytes, ns), from, now_ns))
        ways_set_left(c, w, worth_turn(&w->worth, may_leave(c, r, bytes, in_order, now_ns)));
    if (w->left)
        let_go(c, w, bytes);
}
