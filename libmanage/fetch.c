/* SPDX-License-Identifier: MIT */
/* What is missing locally: from where, how much at once, and whether it is worth keeping. */
#include "libmanage/core_private.h"

uint8_t fetch_source(const Cache *c, const Region *r, uint64_t offset, uint64_t bytes,
                     uint64_t now_ns)
{
    return remote_holds_at(c, r, offset) && remote_pays(c, r, bytes, now_ns) ? CACHE_READ_REMOTE
                                                                             : CACHE_READ_FILE;
}

uint64_t missing_end(const Cache *c, const Region *r, uint64_t offset, uint64_t limit,
                     uint8_t source)
{
    uint64_t index = offset / c->cfg.piece_bytes, start = piece_start(c, index);
    Piece *p = piece_find(r, index);
    uint64_t stop = p ? p->valid : 0;
    if (source == CACHE_READ_REMOTE)
        stop |= ~remote_held(c, r, index);
    unsigned b = (unsigned)((offset - start) / CACHE_BLOCK);
    unsigned end = c->cfg.piece_bytes / CACHE_BLOCK;
    while (b < end && !(stop >> b & 1))
        b++;
    return min_u64(limit, start + (uint64_t)b * CACHE_BLOCK);
}

/* Of a read of the program's: the file serves it where it is looked at. */
static uint8_t source_looked(const Region *r, uint8_t source, uint64_t bytes)
{
    return source == CACHE_READ_REMOTE && file_is_looked_at(r, bytes) ? CACHE_READ_FILE : source;
}

/* ---- past the cache ------------------------------------------------------------------------- */

/* The call's job reads. @held: the kernel has it in memory, which says nothing of the drive. */
static void job_reads(Cache *c, CacheCall *call, bool held, uint64_t now_ns)
{
    call->job.held = held;
    if (!held)
        fill_note_begin(c, &call->job, now_ns);
    call_job(call);
}

/* Reads into the caller's buffer what is missing from call->at on. */
static void fetch_past(Cache *c, CacheCall *call, uint8_t source, bool held, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t to = call->at, next;
    while (to < call->end && (next = missing_end(c, r, to, call->end, source)) > to)
        to = next;
    call->past_cache = true;
    job_begin_buffer(&call->job, r, source, call->at, to, call->buf + (call->at - call->start),
                     now_ns);
    job_reads(c, call, held, now_ns);
}

/* Is all of it in remote memory? */
static bool is_filled(const Cache *c, const Region *r, uint64_t from, uint64_t to)
{
    bool filled = r->remote.state == REMOTE_OPEN;
    for (uint64_t i = from / c->cfg.piece_bytes; filled && piece_start(c, i) < to; i++)
        filled = !(piece_mask(c, i, from, to) & ~remote_held(c, r, i));
    return filled;
}

/* There is no room for it here: then perhaps in remote memory, for the next time. What is there
 * already is read from the file for a reason. */
static uint8_t past_source(Cache *c, const CacheCall *call, uint8_t source, uint64_t bytes,
                           uint64_t now_ns)
{
    Region *r = call->region;
    if (source != CACHE_READ_FILE || !c->cfg.remote ||
        !clone_pays(c, r, bytes, call->in_order, now_ns) || is_filled(c, r, call->at, call->end))
        return source;
    /* Not beside a write that began before remote memory was open: it goes to the file alone, and
     * what would be filled could be older. */
    if (r->remote.state == REMOTE_OPEN)
        return GUARD(FILL_BESIDE) && r->remote.file_writes ? source : CACHE_READ_FILL;
    if (remote_may_open(c, r, now_ns))
        remote_want(c, r);
    return source;
}

/* ---- what the kernel holds ------------------------------------------------------------------ */

/* What the kernel has in memory is read from there: neither a host nor a drive is as fast, and a
 * second copy here would take memory from both. */
static bool fetch_held(Cache *c, CacheCall *call, uint64_t offset, uint64_t limit, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t end = min_u64(limit, r->size);
    if (offset >= end || !c->hooks.file_held(c->hooks.ctx, r->file, offset, end - offset))
        return false;
    call->from_kernel = true;
    trace_note(c, r, offset, end, call->in_order); /* by the next run it may have gone */
    fetch_past(c, call, CACHE_READ_FILE, true, now_ns);
    return true;
}

/* ---- into the cache ------------------------------------------------------------------------- */

static void use_once(Cache *c, CacheCall *call, Piece *p)
{
    p->read_bytes = (uint32_t)min_u64(call->end - call->start, UINT32_MAX);
    p->in_order = call->in_order;
    if (p->index < call->touched && p->known)
        return;
    piece_use(c, p, false);
    call->touched = p->index + 1;
}

/* The job that reads what is missing from @offset (in @p) on, and from the pieces after it, as long
 * as there is room for them without waiting. */
static void fetch_into(Cache *c, CacheCall *call, Piece *p, uint64_t offset, uint64_t limit,
                       uint8_t source, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t to = missing_end(c, r, offset, limit, source);
    uint64_t index = p->index;
    bool remote = source == CACHE_READ_REMOTE;
    while (to < limit && to == piece_start(c, index + 1) &&
           index + 1 - p->index < CACHE_JOB_PIECES) {
        Piece *q = piece_find(r, index + 1);
        if (q ? piece_busy(q) || q->valid & 1 : false)
            break;
        uint8_t next = fetch_source(c, r, to, limit - offset, now_ns);
        if ((source_looked(r, next, limit - offset) == CACHE_READ_REMOTE) != remote ||
            direct_overlaps(c, r, index + 1, call))
            break;
        if (!q && room_at_once(c, piece_len(c, r, index + 1), r, p->index, index + 1 - p->index,
                               false, now_ns))
            q = piece_new(c, r, index + 1);
        if (!q)
            break;
        use_once(c, call, q);
        to = missing_end(c, r, to, limit, source);
        index++;
    }
    trace_note(c, r, offset, to, call->in_order);
    job_begin_pieces(c, &call->job, r, source, offset, to, now_ns);
    job_reads(c, call, false, now_ns);
}

/* What a job brings ahead, and the program reads past it, has been asked for. */
static void note_passed(Cache *c, CacheCall *call, uint64_t from, uint64_t to)
{
    trace_note(c, call->region, from, to, call->in_order);
    for (uint64_t i = from / c->cfg.piece_bytes; piece_start(c, i) < to; i++) {
        Piece *p = piece_find(call->region, i);
        if (!p || !p->job || !p->job->ahead)
            continue;
        p->passed |= piece_mask(c, i, from, to);
        use_once(c, call, p);
    }
}

/* Somebody else's job works on the piece. If it asks remote memory and takes longer than the file
 * would, the file is asked after all. */
static void fetch_beside(Cache *c, CacheCall *call, const Piece *p, uint64_t offset,
                         uint64_t now_ns)
{
    const CacheJob *job = p->job;
    if (!job) { /* a writer; it copies only */
        call_block(c, call, TIME_NEVER);
        return;
    }
    if (job->kind == CACHE_READ_FILE) {
        call_block(c, call, TIME_NEVER);
        return;
    }
    uint64_t file = cost_of(&call->region->ways->cost[COST_FILE], job->len);
    uint64_t until = file ? time_add(job->start_ns, file) : TIME_NEVER;
    if (job->kind <= CACHE_READ_FILL && now_ns < until) {
        call_block(c, call, until);
        return;
    }
    fetch_past(c, call, CACHE_READ_FILE, false, now_ns);
    if (job->kind > CACHE_READ_FILL || job->ahead) /* else another call has noted it */
        note_passed(c, call, offset, call->job.offset + call->job.len);
}

void fetch_for_read(Cache *c, CacheCall *call, Piece *p, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t index = call->at / c->cfg.piece_bytes;
    uint64_t offset = call->at / CACHE_BLOCK * CACHE_BLOCK;
    uint64_t limit = min_u64((call->end + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK, r->len);
    if (p && (p->job || p->writer)) {
        fetch_beside(c, call, p, offset, now_ns);
        return;
    }
    bool left = !p && r->ways->left, once = !p && r->advice == DODO_CADVISE_NOREUSE;
    uint8_t source = left ? CACHE_READ_FILE : fetch_source(c, r, offset, limit - offset, now_ns);
    bool asked = !left && kernel_is_asked(c, r, limit - offset, source);
    if (asked && fetch_held(c, call, offset, limit, now_ns))
        return;
    source = source_looked(r, source, limit - offset);
    if (left || once || direct_overlaps(c, r, index, NULL) ||
        (source == CACHE_READ_FILE && !asked && file_is_cheap(c, r, limit - offset))) {
        if (left) /* the next run may need it as well */
            trace_note(c, r, offset, min_u64(limit, r->size), call->in_order);
        fetch_past(c, call, source, false, now_ns);
        return;
    }
    enum Room room = p ? ROOM_YES : room_make(c, piece_len(c, r, index), &call->job, now_ns);
    if (room == ROOM_JOB) {
        call_job(call);
        return;
    }
    if (room == ROOM_WAIT) {
        call_block(c, call, TIME_NEVER);
        return;
    }
    if (room == ROOM_YES && !p)
        p = piece_new(c, r, index);
    if (!p) {
        fetch_past(c, call, past_source(c, call, source, limit - offset, now_ns), false, now_ns);
        return;
    }
    use_once(c, call, p);
    if (source == CACHE_READ_FILE && stream_none(r))
        fill_prepare(c, r, limit - offset, now_ns);
    fetch_into(c, call, p, offset, limit, source, now_ns);
}

void fetch_for_write(Cache *c, CacheCall *call, Piece *p, uint64_t offset, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t end = min_u64(offset + CACHE_BLOCK, r->len);
    if (p->job) { /* never two */
        call_block(c, call, TIME_NEVER);
        return;
    }
    job_begin_pieces(c, &call->job, r, CACHE_READ_FILE, offset, end, now_ns);
    job_reads(c, call, false, now_ns);
}
