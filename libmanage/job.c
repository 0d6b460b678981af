/* SPDX-License-Identifier: MIT */
/* Jobs: how they begin, and what their results mean for pieces and for remote memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

enum { USED_ALIKE = 32 }; /* in uses of any piece */

static bool job_remote(const CacheJob *job)
{
    return job->both || job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
           job->kind == CACHE_CLONE;
}

/* Remote memory holds nothing. */
static void remote_maps_clear(Region *r)
{
    for (uint64_t i = 0; i < r->leaf_count; i++) {
        Leaf *leaf = r->leaves[i];
        for (unsigned k = 0; leaf && k < LEAF_PIECES; k++)
            leaf->remote[k] = leaf->brought[k] = 0;
    }
}

/* It holds what it has from an earlier run, but for what is dirty here. */
static void remote_maps_restore(const Cache *c, Region *r)
{
    uint64_t pieces = (r->len - 1) / c->cfg.piece_bytes + 1;
    for (uint64_t i = 0; i < pieces; i++) {
        Leaf *leaf = r->leaves[i / LEAF_PIECES];
        const Piece *p = piece_find(r, i);
        if (leaf)
            leaf->remote[i % LEAF_PIECES] = held_before(c, r, i) & ~(p ? p->dirty : 0);
    }
}

void job_begin(CacheJob *job, Region *r, uint8_t kind, uint64_t now_ns)
{
    memset(job, 0, offsetof(CacheJob, iov));
    job->kind = kind;
    job->both = ((GUARD(BOTH) && kind == CACHE_WRITE) || kind == CACHE_ADVISE) &&
                r->remote_state == REMOTE_OPEN;
    job->file = r->file;
    job->remote = r->remote;
    job->flags = r->flags & ~(unsigned)MANAGE_WRITE_THROUGH;
    job->len = r->len;
    job->region = r;
    job->sync_failures = r->sync_failures;
    job->start_ns = now_ns;
    r->jobs++;
    r->remote_jobs += job_remote(job);
    r->written |= kind == CACHE_WRITE;
    if (kind == CACHE_WRITE && !job->both) {
        r->file_writes++;
        r->raced = true;
    }
    if (kind == CACHE_CLOSE_REMOTE)
        remote_maps_clear(r);
    if (kind == CACHE_OPEN_REMOTE)
        r->raced = r->file_writes > 0;
}

void job_begin_buffer(CacheJob *job, Region *r, uint8_t kind, uint64_t from, uint64_t to,
                      uint8_t *buf, uint64_t now_ns)
{
    job_begin(job, r, kind, now_ns);
    job->offset = from;
    job->len = to - from;
    job->iov[0] = (struct iovec){.iov_base = buf, .iov_len = (size_t)(to - from)};
    job->iov_count = 1;
}

void job_begin_pieces(Cache *c, CacheJob *job, Region *r, uint8_t kind, uint64_t from, uint64_t to,
                      uint64_t now_ns)
{
    job_begin(job, r, kind, now_ns);
    job->offset = from;
    job->len = to - from;
    job->first = from / c->cfg.piece_bytes;
    while (from < to) {
        Piece *p = piece_find(r, from / c->cfg.piece_bytes);
        uint64_t start = piece_start(c, p->index), end = min_u64(to, start + p->len);
        job->iov[job->iov_count++] =
            (struct iovec){.iov_base = p->data + (from - start), .iov_len = (size_t)(end - from)};
        job->pieces++;
        p->job = job;
        piece_flags(p);
        from = end;
    }
}

/* ---- remote memory -------------------------------------------------------------------------- */

bool remote_may_open(const Cache *c, const Region *r, uint64_t now_ns)
{
    return c->cfg.remote && r->remote_state == REMOTE_NONE &&
           (!GUARD(REFRACTION) || now_ns >= c->refraction_until_ns) &&
           now_ns >= r->remote_not_before_ns;
}

void remote_want(Cache *c, Region *r)
{
    if (r->remote_wanted || !c->cfg.remote || r->remote_state != REMOTE_NONE)
        return;
    r->remote_wanted = true;
    c->remotes_wanted++;
    background_wake(c);
}

enum { CLONE_SHARE = 4 }; /* so many times as long as a read it may take */

uint64_t clone_ns(const Region *r, uint64_t bytes)
{
    return cost_of(&r->ways->cost[COST_CLONE], bytes) * CLONE_SHARE;
}

/* Of remote memory as @which. A region's first transfer may be the first with its host, which costs
 * a session. */
static void remote_cost_add(Cache *c, Region *r, enum CostOf which, uint64_t bytes, uint64_t ns,
                            uint64_t now_ns)
{
    bool first = !r->remote_used;
    r->remote_used = true;
    if (!first)
        cost_add_beside(&r->ways->cost[which], &r->ways->cost[COST_FILE], bytes, ns, now_ns,
                        c->cfg.cost_fresh_ns);
}

static uint64_t fresh_since(const Cache *c, uint64_t now_ns)
{
    return now_ns > c->cfg.cost_fresh_ns ? now_ns - c->cfg.cost_fresh_ns : 0;
}

/* Since when what was measured of it counts; where it saves little it is looked at again sooner. */
static uint64_t remote_since(const Cache *c, const Cost *remote, uint64_t bytes, uint64_t now_ns)
{
    uint64_t again = cost_again(remote, bytes), since = fresh_since(c, now_ns);
    return again && again < now_ns ? max_u64(since, now_ns - again) : since;
}

/* Is remote memory the cheaper place to read from, by @saving_ns? An unknown cost is tried, and one
 * that was not measured for long is measured again, the file's first. As long as nothing was read
 * from remote memory, the cost of clones stands in, as far as it can. */
static bool remote_below(const Cache *c, const Region *r, uint64_t bytes, uint64_t saving_ns,
                         uint64_t now_ns)
{
    uint64_t file = cost_of(&r->ways->cost[COST_FILE], bytes);
    bool was_read = cost_of(&r->ways->cost[COST_REMOTE], bytes) > 0;
    const Cost *remote = &r->ways->cost[was_read ? COST_REMOTE : COST_CLONE];
    if (!file || !cost_of(remote, bytes))
        return true;
    if (!cost_known_since(&r->ways->cost[COST_FILE], bytes, fresh_since(c, now_ns)))
        return false;
    return cost_of(remote, bytes) + saving_ns < file ||
           !cost_known_since(remote, bytes, remote_since(c, remote, bytes, now_ns));
}

bool remote_pays(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    return remote_below(c, r, bytes, 0, now_ns);
}

/* A copy takes time of processors and links, and may never be read: one that saves little is not
 * made. Where a file is read in order, its kernel and its drive work ahead. They do no less work if
 * a part of the file is read from elsewhere, and the drive has to seek. So there remote memory must
 * be far cheaper. */
bool clone_pays(const Cache *c, const Region *r, uint64_t bytes, bool in_order, uint64_t now_ns)
{
    uint64_t remote = cost_of(&r->ways->cost[COST_REMOTE], bytes);
    uint64_t saving = in_order ? (COST_IN_ORDER - 1) * remote : remote / COST_SAVES;
    return remote_below(c, r, bytes, saving, now_ns);
}

/* A clone says little about the cost of a read: it runs beside the program, and its host takes
 * pages for it. If nothing better is known, one piece is read again. */
bool remote_unproven(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    const Cost *remote = &r->ways->cost[COST_REMOTE];
    return cost_of(remote, bytes) == 0 ||
           !cost_known_since(remote, bytes, remote_since(c, remote, bytes, now_ns));
}

/* Without memory for a copy all counts as held: what is not there comes from the file all the same.
 */
static void held_begin(Region *r, const CacheResult *result)
{
    size_t bytes = (size_t)((r->len - 1) / CACHE_BLOCK / 64 + 1) * sizeof *r->held_blocks;
    free(r->held_blocks);
    r->held = true;
    r->held_blocks = result->held_blocks ? malloc(bytes) : NULL;
    if (r->held_blocks)
        memcpy(r->held_blocks, result->held_blocks, bytes);
}

static void held_end(Region *r)
{
    r->held = false;
    free(r->held_blocks);
    r->held_blocks = NULL;
}

void remote_lost(Cache *c, Region *r, uint64_t now_ns)
{
    if (r->remote_state != REMOTE_OPEN)
        return;
    r->remote_state = REMOTE_CLOSING;
    r->remote_is_open = false;
    c->remotes_closing++;
    r->remote_not_before_ns = time_add(now_ns, c->cfg.refraction_ns);
    if (GUARD(LOST)) {
        held_end(r);
        remote_maps_clear(r);
    }
    background_wake(c);
}

static void open_end(Cache *c, Region *r, const CacheResult *result, uint64_t now_ns)
{
    if (result->remote_error) {
        /* Figure 5: do no allocation for the refraction period. */
        r->remote_state = REMOTE_NONE;
        c->refraction_until_ns = time_add(now_ns, c->cfg.refraction_ns);
        c->stats.refractions++;
        return;
    }
    r->remote = result->remote;
    r->remote_state = REMOTE_OPEN;
    r->remote_is_open = true;
    r->remote_used = false;
    if (GUARD(RACED) && result->held && r->raced) {
        /* The file was written beside it: what is held may be older than that. */
        remote_lost(c, r, now_ns);
        r->remote_not_before_ns = 0;
    } else if (result->held) {
        held_begin(r, result);
        remote_maps_restore(c, r);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

/* What the file does not have is zeros. */
static void job_zero_tail(const CacheJob *job, uint64_t count)
{
    for (int i = 0; GUARD(TAIL) && i < job->iov_count; i++) {
        size_t len = job->iov[i].iov_len;
        if (count < len)
            memset((uint8_t *)job->iov[i].iov_base + count, 0, len - (size_t)count);
        count -= min_u64(count, len);
    }
}

/* Remote memory holds these blocks now; whole ones, or the region's end. */
static void remote_holds(Cache *c, Region *r, uint64_t from, uint64_t to)
{
    if (r->remote_state != REMOTE_OPEN)
        return;
    from = (from + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK;
    if (to < r->size)
        to = to / CACHE_BLOCK * CACHE_BLOCK;
    for (uint64_t i = from / c->cfg.piece_bytes; from < to; i++) {
        uint64_t *held = remote_map_make(c, r, i);
        Piece *p = piece_find(r, i);
        if (held)
            *held |= piece_mask(c, i, from, to) & ~(p ? p->dirty : 0);
        from = piece_start(c, i + 1);
    }
}

static void file_read_end(const Cache *c, const CacheJob *job, const CacheResult *result,
                          uint64_t now_ns)
{
    Region *r = job->region;
    bool held = job->held && file_held_note(c, r, job->len, result->ns);
    if (!job->held)
        file_kept_note(c, r, job->offset, job->len, result->ns);
    file_cost_add(c, r, job->len, result->ns, held, now_ns);
}

static int read_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    if (!job->ahead)
        extent_note(c, job, result);
    if (result->remote_error) {
        remote_lost(c, r, now_ns);
        return JOB_REMOTE_LOST;
    }
    if (GUARD(FAILED_READ) && result->count < 0)
        return result->error ? -result->error : -EIO;
    job_zero_tail(job, (uint64_t)result->count);
    if (job->kind == CACHE_READ_FILL && result->extent) {
        remote_holds(c, r, job->extent_from, min_u64(job->extent_to, r->size));
        extent_brought(c, job);
    } else if (job->kind == CACHE_READ_FILL)
        remote_holds(c, r, job->offset, job->offset + job->len);
    else if (job->kind == CACHE_READ_FILE)
        file_read_end(c, job, result, now_ns);
    else
        remote_cost_add(c, r, COST_REMOTE, job->len, result->ns, now_ns);
    for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
        Piece *p = piece_find(r, i);
        uint64_t blocks = piece_mask(c, i, job->offset, job->offset + job->len);
        p->valid |= blocks; /* they were missing, so no bit of theirs is set */
        p->from_remote |= job->kind == CACHE_READ_FILE ? 0 : blocks;
    }
    return 0;
}

static int write_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    uint64_t end = job->offset + job->len;
    int error = result->count < 0 ? -(result->error ? result->error : EIO)
                : GUARD(SHORT_WRITE) && (uint64_t)result->count < job->len
                    ? -(result->error ? result->error : ENOSPC)
                    : 0;
    r->written |= GUARD(WRITTEN_BESIDE); /* an fdatasync that ran meanwhile may have missed it */
    if (!job->both)
        r->file_writes--;
    else if (result->remote_error)
        remote_lost(c, r, now_ns);
    bool doubt = GUARD(DOUBT) &&
                 job->sync_failures != r->sync_failures; /* a sync failed beside it: once more */
    bool clean = !(error && GUARD(FAILED_WRITE)) && !doubt;
    for (uint64_t i = job->first; clean && i < job->first + job->pieces; i++) {
        Piece *p = piece_find(r, i);
        uint64_t blocks = piece_mask(c, i, job->offset, end);
        p->unsynced |= blocks & p->dirty;
        if (list_empty(&p->sync_link))
            list_push_back(&r->unsynced, &p->sync_link);
        piece_clean(c, p, blocks);
        piece_unstick(c, p);
        c->stats.writebacks++;
    }
    if (!error && job->pieces)
        c->stats.writeback_bytes += job->len;
    if (doubt && !job->pieces)
        region_lost(r, EIO);
    if (!error && job->both && !result->remote_error)
        remote_holds(c, r, job->offset, end);
    if (error && job->pieces) {
        r->write_error = r->failure = -error;
        r->write_failures++;
        for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
            Piece *p = piece_find(r, i);
            c->stuck += !p->stuck;
            p->stuck = true;
            p->failed_at = r->write_failures;
        }
        c->stuck_until_ns = time_add(now_ns, c->cfg.write_retry_ns);
        background_wake(c);
    }
    return error;
}

static void clone_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    if (result->remote_error) {
        remote_lost(c, r, now_ns);
        return;
    }
    /* It is made beside the program, and of pages that its host has to get first. */
    remote_cost_add(c, r, COST_CLONE, job->len, result->ns / CLONE_SHARE, now_ns);
    if (result->read_ns)
        remote_cost_add(c, r, COST_REMOTE, job->probe, result->read_ns, now_ns);
    uint64_t taken = min_u64(job->len, (uint64_t)result->count);
    remote_holds(c, r, job->offset, job->offset + taken);
    c->stats.clones += job->pieces;
    c->stats.clone_bytes += taken;
}

/* The pieces are free again; a victim leaves, if nobody came for it meanwhile. */
static void pieces_end(Cache *c, CacheJob *job, int error)
{
    for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
        Piece *p = piece_find(job->region, i);
        if (p->cloning == job)
            p->cloning = NULL;
        else
            p->job = NULL;
        piece_flags(p);
        if (job->evict && i == job->first && !error && !p->dirty && !piece_busy(p) && !p->direct &&
            !p->wanted_by) {
            (void)evict(c, p);
        } else if (!p->valid && !piece_busy(p) && !p->direct) {
            piece_drop(c, p); /* its fetch failed */
        }
    }
    c->evicting -= job->evict;
}

int job_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    int error = 0;
    r->jobs--;
    r->remote_jobs -= job_remote(job);
    switch ((enum CacheJobKind)job->kind) {
    case CACHE_READ_FILE:
    case CACHE_READ_REMOTE:
    case CACHE_READ_FILL:
        error = read_end(c, job, result, now_ns);
        break;
    case CACHE_WRITE:
        error = write_end(c, job, result, now_ns);
        break;
    case CACHE_CLONE:
        clone_end(c, job, result, now_ns);
        break;
    case CACHE_OPEN_REMOTE:
        open_end(c, r, result, now_ns);
        break;
    case CACHE_CLOSE_REMOTE:
        r->remote_state = REMOTE_NONE;
        break;
    case CACHE_SIZE:
        if (result->count > 0)
            r->size = max_u64(r->size, min_u64((uint64_t)result->count, r->len));
        error = result->count < 0 ? -(result->error ? result->error : EIO) : 0;
        break;
    case CACHE_ADVISE:
        break;
    case CACHE_SYNC:
        error = result->count < 0 ? -(result->error ? result->error : EIO) : 0;
        break;
    }
    pieces_end(c, job, error);
    waiters_wake(c);
    if (r->remote_state == REMOTE_CLOSING && !r->remote_jobs)
        background_wake(c);
    return error;
}

/* ---- what leaves ---------------------------------------------------------------------------- */

/* The bytes between dirty blocks are written with them, one write instead of several, if they came
 * from the file or the program. Bytes that a host returned may differ from what it was given. */
static uint64_t blocks_dirty(const Piece *p)
{
    if (!p->dirty)
        return 0;
    uint64_t own = p->valid & ~(GUARD(FILE_BETWEEN) ? p->from_remote : 0);
    uint64_t first = 1ull << __builtin_ctzll(p->dirty);
    uint64_t last = 1ull << (63 - __builtin_clzll(p->dirty));
    uint64_t all = (last - first) | last;
    return all & ~own ? p->dirty : all;
}

static uint64_t blocks_unheld(const Piece *p)
{
    return p->valid & ~p->dirty & ~*remote_map(p->region, p->index);
}

/* Was the one used so soon after the other that they are likely to leave together? */
static bool used_alike(const Piece *p, const Piece *q)
{
    uint64_t a = p->entry.last_use, b = q->entry.last_use;
    return q->known && max_u64(a, b) - min_u64(a, b) <= USED_ALIKE;
}

/* The first run of @blocks of @p, and on into the pieces after it. */
static bool run_out(Cache *c, Piece *p, uint64_t (*blocks)(const Piece *), uint64_t pieces_max,
                    bool alike, uint64_t *ret_from, uint64_t *ret_to)
{
    const Piece *first = p;
    Region *r = p->region;
    uint64_t map = blocks(p), at = piece_start(c, p->index);
    if (!map)
        return false;
    unsigned b = (unsigned)__builtin_ctzll(map);
    *ret_from = at + (uint64_t)b * CACHE_BLOCK;
    for (uint64_t n = 1;; n++) {
        while (b < 64 && map >> b & 1)
            b++;
        *ret_to = min_u64(at + (uint64_t)b * CACHE_BLOCK, at + p->len);
        if (*ret_to < at + p->len || *ret_to >= r->len || n >= pieces_max)
            break;
        p = piece_find(r, p->index + 1);
        if (!p || piece_no_clone(p) || (alike && !used_alike(first, p)))
            break;
        at = piece_start(c, p->index);
        map = blocks(p);
        b = 0;
    }
    *ret_to = min_u64(*ret_to, r->size);
    return *ret_from < *ret_to;
}

void write_out(Cache *c, CacheJob *job, Piece *p, uint64_t pieces_max, uint64_t now_ns)
{
    uint64_t from, to;
    if (run_out(c, p, blocks_dirty, pieces_max, false, &from,
                &to)) /* what is dirty is inside the size */
        job_begin_pieces(c, job, p->region, CACHE_WRITE, from, to, now_ns);
}

bool clone_out(Cache *c, CacheJob *job, Piece *p, uint64_t pieces_max, bool alike, uint64_t now_ns)
{
    uint64_t from, to;
    if (!run_out(c, p, blocks_unheld, pieces_max, alike, &from, &to))
        return false;
    job_begin_pieces(c, job, p->region, CACHE_CLONE, from, to, now_ns);
    return true;
}

bool direct_overlaps(const Cache *c, const Region *r, uint64_t index, const CacheCall *but)
{
    uint64_t start = piece_start(c, index), end = start + c->cfg.piece_bytes;
    for (const CacheCall *d = r->direct; GUARD(DIRECT_ALONE) && d; d = d->next_direct)
        if (d != but && d->direct_from < end && start < d->direct_to)
            return true;
    return false;
}
