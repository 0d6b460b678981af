/* SPDX-License-Identifier: MIT */
/* Jobs: how they begin, and what their results mean for pieces and for remote memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmanage/core_private.h"

enum { USED_ALIKE = 32 }; /* in uses of any piece */

bool cache_job_is_remote(const CacheJob *job)
{
    return job->both || job->kind == CACHE_READ_REMOTE || job->kind == CACHE_READ_FILL ||
           job->kind == CACHE_CLONE || job->kind == CACHE_FILL;
}

void job_begin(CacheJob *job, Region *r, uint8_t kind, uint64_t now_ns)
{
    memset(job, 0, offsetof(CacheJob, iov));
    job->kind = kind;
    job->both = ((GUARD(BOTH) && kind == CACHE_WRITE) || kind == CACHE_ADVISE) &&
                r->remote.state == REMOTE_OPEN;
    job->file = r->file;
    job->remote = r->remote.rd;
    job->flags = r->flags & ~(unsigned)MANAGE_WRITE_THROUGH;
    job->len = r->len;
    job->region = r;
    job->sync_failures = r->writeback.sync_failures;
    job->start_ns = now_ns;
    r->jobs++;
    r->remote.jobs += cache_job_is_remote(job);
    r->writeback.written |= kind == CACHE_WRITE;
    if (kind == CACHE_WRITE && !job->both) {
        r->remote.file_writes++;
        r->remote.raced = true;
    }
    if (kind == CACHE_CLOSE_REMOTE)
        remote_map_forget(r);
    if (kind == CACHE_OPEN_REMOTE)
        r->remote.raced = r->remote.file_writes > 0;
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

static void file_read_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    bool held = job->held && file_held_note(c, r, job->len, result->ns);
    if (held)
        fill_found_held(c, job, result->ns);
    if (!job->held)
        file_kept_note(c, r, job->offset, job->len, result->ns);
    if (job->together)
        return;
    bool counts = job->held || !remote_holds_at(c, r, job->offset) ||
                  file_look_counts(c, r, job->len, result->ns, now_ns);
    if (counts && !fill_ran_beside(c, job, now_ns))
        file_cost_add(c, r, job->len, result->ns, held, now_ns);
}

static int read_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    if (result->remote_error) {
        remote_lost(c, r, now_ns);
        return JOB_REMOTE_LOST;
    }
    if (GUARD(FAILED_READ) && result->count < 0)
        return result->error ? -result->error : -EIO;
    job_zero_tail(job, (uint64_t)result->count);
    uint64_t end = job->offset + job->len;
    if (GUARD(CUT) && r->flags & DODO_RDONLY && (uint64_t)result->count < job->len) {
        /* The program writes nothing here: so somebody has cut the file. libdodo reads it, too,
         * where remote memory has nothing. */
        end = job->offset + (uint64_t)result->count;
        r->size = min_u64(r->size, end);
    }
    if (job->kind == CACHE_READ_FILL)
        remote_holds(c, r, job->offset, end);
    else if (job->kind == CACHE_READ_FILE)
        file_read_end(c, job, result, now_ns);
    else if (!fill_ran_beside(c, job, now_ns) && !result->beside)
        remote_read_note(c, r, job->len, result->ns, now_ns);
    for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
        Piece *p = piece_find(r, i);
        uint64_t blocks = piece_mask(c, i, job->offset, end);
        p->valid |= blocks; /* they were missing, so no bit of theirs is set */
        p->unasked |= job->ahead && r->trace ? blocks & ~p->passed : 0;
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
    r->writeback.written |=
        GUARD(WRITTEN_BESIDE); /* an fdatasync that ran meanwhile may have missed it */
    if (!job->both)
        r->remote.file_writes--;
    else if (result->remote_error)
        remote_lost(c, r, now_ns);
    bool doubt =
        GUARD(DOUBT) &&
        job->sync_failures != r->writeback.sync_failures; /* a sync failed beside it: once more */
    bool clean = !(error && GUARD(FAILED_WRITE)) && !doubt;
    for (uint64_t i = job->first; clean && i < job->first + job->pieces; i++) {
        Piece *p = piece_find(r, i);
        uint64_t blocks = piece_mask(c, i, job->offset, end);
        p->unsynced |= blocks & p->dirty;
        if (list_empty(&p->links.unsynced))
            list_push_back(&r->writeback.unsynced, &p->links.unsynced);
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
        r->writeback.error = r->writeback.failure = -error;
        r->writeback.failures++;
        for (uint64_t i = job->first; i < job->first + job->pieces; i++) {
            Piece *p = piece_find(r, i);
            c->local.stuck += !p->stuck;
            p->stuck = true;
            p->failed_at = r->writeback.failures;
        }
        c->local.stuck_until_ns = time_add(now_ns, c->cfg.write_retry_ns);
        background_wake(c);
    }
    return error;
}

/* A copy for the next run: what it took counts, no longer what it was to take. */
static void keep_end(Cache *c, const CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    uint64_t took = job->waited ? result->ns : result->cpu_ns;
    c->keep.jobs--;
    c->keep.spent_ns = sub_u64(c->keep.spent_ns + took, job->keeps_ns);
    if (job->waited)
        return;
    cost_add(&c->keep.cpu, job->len, took, now_ns);
    for (uint64_t i = job->first; i < job->first + job->pieces; i++)
        piece_find(job->region, i)->kept_ns += (uint32_t)(took / job->pieces);
}

static void clone_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    if (job->keeps)
        keep_end(c, job, result, now_ns);
    if (result->remote_error) {
        remote_lost(c, r, now_ns);
        return;
    }
    clone_cost_add(c, r, job->len, result->ns, now_ns);
    if (result->read_ns)
        remote_cost_add(c, r, job->probe, result->read_ns, now_ns);
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
        p->passed = 0;
        piece_flags(p);
        if (job->evict && i == job->first && !error && !p->dirty && !piece_busy(p) && !p->direct &&
            !p->wanted_by) {
            (void)evict(c, p);
        } else if (!p->valid && !piece_busy(p) && !p->direct) {
            piece_drop(c, p); /* its fetch failed */
        }
    }
    c->local.evicting -= job->evict;
}

int job_end(Cache *c, CacheJob *job, const CacheResult *result, uint64_t now_ns)
{
    Region *r = job->region;
    int error = 0;
    r->jobs--;
    r->remote.jobs -= cache_job_is_remote(job);
    switch ((enum CacheJobKind)job->kind) {
    case CACHE_READ_FILE:
    case CACHE_READ_REMOTE:
    case CACHE_READ_FILL:
        error = read_end(c, job, result, now_ns);
        if (job->noted)
            fill_note_end(c, job, result, now_ns);
        break;
    case CACHE_WRITE:
        error = write_end(c, job, result, now_ns);
        break;
    case CACHE_CLONE:
        clone_end(c, job, result, now_ns);
        break;
    case CACHE_FILL:
        fill_end(c, job, result, now_ns);
        break;
    case CACHE_OPEN_REMOTE:
        remote_opened(c, r, result, now_ns);
        break;
    case CACHE_CLOSE_REMOTE:
        r->remote.state = REMOTE_NONE;
        break;
    case CACHE_SIZE:
        error = result->count < 0 ? -(result->error ? result->error : EIO) : 0;
        break;
    case CACHE_ASK:
        fill_asked(c, result);
        break;
    case CACHE_RECALL:
        trace_loaded(c, r, result);
        break;
    case CACHE_ADVISE:
        break;
    case CACHE_SYNC:
        error = result->count < 0 ? -(result->error ? result->error : EIO) : 0;
        break;
    }
    pieces_end(c, job, error);
    waiters_wake(c);
    if (r->remote.state == REMOTE_CLOSING && !r->remote.jobs)
        background_wake(c);
    return error;
}

/* ---- what leaves ---------------------------------------------------------------------------- */

/* The bytes between dirty blocks are written with them, one write instead of several, if they came
 * from the file or the program. Bytes that a host returned may differ from what it was given. */
static uint64_t blocks_dirty(const Cache *c, const Piece *p)
{
    (void)c;
    if (!p->dirty)
        return 0;
    uint64_t own = p->valid & ~(GUARD(FILE_BETWEEN) ? p->from_remote : 0);
    uint64_t first = 1ull << __builtin_ctzll(p->dirty);
    uint64_t last = 1ull << (63 - __builtin_clzll(p->dirty));
    uint64_t all = (last - first) | last;
    return all & ~own ? p->dirty : all;
}

static uint64_t blocks_unheld(const Cache *c, const Piece *p)
{
    return p->valid & ~p->dirty & ~remote_held(c, p->region, p->index);
}

/* Was the one used so soon after the other that they are likely to leave together? */
static bool used_alike(const Piece *p, const Piece *q)
{
    uint64_t a = p->entry.last_use, b = q->entry.last_use;
    return q->known && max_u64(a, b) - min_u64(a, b) <= USED_ALIKE;
}

/* The first run of @blocks of @p, and on into the pieces after it. */
static bool run_out(Cache *c, Piece *p, uint64_t (*blocks)(const Cache *, const Piece *),
                    uint64_t pieces_max, bool alike, uint64_t *ret_from, uint64_t *ret_to)
{
    const Piece *first = p;
    Region *r = p->region;
    uint64_t map = blocks(c, p), at = piece_start(c, p->index);
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
        map = blocks(c, p);
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
    for (uint64_t i = job->first; i < job->first + job->pieces; i++)
        piece_keep_over(c,
                        piece_find(p->region, i)); /* none of them is due to be copied any more */
    return true;
}

bool direct_overlaps(const Cache *c, const Region *r, uint64_t index, const CacheCall *but)
{
    uint64_t start = piece_start(c, index), end = start + c->cfg.piece_bytes;
    for (const CacheCall *d = r->direct; GUARD(DIRECT_ALONE) && d; d = d->links.next_direct)
        if (d != but && d->direct.from < end && start < d->direct.to)
            return true;
    return false;
}
