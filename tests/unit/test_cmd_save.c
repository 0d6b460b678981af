/* SPDX-License-Identifier: MIT */
/* A drain that is to be quick: its clients hear of it at once. */
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
