/* SPDX-License-Identifier: MIT */
/* A drain that is to be quick: its clients hear of it at once; and an imd whose owner is back
 * begins its own. */
#include "cmd/manager_private.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture_drain.h"

enum { KIB = 1 << 10 };

/* PINGs to this session since @from of the log. */
static unsigned pings_to(const Rig *rig, const Session *s, size_t from)
{
    unsigned n = 0;
    for (size_t i = from; i < rig->count; i++)
        n += rig->log[i].to == s && rig->log[i].type == WIRE_PING;
    return n;
}

static unsigned pings(const Rig *rig, size_t from)
{
    unsigned n = 0;
    for (size_t i = from; i < rig->count; i++)
        n += rig->log[i].type == WIRE_PING;
    return n;
}

/* ---- clients hear of a drain ----------------------------------------------------------------- */

TEST(drain__tells_its_clients_at_once)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB), *stays;
    FakeClient *there = client_new(rig), *elsewhere = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, there, &open);
    (void)alive_flags(rig, there);
    (void)alive_flags(rig, elsewhere);
    size_t from = rig->count;
    (void)drain(rig, leaves, DRAIN_START);
    assert_int_equal(pings_to(rig, &there->session, from), 1);
    assert_int_equal(pings(rig, from), 1);
    assert_int_equal(moves(rig, there, 1, 0, 0).count, 1);

    /* Once: it is a repetition. */
    from = rig->count;
    (void)drain(rig, leaves, DRAIN_START);
    assert_int_equal(pings(rig, from), 0);

    stays = imd_up(rig, 64 * KIB);
    (void)opened(rig, elsewhere, &open);
    from = rig->count;
    (void)drain(rig, stays, DRAIN_START);
    assert_int_equal(pings_to(rig, &elsewhere->session, from), 1);
    assert_int_equal(pings(rig, from), 1);
    rig_free(rig);
}

static void cancel_and_drain(Rig *rig, FakeImd *imd)
{
    (void)drain(rig, imd, DRAIN_CANCEL);
    (void)drain(rig, imd, DRAIN_START);
}

/* A program asks by several sockets. That of its keep-alives is listened to all the time; until
 * there was one, the first that is known. */
TEST(drain__tells_where_the_keep_alive_came_from)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    const uint64_t id = rig_request(rig, &c->other, &c->ids, OP_MOVES, body,
                                    wire_moves_encode(&(OpMoves){.refused = 0}, body));
    numbers_end(&c->ids, id);
    (void)opened(rig, c, &open);
    size_t from = rig->count;
    cancel_and_drain(rig, leaves);
    assert_int_equal(pings_to(rig, &c->other, from), 1);
    assert_int_equal(pings(rig, from), 1);
    (void)alive_flags(rig, c);
    from = rig->count;
    cancel_and_drain(rig, leaves);
    assert_int_equal(pings_to(rig, &c->session, from), 1);
    assert_int_equal(pings(rig, from), 1);
    rig_free(rig);
}

TEST(drain__tells_nobody_whose_session_has_ended)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)alive_flags(rig, c);
    manager_session_closed(rig->m, &c->session);
    const size_t from = rig->count;
    (void)drain(rig, leaves, DRAIN_START);
    assert_int_equal(pings(rig, from), 0);
    assert_int_equal(alive_flags(rig, c), ALIVE_MOVE);
    rig_free(rig);
}

/* ---- an imd drains its own host -------------------------------------------------------------- */

static uint64_t own_send(Rig *rig, FakeImd *imd, const OpDrain *op)
{
    uint8_t body[WIRE_BODY_MAX];
    const uint64_t id =
        rig_request(rig, &imd->session, &imd->ids, OP_DRAIN, body, wire_drain_encode(op, body));
    numbers_end(&imd->ids, id);
    return id;
}

static const OpDrain own = {.what = DRAIN_START, .rate = 1000};

static OpDrainReply own_drain(Rig *rig, FakeImd *imd)
{
    OpDrainReply ret;
    WireReply reply;
    assert_int_equal(rig_replies(rig, &imd->session, own_send(rig, imd, &own), &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_drain_reply_decode(reply.body, reply.body_len, &ret), 0);
    return ret;
}

static uint16_t own_status(Rig *rig, FakeImd *imd)
{
    return rig_status(rig, &imd->session, own_send(rig, imd, &own));
}

TEST(own__begins_and_says_how_far_it_is)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress a = opened(rig, c, &open);
    FakeImd *stays = imd_up(rig, 64 * KIB);
    (void)alive_flags(rig, c);
    const size_t from = rig->count;
    OpDrainReply r = own_drain(rig, leaves);
    assert_int_equal(r.epoch, epoch_of(leaves));
    assert_int_equal(r.state, DRAIN_ON);
    assert_int_equal(r.open_regions, 1);
    assert_int_equal(r.clients, 1);
    assert_int_equal(r.asking, 0);
    assert_int_equal(pings_to(rig, &c->session, from), 1);

    OpMovesReply m = moves(rig, c, 4 * KIB, 0, 0);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.epochs[0], epoch_of(leaves));
    assert_int_equal(m.rate, own.rate);
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(stays));
    assert_int_equal(own_drain(rig, leaves).asking, 1);
    assert_int_equal(client_close(rig, c, &a, CLOSE_FREE, 1), STATUS_OK);
    r = own_drain(rig, leaves);
    assert_int_equal(r.open_regions + r.busy_regions + r.clients, 0);
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).state, DRAIN_ON);
    imd_part(rig, leaves);
    rig_live(rig, 60);
    rig_free(rig);
}

TEST(own__is_refused_where_no_other_host_has_room)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB), *other;
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    assert_int_equal(own_status(rig, leaves), STATUS_NO_MEMORY);
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).state, DRAIN_OFF);
    other = imd_up(rig, 64 * KIB);
    (void)drain(rig, other, DRAIN_START);
    assert_int_equal(own_status(rig, leaves), STATUS_NO_MEMORY);
    (void)drain(rig, other, DRAIN_CANCEL);
    assert_int_equal(own_status(rig, leaves), STATUS_OK);
    rig_free(rig);
}

/* What the operator has said of it stays. */
TEST(own__beside_an_operators)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain_with(rig, leaves, DRAIN_START, false, 500);
    assert_int_equal(own_drain(rig, leaves).state, DRAIN_ON);
    assert_int_equal(moves(rig, c, 4 * KIB, 0, 0).rate, 500);
    rig_free(rig);
}

TEST(own__nothing_but_its_start_and_of_itself)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB), *other = imd_up(rig, 64 * KIB);
    const OpDrain others = {.host = other->session.peer, .what = DRAIN_START};
    const OpDrain cancel = {.what = DRAIN_CANCEL}, look = {.what = DRAIN_LOOK};
    assert_int_equal(rig_status(rig, &leaves->session, own_send(rig, leaves, &cancel)),
                     STATUS_INVALID);
    assert_int_equal(rig_status(rig, &leaves->session, own_send(rig, leaves, &look)),
                     STATUS_INVALID);
    assert_int_equal(rig_status(rig, &leaves->session, own_send(rig, leaves, &others)), STATUS_OK);
    assert_int_equal(drain(rig, other, DRAIN_LOOK).state, DRAIN_OFF);
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).state, DRAIN_ON);
    const uint64_t id = drain_send(rig, &own); /* a tool names the host */
    assert_int_equal(rig_status(rig, &rig->tool, id), STATUS_GONE);
    rig_free(rig);
}

TEST(own__comes_too_late)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    (void)imd_up(rig, 64 * KIB);
    imd_part(rig, leaves);
    assert_int_equal(own_status(rig, leaves), STATUS_LEAVING);
    FakeImd *stranger = imd_new(rig, 64 * KIB);
    assert_int_equal(own_status(rig, stranger), STATUS_UNKNOWN_PEER);
    rig_free(rig);
}
