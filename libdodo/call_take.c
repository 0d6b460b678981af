/* SPDX-License-Identifier: MIT */
/* A region that is kept on a host which is being drained, and has no program, leaves it. A tool
 * opens it with OP_TAKE, and has a region of two copies then, of which one is new. It moves as any
 * region does (move.c), and is released when it is closed.
 *
 * It has no file: nobody reads or writes it here. Nor are there checksums of its blocks. They are
 * taken as its host returns them; the program that opens the region next has its own. */
#include <errno.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/region.h"
#include "libdodo/run.h"

static Region *carried_new(Client *c, const OpTakeReply *given)
{
    Region *r;
    if (client_region_new(c, &r) < 0)
        return NULL;
    r->carried = true;
    r->len = given->len;
    r->flags = DODO_RDONLY | DODO_RETAIN;
    r->stamp = given->stamp;
    return r;
}

static void carried_activate(Client *c, Region *r, const CopyPlace *at, bool reused,
                             uint64_t now_ns)
{
    const OpOpenReply reply = {
        .host = at->host, .address = at->address, .control_port = at->control_port};
    client_region_activate(c, r, &reply, reused, now_ns);
    r->retainable = true;
}

/* Under the lock. NULL: there is no memory, or no descriptor. */
static Region *carried_make(Client *c, const OpTakeReply *given, uint64_t now_ns)
{
    Region *r = carried_new(c, given), *twin = r ? carried_new(c, given) : NULL;
    if (r && !twin) {
        client_region_remove(c, r);
        client_region_free(c, r);
    }
    if (!twin)
        return NULL;
    twin->stripe.parent = r;
    mirror_pair(r, twin);
    carried_activate(c, r, &given->from, true, now_ns);
    carried_activate(c, twin, &given->to, false, now_ns);
    c->moves.wanted = true; /* what is drained is asked for at once */
    return r;
}

static const char *take_refusal(uint16_t status)
{
    return status == STATUS_GONE        ? "no region is kept there"
           : status == STATUS_DENIED    ? "the host is not being drained"
           : status == STATUS_NO_MEMORY ? "no other host has that much idle memory"
                                        : "the manager refused the request";
}

static int take_errno(uint16_t status)
{
    return status == STATUS_GONE ? ENOENT : status == STATUS_NO_MEMORY ? ENOMEM : EINVAL;
}

static void take_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const CallState *st = call->state;
    const Request *q = &st->u.request;
    OpTakeReply given;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    bool good = result == RUN_DONE && wire_take_reply_decode(q->answer, q->answer_len, &given) == 0;
    client_lock(c);
    Region *r = good ? carried_make(c, &given, now_ns) : NULL;
    numbers_end(&c->ids, st->id);
    c->alive_due = true; /* the manager tells of moves then; what was not taken is freed */
    int rd = r ? r->rd : -1;
    client_unlock(c);
    c->hooks.wake_background(c->hooks.ctx);
    if (r)
        call_finish(call, rd, 0, NULL);
    else if (good)
        call_finish(call, -1, ENOMEM, "too many regions are open");
    else if (result == RUN_REFUSED)
        call_finish(call, -1, take_errno(st->run.status), take_refusal(st->run.status));
    else
        call_finish(call, -1, EINVAL,
                    "the manager does not answer, or not in a way that makes sense");
}

static const CallOps take_ops = {.step = take_step};

void call_take_start(Call *call, Channel *ch, uint64_t epoch, uint64_t region, uint64_t now_ns)
{
    Client *c = ch->client;
    const OpTake take = {epoch, region};
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_take_encode(&take, body);
    uint64_t id = call_request(call, ch, &take_ops);
    if (id)
        run_request(call, id, OP_TAKE, body, n, &c->config.request, now_ns);
}
