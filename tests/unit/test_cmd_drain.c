/* SPDX-License-Identifier: MIT */
/* Hosts that are taken out of service: OP_DRAIN, OP_MOVES, ALIVE_MOVE, REGION_FRESH. */
#include "cmd/manager_private.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture_drain.h"

enum { KIB = 1 << 10 };

/* ---- the host -------------------------------------------------------------------------------- */

TEST(drain__host_is_not_chosen)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 256 * KIB), *stays = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpDrainReply r = drain(rig, leaves, DRAIN_START);
    assert_int_equal(r.epoch, epoch_of(leaves));
    assert_int_equal(r.state, DRAIN_ON);
    assert_int_equal(r.listed, 1);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(opened(rig, c, &open).epoch, epoch_of(stays));
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
    assert_int_equal(leaves->got[OP_ALLOC], 0);
    assert_int_equal(drain(rig, leaves, DRAIN_CANCEL).state, DRAIN_OFF);
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(leaves));
    rig_free(rig);
}

/* A second copy avoids the host of the first; then there is none for it. */
TEST(drain__host_gets_no_second_copy)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB), *stays = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)drain(rig, leaves, DRAIN_START);
    open.avoid_count = 1;
    open.avoid[0] = epoch_of(stays);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
    rig_free(rig);
}

/* What is there stays usable: it can be closed, kept and claimed. */
TEST(drain__regions_are_served_as_ever)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    const RegionAddress a = opened(rig, c, &open), b = opened(rig, c, &open);
    OpDrainReply r = drain(rig, leaves, DRAIN_START);
    assert_int_equal(r.open_regions, 2);
    assert_int_equal(r.open_bytes, 8 * KIB);
    assert_int_equal(r.clients, 1);
    rig_live(rig, 60);
    assert_int_equal(leaves->count, 2);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.open_regions, 1);
    assert_int_equal(r.kept_regions, 1);
    assert_int_equal(r.kept_bytes, 4 * KIB);
    assert_int_equal(client_close(rig, c, &b, CLOSE_FREE, 1), STATUS_OK);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.open_regions + r.open_bytes + r.clients, 0);
    rig_free(rig);
}

/* It is the program's, with all that it holds; it moves like any other that is open there. */
TEST(drain__kept_region_is_given_to_its_program)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    const RegionAddress a = opened(rig, c, &open);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    (void)drain(rig, leaves, DRAIN_START);
    (void)imd_up(rig, 64 * KIB);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, epoch_of(leaves));
    assert_int_equal(reply.address.region, a.region);
    assert_int_equal(reply.reused, 1);
    const OpDrainReply r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.open_regions, 1);
    assert_int_equal(r.kept_regions, 0);
    assert_int_equal(r.clients, 1);
    assert_int_equal(alive_flags(rig, c), ALIVE_MOVE);
    const OpMovesReply m = moves(rig, c, 1, 0, 0);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.epochs[0], epoch_of(leaves));
    rig_free(rig);
}

/* Only what speaks against a host that is not drained speaks against this one. */
TEST(drain__kept_region_is_left_where_the_client_cannot_reach_it)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    const RegionAddress a = opened(rig, c, &open);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    (void)drain(rig, leaves, DRAIN_START);
    FakeImd *stays = imd_up(rig, 64 * KIB);
    open.avoid_count = 1;
    open.avoid[0] = epoch_of(leaves);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, epoch_of(stays));
    assert_int_equal(reply.reused, 0);
    rig_free(rig);
}

/* What is kept for others stays until it is dropped. */
TEST(drain__kept_regions_wait)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    const RegionAddress a = opened(rig, c, &open);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    (void)drain(rig, leaves, DRAIN_START);
    FakeImd *stays = imd_up(rig, 64 * KIB);
    open.offset = 4 * KIB;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, epoch_of(stays));
    assert_int_equal(reply.reused, 0);
    OpDrainReply r = drain_with(rig, leaves, DRAIN_START, true, 0);
    assert_int_equal(r.kept_regions, 0);
    assert_int_equal(r.busy_regions, 1); /* on its way out */
    assert_int_equal(r.host_regions, 1);
    rig_pump(rig);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.busy_regions + r.host_regions, 0);
    assert_int_equal(leaves->count, 0);
    rig_free(rig);
}

/* What an older program closes later, and would keep there, goes too. */
TEST(drain__drop_lasts)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    const RegionAddress a = opened(rig, c, &open);
    (void)drain_with(rig, leaves, DRAIN_START, true, 0);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).kept_regions, 1);
    rig_wait(rig, 2 * NS_PER_S);
    assert_int_equal(leaves->count, 0);
    rig_free(rig);
}

/* An ALLOC that was asked for before may still bring a region. */
TEST(drain__what_is_under_way_is_left_too)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint64_t id = client_open_send(rig, c, &open);
    OpDrainReply r = drain(rig, leaves, DRAIN_START);
    assert_int_equal(r.open_regions, 0);
    assert_int_equal(r.busy_regions, 1);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.open_regions, 1);
    assert_int_equal(r.clients, 1);
    assert_int_equal(r.busy_regions, 0);
    rig_free(rig);
}

TEST(drain__knows_no_such_host)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    OpDrain op = {.host = imd->session.peer, .what = DRAIN_START};
    op.host.port++;
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_GONE);
    imd_part(rig, imd);
    assert_int_equal(drain(rig, imd, DRAIN_START).host_regions, 0);
    rig_wait(rig, 16 * NS_PER_S);
    op.host = imd->session.peer;
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_GONE);
    rig_free(rig);
}

/* Nothing is there any more, and yet the drain was not done. */
TEST(drain__host_leaves_with_regions)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB), *empty = imd_up(rig, 4 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 32 * KIB, 0);
    OpDrain op = {.host = leaves->session.peer, .what = DRAIN_LOOK};
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(leaves));
    (void)drain(rig, leaves, DRAIN_START);
    (void)drain(rig, empty, DRAIN_START);
    imd_part(rig, leaves);
    imd_part(rig, empty);
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_GONE);
    imd_part(rig, leaves); /* once more */
    op.what = DRAIN_START;
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_GONE);
    assert_int_equal(drain(rig, empty, DRAIN_LOOK).host_regions, 0);
    rig_free(rig);
}

TEST(drain__limit)
{
    ManagerConfig config = rig_config();
    config.hosts_max = DRAINS_MAX + 1;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imds[DRAINS_MAX + 1];
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i <= DRAINS_MAX; i++) {
        imds[i] = imd_up(rig, 4 * KIB);
        (void)opened(rig, c, &open);
    }
    for (unsigned i = 0; i < DRAINS_MAX; i++)
        assert_int_equal(drain(rig, imds[i], DRAIN_START).state, DRAIN_ON);
    const OpDrain op = {.host = imds[DRAINS_MAX]->session.peer, .what = DRAIN_START};
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_BUSY);
    assert_int_equal(moves(rig, c, 1, 1, 0).count, MOVES_MAX);
    (void)drain(rig, imds[7], DRAIN_CANCEL);
    assert_int_equal(drain(rig, imds[DRAINS_MAX], DRAIN_START).state, DRAIN_ON);
    const OpMovesReply r = moves(rig, c, 1, 1, 0);
    assert_int_equal(r.count, MOVES_MAX);
    for (unsigned i = 0; i < r.count; i++)
        assert_int_not_equal(r.epochs[i], epoch_of(imds[7]));
    rig_free(rig);
}

/* ---- clients --------------------------------------------------------------------------------- */

TEST(alive__tells_those_with_regions_there)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *there = client_new(rig), *elsewhere = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress a = opened(rig, there, &open);
    assert_int_equal(alive_flags(rig, there), 0);
    (void)drain(rig, leaves, DRAIN_START);
    (void)imd_up(rig, 64 * KIB);
    (void)opened(rig, elsewhere, &open);
    assert_int_equal(alive_flags(rig, there), ALIVE_MOVE);
    assert_int_equal(alive_flags(rig, elsewhere), 0);
    assert_int_equal(client_close(rig, there, &a, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(alive_flags(rig, there), 0);
    rig_free(rig);
}

TEST(alive__tells_no_more_after_a_cancel)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, leaves, DRAIN_START);
    assert_int_equal(alive_flags(rig, c), ALIVE_MOVE);
    (void)drain(rig, leaves, DRAIN_CANCEL);
    assert_int_equal(alive_flags(rig, c), 0);
    assert_int_equal(moves(rig, c, 0, 0, 0).count, 0);
    rig_free(rig);
}

/* An older client takes no reply with a flag that it does not know: it must hear that a list is
 * wanted. */
TEST(alive__a_wanted_list_comes_first)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)opened(rig, c, &open);
    (void)drain(rig, leaves, DRAIN_START);
    c->count--; /* it has lost the answer */
    assert_int_equal(alive_flags(rig, c), ALIVE_WANT_LIST);
    client_claim(rig, c);
    rig_pump(rig);
    assert_int_equal(alive_flags(rig, c), ALIVE_MOVE);
    rig_free(rig);
}

TEST(moves__name_the_hosts)
{
    Rig *rig = rig_new();
    FakeImd *imds[3];
    FakeClient *c = client_new(rig), *other = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 3; i++) {
        imds[i] = imd_up(rig, 4 * KIB);
        (void)opened(rig, i == 2 ? other : c, &open);
    }
    assert_int_equal(moves(rig, c, 0, 0, 0).count, 0);
    for (unsigned i = 1; i < 3; i++)
        (void)drain(rig, imds[i], DRAIN_START);
    OpMovesReply r = moves(rig, c, 0, 0, 0);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.epochs[0], epoch_of(imds[1]));
    assert_int_equal(r.rate, 0);
    (void)drain(rig, imds[0], DRAIN_START);
    assert_int_equal(moves(rig, c, 0, 0, 0).count, 2);
    imds[1]->dead = true;
    rig_wait(rig, NS_PER_S);
    imd_part(rig, imds[1]); /* nothing of it is left anywhere */
    r = moves(rig, c, 0, 0, 0);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.epochs[0], epoch_of(imds[0]));
    rig_refuses(rig, &c->session, &c->ids, OP_MOVES, (const uint8_t *)"x", 1);
    rig_free(rig);
}

TEST(moves__share_the_rate)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *a = client_new(rig), *b = client_new(rig), *d = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, a, &open);
    const RegionAddress last = opened(rig, b, &open);
    (void)drain_with(rig, leaves, DRAIN_START, false, 9000);
    assert_int_equal(moves(rig, a, 0, 0, 0).rate, 4500);
    assert_int_equal(moves(rig, d, 0, 0, 0).rate, 0); /* it has nothing there */
    assert_int_equal(client_close(rig, b, &last, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(moves(rig, a, 0, 0, 0).rate, 9000);
    (void)drain_with(rig, leaves, DRAIN_START, false, 1); /* another rate takes effect */
    assert_int_equal(moves(rig, a, 0, 0, 0).rate, 1);
    FakeImd *next = imd_up(rig, 64 * KIB);
    (void)opened(rig, a, &open);
    (void)opened(rig, b, &open);
    (void)opened(rig, d, &open);
    (void)drain_with(rig, next, DRAIN_START, false, 2);
    assert_int_equal(moves(rig, b, 0, 0, 0).rate, 1); /* never 0: that is no limit */
    (void)drain_with(rig, leaves, DRAIN_START, false, 0);
    (void)drain_with(rig, next, DRAIN_START, false, 600);
    assert_int_equal(moves(rig, a, 0, 0, 0).rate, 200); /* the host that has a limit */
    (void)drain_with(rig, leaves, DRAIN_START, false, 100);
    assert_int_equal(moves(rig, a, 0, 0, 0).rate, 100); /* the least */
    rig_free(rig);
}

TEST(moves__progress_is_added_up)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *a = client_new(rig), *b = client_new(rig), *old = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress last = opened(rig, a, &open);
    (void)opened(rig, b, &open);
    (void)opened(rig, old, &open);
    (void)moves(rig, a, 1, 1, 1); /* of nothing that is drained */
    (void)drain(rig, leaves, DRAIN_START);
    OpDrainReply r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.clients, 3);
    assert_int_equal(r.asking, 0);
    assert_int_equal(r.dead_ms, 30000);
    (void)moves(rig, a, 100, 7, 0);
    (void)moves(rig, b, 20, 3, 2);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.asking, 2);
    assert_int_equal(r.refused, 1);
    assert_int_equal(r.left_bytes, 120);
    assert_int_equal(r.copied_bytes, 10);
    for (unsigned i = 0; i < 29; i++) { /* all are alive, but b says nothing more */
        rig_live(rig, 1);
        (void)moves(rig, a, 50, 57, 0);
    }
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).asking, 2);
    rig_live(rig, 1);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.clients, 3);
    assert_int_equal(r.asking, 1);
    assert_int_equal(r.refused, 0);
    assert_int_equal(r.left_bytes, 50);
    assert_int_equal(client_close(rig, a, &last, CLOSE_FREE, 0), STATUS_OK);
    r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.clients, 2);
    assert_int_equal(r.asking + r.left_bytes + r.copied_bytes, 0);
    rig_free(rig);
}

/* While the manager did not run, nobody could ask. */
TEST(moves__own_pause_is_nobodys_silence)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, leaves, DRAIN_START);
    (void)moves(rig, c, 1, 1, 0);
    rig->now_ns += 100 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    assert_int_equal(drain(rig, leaves, DRAIN_LOOK).asking, 1);
    rig_free(rig);
}

TEST(moves__of_another_host_are_left_out)
{
    Rig *rig = rig_new();
    FakeImd *one = imd_up(rig, 4 * KIB);
    FakeClient *c = client_new(rig), *other = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(one));
    FakeImd *two = imd_up(rig, 4 * KIB);
    assert_int_equal(opened(rig, other, &open).epoch, epoch_of(two));
    (void)drain(rig, one, DRAIN_START);
    (void)drain(rig, two, DRAIN_START);
    (void)moves(rig, c, 100, 10, 0);
    (void)moves(rig, other, 7000, 700, 1);
    const OpDrainReply r = drain(rig, one, DRAIN_LOOK);
    assert_int_equal(r.clients, 1);
    assert_int_equal(r.asking, 1);
    assert_int_equal(r.refused, 0);
    assert_int_equal(r.left_bytes, 100);
    assert_int_equal(r.copied_bytes, 10);
    rig_free(rig);
}

TEST(moves__a_dead_client_is_left_out)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, leaves, DRAIN_START);
    (void)moves(rig, c, 1, 1, 1);
    c->dead = true;
    rig_live(rig, 40);
    const OpDrainReply r = drain(rig, leaves, DRAIN_LOOK);
    assert_int_equal(r.clients + r.asking + r.open_regions + r.busy_regions + r.host_regions, 0);
    rig_free(rig);
}

/* ---- REGION_FRESH ---------------------------------------------------------------------------- */

/* A move gets a new region though one is kept of the same piece of the file; the imd hears nothing
 * of the flag. The kept one stays, until the new one is kept in its place. */
TEST(fresh__gets_no_kept_region)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN | REGION_RDONLY);
    OpOpenReply reply;
    RegionAddress a = opened(rig, c, &open);
    assert_int_equal(client_close(rig, c, &a, CLOSE_RELEASE, 1), STATUS_OK);
    open.flags |= REGION_FRESH;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 0);
    assert_int_equal(imd->got[OP_REOPEN], 0);
    assert_int_equal(imd_region(imd, reply.address.region)->flags, REGION_RETAIN | REGION_RDONLY);
    assert_int_equal(imd->count, 2);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(imd->count, 1);
    open.flags &= ~(uint32_t)REGION_FRESH;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}

/* A client that has all that it may have can still move it, and no more than that. */
TEST(quota__what_leaves_does_not_count)
{
    ManagerConfig config = rig_config();
    config.client_bytes = 8 * KIB;
    config.client_regions = 2;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress a = opened(rig, c, &open);
    (void)opened(rig, c, &open);
    FakeImd *stays = imd_up(rig, 64 * KIB);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    (void)drain(rig, leaves, DRAIN_START);
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(stays));
    assert_int_equal(client_close(rig, c, &a, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(opened(rig, c, &open).epoch, epoch_of(stays));
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    rig_free(rig);
}

/* What it has said last may be old. */
TEST(drain__tells_that_the_host_is_silent)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    assert_int_equal(drain(rig, imd, DRAIN_START).silent_s, 0);
    rig_wait(rig, 20 * NS_PER_S);
    assert_in_range(drain(rig, imd, DRAIN_LOOK).silent_s, 15, 20);
    rig_free(rig);
}

/* ---- managers -------------------------------------------------------------------------------- */

/* It knows of no drain, and at first not what the host has: that must not look like the end. */
TEST(restart__forgets_the_drain)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, imd, DRAIN_START);
    rig_amnesia(rig);
    imd_join(rig, imd);
    OpDrainReply r = drain(rig, imd, DRAIN_START);
    assert_int_equal(r.state, DRAIN_ON);
    assert_int_equal(r.epoch, epoch_of(imd));
    assert_int_equal(r.open_regions, 0);
    assert_int_equal(r.listed, 0);
    assert_int_equal(r.host_regions, 1);
    assert_string_equal(rig_status_page(rig, 0).hosts[0].reason.text,
                        "it is being drained: its regions are not known yet");
    *rig->events = '\0';
    rig_wait(rig, 2 * NS_PER_S);
    assert_string_equal(rig->events, ""); /* nothing says that it ends */
    imd_list(rig, imd);
    r = drain(rig, imd, DRAIN_LOOK);
    assert_int_equal(r.listed, 1);
    assert_int_equal(r.open_regions, 1);
    assert_int_equal(r.clients, 1); /* as the host has named it */
    assert_int_equal(alive_flags(rig, c), ALIVE_MOVE);
    rig_free(rig);
}

TEST(duty__begins_without_drains)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, imd, DRAIN_START);
    cmd_begin_again(rig->m, MANAGER_STANDBY, rig->now_ns);
    assert_true(manager_check(rig->m));
    const OpDrain op = {.host = imd->session.peer, .what = DRAIN_LOOK};
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_STANDBY);
    cmd_begin_again(rig->m, 5, rig->now_ns);
    assert_int_equal(rig_status(rig, &rig->tool, drain_send(rig, &op)), STATUS_GONE);
    rig->read = rig->count;
    imd_join(rig, imd);
    assert_int_equal(drain(rig, imd, DRAIN_LOOK).state, DRAIN_OFF);
    rig_free(rig);
}

TEST(roles__others_may_not)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    FakeRmd rmd = rmd_of(imd);
    uint8_t body[WIRE_BODY_MAX];
    const OpDrain op = {.host = imd->session.peer, .what = DRAIN_START};
    size_t n = wire_drain_encode(&op, body);
    uint64_t id = client_request(rig, c, OP_DRAIN, body, n);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_DENIED);
    id = rig_request(rig, &rmd.session, &rmd.ids, OP_DRAIN, body, n);
    assert_int_equal(rig_status(rig, &rmd.session, id), STATUS_DENIED);
    const OpMoves moves_op = {.left_bytes = 0};
    n = wire_moves_encode(&moves_op, body);
    id = rig_request(rig, &rig->tool, &rig->tool_ids, OP_MOVES, body, n);
    assert_int_equal(rig_status(rig, &rig->tool, id), STATUS_DENIED);
    rig_refuses(rig, &rig->tool, &rig->tool_ids, OP_DRAIN, body, n);
    rig_refuses(rig, &rig->tool, &rig->tool_ids, OP_DRAINS, body, 7);
    id = client_request(rig, c, OP_DRAINS, body, wire_drains_encode(&(OpDrains){0}, body));
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_DENIED);
    assert_int_equal(drain(rig, imd, DRAIN_LOOK).state, DRAIN_OFF);
    rig_free(rig);
}

static void close_first(Rig *rig, FakeClient *c, uint8_t mode)
{
    const RegionAddress a = c->open[0];
    (void)client_close(rig, c, &a, mode, 1);
}

/* Hosts that are drained come and go, and so do regions and clients there. */
TEST(drain__long_life)
{
    Rig *rig = rig_new();
    FakeImd *imds[6];
    FakeClient *clients[4];
    uint64_t x = 7;
    for (unsigned i = 0; i < 6; i++)
        imds[i] = imd_up(rig, 64 * KIB);
    for (unsigned i = 0; i < 4; i++)
        clients[i] = client_new(rig);
    for (unsigned step = 0; step < 400; step++) {
        x = mix64(x + step + 1);
        FakeImd *imd = imds[x >> 8 & 3];
        FakeClient *c = clients[x >> 16 & 3];
        OpOpen open = open_of(x >> 24 & 3, 4 * KIB, x >> 32 & 1 ? REGION_RETAIN : 0);
        if (x % 8 < 3)
            (void)client_open(rig, c, &open, NULL);
        else if (x % 8 == 3 && c->count > 0)
            close_first(rig, c, x >> 32 & 1 ? CLOSE_RELEASE : CLOSE_FREE);
        else if (x % 8 == 4)
            (void)drain_with(rig, imd, DRAIN_START, x >> 33 & 1, x >> 60);
        else if (x % 8 == 5)
            (void)drain(rig, imd, DRAIN_CANCEL);
        else if (x % 8 == 6)
            (void)moves(rig, c, x >> 40, x >> 41, x >> 63);
        else
            rig_live(rig, 1);
    }
    assert_true(rig_stats(rig).opens > 50);
    rig_free(rig);
}
