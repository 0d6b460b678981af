/* SPDX-License-Identifier: MIT */
/* mread: remote memory first. Blocks that are not filled there come whole from the backing file,
 * and are offered as a fill. So do blocks that a write of this process is under way for (their
 * remote copy may be older than the file), blocks that cannot be checked, and those that are not
 * what the host was given (checks.c). Only whole blocks can be checked, so whole blocks are asked
 * for. The caller may want only a part of the first and the last one: these two go to a buffer of
 * their own. So does a window that is not what its host was given, once more: somebody may have
 * written into the caller's buffer meanwhile.
 *
 * Of two copies (copies.c) one is asked, and the other one for what that one lacks, or when it is
 * lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/misses.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"

enum {
    WINDOW_TURNS_MAX = 4, /* of one window of a read, from copy to copy */
    EDGES_BYTES = 2 * WIRE_BLOCK_SIZE,
};

enum ReadPhase { READ_ENTER, READ_REMOTE, READ_MISSES, READ_FILE };

/* Under the lock: what the read has brought, and what it took. */
static void read_account(const Call *call, uint64_t bytes)
{
    Account *a = &call->channel->client->account;
    const CallRead *read = &call->state->read;
    uint64_t missed = min_u64(read->missed, bytes);
    if (region_top(call->region)->cached || bytes == 0)
        return;
    a->figures.remote_bytes += bytes - missed;
    a->figures.file_bytes += missed;
    *(missed ? &a->figures.file_reads : &a->figures.remote_reads) += 1;
    a->file_ns += read->file_ns;
    a->file_bytes += read->file_bytes;
    /* Of one that needed the file, too, what is left of its time. */
    a->remote_ns += missed < bytes ? sub_u64(read->heard_ns, read->began_ns + read->file_ns) : 0;
    a->changed = true;
}

/* Under the lock: it waits for that copy; NULL: for none. */
static void wait_for(CallState *st, Region *r)
{
    if (st->read.waits_for)
        st->read.waits_for->mirror.reads--;
    if (r)
        r->mirror.reads++;
    st->read.waits_for = r;
}

/* Under the lock: the call is on the region no more. True: its close waits for that. */
static bool read_leave(const Call *call, uint64_t bytes)
{
    Region *r = region_top(call->region);
    wait_for(call->state, NULL);
    read_account(call, bytes);
    return region_leave(call->channel->client, r);
}

static void read_over(Call *call, ssize_t result, int error, const char *reason, bool last)
{
    Client *c = call->channel->client;
    call_finish(call, result, error, reason);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

static void read_end(Call *call, ssize_t result, int error, const char *reason)
{
    Client *c = call->channel->client;
    client_lock(c);
    bool last = read_leave(call, result > 0 ? (uint64_t)result : 0);
    client_unlock(c);
    read_over(call, result, error, reason, last);
}

static void read_from_file(Call *call)
{
    CallState *st = call->state;
    call->phase = READ_FILE;
    call_need_file(call, NEED_FILE_READ, call->region->file, st->user.buf + st->user.done,
                   st->user.window, call->region->file_offset + read_window_start(st));
}

/* The remote half cannot serve (any more): FALLBACK goes on with the file, and so does a stripe. */
static void read_inactive(Call *call, const char *reason)
{
    Client *c = call->channel->client;
    client_lock(c);
    bool serves = region_file_serves(call->region);
    client_unlock(c);
    if (serves)
        read_from_file(call);
    else
        read_end(call, -1, ENOMEM, reason);
}

/* All of the window goes to a buffer of the call's own, which has room for any edges, too. */
static bool window_apart(CallState *st, size_t len)
{
    free(st->read.edges);
    st->read.edges = malloc(len > EDGES_BYTES ? len : EDGES_BYTES);
    st->read.edge_head = len;
    return st->read.edges != NULL;
}

/* Widens the window to whole blocks: [*ret_from, the result), in the region. The edges are blocks
 * of which only a part is wanted. False: there is no memory for them. */
static bool window_widen(Call *call, uint64_t *ret_from, uint64_t *ret_end)
{
    CallState *st = call->state;
    uint64_t from = read_window_start(st), end = from + st->user.window;
    *ret_from = from;
    *ret_end = end;
    st->read.edge_head = st->read.edge_tail = 0;
    if (!call->channel->client->config.block_sum)
        return true;
    uint64_t len = call->region->len;
    *ret_from = block_of(from) * WIRE_BLOCK_SIZE;
    *ret_end = block_of(end - 1) * WIRE_BLOCK_SIZE + WIRE_BLOCK_SIZE;
    if (*ret_end > len)
        *ret_end = len;
    if (st->read.apart)
        return window_apart(st, *ret_end - *ret_from);
    uint64_t first_end = *ret_from + WIRE_BLOCK_SIZE, last = block_of(end - 1) * WIRE_BLOCK_SIZE;
    if (*ret_from < from)
        st->read.edge_head = (first_end < *ret_end ? first_end : *ret_end) - *ret_from;
    if (end < *ret_end && last >= *ret_from + st->read.edge_head)
        st->read.edge_tail = *ret_end - last;
    if (st->read.edge_head + st->read.edge_tail > 0 && !st->read.edges)
        st->read.edges = malloc(EDGES_BYTES);
    return st->read.edge_head + st->read.edge_tail == 0 || st->read.edges;
}

/* Under the lock: what there is of the region, of this copy of it, at this moment. */
static void window_take(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t first = block_of(read_window_start(st));
    uint64_t last = block_of(read_window_start(st) + st->user.window - 1);
    st->read.looked = true;
    st->read.asked_ns = now_ns;
    st->read.active = r->active;
    st->read.beside = RULE(READ_BESIDE_WRITE) && region_write_overlaps(r, first, last);
    if (r->mirror.twin) {
        st->read.patience_ns = mirror_patience_ns(c, r);
        st->read.asked_clock_ns = channel_clock(call->channel, now_ns);
        st->read.turn_ns = time_add(st->read.asked_clock_ns, st->read.patience_ns);
    }
    bool asked = r->mirror.twin && r->active && !st->read.beside;
    if (asked)
        mirror_asked(r, now_ns);
    wait_for(st, asked ? r : NULL);
    heal_beside(c, st->user.window);
    c->stats.reads_beside_writes += st->read.active && st->read.beside;
    st->read.host = r->memory.host;
    st->run.address = r->memory.address;
    st->run.losses = c->losses;
    st->read.counter = numbers_last(&r->memory.numbers);
    st->read.seed = r->memory.blocks.seed;
}

/* Under the lock: the next window's size, and which copy is asked for it. */
static void window_look(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    size_t most = TRANSFER_BYTES_MAX;
    if (c->config.block_sum)
        most -= read_window_start(st) % WIRE_BLOCK_SIZE;
    st->user.window = st->user.len - st->user.done;
    if (st->user.window > most)
        st->user.window = most;
    uint64_t first = block_of(read_window_start(st));
    uint64_t last = block_of(read_window_start(st) + st->user.window - 1);
    share_look(c, call->region, now_ns);
    call->region = mirror_reader(c, call->region, first, last, now_ns);
    st->read.turns = 0;
    st->read.apart = false;
    window_take(call, now_ns);
}

/* Begins the next window, or ends the call. */
static void read_window(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    if (st->user.done == st->user.len || st->read.short_file) {
        read_end(call, (ssize_t)st->user.done, 0, NULL);
        return;
    }
    if (!st->read.looked) { /* the first one was looked at when the call began */
        client_lock(c);
        window_look(call, now_ns);
        client_unlock(c);
    }
    st->read.looked = false;
    uint64_t from, end;
    if (!st->read.active) {
        read_inactive(call, "the region's host is lost");
    } else if (st->read.beside || !window_widen(call, &from, &end)) {
        read_from_file(call);
    } else {
        call->phase = READ_REMOTE;
        uint8_t *buf = st->read.edge_head ? st->read.edges : st->user.buf + st->user.done;
        if (st->read.edge_head + st->read.edge_tail < end - from)
            buf = st->user.buf + (from + st->read.edge_head - st->user.offset);
        const RegionAddress address = st->run.address;
        run_read(call, &st->read.host, &address, from, buf, end - from, now_ns);
    }
}

/* ---- what has come -------------------------------------------------------------------------- */

/* What came for a block of the window that is no edge, or for all of one that is. */
static const uint8_t *block_bytes(const CallState *st, uint64_t block)
{
    uint64_t at = block * WIRE_BLOCK_SIZE, from = st->run.offset,
             end = st->run.offset + st->run.len;
    if (at < from + st->read.edge_head)
        return st->read.edges + (at - from);
    if (at >= end - st->read.edge_tail)
        return st->read.edges + st->read.edge_head;
    return st->user.buf + (at - st->user.offset);
}

enum { CHUNK_BLOCKS = WIRE_CHUNK_MAX / WIRE_BLOCK_SIZE };

static void chunk_sums(const Call *call, unsigned chunk)
{
    CallState *st = call->state;
    uint64_t first = block_of(st->run.offset);
    unsigned filled = read_transfer_chunk_filled(&st->u.read, chunk);
    for (; filled; filled &= filled - 1) {
        unsigned i = chunk * CHUNK_BLOCKS + (unsigned)__builtin_ctz(filled);
        uint64_t left = call->region->len - (first + i) * WIRE_BLOCK_SIZE;
        size_t len = left < WIRE_BLOCK_SIZE ? left : WIRE_BLOCK_SIZE;
        st->sums.sum[i] =
            call->channel->client->config.block_sum(block_bytes(st, first + i), len, st->read.seed);
    }
}

/* Sums what has come while it is still in the processor's cache, and while the rest is on its
 * way. */
static void call_read_came(Call *call)
{
    CallState *st = call->state;
    if (!call->channel->client->config.block_sum || call->phase != READ_REMOTE)
        return;
    for (uint64_t whole = read_transfer_take_whole(&st->u.read); whole; whole &= whole - 1)
        chunk_sums(call, (unsigned)__builtin_ctzll(whole));
}

/* The caller's part of the edges. */
static void edge_copy(CallState *st, size_t at, size_t len)
{
    uint64_t from =
                 st->run.offset + (at < st->read.edge_head ? 0 : st->run.len - st->read.edge_tail),
             to = from + len;
    uint64_t start = read_window_start(st), end = start + st->user.window;
    uint64_t low = from > start ? from : start, high = to < end ? to : end;
    if (len > 0 && low < high)
        memcpy(st->user.buf + (low - st->user.offset), st->read.edges + at + (low - from),
               high - low);
}

/* Under the lock: blocks that are not proven count as unfilled. True: the host lied. */
static bool window_compare(Call *call)
{
    CallState *st = call->state;
    const Region *r = call->region;
    bool same = r->active && region_address_equal(&r->memory.address, &st->run.address),
         bad = false;
    uint64_t first = block_of(st->run.offset), last = block_of(st->run.offset + st->run.len - 1);
    for (uint64_t block = first; block <= last; block++) {
        if (read_block_missing(st, block))
            continue;
        enum CheckVerdict v = CHECK_UNKNOWN;
        if (same)
            v = checks_compare(r, block, st->sums.sum[block - first], st->read.counter);
        if (v != CHECK_GOOD)
            read_transfer_discard(&st->u.read, block);
        bad |= v == CHECK_BAD;
    }
    return bad;
}

enum ReadSaw {
    SAW_ALL,   /* the call is over */
    SAW_PART,  /* as far as it is filled */
    SAW_DOUBT, /* it is to come once more, apart */
};

/* The window has come. */
static enum ReadSaw read_saw(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    call_read_came(call);
    uint64_t first = block_of(read_window_start(st));
    uint64_t last = block_of(read_window_start(st) + st->user.window - 1);
    client_lock(c);
    bool bad = c->config.block_sum && window_compare(call);
    if (bad && !st->read.apart) {
        st->read.apart = true;
        window_take(call, now_ns);
        client_unlock(c);
        return SAW_DOUBT;
    }
    bool all = read_transfer_all_filled(&st->u.read);
    wait_for(st, NULL);
    r->counts.hits += st->user.window;
    st->read.hints = c->prefetch.count > 0;
    if (r->active && region_address_equal(&r->memory.address, &st->run.address)) {
        bool counts = region_answer_counts(r, st->read.counter);
        for (uint64_t b = first; b <= last; b++) {
            bool filled = all || !read_block_missing(st, b);
            if (counts || !filled)
                region_saw_filled(c, r, b, filled);
        }
        if (r->mirror.twin)
            mirror_answered(c, r, run_is_brief(call), st->read.asked_ns, now_ns);
    }
    bool over = all && st->user.done + st->user.window == st->user.len;
    bool last_call = over && read_leave(call, st->user.len);
    client_unlock(c);
    edge_copy(st, 0, st->read.edge_head);
    edge_copy(st, st->read.edge_head, st->read.edge_tail);
    if (bad)
        client_region_corrupt(c, r->rd, &st->run.address, now_ns);
    if (over)
        read_over(call, (ssize_t)st->user.len, 0, NULL, last_call);
    return over ? SAW_ALL : SAW_PART;
}

/* ---- events --------------------------------------------------------------------------------- */

/* All that the window lacked is there, or the file has ended. */
static void read_next(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (!st->read.short_file)
        st->user.done += st->user.window;
    read_window(call, now_ns);
}

static void call_read_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    CallState *st = call->state;
    bool misses = call->phase == READ_MISSES;
    if (result->count > 0) {
        st->read.file_ns += sub_u64(now_ns, st->read.heard_ns);
        st->read.file_bytes += (uint64_t)result->count;
    }
    st->read.heard_ns = now_ns;
    if (result->count < 0 && !(misses && misses_beside(call))) {
        read_end(call, -1, result->error, "reading the backing file failed");
        return;
    }
    if (misses) {
        if (misses_came(call, result))
            read_next(call, now_ns);
        return;
    }
    misses_count(call, (uint64_t)result->count, false);
    st->read.short_file = (size_t)result->count < st->user.window;
    st->user.done += (size_t)result->count;
    read_window(call, now_ns);
}

/* ---- the other copy ------------------------------------------------------------------------- */

static void call_read_step(Call *call, uint64_t now_ns);

/* Under the lock: does it have what the window lacks? As far as is known, and copies change
 * meanwhile, so it is not asked without end. */
static bool twin_has(const Call *call, const Region *twin)
{
    const CallState *st = call->state;
    uint64_t first = block_of(read_window_start(st));
    uint64_t last = block_of(read_window_start(st) + st->user.window - 1);
    if (!twin || !RULE(MIRROR_TURN) || st->read.turns == WINDOW_TURNS_MAX ||
        region_write_overlaps(twin, first, last))
        return false;
    for (uint64_t b = first; b <= last; b++)
        if (read_block_missing(st, b) && !mirror_holds(twin, b, b))
            return false;
    return true;
}

/* Under the lock: the window is asked for again, at the other copy. */
static void turn(Call *call, uint64_t now_ns)
{
    call->state->read.turns++;
    call->channel->client->stats.turns++;
    call->region = call->region->mirror.twin;
    window_take(call, now_ns);
}

/* The window lacks blocks. True: it is asked for again, at the other copy. */
static bool read_turns(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    if (!r->mirror.twin || read_transfer_all_filled(&call->state->u.read))
        return false;
    client_lock(c);
    bool turns = twin_has(call, mirror_other(r));
    if (turns) {
        r->counts.hits -= call->state->user.window;
        turn(call, now_ns);
    }
    client_unlock(c);
    if (turns)
        read_window(call, now_ns);
    return turns;
}

/* Under the lock: has it all that the silent copy has? What neither has comes from the file. */
static bool twin_serves(const Call *call, const Region *r, const Region *twin)
{
    const CallState *st = call->state;
    uint64_t first = block_of(read_window_start(st));
    uint64_t last = block_of(read_window_start(st) + st->user.window - 1);
    if (!twin || !RULE(MIRROR_TURN) || st->read.turns == WINDOW_TURNS_MAX)
        return false;
    for (uint64_t b = first; b <= last; b++)
        if (region_has_filled(r, b) && !mirror_holds(twin, b, b))
            return false;
    return true;
}

/* The copy has said nothing for a while. Whether its host is lost takes longer to know than this
 * read has to wait. */
static void read_waits(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t clock_ns = channel_clock(call->channel, now_ns), patience = st->read.patience_ns;
    if (!r->mirror.twin || st->read.turn_ns == 0 || clock_ns < st->read.turn_ns)
        return;
    uint64_t heard = st->run.begun ? st->run.progress_ns : st->read.asked_clock_ns;
    bool silent = clock_ns >= time_add(heard, patience);
    st->read.turn_ns = time_add(silent ? clock_ns : heard, patience);
    if (!silent)
        return;
    client_lock(c);
    Region *twin = mirror_other(r);
    bool turns = twin_serves(call, r, twin);
    if (turns) {
        mirror_silent(c, r);
        turn(call, now_ns);
    }
    client_unlock(c);
    if (!turns)
        return;
    run_end(call);
    read_window(call, now_ns);
    if (call->phase == READ_REMOTE)
        call_read_step(call, now_ns);
}

/* The copy that was asked is lost: the other one is, or the file serves. */
static void read_on(Call *call, const char *reason, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const Region *r = call->region;
    client_lock(c);
    bool turns = RULE(MIRROR_TURN) && r->mirror.twin && (r->active || mirror_other(r));
    if (turns) {
        c->stats.turns++;
        window_look(call, now_ns);
    }
    client_unlock(c);
    if (!turns) {
        read_inactive(call, reason);
        return;
    }
    read_window(call, now_ns);
    if (call->phase == READ_REMOTE)
        call_read_step(call, now_ns);
}

/* The window has come, and has been looked at. */
static void read_came(Call *call, uint64_t now_ns)
{
    call->phase = READ_MISSES;
    enum ReadSaw saw = read_saw(call, now_ns);
    if (saw == SAW_ALL)
        return;
    if (saw == SAW_DOUBT)
        read_window(call, now_ns);
    else if (!read_turns(call, now_ns) && misses_begin(call))
        read_next(call, now_ns);
    if (call->need != NEED_NOTHING && call->phase == READ_REMOTE)
        call_read_step(call, now_ns); /* the next window, at most TRANSFER_BYTES_MAX each */
}

/* The region is lost in each case: no status leaves a copy that is read again. */
static void read_lost(Call *call, enum Loss loss, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    client_blame(c, call->region->rd, &st->run.address, loss, now_ns);
    client_region_lost(c, call->region->rd, &st->run.address, loss, now_ns);
    run_end(call);
    read_on(call, loss_text(loss), now_ns);
}

/* While this call waits, for an answer or for its turn, another one may have found that the host is
 * lost or has dropped the region. */
static bool read_in_vain(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    const Region *r = call->region;
    if (c->losses == st->run.losses)
        return false;
    client_lock(c);
    st->run.losses = c->losses;
    bool vain = !r->active || !region_address_equal(&r->memory.address, &st->run.address);
    client_unlock(c);
    return vain;
}

static void call_read_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->phase == READ_ENTER || call->phase == READ_REMOTE)
        st->read.heard_ns = now_ns;
    if (call->phase == READ_ENTER) {
        read_window(call, now_ns);
        if (call->need == NEED_NOTHING || call->phase != READ_REMOTE)
            return;
    }
    if (call->phase != READ_REMOTE)
        return;
    if (read_in_vain(call)) {
        run_end(call);
        read_on(call, "the region's host is lost", now_ns);
        return;
    }
    enum RunResult result = run_step(call, now_ns);
    switch (result) {
    case RUN_RUNNING:
        read_waits(call, now_ns);
        break;
    case RUN_DONE:
        read_came(call, now_ns);
        break;
    case RUN_REFUSED:
    case RUN_TIMED_OUT:
    case RUN_HOST_CHANGED:
        read_lost(call, loss_of(result, st->run.status), now_ns);
        break;
    }
}

/* Not while another thread reads into its buffer. */
static bool call_read_cancel(Call *call)
{
    if (call->file_pending)
        return false;
    read_end(call, -1, ECANCELED, "the request was cancelled");
    return true;
}

static const CallOps read_ops = {.step = call_read_step,
                                 .file = call_read_file,
                                 .came = call_read_came,
                                 .cancel = call_read_cancel};

void call_read_begin(Call *call, Region *r, uint64_t offset, void *buf, size_t len, uint64_t now_ns)
{
    CallState *st = call->state;
    call->ops = &read_ops;
    call->region = r;
    st->user.buf = buf;
    st->user.offset = offset;
    st->user.len = len;
    st->read.began_ns = st->read.heard_ns = now_ns;
    window_look(call, now_ns);
}
