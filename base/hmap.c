/* SPDX-License-Identifier: MIT */
#include "base/hmap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/id.h"

/* ---- buckets ------------------------------------------------------------------------------- */

/* Segment 0 has the first HMAP_BUCKETS_MIN, each further one as many as all before it. */
static unsigned segment_of(size_t bucket)
{
    size_t above = bucket / HMAP_BUCKETS_MIN;
    return above ? 64u - (unsigned)__builtin_clzll(above) : 0;
}

static size_t segment_start(unsigned segment)
{
    return segment ? (size_t)HMAP_BUCKETS_MIN / 2 << segment : 0;
}

static HmapNode **bucket_at(const Hmap *m, size_t bucket)
{
    unsigned segment = segment_of(bucket);
    return &m->segments[segment][bucket - segment_start(segment)];
}

/* What lies below the hand of this round has been split: there, one more bit counts. */
static size_t bucket_of(const Hmap *m, uint64_t hash)
{
    uint64_t mixed = mix64(hash ^ m->seed);
    size_t bucket = mixed & m->mask;
    return bucket < m->split ? mixed & (2 * m->mask + 1) : bucket;
}

static HmapNode **bucket_for(const Hmap *m, uint64_t hash)
{
    return bucket_at(m, bucket_of(m, hash));
}

/* ---- life ---------------------------------------------------------------------------------- */

int hmap_init(Hmap *m, uint64_t seed)
{
    *m = (Hmap){.seed = seed};
    m->segments[0] = calloc(HMAP_BUCKETS_MIN, sizeof(HmapNode *));
    if (!m->segments[0])
        return -ENOMEM;
    m->mask = HMAP_BUCKETS_MIN - 1;
    return 0;
}

void hmap_deinit(Hmap *m)
{
    for (unsigned i = 0; i < HMAP_SEGMENTS_MAX; i++)
        free(m->segments[i]);
    *m = (Hmap){.count = 0};
}

void hmap_clear(Hmap *m)
{
    for (size_t i = 0; i < hmap_buckets(m); i++)
        *bucket_at(m, i) = NULL;
    m->count = 0;
}

size_t hmap_bytes(const Hmap *m)
{
    unsigned n = 0;
    while (n < HMAP_SEGMENTS_MAX && m->segments[n])
        n++;
    return n ? segment_start(n) * sizeof(HmapNode *) : 0;
}

/* ---- growing ------------------------------------------------------------------------------- */

/* The segment that the buckets of this round are split into. */
static bool segment_make(Hmap *m)
{
    unsigned segment = segment_of(m->mask + 1);
    if (segment >= HMAP_SEGMENTS_MAX)
        return false;
    /* Each bucket is set when it is split off: zeroing millions would take its time. */
    if (!m->segments[segment])
        m->segments[segment] = malloc((m->mask + 1) * sizeof(HmapNode *));
    return m->segments[segment] != NULL;
}

static bool bucket_split(Hmap *m)
{
    if (!segment_make(m))
        return false;
    size_t at = m->split++;
    HmapNode **low = bucket_at(m, at), **high = bucket_at(m, at + m->mask + 1), *next;
    HmapNode *node = *low;
    *low = *high = NULL;
    for (; node; node = next) {
        HmapNode **slot = bucket_of(m, node->hash) == at ? low : high;
        next = node->next;
        node->next = *slot;
        *slot = node;
    }
    if (m->split > m->mask) {
        m->mask = 2 * m->mask + 1;
        m->split = 0;
    }
    return true;
}

void hmap_insert(Hmap *m, HmapNode *node, uint64_t hash)
{
    for (unsigned i = 0; i < HMAP_SPLITS_MAX && m->count >= hmap_buckets(m); i++)
        if (!bucket_split(m))
            break;
    node->hash = hash;
    HmapNode **slot = bucket_for(m, hash);
    node->next = *slot;
    *slot = node;
    m->count++;
}

bool hmap_remove(Hmap *m, HmapNode *node)
{
    for (HmapNode **slot = bucket_for(m, node->hash); *slot; slot = &(*slot)->next) {
        if (*slot == node) {
            *slot = node->next;
            node->next = NULL;
            m->count--;
            return true;
        }
    }
    return false;
}

/* ---- finding ------------------------------------------------------------------------------- */

static HmapNode *chain_find(HmapNode *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

HmapNode *hmap_first(const Hmap *m, uint64_t hash)
{
    return m->segments[0] ? chain_find(*bucket_for(m, hash), hash) : NULL;
}

HmapNode *hmap_next(const Hmap *m, const HmapNode *node)
{
    (void)m;
    return chain_find(node->next, node->hash);
}

HmapNode *hmap_walk(const Hmap *m, const HmapNode *after)
{
    size_t i = 0;
    if (!m->segments[0])
        return NULL;
    if (after) {
        if (after->next)
            return after->next;
        i = bucket_of(m, after->hash) + 1;
    }
    for (; i < hmap_buckets(m); i++)
        if (*bucket_at(m, i))
            return *bucket_at(m, i);
    return NULL;
}

/* ---- scanning ------------------------------------------------------------------------------ */

static uint64_t reversed(uint64_t v)
{
    v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
    v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(v);
}

/* Bits that name a bucket are the low ones of a hash; in reverse they are the high ones. So a
 * bucket has all nodes of a stretch of places, and its split cuts the stretch in two. Places have
 * 63 bits: there is one beyond the last. */
enum { PLACE_BITS = 63 };

static uint64_t place_of(const Hmap *m, uint64_t hash)
{
    return reversed(mix64(hash ^ m->seed)) >> (64 - PLACE_BITS);
}

/* The bucket that has what is at @place; *ret_end: the first place beyond it. */
static HmapNode *bucket_of_place(const Hmap *m, uint64_t place, uint64_t *ret_end)
{
    uint64_t mixed = reversed(place << (64 - PLACE_BITS)), mask = m->mask;
    if ((mixed & mask) < m->split)
        mask = 2 * mask + 1;
    const unsigned below = PLACE_BITS - (unsigned)__builtin_popcountll(mask);
    *ret_end = ((place >> below) + 1) << below;
    return *bucket_at(m, mixed & mask);
}

static HmapNode *nearest(const Hmap *m, HmapNode *chain, uint64_t place, uint64_t *ret_place)
{
    HmapNode *found = NULL;
    for (HmapNode *n = chain; n; n = n->next) {
        const uint64_t at = place_of(m, n->hash);
        if (at < place || (found && at >= *ret_place))
            continue;
        found = n;
        *ret_place = at;
    }
    return found;
}

HmapNode *hmap_scan(const Hmap *m, uint64_t *place, unsigned *looks)
{
    while (m->segments[0] && *place >> PLACE_BITS == 0) {
        uint64_t end, at = 0;
        if (*looks == 0)
            return NULL;
        --*looks;
        HmapNode *n = nearest(m, bucket_of_place(m, *place, &end), *place, &at);
        *place = n ? at + 1 : end;
        if (n)
            return n;
    }
    *place = 0;
    return NULL;
}
