/* SPDX-License-Identifier: MIT */
/* The manager of these tests, which answers as each of them wants. */
#include "tests/unit/client_fixture.h"

#include "base/cleanup.h"

static bool avoids(const OpOpen *open, uint64_t epoch)
{
    for (unsigned i = 0; i < open->avoid_count; i++)
        if (open->avoid[i] == epoch)
            return true;
    return false;
}

static bool drains(uint64_t epoch)
{
    for (unsigned i = 0; i < w.cmd.drained_count; i++)
        if (w.cmd.drained[i] == epoch)
            return true;
    return false;
}

static bool refuses(const OpOpen *open, uint64_t epoch)
{
    return avoids(open, epoch) || drains(epoch);
}

static size_t second_open(const OpOpen *open, uint8_t *body, uint16_t *ret_status)
{
    ImdRegion region = {.region = ++w.cmd.regions,
                        .opening = 1,
                        .pool_offset = w.second.pool_used,
                        .len = open->len};
    bool full = w.cmd.second_room && open->len > w.cmd.second_room;
    if (w.second.dead || full || refuses(open, w.second.epoch)) {
        *ret_status = STATUS_NO_MEMORY;
        return 0;
    }
    rng(NULL, &region.capability, sizeof region.capability);
    w.second.pool_used += (open->len + 4095) / 4096 * 4096;
    assert_true(w.second.pool_used <= POOL_BYTES);
    assert_int_equal(imd_data_add(w.second.data, &region), 0);
    OpOpenReply reply = {.host = addr_of(HOST_SECOND),
                         .address = {w.second.epoch, region.region, 1, region.capability},
                         .control_port = CONTROL_PORT};
    return wire_open_reply_encode(&reply, body);
}

static size_t manager_open(const WireRequest *q, uint8_t *body, uint16_t *ret_status)
{
    OpOpen open;
    assert_int_equal(wire_open_decode(q->body, q->body_len, &open), 0);
    w.heard.opens++;
    w.heard.open = open;
    w.heard.avoided = open.avoid_count;
    for (unsigned i = 0; i < open.avoid_count; i++) { /* of one that this world had, each once */
        assert_true(open.avoid[i] >= w.first_epoch && (open.avoid[i] <= w.epoch || w.second.data));
        for (unsigned k = 0; k < i; k++)
            assert_true(open.avoid[k] != open.avoid[i]);
    }
    if (w.cmd.limited && w.cmd.room == 0)
        *ret_status = STATUS_NO_MEMORY;
    if (*ret_status != STATUS_OK)
        return 0;
    w.cmd.room--;
    if (w.second.epoch && (w.net.imd_dead || refuses(&open, w.epoch)))
        return second_open(&open, body, ret_status);
    if (w.cmd.reuse && (open.flags & REGION_RETAIN)) {
        OpOpenReply kept = {
            .host = addr_of(HOST_IMD), .reused = true, .control_port = CONTROL_PORT};
        imd_data_reopen(w.data, w.cmd.last.region, ++w.cmd.last.opening, &w.cmd.last.capability);
        kept.address = w.cmd.last;
        return wire_open_reply_encode(&kept, body);
    }
    ImdRegion region = {
        .region = ++w.cmd.regions, .opening = 1, .pool_offset = w.pool_used, .len = open.len};
    rng(NULL, &region.capability, sizeof region.capability);
    w.pool_used += (open.len + 4095) / 4096 * 4096;
    assert_true(w.pool_used <= POOL_BYTES);
    assert_int_equal(imd_data_add(w.data, &region), 0);
    const Addr network = {.kind = ADDR_IP4, .port = 7701, .host = {10, 0, 0, 9}};
    OpOpenReply reply = {.host = w.cmd.elsewhere ? network : addr_of(HOST_IMD),
                         .address = {w.epoch, region.region, 1, region.capability},
                         .control_port = CONTROL_PORT};
    w.cmd.last = reply.address;
    return wire_open_reply_encode(&reply, body);
}

/* The last region of the first host, and one like it on the second. */
static size_t manager_take(uint8_t *body)
{
    ImdRegion region = {.region = ++w.cmd.regions,
                        .opening = 1,
                        .pool_offset = w.second.pool_used,
                        .len = w.heard.open.len};
    rng(NULL, &region.capability, sizeof region.capability);
    w.second.pool_used += (w.heard.open.len + 4095) / 4096 * 4096;
    assert_int_equal(imd_data_add(w.second.data, &region), 0);
    imd_data_reopen(w.data, w.cmd.last.region, ++w.cmd.last.opening, &w.cmd.last.capability);
    OpTakeReply reply = {.from = {addr_of(HOST_IMD), CONTROL_PORT, w.cmd.last},
                         .to = {addr_of(HOST_SECOND),
                                CONTROL_PORT,
                                {w.second.epoch, region.region, 1, region.capability}},
                         .len = w.heard.open.len,
                         .stamp = {1, 2, 3}};
    return wire_take_reply_encode(&reply, body);
}

static size_t moves_answer(uint8_t *body)
{
    OpMovesReply reply = {.rate = w.cmd.move_rate, .count = w.cmd.drained_count};
    memcpy(reply.epochs, w.cmd.drained, w.cmd.drained_count * sizeof *reply.epochs);
    return wire_moves_reply_encode(&reply, body);
}

static size_t manager_open_once(const WireRequest *q, uint8_t *body, uint16_t *ret_status)
{
    unsigned at = q->id % ARRAY_SIZE(w.cmd.opened);
    if (q->id != w.cmd.opened[at].id) {
        w.cmd.opened[at].id = q->id;
        w.cmd.opened[at].status = w.cmd.open_status;
        w.cmd.opened[at].len = manager_open(q, w.cmd.opened[at].body, &w.cmd.opened[at].status);
    }
    memcpy(body, w.cmd.opened[at].body, w.cmd.opened[at].len);
    *ret_status = w.cmd.opened[at].status;
    return w.cmd.opened[at].len;
}

static size_t manager_answer(const WireRequest *q, uint8_t *body, uint16_t *ret_status)
{
    OpClose close;
    OpAliveReply alive = {.flags = w.cmd.want_list       ? ALIVE_WANT_LIST
                                   : w.cmd.drained_count ? ALIVE_MOVE
                                                         : 0};
    switch (q->op) {
    case OP_OPEN:
        return manager_open_once(q, body, ret_status);
    case OP_CLOSE:
        assert_int_equal(wire_close_decode(q->body, q->body_len, &close), 0);
        w.heard.closes++;
        w.heard.closed = close.address;
        w.heard.close_stamp = close.stamp;
        w.heard.releases += close.mode == CLOSE_RELEASE;
        *ret_status = w.cmd.close_gone > 0 ? STATUS_GONE : w.cmd.close_status;
        w.cmd.close_gone -= w.cmd.close_gone > 0;
        w.cmd.dead |= w.cmd.close_last == 1;
        w.cmd.close_last -= w.cmd.close_last > 0;
        return 0;
    case OP_LEAVE:
        *ret_status = w.cmd.leave_status;
        return 0;
    case OP_ALIVE:
        w.heard.alives++;
        w.cmd.want_list = false;
        return wire_alive_reply_encode(&alive, body);
    case OP_REPORT:
        w.heard.reports++;
        assert_int_equal(wire_report_decode(q->body, q->body_len, &w.heard.report), 0);
        return 0;
    case OP_MOVES:
        w.heard.moves_asked++;
        assert_int_equal(wire_moves_decode(q->body, q->body_len, &w.heard.moves), 0);
        return moves_answer(body);
    case OP_TAKE:
        assert_int_equal(wire_take_decode(q->body, q->body_len, &w.heard.take), 0);
        *ret_status = w.cmd.take_status;
        return w.cmd.take_status == STATUS_OK ? manager_take(body) : 0;
    case OP_CLAIM:
        w.heard.claims++;
        assert_int_equal(wire_claim_decode(q->body, q->body_len, &w.heard.claim), 0);
        assert_in_range(w.heard.claim.list, 1, w.heard.claims); /* one or more of pages each */
        return 0;
    default:
        return 0;
    }
}

static void manager_send(Endpoint *e, unsigned host, Session *s, uint8_t type,
                         const uint8_t *payload, size_t len)
{
    uint8_t datagram[DATAGRAM_MAX];
    wire(addr_of(host), &s->peer, datagram, endpoint_seal(e, s, type, payload, len, datagram));
}

static void manager_request(Endpoint *e, unsigned host, Session *s, const uint8_t *payload,
                            size_t len)
{
    WireRequest q;
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    uint16_t status = STATUS_OK;
    assert_int_equal(wire_request_decode(payload, len, &q), 0);
    size_t n = 0;
    if (w.cmd.asked_last != host) /* a manager knows its own answers only */
        memset(w.cmd.opened, 0, sizeof w.cmd.opened);
    if (host == HOST_OTHER && w.cmd.other_refuses) {
        w.cmd.standbys++;
        status = STATUS_STANDBY;
    } else {
        n = manager_answer(&q, body, &status);
    }
    w.cmd.asked_last = host;
    if (q.op == OP_OPEN && w.cmd.opens_unheard > 0) {
        w.cmd.opens_unheard--;
        return;
    }
    WireReply reply = {.id = q.id, .op = q.op, .status = status, .body = body, .body_len = n};
    manager_send(e, host, s, WIRE_REPLY, out, wire_reply_encode(&reply, out));
}

void manager_input(Endpoint *e, unsigned host, const EndpointInput *in)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WirePing ping;
    if (in->type == WIRE_PING && wire_ping_decode(in->payload, in->payload_len, &ping) == 0)
        manager_send(e, host, in->session, WIRE_PONG, out, wire_ping_encode(&ping, out));
    else if (in->type == WIRE_REQUEST && !(host == HOST_MANAGER && w.cmd.slow))
        manager_request(e, host, in->session, in->payload, in->payload_len);
}

void manager_ping(void)
{
    static const WirePing ping = {.nonce = 1};
    uint8_t out[WIRE_PAYLOAD_MAX];
    const size_t len = wire_ping_encode(&ping, out);
    for (Session *s = NULL; (s = endpoint_walk(w.manager, s));)
        manager_send(w.manager, HOST_MANAGER, s, WIRE_PING, out, len);
}
