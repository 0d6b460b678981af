/* SPDX-License-Identifier: MIT */
/* Which blocks remote memory is believed to hold: two bits a block, in maps that are made where
 * there is something to say. A host's memory is far larger than the cache, so they are what a
 * region that is remote takes of this host. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

static unsigned piece_blocks(const Cache *c)
{
    return c->cfg.piece_bytes / CACHE_BLOCK;
}

/* ---- an earlier run's ----------------------------------------------------------------------- */

static uint64_t held_before(const Cache *c, const Region *r, uint64_t index)
{
    uint64_t blocks = piece_blocks(c), first = index * blocks;
    if (!r->remote.held)
        return 0;
    return r->remote.held_blocks ? r->remote.held_blocks[first / 64] >> first % 64 & piece_all(c)
                                 : piece_all(c);
}

/* ---- a map ---------------------------------------------------------------------------------- */

/* A piece's bits are in one word, as it has a power of two of blocks. */
static uint64_t word_get(const Cache *c, const uint64_t *words, uint64_t index)
{
    uint64_t at = index % LEAF_PIECES * piece_blocks(c);
    return words[at / 64] >> at % 64 & piece_all(c);
}

static void word_set(const Cache *c, uint64_t *words, uint64_t index, uint64_t blocks)
{
    uint64_t at = index % LEAF_PIECES * piece_blocks(c);
    words[at / 64] &= ~(piece_all(c) << at % 64);
    words[at / 64] |= (blocks & piece_all(c)) << at % 64;
}

/* Of the pieces of a leaf, from @first on. */
typedef struct RemoteMap {
    ListNode link; /* Region.remote.all_maps */
    uint64_t first;
    uint64_t words[]; /* what it holds; behind that, what parts have brought of it */
} RemoteMap;

static unsigned map_words(const Cache *c)
{
    return LEAF_PIECES * piece_blocks(c) / 64;
}

static RemoteMap *map_of(const Region *r, uint64_t index)
{
    return r->remote.maps[index / LEAF_PIECES];
}

bool remote_map_exists(const Region *r, uint64_t index)
{
    return map_of(r, index) != NULL;
}

bool remote_map_make(const Cache *c, Region *r, uint64_t index)
{
    RemoteMap *map = map_of(r, index);
    if (map)
        return true;
    map = calloc(1, sizeof *map + 2 * (size_t)map_words(c) * sizeof *map->words);
    if (!map)
        return false;
    map->first = index / LEAF_PIECES * LEAF_PIECES;
    for (uint64_t i = map->first;
         r->remote.held && i < map->first + LEAF_PIECES && piece_start(c, i) < r->len; i++)
        word_set(c, map->words, i, held_before(c, r, i));
    list_push_back(&r->remote.all_maps, &map->link);
    r->remote.maps[index / LEAF_PIECES] = map;
    return true;
}

static void map_free(Region *r, RemoteMap *map)
{
    r->remote.maps[map->first / LEAF_PIECES] = NULL;
    list_remove(&map->link);
    free(map);
}

static bool map_says(const RemoteMap *map, unsigned words)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < words; i++)
        any |= map->words[i];
    return any != 0;
}

/* What an earlier run has left and a write has made stale, only the map knows. */
void remote_map_release(const Cache *c, Region *r, uint64_t index)
{
    RemoteMap *map = map_of(r, index);
    if (map && !r->remote.held && !map_says(map, 2 * map_words(c)))
        map_free(r, map);
}

void remote_map_forget(Region *r)
{
    while (!list_empty(&r->remote.all_maps))
        map_free(r, CONTAINER_OF(r->remote.all_maps.next, RemoteMap, link));
}

/* ---- what it says --------------------------------------------------------------------------- */

uint64_t remote_held(const Cache *c, const Region *r, uint64_t index)
{
    const RemoteMap *map = map_of(r, index);
    return map ? word_get(c, map->words, index) : held_before(c, r, index);
}

bool remote_holds_at(const Cache *c, const Region *r, uint64_t offset)
{
    uint64_t index = offset / c->cfg.piece_bytes;
    return r->remote.state == REMOTE_OPEN &&
           remote_held(c, r, index) & piece_mask(c, index, offset, offset + 1);
}

void remote_map_add(const Cache *c, Region *r, uint64_t index, uint64_t blocks)
{
    if (remote_map_make(c, r, index))
        word_set(c, map_of(r, index)->words, index, remote_held(c, r, index) | blocks);
}

void remote_map_remove(const Cache *c, Region *r, uint64_t index, uint64_t blocks)
{
    RemoteMap *map = map_of(r, index);
    if (map)
        word_set(c, map->words, index, word_get(c, map->words, index) & ~blocks);
    else
        assert(!(held_before(c, r, index) & blocks));
}

static uint64_t *brought_of(const Cache *c, const Region *r, uint64_t index)
{
    RemoteMap *map = map_of(r, index);
    return map ? map->words + map_words(c) : NULL;
}

void brought_add(const Cache *c, Region *r, uint64_t index, uint64_t blocks)
{
    uint64_t *brought = remote_map_make(c, r, index) ? brought_of(c, r, index) : NULL;
    if (brought)
        word_set(c, brought, index,
                 word_get(c, brought, index) | (blocks & ~remote_held(c, r, index)));
}

uint64_t brought_take(const Cache *c, Region *r, uint64_t index, uint64_t blocks)
{
    uint64_t *brought = brought_of(c, r, index);
    uint64_t taken = brought ? word_get(c, brought, index) & blocks : 0;
    if (taken)
        word_set(c, brought, index, word_get(c, brought, index) & ~taken);
    return taken;
}

/* ---- an earlier run's comes ----------------------------------------------------------------- */

/* Pieces that are here may become dirty, and what a map says then no longer holds. */
bool remote_map_restore(const Cache *c, Region *r)
{
    remote_map_forget(r);
    LIST_FOREACH(n, &r->ways->pieces) {
        const Piece *p = CONTAINER_OF(n, Piece, links.file);
        if (p->region != r)
            continue;
        if (!remote_map_make(c, r, p->index))
            return false;
        remote_map_remove(c, r, p->index, p->dirty);
    }
    return true;
}

bool remote_map_check(const Cache *c, const Region *r)
{
    bool says = false;
    LIST_FOREACH(n, &r->remote.all_maps)
        says |= map_says(CONTAINER_OF(n, RemoteMap, link), map_words(c));
    return r->remote.state == REMOTE_OPEN || !says;
}
