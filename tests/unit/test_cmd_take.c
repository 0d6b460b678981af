/* SPDX-License-Identifier: MIT */
/* A region that is kept on a host which is being drained is opened to be moved: OP_TAKE. */
#include "cmd/manager_private.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1 << 10 };

typedef struct World {
    Rig *rig;
    FakeImd *leaves, *stays;
    FakeClient *program, *mover;
    OpOpen open;
    RegionAddress kept;
} World;

static uint64_t epoch_of(const FakeImd *imd)
{
    return imd->session.peer_epoch;
}

static void drain(World *w, enum DrainWhat what)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpDrain op = {.host = w->leaves->session.peer, .what = (uint8_t)what};
    uint64_t id = rig_request(w->rig, &w->rig->tool, &w->rig->tool_ids, OP_DRAIN, body,
                              wire_drain_encode(&op, body));
    assert_int_equal(rig_status(w->rig, &w->rig->tool, id), STATUS_OK);
    numbers_end(&w->rig->tool_ids, id);
}

/* Something is kept on a host that is being drained; there is another host. */
static World world_make(void)
{
    World w = {.rig = rig_new()};
    OpOpenReply reply;
    w.leaves = imd_up(w.rig, 64 * KIB);
    w.program = client_new(w.rig);
    w.mover = client_new(w.rig);
    w.open = open_of(1, 4 * KIB, REGION_RETAIN);
    assert_int_equal(client_open(w.rig, w.program, &w.open, &reply), STATUS_OK);
    w.kept = reply.address;
    assert_int_equal(client_close(w.rig, w.program, &w.kept, CLOSE_RELEASE, 1), STATUS_OK);
    w.stays = imd_up(w.rig, 64 * KIB);
    drain(&w, DRAIN_START);
    return w;
}

static uint64_t take_send(World *w, uint64_t epoch, uint64_t region)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpTake op = {epoch, region};
    return client_request(w->rig, w->mover, OP_TAKE, body, wire_take_encode(&op, body));
}

static uint16_t taken(World *w, uint64_t id, OpTakeReply *ret)
{
    WireReply reply;
    rig_pump(w->rig);
    assert_int_equal(rig_replies(w->rig, &w->mover->session, id, &reply), 1);
    numbers_end(&w->mover->ids, id);
    if (reply.status == STATUS_OK) {
        assert_int_equal(wire_take_reply_decode(reply.body, reply.body_len, ret), 0);
        w->mover->open[w->mover->count++] = ret->from.address;
        w->mover->open[w->mover->count++] = ret->to.address;
    }
    return reply.status;
}

static uint16_t take(World *w, uint64_t epoch, uint64_t region, OpTakeReply *ret)
{
    return taken(w, take_send(w, epoch, region), ret);
}

TEST(take__gives_the_region_and_a_new_one_elsewhere)
{
    World w = world_make();
    OpTakeReply r;
    OpOpenReply again;
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_OK);
    assert_int_equal(r.from.address.epoch, epoch_of(w.leaves));
    assert_int_equal(r.from.address.region, w.kept.region);
    assert_true(r.from.address.opening > w.kept.opening);
    assert_int_equal(r.to.address.epoch, epoch_of(w.stays));
    assert_int_equal(r.to.control_port, w.stays->session.peer.port);
    assert_int_equal(r.len, 4 * KIB);
    const Stamp stamp = stamp_of(1);
    assert_true(stamp_equal(&r.stamp, &stamp));
    rig_live(w.rig, 60); /* both are claimed */
    assert_int_equal(w.leaves->count, 1);
    assert_int_equal(w.stays->count, 1);
    assert_int_equal(client_close(w.rig, w.mover, &r.to.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_close(w.rig, w.mover, &r.from.address, CLOSE_FREE, 1), STATUS_OK);
    assert_int_equal(w.leaves->count, 0);
    assert_int_equal(client_open(w.rig, w.program, &w.open, &again), STATUS_OK);
    assert_int_equal(again.reused, 1);
    assert_int_equal(again.address.epoch, epoch_of(w.stays));
    rig_free(w.rig);
}

TEST(take__only_what_is_kept_and_is_to_leave)
{
    World w = world_make();
    OpTakeReply r;
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region + 1, &r), STATUS_GONE);
    assert_int_equal(take(&w, epoch_of(w.leaves) + 77, w.kept.region, &r), STATUS_GONE);
    drain(&w, DRAIN_CANCEL);
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_DENIED);
    drain(&w, DRAIN_START);
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_OK);
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_GONE); /* it is open */
    rig_refuses(w.rig, &w.mover->session, &w.mover->ids, OP_TAKE, (const uint8_t *)"x", 1);
    rig_free(w.rig);
}

TEST(take__without_room_elsewhere_leaves_it_as_it_is)
{
    World w = world_make();
    OpTakeReply r;
    w.stays->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_NO_MEMORY);
    assert_int_equal(w.leaves->got[OP_REOPEN], 0);
    drain(&w, DRAIN_CANCEL);
    OpOpenReply again;
    assert_int_equal(client_open(w.rig, w.program, &w.open, &again), STATUS_OK);
    assert_int_equal(again.reused, 1);
    rig_free(w.rig);
}

/* Its program gives the manager up soon after an OPEN would be over; what was opened for it then
 * would be freed. */
TEST(take__is_over_as_soon_as_an_open)
{
    World w = world_make();
    FakeImd *other = imd_up(w.rig, 64 * KIB);
    const uint64_t deadline_ns = w.rig->config.request_deadline_ns;
    OpTakeReply r;
    OpOpenReply again;
    w.stays->deaf = other->deaf = true;
    const uint64_t id = take_send(&w, epoch_of(w.leaves), w.kept.region);
    rig_wait(w.rig, 2 * deadline_ns - 500 * NS_PER_MS);
    w.stays->deaf = other->deaf = false;
    w.leaves->deaf = true;
    rig_wait(w.rig, 500 * NS_PER_MS);
    assert_int_equal(taken(&w, id, &r), STATUS_NO_MEMORY);
    w.leaves->deaf = false;
    rig_live(w.rig, 5);
    assert_int_equal(client_open(w.rig, w.program, &w.open, &again), STATUS_OK);
    assert_int_equal(again.reused, 1);
    rig_free(w.rig);
}

/* It was dropped there, and the manager did not know. */
TEST(take__of_what_is_gone_frees_the_new_one)
{
    World w = world_make();
    OpTakeReply r;
    imd_drop(w.leaves, imd_region(w.leaves, w.kept.region));
    assert_int_equal(take(&w, epoch_of(w.leaves), w.kept.region, &r), STATUS_GONE);
    rig_wait(w.rig, 2 * NS_PER_S);
    rig_pump(w.rig);
    assert_int_equal(w.stays->count, 0);
    assert_int_equal(rig_stats(w.rig).regions, 0);
    rig_free(w.rig);
}

TEST(take__of_a_host_that_is_lost_meanwhile)
{
    World w = world_make();
    OpTakeReply r;
    w.leaves->deaf = true;
    uint64_t id = take_send(&w, epoch_of(w.leaves), w.kept.region);
    rig_pump(w.rig);
    assert_false(rig_answered(w.rig, &w.mover->session, id));
    imd_part(w.rig, w.leaves);
    assert_int_equal(taken(&w, id, &r), STATUS_GONE);
    rig_wait(w.rig, 2 * NS_PER_S);
    rig_pump(w.rig);
    assert_int_equal(w.stays->count, 0);
    rig_free(w.rig);
}

/* Neither is anybody's then. */
TEST(take__the_mover_leaves_meanwhile)
{
    World w = world_make();
    w.leaves->deaf = true;
    (void)take_send(&w, epoch_of(w.leaves), w.kept.region);
    rig_pump(w.rig);
    (void)client_request(w.rig, w.mover, OP_LEAVE, NULL, 0);
    w.mover->dead = true;
    w.leaves->deaf = false;
    rig_live(w.rig, 60);
    assert_int_equal(w.leaves->count, 0);
    assert_int_equal(w.stays->count, 0);
    assert_int_equal(rig_stats(w.rig).regions, 0);
    rig_free(w.rig);
}

/* What was taken is of no use then: it is freed. */
TEST(take__the_new_one_is_lost_meanwhile)
{
    World w = world_make();
    OpTakeReply r;
    w.leaves->deaf = true;
    uint64_t id = take_send(&w, epoch_of(w.leaves), w.kept.region);
    rig_pump(w.rig);
    imd_part(w.rig, w.stays);
    w.leaves->deaf = false;
    rig_wait(w.rig, NS_PER_S);
    assert_int_equal(taken(&w, id, &r), STATUS_GONE);
    rig_live(w.rig, 60);
    assert_int_equal(rig_stats(w.rig).regions, 0);
    rig_free(w.rig);
}

/* Who has the old address could use it still. */
TEST(take__a_host_that_gives_no_new_opening)
{
    World w = world_make();
    OpTakeReply r;
    w.leaves->deaf = true;
    uint64_t id = take_send(&w, epoch_of(w.leaves), w.kept.region);
    rig_pump(w.rig);
    const WireRequest asked = rig_asked(w.rig);
    assert_int_equal(asked.op, OP_REOPEN);
    const OpAllocReply given = {.address = w.kept, .port = 7720};
    rig_give(w.rig, &w.leaves->session, &asked, &given, 0);
    assert_int_equal(taken(&w, id, &r), STATUS_GONE);
    rig_free(w.rig);
}
