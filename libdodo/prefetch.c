/* SPDX-License-Identifier: MIT */
/* Hints of what will be read. As a read that misses does, the background reads whole blocks that
 * were not seen filled from the backing file, and offers them as fills. It takes a piece at a time,
 * and none while another fill waits to be sent: what the program's own reads offer goes first. No
 * more than two pieces are in memory: one is being read, one is on its way. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "libdodo/core_private.h"

/* ---- the ranges: under the lock ------------------------------------------------------------- */

static PrefetchRange *range_at(Client *c, unsigned i)
{
    return &c->prefetch.ranges[(c->prefetch.first + i) % PREFETCH_RANGES_MAX];
}

/* Behind the others, or as part of the last one. False: there is no room for more. */
static bool range_add(Client *c, const PrefetchRange *range)
{
    if (c->prefetch.count > 0) {
        PrefetchRange *last = range_at(c, c->prefetch.count - 1);
        if (last->rd == range->rd && last->at <= range->at && range->at <= last->end) {
            last->end = last->end > range->end ? last->end : range->end;
            return true;
        }
    }
    if (c->prefetch.count == PREFETCH_RANGES_MAX)
        return false;
    *range_at(c, c->prefetch.count++) = *range;
    return true;
}

static void range_drop(Client *c)
{
    c->prefetch.first = (c->prefetch.first + 1) % PREFETCH_RANGES_MAX;
    c->prefetch.count--;
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
        PrefetchRange range = {rd, (uint64_t)offset, (uint64_t)offset + (len < left ? len : left)};
        if (range.at < range.end)
            (void)range_add(c, &range); /* it was but a hint */
    }
    bool wake = c->prefetch.count > 0;
    client_unlock(c);
    if (wake)
        c->hooks.wake_background(c->hooks.ctx);
    return result;
}

bool prefetch_due(const Client *c)
{
    size_t piece = sizeof(FillItem) + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE;
    return c->prefetch.count > 0 && list_empty(&c->fills) &&
           (c->fill_bytes == 0 || c->fill_bytes + piece <= c->config.fill_queue_bytes);
}

/* ---- the next piece: under the lock --------------------------------------------------------- */

static bool block_wanted(const Region *r, uint64_t block)
{
    bool filled = r->blocks.filled && (r->blocks.filled[block / 64] >> (block % 64) & 1);
    return !filled && !(RULE(READ_BESIDE_WRITE) && region_write_overlaps(r, block, block));
}

static FillItem *piece_new(const Client *c, Region *r, uint64_t start, uint64_t end)
{
    size_t len = end - start, cap = sizeof(FillItem) + len;
    FillItem *item = c->fill_bytes + cap <= c->config.fill_queue_bytes ? malloc(cap) : NULL;
    if (!item)
        return NULL;
    *item = (FillItem){.rd = r->rd,
                       .host = r->host,
                       .address = r->address,
                       .counter = r->numbers.last, /* before the file is read */
                       .region_len = r->len,
                       .seed = r->blocks.seed,
                       .offset = start,
                       .len = len,
                       .cap = cap};
    list_init(&item->link);
    return item;
}

/* The next piece of what is left of the range in one part of its region; moves the range on. NULL:
 * nothing of that part is wanted, or there is no memory for it. */
static FillItem *piece_next(Client *c, PrefetchRange *range, Region *top, Region **ret)
{
    uint64_t inner;
    Region *r = region_part(top, range->at, &inner);
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
    return last > first ? piece_new(c, r, first * WIRE_BLOCK_SIZE, piece_end) : NULL;
}

/* Looks at one part of one range at most, so that the lock is not held for long. */
static FillItem *prefetch_next(Client *c, Region **ret)
{
    if (!prefetch_due(c))
        return NULL;
    PrefetchRange *range = range_at(c, 0);
    Region *top = client_user_region(c, range->rd);
    FillItem *item = NULL;
    if (top && range->at < range->end && region_active(top))
        item = piece_next(c, range, top, ret);
    else
        range_drop(c);
    if (item)
        top->refs++;
    return item;
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
static void range_cut(Client *c, int rd)
{
    if (c->prefetch.count > 0 && range_at(c, 0)->rd == rd)
        range_drop(c);
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
        range_cut(c, top->rd);
    client_unlock(c);
    if (result->count > 0)
        client_fill_read(c, item, (size_t)result->count);
    else
        free(item);
    client_lock(c);
    bool last = --top->refs == 0 && top->closing;
    client_unlock(c);
    call_finish(call, 0, 0, NULL);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

const CallOps prefetch_ops = {.step = call_prefetch_step, .file = call_prefetch_file};
