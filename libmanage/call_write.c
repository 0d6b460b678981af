/* SPDX-License-Identifier: MIT */
/* Writes: into local memory, as stdio does; directly to the file if the region is written through
 * or if no room can be made. */
#include <errno.h>
#include <string.h>

#include "libmanage/call_private.h"

enum { WRITE_CACHED, WRITE_DIRECT_JOB, WRITE_DIRECT_COPY };

static void write_over(Cache *c, CacheCall *call, int error)
{
    uint64_t bytes = call->at - call->start;
    call_leave(c, call);
    if (error && !bytes) {
        call_over(call, -1, -error);
        return;
    }
    c->stats.writes++;
    c->stats.write_bytes += bytes;
    call_over(call, (ssize_t)bytes, 0);
}

/* ---- past the cache ------------------------------------------------------------------------- */

/* The pieces of [from, to) may be read meanwhile, but not written out or evicted: they are older
 * than what the file gets. */
static void direct_mark(Cache *c, Region *r, uint64_t from, uint64_t to, bool direct)
{
    for (uint64_t i = from / c->cfg.piece_bytes; piece_start(c, i) < to; i++) {
        Piece *p = piece_find(r, i);
        if (!p)
            continue;
        p->direct = direct;
        piece_flags(p);
    }
}

static void direct_end(Cache *c, CacheCall *call)
{
    CacheCall **at = &call->region->direct;
    while (*at != call)
        at = &(*at)->links.next_direct;
    *at = call->links.next_direct;
    direct_mark(c, call->region, call->direct.from, call->direct.to, false);

    call->phase = WRITE_CACHED;
    waiters_wake(c);
}

/* Writes [call->at, to) to the file. Nothing may be fetched there meanwhile: it could be older. */
static void direct_begin(Cache *c, CacheCall *call, uint64_t to, uint64_t now_ns)
{
    Region *r = call->region;
    for (uint64_t i = call->at / c->cfg.piece_bytes; piece_start(c, i) < to; i++) {
        Piece *p = piece_find(r, i);
        if (direct_overlaps(c, r, i, call) || (p && piece_no_write(p))) {
            call_block(c, call, TIME_NEVER);
            return;
        }
    }
    job_begin_buffer(&call->job, r, CACHE_WRITE, call->at, to, call->buf + (call->at - call->start),
                     now_ns);
    direct_mark(c, r, call->at, to, true);
    call->direct.from = call->at;
    call->direct.to = to;
    call->phase = WRITE_DIRECT_JOB;
    call->links.next_direct = r->direct;
    r->direct = call;
    call_job(call);
}

bool write_alone(Cache *c, CacheCall *call, Piece *p, bool hits, uint64_t now_ns)
{
    if (p->writer || (GUARD(JOB_ALONE) && p->job)) {
        piece_unwant(c, p, call);
        call_block(c, call, TIME_NEVER);
        return false;
    }
    if (!p->pins && (!hits || piece_take(c, p)))
        return true;
    piece_want(p, call);
    if (p->pins)
        call_block(c, call, TIME_NEVER);
    else
        call_block_hit(c, call, now_ns);
    return false;
}

/* The file has it: so has what is cached of it. False: somebody is in the way. */
static bool direct_copy(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t to = min_u64(call->direct.to, call->end); /* a short write has moved the end */
    while (call->at < to) {
        Piece *p = piece_find(r, call->at / c->cfg.piece_bytes);
        uint64_t start = call->at / c->cfg.piece_bytes * c->cfg.piece_bytes;
        uint64_t end = min_u64(to, start + c->cfg.piece_bytes);
        if (p && !write_alone(c, call, p, GUARD(HIT_DIRECT), now_ns))
            return false;
        for (uint64_t at = call->at; p && at < end;) {
            uint64_t block_end = min_u64(end, (at / CACHE_BLOCK + 1) * CACHE_BLOCK);
            if (GUARD(DIRECT_COPY) && p->valid & piece_mask(c, p->index, at, block_end))
                memcpy(p->data + (at - start), call->buf + (at - call->start),
                       (size_t)(block_end - at));
            at = block_end;
        }
        if (p && p->known)
            piece_use(c, p, true);
        if (p) {
            piece_unwant(c, p, call);
            piece_open(p);
        }
        call->at = end;
    }
    return true;
}

/* The write failed from call->doubt_from on. Nobody knows what the file has there now, so what is
 * cached of it is worthless. False: somebody is in the way. */
static bool direct_doubt(Cache *c, CacheCall *call, uint64_t now_ns)
{
    uint64_t to = call->direct.to;
    while (GUARD(DIRECT_FAILED) && call->direct.doubt_from < to) {
        uint64_t i = call->direct.doubt_from / c->cfg.piece_bytes;
        Piece *p = piece_find(call->region, i);
        if (p && !write_alone(c, call, p, GUARD(HIT_DIRECT), now_ns))
            return false;
        if (p) {
            p->valid &= ~piece_mask(c, i, call->direct.doubt_from, to) | p->dirty;
            p->from_remote &= p->valid;
            p->unasked &= p->valid;
            piece_unwant(c, p, call);
            piece_open(p);
        }
        call->direct.doubt_from = piece_start(c, i + 1);
    }
    return true;
}

/* ---- into the cache ------------------------------------------------------------------------- */

/* The piece that [call->at, ...) goes to; NULL: the call needs something first. */
static Piece *write_piece(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    uint64_t index = call->at / c->cfg.piece_bytes;
    Piece *p = piece_find(r, index);
    if (!p && direct_overlaps(c, r, index, NULL)) {
        call_block(c, call, TIME_NEVER);
        return NULL;
    }
    enum Room room = p ? ROOM_YES : room_make(c, piece_len(c, r, index), &call->job, now_ns);
    if (room == ROOM_YES && !p)
        p = piece_new(c, r, index);
    if (room == ROOM_JOB)
        call_job(call);
    else if (room == ROOM_WAIT)
        call_block(c, call, TIME_NEVER);
    else if (!p) {
        uint64_t to = min_u64(call->end, piece_start(c, index + 1));
        while (to < call->end && !piece_find(r, to / c->cfg.piece_bytes))
            to = min_u64(call->end, to + c->cfg.piece_bytes);
        direct_begin(c, call, to, now_ns);
    }
    return p;
}

/* Of the block at @block, which [from, to) covers in part: does the file have some of the rest? */
static bool rest_in_file(const Region *r, uint64_t block, uint64_t from, uint64_t to)
{
    uint64_t end = min_u64(min_u64(block + CACHE_BLOCK, r->len), r->size);
    return block < end && (block < from || to < end);
}

/* Which blocks at the ends of [from, to) came from remote memory and would keep some of their
 * bytes. */
static uint64_t edges_from_remote(const Cache *c, const Piece *p, uint64_t from, uint64_t to)
{
    uint64_t start = piece_start(c, p->index), end = start + p->len, edges = 0;
    if (from % CACHE_BLOCK)
        edges |= piece_mask(c, p->index, from, from + 1);
    if (to % CACHE_BLOCK && to < end)
        edges |= piece_mask(c, p->index, to - 1, to);
    return GUARD(FILE_EDGES) ? edges & p->from_remote : 0;
}

/* They count as missing: the file is asked. False: somebody is in the way. */
static bool edges_forget(Cache *c, CacheCall *call, Piece *p, uint64_t edges, uint64_t now_ns)
{
    if (!edges)
        return true;
    if (!write_alone(c, call, p, GUARD(HIT_ALONE), now_ns))
        return false;
    p->valid &= ~edges;
    p->from_remote &= ~edges;
    p->unasked &= ~edges;
    piece_open(p);
    return true;
}

/* The blocks at the ends of [from, to) that are not valid yet: the rest of each must be fetched
 * from the file, or is zeros beyond its end. False: the call needs a job for it first. */
static bool write_edges(Cache *c, CacheCall *call, Piece *p, uint64_t from, uint64_t to,
                        uint64_t now_ns)
{
    uint64_t start = piece_start(c, p->index);
    const uint64_t edges[] = {from / CACHE_BLOCK * CACHE_BLOCK,
                              (to - 1) / CACHE_BLOCK * CACHE_BLOCK};
    for (int i = 0; i < 2; i++) {
        uint64_t block = edges[i], end = min_u64(block + CACHE_BLOCK, start + p->len);
        if (p->valid & piece_mask(c, p->index, block, end))
            continue;
        if (GUARD(EDGES) && rest_in_file(p->region, block, from, to)) {
            fetch_for_write(c, call, p, block, now_ns);
            return false;
        }
        memset(p->data + (block - start), 0, (size_t)(end - block));
    }
    return true;
}

static void write_copy(Cache *c, CacheCall *call, Piece *p, uint64_t to)
{
    uint64_t len = to - call->at, start = piece_start(c, p->index);
    p->writer = true;
    if (p->wanted_by == call)
        p->wanted_by = NULL;
    piece_flags(p);
    cache_unlock(c);
    memcpy(p->data + (call->at - start), call->buf + (call->at - call->start), (size_t)len);
    cache_lock(c);
    p->writer = false;
    uint64_t blocks = piece_mask(c, p->index, call->at, to);
    p->valid |= blocks;
    p->from_remote &= ~blocks;
    p->unasked &= ~blocks;
    call->region->size = max_u64(call->region->size, to);
    piece_dirty(c, p, blocks);
    piece_flags(p);
    piece_open(p);
    call->at = to;
    if (c->waiters)
        waiters_wake(c);
}

void write_run(Cache *c, CacheCall *call, uint64_t now_ns)
{
    Region *r = call->region;
    if (call->phase == WRITE_DIRECT_COPY) {
        if (!direct_copy(c, call, now_ns) || !direct_doubt(c, call, now_ns))
            return;
        direct_end(c, call);
        if (call->failed) {
            write_over(c, call, -call->failed);
            return;
        }
    }
    bool through = c->ending || r->flags & MANAGE_WRITE_THROUGH;
    if (GUARD(THROUGH) && through && call->at < call->end) {
        direct_begin(c, call, call->end, now_ns);
        return;
    }
    while (call->at < call->end) {
        Piece *p = write_piece(c, call, now_ns);
        if (!p)
            return;
        uint64_t to = min_u64(call->end, piece_start(c, p->index + 1));
        if (p->index >= call->touched || !p->known)
            piece_use(c, p, true);
        call->touched = p->index + 1;
        if (!write_alone(c, call, p, false, now_ns) ||
            !edges_forget(c, call, p, edges_from_remote(c, p, call->at, to), now_ns))
            return;
        if (!write_edges(c, call, p, call->at, to, now_ns)) {
            piece_unwant(c, p, call);
            return;
        }
        if (!write_alone(c, call, p, GUARD(HIT_ALONE), now_ns))
            return;
        write_copy(c, call, p, to);
    }
    write_over(c, call, 0);
}

void write_done(Cache *c, CacheCall *call, int error, const CacheResult *result)
{
    if (call->phase != WRITE_DIRECT_JOB) { /* a fetch for it */
        if (error < 0)
            write_over(c, call, error);
        return;
    }
    Region *r = call->region;
    uint64_t written = result->count > 0 ? min_u64((uint64_t)result->count, call->job.len) : 0;

    if (written)
        r->size = max_u64(r->size, call->at + written);
    r->writeback.lone++; /* even if the write failed, the file may have some of it, as reads show */
    call->direct.doubt_from = call->direct.to;
    call->failed = 0;
    if (error < 0) {
        call->end = call->direct.doubt_from =
            call->at + written;              /* a short write is the call's end, ... */
        call->failed = written ? 0 : -error; /* ... and none its failure */
    }
    call->phase = WRITE_DIRECT_COPY;
}
