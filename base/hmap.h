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

typedef struct Hmap {
    HmapNode **buckets;
    size_t mask; /* bucket count - 1 */
    size_t count;
    uint64_t seed;
} Hmap;

/* 0, or -ENOMEM. @seed: 0 is fine where no peer chooses keys. */
int hmap_init(Hmap *m, uint64_t seed);
/* Frees the buckets, not the nodes. */
void hmap_deinit(Hmap *m);
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

#endif
