/* SPDX-License-Identifier: MIT */
/* Intrusive chained hash map: nodes live in the caller's structs, the map owns only its buckets.
 * The caller compares keys; the map compares 64-bit hashes. Not thread-safe. Pure (malloc only).
 * Keys that a peer chooses must be hashed with a secret seed (hmap.seed, mixed in by the map). */
#ifndef DODO_BASE_HMAP_H
#define DODO_BASE_HMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct HmapNode {
    struct HmapNode *next;
    uint64_t hash;
} HmapNode;

/* Linear hashing (Litwin, 1980): buckets are split one after the other, a step or two an insertion,
 * so that none costs more than another, however many there are. They lie in segments, each as
 * large as all before it, so that none is ever copied. */
enum { HMAP_BUCKETS_MIN = 16, HMAP_SEGMENTS_MAX = 32, HMAP_SPLITS_MAX = 2 };

typedef struct Hmap {
    HmapNode **segments[HMAP_SEGMENTS_MAX];
    size_t mask;  /* of the buckets that this round began with */
    size_t split; /* so many of them have been split */
    size_t count;
    uint64_t seed;
} Hmap;

/* 0, or -ENOMEM. @seed: 0 is fine where no peer chooses keys. */
int hmap_init(Hmap *m, uint64_t seed);
/* Frees the buckets, not the nodes. */
void hmap_deinit(Hmap *m);
/* No node is in it any more; the nodes themselves are their owners'. */
void hmap_clear(Hmap *m);
/* Buckets in use, and the bytes allocated for those and what they will be split into. */
static inline size_t hmap_buckets(const Hmap *m)
{
    return m->mask + 1 + m->split;
}
size_t hmap_bytes(const Hmap *m);
/* Never fails: when it cannot grow it only becomes slower. */
void hmap_insert(Hmap *m, HmapNode *node, uint64_t hash);
/* True when the node was in the map. */
bool hmap_remove(Hmap *m, HmapNode *node);
/* First / next node with this hash, NULL at the end. */
HmapNode *hmap_first(const Hmap *m, uint64_t hash);
HmapNode *hmap_next(const Hmap *m, const HmapNode *node);
/* Walk over all nodes in bucket order; NULL starts, NULL ends. The map must not grow meanwhile;
 * to remove while walking, fetch the next node first. */
HmapNode *hmap_walk(const Hmap *m, const HmapNode *after);
/* A walk that can be left and gone on with at any time, by a number. Nodes are in an order of their
 * hashes alone, so that those that come and go, and the map's growth, neither repeat nor hide
 * others. @place: 0 starts; it is moved beyond the node that is returned. NULL: all nodes were
 * there, and @place is 0; or @looks have run out, of which each node and each bucket costs one. Of
 * nodes with the same hash there is only one. */
HmapNode *hmap_scan(const Hmap *m, uint64_t *place, unsigned *looks);

#endif
