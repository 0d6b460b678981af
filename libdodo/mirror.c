/* SPDX-License-Identifier: MIT */
/* A copy that nobody reads may be lost without anybody knowing, and the other one next. So each
 * that has not been heard for a while is asked for a block, in the background. Where there are very
 * many, they wait for their turn: a host that is lost is seen with the first of its copies. */
#include "libdodo/mirror.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/fills.h"
#include "libdodo/loss.h"
#include "libdodo/region.h"
#include "libdodo/run.h"

enum { LOOKS_MAX = 100 }; /* in the time between keep-alives */

uint64_t mirror_look_due(const Client *c)
{
    if (!RULE(MIRROR_LOOK) || list_empty(&c->copies.all))
        return TIME_NEVER;
    const Region *r = CONTAINER_OF(c->copies.all.next, Region, mirror.heard);
    return r->mirror.heard_ns
               ? max_u64(time_add(r->mirror.heard_ns, c->config.alive_ns), c->copies.look_ns)
               : 0;
}

bool mirror_look_start(Client *c, uint64_t now_ns, FillTarget *ret, size_t *ret_len)
{
    client_lock(c);
    Region *r = CONTAINER_OF(c->copies.all.next, Region, mirror.heard);
    bool due = mirror_look_due(c) <= now_ns;
    if (due && (!r->active || r->mirror.twin->mirror.spare)) { /* it is being closed, or alone */
        list_remove(&r->mirror.heard);
        due = false;
    }
    if (due) {
        *ret = fill_target(r);
        *ret_len = min_u64(r->len, WIRE_BLOCK_SIZE);
        mirror_heard(c, r, now_ns); /* or it will be lost */
        c->copies.look_ns = time_add(now_ns, c->config.alive_ns / LOOKS_MAX);
    }
    client_unlock(c);
    return due;
}

/* As any read that fails, it leaves no copy that is read again. */
enum RunResult mirror_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING || result == RUN_DONE)
        return result;
    enum Loss loss = loss_of(result, st->run.status);
    client_blame(c, st->rd, &st->run.address, loss, now_ns);
    client_region_lost(c, st->rd, &st->run.address, loss, now_ns);
    return result;
}

/* What comes does not matter. */
static void look_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    enum RunResult result = mirror_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    client_lock(c);
    Region *r = result == RUN_DONE ? client_region(c, st->rd) : NULL;
    if (r && r->active && region_address_equal(&r->memory.address, &st->run.address))
        mirror_answered(c, r, true, st->read.asked_ns, now_ns);
    client_unlock(c);
    call_finish(call, 0, 0, NULL);
}

const CallOps look_ops = {.step = look_step};
