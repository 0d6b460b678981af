/* SPDX-License-Identifier: MIT */
/* OPENs that reach a manager with a new lease before the hosts do. */
#include "tests/lib/case.h"
#include "tests/lib/peer.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024, HOSTS_COME_S = 3 };

static Rig *rig_of(ManagerConfig config)
{
    config.number = 7;
    return rig_new_with(config, 1);
}

static void duty(Rig *rig, uint64_t number)
{
    Endpoint *e = peer_new(ROLE_CMD, 1, manager_number(rig->m));
    manager_duty(rig->m, e, number, rig->now_ns);
    assert_true(manager_check(rig->m));
    endpoint_free(e);
}

static FakeImd *imd_joined(Rig *rig, uint64_t pool)
{
    FakeImd *imd = imd_new(rig, pool);
    imd_join(rig, imd);
    rig_pump(rig);
    return imd;
}

/* @id comes again from @from, of a client that has given up nothing since. */
static void again(Rig *rig, Session *from, uint64_t id, const OpOpen *open)
{
    uint8_t body[WIRE_BODY_MAX];
    rig_again(rig, from, id, id, OP_OPEN, body, wire_open_encode(open, body));
    rig_pump(rig);
}

static bool waits(const Rig *rig, const FakeClient *c, uint64_t id)
{
    return !rig_answered(rig, &c->session, id);
}

/* ---- taken up -------------------------------------------------------------------------------- */

TEST(early__is_taken_up_when_a_host_joins)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *a = client_new(rig), *b = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t ids[] = {client_open_send(rig, a, &open), client_open_send(rig, a, &open),
                            client_open_send(rig, b, &open)};
    for (unsigned i = 0; i < 3; i++)
        assert_true(waits(rig, i < 2 ? a : b, ids[i]));
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(rig_status(rig, i < 2 ? &a->session : &b->session, ids[i]), STATUS_OK);
    assert_int_equal(imd->count, 3);
    assert_int_equal(rig_stats(rig).opens, 3);
    rig_wait(rig, 2 * HOSTS_COME_S * NS_PER_S);
    assert_int_equal(imd->got[OP_ALLOC], 3);
    rig_free(rig);
}

/* Its time begins then. */
TEST(early__is_asked_for_as_long_as_any_other)
{
    ManagerConfig config = rig_config();
    config.request_deadline_ns = 200 * NS_PER_MS;
    Rig *rig = rig_of(config);
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t id = client_open_send(rig, c, &open);
    rig_wait(rig, NS_PER_S);
    (void)imd_joined(rig, 64 * KIB);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* Before a host has joined, while it is asked, and afterwards. */
TEST(early__a_repeat_is_not_served_twice)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t id = client_open_send(rig, c, &open);
    again(rig, &c->session, id, &open);
    FakeImd *imd = imd_new(rig, 64 * KIB);
    imd_join(rig, imd);
    again(rig, &c->session, id, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    again(rig, &c->session, id, &open);
    WireReply reply;
    OpOpenReply given;
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 2);
    assert_int_equal(wire_open_reply_decode(reply.body, reply.body_len, &given), 0);
    assert_int_equal(given.address.region, imd->regions[0].address.region);
    rig_wait(rig, 2 * HOSTS_COME_S * NS_PER_S);
    assert_int_equal(imd->got[OP_ALLOC], 1);
    assert_int_equal(rig_stats(rig).regions, 1);
    rig_free(rig);
}

TEST(early__is_answered_where_it_came_from_last)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t id = client_open_send(rig, c, &open);
    manager_session_closed(rig->m, &c->session);
    again(rig, &c->other, id, &open);
    (void)imd_joined(rig, 64 * KIB);
    assert_true(waits(rig, c, id));
    assert_int_equal(rig_status(rig, &c->other, id), STATUS_OK);
    rig_free(rig);
}

/* The host's list tells what it has kept, and comes after its JOIN. */
TEST(early__finds_what_was_kept)
{
    Rig *rig = rig_of(rig_config());
    FakeImd *imd = imd_up(rig, 4 * KIB);
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN), other = open_of(2, 2 * KIB, 0);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    duty(rig, MANAGER_STANDBY);
    duty(rig, 8);
    reply_cache_deinit(&imd->replies); /* it is another manager */
    const uint64_t id = client_open_send(rig, c, &open);
    imd_join(rig, imd);
    rig_pump(rig);
    assert_true(waits(rig, c, id));
    assert_int_equal(imd->got[OP_ALLOC], 1);
    imd_list(rig, imd);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, &reply), STATUS_OK);
    assert_true(reply.reused);
    assert_true(waits(rig, c, client_open_send(rig, c, &other))); /* that was all the room */
    rig_free(rig);
}

/* ---- no room yet ----------------------------------------------------------------------------- */

TEST(early__a_full_host_is_not_the_last_one)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t first = client_open_send(rig, c, &open);
    (void)imd_joined(rig, 2 * KIB);
    const uint64_t second = client_open_send(rig, c, &open);
    FakeImd *liar = imd_new(rig, 64 * KIB);
    liar->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    imd_join(rig, liar);
    rig_pump(rig);
    assert_in_range(liar->got[OP_ALLOC], 2, 4);
    assert_true(waits(rig, c, first) && waits(rig, c, second));
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    assert_int_equal(rig_status(rig, &c->session, first), STATUS_OK);
    assert_int_equal(rig_status(rig, &c->session, second), STATUS_OK);
    assert_int_equal(imd->count, 2);
    assert_int_equal(rig_stats(rig).opens_failed, 0);
    rig_free(rig);
}

/* A repeat looks once more. */
TEST(early__takes_room_that_has_become_free)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply reply;
    (void)imd_up(rig, 4 * KIB);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    const uint64_t id = client_open_send(rig, c, &open);
    assert_true(waits(rig, c, id));
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 0), STATUS_OK);
    again(rig, &c->session, id, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* As by an OPEN that has just come: free room first, no region that is kept gives way. */
TEST(early__asks_all_hosts_afresh)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    imd->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    const uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    imd->refuse[OP_ALLOC] = STATUS_OK;
    imd->evicted = true;
    again(rig, &c->session, id, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_false(imd->evicted);
    rig_free(rig);
}

TEST(early__ends_with_the_time_in_which_hosts_come)
{
    ManagerConfig config = rig_config();
    config.host_dead_ns = 5 * NS_PER_S; /* it looks who is silent at other times */
    for (unsigned hosts = 0; hosts < 2; hosts++) {
        Rig *rig = rig_of(config);
        FakeClient *c = client_new(rig);
        const OpOpen open = open_of(1, 4 * KIB, 0);
        rig_wait(rig, 100 * NS_PER_MS);
        const uint64_t id = client_open_send(rig, c, &open);
        if (hosts > 0)
            (void)imd_joined(rig, 2 * KIB);
        rig_wait(rig, HOSTS_COME_S * NS_PER_S - 100 * NS_PER_MS - 1);
        assert_true(waits(rig, c, id));
        rig_wait(rig, 1);
        assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
        assert_int_equal(rig_stats(rig).opens_failed, 2);
        rig_free(rig);
    }
}

/* What a host has said meanwhile counts at the end. */
TEST(early__looks_once_more_at_the_end)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t id = client_open_send(rig, c, &open);
    FakeImd *imd = imd_joined(rig, 2 * KIB);
    imd->pool = 64 * KIB;
    imd_beat(rig, imd);
    rig_wait(rig, HOSTS_COME_S * NS_PER_S);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* The manager stood still: its hosts could not come meanwhile. */
TEST(early__waits_as_long_as_the_manager_runs)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t id = client_open_send(rig, c, &open);
    rig->now_ns += 60 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    assert_true(waits(rig, c, id));
    (void)imd_joined(rig, 64 * KIB);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* ---- given up -------------------------------------------------------------------------------- */

static void nobody_is_served(Rig *rig)
{
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    rig_wait(rig, 2 * HOSTS_COME_S * NS_PER_S);
    assert_int_equal(imd->got[OP_ALLOC], 0);
    assert_int_equal(rig_stats(rig).opens, 0);
    rig_free(rig);
}

TEST(early__is_over_when_its_client_leaves)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    (void)client_open_send(rig, c, &open);
    (void)client_request(rig, c, OP_LEAVE, NULL, 0);
    nobody_is_served(rig);
}

TEST(early__is_over_when_its_client_is_silent)
{
    ManagerConfig config = rig_config();
    config.client_dead_ns = NS_PER_S;
    Rig *rig = rig_of(config);
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    (void)client_open_send(rig, c, &open);
    rig_wait(rig, 2 * NS_PER_S);
    assert_int_equal(rig_stats(rig).clients, 0);
    nobody_is_served(rig);
}

TEST(early__is_over_when_its_client_has_given_up)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    numbers_end(&c->ids, client_open_send(rig, c, &open));
    (void)client_alive(rig, c);
    nobody_is_served(rig);
}

TEST(early__what_was_given_up_counts_for_no_quota)
{
    ManagerConfig config = rig_config();
    config.client_regions = 1;
    Rig *rig = rig_of(config);
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    numbers_end(&c->ids, client_open_send(rig, c, &open));
    const uint64_t id = client_open_send(rig, c, &open);
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_int_equal(imd->count, 1);
    rig_free(rig);
}

TEST(early__is_forgotten_with_the_lease)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    (void)client_open_send(rig, c, &open);
    duty(rig, MANAGER_STANDBY);
    duty(rig, 8);
    nobody_is_served(rig);
}

/* It was asked of a host while its client gave up, and is refused. */
TEST(early__does_not_wait_again_for_nobody)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    imd->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    numbers_end(&c->ids, client_open_send(rig, c, &open));
    (void)client_alive(rig, c);
    rig_pump(rig);
    nobody_is_served(rig);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* One more than may be under way is not refused: it comes again. Others are known as before. */
TEST(early__no_more_are_kept_than_may_be_under_way)
{
    Rig *rig = rig_of(rig_config());
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t first = client_open_send(rig, c, &open);
    for (unsigned i = 1; i < rig->config.opens_max; i++)
        (void)client_open_send(rig, c, &open);
    const size_t bytes = manager_bytes(rig->m);
    const uint64_t last = client_open_send(rig, c, &open);
    assert_true(waits(rig, c, last));
    assert_int_equal(manager_bytes(rig->m), bytes);
    uint8_t body[WIRE_BODY_MAX];
    const size_t n = wire_open_encode(&open, body);
    rig_again(rig, &c->other, first, first, OP_OPEN, body, n);
    FakeImd *imd = imd_joined(rig, 64 * KIB);
    assert_int_equal(imd->count, rig->config.opens_max);
    assert_int_equal(rig_status(rig, &c->other, first), STATUS_OK);
    assert_true(waits(rig, c, last));
    rig_again(rig, &c->session, last, first, OP_OPEN, body, n);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, last), STATUS_OK);
    rig_free(rig);
}

/* Those that wait take none of the directory's room. */
TEST(early__holds_no_room_in_the_directory)
{
    ManagerConfig config = rig_config();
    config.regions_max = 1;
    Rig *rig = rig_of(config);
    FakeClient *a = client_new(rig), *b = client_new(rig);
    const OpOpen large = open_of(1, 64 * KIB, 0), small = open_of(2, 4 * KIB, 0);
    (void)imd_up(rig, 16 * KIB);
    assert_true(waits(rig, a, client_open_send(rig, a, &large)));
    assert_int_equal(client_open(rig, b, &small, NULL), STATUS_OK);
    rig_free(rig);
}

/* A manager without a lease has taken nobody's place. */
TEST(early__is_nothing_without_a_lease)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
    rig_free(rig);
}
