/* SPDX-License-Identifier: MIT */
/* EVENTS: what came to pass, page by page. STATUS: the directory of hosts for operators, page by
 * page, and then the hosts whose owners are busy. The cursor is the sequence number of the next
 * host: those that come and go between pages neither repeat nor hide others. */
#include "base/bytes.h"
#include "cmd/manager_private.h"

#define CURSOR_OWNERS ((uint64_t)1 << 63) /* all hosts are listed */

/* Older tools know no other state of a host that gets no new regions and will be gone. */
static enum HostState state_of(const Manager *m, const Host *h)
{
    if (h->leaving)
        return HOST_LEAVING;
    if (cmd_host_silent(m, h))
        return HOST_SILENT;
    return h->drain.on ? HOST_LEAVING : HOST_IDLE;
}

static Reason reason_of(const Manager *m, const Host *h)
{
    const Owner *o = cmd_owner_of(m, h->epoch, &h->address);
    Reason reason = o ? o->reason : (Reason){""};
    if (h->drain.on)
        cmd_drain_reason(m, h, &reason);
    return reason;
}

static Listed of_host(const Manager *m, const Host *h)
{
    return (Listed){
        .host = h,
        .status = {.address = h->address,
                   .state = state_of(m, h),
                   .epoch = h->epoch,
                   .pool_bytes = h->said.pool_bytes,
                   .free_bytes = h->said.hint.free_bytes,
                   .largest_free_bytes = h->said.hint.largest_free_bytes,
                   .regions = h->regions_count,
                   .read_bytes = h->said.served.read_bytes,
                   .write_bytes = h->said.served.write_bytes,
                   .reason = reason_of(m, h)},
    };
}

/* An owner whose memory is lent, or soon will be, is listed as a host. */
static Listed of_owner(const Owner *o)
{
    return (Listed){
        .owner = o,
        .status = {.address = o->address, .state = HOST_BUSY, .reason = o->reason},
    };
}

uint64_t cmd_list_hosts(const Manager *m, uint64_t cursor, unsigned max, ListVisit *visit,
                        void *ctx)
{
    unsigned count = 0;
    LIST_FOREACH(at, &m->hosts.order) {
        const Host *h = CONTAINER_OF(at, Host, in_order);
        if (h->sequence < cursor)
            continue;
        if (count++ == max)
            return h->sequence;
        const Listed listed = of_host(m, h);
        visit(ctx, &listed);
    }
    uint64_t first = cursor & CURSOR_OWNERS ? cursor & ~CURSOR_OWNERS : 0;
    LIST_FOREACH(at, &m->owners.order) {
        const Owner *o = CONTAINER_OF(at, Owner, in_order);
        if (o->state != HOST_OWNER_BUSY || o->sequence < first)
            continue;
        if (count++ == max)
            return CURSOR_OWNERS | o->sequence;
        const Listed listed = of_owner(o);
        visit(ctx, &listed);
    }
    return 0;
}

static void add_to_reply(void *ctx, const Listed *listed)
{
    OpStatusReply *reply = ctx;
    reply->hosts[reply->count++] = listed->status;
}

/* It changes nothing, so that a repeat may as well be answered again. */
void cmd_status(Manager *m, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpStatus op;
    OpStatusReply reply = {.regions = m->regions.by_address.count,
                           .clients = m->clients.count - m->left.count,
                           .uptime_ms = (m->now_ns - m->start_ns) / NS_PER_MS};

    if (wire_status_decode(request->body, request->body_len, &op) != 0) {
        cmd_reply(m, NULL, session, request->id, request->op, STATUS_INVALID, NULL, 0);
        return;
    }
    reply.next = cmd_list_hosts(m, op.cursor, STATUS_HOSTS_MAX, add_to_reply, &reply);
    size_t n = wire_status_reply_encode(&reply, body);
    cmd_reply(m, NULL, session, request->id, request->op, STATUS_OK, body, n);
}

/* ---- events -------------------------------------------------------------------------------- */

static void events_page(const Manager *m, uint64_t after, OpEventsReply *reply)
{
    const ManagerEvent *e;
    while (reply->count < EVENTS_PAGE_MAX && (e = events_after(&m->events, after)) != NULL) {
        reply->events[reply->count++] = (EventEntry){.number = e->number,
                                                     .age_ms = (m->now_ns - e->at_ns) / NS_PER_MS,
                                                     .kind = e->kind,
                                                     .address = e->address,
                                                     .id = e->id,
                                                     .regions = e->regions,
                                                     .reason = e->reason};
        after = e->number;
    }
}

void cmd_events(Manager *m, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpEvents op;
    OpEventsReply reply = {.instance = get_u64(m->instance.bytes), .last = m->events.last};

    if (wire_events_decode(request->body, request->body_len, &op) != 0) {
        cmd_reply(m, NULL, session, request->id, request->op, STATUS_INVALID, NULL, 0);
        return;
    }
    events_page(m, op.after, &reply);
    size_t n = wire_events_reply_encode(&reply, body);
    cmd_reply(m, NULL, session, request->id, request->op, STATUS_OK, body, n);
}
