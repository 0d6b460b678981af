/* SPDX-License-Identifier: MIT */
/* By how often pieces are used, or by how lately: whichever finds more. The first is W-TinyLFU
 * (tiny_lfu.h) with a small window, the second the same with a window of the whole cache.
 *
 * Which is better for a program is not guessed from the course of its hits: both are tried, each in
 * a cache in miniature (Waldspurger, Saemundsson, Ahmad, Park: "Cache Modeling and Optimization
 * using Miniature Simulations", USENIX ATC 2017). A part of all pieces, chosen by a hash, is
 * followed in two directories as much smaller than the cache as that part is. They hold no data.
 * The cache does as the one that finds more. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/id.h"
#include "base/list.h"
#include "libmanage/policies/policies.h"
#include "libmanage/policies/tiny_lfu.h"

enum {
    PIECE_BYTES_MIN = 8192, /* a piece is no smaller, or the sketch is coarser */
    MINIATURE = 512,        /* pieces at most, of a cache in miniature */
    SHOWN = 16 * MINIATURE, /* pieces of the cache at most, when they are made: for it takes time */
    MEMORY = 20,            /* uses a piece of it: later ones count more */
    LEAD = 4,               /* hits that one must be ahead, to be followed */
};
enum { BY_FREQUENCY, BY_RECENCY, WAYS };
static const double windows[WAYS] = {0.01, 1}; /* shares of the cache; the first is the authors' */

typedef struct Shadow {
    struct manage_entry entry;
    HmapNode node;
} Shadow;

typedef struct Miniature {
    TinyLfu *lfu;
    Hmap map;
    Shadow *shadows;
    uint32_t room, used;
    double hits; /* of late */
} Miniature;

typedef struct Adaptive {
    TinyLfu *lfu;
    unsigned way;
    bool tried;        /* to make the miniatures */
    uint64_t followed; /* hashes up to here are */
    Miniature miniatures[WAYS];
} Adaptive;

static void *adaptive_create(uint64_t limit_bytes)
{
    Adaptive *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->lfu = tiny_lfu_new(limit_bytes, limit_bytes / PIECE_BYTES_MIN);
    if (!a->lfu) {
        free(a);
        return NULL;
    }
    tiny_lfu_set_window(a->lfu, windows[a->way]);
    return a;
}

/* ---- a cache in miniature -------------------------------------------------------------------- */

static bool miniature_init(Miniature *m, uint32_t room, double window)
{
    bool mapped = hmap_init(&m->map, 0) == 0;
    m->lfu = tiny_lfu_new(room, room);
    m->shadows = calloc(room, sizeof *m->shadows);
    m->room = room;
    if (m->lfu)
        tiny_lfu_set_window(m->lfu, window);
    return mapped && m->lfu && m->shadows;
}

static void miniature_deinit(Miniature *m)
{
    if (m->map.mask)
        hmap_deinit(&m->map);
    tiny_lfu_free(m->lfu);
    free(m->shadows);
    *m = (Miniature){0};
}

static Shadow *miniature_find(const Miniature *m, const struct manage_entry *e, uint64_t hash)
{
    for (HmapNode *n = hmap_first(&m->map, hash); n; n = hmap_next(&m->map, n)) {
        Shadow *s = CONTAINER_OF(n, Shadow, node);
        if (s->entry.region == e->region && s->entry.offset == e->offset)
            return s;
    }
    return NULL;
}

/* For one that comes. */
static Shadow *miniature_room(Miniature *m)
{
    if (m->used < m->room)
        return &m->shadows[m->used++];
    Shadow *s = CONTAINER_OF(tiny_lfu_victim(m->lfu), Shadow, entry);
    tiny_lfu_removed(m->lfu, &s->entry);
    manage_entry_unlink(&s->entry);
    (void)hmap_remove(&m->map, &s->node);
    return s;
}

/* Was it there? */
static bool miniature_use(Miniature *m, const struct manage_entry *e, uint64_t hash)
{
    Shadow *s = miniature_find(m, e, hash);
    bool hit = s;
    if (!s) {
        s = miniature_room(m);
        s->entry = (struct manage_entry){.region = e->region, .offset = e->offset, .length = 1};
        s->entry.prev = s->entry.next = &s->entry;
        hmap_insert(&m->map, &s->node, hash);
    }
    tiny_lfu_use(m->lfu, &s->entry);
    return hit;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* A use of a piece that is followed. */
static void follow(Adaptive *a, const struct manage_entry *e, uint64_t hash)
{
    for (unsigned i = 0; i < WAYS; i++) {
        Miniature *m = &a->miniatures[i];
        m->hits -= m->hits / (MEMORY * (double)m->room);
        m->hits += miniature_use(m, e, hash);
    }
    unsigned other = WAYS - 1 - a->way;
    if (a->miniatures[other].hits <= a->miniatures[a->way].hits + LEAD)
        return;
    a->way = other;
    tiny_lfu_set_window(a->lfu, windows[other]);
}

static void follow_if_chosen(Adaptive *a, const struct manage_entry *e)
{
    uint64_t hash = mix64(e->region ^ mix64(e->offset));
    if (a->miniatures[0].room && hash <= a->followed)
        follow(a, e, hash);
}

static void miniatures_free(Adaptive *a)
{
    for (unsigned i = 0; i < WAYS; i++)
        miniature_deinit(&a->miniatures[i]);
}

/* When the cache is full for the first time: then it is known how many pieces it has room for. They
 * begin with what came last. Without memory for them it goes on as it began. */
static void miniatures_make(Adaptive *a, const struct manage_directory *dir)
{
    bool good = true;
    uint64_t room = dir->entries < MINIATURE ? dir->entries : MINIATURE;
    a->tried = true;
    a->followed = room < dir->entries ? UINT64_MAX / dir->entries * room : UINT64_MAX;
    for (unsigned i = 0; i < WAYS; i++)
        good = miniature_init(&a->miniatures[i], (uint32_t)room, windows[i]) && good;
    if (!good)
        miniatures_free(a);
    const struct manage_entry *e = dir->newest;
    for (unsigned i = 1; i < SHOWN && e->older; i++)
        e = e->older;
    for (; e; e = e->newer)
        follow_if_chosen(a, e);
}

/* ---- the policy ------------------------------------------------------------------------------ */

static void adaptive_use(void *self, struct manage_entry *e)
{
    Adaptive *a = self;
    tiny_lfu_use(a->lfu, e);
    follow_if_chosen(a, e);
}

static struct manage_entry *adaptive_reclaim(void *self, const struct manage_directory *dir)
{
    Adaptive *a = self;
    if (!a->tried && dir->entries)
        miniatures_make(a, dir);
    return tiny_lfu_victim(a->lfu);
}

static void adaptive_removed(void *self, struct manage_entry *e)
{
    tiny_lfu_removed(((Adaptive *)self)->lfu, e);
}

static void adaptive_destroy(void *self)
{
    Adaptive *a = self;
    miniatures_free(a);
    tiny_lfu_free(a->lfu);
    free(a);
}

const struct manage_policy policy_adaptive = {
    .size = sizeof(struct manage_policy),
    .name = "adaptive",
    .create = adaptive_create,
    .destroy = adaptive_destroy,
    .read = adaptive_use,
    .write = adaptive_use,
    .reclaim = adaptive_reclaim,
    .removed = adaptive_removed,
    .flags = MANAGE_POLICY_COARSE,
};
