/* SPDX-License-Identifier: MIT */
/* Hints of what will be read. As a read that misses does, the background reads whole blocks that
 * were not seen filled from the backing file, and offers them as fills. It takes a piece at a time,
 * none of a region while a call of the program uses it, and none while another fill waits to be
 * sent: what the program's own reads offer goes first. So it has no more than two pieces in memory:
 * one is being read, one is on its way.
 *
 * A read that misses what was announced reads it itself, with what else was announced of its
 * extent: a drive that moves its head for one block brings a megabyte in hardly more time. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/mirror.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"

enum {
    PREFETCH_LOOK_BLOCKS = 1 << 13, /* looked at in one go for one that is not filled */
    EXTENT_BYTES = 1 << 20,         /* read from the file in pieces, where it was announced */
};

/* ---- the ranges: under the lock ------------------------------------------------------------- */

/* Where a part lies in its region. */
static uint64_t part_base(Region *r)
{
    return r->file_offset - region_top(r)->file_offset;
}

/* Behind the others, or as part of the last one. False: there is no room for more. */
static bool range_add(Client *c, const PrefetchRange *range)
{
    if (c->prefetch.count > 0) {
        PrefetchRange *last = &c->prefetch.ranges[c->prefetch.count - 1];
        if (last->rd == range->rd && last->at <= range->at && range->at <= last->end) {
            last->end = last->end > range->end ? last->end : range->end;
            return true;
        }
    }
    if (c->prefetch.count == PREFETCH_RANGES_MAX)
        return false;
    c->prefetch.ranges[c->prefetch.count++] = *range;
    return true;
}

static void range_remove(Client *c, unsigned i)
{
    for (c->prefetch.count--; i < c->prefetch.count; i++)
        c->prefetch.ranges[i] = c->prefetch.ranges[i + 1];
}

/* [from, to) is read now: what is left of range @i. */
static void range_take(Client *c, unsigned i, uint64_t from, uint64_t to)
{
    PrefetchRange *range = &c->prefetch.ranges[i];
    PrefetchRange rest = {.rd = range->rd, .at = to, .end = range->end};
    if (from > range->at)
        range->end = from;
    else
        range->at = max_u64(range->at, to);
    if (from > range->at && rest.at < rest.end)
        (void)range_add(c, &rest); /* it was but a hint */
    else if (range->at >= range->end)
        range_remove(c, i);
}

int client_prefetch(Client *c, int rd, off_t offset, size_t len)
{
    int result = 0;
    client_lock(c);
    const Region *r = client_user_region(c, rd);
    if (!r || !(region_active(r) || region_file_serves(r))) {
        result = -ENOMEM;
    } else if (offset < 0 || (uint64_t)offset > r->len || len > SSIZE_MAX) {
        result = -EINVAL;
    } else if (region_active(r)) { /* else there is nowhere to put it */
        uint64_t left = r->len - (uint64_t)offset;
        PrefetchRange range = {
            .rd = rd, .at = (uint64_t)offset, .end = (uint64_t)offset + (len < left ? len : left)};
        if (range.at < range.end)
            (void)range_add(c, &range); /* it was but a hint */
    }
    bool wake = c->prefetch.count > 0;
    client_unlock(c);
    if (wake)
        c->hooks.wake_background(c->hooks.ctx);
    return result;
}

/* Nothing more can come of it. */
static bool range_is_over(const PrefetchRange *range, const Region *top)
{
    return !top || range->at >= range->end || !region_active(top);
}

/* The first range whose region no call of the program uses: such a call reads what it lacks itself,
 * and would wait for the drive. PREFETCH_RANGES_MAX: there is none. */
static unsigned range_due(Client *c)
{
    for (unsigned i = 0; i < c->prefetch.count; i++) {
        const Region *top = client_user_region(c, c->prefetch.ranges[i].rd);
        if (range_is_over(&c->prefetch.ranges[i], top) || top->refs == 0)
            return i;
    }
    return PREFETCH_RANGES_MAX;
}

bool prefetch_due(Client *c)
{
    size_t piece = sizeof(FillItem) + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE;
    return c->prefetch.count > 0 && list_empty(&c->fills.all) &&
           (c->fills.bytes == 0 || c->fills.bytes + piece <= c->config.fill_queue_bytes) &&
           range_due(c) < PREFETCH_RANGES_MAX;
}

bool region_leave(Client *c, Region *top)
{
    if (--top->refs > 0)
        return false;
    bool wanted = false;
    for (unsigned i = 0; i < c->prefetch.count; i++)
        wanted |= c->prefetch.ranges[i].rd == top->rd;
    if (wanted)
        c->hooks.wake_background(c->hooks.ctx);
    return top->closing;
}

/* ---- the next piece: under the lock --------------------------------------------------------- */

/* An earlier opening, or another process, has filled it, as far as is known. */
static bool block_left(const Region *r, uint64_t block)
{
    return r->reused && r->memory.blocks.checks && checks_known(r, block, block);
}

static bool block_wanted(const Region *r, uint64_t block)
{
    const Region *twin = mirror_other(r);
    return !region_has_filled(r, block) && !block_left(r, block) &&
           !(twin && region_has_filled(twin, block)) &&
           !(RULE(READ_BESIDE_WRITE) && region_write_overlaps(r, block, block));
}

/* The next piece of what is left of the range in one part of its region; moves the range on. NULL:
 * nothing of that part is wanted, or there is no memory for it. */
static FillItem *piece_next(Client *c, PrefetchRange *range, Region *top, Region **ret)
{
    uint64_t inner;
    Region *r = mirror_fuller(region_part(top, range->at, &inner));
    uint64_t base = range->at - inner, end = range->end - base;
    if (end > r->len)
        end = r->len;
    range->at = base + end;
    if (!r->active)
        return NULL;
    uint64_t first = block_of(inner), stop = block_of(end - 1) + 1;
    uint64_t look = first + PREFETCH_LOOK_BLOCKS < stop ? first + PREFETCH_LOOK_BLOCKS : stop;
    while (first < look && !block_wanted(r, first))
        first++;
    uint64_t last = first;
    while (last < look && last - first < FILL_RUN_BLOCKS && block_wanted(r, last))
        last++;
    uint64_t piece_end = last * WIRE_BLOCK_SIZE < r->len ? last * WIRE_BLOCK_SIZE : r->len;
    if (last < stop)
        range->at = base + last * WIRE_BLOCK_SIZE;
    *ret = r;
    return last > first ? fill_item_new(c, r, first * WIRE_BLOCK_SIZE, piece_end) : NULL;
}

/* Looks at one part of one range at most, so that the lock is not held for long. */
static FillItem *prefetch_next(Client *c, Region **ret)
{
    if (!prefetch_due(c))
        return NULL;
    unsigned i = range_due(c);
    PrefetchRange *range = &c->prefetch.ranges[i];
    Region *top = client_user_region(c, range->rd);
    FillItem *item = NULL;
    if (range_is_over(range, top))
        range_remove(c, i);
    else
        item = piece_next(c, range, top, ret);
    if (item)
        top->refs++;
    return item;
}

/* ---- a read that misses ---------------------------------------------------------------------- */

/* What was announced of part @r, as bytes of it: false, if @at is not of that range. */
static bool range_of_part(const PrefetchRange *range, Region *r, uint64_t at, uint64_t *ret_from,
                          uint64_t *ret_to)
{
    uint64_t base = part_base(r);
    if (range->rd != region_top(r)->rd || range->end <= base)
        return false;
    *ret_from = sub_u64(range->at, base);
    *ret_to = min_u64(range->end - base, r->len);
    return *ret_from <= at && at < *ret_to;
}

/* The blocks of one extent around [*start, *end) that are wanted, too. */
static void extent_widen(const Region *r, uint64_t from, uint64_t to, uint64_t *start,
                         uint64_t *end)
{
    uint64_t low = *start / EXTENT_BYTES * EXTENT_BYTES, high = low + EXTENT_BYTES;
    uint64_t first = block_of(*start), stop = block_of(*end - 1) + 1;
    low = block_of(max_u64(low, from));
    high = block_of(min_u64(high, to) - 1) + 1;
    while (first > low && block_wanted(r, first - 1))
        first--;
    while (stop < high && block_wanted(r, stop))
        stop++;
    *start = first * WIRE_BLOCK_SIZE;
    *end = min_u64(stop * WIRE_BLOCK_SIZE, r->len);
}

bool prefetch_extent(Client *c, Region *r, uint64_t least, uint64_t *start, uint64_t *end)
{
    uint64_t from, to;
    for (unsigned i = 0; i < c->prefetch.count; i++) {
        if (!range_of_part(&c->prefetch.ranges[i], r, *start, &from, &to))
            continue;
        extent_widen(r, max_u64(from, least), to, start, end);
        range_take(c, i, part_base(r) + *start, part_base(r) + *end);
        c->stats.extents++;
        return true;
    }
    return false;
}

/* ---- the call ------------------------------------------------------------------------------- */

bool prefetch_start(Client *c, Region **ret, FillItem **ret_item)
{
    client_lock(c);
    *ret_item = prefetch_next(c, ret);
    c->stats.prefetches += *ret_item != NULL;
    client_unlock(c);
    return *ret_item != NULL;
}

static void call_prefetch_step(Call *call, uint64_t now_ns)
{
    (void)call, (void)now_ns; /* it waits for the file only */
}

/* The file ended: there is nothing behind it. */
static void range_cut(Client *c, int rd, uint64_t from)
{
    for (unsigned i = c->prefetch.count; i-- > 0;)
        if (c->prefetch.ranges[i].rd == rd && c->prefetch.ranges[i].at >= from)
            range_remove(c, i);
}

static void call_prefetch_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    FillItem *item = call->state->read.fill;
    Region *top = region_top(call->region);
    (void)now_ns;
    call->state->read.fill = NULL;
    client_lock(c);
    if (result->count < (ssize_t)item->len)
        range_cut(c, top->rd, part_base(call->region) + item->offset);
    client_unlock(c);
    if (result->count > 0)
        client_fill_read(c, item, (size_t)result->count);
    else
        free(item);
    client_lock(c);
    bool last = region_leave(c, top);
    client_unlock(c);
    call_finish(call, 0, 0, NULL);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

const CallOps prefetch_ops = {.step = call_prefetch_step, .file = call_prefetch_file};
