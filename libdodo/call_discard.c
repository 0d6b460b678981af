/* SPDX-License-Identifier: MIT */
/* mdiscard: a part of the region need not be in remote memory any longer. Its whole blocks are made
 * unfilled as those of a write whose file half failed, by VOIDs with numbers of their own: every
 * host knows them, and a fill that was read before comes too late. The file is not touched, and
 * what is known of its bytes stays true. While it runs, it counts as a write: reads beside it take
 * the file and fill nothing. */
#include <errno.h>
#include <limits.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/mirror.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"

enum DiscardPhase { DISCARD_ENTER, DISCARD_RUN };

/* ---- the end of a part, and of all ---------------------------------------------------------- */

static void leave_part(Call *call)
{
    CallState *st = call->state;
    if (st->write.recorded)
        list_remove(&st->write.record.link);
    st->write.recorded = false;
}

static void discard_end(Call *call, int error, const char *reason)
{
    Client *c = call->channel->client;
    client_lock(c);
    leave_part(call);
    (void)region_leave(c, region_top(call->region));
    client_unlock(c);
    call_finish(call, error ? -1 : 0, error, reason);
    c->hooks.wake(c->hooks.ctx);
}

static void part_over(Call *call)
{
    Client *c = call->channel->client;
    client_lock(c);
    leave_part(call);
    client_unlock(c);
    call->group.begun += call->state->part.len;
    call->state->part.len = 0;
    call->phase = DISCARD_ENTER;
    c->hooks.wake(c->hooks.ctx);
}

/* ---- a window ------------------------------------------------------------------------------- */

/* False: no numbers are free now, or the part's memory is gone, and with it what was to go. */
static bool window_start(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t offset = st->user.offset + st->user.done;
    size_t len = write_window_len(st, st->user.done);
    unsigned count = write_chunk_count(offset, len);
    client_lock(c);
    bool same = r->active && region_address_equal(&r->memory.address, &st->run.address);
    uint64_t number = same ? numbers_take_row(&r->memory.numbers, count) : 0;
    Addr host = r->memory.host;
    if (number)
        region_gave_up(c, r, block_of(offset), block_of(offset + len - 1));
    client_unlock(c);
    if (!same)
        st->user.done = st->user.len;
    else if (number == 0)
        call->need = NEED_BLOCKED;
    if (number == 0)
        return false;
    const RegionAddress address = st->run.address;
    st->write.numbers = count;
    st->user.window = len;
    run_write(call, &host, &address, WRITE_VOID, offset, NULL, len, number, now_ns);
    return true;
}

/* The host may not have heard of the numbers, and would wait for them for ever. */
static void window_lost(Call *call, enum RunResult result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    enum Loss loss = loss_of(result, st->run.status);
    client_blame(c, call->region->rd, &st->run.address, loss, now_ns);
    run_end(call);
    write_numbers_over(call);
    client_region_lost(c, call->region->rd, &st->run.address, loss, now_ns);
    st->user.done = st->user.len;
}

/* True: the part is done. */
static bool part_step(Call *call, uint64_t now_ns)
{
    CallState *st = call->state;
    while (st->user.done < st->user.len) {
        if (st->run.kind == RUN_NONE && !window_start(call, now_ns))
            return st->user.done == st->user.len;
        enum RunResult result = run_step(call, now_ns);
        if (result == RUN_RUNNING)
            return false;
        if (result != RUN_DONE) {
            window_lost(call, result, now_ns);
            return true;
        }
        run_end(call);
        write_numbers_over(call);
        st->user.done += st->user.window;
    }
    return true;
}

/* ---- the parts ------------------------------------------------------------------------------ */

/* The part in which the rest of the range begins, and its whole blocks there, if there are any. */
static void part_next(Call *call)
{
    const CallGroup *g = &call->group;
    CallState *st = call->state;
    uint64_t inner;
    call->region = region_part(region_top(call->region), g->offset + g->begun, &inner);
    uint64_t len = call->region->len, left = g->len - g->begun;
    st->part.len = left < len - inner ? left : len - inner;
    uint64_t end = inner + st->part.len;
    uint64_t from = (inner + WIRE_BLOCK_SIZE - 1) / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    uint64_t to = end == len ? end : end / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    st->user = (CallUser){.offset = from, .len = from < to ? to - from : 0};
}

/* Waits for writes to common blocks, then counts as one itself. False: it waits. */
static bool part_enter(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    Region *r = call->region;
    uint64_t first = block_of(st->user.offset), last = block_of(st->user.offset + st->user.len - 1);
    client_lock(c);
    bool wanted = (r->active || mirror_other(r)) && st->user.len > 0 && share_for_oneself(r);
    bool wait = wanted && RULE(WRITES_SERIALIZED) && region_write_overlaps(r, first, last);
    if (wait) {
        c->stats.blocked++;
    } else if (wanted) {
        st->write.record.first_block = first;
        st->write.record.last_block = last;
        list_push_back(&r->writes, &st->write.record.link);
        offers_overtaken(r, st->user.offset, st->user.offset + st->user.len);
        st->write.recorded = true;
        st->run.address = r->memory.address;
    } else {
        st->user.done = st->user.len;
    }
    client_unlock(c);
    if (wait)
        call->need = NEED_BLOCKED;
    else
        call->phase = DISCARD_RUN;
    return !wait;
}

/* In the other copy, too. The call counts as a write until that is done, so that nothing is copied
 * back meanwhile. False: there is no other copy, or it was that one. */
static bool part_in_twin(Call *call)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    client_lock(c);
    Region *twin = call->region->mirror.second ? NULL : mirror_other(call->region);
    if (twin && st->user.len > 0) {
        call->region = twin;
        st->run.address = twin->memory.address;
        st->user.done = 0;
    }
    client_unlock(c);
    return twin && st->user.len > 0;
}

static void discard_step(Call *call, uint64_t now_ns)
{
    const CallGroup *g = &call->group;
    if (call->need == NEED_BLOCKED)
        call->need = NEED_NETWORK;
    while (g->begun < g->len) {
        if (call->state->part.len == 0)
            part_next(call);
        if (call->phase == DISCARD_ENTER && !part_enter(call))
            return;
        if (!part_step(call, now_ns))
            return;
        if (!part_in_twin(call))
            part_over(call);
    }
    discard_end(call, 0, NULL);
}

static const CallOps discard_ops = {.step = discard_step};

void call_discard_start(Call *call, Channel *ch, int rd, off_t offset, size_t len, uint64_t now_ns)
{
    Client *c = ch->client;
    bool alive = false, wrong = false;
    (void)now_ns;
    call_init(call, ch, &discard_ops);
    client_lock(c);
    Region *r = client_user_region(c, rd);
    if (r) {
        alive = region_active(r) || region_file_serves(r);
        wrong = offset < 0 || (uint64_t)offset > r->len || len > SSIZE_MAX;
        if (!wrong && len > r->len - (uint64_t)offset)
            len = r->len - (uint64_t)offset;
        if (alive && !wrong && len > 0) {
            r->refs++;
            call->region = r;
            call->group = (CallGroup){.offset = (uint64_t)offset, .len = len};
            call_attach(call);
        }
    }
    client_unlock(c);
    if (!alive)
        call_finish(call, -1, ENOMEM, r ? "the region's host is lost" : "no such region");
    else if (wrong)
        call_finish(call, -1, EINVAL, "offset outside the region, or too much");
    else if (len == 0)
        call_finish(call, 0, 0, NULL);
}
