/* SPDX-License-Identifier: MIT */
#include "base/hmap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/id.h"

enum { HMAP_BUCKETS_MIN = 16 };

int hmap_init(Hmap *m, uint64_t seed)
{
    *m = (Hmap){.seed = seed};
    m->buckets = calloc(HMAP_BUCKETS_MIN, sizeof *m->buckets);
    if (!m->buckets)
        return -ENOMEM;
    m->mask = HMAP_BUCKETS_MIN - 1;
    return 0;
}

void hmap_deinit(Hmap *m)
{
    free(m->buckets);
    *m = (Hmap){0};
}

static size_t bucket_of(const Hmap *m, uint64_t hash)
{
    return mix64(hash ^ m->seed) & m->mask;
}

static void hmap_grow(Hmap *m)
{
    size_t n = (m->mask + 1) * 2;
    Hmap grown = {.mask = n - 1, .seed = m->seed, .count = m->count};
    grown.buckets = calloc(n, sizeof *grown.buckets);
    if (!grown.buckets)
        return;
    for (size_t i = 0; i <= m->mask; i++) {
        HmapNode *next;
        for (HmapNode *node = m->buckets[i]; node; node = next) {
            HmapNode **slot = &grown.buckets[bucket_of(&grown, node->hash)];
            next = node->next;
            node->next = *slot;
            *slot = node;
        }
    }
    free(m->buckets);
    *m = grown;
}

void hmap_insert(Hmap *m, HmapNode *node, uint64_t hash)
{
    if (m->count > m->mask)
        hmap_grow(m);
    node->hash = hash;
    HmapNode **slot = &m->buckets[bucket_of(m, hash)];
    node->next = *slot;
    *slot = node;
    m->count++;
}

bool hmap_remove(Hmap *m, HmapNode *node)
{
    for (HmapNode **slot = &m->buckets[bucket_of(m, node->hash)]; *slot; slot = &(*slot)->next) {
        if (*slot == node) {
            *slot = node->next;
            node->next = NULL;
            m->count--;
            return true;
        }
    }
    return false;
}

static HmapNode *chain_find(HmapNode *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

HmapNode *hmap_first(const Hmap *m, uint64_t hash)
{
    return m->buckets ? chain_find(m->buckets[bucket_of(m, hash)], hash) : NULL;
}

HmapNode *hmap_next(const Hmap *m, const HmapNode *node)
{
    (void)m;
    return chain_find(node->next, node->hash);
}

HmapNode *hmap_walk(const Hmap *m, const HmapNode *after)
{
    size_t i = 0;
    if (after) {
        if (after->next)
            return after->next;
        i = bucket_of(m, after->hash) + 1;
    }
    for (; m->buckets && i <= m->mask; i++)
        if (m->buckets[i])
            return m->buckets[i];
    return NULL;
}
