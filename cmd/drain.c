/* SPDX-License-Identifier: MIT */
/* Taking a host out of service. An operator's tool says which one (OP_DRAIN). From then on it is
 * not chosen; clients hear at once, and with their keep-alives, that they have regions there, ask
 * for which hosts that holds (OP_MOVES), and move them by openings and closings as ever. What is
 * kept there for a next run is dropped if the operator says so. It lasts until it is cancelled or
 * the host goes. A manager that starts again does not know of it: the tool tells it again.
 *
 * An imd whose owner is back asks for the drain of its own host, and goes when it may. */
#include "cmd/manager_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/parse.h"

enum { SECONDS_MAX = 1 << 30 }; /* left, that are shown */

/* ---- what is left ---------------------------------------------------------------------------- */

/* Requests that may bring a region which the directory does not have yet. */
static uint64_t allocs_under_way(const Host *h)
{
    const ListNode *lists[] = {&h->calls.running, &h->calls.waiting};
    uint64_t n = 0;
    for (int i = 0; i < 2; i++) {
        LIST_FOREACH(at, lists[i]) {
            n += CONTAINER_OF(at, Call, of_host)->ask.op == OP_ALLOC;
        }
    }
    return n;
}

static uint64_t left_there(const Host *h)
{
    return h->regions_count + allocs_under_way(h);
}

void cmd_drain_parts(Host *h)
{
    h->drain.lost = h->drain.on && left_there(h) > 0;
}

/* "; 40 MiB to copy, 20 MiB/s, 2s" */
static void say_ahead(const Manager *m, const Host *h, char *text, size_t cap)
{
    char left[32], rate[32], time[32];
    const uint64_t ahead = cmd_drain_ahead(m, h), pace = cmd_drain_pace(m, h);
    const uint64_t seconds = min_u64(cmd_drain_seconds(ahead, pace), SECONDS_MAX);
    (void)format_size(ahead, left, sizeof left);
    (void)format_size(pace, rate, sizeof rate);
    (void)format_time(seconds * NS_PER_S, time, sizeof time);
    *text = '\0';
    if (ahead > 0 && pace > 0)
        (void)snprintf(text, cap, "; %s to copy, %s/s, %s", left, rate, time);
    else if (ahead > 0)
        (void)snprintf(text, cap, "; %s to copy", left);
}

void cmd_drain_reason(const Manager *m, const Host *h, Reason *ret)
{
    const uint64_t left = left_there(h);
    char text[192] = "it is being drained: nothing is left", more[112];
    say_ahead(m, h, more, sizeof more);
    if (left == 0 && !h->listed)
        (void)snprintf(text, sizeof text, "it is being drained: its regions are not known yet");
    else if (left > 0)
        (void)snprintf(text, sizeof text, "it is being drained: %" PRIu64 " region%s left%s", left,
                       left == 1 ? " is" : "s are", more);
    event_reason(ret, text);
}

/* ---- clients --------------------------------------------------------------------------------- */

/* What this client may copy in a second: its share of what all may, of the host where that is
 * least. */
static uint64_t rate_of(const Manager *m, const CmdClient *c)
{
    uint64_t rate = 0;
    for (unsigned i = 0; i < DRAINS_MAX; i++) {
        if (!(c->moves.hosts >> i & 1) || m->drains.hosts[i]->drain.rate == 0)
            continue;
        const uint64_t share = m->drains.hosts[i]->drain.rate / m->drains.hosts[i]->drain.clients;
        if (rate == 0 || share < rate)
            rate = share ? share : 1;
    }
    return rate;
}

void cmd_moves(Manager *m, CmdClient *c, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpMoves op;
    if (wire_moves_decode(request->body, request->body_len, &op) != 0) {
        cmd_reply(m, &c->replies, session, request->id, request->op, STATUS_INVALID, NULL, 0);
        return;
    }
    OpMovesReply reply = {.rate = rate_of(m, c)};
    for (unsigned i = 0; i < DRAINS_MAX; i++)
        if (c->moves.hosts >> i & 1)
            reply.epochs[reply.count++] = m->drains.hosts[i]->epoch;
    if (reply.count > 0) {
        c->moves.asked_ns = m->now_ns;
        c->moves.said = op;
    }
    size_t n = wire_moves_reply_encode(&reply, body);
    cmd_reply(m, &c->replies, session, request->id, request->op, STATUS_OK, body, n);
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void drop_kept(Manager *m, Host *h)
{
    if (h->has.kept == 0)
        return;
    LIST_FOREACH(at, &h->regions) {
        Region *r = CONTAINER_OF(at, Region, of_host);
        if (r->state == REGION_KEPT)
            cmd_region_doom(m, r);
    }
}

static uint16_t drain_start(Manager *m, Host *h, const OpDrain *op)
{
    if (!h->drain.on) {
        if (!cmd_drain_on(m, h))
            return STATUS_BUSY;
        cmd_tell_host(m, h, EVENT_HOST_BUSY, "drain begins: it gets no new regions");
        cmd_drain_hurry(m, h);
    }
    h->drain.rate = op->rate;
    h->drain.drop = op->drop;
    if (h->drain.drop)
        drop_kept(m, h);
    return STATUS_OK;
}

static void drain_cancel(Manager *m, Host *h)
{
    if (!h->drain.on)
        return;
    cmd_drain_off(m, h);
    cmd_tell_host(m, h, EVENT_HOST_IDLE, "drain is cancelled: it gets new regions again");
}

/* How far those are that say it. All clients are looked at: that is once for each question of an
 * operator. */
static void add_progress(const Manager *m, const Host *h, OpDrainReply *ret)
{
    for (HmapNode *n = hmap_walk(&m->clients, NULL); n; n = hmap_walk(&m->clients, n)) {
        const CmdClient *c = CONTAINER_OF(n, CmdClient, by_id);
        if (!(c->moves.hosts >> h->drain.place & 1) || !cmd_client_asks(m, c))
            continue;
        ret->asking++;
        ret->refused += c->moves.said.refused > 0;
        ret->left_bytes += c->moves.said.left_bytes;
        ret->copied_bytes += c->moves.said.copied_bytes;
    }
}

/* 0: it is heard, or has said good-bye. */
static uint32_t silent_s(const Manager *m, const Host *h)
{
    if (h->leaving || !cmd_host_silent(m, h))
        return 0;
    const uint64_t seconds = sub_u64(m->now_ns, h->heard_ns) / NS_PER_S;
    return (uint32_t)min_u64(max_u64(seconds, 1), UINT32_MAX);
}

OpDrainReply cmd_drain_look(const Manager *m, const Host *h)
{
    OpDrainReply reply = {
        .epoch = h->epoch,
        .state = h->drain.on ? DRAIN_ON : DRAIN_OFF,
        .listed = h->listed,
        .silent_s = silent_s(m, h),
        .open_regions = h->has.open,
        .open_bytes = h->has.open_bytes,
        .kept_regions = h->has.kept,
        .kept_bytes = h->has.kept_bytes,
        .busy_regions = left_there(h) - h->has.open - h->has.kept,
        .host_regions = h->leaving ? 0 : h->said.hint.regions, /* gone with its memory */
        .clients = h->drain.clients,
        .dead_ms = m->config.client_dead_ns / NS_PER_MS,
    };
    if (h->drain.on)
        add_progress(m, h, &reply);
    return reply;
}

/* STATUS_OK: it is done; *ret_host is the host. */
static uint16_t drain_do(Manager *m, const OpDrain *op, Host **ret_host)
{
    if (m->number == MANAGER_STANDBY)
        return STATUS_STANDBY;
    Host *h = *ret_host = cmd_host_at(m, &op->host);
    if (!h)
        return STATUS_GONE;
    if (op->what == DRAIN_START && !h->drain.lost)
        return drain_start(m, h, op);
    if (op->what == DRAIN_CANCEL)
        drain_cancel(m, h);
    return h->drain.lost ? STATUS_GONE : STATUS_OK;
}

/* ---- an owner who is back -------------------------------------------------------------------- */

static bool room_elsewhere(const Manager *m, const Host *but)
{
    static const OpOpen open = {.len = WIRE_BLOCK_SIZE};
    for (unsigned i = 0; i < m->hosts.slots_end; i++) {
        const Host *h = m->hosts.slots[i];
        if (h && h != but && m->hosts.rooms[true].of_slot[i] >= open.len &&
            cmd_host_chosen(m, h, &open))
            return true;
    }
    return false;
}

uint16_t cmd_drain_own(Manager *m, Host *h, const WireRequest *request, OpDrainReply *ret)
{
    OpDrain op;
    if (wire_drain_decode(request->body, request->body_len, &op) != 0 || op.what != DRAIN_START)
        return STATUS_INVALID;
    if (h->leaving)
        return STATUS_LEAVING;
    if (!h->drain.on) {
        if (!room_elsewhere(m, h))
            return STATUS_NO_MEMORY;
        if (!cmd_drain_on(m, h))
            return STATUS_BUSY;
        h->drain.rate = op.rate;
        cmd_tell_host(m, h, EVENT_HOST_BUSY,
                      "its owner is back: what was used last moves to other hosts");
        cmd_drain_hurry(m, h);
    }
    *ret = cmd_drain_look(m, h);
    return STATUS_OK;
}

/* ---- replies --------------------------------------------------------------------------------- */

/* To do it again changes nothing, so that a repeat may as well be done again. */
void cmd_drain(Manager *m, Session *session, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX];
    OpDrain op;
    OpDrainReply reply;
    Host *h = NULL;
    size_t n = 0;
    uint16_t status = STATUS_INVALID;

    if (wire_drain_decode(request->body, request->body_len, &op) == 0)
        status = drain_do(m, &op, &h);
    if (status == STATUS_OK) {
        reply = cmd_drain_look(m, h);
        n = wire_drain_reply_encode(&reply, body);
    }
    cmd_reply(m, NULL, session, request->id, request->op, status, body, n);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* What an older program closes meanwhile may be kept there: it goes like the rest. */
void cmd_drains_tick(Manager *m)
{
    cmd_drain_paces_tick(m);
    for (unsigned i = 0; i < DRAINS_MAX; i++) {
        Host *h = m->drains.hosts[i];
        if (!h)
            continue;
        if (h->drain.drop)
            drop_kept(m, h);
        const bool empty = h->listed && left_there(h) == 0;
        if (empty && !h->drain.told && !h->leaving)
            cmd_tell_host(m, h, EVENT_HOST_BUSY, "drain ends: nothing is left there");
        h->drain.told = empty;
    }
}
