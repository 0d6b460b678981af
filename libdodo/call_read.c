/* SPDX-License-Identifier: MIT */
/* mread: remote memory first. Blocks that are not filled there come whole from the backing file,
 * and are offered as a fill. So do blocks that a write of this process is under way for (their
 * remote copy may be older than the file), blocks that cannot be checked, and those that are not
 * what the host was given (checks.c). Only whole blocks can be checked, so whole blocks are asked
 * for. The caller may want only a part of the first and the last one: these two go to a buffer of
 * their own.
 *
 * Of two copies (copies.c) one is asked, and the other one for what that one lacks, or when it is
 * lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dodo/dodo.h"
#include "libdodo/mirror.h"

enum ReadPhase { READ_ENTER, READ_REMOTE, READ_MISSES, READ_FILE };

/* Under the lock: the call is on the region no more. True: its close waits for that. */
static bool read_leave(const Call *call)
{
    Region *r = region_top(call->region);
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
    bool last = read_leave(call);
    client_unlock(c);
    read_over(call, result, error, reason, last);
}

static uint64_t window_start(const CallState *st)
{
    return st->user.offset + st->user.done;
}

static void read_from_file(Call *call)
{
    CallState *st = call->state;
    call->phase = READ_FILE;
    call_need_file(call, NEED_FILE_READ, call->region->file, st->user.buf + st->user.done,
                   st->user.window, call->region->file_offset + window_start(st));
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

/* Widens the window to whole blocks: [*ret_from, the result), in the region. The edges are blocks
 * of which only a part is wanted. False: there is no memory for them. */
static bool window_widen(Call *call, uint64_t *ret_from, uint64_t *ret_end)
{
    CallState *st = call->state;
    uint64_t from = window_start(st), end = from + st->user.window;
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
    uint64_t first_end = *ret_from + WIRE_BLOCK_SIZE, last = block_of(end - 1) * WIRE_BLOCK_SIZE;
    if (*ret_from < from)
        st->read.edge_head = (first_end < *ret_end ? first_end : *ret_end) - *ret_from;
    if (end < *ret_end && last >= *ret_from + st->read.edge_head)
        st->read.edge_tail = *ret_end - last;
    if (st->read.edge_head + st->read.edge_tail > 0 && !st->read.edges)
        st->read.edges = malloc(2 * (size_t)WIRE_BLOCK_SIZE);
    return st->read.edge_head + st->read.edge_tail == 0 || st->read.edges;
}

/* Under the lock: what there is of the region, of this copy of it, at this moment. */
static void window_take(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t first = block_of(window_start(st));
    uint64_t last = block_of(window_start(st) + st->user.window - 1);
    st->read.looked = true;
    st->read.asked_ns = now_ns;
    st->read.active = r->active;
    st->read.beside = RULE(READ_BESIDE_WRITE) && region_write_overlaps(r, first, last);
    if (r->mirror.twin) {
        st->read.patience_ns = mirror_patience_ns(c, r);
        st->read.asked_clock_ns = channel_clock(call->channel, now_ns);
        st->read.turn_ns = time_add(st->read.asked_clock_ns, st->read.patience_ns);
    }
    if (r->mirror.twin && r->active && !st->read.beside)
        mirror_asked(r, now_ns);
    c->stats.reads_beside_writes += st->read.active && st->read.beside;
    st->read.host = r->host;
    st->run.address = r->address;
    st->run.losses = c->losses;
    st->read.counter = numbers_last(&r->numbers);
    st->read.seed = r->blocks.seed;
}

/* Under the lock: the next window's size, and which copy is asked for it. */
static void window_look(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    size_t most = TRANSFER_BYTES_MAX;
    if (c->config.block_sum)
        most -= window_start(st) % WIRE_BLOCK_SIZE;
    st->user.window = st->user.len - st->user.done;
    if (st->user.window > most)
        st->user.window = most;
    uint64_t first = block_of(window_start(st));
    uint64_t last = block_of(window_start(st) + st->user.window - 1);
    call->region = mirror_reader(c, call->region, first, last, now_ns);
    st->read.turns = 0;
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

/* ---- blocks that are not filled ------------------------------------------------------------- */

static bool block_missing(const CallState *st, uint64_t block)
{
    return read_transfer_unfilled(&st->u.read, block);
}

/* @bytes of the caller's came from the file; @instead: they were counted as remote before. */
static void read_missed(Call *call, uint64_t bytes, bool instead)
{
    Client *c = call->channel->client;
    client_lock(c);
    call->region->misses += bytes;
    if (instead)
        call->region->hits -= bytes;
    client_unlock(c);
}

/* What came for a block of the window that is no edge, or for all of one that is. */
static const uint8_t *block_bytes(const CallState *st, uint64_t block)
{
    uint64_t at = block * WIRE_BLOCK_SIZE, from = st->run.offset,
             end = st->run.offset + st->run.len;
    if (at < from + st->read.edge_head)
        return st->read.edges;
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
        st->sums[i] =
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
    uint64_t start = window_start(st), end = start + st->user.window;
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
    bool same = r->active && region_address_equal(&r->address, &st->run.address), bad = false;
    uint64_t first = block_of(st->run.offset), last = block_of(st->run.offset + st->run.len - 1);
    for (uint64_t block = first; block <= last; block++) {
        if (block_missing(st, block))
            continue;
        enum CheckVerdict v = CHECK_UNKNOWN;
        if (same)
            v = checks_compare(r, block, st->sums[block - first], st->read.counter);
        if (v != CHECK_GOOD)
            read_transfer_discard(&st->u.read, block);
        bad |= v == CHECK_BAD;
    }
    return bad;
}

/* The window has come, as far as it is filled. True: that was all, and the call is over. */
static bool read_saw(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    call_read_came(call);
    uint64_t first = block_of(window_start(st));
    uint64_t last = block_of(window_start(st) + st->user.window - 1);
    client_lock(c);
    bool bad = c->config.block_sum && window_compare(call);
    bool all = read_transfer_all_filled(&st->u.read);
    r->hits += st->user.window;
    st->read.hints = c->prefetch.count > 0;
    if (r->active && region_address_equal(&r->address, &st->run.address)) {
        bool counts = region_answer_counts(r, st->read.counter);
        for (uint64_t b = first; b <= last; b++) {
            bool filled = all || !block_missing(st, b);
            if (counts || !filled)
                region_saw_filled(c, r, b, filled);
        }
        if (r->mirror.twin)
            mirror_answered(c, r, run_is_brief(call), st->read.asked_ns, now_ns);
    }
    bool over = all && st->user.done + st->user.window == st->user.len;
    bool last_call = over && read_leave(call);
    client_unlock(c);
    edge_copy(st, 0, st->read.edge_head);
    edge_copy(st, st->read.edge_head, st->read.edge_tail);
    if (bad)
        client_region_corrupt(c, r->rd, &st->run.address, now_ns);
    if (over)
        read_over(call, (ssize_t)st->user.len, 0, NULL, last_call);
    return over;
}

/* The run of missing blocks, as bytes of the region. */
static void run_bounds(const Call *call, uint64_t *ret_start, uint64_t *ret_end)
{
    *ret_start = call->state->read.miss_block * WIRE_BLOCK_SIZE;
    *ret_end = min_u64(call->state->read.miss_end * WIRE_BLOCK_SIZE, call->region->len);
}

/* A buffer for [start, end), whole blocks that may be offered, or NULL: then no fill. It decides
 * under the lock whether a write is under way beside, and takes the counter before the file is
 * read. */
static FillItem *fill_prepare(Call *call, uint64_t start, uint64_t end)
{
    Client *c = call->channel->client;
    Region *r = call->region;
    FillItem *item = malloc(sizeof *item + (end - start));
    if (!item)
        return NULL;
    client_lock(c);
    bool beside =
        RULE(READ_BESIDE_WRITE) && region_write_overlaps(r, block_of(start), block_of(end - 1));
    bool wanted = !beside && r->active &&
                  region_address_equal(&r->address, &call->state->run.address) &&
                  fill_item_init(c, r, item, start, end);
    client_unlock(c);
    if (wanted)
        return item;
    free(item);
    return NULL;
}

static void fill_read(Call *call)
{
    const Region *r = call->region;
    FillItem *item = call->state->read.fill;
    call_need_file(call, NEED_FILE_READ, r->file, item->data, item->len,
                   r->file_offset + item->offset);
}

/* Asks for the run's bytes alone. */
static void read_run(Call *call)
{
    CallState *st = call->state;
    const Region *r = call->region;
    uint64_t start = window_start(st), end = start + st->user.window, run_start, run_end;
    run_bounds(call, &run_start, &run_end);
    st->read.fill = fill_prepare(call, run_start, run_end);
    if (st->read.fill) {
        fill_read(call);
        return;
    }
    uint64_t from = max_u64(run_start, start), to = min_u64(run_end, end);
    call_need_file(call, NEED_FILE_READ, r->file, st->user.buf + (from - st->user.offset),
                   to - from, r->file_offset + from);
}

/* ---- extents -------------------------------------------------------------------------------- */

static void read_misses(Call *call, uint64_t now_ns);

/* What was announced around the run is read with it, piece by piece, so that the first ones are
 * sent while the drive reads on. */
static void extent_find(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    uint64_t start, end;
    bool announced = false;
    run_bounds(call, &start, &end);
    /* The window's blocks before the run are there already. */
    uint64_t least = start > window_start(st) ? start : 0;
    if (st->read.hints) {
        client_lock(c);
        announced = prefetch_extent(c, call->region, least, &start, &end);
        client_unlock(c);
    }
    st->read.extent_at = start;
    st->read.extent_end = announced ? end : start;
}

/* All of it was read, or no more of it can be: what is left of the run is read alone. */
static void extent_over(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t start, end, at = st->read.extent_at;
    st->read.extent_end = at;
    run_bounds(call, &start, &end);
    if (at < end) {
        st->read.miss_block = max_u64(st->read.miss_block, block_of(at));
        read_run(call);
    } else {
        st->read.miss_end = block_of(at - 1) + 1;
        read_misses(call, now_ns);
    }
}

static void extent_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t from = st->read.extent_at,
             to = min_u64(from + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE, st->read.extent_end);
    st->read.fill = from < to ? fill_prepare(call, from, to) : NULL;
    if (st->read.fill)
        fill_read(call);
    else
        extent_over(call, now_ns);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The next run of missing blocks; or goes on to the next window. */
static void read_misses(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t start = window_start(st), end = start + st->user.window;
    uint64_t blocks_end = block_of(end - 1) + 1;
    uint64_t block = st->read.miss_end;
    while (block < blocks_end && !block_missing(st, block))
        block++;
    if (block >= blocks_end || st->read.short_file) {
        if (!st->read.short_file)
            st->user.done += st->user.window;
        read_window(call, now_ns);
        return;
    }
    st->read.miss_block = block;
    while (block < blocks_end && block_missing(st, block) &&
           block - st->read.miss_block < FILL_RUN_BLOCKS)
        block++;
    st->read.miss_end = block;
    extent_find(call);
    extent_step(call, now_ns);
}

/* Copies what the caller asked for of the run, and notices where the file ended inside it. Returns
 * the length of that part. */
static size_t fill_copy(CallState *st, uint64_t start, uint64_t end, size_t count)
{
    const FillItem *item = st->read.fill;
    uint64_t from = max_u64(max_u64(item->offset, st->read.miss_block * WIRE_BLOCK_SIZE), start);
    uint64_t to = min_u64(item->offset + item->len, end);
    uint64_t have = item->offset + count;
    uint64_t stop = min_u64(have, to);
    if (to <= from)
        return 0;
    if (stop > from)
        memcpy(st->user.buf + (from - st->user.offset), item->data + (from - item->offset),
               stop - from);
    if (have < to) {
        st->read.short_file = true;
        st->user.done = max_u64(stop, from) - st->user.offset;
    }
    return to - from;
}

static void fill_offer(Call *call, size_t count)
{
    CallState *st = call->state;
    FillItem *item = st->read.fill;
    st->read.fill = NULL;
    client_fill_read(call->channel->client, item, count);
}

/* ---- events --------------------------------------------------------------------------------- */

static void read_miss_done(Call *call, const FileResult *result, uint64_t now_ns)
{
    CallState *st = call->state;
    uint64_t start = window_start(st), end = start + st->user.window;
    size_t count = (size_t)result->count, part = call->file_len;
    if (st->read.fill) {
        part = fill_copy(st, start, end, count);
        fill_offer(call, count);
    } else if (count < call->file_len) {
        st->read.short_file = true;
        st->user.done = (size_t)(call->file_buf - st->user.buf) + count;
    }
    read_missed(call, part, true);
    read_misses(call, now_ns);
}

/* Did a piece of an extent bring what of the run lies in it? Where the file is bad, or ends, may be
 * elsewhere than where the caller reads. */
static bool extent_serves(const Call *call, const FileResult *result)
{
    const FillItem *item = call->state->read.fill;
    uint64_t start, end, item_end = item->offset + item->len;
    run_bounds(call, &start, &end);
    return result->count >= 0 &&
           (item_end <= start || item->offset + (uint64_t)result->count >= min_u64(end, item_end));
}

static void extent_piece_done(Call *call, const FileResult *result, uint64_t now_ns)
{
    CallState *st = call->state;
    FillItem *item = st->read.fill;
    uint64_t start = window_start(st), end = start + st->user.window;
    size_t count = (size_t)result->count;
    if (!extent_serves(call, result)) {
        free(item);
        st->read.fill = NULL;
        extent_over(call, now_ns);
        return;
    }
    st->read.extent_at = item->offset + item->len;
    if (count < item->len) /* there is nothing behind it */
        st->read.extent_end = st->read.extent_at;
    read_missed(call, fill_copy(st, start, end, count), true);
    fill_offer(call, count);
    extent_step(call, now_ns);
}

static void call_read_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->phase == READ_MISSES && st->read.fill && st->read.extent_at < st->read.extent_end) {
        extent_piece_done(call, result, now_ns);
        return;
    }
    if (result->count < 0) {
        read_end(call, -1, result->error, "reading the backing file failed");
        return;
    }
    if (call->phase == READ_MISSES) {
        read_miss_done(call, result, now_ns);
        return;
    }
    read_missed(call, (uint64_t)result->count, false);
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
    uint64_t first = block_of(window_start(st));
    uint64_t last = block_of(window_start(st) + st->user.window - 1);
    if (!twin || !RULE(MIRROR_TURN) || st->read.turns == WINDOW_TURNS_MAX ||
        region_write_overlaps(twin, first, last))
        return false;
    for (uint64_t b = first; b <= last; b++)
        if (block_missing(st, b) && !mirror_holds(twin, b, b))
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
        r->hits -= call->state->user.window;
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
    uint64_t first = block_of(window_start(st));
    uint64_t last = block_of(window_start(st) + st->user.window - 1);
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
    bool vain = !r->active || !region_address_equal(&r->address, &st->run.address);
    client_unlock(c);
    return vain;
}

/* What did not come is read from the file. */
static void read_missing(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    st->read.miss_end = block_of(window_start(st));
    if (read_transfer_all_filled(&st->u.read))
        st->read.miss_end = block_of(window_start(st) + st->user.window - 1) + 1;
    read_misses(call, now_ns);
}

static void call_read_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
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
        call->phase = READ_MISSES;
        if (read_saw(call, now_ns))
            return;
        if (!read_turns(call, now_ns))
            read_missing(call, now_ns);
        if (call->need != NEED_NOTHING && call->phase == READ_REMOTE)
            call_read_step(call, now_ns); /* the next window, at most TRANSFER_BYTES_MAX each */
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
    window_look(call, now_ns);
}
