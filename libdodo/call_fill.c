/* SPDX-License-Identifier: MIT */
/* mfill_file: a part of the backing file is read and offered as fills, as after reads that miss,
 * but no byte comes to the caller and no host is asked before. All of it is read, in pieces, what
 * is filled already among it: a drive passes over that in less time than it takes to begin again.
 */
#include <errno.h>
#include <stdlib.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/mirror.h"
#include "libdodo/prefetch.h"
#include "libdodo/region.h"

enum FillPhase { FILL_READ, FILL_SENT };

/* The bytes that were read are on their way. Until they are there, or given up, the call is not
 * over: who fills one part after the other fills as fast as the network takes them. */
static void fill_wait(Call *call)
{
    Client *c = call->channel->client;
    Region *top = region_top(call->region);
    client_lock(c);
    bool waits = c->fills.over < call->fills_put && region_active(top);
    bool waited = call->phase == FILL_SENT;
    c->fills.waiters += waits && !waited;
    c->fills.waiters -= !waits && waited;
    bool last = !waits && region_leave(c, top);
    client_unlock(c);
    call->phase = FILL_SENT;
    if (waits)
        call->need = NEED_BLOCKED;
    else
        call_finish(call, (ssize_t)call->group.begun, 0, NULL);
    if (last)
        c->hooks.wake(c->hooks.ctx);
}

/* Under the lock: the next piece. NULL: it cannot be filled now, or it would have to wait for
 * others, and the call is over. */
static FillItem *next_piece(Call *call)
{
    Client *c = call->channel->client;
    const CallGroup *g = &call->group;
    uint64_t inner, left = g->len - g->begun;
    Region *r = mirror_fuller(region_part(region_top(call->region), g->offset + g->begun, &inner));
    uint64_t start = inner / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    uint64_t end =
        min_u64(start + FILL_RUN_BLOCKS * WIRE_BLOCK_SIZE, min_u64(inner + left, r->len));
    if (end < r->len)
        end = end / WIRE_BLOCK_SIZE * WIRE_BLOCK_SIZE;
    bool beside = end > start && RULE(READ_BESIDE_WRITE) &&
                  region_write_overlaps(r, block_of(start), block_of(end - 1));
    bool waits = g->begun == 0 && !list_empty(&c->fills.all); /* what reads offer goes first */
    if (!r->active || beside || end <= start || waits)
        return NULL;
    call->region = r;
    return fill_item_new(c, r, start, end);
}

static void call_fill_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    FillItem *item = NULL;
    (void)now_ns;
    if (call->phase == FILL_SENT) {
        fill_wait(call);
        return;
    }
    if (call->state->read.fill) /* the file is being read */
        return;
    client_lock(c);
    if (call->group.begun < call->group.len)
        item = next_piece(call);
    c->stats.prefetches += item != NULL;
    client_unlock(c);
    call->state->read.fill = item;
    if (item)
        call_need_file(call, NEED_FILE_READ, call->region->file, item->data, item->len,
                       call->region->file_offset + item->offset);
    else
        fill_wait(call);
}

static void call_fill_file(Call *call, const FileResult *result, uint64_t now_ns)
{
    Client *c = call->channel->client;
    CallState *st = call->state;
    FillItem *item = st->read.fill;
    size_t count = result->count < 0 ? 0 : (size_t)result->count;
    bool whole = count == item->len;
    st->read.fill = NULL;
    call->group.begun += min_u64(count, call->group.len - call->group.begun);
    if (count > 0)
        client_fill_read(c, item, count);
    else
        free(item);
    client_lock(c);
    call->fills_put = c->fills.put;
    client_unlock(c);
    if (whole)
        call_fill_step(call, now_ns);
    else /* the file ends there, or is bad, which a read will tell */
        fill_wait(call);
}

static const CallOps fill_file_ops = {.step = call_fill_step, .file = call_fill_file};

void call_fill_start(Call *call, Channel *ch, int rd, uint64_t from, uint64_t to, uint64_t now_ns)
{
    Client *c = ch->client;
    call_init(call, ch, &fill_file_ops);
    client_lock(c);
    Region *r = client_user_region(c, rd);
    bool begins = r && region_active(r) && from < to && to <= r->len;
    if (begins) {
        r->refs++;
        call->region = r;
        call->group = (CallGroup){.offset = from, .len = to - from};
        call_attach(call);
    }
    client_unlock(c);
    if (begins)
        call_fill_step(call, now_ns);
    else
        call_finish(call, -1, ENOMEM, "no such region, or its host is lost");
}
