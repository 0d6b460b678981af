/* SPDX-License-Identifier: MIT */
/* The maps that the processes of one host have in common (NEED_SHARE): they outlive a process that
 * is killed, and its locks do not. */
#include "tests/sim/world.h"

#include "libdodo/shared_map.h"

typedef struct SharedMap {
    ListNode link;
    unsigned host;
    const Process *opener; /* who holds the lock; NULL: nobody */
    unsigned joined;
    ShareMap *map;
} SharedMap;

typedef struct SimShare {
    Share share;
    ListNode link;
    SharedMap *shared;
    const Process *process;
    bool opener;
} SimShare;

static SharedMap *map_find(World *w, unsigned host, const ShareName *name)
{
    LIST_FOREACH(node, &w->sharing.maps) {
        SharedMap *m = CONTAINER_OF(node, SharedMap, link);
        if (m->host == host && share_map_good(m->map, name))
            return m;
    }
    SharedMap *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    m->map = calloc(1, share_map_bytes(name->name.len));
    if (!m->map)
        abort();
    share_map_begin(m->map, name);
    m->host = host;
    list_init(&m->link);
    list_push_back(&w->sharing.maps, &m->link);
    return m;
}

static bool own(SimShare *s)
{
    if (!s->opener && !s->shared->opener) {
        s->opener = true;
        s->shared->opener = s->process;
    }
    return s->opener;
}

static bool map_is_new(const SharedMap *m, uint64_t blocks)
{
    bool is_new = m->map->seed == 0;
    for (uint64_t b = 0; b < blocks; b++)
        is_new &= m->map->checks[b].sum == 0;
    return is_new;
}

void shares_join(Process *p, const Call *call)
{
    World *w = p->world;
    ShareAsk *ask = (ShareAsk *)(void *)call->file_buf;
    if (!ask->share && sim_rng_below(&w->rngs.lies, 20) == 0)
        return; /* no directory for it */
    if (!ask->share) {
        SimShare *s = calloc(1, sizeof *s);
        if (!s)
            abort();
        s->shared = map_find(w, p->host, &ask->name);
        s->process = p;
        s->share.map = s->shared->map;
        list_init(&s->link);
        list_push_back(&w->sharing.all, &s->link);
        atomic_store(&s->share.map->present, ++s->shared->joined);
        ask->share = &s->share;
    }
    SimShare *s = CONTAINER_OF(ask->share, SimShare, share);
    ask->opener = own(s);
    story(w, "client%u joins those who read [%llu, +%llu)%s", p->index,
          (unsigned long long)ask->name.name.offset, (unsigned long long)ask->name.name.len,
          ask->opener ? " as their opener" : "");
    ask->made = ask->opener && map_is_new(s->shared, (ask->name.name.len + 4095) / 4096);
}

static void share_drop(SimShare *s)
{
    SharedMap *m = s->shared;
    if (s->opener)
        m->opener = NULL;
    m->joined--;
    list_remove(&s->link);
    free(s);
    if (m->joined > 0)
        return;
    list_remove(&m->link);
    free(m->map);
    free(m);
}

void shares_end(Share *share)
{
    SimShare *s = CONTAINER_OF(share, SimShare, share);
    atomic_fetch_sub(&share->map->present, 1);
    share_drop(s);
}

/* All of one process that is killed; NULL: of all. */
void shares_kill(World *w, const Process *p)
{
    LIST_FOREACH(node, &w->sharing.all) {
        SimShare *s = CONTAINER_OF(node, SimShare, link);
        if (!p || s->process == p)
            share_drop(s);
    }
}
