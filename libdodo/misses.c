/* SPDX-License-Identifier: MIT */
#include "libdodo/misses.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/run.h"

#include <stdlib.h>
#include <string.h>

void misses_count(Call *call, uint64_t bytes, bool instead)
{
    Client *c = call->channel->client;
    call->state->read.missed += bytes;
    client_lock(c);
    call->region->counts.misses += bytes;
    if (instead)
        call->region->counts.hits -= bytes;
    client_unlock(c);
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
                  region_address_equal(&r->memory.address, &call->state->run.address) &&
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
    uint64_t start = read_window_start(st), end = start + st->user.window, run_start, run_end;
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

static bool run_next(Call *call);

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
    uint64_t least = start > read_window_start(st) ? start : 0;
    if (st->read.hints) {
        client_lock(c);
        announced = prefetch_extent(c, call->region, least, &start, &end);
        client_unlock(c);
    }
    st->read.extent_at = start;
    st->read.extent_end = announced ? end : start;
}

/* All of it was read, or no more of it can be: what is left of the run is read alone. */
static bool extent_over(Call *call)
{
    CallState *st = call->state;
    uint64_t start, end, at = st->read.extent_at;
    st->read.extent_end = at;
    run_bounds(call, &start, &end);
    if (at < end) {
        st->read.miss_block = max_u64(st->read.miss_block, block_of(at));
        read_run(call);
        return false;
    }
    st->read.miss_end = block_of(at - 1) + 1;
    return run_next(call);
}

static bool extent_step(Call *call)
{
    CallState *st = call->state;
    uint64_t from = st->read.extent_at,
             to = min_u64(from + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE, st->read.extent_end);
    st->read.fill = from < to ? fill_prepare(call, from, to) : NULL;
    if (!st->read.fill)
        return extent_over(call);
    fill_read(call);
    return false;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The next run of missing blocks. True: there is none. */
static bool run_next(Call *call)
{
    CallState *st = call->state;
    uint64_t start = read_window_start(st), end = start + st->user.window;
    uint64_t blocks_end = block_of(end - 1) + 1;
    uint64_t block = st->read.miss_end;
    while (block < blocks_end && !read_block_missing(st, block))
        block++;
    if (block >= blocks_end || st->read.short_file)
        return true;
    st->read.miss_block = block;
    while (block < blocks_end && read_block_missing(st, block) &&
           block - st->read.miss_block < FILL_RUN_BLOCKS)
        block++;
    st->read.miss_end = block;
    extent_find(call);
    return extent_step(call);
}

bool misses_begin(Call *call)
{
    CallState *st = call->state;
    st->read.miss_end = block_of(read_window_start(st));
    if (read_transfer_all_filled(&st->u.read))
        st->read.miss_end = block_of(read_window_start(st) + st->user.window - 1) + 1;
    return run_next(call);
}

/* ---- what the file gave --------------------------------------------------------------------- */

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

static bool run_came(Call *call, const FileResult *result)
{
    CallState *st = call->state;
    uint64_t start = read_window_start(st), end = start + st->user.window;
    size_t count = (size_t)result->count, part = call->file_len;
    if (st->read.fill) {
        part = fill_copy(st, start, end, count);
        fill_offer(call, count);
    } else if (count < call->file_len) {
        st->read.short_file = true;
        st->user.done = (size_t)(call->file_buf - st->user.buf) + count;
    }
    misses_count(call, part, true);
    return run_next(call);
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

static bool extent_came(Call *call, const FileResult *result)
{
    CallState *st = call->state;
    FillItem *item = st->read.fill;
    uint64_t start = read_window_start(st), end = start + st->user.window;
    size_t count = (size_t)result->count;
    if (!extent_serves(call, result)) {
        free(item);
        st->read.fill = NULL;
        return extent_over(call);
    }
    st->read.extent_at = item->offset + item->len;
    if (count < item->len) /* there is nothing behind it */
        st->read.extent_end = st->read.extent_at;
    misses_count(call, fill_copy(st, start, end, count), true);
    fill_offer(call, count);
    return extent_step(call);
}

bool misses_beside(const Call *call)
{
    const CallState *st = call->state;
    return st->read.fill && st->read.extent_at < st->read.extent_end;
}

bool misses_came(Call *call, const FileResult *result)
{
    return misses_beside(call) ? extent_came(call, result) : run_came(call, result);
}
