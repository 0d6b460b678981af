/* SPDX-License-Identifier: MIT */
/* The directory's entries, sums and listings. */
#include "imd/directory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rules.h"

int directory_init(Directory *d, const Env *env, uint64_t epoch, uint64_t pool_bytes,
                   uint64_t extent_bytes, const uint16_t *ports, unsigned threads,
                   unsigned regions_max)
{
    assert(threads >= 1 && threads <= JOIN_PORTS_MAX);
    *d = (Directory){.epoch = epoch,
                     .next_region = 1,
                     .extent_bytes = extent_bytes,
                     .threads = threads,
                     .regions_max = regions_max};
    memcpy(d->ports, ports, threads * sizeof *ports);
    list_init(&d->entries);
    list_init(&d->released);
    d->pool = pool_new(pool_bytes);
    directory_limit(d, UINT64_MAX);
    if (!d->pool || hmap_init(&d->by_region, env_random_u64(env)) < 0) {
        d->pool = pool_free(d->pool);
        return -ENOMEM;
    }
    return 0;
}

void directory_deinit(Directory *d)
{
    LIST_FOREACH(node, &d->entries)
        directory_give(d, CONTAINER_OF(node, Entry, in_order));
    hmap_deinit(&d->by_region);
    d->pool = pool_free(d->pool);
}

Entry *directory_find(const Directory *d, uint64_t region)
{
    HmapNode *node = hmap_first(&d->by_region, region);
    while (node && CONTAINER_OF(node, Entry, node)->address.region != region)
        node = hmap_next(&d->by_region, node);
    return node ? CONTAINER_OF(node, Entry, node) : NULL;
}

static uint64_t aligned(uint64_t len)
{
    return (len + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

uint64_t directory_entry_bytes(const Entry *e)
{
    return aligned(e->len);
}

uint64_t directory_used_bytes(const Directory *d)
{
    return pool_bytes(d->pool) - pool_free_bytes(d->pool);
}

uint64_t directory_filled_bytes(const Directory *d)
{
    return atomic_load_explicit(&d->space.filled_bytes, memory_order_relaxed);
}

void directory_limit(Directory *d, uint64_t bytes)
{
    d->limit_bytes = bytes;
    atomic_store_explicit(&d->space.limit_bytes, bytes, memory_order_relaxed);
}

uint64_t directory_excess(const Directory *d)
{
    uint64_t stays = directory_filled_bytes(d) - d->going_bytes;
    return stays > d->limit_bytes ? stays - d->limit_bytes : 0;
}

void directory_going(Directory *d, Entry *e, uint64_t bytes)
{
    d->going_bytes -= e->going_bytes;
    e->going_bytes = bytes;
    d->going_bytes += bytes;
}

/* What the limit leaves, were @used in use. */
static uint64_t room_beside(const Directory *d, uint64_t used)
{
    uint64_t room = d->limit_bytes > used ? d->limit_bytes - used : 0;
    uint64_t most = pool_bytes(d->pool) - used;
    return room < most ? room : most;
}

static uint64_t *state_bytes(Directory *d, enum EntryState state)
{
    if (state == ENTRY_RELEASED)
        return &d->released_bytes;
    return state == ENTRY_DROPPING ? &d->dropping_bytes : NULL;
}

/* Mostly it is the last one; one that has shrunk comes back to its place. */
static void released_insert(Directory *d, Entry *e)
{
    ListNode *after = d->released.prev;
    while (after != &d->released &&
           CONTAINER_OF(after, Entry, in_release)->record.released_ns > e->record.released_ns)
        after = after->prev;
    list_insert_before(after->next, &e->in_release);
}

void directory_set_state(Directory *d, Entry *e, enum EntryState state)
{
    uint64_t *from = state_bytes(d, e->state), *to = state_bytes(d, state);
    if (from)
        *from -= directory_entry_bytes(e);
    if (to)
        *to += directory_entry_bytes(e);
    list_remove(&e->in_release);
    if (state == ENTRY_RELEASED)
        released_insert(d, e);
    e->state = state;
}

/* The thread with the least of the pool; the first of equals. */
static unsigned thread_choose(const Directory *d)
{
    unsigned best = 0;
    for (unsigned i = 1; i < d->threads; i++)
        if (d->thread_bytes[i] < d->thread_bytes[best])
            best = i;
    return best;
}

static Entry *entry_new(Directory *d, const OpAlloc *request, uint64_t pool_offset)
{
    Entry *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->extents = extents_new(&d->space, pool_offset, aligned(request->len), d->extent_bytes);
    if (!e->extents) {
        free(e);
        return NULL;
    }
    e->state = ENTRY_ADDING;
    e->thread = thread_choose(d);
    e->pool_offset = pool_offset;
    e->client = request->client;
    e->key = request->key;
    e->offset = request->offset;
    e->len = request->len;
    e->flags = request->flags;
    e->address = (RegionAddress){.epoch = d->epoch, .region = d->next_region++, .opening = 1};
    list_init(&e->in_release);
    list_init(&e->in_commanded);
    list_init(&e->jobs);
    list_push_back(&d->entries, &e->in_order);
    hmap_insert(&d->by_region, &e->node, e->address.region);
    d->thread_bytes[e->thread] += directory_entry_bytes(e);
    return e;
}

int directory_take(Directory *d, const Env *env, const OpAlloc *request, Entry **ret)
{
    uint64_t pool_offset;
    if (d->by_region.count >= d->regions_max || request->len > pool_bytes(d->pool) ||
        aligned(request->len) > room_beside(d, directory_used_bytes(d)))
        return DIRECTORY_E_FULL;
    int r = pool_take(d->pool, request->len, &pool_offset);
    if (r != 0)
        return r < 0 ? r : DIRECTORY_E_FULL;
    Entry *e = entry_new(d, request, pool_offset);
    if (!e) {
        pool_give(d->pool, pool_offset);
        return -ENOMEM;
    }
    env->random(env->ctx, &e->address.capability, sizeof(Id128));
    *ret = e;
    return 0;
}

void directory_give(Directory *d, Entry *e)
{
    directory_set_state(d, e, ENTRY_DROPPING);
    d->dropping_bytes -= directory_entry_bytes(e);
    extents_end(e->extents);
    directory_going(d, e, 0);
    d->thread_bytes[e->thread] -= directory_entry_bytes(e);
    pool_give(d->pool, e->pool_offset);
    hmap_remove(&d->by_region, &e->node);
    list_remove(&e->in_order);
    list_remove(&e->in_commanded);
    e->extents = extents_free(e->extents);
    free(e);
}

bool directory_could_fit(const Directory *d, uint64_t len)
{
    uint64_t stays = directory_used_bytes(d) - d->released_bytes - d->dropping_bytes;
    return len <= room_beside(d, stays) && d->regions_max > 0;
}

/* ---- what the manager hears ----------------------------------------------------------------- */

void directory_hint(const Directory *d, ImdHint *ret)
{
    uint64_t used = directory_used_bytes(d), room = room_beside(d, used);
    uint64_t largest = pool_largest_free(d->pool);
    *ret = (ImdHint){
        .epoch = d->epoch,
        .free_bytes = room,
        .largest_free_bytes = largest < room ? largest : room,
        /* What is on its way back is waited for by who asks for it. */
        .evictable_bytes = room_beside(d, used - d->released_bytes - d->dropping_bytes),
        .regions = (uint32_t)d->by_region.count,
    };
    /* No room for another entry is no room. */
    if (d->by_region.count >= d->regions_max)
        ret->largest_free_bytes = 0;
}

bool directory_listing(const Directory *d, const Entry *e, RegionListing *ret)
{
    if (e->state == ENTRY_ADDING || e->state == ENTRY_DROPPING)
        return false;
    *ret = (RegionListing){.address = e->address,
                           .client = e->client,
                           .key = e->key,
                           .offset = e->offset,
                           .len = e->len,
                           .flags = e->flags,
                           .port = d->ports[e->thread]};
    if (e->record.valid) {
        ret->address.opening = e->record.opening;
        ret->client = (Id128){0};
        ret->flags |= REGION_RELEASED;
        ret->stamp = e->record.stamp;
    }
    return true;
}

uint64_t directory_digest(const Directory *d)
{
    uint64_t digest = 0;
    RegionListing l;
    LIST_FOREACH(node, &d->entries) {
        if (!directory_listing(d, CONTAINER_OF(node, Entry, in_order), &l))
            continue;
        RegionName name = {l.address.epoch, l.address.region, l.address.opening};
        digest ^= region_digest(&name);
    }
    return digest;
}

int directory_snapshot(const Directory *d, RegionListing **ret, size_t *ret_count)
{
    size_t count = 0;
    RegionListing *all = NULL;
    if (d->by_region.count > 0) {
        all = calloc(d->by_region.count, sizeof *all);
        if (!all)
            return -ENOMEM;
    }
    LIST_FOREACH(node, &d->entries)
        count += directory_listing(d, CONTAINER_OF(node, Entry, in_order), &all[count]);
    *ret = all;
    *ret_count = count;
    return 0;
}

/* ---- invariants ----------------------------------------------------------------------------- */

static bool is_released(const Entry *e)
{
    return e->state == ENTRY_RELEASED || (e->state == ENTRY_SHRINKING && e->rest == ENTRY_RELEASED);
}

static bool entry_check(const Directory *d, const Entry *e)
{
    bool moving = e->state != ENTRY_OPEN && e->state != ENTRY_RELEASED;
    if (moving != (e->command != 0) || moving == list_empty(&e->in_commanded))
        return false;
    if ((e->state == ENTRY_RELEASED) == list_empty(&e->in_release))
        return false;
    if (RULE(WITHDRAW) && e->state != ENTRY_DROPPING && e->record.valid != is_released(e))
        return false;
    if (e->purging && e->state != ENTRY_SHRINKING &&
        (e->state != ENTRY_DROPPING || e->job || !list_empty(&e->jobs)))
        return false;
    if (e->going_bytes > 0 && e->state != ENTRY_SHRINKING && e->state != ENTRY_DROPPING)
        return false;
    return directory_find(d, e->address.region) == e && e->thread < d->threads &&
           (moving || (list_empty(&e->jobs) && !e->job));
}

/* No two entries share a byte of the pool: the pool counts them all, and their sizes add up. */
bool directory_check(const Directory *d)
{
    uint64_t bytes = 0, released = 0, dropping = 0, by_thread[JOIN_PORTS_MAX] = {0};
    uint64_t filled = 0, going = 0;
    size_t count = 0;
    LIST_FOREACH(node, &d->entries) {
        const Entry *e = CONTAINER_OF(node, Entry, in_order);
        if (!entry_check(d, e))
            return false;
        count++;
        filled += extents_filled_bytes(e->extents);
        going += e->going_bytes;
        bytes += directory_entry_bytes(e);
        by_thread[e->thread] += directory_entry_bytes(e);
        released += e->state == ENTRY_RELEASED ? directory_entry_bytes(e) : 0;
        dropping += e->state == ENTRY_DROPPING ? directory_entry_bytes(e) : 0;
    }
    return pool_check(d->pool) && count == d->by_region.count && count == pool_ranges(d->pool) &&
           bytes == pool_bytes(d->pool) - pool_free_bytes(d->pool) &&
           released == d->released_bytes && dropping == d->dropping_bytes &&
           filled == directory_filled_bytes(d) && going == d->going_bytes &&
           memcmp(by_thread, d->thread_bytes, sizeof by_thread) == 0;
}
