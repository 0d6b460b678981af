/* SPDX-License-Identifier: MIT */
/* mwrite: write-through, both halves at the same time.
 *
 * The remote half goes out in windows of chunks, each chunk with a write number of its own, taken
 * before it starts. The file half is one write of the whole. If the file half fails or is short,
 * the blocks are made unfilled at the imd before the call returns (VOID); if that fails, or the
 * remote half does, the copy is poisoned: dropped, and never read again.
 *
 * Of two copies (copies.c) each has a remote half. That of the other one is a piece of the call,
 * its twin: it begins in the same step, and the call ends when both are over. */
#include <errno.h>
#include <stdlib.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/run.h"

enum {
    WRITE_WINDOW_CHUNKS = 32, /* of one mwrite under way at once */
};

static const CallOps twin_ops;

enum WritePhase { PHASE_ENTER, PHASE_RUN, PHASE_VOID, PHASE_EDGES, PHASE_OVER };

/* Under the lock. A block of which a part was written may have become filled in one copy alone. */
static void twin_write_over(Client *c, Region *r, uint64_t first, uint64_t last)
{
    Region *twin = r->mirror.twin;
    checks_write_over(twin, first, last);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t block = i == 0 ? first : last;
        if (region_has_filled(r, block) != region_has_filled(twin, block))
            mirror_uneven(c, region_has_filled(r, block) ? twin : r);
    }
}

static void write_end(Call *call, ssize_t result, int error, const char *reason)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    client_lock(c);
    if (st->write.recorded) {
        uint64_t first = st->write.record.first_block, last = st->write.record.last_block;
        list_remove(&st->write.record.link);
        checks_write_over(r, first, last);
        if (r->mirror.twin)
            twin_write_over(c, r, first, last);
    }
    (void)region_leave(c, region_top(r));
    if (result > 0)
        r->counts.written_bytes += (uint64_t)result;
    if (result > 0 && !region_top(r)->cached) {
        c->account.figures.writes++;
        c->account.figures.write_bytes += (uint64_t)result;
        c->account.changed = true;
    }
    client_unlock(c);
    call_finish(call, result, error, reason);
    c->hooks.wake(c->hooks.ctx);
}

void write_numbers_over(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    client_lock(c);
    bool ours = r->active && region_address_equal(&r->memory.address, &st->run.address);
    for (unsigned i = 0; ours && i < st->write.numbers; i++)
        numbers_end(&r->memory.numbers, st->run.number + i);
    st->write.numbers = 0;
    client_unlock(c);
    c->hooks.wake(c->hooks.ctx);
}

size_t write_window_len(const CallState *st, size_t at)
{
    uint64_t start = st->user.offset + at;
    uint64_t end =
        start / WIRE_CHUNK_MAX * WIRE_CHUNK_MAX + (uint64_t)WRITE_WINDOW_CHUNKS * WIRE_CHUNK_MAX;
    uint64_t stop = st->user.offset + st->user.len;
    return (end < stop ? end : stop) - start;
}

bool write_has_more(const CallState *st)
{
    return st->write.remote && st->write.sent + st->user.window < st->user.len;
}

/* ---- the remote half ------------------------------------------------------------------------ */

static void remote_failed(Call *call, enum Loss loss, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    run_end(call);
    write_numbers_over(call);
    st->write.remote = false;
    st->write.remote_failed = true;
    if (!RULE(POISON))
        return;
    client_lock(c);
    c->stats.poisoned++;
    client_unlock(c);
    client_region_lost(c, call->region->rd, &st->run.address, loss, now_ns);
}

static void remote_result(Call *call, enum RunResult result, uint64_t now_ns)
{
    CallState *st = call->state;
    enum Loss loss = loss_of(result, st->run.status);
    client_blame(call->channel->client, call->region->rd, &st->run.address, loss, now_ns);
    remote_failed(call, loss, now_ns);
}

/* Takes numbers for the window at @at and starts it. False: no numbers are available now. */
static bool window_start(Call *call, enum WriteKind kind, size_t at, const uint8_t *data,
                         uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t offset = st->user.offset + at;
    size_t len = write_window_len(st, at);
    unsigned count = write_chunk_count(offset, len);
    client_lock(c);
    bool same = r->active && region_address_equal(&r->memory.address, &st->run.address);
    uint64_t number = same ? numbers_take_row(&r->memory.numbers, count) : 0;
    Addr host = r->memory.host;
    client_unlock(c);
    if (!same) { /* dropped meanwhile: by another call, or by a lost host */
        remote_failed(call, LOSS_WRITE, now_ns);
        return true;
    }
    if (number == 0)
        return false;
    RegionAddress address = st->run.address;
    st->write.numbers = count;
    st->user.window = len;
    st->write.summed = false;
    run_write(call, &host, &address, kind, offset, data, len, number, now_ns);
    return true;
}

/* Has the other remote half made the checksums of the whole blocks in [start, end)? They were
 * forgotten when the write began. */
static bool twin_summed(const Call *call, uint64_t start, uint64_t end)
{
    Client *c = call->channel->client;
    const Region *r = call->region;
    uint64_t first = block_of(start + WIRE_BLOCK_SIZE - 1);
    uint64_t stop = end == r->len ? block_of(end - 1) + 1 : block_of(end);
    if (!r->mirror.twin || !c->config.block_sum || first >= stop)
        return false;
    client_lock(c);
    bool summed = checks_known(r, first, stop - 1);
    client_unlock(c);
    return summed;
}

static void window_sum(Call *call)
{
    CallState *st = call->state;
    block_sums(call->channel->client, call->region->len, st->read.seed,
               st->user.offset + st->write.sent, st->user.buf + st->write.sent, st->user.window,
               &st->sums);
    st->write.summed = true;
}

/* The checksums are made while the host has the last word. Not where the other remote half may make
 * them. */
static void window_is_under_way(Call *call)
{
    if (!call->state->write.summed && !call->region->mirror.twin && run_is_sent(call))
        window_sum(call);
}

static void window_saw(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t start = st->user.offset + st->write.sent, end = start + st->user.window;
    if (twin_summed(call, start, end))
        st->sums.count = 0;
    else if (!st->write.summed)
        window_sum(call);
    client_lock(c);
    Region *twin = mirror_other(r);
    if (twin && twin->memory.blocks.seed == st->read.seed)
        checks_written(twin, &st->sums); /* the write is on record for it, too */
    if (r->active && region_address_equal(&r->memory.address, &st->run.address)) {
        checks_written(r, &st->sums);
        mirror_heard(c, r, now_ns);
        for (uint64_t b = block_of(start); b <= block_of(end - 1); b++)
            if (b * WIRE_BLOCK_SIZE >= start && ((b + 1) * WIRE_BLOCK_SIZE <= end || end == r->len))
                region_saw_filled(c, r, b, true);
    }
    client_unlock(c);
}

static void remote_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    while (st->write.remote) {
        if (st->run.kind == RUN_NONE) {
            if (st->write.sent == st->user.len)
                return;
            if (!window_start(call, WRITE_DATA, st->write.sent, st->user.buf + st->write.sent,
                              now_ns)) {
                if (!st->write.file_started || st->write.file_done)
                    call->need = NEED_BLOCKED;
                return;
            }
            if (!st->write.remote)
                return;
        }
        enum RunResult result = run_step(call, now_ns);
        if (result == RUN_RUNNING) {
            window_is_under_way(call);
            return;
        }
        if (result != RUN_DONE) {
            remote_result(call, result, now_ns);
            return;
        }
        window_saw(call, now_ns);
        run_end(call);
        write_numbers_over(call);
        st->write.sent += st->user.window;
    }
}

/* ---- the file half failed ------------------------------------------------------------------- */

/* Voids the window that was under way, by its own numbers: its late datagrams are then refused as
 * finished. */
static void void_current(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    Addr host = st->run.peer;
    RegionAddress address = st->run.address;
    uint64_t number = st->run.number;
    run_write(call, &host, &address, WRITE_VOID, st->user.offset + st->write.sent, NULL,
              st->user.window, number, now_ns);
}

/* Not before its twin is over: a copy that missed the write is dropped by then. */
static void write_result(Call *call)
{
    CallState *st = call->state;
    call->phase = PHASE_OVER;
    if (st->write.twin)
        call_finish(call, 0, 0, NULL);
    else if (call->group.running > 0)
        return;
    else if (st->write.file_count < 0)
        write_end(call, -1, st->write.file_error, "writing the backing file failed");
    else
        write_end(call, st->write.file_count, 0, NULL);
}

/* Windows before the one under way are done at the imd: voided with new numbers. */
static void void_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    while (st->write.remote) {
        if (st->run.kind == RUN_NONE) {
            if (st->write.void_at >= st->write.sent)
                break;
            if (!window_start(call, WRITE_VOID, st->write.void_at, NULL, now_ns)) {
                remote_failed(call, LOSS_WRITE,
                              now_ns); /* no numbers free: drop the copy instead */
                break;
            }
            if (!st->write.remote)
                break;
        }
        enum RunResult result = run_step(call, now_ns);
        if (result == RUN_RUNNING)
            return;
        if (result != RUN_DONE) {
            remote_result(call, result, now_ns);
            break;
        }
        size_t start = st->run.offset - st->user.offset;
        run_end(call);
        write_numbers_over(call);
        client_lock(c);
        c->stats.voided++;
        client_unlock(c);
        if (start < st->write.sent)
            st->write.void_at = start + st->user.window;
    }
    write_result(call);
}

static void void_begin(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    call->phase = PHASE_VOID;
    uint64_t first = block_of(st->user.offset), last = block_of(st->user.offset + st->user.len - 1);
    client_lock(c);
    if (r->active)
        region_gave_up(c, r, first, last);
    checks_forget(r, first, last);
    if (r->mirror.twin)
        checks_forget(r->mirror.twin, first, last);
    client_unlock(c);
    if (RULE(FILE_FAILURE) && st->write.remote && st->run.kind != RUN_NONE)
        void_current(call, now_ns);
    void_step(call, now_ns);
}

/* ---- blocks of which a part was written -------------------------------------------------------
 */

static bool edge_of_copy(const Region *r, uint64_t block)
{
    return r->active && r->memory.blocks.checks && region_has_filled(r, block);
}

/* The first or the last block of the write, if only a part of it was written and its checksum is
 * worth knowing: a host has all of it. */
static bool edge_block(const Call *call, unsigned edge, uint64_t *ret_block)
{
    const CallState *st = call->state;
    const Region *r = call->region, *twin = mirror_other(r);
    uint64_t from = st->user.offset, end = from + st->user.len;
    uint64_t first = st->write.record.first_block, last = st->write.record.last_block;
    bool head = from % WIRE_BLOCK_SIZE, tail = end % WIRE_BLOCK_SIZE && end < r->len;
    *ret_block = edge == 0 ? first : last;
    bool partial = edge == 0 ? head || (tail && first == last) : tail && first != last;
    return partial && ((st->write.remote && edge_of_copy(r, *ret_block)) ||
                       (twin && edge_of_copy(twin, *ret_block)));
}

/* The checksum comes from the file: the write has just brought these bytes into memory, and the
 * next read then need not read the file for them. */
static void write_edges(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    call->phase = PHASE_EDGES;
    for (; st->write.edge < 2; st->write.edge++) {
        uint64_t block;
        client_lock(c);
        bool wanted = edge_block(call, st->write.edge, &block);
        client_unlock(c);
        if (wanted && !st->read.edges)
            st->read.edges = malloc(WIRE_BLOCK_SIZE);
        if (!wanted || !st->read.edges)
            continue;
        uint64_t at = block * WIRE_BLOCK_SIZE, left = r->len - at;
        call_need_file(call, NEED_FILE_READ, r->file, st->read.edges,
                       left < WIRE_BLOCK_SIZE ? left : WIRE_BLOCK_SIZE, r->file_offset + at);
        return;
    }
    write_end(call, st->write.file_count, 0, NULL);
}

/* The file holds these bytes of the block, whatever this copy does. */
static void edge_known(Call *call, Region *r)
{
    Client *c = call->channel->client;
    BlockSums sums;
    client_lock(c);
    uint64_t seed = r->memory.blocks.seed;
    client_unlock(c);
    block_sums(c, r->len, seed, call->file_offset - r->file_offset, call->state->read.edges,
               call->file_len, &sums);
    client_lock(c);
    if (r->active && r->memory.blocks.seed == seed)
        checks_written(r, &sums);
    client_unlock(c);
}

/* Nobody else writes the block while this write is on record. */
static void edge_read(Call *call, const FileResult *result)
{
    CallState *st = call->state;
    st->write.edge++;
    if (result->count != (ssize_t)call->file_len)
        return; /* the block stays unknown */
    edge_known(call, call->region);
    if (call->region->mirror.twin)
        edge_known(call, call->region->mirror.twin);
}

/* ---- entering ------------------------------------------------------------------------------- */

/* Under the lock: what the remote half to this copy begins with. */
static void half_enter(CallState *st, Region *r, uint64_t first, uint64_t last)
{
    st->write.remote = r->active;
    st->run.address = r->memory.address;
    st->read.seed = r->memory.blocks.seed;
    checks_forget(r, first, last);
    r->written = true;
}

/* Under the lock: @twin, a piece that was made just now, is the remote half to the other copy. */
static void twin_enter(Call *twin, const Call *call, Region *r)
{
    CallState *st = twin->state;
    const CallState *main = call->state;
    twin->ops = &twin_ops;
    twin->region = r;
    twin->phase = PHASE_RUN;
    twin->group.on = true; /* it looks at its call in each step */
    st->user = main->user;
    st->write.twin = st->write.file_started = st->write.file_done = true;
    st->write.record.first_block = main->write.record.first_block;
    st->write.record.last_block = main->write.record.last_block;
    half_enter(st, r, st->write.record.first_block, st->write.record.last_block);
}

/* Under the lock. */
static void record_enter(Call *call, uint64_t first, uint64_t last)
{
    CallState *st = call->state;
    Region *r = call->region;
    st->write.record.first_block = first;
    st->write.record.last_block = last;
    list_push_back(&region_home(r)->writes, &st->write.record.link);
    offers_overtaken(r, st->user.offset, st->user.offset + st->user.len);
    st->write.recorded = true;
    half_enter(st, r, first, last);
    if (r->mirror.twin) {
        checks_forget(r->mirror.twin, first, last);
        r->mirror.twin->written = true;
    }
    if (RULE(MIRROR_BOTH) && mirror_other(r))
        twin_enter(call_piece(call), call, r->mirror.twin);
    heal_beside(call->channel->client, st->user.len);
    call->channel->client->stats.writes++;
}

enum WriteEntry { ENTRY_MADE, ENTRY_BEHIND_OTHERS, ENTRY_NO_STATE, ENTRY_NO_MEMORY };

/* Under the lock. Writes wait for those to common blocks. A write to two copies needs a state for
 * the other remote half; those who have one get on without any more. */
static enum WriteEntry write_try(Call *call, uint64_t first, uint64_t last)
{
    const CallState *st = call->state;
    if (!call->region->active && mirror_other(call->region))
        call->region = call->region->mirror.twin;
    const Region *r = call->region;
    /* Once a piece of a call is in the file, its others follow, whatever becomes of the region. */
    if (!r->active && !region_file_serves(r) && st->part.at == 0)
        return ENTRY_NO_MEMORY;
    if (RULE(WRITES_SERIALIZED) && region_write_overlaps(r, first, last)) {
        call->channel->client->stats.blocked++;
        return ENTRY_BEHIND_OTHERS;
    }
    if (mirror_other(r)) {
        call->group.on = true; /* it looks at its twin in each step, and for a state for that */
        if (!call_piece_free(call))
            return ENTRY_NO_STATE;
    }
    record_enter(call, first, last);
    return ENTRY_MADE;
}

/* Then the write is recorded, and reads beside it go to the file. */
static bool write_enter(Call *call)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    uint64_t first = block_of(st->user.offset), last = block_of(st->user.offset + st->user.len - 1);
    client_lock(c);
    enum WriteEntry entry = write_try(call, first, last);
    client_unlock(c);
    if (entry == ENTRY_BEHIND_OTHERS)
        call->need = NEED_BLOCKED;
    else if (entry == ENTRY_NO_MEMORY)
        write_end(call, -1, ENOMEM, "the region's host is lost: nothing was written");
    else if (entry == ENTRY_MADE)
        call->phase = PHASE_RUN;
    return entry == ENTRY_MADE;
}

static void call_write_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->need == NEED_BLOCKED)
        call->need = NEED_NETWORK;
    if (call->phase == PHASE_ENTER) {
        if (!write_enter(call))
            return;
    }
    if (call->phase == PHASE_VOID) {
        void_step(call, now_ns);
        return;
    }
    if (call->phase == PHASE_EDGES) {
        if (!call->file_pending)
            write_edges(call);
        return;
    }
    if (call->phase == PHASE_OVER) {
        write_result(call);
        return;
    }
    remote_step(call, now_ns);
    if (!st->write.file_started) { /* the first datagrams are on their way: now the file */
        st->write.file_started = true;
        call_need_file(call, NEED_FILE_WRITE, call->region->file, st->user.buf, st->user.len,
                       call->region->file_offset + st->user.offset);
        return;
    }
    if (!st->write.file_done)
        return;
    if (st->write.file_count < 0 || (size_t)st->write.file_count < st->user.len)
        void_begin(call, now_ns);
    else if ((!st->write.remote || st->write.sent == st->user.len) && call->group.running == 0)
        write_edges(call);
}

/* The remote half to the other copy. The file half is its call's. */
static void twin_step(Call *twin, uint64_t now_ns)
{
    CallState *st = twin->state;
    const CallWrite *main = &twin->parent->state->write;
    if (twin->need == NEED_BLOCKED)
        twin->need = NEED_NETWORK;
    if (twin->phase == PHASE_VOID) {
        void_step(twin, now_ns);
        return;
    }
    remote_step(twin, now_ns);
    if (!main->file_done)
        return;
    if (main->file_count < 0 || (size_t)main->file_count < st->user.len)
        void_begin(twin, now_ns);
    else if (!st->write.remote || st->write.sent == st->user.len)
        write_result(twin);
}

static const CallOps twin_ops = {.step = twin_step};

/* What it came to shows in its copy: it has the write, or is dropped. */
static void call_write_twin_over(Call *piece, ssize_t result, int error, const char *reason)
{
    (void)piece, (void)result, (void)error, (void)reason;
}

static void call_write_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    (void)now_ns; /* the next step goes on */
    if (call->phase == PHASE_EDGES) {
        edge_read(call, result);
        return;
    }
    call->state->write.file_done = true;
    call->state->write.file_count = result->count;
    call->state->write.file_error = result->error;
}

/* Until it has entered, neither half has begun. */
static bool call_write_cancel(Call *call)
{
    if (call->phase != PHASE_ENTER)
        return false;
    write_end(call, -1, ECANCELED, "the request was cancelled");
    return true;
}

static const CallOps write_ops = {.step = call_write_step,
                                  .file = call_write_file,
                                  .piece_over = call_write_twin_over,
                                  .cancel = call_write_cancel};

void call_write_begin(Call *call, Region *r, uint64_t offset, const void *buf, size_t len)
{
    CallState *st = call->state;
    call->ops = &write_ops;
    call->region = r;
    st->user.buf = (uint8_t *)(uintptr_t)buf; /* only read */
    st->user.offset = offset;
    st->user.len = len;
}
