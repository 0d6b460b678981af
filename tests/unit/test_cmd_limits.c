/* SPDX-License-Identifier: MIT */
/* OPEN at the manager: its limits, and each client's share of them. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- limits -------------------------------------------------------------------------------- */

TEST(open__too_many_under_way_is_busy)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint64_t last = 0;

    imd->deaf = true;
    for (unsigned i = 0; i <= rig->config.opens_max; i++) {
        if (last)
            assert_false(rig_answered(rig, &c->session, last));
        last = client_open_send(rig, c, &open);
    }
    assert_int_equal(rig_status(rig, &c->session, last), STATUS_BUSY);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(imd->count, rig->config.opens_max);
    last = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, last), STATUS_OK);
    rig_free(rig);
}

TEST(open__full_directory_is_no_memory)
{
    ManagerConfig config = rig_config();
    config.regions_max = 3;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply kept;

    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    /* Those under way count: of two at once one finds room. */
    imd->deaf = true;
    uint64_t one = client_open_send(rig, c, &open), two = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, two), STATUS_NO_MEMORY);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(client_opened(rig, c, one, NULL), STATUS_OK);
    assert_int_equal(imd->got[OP_ALLOC], 3);
    /* A kept region needs no new entry. */
    assert_int_equal(client_close(rig, c, &kept.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    assert_int_equal(kept.reused, 1);
    assert_int_equal(client_close(rig, c, &kept.address, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    rig_free(rig);
}

/* Each of the kept makes room for another, in two rounds: wherever the last one was found. */
TEST(open__all_that_is_kept_gives_way)
{
    enum { COUNT = 40 };
    ManagerConfig config = rig_config();
    config.regions_max = COUNT;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    uint8_t file = 0;

    for (unsigned i = 0; i < COUNT; i++) {
        OpOpen open = open_of(file++, 4 * KIB, REGION_RETAIN);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    }
    for (int round = 0; round < 2; round++) {
        while (c->count > 0)
            assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_RELEASE, 1), STATUS_OK);
        for (unsigned i = 0; i < COUNT; i++) {
            OpOpen open = open_of(file++, 4 * KIB, REGION_RETAIN);
            assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
            assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
        }
        OpOpen open = open_of(file, 4 * KIB, REGION_RETAIN);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
        assert_int_equal(rig_stats(rig).regions, COUNT);
        assert_int_equal(imd->count, COUNT);
    }
    assert_int_equal(rig_stats(rig).opens_reused, 0);
    rig_free(rig);
}

/* Room is made before there is none: no opening fails where something is only kept. */
TEST(open__what_is_kept_gives_way_in_time)
{
    enum { COUNT = 128 };
    ManagerConfig config = rig_config();
    config.regions_max = COUNT;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    for (unsigned i = 0; i < 3 * COUNT; i++) {
        OpOpen open = open_of((uint8_t)i, 4 * KIB, REGION_RETAIN);
        open.offset = i / 256 * (uint64_t)KIB;
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
        assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_RELEASE, 1), STATUS_OK);
    }
    assert_int_equal(rig_stats(rig).regions, COUNT - COUNT / 64);
    assert_int_equal(imd->count, COUNT - COUNT / 64);
    rig_free(rig);
}

/* ---- shares ---------------------------------------------------------------------------------- */

TEST(quota__of_bytes)
{
    ManagerConfig config = rig_config();
    config.client_bytes = 20 * KIB;
    Rig *rig = rig_new_with(config, 1);
    imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *other = client_new(rig);
    OpOpen open = open_of(1, 8 * KIB, 0), large = open_of(2, 20 * KIB + 1, 0);
    OpOpenReply first;

    assert_int_equal(client_open(rig, c, &large, NULL), STATUS_QUOTA);
    assert_int_equal(client_open(rig, c, &open, &first), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    open.len = 4 * KIB;
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK); /* to the last byte */
    open.len = 1;
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    open.len = 20 * KIB;
    assert_int_equal(client_open(rig, other, &open, NULL), STATUS_OK);
    assert_int_equal(client_close(rig, c, &first.address, CLOSE_FREE, 0), STATUS_OK);
    open.len = 8 * KIB;
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(rig_stats(rig).opens_refused, 3);
    rig_free(rig);
}

TEST(quota__of_regions_under_way_too)
{
    ManagerConfig config = rig_config();
    config.client_regions = 2;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    imd->dead = imd->deaf = true; /* nothing is answered before the deadline */
    (void)client_open_send(rig, c, &open);
    (void)client_open_send(rig, c, &open);
    uint64_t id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_QUOTA);
    rig_free(rig);
}

TEST(quota__of_bytes_under_way_too)
{
    ManagerConfig config = rig_config();
    config.client_bytes = 8 * KIB;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    imd->dead = imd->deaf = true;
    (void)client_open_send(rig, c, &open);
    (void)client_open_send(rig, c, &open);
    open.len = 1;
    uint64_t id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_QUOTA);
    rig_free(rig);
}

/* What is open already stays. */
TEST(quota__another_one_counts_from_the_next_opening)
{
    Rig *rig = rig_new();
    imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    manager_quota(rig->m, 8 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    manager_quota(rig->m, 0, 3);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_QUOTA);
    manager_quota(rig->m, 0, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(rig_stats(rig).regions, 4);
    rig_free(rig);
}

/* Who closes one and opens another need not wait in between. */
TEST(quota__closing_makes_room_at_once)
{
    ManagerConfig config = rig_config();
    config.client_regions = 2;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply first;

    assert_int_equal(client_open(rig, c, &open, &first), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    uint64_t closing = client_close_send(rig, c, &first.address, CLOSE_FREE, 0);
    assert_false(rig_answered(rig, &c->session, closing));
    uint64_t opening = client_open_send(rig, c, &open);
    uint64_t more = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, opening, NULL), STATUS_OK);
    assert_int_equal(rig_status(rig, &c->session, more), STATUS_QUOTA);
    assert_int_equal(imd->count, 2);
    rig_free(rig);
}
