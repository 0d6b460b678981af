/* SPDX-License-Identifier: MIT */
/* The directory of a region, read only: where a piece is, and which of its blocks are held where.
 */
#include "libmanage/core_private.h"

uint64_t piece_start(const Cache *c, uint64_t index)
{
    return index * c->cfg.piece_bytes;
}

uint32_t piece_len(const Cache *c, const Region *r, uint64_t index)
{
    return (uint32_t)min_u64(c->cfg.piece_bytes, r->len - piece_start(c, index));
}

Piece *piece_find(const Region *r, uint64_t index)
{
    Leaf *leaf = leaf_of(r, index);
    return leaf ? leaf->pieces[index % LEAF_PIECES] : NULL;
}

uint64_t *remote_map(const Region *r, uint64_t index)
{
    Leaf *leaf = leaf_of(r, index);
    return leaf ? &leaf->remote[index % LEAF_PIECES] : NULL;
}

uint64_t held_before(const Cache *c, const Region *r, uint64_t index)
{
    uint64_t blocks = c->cfg.piece_bytes / CACHE_BLOCK, first = index * blocks;
    uint64_t all = blocks < 64 ? (1ull << blocks) - 1 : ~0ull;
    if (!r->remote.held)
        return 0;
    return r->remote.held_blocks ? r->remote.held_blocks[first / 64] >> first % 64 & all : ~0ull;
}

uint64_t remote_held(const Cache *c, const Region *r, uint64_t index)
{
    const uint64_t *map = remote_map(r, index);
    return map ? *map : held_before(c, r, index);
}

bool remote_holds_at(const Cache *c, const Region *r, uint64_t offset)
{
    uint64_t index = offset / c->cfg.piece_bytes;
    return r->remote.state == REMOTE_OPEN &&
           remote_held(c, r, index) & piece_mask(c, index, offset, offset + 1);
}

uint64_t *brought_map(const Region *r, uint64_t index)
{
    Leaf *leaf = leaf_of(r, index);
    return leaf ? &leaf->brought[index % LEAF_PIECES] : NULL;
}

uint64_t piece_mask(const Cache *c, uint64_t index, uint64_t from, uint64_t to)
{
    uint64_t start = piece_start(c, index);
    uint64_t end = start + c->cfg.piece_bytes;
    from = max_u64(from, start);
    to = min_u64(to, end);
    if (from >= to)
        return 0;
    unsigned first = (unsigned)((from - start) / CACHE_BLOCK);
    unsigned count = (unsigned)((to - start + CACHE_BLOCK - 1) / CACHE_BLOCK) - first;
    return (count == 64 ? UINT64_MAX : (1ull << count) - 1) << first;
}
