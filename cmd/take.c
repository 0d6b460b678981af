/* SPDX-License-Identifier: MIT */
/* TAKE: a region that is kept for the next run has no client that could move it away from a host
 * which is being drained. So a tool opens it, and a new region for the same piece of the file
 * elsewhere: first the new one (open.c), then the kept one. It copies the one to the other,
 * releases that, and frees this. */
#include "cmd/manager_private.h"

/* What has become of the new region, if it is still there. */
static Region *new_one(const Manager *m, const Task *t)
{
    const Host *h = cmd_host_find(m, t->to.address.epoch);
    Region *r = h ? cmd_region_find(m, h, t->to.address.region) : NULL;
    return r && r->state == REGION_OPENED && r->open.client == t->client ? r : NULL;
}

static Region *kept_one(const Manager *m, const OpTake *op)
{
    const Host *h = cmd_host_find(m, op->epoch);
    Region *r = h ? cmd_region_find(m, h, op->region) : NULL;
    return r && r->state == REGION_KEPT ? r : NULL;
}

static void take_fail(Manager *m, Task *t, uint16_t status)
{
    Region *r = new_one(m, t);
    if (r)
        cmd_region_doom(m, r);
    cmd_task_over(m, t, status, NULL, 0);
}

static void take_succeed(Manager *m, Task *t, const Region *r, const OpAllocReply *given)
{
    uint8_t body[WIRE_BODY_MAX];
    OpTakeReply reply = {.from = {.host = r->host->address,
                                  .control_port = r->host->address.port,
                                  .address = given->address},
                         .to = t->to,
                         .len = r->len,
                         .stamp = t->open.stamp};
    reply.from.host.port = given->port;
    size_t n = wire_take_reply_encode(&reply, body);
    cmd_task_over(m, t, STATUS_OK, body, n);
}

static void take_reopened(Manager *m, const Call *call, int status, const uint8_t *body, size_t len)
{
    Task *t = call->ask.task;
    Region *r = call->ask.region;
    OpAllocReply given;

    if (!cmd_given_decode(call, status, body, len, &given) || given.address.region != r->region ||
        given.address.opening <= r->opening) {
        cmd_settle_unopened(m, r, status, &t->open.stamp);
        take_fail(m, t, STATUS_GONE);
        return;
    }
    cmd_region_set_opening(r, given.address.opening);
    r->imd_request = call->request->id;
    if (!t->client || !new_one(m, t)) {
        cmd_region_doom(m, r);
        take_fail(m, t, STATUS_GONE);
        return;
    }
    cmd_region_open(r, t->client, t->request);
    take_succeed(m, t, r, &given);
}

static void take_allocated(Manager *m, Task *t, Region *r, const OpAllocReply *given)
{
    uint8_t body[WIRE_BODY_MAX];
    cmd_region_open(r, t->client, t->request);
    t->to = (CopyPlace){
        .host = r->host->address, .control_port = r->host->address.port, .address = given->address};
    t->to.host.port = given->port;

    Region *kept = kept_one(m, &t->take);
    if (!kept || !stamp_equal(&kept->kept.stamp, &t->open.stamp)) {
        take_fail(m, t, STATUS_GONE);
        return;
    }
    OpReopen op = {.epoch = kept->host->epoch,
                   .region = kept->region,
                   .opening = kept->opening,
                   .client = t->client->id,
                   .flags = REGION_RETAIN,
                   .stamp = t->open.stamp};
    size_t n = wire_reopen_encode(&op, body);
    const CallAsk ask = {.op = OP_REOPEN,
                         .over = take_reopened,
                         .task = t,
                         .region = kept,
                         .give_up_ns = time_add(m->now_ns, m->config.request_deadline_ns)};
    if (cmd_call_begin(m, kept->host, &ask, body, n) != 0)
        take_fail(m, t, STATUS_BUSY);
}

/* STATUS_OK: it may be taken, and is what @ret_open says. */
static uint16_t take_admit(const Manager *m, const OpTake *op, OpOpen *ret_open)
{
    const Region *r = kept_one(m, op);
    if (!r)
        return STATUS_GONE;
    if (!r->host->drain.on)
        return STATUS_DENIED;
    *ret_open = (OpOpen){.key = r->key,
                         .offset = r->offset,
                         .len = r->len,
                         .flags = REGION_RETAIN | REGION_FRESH,
                         .stamp = r->kept.stamp};
    return STATUS_OK;
}

void cmd_take(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    OpTake op;
    OpOpen open;
    uint16_t status = STATUS_INVALID;

    if (wire_take_decode(request->body, request->body_len, &op) == 0)
        status = take_admit(m, &op, &open);
    Task *t = status == STATUS_OK ? cmd_open_task(m, c, session, request, &open) : NULL;
    if (!t) {
        cmd_reply(m, &c->replies, session, request->id, request->op,
                  status == STATUS_OK ? STATUS_BUSY : status, NULL, 0);
        return;
    }
    /* The new region has half of the time that an OPEN has, the kept one the other half. */
    t->give_up_ns = time_add(m->now_ns, m->config.request_deadline_ns);
    t->take = op;
    t->allocated = take_allocated;
    cmd_open_alloc(m, t);
}
