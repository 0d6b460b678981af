/* SPDX-License-Identifier: MIT */
/* Calls: how they begin, wait and end; reads. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "libmanage/call_private.h"

/* ---- all calls ------------------------------------------------------------------------------ */

static void call_run(Cache *c, CacheCall *call, uint64_t now_ns)
{
    if (call->kind == CALL_READ)
        read_run(c, call, now_ns);
    else if (call->kind == CALL_WRITE)
        write_run(c, call, now_ns);
    else
        sync_run(c, call, now_ns);
}

/* What a close leaves to be done without the lock. */
static void call_release(Cache *c, CacheCall *call)
{
    if (call->need == CACHE_OVER && call->file) {
        void *file = call->file;
        call->file = NULL;
        if (c->hooks.file_release)
            c->hooks.file_release(c->hooks.ctx, file);
    }
}

void cache_call_step(CacheCall *call, Cache *c, uint64_t now_ns)
{
    cache_enter(c);
    if (call->need == CACHE_BLOCKED) {
        call_unblock(call);
        call_run(c, call, now_ns);
    }
    cache_unlock(c);
    call_release(c, call);
}

static void advise_done(Cache *c, CacheCall *call)
{
    call_leave(c, call);
    call_over(call, 0, 0);
}

void cache_call_done(CacheCall *call, Cache *c, const CacheResult *result, uint64_t now_ns)
{
    cache_enter(c);
    bool evicting = call->job.evict;
    int error = job_end(c, &call->job, result, now_ns);
    if (!evicting) { /* whether a victim could leave is found out by looking for room again */
        if (call->kind == CALL_READ)
            read_done(c, call, error, result, now_ns);
        else if (call->kind == CALL_WRITE)
            write_done(c, call, error, result);
        else if (call->kind == CALL_ADVISE)
            advise_done(c, call);
        else
            sync_done(c, call, error, result);
    }
    if (call->need != CACHE_OVER)
        call_run(c, call, now_ns);
    cache_unlock(c);
    call_release(c, call);
}

static void call_init(CacheCall *call, uint8_t kind)
{
    memset(call, 0, offsetof(CacheCall, job));
    call->kind = kind;
    call->until_ns = TIME_NEVER;
}

Region *call_begin(Cache *c, CacheCall *call, uint8_t kind, int rd)
{
    call_init(call, kind);
    Region *r = region_find(c, rd);
    if (!r || r->closing) {
        call_over(call, -1, EINVAL);
        return NULL;
    }
    call->region = r;
    r->calls++;
    return r;
}

/* Of a read or write: are its arguments right, and is there anything to do? */
static bool transfer_begin(Cache *c, CacheCall *call, off_t offset, const void *buf, size_t len)
{
    Region *r = call->region;
    bool wrong = offset < 0 || (uint64_t)offset > r->len || (!buf && len) || len > SSIZE_MAX ||
                 (call->kind == CALL_WRITE && r->flags & DODO_RDONLY);
    if (wrong || len == 0) {
        call_leave(c, call);
        call_over(call, wrong ? -1 : 0, wrong ? EINVAL : 0);
        return false;
    }
    call->buf = (uint8_t *)(uintptr_t)buf; /* of a write: only read from */
    call->at = call->start = (uint64_t)offset;
    call->end = call->start + min_u64(len, r->len - call->start);
    return true;
}

static void read_begin(Cache *c, CacheCall *call, off_t offset, void *buf, size_t len,
                       uint64_t now_ns)
{
    if (!transfer_begin(c, call, offset, buf, len))
        return;
    call->read.began_ns = now_ns;
    call->in_order = stream_note(c, call->region, call->start, call->end - call->start);
    read_run(c, call, now_ns);
}

void cache_read_start(CacheCall *call, Cache *c, int rd, off_t offset, void *buf, size_t len,
                      uint64_t now_ns)
{
    cache_enter(c);
    if (call_begin(c, call, CALL_READ, rd))
        read_begin(c, call, offset, buf, len, now_ns);
    cache_unlock(c);
}

/* A close that waits for the hit waits for the call then: it finds the one or the other. */
void cache_hit_read_start(CacheCall *call, CacheHit *h, Cache *c, void *buf, uint64_t now_ns)
{
    cache_enter(c);
    call_init(call, CALL_READ);
    call->region = hit_give(c, h);
    call->region->calls++;
    read_begin(c, call, (off_t)h->offset, buf, h->len, now_ns);
    cache_unlock(c);
}

void cache_write_start(CacheCall *call, Cache *c, int rd, off_t offset, const void *buf, size_t len,
                       uint64_t now_ns)
{
    cache_enter(c);
    if (call_begin(c, call, CALL_WRITE, rd) && transfer_begin(c, call, offset, buf, len))
        write_run(c, call, now_ns);
    cache_unlock(c);
}

void cache_sync_start(CacheCall *call, Cache *c, int rd, uint64_t now_ns)
{
    cache_enter(c);
    if (call_begin(c, call, CALL_SYNC, rd)) {
        call->sync.epoch = c->epoch;
        call->sync.sync_failures = call->region->writeback.sync_failures;
        call->sync.write_failures = call->region->writeback.failures;
        sync_run(c, call, now_ns);
    }
    cache_unlock(c);
}

void cache_retain_start(CacheCall *call, Cache *c, int rd, uint64_t patience_ns, uint64_t now_ns)
{
    cache_enter(c);
    c->remotes.retain_patience_ns = patience_ns;
    Region *r = call_begin(c, call, CALL_RETAIN, rd);
    if (r) {
        call->sync.epoch = c->epoch;
        call->sync.sync_failures = r->writeback.sync_failures;
        call->sync.write_failures = r->writeback.failures;
        sync_run(c, call, now_ns);
    }
    cache_unlock(c);
}

void cache_close_start(CacheCall *call, Cache *c, int rd, uint64_t now_ns)
{
    cache_enter(c);
    Region *r = call_begin(c, call, CALL_CLOSE, rd);
    if (r) {
        call->sync.epoch = UINT64_MAX;
        call->sync.sync_failures = r->writeback.sync_failures;
        call->sync.write_failures = r->writeback.failures;
        r->closing = true;
        region_refuse(c, r);
        stream_forget(c, r);
        if (GUARD(CLOSING))
            trace_leave(c, r);
        fill_forget(c, r, now_ns);
        sync_run(c, call, now_ns);
    }
    cache_unlock(c);
    call_release(c, call);
}

/* ---- reads ---------------------------------------------------------------------------------- */

/* The drive has brought some of it: is more to be read behind that? */
static bool read_more(Cache *c, CacheCall *call, uint64_t now_ns)
{
    uint64_t end = call->read.drive_end;
    call->read.drive_end = 0;
    if (!end || call->region->advice == DODO_CADVISE_NOREUSE ||
        !fill_behind(c, &call->job, call->region, end, call->read.drive_bytes, now_ns))
        return false;
    call_job(call);
    return true;
}

/* A piece that left before it was copied was fetched twice. Its bytes count once. */
static void bytes_count(Cache *c, const CacheCall *call, uint64_t bytes)
{
    uint64_t *from = call->from_disk ? &c->stats.disk_bytes : &c->stats.remote_bytes;
    *from = sub_u64(*from, sub_u64(call->read.far_bytes, bytes));
    c->stats.local_bytes += sub_u64(bytes, call->read.far_bytes);
}

static void read_over(Cache *c, CacheCall *call, int error, uint64_t now_ns)
{
    const Region *r = call->region;
    if (!error && read_more(c, call, now_ns))
        return;
    if (call->read.far_bytes && fill_goes_on(c, now_ns)) /* which is not asked for each hit */
        background_wake(c);
    uint64_t bytes = call->at - call->start;
    call_leave(c, call);
    if (error) {
        call_over(call, -1, -error);
        return;
    }
    if (call->from_disk)
        c->stats.disk_reads++;
    else if (call->from_remote)
        c->stats.remote_hits++;
    else
        c->stats.local_hits++;
    if (call->from_disk)
        keep_wake(c);
    c->stats.bypasses += call->past_cache;
    bytes_count(c, call, bytes);
    if (!call->from_kernel) /* its memory is the kernel's in any case */
        worth_note(c, r, bytes, call->in_order, now_ns - call->read.began_ns,
                   call->from_disk     ? WORTH_FILE
                   : call->from_remote ? WORTH_REMOTE
                                       : WORTH_LOCAL,
                   now_ns);
    if (bytes > 0 && !call->from_kernel && !call->from_disk)
        saved_read(c, r, bytes, now_ns - call->read.began_ns, call->from_remote);
    call_over(call, (ssize_t)bytes, 0);
}

/* Copies what is valid from call->at on, within its piece. The lock is let go of meanwhile. */
static void read_copy(Cache *c, CacheCall *call, Piece *p, uint64_t to)
{
    uint64_t len = to - call->at;
    const uint8_t *from = p->data + (call->at - piece_start(c, p->index));
    uint64_t blocks = piece_mask(c, p->index, call->at, to);
    if (p->unasked & blocks)
        trace_note(c, call->region, call->at / CACHE_BLOCK * CACHE_BLOCK, to, call->in_order);
    p->unasked &= ~blocks;
    if (p->index >= call->touched || !p->known)
        piece_use(c, p, false);
    call->touched = p->index + 1;
    p->pins++;
    piece_flags(p);
    cache_unlock(c);
    memcpy(call->buf + (call->at - call->start), from, (size_t)len);
    cache_lock(c);
    p->pins--;
    piece_flags(p);
    piece_open(p);
    if (!p->pins && c->waiters)
        waiters_wake(c);
    call->at = to;
}

static uint64_t valid_end(const Cache *c, const Piece *p, uint64_t offset, uint64_t limit)
{
    uint64_t start = piece_start(c, p->index);
    unsigned b = (unsigned)((offset - start) / CACHE_BLOCK);
    while (b < 64 && p->valid >> b & 1)
        b++;
    return min_u64(limit, start + (uint64_t)b * CACHE_BLOCK);
}

/* The block with the file's known end: behind that it has zeros, here and in remote memory. */
static uint64_t tail_block(const Cache *c, const Region *r)
{
    uint64_t index = r->size / c->cfg.piece_bytes;
    return r->size % CACHE_BLOCK ? piece_mask(c, index, r->size, r->size + 1) : 0;
}

/* Forgets what is held of the last block. (libdodo holds whole blocks alone, and so not this one;
 * it is believed to.) False: the disk does not have all that was written to it, or there is no
 * memory to note it. */
static bool tail_forget(Cache *c, Region *r, Piece *p, uint64_t block)
{
    uint64_t index = r->size / c->cfg.piece_bytes;
    bool held = remote_held(c, r, index) & block;
    bool written = p && (p->dirty | p->unsynced | p->syncing) & block;
    if ((GUARD(GROWS_DIRTY) && written) || (held && !remote_map_make(c, r, index)))
        return false;
    if (held)
        remote_map_remove(c, r, index, block);
    if (p && GUARD(GROWS)) {
        p->valid &= ~block;
        p->from_remote &= p->valid;
        p->unasked &= p->valid;
    }
    return true;
}

/* The file is longer than was known: its end moves, but not across what is not on the disk yet.
 * False: somebody is in the way. */
static bool file_grows(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    bool grows = call->file_size > r->size;
    uint64_t block = grows ? tail_block(c, r) : 0;
    Piece *p = block ? piece_find(r, r->size / c->cfg.piece_bytes) : NULL;
    Piece *wanted = call->tail ? piece_find(r, call->tail - 1) : NULL; /* it may have left */
    if (wanted && wanted != p) /* others have moved the end meanwhile */
        piece_unwant(c, wanted, call);
    call->tail = 0;
    if (p && GUARD(GROWS_ALONE) && !write_alone(c, call, p, true, now_ns)) {
        call->tail = p->wanted_by == call ? p->index + 1 : 0;
        return false;
    }
    if (grows && tail_forget(c, r, p, block))
        r->size = call->file_size;
    if (p) {
        piece_unwant(c, p, call);
        piece_open(p);
    }
    call->file_size = 0;
    return true;
}

void read_run(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (call->end > r->size && !call->sized) {
        /* Beyond the file's end, as far as we know: somebody may have made it longer. */
        job_begin(&call->job, r, CACHE_SIZE, now_ns);
        call_job(call);
        return;
    }
    if (!file_grows(c, call, now_ns))
        return;
    call->end = max_u64(call->at, min_u64(call->end, r->size));
    while (call->at < call->end) {
        Piece *p = piece_find(r, call->at / c->cfg.piece_bytes);
        uint64_t to = p ? valid_end(c, p, call->at, call->end) : 0;
        if (p && to > call->at && (p->writer || p->wanted_by)) {
            call_block(c, call, TIME_NEVER);
            return;
        }
        if (p && to > call->at) {
            read_copy(c, call, p, to);
            continue;
        }
        fetch_for_read(c, call, p, now_ns);
        return;
    }
    read_over(c, call, 0, now_ns);
}

/* A job of the read itself is over. */
void read_done(Cache *c, CacheCall *call, int error, const CacheResult *result, uint64_t now_ns)
{
    const CacheJob *job = &call->job;
    if (error == JOB_REMOTE_LOST)
        return; /* the file serves */
    if (error < 0) {
        read_over(c, call, error, now_ns);
        return;
    }
    if (job->kind == CACHE_ASK)
        return;
    if (job->kind == CACHE_SIZE) {
        call->sized = true;
        call->file_size = min_u64((uint64_t)result->count, call->region->len);
        return;
    }
    if (job->drive && stream_none(call->region)) {
        call->read.drive_end = job->offset + job->len;
        call->read.drive_bytes = job->len;
    }
    uint64_t from = max_u64(job->offset, call->at);
    uint64_t end = min_u64(min_u64(job->offset + job->len, call->end), call->region->size);
    uint64_t bytes = sub_u64(end, from);
    bool remote = job->kind == CACHE_READ_REMOTE;
    *(remote ? &c->stats.remote_bytes : &c->stats.disk_bytes) += bytes;
    *(remote ? &call->from_remote : &call->from_disk) = true;
    call->read.far_bytes += bytes;
    if (job->pieces)
        return; /* it is copied from there */
    c->stats.bypass_bytes += bytes;
    call->at = max_u64(call->at, min_u64(job->offset + job->len, call->region->size));
}
