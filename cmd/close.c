/* SPDX-License-Identifier: MIT */
/* CLOSE: the paper's free (4.3), or release for the next run. The client has its reply when the imd
 * has answered, or when there is no imd any more: then a FREE is as good as done, and a release
 * came too late. A FREE of a region that a manager which just started may still hear of is as good
 * as done, too: nobody claims it when it comes. */
#include "cmd/manager_private.h"

/* The region, if it is in this opening. */
static Region *find(const Manager *m, const RegionAddress *address)
{
    const Host *h = cmd_host_find(m, address->epoch);
    Region *r = h ? cmd_region_find(m, h, address->region) : NULL;
    return r && r->opening == address->opening ? r : NULL;
}

static bool is_own(const Region *r, const CmdClient *c)
{
    return r->state == REGION_OPENED && r->open.client == c;
}

/* By the manager before this one, whose answer was lost. */
static bool is_released(const Region *r, const OpClose *op)
{
    return op->mode == CLOSE_RELEASE && r->state == REGION_KEPT &&
           stamp_equal(&r->kept.stamp, &op->stamp);
}

bool cmd_region_may_come(const Manager *m, const RegionAddress *address)
{
    if (cmd_silent(m, m->start_ns, m->config.grace_ns))
        return false;
    const Host *h = cmd_host_find(m, address->epoch);
    return !h || (!h->listed && !h->leaving && !cmd_region_find(m, h, address->region));
}

static uint16_t without_host(uint8_t mode)
{
    return mode == CLOSE_FREE ? STATUS_OK : STATUS_GONE;
}

/* Of one piece of a file the latest release counts: older ones would only hold memory. */
static void keep(Manager *m, Region *r, const Stamp *stamp)
{
    Region *next;
    for (Region *old = cmd_kept_first(m, &r->key, r->offset, r->len); old; old = next) {
        next = cmd_kept_next(m, old);
        cmd_region_doom(m, old);
    }
    cmd_region_keep(m, r, stamp);
}

static void close_released(Manager *m, const Call *call, int status, const uint8_t *body,
                           size_t len)
{
    (void)body;
    (void)len;
    Task *t = call->ask.task;
    Region *r = call->ask.region;
    uint16_t answer = STATUS_GONE;

    if (status == STATUS_OK) {
        r->imd_request = call->request->id;
        keep(m, r, &t->close_stamp);
        answer = STATUS_OK;
    } else if (status == STATUS_GONE || status == STATUS_EPOCH) {
        cmd_region_drop(m, r);
    } else if (status != CALL_HOST_LOST) {
        /* Refused, or who knows: what is not proven clean is not kept. */
        cmd_region_doom(m, r);
    }
    cmd_task_over(m, t, answer, NULL, 0);
}

static int ask_release(Manager *m, Task *t, Region *r, const OpClose *op)
{
    uint8_t body[WIRE_BODY_MAX];
    OpRelease release = {.address = op->address, .stamp = op->stamp};
    size_t n = wire_release_encode(&release, body);

    const CallAsk ask = {.op = OP_RELEASE,
                         .over = close_released,
                         .task = t,
                         .region = r,
                         .give_up_ns = time_add(m->now_ns, m->config.request_deadline_ns)};

    return cmd_call_begin(m, r->host, &ask, body, n);
}

/* There is no memory, or no place in the line of requests to the host. A FREE is as good as done:
 * it is sent when there is. */
static uint16_t close_unasked(Manager *m, Region *r, uint8_t mode)
{
    if (mode != CLOSE_FREE)
        return STATUS_BUSY;
    cmd_region_doom(m, r);
    return STATUS_OK;
}

/* STATUS_MAX: under way. */
static uint16_t close_begin(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    OpClose op;

    if (wire_close_decode(request->body, request->body_len, &op) != 0)
        return STATUS_INVALID;
    Region *r = find(m, &op.address);
    if (r && is_released(r, &op))
        return STATUS_OK;
    if (!r || !is_own(r, c))
        return cmd_region_may_come(m, &op.address) ? without_host(op.mode) : STATUS_GONE;
    if (op.mode == CLOSE_RELEASE && !r->retain)
        return STATUS_INVALID;
    m->stats.closes++;
    if (cmd_host_silent(m, r->host)) {
        cmd_region_doom(m, r);
        return without_host(op.mode);
    }
    Task *t = cmd_task_new(m, c, session, request, 0);
    if (!t)
        return close_unasked(m, r, op.mode);
    t->close_stamp = op.stamp;
    int status = op.mode == CLOSE_FREE ? cmd_call_free(m, r, t) : ask_release(m, t, r, &op);
    if (status == 0)
        return STATUS_MAX;
    cmd_task_destroy(m, t);
    return close_unasked(m, r, op.mode);
}

void cmd_close(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    uint16_t status = close_begin(m, c, session, request);

    if (status != STATUS_MAX)
        cmd_reply(m, &c->replies, session, request->id, request->op, status, NULL, 0);
}
