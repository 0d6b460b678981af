/* SPDX-License-Identifier: MIT */
/* The cache as a whole: its regions, its policy, its statistics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

void cache_config_init(CacheConfig *config, uint64_t limit_bytes)
{
    *config = (CacheConfig){
        .limit_bytes = limit_bytes,
        .piece_bytes = 8192,
        .low_water_bytes = min_u64(limit_bytes / 16, 64ull << 20),
        .readahead_bytes = min_u64(limit_bytes / 8, 8ull << 20),
        .extent_bytes = 1 << 20,
        .spend_percent = 3,
        .refraction_ns = 5 * NS_PER_S,
        .write_retry_ns = 1 * NS_PER_S,
        .cost_fresh_ns = 10 * NS_PER_S,
        .bypass_factor = 16,
        .known_reads = 64,
        .regions_max = 65536,
        .lanes = LANES,
        .remote = true,
    };
}

static bool config_fits(const CacheConfig *cfg)
{
    return cfg->piece_bytes >= CACHE_BLOCK &&
           cfg->piece_bytes <= CACHE_BLOCK * CACHE_PIECE_BLOCKS_MAX &&
           (cfg->piece_bytes & (cfg->piece_bytes - 1)) == 0;
}

Cache *cache_new(const CacheConfig *config, const CacheHooks *hooks)
{
    size_t size = (sizeof(Cache) + LANE_ALIGN - 1) / LANE_ALIGN * LANE_ALIGN;
    Cache *c = config_fits(config) ? aligned_alloc(LANE_ALIGN, size) : NULL;
    if (!c)
        return NULL;
    memset(c, 0, size);
    c->cfg = *config;
    c->hits.open_len = config->regions_max;
    c->hits.piece_shift = (unsigned)__builtin_ctz(config->piece_bytes);
    c->hooks = *hooks;
    list_init(&c->regions.all);
    list_init(&c->ahead.pieces);
    list_init(&c->hits.claimed);
    list_init(&c->keep.due);
    list_init(&c->ways.all);
    list_init(&c->traces.all);
    c->policies.dir.limit_bytes = config->limit_bytes;
    fill_init(&c->fill, config->extent_bytes, config->spend_percent);
    c->background_idle = true;
    c->policies.active = policy_builtin(POLICY_DEFAULT);
    c->policies.self = c->policies.active->create(config->limit_bytes);
    generation_reset(c);
    c->hits.open = calloc(config->regions_max, sizeof *c->hits.open);
    if (!c->policies.self || !c->hits.open || hmap_init(&c->regions.places, 0) < 0) {
        free(c->hits.open);
        if (c->policies.self)
            c->policies.active->destroy(c->policies.self);
        free(c);
        return NULL;
    }
    bool mapped = buffers_init(&c->local.buffers, c->cfg.pages, c->cfg.limit_bytes,
                               c->cfg.piece_bytes, sizeof(Piece));
    c->collapse.at = mapped ? collapse_after(c) : UINT64_MAX;
    return c;
}

Cache *cache_free(Cache *c)
{
    if (!c)
        return NULL;
    LIST_FOREACH(n, &c->regions.all) {
        Region *r = CONTAINER_OF(n, Region, link);
        void *file = r->file;
        region_free(c, r);
        if (c->hooks.file_release)
            c->hooks.file_release(c->hooks.ctx, file);
    }
    if (c->policies.active->destroy)
        c->policies.active->destroy(c->policies.self);
    lanes_free(c);
    ways_free(c);
    traces_free(c);
    buffers_deinit(&c->local.buffers);
    free(c->hits.open);
    free(c->regions.table);
    hmap_deinit(&c->regions.places);
    free(c);
    return NULL;
}

/* ---- regions -------------------------------------------------------------------------------- */

int cache_open(Cache *c, uint64_t len, uint64_t size, void *file, unsigned flags)
{
    const unsigned known = DODO_RDONLY | DODO_RETAIN | DODO_FALLBACK | DODO_STRIPE | DODO_MIRROR |
                           MANAGE_WRITE_THROUGH;
    if (len < 1 || len > INT64_MAX || (flags & ~known))
        return -EINVAL;
    cache_enter(c);
    int rd = region_begin(c, len, size, file, flags);
    cache_unlock(c);
    return rd;
}

int cache_region_next(Cache *c, int rd)
{
    int found = -1;
    cache_enter(c);
    for (unsigned i = rd < 0 ? 0 : (unsigned)rd + 1; i < c->regions.table_len && found < 0; i++)
        if (c->regions.table[i])
            found = (int)i;
    cache_unlock(c);
    return found;
}

/* ---- the policy ----------------------------------------------------------------------------- */

static int by_last_use(const void *a, const void *b)
{
    const struct manage_entry *x = *(struct manage_entry *const *)a;
    const struct manage_entry *y = *(struct manage_entry *const *)b;
    return (x->last_use > y->last_use) - (x->last_use < y->last_use);
}

static int set_policy_locked(Cache *c, const struct manage_policy *policy)
{
    size_t n = 0;
    struct manage_entry **all = calloc(c->policies.dir.entries + 1, sizeof *all);
    void *self = all && policy->create ? policy->create(c->cfg.limit_bytes) : NULL;
    if (!all || (policy->create && !self)) {
        free(all);
        return -ENOMEM;
    }
    for (struct manage_entry *e = c->policies.dir.oldest; e; e = e->newer) {
        manage_entry_unlink(e);
        all[n++] = e;
    }
    if (c->policies.active->destroy)
        c->policies.active->destroy(c->policies.self);
    c->policies.active = policy;
    c->policies.self = self;
    generation_reset(c);
    qsort(all, n, sizeof *all, by_last_use);
    for (size_t i = 0; i < n; i++) {
        all[i]->state[0] = all[i]->state[1] = 0;
        policy->read(self, all[i]);
    }
    free(all);
    ways_worth_again(c);
    return 0;
}

int cache_set_policy(Cache *c, int number)
{
    cache_enter(c);
    const struct manage_policy *policy = policy_builtin(number);
    int own = number - policy_builtin_count();
    if (!policy && own >= 0 && own < c->policies.registered_count)
        policy = c->policies.registered[own];
    int result = policy ? set_policy_locked(c, policy) : -EINVAL;
    cache_unlock(c);
    return result;
}

int cache_register_policy(Cache *c, const struct manage_policy *policy)
{
    if (!policy || policy->size < offsetof(struct manage_policy, flags) || !policy->read ||
        !policy->write || !policy->reclaim)
        return -EINVAL;
    cache_enter(c);
    int number = -ENOSPC;
    if (c->policies.registered_count < CACHE_POLICIES_MAX) {
        number = policy_builtin_count() + c->policies.registered_count;
        c->policies.registered[c->policies.registered_count++] = policy;
    }
    cache_unlock(c);
    return number;
}

/* ---- statistics ----------------------------------------------------------------------------- */

void cache_stats(Cache *c, struct manage_stats *ret)
{
    cache_enter(c);
    *ret = c->stats;
    ret->regions = c->regions.count;
    ret->cached_bytes = c->local.used_bytes;
    ret->dirty_bytes = c->local.dirty_bytes;
    ret->limit_bytes = c->cfg.limit_bytes;
    ret->extent_spent_ns = c->fill.ledger.spent_ns;
    ret->extent_earned_ns = c->fill.ledger.earned_ns;
    cache_unlock(c);
}

void cache_copy_cost(Cache *c, uint64_t bytes, uint64_t ns)
{
    cache_enter(c);
    cost_least(&c->copy, bytes, ns);
    ways_unknown(c);
    cache_unlock(c);
}

static int state_locked(Cache *c, int rd, uint64_t offset)
{
    Region *r = region_find(c, rd);
    if (!r || offset >= r->len)
        return -EINVAL;
    uint64_t index = offset / c->cfg.piece_bytes;
    Piece *p = piece_find(r, index);
    bool local = p && p->valid;
    /* What is dirty here is not there. */
    bool remote =
        r->remote.state == REMOTE_OPEN && remote_held(c, r, index) & (local ? p->valid : ~0ull);
    return local ? (remote ? CACHE_BOTH : CACHE_LOCAL) : remote ? CACHE_REMOTE : CACHE_DISK;
}

int cache_state(Cache *c, int rd, uint64_t offset)
{
    cache_enter(c);
    int state = state_locked(c, rd, offset);
    cache_unlock(c);
    return state;
}

static bool has_locked(const Cache *c, const Region *r, uint64_t offset, uint64_t end)
{
    for (; offset < end; offset = piece_start(c, offset / c->cfg.piece_bytes + 1)) {
        const Piece *p = piece_find(r, offset / c->cfg.piece_bytes);
        if (!p || (!p->job && piece_mask(c, p->index, offset, end) & ~p->valid))
            return false;
    }
    return true;
}

bool cache_has(Cache *c, int rd, uint64_t offset, uint64_t len)
{
    cache_enter(c);
    const Region *r = region_find(c, rd);
    bool has =
        r && offset < r->len && has_locked(c, r, offset, offset + min_u64(len, r->len - offset));
    cache_unlock(c);
    return has;
}

unsigned cache_turns(Cache *c)
{
    cache_enter(c);
    unsigned turns = ways_turns(c);
    cache_unlock(c);
    return turns;
}

typedef struct Sums {
    uint64_t pieces, used, dirty, ahead, known, known_bytes, due;
    unsigned stuck, wanted, closing;
} Sums;

static bool piece_check(const Cache *c, const Region *r, const Piece *p, uint64_t index, Sums *s)
{
    s->pieces++;
    s->used += p->len;
    s->dirty += p->dirty ? p->len : 0;
    s->ahead += p->ahead ? p->len : 0;
    s->known += p->known;
    s->due += !list_empty(&p->links.keep);
    s->known_bytes += p->known ? p->len : 0;
    s->stuck += p->stuck;
    return p->region == r && p->index == index && p->len == piece_len(c, r, index) &&
           !(p->dirty & ~p->valid) && !(p->from_remote & ~p->valid) && !(p->unasked & ~p->valid) &&
           !((p->dirty | p->unsynced | p->syncing) & p->from_remote) && !(p->ahead && p->known) &&
           !(p->passed && (!p->job || p->passed & p->valid)) &&
           !(p->dirty & remote_held(c, r, index)) && list_empty(&p->links.dirty) == !p->dirty &&
           list_empty(&p->links.ahead) == !p->ahead &&
           ((p->entry.flags & MANAGE_ENTRY_BUSY) != 0) ==
               (piece_busy(p) || p->direct || p->stuck || p->wanted_by ||
                !list_empty(&p->links.claimed)) &&
           ((p->entry.flags & MANAGE_ENTRY_DIRTY) != 0) == (p->dirty != 0) &&
           !(p->writer && (p->pins || p->job)) && p->leaf->data[index % LEAF_PIECES] == p->data &&
           !(p->leaf->readable[index % LEAF_PIECES] & ~(p->known && !p->writer ? p->valid : 0));
}

/* All pieces are in the lists of their files. */
static bool ways_check(const Cache *c, uint64_t pieces)
{
    unsigned left = 0, regions = 0;
    LIST_FOREACH(n, &c->ways.all) {
        const Ways *w = CONTAINER_OF(n, Ways, link);
        left += w->left;
        regions += w->regions;
        LIST_FOREACH(at, &w->pieces)
            pieces -= CONTAINER_OF(at, Piece, links.file)->region->ways == w;
    }
    return pieces == 0 && left == c->ways.files_left && regions == c->regions.count;
}

/* What the lists of traces take is counted, and each region has that of its file. */
static bool traces_check(const Cache *c)
{
    uint64_t bytes = 0;
    unsigned count = 0, asking = 0;
    LIST_FOREACH(n, &c->traces.all) {
        const Trace *t = CONTAINER_OF(n, Trace, link);
        bytes += (uint64_t)(t->before.room + t->now.room) * sizeof *t->now.ranges;
        asking += t->asks != NULL;
        count++;
    }
    return bytes == c->traces.bytes && count == c->traces.count && asking == c->traces.asking;
}

bool cache_check(Cache *c)
{
    Sums s = {0};
    bool good = true;
    cache_enter(c);
    LIST_FOREACH(n, &c->regions.all) {
        Region *r = CONTAINER_OF(n, Region, link);
        s.wanted += r->remote.wanted;
        s.closing += r->remote.state == REMOTE_CLOSING;
        good = good && remote_map_check(c, r);
        for (uint64_t i = 0; i < r->leaf_count * LEAF_PIECES; i++) {
            if (!r->leaves[i / LEAF_PIECES]) {
                i += LEAF_PIECES - 1;
                continue;
            }
            Piece *p = piece_find(r, i);
            bool present = r->leaves[i / LEAF_PIECES]->present[i % LEAF_PIECES / 64] >> i % 64 & 1;
            good = good && present == (p != NULL) && (!p || piece_check(c, r, p, i, &s));
        }
    }
    good = good && s.used == c->local.used_bytes &&
           s.used + buffers_kept(c) <= c->cfg.limit_bytes && s.dirty == c->local.dirty_bytes &&
           s.ahead == c->ahead.bytes && s.known == c->policies.dir.entries &&
           s.known_bytes == c->policies.dir.bytes && s.stuck == c->local.stuck &&
           s.wanted == c->remotes.wanted && s.closing == c->remotes.closing &&
           s.due == c->keep.due_count && ways_check(c, s.pieces) && traces_check(c);
    cache_unlock(c);
    return good;
}
