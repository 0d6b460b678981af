/* SPDX-License-Identifier: MIT */
/* mfillv: the program has bytes that the backing file holds too, and offers them for remote memory,
 * so that no disk has to be read. As with any fill, only blocks whose every byte is there are
 * filled. A block is left out if a write of this process to it is under way, or has begun since the
 * bytes were given. The write counter is taken before the first byte goes out, and only if no write
 * began since then. */
#include <errno.h>

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

enum OfferPhase { OFFER_ENTER, OFFER_RUN };

/* A counter taken after a write says nothing about bytes that were given before it. An offer may be
 * held up on the way to its counter, or have many pieces: it hears of each write meanwhile, and of
 * those that were under way when it began. */
static bool write_under_way(Region *r, uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t inner, len = to - from;
        Region *part = region_part(r, from, &inner);
        if (len > part->len - inner)
            len = part->len - inner;
        if (region_write_overlaps(part, block_of(inner), block_of(inner + len - 1)))
            return true;
        from += len;
    }
    return false;
}

void offer_enter(Call *call, Region *r, uint64_t from, uint64_t to)
{
    call->overtaken = write_under_way(r, from, to); /* it may have ended by then, too */
    call->offer_from = from;
    call->offer_to = to;
    call->next_offer = r->offers;
    r->offers = call;
}

void offer_leave(Call *call, Region *r)
{
    Call **at = &r->offers;
    while (*at != call)
        at = &(*at)->next_offer;
    *at = call->next_offer;
}

void offers_overtaken(Region *r, uint64_t from, uint64_t to)
{
    uint64_t inner = r->file_offset - region_top(r)->file_offset;
    for (Call *o = region_top(r)->offers; o; o = o->next_offer)
        o->overtaken |= o->offer_from < inner + to && inner + from < o->offer_to;
}

static void offer_end(Call *call, ssize_t result, int error, const char *reason)
{
    Client *c = call->channel->client;
    Region *r = region_top(call->region);
    client_lock(c);
    if (!call->parent)
        offer_leave(call, r);
    bool last = region_leave(c, r);
    client_unlock(c);
    call_finish(call, result, error, reason);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

/* The whole blocks of the piece: [*ret_from, the result), in the region. */
static uint64_t whole_blocks(const Region *r, const CallState *st, uint64_t *ret_from)
{
    uint64_t end = st->user.offset + st->user.len;
    *ret_from = (st->user.offset + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    return end == r->len ? end : end / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
}

/* The region has no memory: it is lost, or another process is about to open it. */
static void offer_nowhere(Call *call, const char *reason)
{
    Client *c = call->channel->client;
    client_lock(c);
    bool waits = region_waits(region_top(call->region));
    client_unlock(c);
    if (waits)
        offer_end(call, 0, 0, NULL);
    else
        offer_end(call, -1, ENOMEM, reason);
}

/* Offers the next window, or ends the call. */
static void offer_window(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    const Call *whole = call->parent ? call->parent : call;
    uint64_t from, to = whole_blocks(r, st, &from);
    if (from + st->user.done >= to) {
        offer_end(call, (ssize_t)st->user.len, 0, NULL);
        return;
    }
    from += st->user.done;
    st->user.window = to - from < TRANSFER_BYTES_MAX ? to - from : TRANSFER_BYTES_MAX;
    client_lock(c);
    call->region = r = r->active || !mirror_other(r) ? r : r->mirror.twin;
    uint64_t seed = r->memory.blocks.seed;
    client_unlock(c);
    const uint8_t *data = st->user.buf + (from - st->user.offset);
    BlockSums sums;
    block_sums(c, r->len, seed, from, data, st->user.window, &sums);
    client_lock(c);
    bool active = r->active;
    bool beside = (RULE(OFFER_OVERTAKEN) && whole->overtaken) ||
                  (RULE(READ_BESIDE_WRITE) &&
                   region_write_overlaps(r, block_of(from), block_of(from + st->user.window - 1)));
    Addr host = r->memory.host;
    RegionAddress address = r->memory.address;
    uint64_t counter = numbers_last(&r->memory.numbers);
    c->stats.fills_offered += active && !beside;
    if (active && !beside && seed == r->memory.blocks.seed)
        checks_read(r, &sums, counter);
    client_unlock(c);
    if (!active) {
        offer_nowhere(call, "the region's host is lost");
    } else if (beside) {
        offer_end(call, 0, 0, NULL);
    } else {
        call->phase = OFFER_RUN;
        run_write(call, &host, &address, WRITE_FILL, from, data, st->user.window, counter, now_ns);
    }
}

static void offer_taken(Call *call, bool refused)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    Region *r = call->region;
    uint64_t first = block_of(st->run.offset),
             last = block_of(st->run.offset + st->user.window - 1);
    client_lock(c);
    bool same = r->active && region_address_equal(&r->memory.address, &st->run.address);
    c->stats.fills_done += !refused;
    c->stats.fills_refused += refused;
    for (uint64_t b = first; same && !refused && b <= last; b++)
        if (!region_write_overlaps(r, b, b))
            region_saw_filled(c, r, b, true);
    client_unlock(c);
}

/* True: the window goes to the other copy. */
static bool offer_lost(Call *call, enum RunResult result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    enum Loss loss = loss_of(result, st->run.status);
    if (loss != LOSS_SLOW)
        client_blame(c, call->region->rd, &st->run.address, loss, now_ns);
    client_lock(c);
    const Region *r = call->region;
    bool gone = !r->active || !region_address_equal(&r->memory.address, &st->run.address);
    bool turns = r->mirror.twin && gone && (r->active || mirror_other(r));
    client_unlock(c);
    run_end(call);
    call->phase = OFFER_ENTER;
    if (turns)
        return true;
    offer_nowhere(call,
                  loss_of_host(loss) ? "the region's host is lost" : "the region's host refuses");
    return false;
}

static void call_offer_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    if (call->phase == OFFER_ENTER) {
        offer_window(call, now_ns);
        if (call->need == NEED_NOTHING)
            return;
    }
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    if (result != RUN_DONE) {
        if (offer_lost(call, result, now_ns))
            call_offer_step(call, now_ns);
        return;
    }
    bool refused = st->u.write.refused_chunks > 0;
    offer_taken(call, refused);
    run_end(call);
    st->user.done += st->user.window;
    if (refused)
        offer_end(call, 0, 0, NULL);
    else
        call->phase = OFFER_ENTER; /* the next window, at once */
    if (call->need != NEED_NOTHING)
        call_offer_step(call, now_ns);
}

static const CallOps offer_ops = {.step = call_offer_step};

void call_offer_begin(Call *call, Region *r, uint64_t offset, const void *buf, size_t len)
{
    CallState *st = call->state;
    call->ops = &offer_ops;
    call->region = r;
    st->user.buf = (uint8_t *)(uintptr_t)buf; /* only read */
    st->user.offset = offset;
    st->user.len = len;
}
