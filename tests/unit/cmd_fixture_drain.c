/* SPDX-License-Identifier: MIT */
#include "tests/unit/cmd_fixture_drain.h"

uint64_t drain_send(Rig *rig, const OpDrain *op)
{
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id =
        rig_request(rig, &rig->tool, &rig->tool_ids, OP_DRAIN, body, wire_drain_encode(op, body));
    numbers_end(&rig->tool_ids, id);
    return id;
}

OpDrainReply drain_reply(const Rig *rig, uint64_t id)
{
    OpDrainReply ret;
    WireReply reply;
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_drain_reply_decode(reply.body, reply.body_len, &ret), 0);
    return ret;
}

OpDrainReply drain_with(Rig *rig, const FakeImd *imd, enum DrainWhat what, bool drop, uint64_t rate)
{
    const OpDrain op = {
        .host = imd->session.peer, .what = (uint8_t)what, .drop = drop, .rate = rate};
    return drain_reply(rig, drain_send(rig, &op));
}

OpDrainReply drain(Rig *rig, const FakeImd *imd, enum DrainWhat what)
{
    return drain_with(rig, imd, what, false, 0);
}

OpMovesReply moves(Rig *rig, FakeClient *c, uint64_t left, uint64_t copied, uint32_t refused)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpMoves op = {.left_bytes = left, .copied_bytes = copied, .refused = refused};
    OpMovesReply ret;
    WireReply reply;
    uint64_t id = client_request(rig, c, OP_MOVES, body, wire_moves_encode(&op, body));
    numbers_end(&c->ids, id);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_moves_reply_decode(reply.body, reply.body_len, &ret), 0);
    return ret;
}

uint32_t alive_flags(Rig *rig, FakeClient *c)
{
    c->last_flags = 0;
    client_alive(rig, c);
    rig_pump(rig);
    return c->last_flags;
}

RegionAddress opened(Rig *rig, FakeClient *c, const OpOpen *open)
{
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, open, &reply), STATUS_OK);
    return reply.address;
}

uint64_t epoch_of(const FakeImd *imd)
{
    return imd->session.peer_epoch;
}
