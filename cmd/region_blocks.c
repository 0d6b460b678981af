/* SPDX-License-Identifier: MIT */
/* Memory for regions. Each malloc() of its own would have 16 bytes more, and what comes and goes
 * between them would leave holes: a fifth of all. So they lie in blocks, one behind the other. */
#include "cmd/manager_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

enum { WORD_BITS = 64, BLOCK_WORDS = 4, BLOCK_REGIONS = WORD_BITS * BLOCK_WORDS };

typedef struct RegionBlock {
    ListNode with_room; /* RegionBlocks.with_room; alone when it is full */
    unsigned count;
    uint64_t taken[BLOCK_WORDS]; /* a bit each */
    Region of[BLOCK_REGIONS];
} RegionBlock;
_Static_assert(BLOCK_REGIONS - 1 <= UINT8_MAX, "Region.place");

static RegionBlock *block_of(Region *r)
{
    return CONTAINER_OF(r - r->place, RegionBlock, of);
}

static RegionBlock *block_new(RegionBlocks *blocks)
{
    RegionBlock *b = malloc(sizeof *b);
    if (!b)
        return NULL;
    b->count = 0;
    memset(b->taken, 0, sizeof b->taken);
    ASAN_POISON_MEMORY_REGION(b->of, sizeof b->of);
    list_push_back(&blocks->with_room, &b->with_room);
    blocks->count++;
    return b;
}

static RegionBlock *block_with_room(RegionBlocks *blocks)
{
    return list_empty(&blocks->with_room)
               ? block_new(blocks)
               : CONTAINER_OF(blocks->with_room.next, RegionBlock, with_room);
}

static void block_free(RegionBlocks *blocks, RegionBlock *b)
{
    ASAN_UNPOISON_MEMORY_REGION(b->of, sizeof b->of);
    list_remove(&b->with_room);
    blocks->count--;
    free(b);
}

Region *cmd_region_new(Manager *m)
{
    RegionBlock *b = block_with_room(&m->regions.blocks);
    unsigned word = 0;

    if (!b)
        return NULL;
    while (b->taken[word] == UINT64_MAX)
        word++;
    const unsigned bit = (unsigned)__builtin_ctzll(~b->taken[word]);
    Region *r = &b->of[word * WORD_BITS + bit];
    b->taken[word] |= (uint64_t)1 << bit;
    if (++b->count == BLOCK_REGIONS)
        list_remove(&b->with_room);
    ASAN_UNPOISON_MEMORY_REGION(r, sizeof *r);
    memset(r, 0, sizeof *r);
    r->place = (uint8_t)(word * WORD_BITS + bit);
    return r;
}

/* An empty block is given back, unless no other one has room: the next region would want it. */
void cmd_region_free(Manager *m, Region *r)
{
    if (!r)
        return;
    RegionBlock *b = block_of(r);
    b->taken[r->place / WORD_BITS] &= ~((uint64_t)1 << r->place % WORD_BITS);
    ASAN_POISON_MEMORY_REGION(r, sizeof *r);
    if (b->count-- == BLOCK_REGIONS)
        list_push_back(&m->regions.blocks.with_room, &b->with_room);
    const bool only = b->with_room.prev == b->with_room.next;
    if (b->count == 0 && !only)
        block_free(&m->regions.blocks, b);
}

/* None is taken any more. */
void cmd_regions_deinit(Manager *m)
{
    LIST_FOREACH(at, &m->regions.blocks.with_room) {
        block_free(&m->regions.blocks, CONTAINER_OF(at, RegionBlock, with_room));
    }
}

size_t cmd_regions_bytes(const Manager *m)
{
    return m->regions.blocks.count * sizeof(RegionBlock);
}
