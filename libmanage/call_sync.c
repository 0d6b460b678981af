/* SPDX-License-Identifier: MIT */
/* csync and cclose: what is dirty to the file, the file to the disk, and what is cached to remote
 * memory; then a close gives all back. A close that the file fails leaves the region open. */
#include "libmanage/call_private.h"

enum {
    SYNC_QUIET,
    SYNC_WRITE,
    SYNC_FILE,
    SYNC_OPEN,
    SYNC_CLONE,
    SYNC_KEEP,
    SYNC_REMOTE_CLOSE,
    SYNC_END
};

/* ---- durability ----------------------------------------------------------------------------- */

static void file_sync_begin(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    r->writeback.syncing = true;
    r->writeback.written = false;
    r->writeback.lone_syncing = r->writeback.lone;
    r->writeback.lone = 0;
    LIST_FOREACH(n, &r->writeback.unsynced) {
        Piece *p = CONTAINER_OF(n, Piece, links.unsynced);
        p->syncing = p->unsynced;
        p->unsynced = 0;
    }
    job_begin(&call->job, r, CACHE_SYNC, now_ns);
    call_job(call);
}

/* After a failed fdatasync(2) nobody knows what the disk has, not even of what was written while it
 * ran. A later one may succeed without writing anything. So everything that is cached is written
 * again. */
static void file_sync_end(Cache *c, Region *r, int error)
{
    r->writeback.syncing = false;
    r->writeback.written |= error != 0;
    r->writeback.sync_failures += error != 0;
    LIST_FOREACH(n, &r->writeback.unsynced) {
        Piece *p = CONTAINER_OF(n, Piece, links.unsynced);
        if (error && GUARD(SYNC_FAILED)) {
            piece_dirty(c, p, (p->syncing | (GUARD(SYNC_BESIDE) ? p->unsynced : 0)) & p->valid);
            p->unsynced = 0;
        }
        p->syncing = 0;
        if (!p->unsynced)
            list_remove(&p->links.unsynced);
    }
    if (GUARD(LONE) && error && (r->writeback.lone_syncing || r->writeback.lone)) {
        region_lost(r, -error);
        r->writeback.lone = 0;
    }
    r->writeback.lone_syncing = 0;
}

/* ---- phases: each returns true when it is over, else the call needs something --------------- */

static bool quiet(Cache *c, CacheCall *call, uint64_t now_ns)
{
    if (call->kind != CALL_CLOSE)
        return true;
    if (call->region->calls > 1)
        call_block(c, call, TIME_NEVER);
    else if (region_take(c, call->region))
        return true;
    else
        call_block_hit(c, call, now_ns);
    return false;
}

/* Each run of dirty blocks is written once. If one fails, the others are still written. */
static bool write_back(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    LIST_FOREACH(n, &r->writeback.dirty) {
        Piece *p = CONTAINER_OF(n, Piece, links.dirty);
        if (p->dirty_epoch > call->sync.epoch)
            break;
        if (p->failed_at > call->sync.write_failures) {
            call->failed = r->writeback.failure;
            continue;
        }
        if (piece_no_write(p) || p->direct) {
            call_block(c, call, TIME_NEVER);
            return false;
        }
        write_out(c, &call->job, p, CACHE_JOB_PIECES, now_ns);
        call_job(call);
        return false;
    }
    return true;
}

/* A close need not sync what others have written, nor need a region that only reads. A csync of a
 * region that may be written is for everything in the file. */
static bool needs_sync(const CacheCall *call)
{
    const Region *r = call->region;
    if (call->kind != CALL_SYNC)
        return r->writeback.written && GUARD(SYNC_WRITTEN);
    return r->writeback.written || !(r->flags & DODO_RDONLY);
}

static bool to_disk(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (r->writeback.syncing) {
        call_block(c, call, TIME_NEVER);
    } else if (GUARD(SYNC_JOINED) && call->sync.sync_failures != r->writeback.sync_failures) {
        /* Another call's failed meanwhile: what this one wrote is dirty again. */
        call->sync.sync_failures = r->writeback.sync_failures;
        if (call->kind == CALL_SYNC)
            call->sync.epoch = c->epoch;
        call->phase = SYNC_WRITE;
        sync_run(c, call, now_ns);
    } else if (!needs_sync(call)) {
        return true;
    } else {
        file_sync_begin(c, call, now_ns);
    }
    return false;
}

/* "It blocks till the region has been written to remote memory and to disk" (Figure 4). */
static bool open_remote(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (r->remote.state == REMOTE_OPENING) {
        call_block(c, call, TIME_NEVER);
        return false;
    }
    if (!remote_may_open(c, r, now_ns))
        return true;
    job_begin(&call->job, r, CACHE_OPEN_REMOTE, now_ns);
    r->remote.state = REMOTE_OPENING;
    call_job(call);
    return false;
}

/* True: the call copies from @p on. */
static bool clone_begin(Cache *c, CacheCall *call, Piece *p, uint64_t now_ns)
{
    bool begins = clone_out(c, &call->job, p, CACHE_JOB_PIECES, false, now_ns);
    if (begins)
        call_job(call);
    return begins;
}

static bool clone_all(Cache *c, CacheCall *call, uint64_t now_ns)
{
    for (Piece *p; (p = piece_next(call->region, &call->at)); call->at++) {
        if (piece_no_clone(p)) {
            call_block(c, call, TIME_NEVER);
            return false;
        }
        if (clone_begin(c, call, p, now_ns))
            return false;
    }
    return true;
}

/* A region that is retained is closed: what is here is in remote memory for the next run, too. */
static bool keep(Cache *c, CacheCall *call, uint64_t now_ns)
{
    for (Piece *p; (p = keep_next(c, call->region, &call->at, now_ns)); call->at++)
        if (clone_begin(c, call, p, now_ns))
            return false;
    return true;
}

static void remote_close_begin(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    c->remotes.closing -= r->remote.state == REMOTE_CLOSING;
    job_begin(&call->job, r, CACHE_CLOSE_REMOTE, now_ns);
    r->remote.state = REMOTE_CLOSE_JOB;
    call_job(call);
}

/* A close: no job of anybody's is left, and remote memory is given back. */
static bool close_remote(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (r->jobs) {
        call_block(c, call, TIME_NEVER);
        return false;
    }
    if (r->remote.state != REMOTE_OPEN && r->remote.state != REMOTE_CLOSING)
        return true;
    remote_close_begin(c, call, now_ns);
    return false;
}

/* The end of the process: as close_remote(), beside others' calls. What was to be kept for the next
 * run is, if all that was written is in the file. */
static bool retain_remote(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (r->remote.state == REMOTE_NONE || r->remote.state == REMOTE_OPENING)
        return true;
    remote_lost(c, r, now_ns);
    r->remote.not_before_ns = TIME_NEVER;
    if (r->remote.state == REMOTE_CLOSING && !r->remote.jobs)
        remote_close_begin(c, call, now_ns);
    else
        call_block(c, call, TIME_NEVER);
    return false;
}

/* The error that the call returns. A failed fdatasync of data that is cached no more cannot be
 * repeated: every csync reports it, but only one cclose, so that the next one may close. */
static int sync_error(const CacheCall *call)
{
    const Region *r = call->region;
    bool lost = r->writeback.lost_error && !(call->kind == CALL_CLOSE && r->writeback.lost_told);
    int write_error = GUARD(TOLD) ? r->writeback.error : 0;
    return call->failed  ? call->failed
           : write_error ? write_error
           : lost        ? r->writeback.lost_error
                         : 0;
}

/* Does the region go? */
static bool closes(const CacheCall *call)
{
    return call->kind == CALL_CLOSE && (!GUARD(CLOSE_FAILED) || !sync_error(call));
}

static void sync_over(Cache *c, CacheCall *call)
{
    Region *r = call->region;
    int error = sync_error(call);
    bool goes = closes(call);
    if (call->kind != CALL_RETAIN) /* which informs nobody */
        r->writeback.error = 0;
    if (call->kind == CALL_CLOSE) {
        r->writeback.lost_told = r->writeback.lost_error != 0;
        r->closing = false;
    }
    if (goes) {
        call->file = r->file;
        call->region = NULL;
        region_free(c, r);
    } else {
        if (call->kind == CALL_CLOSE)
            region_admit(c, r);
        call_leave(c, call);
    }
    call_over(call, error ? -1 : 0, error);
}

/* A call that retains is in the way of others. True: it has waited long enough. */
static bool retain_waits(Cache *c, CacheCall *call, uint64_t now_ns)
{
    if (!c->remotes.retain_until_ns)
        c->remotes.retain_until_ns = time_add(now_ns, c->remotes.retain_patience_ns);
    call->until_ns = min_u64(call->until_ns, c->remotes.retain_until_ns);
    return now_ns >= c->remotes.retain_until_ns;
}

void sync_run(Cache *c, CacheCall *call, uint64_t now_ns)
{
    bool syncing = call->kind == CALL_SYNC, retaining = call->kind == CALL_RETAIN;
    bool nothing = retaining && !(call->region->flags & DODO_RETAIN);
    while (!nothing) {
        bool over = true;
        if (call->phase == SYNC_QUIET)
            over = quiet(c, call, now_ns);
        else if (call->phase == SYNC_WRITE)
            over = !GUARD(SYNC_WRITES) || write_back(c, call, now_ns);
        else if (call->phase == SYNC_FILE)
            over = call->failed || !GUARD(SYNC_FILE) || to_disk(c, call, now_ns);
        else if (call->phase == SYNC_OPEN)
            over = !syncing || call->failed || open_remote(c, call, now_ns);
        else if (call->phase == SYNC_CLONE)
            over = !syncing || call->failed || clone_all(c, call, now_ns);
        else if (call->phase == SYNC_KEEP)
            over = syncing || (!retaining && !closes(call)) || keep(c, call, now_ns);
        else if (call->phase == SYNC_REMOTE_CLOSE && retaining)
            over = call->failed || retain_remote(c, call, now_ns);
        else if (call->phase == SYNC_REMOTE_CLOSE)
            over = !closes(call) || close_remote(c, call, now_ns);
        else
            break;
        if (!over && retaining && call->need == CACHE_BLOCKED && retain_waits(c, call, now_ns)) {
            call_unblock(call);
            break;
        }
        if (!over)
            return;
        call->phase++;
    }
    sync_over(c, call);
}

void sync_done(Cache *c, CacheCall *call, int error, const CacheResult *result)
{
    Region *r = call->region;
    bool of_file = call->job.kind == CACHE_WRITE || call->job.kind == CACHE_SYNC;
    if (call->job.kind == CACHE_SYNC) {
        file_sync_end(c, r, error);
        waiters_wake(c);
        call->phase++;
    }
    if (of_file && error < 0)
        call->failed = -error;
    if (call->job.kind == CACHE_CLONE && call->kind != CALL_SYNC)
        c->keep.spent_ns += result->ns;
    if (call->job.kind == CACHE_CLONE && (uint64_t)result->count < call->job.len)
        call->at = call->job.first + call->job.pieces; /* not again and again */
    if (call->job.kind == CACHE_OPEN_REMOTE || call->job.kind == CACHE_CLOSE_REMOTE)
        call->phase++;
}
