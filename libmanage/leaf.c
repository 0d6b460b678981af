/* SPDX-License-Identifier: MIT */
/* The directory of a region, read only: where a piece is, and which blocks are its. */
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
