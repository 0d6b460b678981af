/* SPDX-License-Identifier: MIT */
/* The life of the process's shared state and of its regions; the queue of offered fills; what is
 * shown of it all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/conf/defaults.h"
#include "dodo/dodo.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"
#include "libdodo/sharing.h"

Client *client_new(const ClientConfig *config, const Env *env, const ClientHooks *hooks)
{
    Client *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->config = *config;
    if (c->config.regions_max > REGIONS_MAX)
        c->config.regions_max = REGIONS_MAX;
    c->env = *env;
    c->hooks = *hooks;
    if (c->config.stripe_bytes == 0)
        c->config.stripe_bytes = DEFAULT_CLIENT_STRIPE_BYTES;
    if (config->finder)
        c->manager.finder = *config->finder;
    else
        finder_fix(&c->manager.finder, &config->manager);
    c->config.finder = NULL; /* it was borrowed */
    list_init(&c->regions.all);
    list_init(&c->regions.idle);
    list_init(&c->copies.lone);
    list_init(&c->copies.uneven);
    list_init(&c->copies.all);
    list_init(&c->fills.all);
    list_init(&c->moves.under_way);
    list_init(&c->moves.wanting);
    numbers_init(&c->ids, 1);
    credit_init(&c->credit, config->credit_cap_bytes);
    return c;
}

/* The kernel counts its own overhead, about as much again as the data; and some room must stay for
 * what else comes in. */
void client_receive_granted(Client *c, size_t bytes)
{
    credit_init(&c->credit, bytes / 4);
}

Client *client_free(Client *c)
{
    if (!c)
        return NULL;
    LIST_FOREACH(node, &c->fills.all)
        free(CONTAINER_OF(node, FillItem, link));
    while (!list_empty(&c->regions.all)) { /* the first is no member: those come after theirs */
        Region *r = CONTAINER_OF(c->regions.all.next, Region, link);
        client_region_remove(c, r);
        client_region_free(c, r);
    }
    free(c->regions.of);
    free(c->regions.generations);
    free(c);
    return NULL;
}

void client_ends(Client *c, uint64_t patience_ns)
{
    client_lock(c);
    c->manager.patience_ns = patience_ns;
    client_unlock(c);
}

void client_stop(Client *c, uint64_t now_ns)
{
    c->stopped = true;
    client_lock(c);
    LIST_FOREACH(node, &c->regions.all)
        client_region_deactivate(c, CONTAINER_OF(node, Region, link), now_ns);
    client_unlock(c);
}

/* ---- the manager ----------------------------------------------------------------------------- */

Addr client_manager(Client *c)
{
    client_lock(c);
    const Addr peer = finder_peer(&c->manager.finder);
    client_unlock(c);
    return peer;
}

Addr client_manager_next(Client *c, const Addr *peer)
{
    client_lock(c);
    (void)finder_next(&c->manager.finder, peer);
    const Addr now = finder_peer(&c->manager.finder);
    client_unlock(c);
    return now;
}

Addr client_manager_silent(Client *c, const Addr *peer)
{
    client_lock(c);
    (void)finder_silent(&c->manager.finder, peer);
    const Addr now = finder_peer(&c->manager.finder);
    const bool resolve = c->hooks.resolve && finder_take(&c->manager.finder);
    client_unlock(c);
    if (resolve)
        c->hooks.resolve(c->hooks.ctx);
    return now;
}

bool client_manager_allowed(Client *c, const Session *s, uint64_t now_ns)
{
    client_lock(c);
    const bool allowed =
        s->peer_role != ROLE_CMD || fence_allows(&c->manager.fence, s->peer_epoch, now_ns);
    client_unlock(c);
    return allowed;
}

void client_manager_heard(Client *c, const Session *s, uint64_t now_ns)
{
    client_lock(c);
    if (s->peer_role == ROLE_CMD)
        fence_heard(&c->manager.fence, s->peer_epoch, now_ns);
    c->manager.silent = false;
    client_unlock(c);
}

void client_manager_gone(Client *c)
{
    client_lock(c);
    c->manager.silent = true;
    client_unlock(c);
}

void client_manager_scouted(Client *c, const Session *s, uint64_t now_ns)
{
    client_lock(c);
    const uint64_t number = s->peer_epoch;
    if (s->peer_role == ROLE_CMD && number != MANAGER_STANDBY && number > c->manager.fence.number) {
        fence_heard(&c->manager.fence, number, now_ns);
        finder_go(&c->manager.finder, &s->peer);
    }
    client_unlock(c);
}

unsigned client_managers(Client *c)
{
    client_lock(c);
    const unsigned count = c->manager.finder.count;
    client_unlock(c);
    return count;
}

void client_found(Client *c, const Addr *found, unsigned count)
{
    client_lock(c);
    (void)finder_found(&c->manager.finder, found, count);
    client_unlock(c);
}

/* ---- regions -------------------------------------------------------------------------------- */

static int table_grow(Client *c)
{
    unsigned size = c->regions.size ? c->regions.size * 2 : 64;
    if (size > c->config.regions_max)
        size = c->config.regions_max;
    if (size <= c->regions.size)
        return -EMFILE;
    Region **table = realloc(c->regions.of, size * sizeof *table);
    if (!table)
        return -ENOMEM;
    c->regions.of = table;
    uint16_t *generations = realloc(c->regions.generations, size * sizeof *generations);
    if (!generations)
        return -ENOMEM;
    c->regions.generations = generations;
    for (unsigned i = c->regions.size; i < size; i++) {
        c->regions.of[i] = NULL;
        c->regions.generations[i] = (uint16_t)(c->config.generation % RD_GENERATIONS);
    }
    c->regions.size = size;
    return 0;
}

int client_region_new(Client *c, Region **ret)
{
    unsigned index = c->regions.free_hint;
    while (index < c->regions.size && c->regions.of[index])
        index++;
    if (index >= c->regions.size) {
        int r = table_grow(c);
        if (r < 0)
            return r;
    }
    Region *region = calloc(1, sizeof *region);
    if (!region)
        return -ENOMEM;
    region->rd = (int)((unsigned)c->regions.generations[index] << RD_INDEX_BITS | index);
    numbers_init(&region->memory.numbers, 1);
    list_init(&region->writes);
    list_init(&region->reopen.link);
    list_init(&region->mirror.uneven);
    list_init(&region->mirror.heard);
    list_init(&region->mirror.moving);
    list_push_back(&c->regions.all, &region->link);
    c->regions.of[index] = region;
    c->regions.free_hint = index + 1;
    c->regions.count++;
    *ret = region;
    return 0;
}

void client_region_given(Client *c, Region *r, const FileGiven *given, uint64_t len,
                         uint64_t offset, unsigned flags)
{
    r->len = len;
    r->file_offset = offset;
    r->flags = flags;
    r->file = given->file;
    r->cached = given->cached;
    r->key = given->key;
    r->inode = given->inode;
    r->stamp = given->stamp;
    r->retainable = given->retainable;
    r->counted = !r->cached;
    c->account.figures.regions += r->counted;
    c->account.changed = true;
}

void client_region_remove(Client *c, Region *r)
{
    unsigned index = (unsigned)r->rd & (REGIONS_MAX - 1);
    for (unsigned i = 0; i < region_units(r); i++)
        if (region_unit(r, i) != r)
            client_region_remove(c, region_unit(r, i));
    client_region_unclaim(c, r);
    client_region_unask(c, r);
    list_remove(&r->reopen.link);
    list_remove(&r->mirror.uneven);
    list_remove(&r->mirror.heard);
    list_remove(&r->mirror.moving);
    c->regions.of[index] = NULL;
    c->regions.generations[index] =
        (uint16_t)((c->regions.generations[index] + 1) % RD_GENERATIONS);
    if (index < c->regions.free_hint)
        c->regions.free_hint = index;
    list_remove(&r->link);
    region_emptied(c, r);
    c->account.figures.regions -= r->counted;
    c->regions.count--;
}

void client_region_free(Client *c, Region *r)
{
    for (unsigned i = 0; i < region_units(r); i++)
        if (region_unit(r, i) != r)
            client_region_free(c, region_unit(r, i));
    if (r->file && !r->stripe.parent)
        c->hooks.file_release(c->hooks.ctx, r->file);
    free(r->stripe.of);
    free(r->memory.blocks.filled);
    checks_end(r);
    if (r->sharing.share)
        c->hooks.share_end(c->hooks.ctx, r->sharing.share);
    free(r);
}

/* ---- fills ---------------------------------------------------------------------------------- */

bool fill_item_init(const Client *c, const Region *r, FillItem *item, uint64_t start, uint64_t end)
{
    const Region *twin = mirror_other(r);
    *item = (FillItem){.to = fill_target(r),
                       .then.rd = -1,
                       .region_len = r->len,
                       .offset = start,
                       .len = end - start,
                       .cap = sizeof *item + (end - start)};
    if (twin)
        item->then = fill_target(twin);
    list_init(&item->link);
    return c->fills.bytes + item->cap <= c->config.fill_queue_bytes;
}

FillItem *fill_item_new(const Client *c, const Region *r, uint64_t start, uint64_t end)
{
    FillItem *item = malloc(sizeof *item + (end - start));
    if (item && !fill_item_init(c, r, item, start, end)) {
        free(item);
        return NULL;
    }
    return item;
}

FillTarget fill_target(const Region *r)
{
    return (FillTarget){.rd = r->rd,
                        .host = r->memory.host,
                        .address = r->memory.address,
                        .counter = numbers_last(&r->memory.numbers), /* before the bytes are read */
                        .seed = r->memory.blocks.seed};
}

bool fill_item_next(FillItem *item)
{
    item->to = item->then;
    item->then.rd = -1;
    return item->to.rd >= 0;
}

/* What the item's bytes say of the blocks of one copy; @sums are of these, if the seed is the one
 * that they were made with. */
static void fill_known(Client *c, const FillItem *item, const FillTarget *of, BlockSums *sums,
                       const FillTarget *sums_of)
{
    if (of->rd < 0)
        return;
    if (!sums_of || sums_of->seed != of->seed)
        block_sums(c, item->region_len, of->seed, item->offset, item->data, item->len, sums);
    client_lock(c);
    Region *r = client_region(c, of->rd);
    if (r && r->active && region_address_equal(&r->memory.address, &of->address)) {
        checks_want(c, r);
        checks_read(r, sums, of->counter);
    }
    client_unlock(c);
}

bool client_fill_put(Client *c, FillItem *item)
{
    BlockSums sums;
    fill_known(c, item, &item->to, &sums, NULL);
    fill_known(c, item, &item->then, &sums, &item->to);
    client_lock(c);
    const Region *r = client_region(c, item->to.rd);
    bool taken = c->fills.bytes + item->cap <= c->config.fill_queue_bytes &&
                 !(r && share_has_changed(r)); /* others have filled what the file held before */
    if (taken) {
        list_push_back(&c->fills.all, &item->link);
        c->fills.bytes += item->cap;
        c->fills.put++;
        c->stats.fills_offered++;
    } else {
        c->stats.fills_dropped++;
    }
    client_unlock(c);
    if (taken)
        c->hooks.wake_background(c->hooks.ctx);
    else
        free(item);
    return taken;
}

bool client_fill_gone(Client *c, const FillItem *item)
{
    c->fills.bytes -= item->cap;
    c->fills.over++;
    return c->fills.waiters > 0;
}

void client_fill_read(Client *c, FillItem *item, size_t count)
{
    if (count < item->len) {
        if (RULE(END_OF_FILE))
            item->len = count / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
        else
            memset(item->data + count, 0, item->len - count);
    }
    if (item->len == 0) {
        free(item);
        return;
    }
    (void)client_fill_put(c, item);
}

/* ---- statistics ----------------------------------------------------------------------------- */

void client_stats(Client *c, ClientStats *ret)
{
    client_lock(c);
    *ret = c->stats;
    ret->regions = c->regions.count;
    ret->active = c->regions.claimed;
    ret->requests = numbers_last(&c->ids);
    client_unlock(c);
}

/* What the program read of remote memory would have cost as much a byte as what it read of files
 * did: of those reads alone that is known. */
bool client_figures(Client *c, ProgramFigures *ret)
{
    Account *a = &c->account;
    bool changed = a->changed;
    if (!changed)
        return false;
    a->changed = false;
    *ret = a->figures;
    ret->held_bytes = a->held_blocks * WIRE_BLOCK_SIZE;
    if (a->file_bytes == 0)
        return true;
    double a_byte_ns = (double)a->file_ns / (double)a->file_bytes;
    double saved = a_byte_ns * (double)a->figures.remote_bytes - (double)a->remote_ns;
    ret->valued_reads = a->figures.remote_reads;
    ret->remote_saved_ns = saved > 0 && saved < (double)INT64_MAX ? (uint64_t)saved : 0;
    return true;
}

static uint64_t filled_bytes(const Region *r)
{
    return min_u64(r->memory.blocks.filled_count * WIRE_BLOCK_SIZE, r->len);
}

static void info_add(ClientRegionInfo *i, const Region *r)
{
    i->hits += r->counts.hits;
    i->misses += r->counts.misses;
    i->written += r->counts.written_bytes;
    if (r->active && !i->active) {
        i->host = r->memory.host;
        i->named = client_region_named(r);
        i->address = r->memory.address;
        i->active = true;
    }
    i->reused |= r->reused;
    i->guest |= r->sharing.guest;
    i->waits |= r->sharing.waits;
}

/* What is filled counts once, however many copies have it. */
static void info_copies(ClientRegionInfo *i, const Region *r)
{
    i->copies = 2;
    for (unsigned u = 0; u < region_units(r); u++) {
        Region *first = region_unit(r, u);
        if (first->mirror.second)
            continue;
        unsigned copies = first->active + (mirror_other(first) ? 1 : 0);
        i->copies = copies < i->copies ? copies : i->copies;
        i->filled_bytes += filled_bytes(mirror_fuller(first));
        i->mirrored_bytes += min_u64(mirror_common(first) * WIRE_BLOCK_SIZE, first->len);
    }
}

int client_region_info(Client *c, int rd, ClientRegionInfo *ret)
{
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    if (r) {
        *ret = (ClientRegionInfo){.len = r->len, .flags = r->flags, .stripes = region_stripes(r)};
        for (unsigned i = 0; i < region_units(r); i++)
            info_add(ret, region_unit(r, i));
        info_copies(ret, r);
    }
    client_unlock(c);
    return r ? 0 : -EINVAL;
}

/* From bit @at of @map on. */
static void held_add(const Region *r, uint64_t at, uint64_t *map)
{
    uint64_t blocks = blocks_in(r->len);
    for (uint64_t b = 0; r->active && r->reused && b < blocks; b++)
        if (!r->memory.blocks.checks || r->memory.blocks.checks[b].sum != 0)
            map[(at + b) / 64] |= (uint64_t)1 << (at + b) % 64;
}

int client_region_held(Client *c, int rd, uint64_t *map)
{
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    for (unsigned i = 0; r && i < region_units(r); i++) {
        const Region *unit = region_unit(r, i);
        held_add(unit, block_of(unit->file_offset - r->file_offset), map);
    }
    client_unlock(c);
    return r ? 0 : -EINVAL;
}

int client_stripe_info(Client *c, int rd, unsigned member, ClientRegionInfo *ret)
{
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    r = r && member < region_units(r) ? region_unit(r, member) : NULL;
    if (r) {
        *ret =
            (ClientRegionInfo){.len = r->len, .flags = r->flags, .filled_bytes = filled_bytes(r)};
        info_add(ret, r);
    }
    client_unlock(c);
    return r ? 0 : -EINVAL;
}

uint64_t client_copy_holds(Client *c, int rd, unsigned member, uint64_t from, uint64_t to)
{
    uint64_t number = 0;
    client_lock(c);
    const Region *top = client_user_region(c, rd);
    if (top && member < region_units(top)) {
        const Region *r = region_unit(top, member);
        uint64_t base = r->file_offset - top->file_offset;
        uint64_t low = sub_u64(from, base), high = min_u64(sub_u64(to, base), r->len);
        bool holds = low < high && !region_write_overlaps(r, block_of(low), block_of(high - 1)) &&
                     mirror_holds(r, block_of(low), block_of(high - 1));
        number = low >= high ? UINT64_MAX : holds ? region_claim(r) : 0;
    }
    client_unlock(c);
    return number;
}

bool client_copies_even(Client *c, int rd)
{
    bool even = true;
    client_lock(c);
    const Region *top = client_user_region(c, rd);
    for (unsigned i = 0; top && i < top->stripe.count; i++) {
        const Region *a = top->stripe.of[i], *b = mirror_other(a);
        even &= a->active && b;
        for (uint64_t block = 0; even && block * WIRE_BLOCK_SIZE < a->len; block++)
            even = region_has_filled(a, block) == region_has_filled(b, block);
    }
    client_unlock(c);
    return top && even;
}

static bool units_good(const Region *r)
{
    unsigned active = 0;
    for (unsigned i = 0; i < region_units(r); i++) {
        const Region *of = region_unit(r, i), *twin = of->mirror.twin;
        if (of != r && (of->stripe.parent != r || of->refs))
            return false;
        if (twin && !(r->flags & DODO_MIRROR) &&
            (of->mirror.spare ? of->active || twin->mirror.spare : 0))
            return false;
        if (twin && (twin->mirror.twin != of || twin->mirror.second == of->mirror.second ||
                     !list_empty(&(of->mirror.second ? of : twin)->writes)))
            return false;
        active += of != r && of->active;
    }
    return active == r->stripe.active;
}

bool client_check(Client *c)
{
    uint64_t digest = 0;
    unsigned count = 0, claimed = 0;
    size_t fill_bytes = 0;
    bool good = true;
    client_lock(c);
    LIST_FOREACH(node, &c->regions.all) {
        Region *r = CONTAINER_OF(node, Region, link);
        count++;
        good &= client_region(c, r->rd) == r;
        good &= !r->active || r->claimed != r->sharing.guest;
        good &= numbers_have(&r->memory.numbers, 0);
        good &= r->stripe.parent || units_good(r);
        good &= !r->stripe.of || !r->active;
        if (r->claimed) {
            claimed++;
            digest ^= region_claim(r);
        }
    }
    LIST_FOREACH(node, &c->fills.all)
        fill_bytes += CONTAINER_OF(node, FillItem, link)->cap;
    good &=
        count == c->regions.count && claimed == c->regions.claimed && digest == c->regions.digest;
    good &= fill_bytes <= c->fills.bytes; /* one may be on its way */
    client_unlock(c);
    return good;
}
