/* SPDX-License-Identifier: MIT */
/* Of two copies one may lack blocks that the other one has: it is new, or a fill for it was
 * refused. The background reads such blocks from the other one, and offers them as fills, a piece
 * at a time.
 *
 * As with any fill, the write counter of the copy that is filled was taken before its bytes were
 * read, and the host refuses what is older than a write. The bytes are used only if they have the
 * checksums of what the file holds: what a host has changed does not spread. */
#include <stdlib.h>
#include <string.h>

#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/checks.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/region.h"
#include "libdodo/run.h"

enum {
    HEAL_LOOK_BLOCKS = 1 << 18, /* looked at in one go, mostly 64 at a time */
    HEAL_PIECE_CALLS = 2,       /* of the program, as long as which a piece may be */
};

#define HEAL_DELAY_NS (20 * NS_PER_MS) /* what is filled in one copy is mostly so in both soon */
#define HEAL_WAIT_MAX_NS (10 * NS_PER_S)

/* ---- what there is to heal: under the lock -------------------------------------------------- */

void mirror_refused(Client *c, Region *r, uint64_t now_ns)
{
    if (!mirror_other(r))
        return;
    uint64_t wait = time_add(r->mirror.heal_wait_ns, r->mirror.heal_wait_ns);
    r->mirror.heal_wait_ns = min_u64(max_u64(wait, HEAL_DELAY_NS), HEAL_WAIT_MAX_NS);
    mirror_uneven(c, r);
    r->mirror.heal_ns = max_u64(time_add(now_ns, r->mirror.heal_wait_ns), r->memory.blocks.rest_ns);
    c->copies.uneven_ns = min_u64(c->copies.uneven_ns, r->mirror.heal_ns);
}

void mirror_rests(Client *c, Region *r)
{
    if (!mirror_other(r))
        return;
    mirror_uneven(c, r);
    r->mirror.heal_ns = max_u64(r->mirror.heal_ns, r->memory.blocks.rest_ns);
}

/* Other fills go first, and there are two pieces at most: one that is read, one on its way. */
static bool heal_may(const Client *c)
{
    size_t piece = sizeof(FillItem) + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE;
    return list_empty(&c->fills.all) &&
           (c->fills.bytes == 0 || c->fills.bytes + piece <= c->config.fill_queue_bytes);
}

uint64_t heal_due(Client *c)
{
    if (!heal_may(c) || list_empty(&c->copies.uneven))
        return TIME_NEVER;
    return moves_pace(c, c->copies.uneven_ns);
}

static uint64_t heal_due_ns(Region *r, uint64_t now_ns)
{
    if (r->mirror.heal_ns == 0)
        r->mirror.heal_ns = time_add(now_ns, HEAL_DELAY_NS);
    return r->mirror.heal_ns;
}

static bool heal_wanted(const Region *from, const Region *to, uint64_t block)
{
    return region_has_filled(from, block) && !region_has_filled(to, block) &&
           !(RULE(READ_BESIDE_WRITE) && RULE(HEAL_COUNTER) &&
             region_write_overlaps(to, block, block));
}

/* All of the copy was looked at. */
static void heal_over(Region *r, uint64_t now_ns)
{
    if (!r->mirror.again) {
        list_remove(&r->mirror.uneven);
        return;
    }
    r->mirror.again = false;
    r->mirror.heal_at = 0;
    r->mirror.heal_ns = time_add(now_ns, HEAL_DELAY_NS);
}

/* Whole blocks, of which the counter is taken now. */
static FillItem *heal_item(const Client *c, const Region *to, uint64_t first, uint64_t last)
{
    uint64_t start = first * WIRE_BLOCK_SIZE, end = min_u64(last * WIRE_BLOCK_SIZE, to->len);
    FillItem *item = malloc(sizeof *item + (end - start));
    if (item && !fill_item_init(c, to, item, start, end)) {
        free(item);
        return NULL;
    }
    if (item)
        item->then.rd = -1;
    return item;
}

void heal_beside(Client *c, uint64_t bytes)
{
    c->copies.beside.calls++;
    c->copies.beside.bytes += bytes;
}

/* At once, at most. A call of the program that comes while a piece is under way waits until the
 * line is free. So a piece is as long as few such calls, and grows while there are none; and while
 * the host has given up what is asked for, so that nothing comes: that is in large parts. */
static uint64_t heal_blocks_max(const Client *c)
{
    const HealBeside *b = &c->copies.beside;
    uint64_t room = sub_u64(c->config.fill_queue_bytes, sizeof(FillItem)) / WIRE_BLOCK_SIZE;
    uint64_t most = b->calls > 0 && !b->gone ? blocks_in(HEAL_PIECE_CALLS * (b->bytes / b->calls))
                                             : 2 * b->piece_blocks;
    return min_u64(room, min_u64(max_u64(most, 1), FILL_RUN_BLOCKS));
}

/* The first block from @at on that is wanted, or @stop. */
static uint64_t heal_find(const Region *from, const Region *to, uint64_t at, uint64_t stop)
{
    while (at < stop && !heal_wanted(from, to, at)) {
        uint64_t word = at / 64;
        bool none =
            at % 64 == 0 && !(from->memory.blocks.filled[word] & ~to->memory.blocks.filled[word]);
        at += none ? 64 : 1;
    }
    return min_u64(at, stop);
}

/* Looks at a part of the copy, so that the lock is not held for long. */
static FillItem *heal_next(const Client *c, Region *to, uint64_t now_ns)
{
    const Region *from = mirror_other(to);
    uint64_t most = heal_blocks_max(c);
    if (!to->active || !from || region_top(to)->closing || !to->memory.blocks.filled ||
        !from->memory.blocks.filled || most == 0) {
        list_remove(&to->mirror.uneven);
        return NULL;
    }
    uint64_t stop = block_of(to->len - 1) + 1, first = to->mirror.heal_at;
    uint64_t look = min_u64(first + HEAL_LOOK_BLOCKS, stop);
    first = heal_find(from, to, first, look);
    uint64_t last = first;
    while (last < look && last - first < most && heal_wanted(from, to, last))
        last++;
    to->mirror.heal_at = last;
    if (last > first) {
        FillItem *item = heal_item(c, to, first, last);
        to->mirror.again |= !item; /* once more, later */
        return item;
    }
    if (look == stop)
        heal_over(to, now_ns);
    return NULL;
}

/* The first that is due, or NULL. There may be thousands, so that they are not always looked at. */
static Region *heal_find_due(Client *c, uint64_t now_ns)
{
    uint64_t next_ns = TIME_NEVER;
    if (now_ns < c->copies.uneven_ns)
        return NULL;
    LIST_FOREACH(node, &c->copies.uneven) {
        Region *r = CONTAINER_OF(node, Region, mirror.uneven);
        uint64_t due_ns = heal_due_ns(r, now_ns);
        if (due_ns <= now_ns) {
            r->mirror.heal_ns = HEAL_NOW_NS; /* until it has no more */
            return r;
        }
        next_ns = min_u64(next_ns, due_ns);
    }
    c->copies.uneven_ns = next_ns;
    return NULL;
}

bool heal_start(Client *c, uint64_t now_ns, FillTarget *ret_from, FillItem **ret_item)
{
    *ret_item = NULL;
    client_lock(c);
    Region *to = heal_find_due(c, now_ns);
    if (to && heal_may(c) && moves_pace(c, now_ns) <= now_ns)
        *ret_item = heal_next(c, to, now_ns);
    if (*ret_item) {
        c->copies.beside = (HealBeside){.piece_blocks = heal_blocks_max(c)};
        *ret_from = fill_target(to->mirror.twin);
        c->stats.heals++;
    }
    client_unlock(c);
    return *ret_item != NULL;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void heal_sums(const Client *c, CallState *st)
{
    const FillItem *item = st->read.fill;
    for (size_t at = 0, i = 0; c->config.block_sum && at < item->len; at += WIRE_BLOCK_SIZE, i++)
        st->sums.sum[i] = c->config.block_sum(
            item->data + at, min_u64(item->len - at, WIRE_BLOCK_SIZE), st->read.seed);
}

enum HealBlock {
    HEAL_PROVEN,  /* it is what the file holds */
    HEAL_LEFT,    /* it cannot be copied: it is not filled, or not proven */
    HEAL_MISSING, /* it is filled, and its bytes would have come with others that are not */
};

/* Under the lock. */
static enum HealBlock heal_block(Client *c, CallState *st, Region *from, size_t i, bool *bad)
{
    enum { CHUNK_BLOCKS = WIRE_CHUNK_MAX / WIRE_BLOCK_SIZE };
    uint64_t block = block_of(st->read.fill->offset) + i;
    if (RULE(HEAL_FILLED) && read_transfer_unfilled(&st->u.read, block)) {
        unsigned filled = read_transfer_chunk_filled(&st->u.read, (unsigned)(i / CHUNK_BLOCKS));
        bool is = filled >> i % CHUNK_BLOCKS & 1;
        region_saw_filled(c, from, block, is);
        return is ? HEAL_MISSING : HEAL_LEFT;
    }
    if (!c->config.block_sum || from->carried || !RULE(HEAL_CHECKED))
        return HEAL_PROVEN;
    enum CheckVerdict v = checks_compare(from, block, st->sums.sum[i], st->read.counter);
    *bad |= v == CHECK_BAD;
    return v == CHECK_GOOD ? HEAL_PROVEN : HEAL_LEFT;
}

static bool all_gone(const CallState *st, size_t blocks)
{
    const uint64_t first = block_of(st->read.fill->offset);
    for (size_t i = 0; i < blocks; i++)
        if (!read_transfer_unfilled(&st->u.read, first + i))
            return false;
    return true;
}

/* Under the lock: the first run of blocks that are proven, [*ret_first, the result) of the piece.
 * What comes after it, and what did not come, is looked at again. */
static size_t heal_run(Client *c, CallState *st, size_t *ret_first, bool *bad)
{
    const FillItem *item = st->read.fill;
    Region *from = client_region(c, st->rd), *to = client_region(c, item->to.rd);
    size_t blocks = blocks_in(item->len), end = blocks, again = blocks;
    *ret_first = blocks;
    if (!from || !from->active || !region_address_equal(&from->memory.address, &st->run.address))
        return blocks;
    for (size_t i = 0; i < blocks; i++) {
        enum HealBlock block = heal_block(c, st, from, i, bad);
        if (block == HEAL_PROVEN && *ret_first == blocks)
            *ret_first = i;
        if (block != HEAL_PROVEN && *ret_first < i && end == blocks)
            end = i;
        if (block == HEAL_MISSING && again == blocks)
            again = i;
    }
    c->copies.beside.gone = all_gone(st, blocks);
    again = min_u64(again, end);
    if (!RULE(HEAL_COUNTER) && to)
        st->read.fill->to.counter = numbers_last(&to->memory.numbers);
    if (to && again < blocks)
        to->mirror.heal_at = min_u64(to->mirror.heal_at, block_of(item->offset) + again);
    return end;
}

/* The piece has come. */
static void heal_came(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    FillItem *item = st->read.fill;
    bool bad = false;
    size_t first;
    heal_sums(c, st);
    client_lock(c);
    size_t end = heal_run(c, st, &first, &bad);
    client_unlock(c);
    if (bad)
        client_region_corrupt(c, st->rd, &st->run.address, now_ns);
    if (first >= end)
        return;
    size_t from = first * WIRE_BLOCK_SIZE, to = min_u64(end * WIRE_BLOCK_SIZE, item->len);
    memmove(item->data, item->data + from, to - from);
    item->offset += from;
    item->len = to - from;
    st->read.fill = NULL;
    uint64_t asked_ns = st->read.asked_ns;
    int rd = item->to.rd;
    bool put = client_fill_put(c, item);
    client_lock(c);
    Region *r = client_region(c, rd);
    if (r && put)
        moves_copied(c, r, to - from, asked_ns);
    else if (r)
        mirror_refused(c, r, now_ns);
    client_unlock(c);
}

static void heal_step(Call *call, uint64_t now_ns)
{
    enum RunResult result = mirror_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    if (result == RUN_DONE)
        heal_came(call, now_ns);
    call_finish(call, 0, 0, NULL);
}

const CallOps heal_ops = {.step = heal_step};
