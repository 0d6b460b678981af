/* SPDX-License-Identifier: MIT */
/* REPORT at the manager: a host that a client found wrong gets no new regions for a while, and one
 * client cannot take all hosts away from all others. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024, OPENINGS = 12 };

static uint16_t client_report(Rig *rig, FakeClient *c, const FakeImd *imd, uint8_t fault)
{
    uint8_t body[WIRE_BODY_MAX];
    OpReport report = {.epoch = imd->session.peer_epoch, .fault = fault};
    uint64_t id = client_request(rig, c, OP_REPORT, body, wire_report_encode(&report, body));
    numbers_end(&c->ids, id);
    return rig_status(rig, &c->session, id);
}

static void open_some(Rig *rig, FakeClient *c)
{
    OpOpen open = open_of(1, KIB, 0);
    for (unsigned i = 0; i < OPENINGS; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
}

TEST(report__sets_the_host_aside_for_all)
{
    Rig *rig = rig_new();
    FakeImd *bad = imd_up(rig, 1024 * KIB), *good = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *other = client_new(rig);
    assert_int_equal(client_report(rig, c, bad, HOST_FAULT_CORRUPT), STATUS_OK);
    open_some(rig, other);
    assert_int_equal(bad->got[OP_ALLOC], 0);
    assert_int_equal(good->got[OP_ALLOC], OPENINGS);
    assert_int_equal(rig_stats(rig).reported_hosts, 1);
    rig_live(rig, 590);
    open_some(rig, other);
    assert_int_equal(bad->got[OP_ALLOC], 0);
    rig_live(rig, 20); /* forgiven */
    open_some(rig, other);
    assert_true(bad->got[OP_ALLOC] > 0);
    rig_free(rig);
}

/* A retained region on it is not given either. */
TEST(report__a_retained_region_there_is_not_found)
{
    Rig *rig = rig_new();
    FakeImd *bad = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, KIB, REGION_RDONLY | REGION_RETAIN);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_report(rig, c, bad, HOST_FAULT_SLOW), STATUS_OK);
    FakeImd *good = imd_up(rig, 1024 * KIB);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 0);
    assert_int_equal(good->got[OP_ALLOC], 1);
    rig_free(rig);
}

TEST(report__one_client_sets_few_hosts_aside)
{
    Rig *rig = rig_new();
    FakeImd *imds[5];
    FakeClient *mad = client_new(rig), *other = client_new(rig);
    for (unsigned i = 0; i < 5; i++)
        imds[i] = imd_up(rig, 1024 * KIB);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(client_report(rig, mad, imds[i], HOST_FAULT_CORRUPT), STATUS_OK);
        assert_int_equal(client_report(rig, mad, imds[i], HOST_FAULT_CORRUPT), STATUS_OK);
    }
    assert_int_equal(rig_stats(rig).reported_hosts, 2);
    for (unsigned i = 0; i < 4; i++)
        open_some(rig, other);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(imds[i]->got[OP_ALLOC] > 0, i >= 2);
    assert_int_equal(client_report(rig, other, imds[2], HOST_FAULT_CORRUPT), STATUS_OK);
    assert_int_equal(rig_stats(rig).reported_hosts, 3); /* another's word counts by itself */
    rig_free(rig);
}

/* One program after the other on a machine whose memory is bad, or with the same mistake. */
TEST(report__one_machines_programs_set_few_hosts_aside)
{
    Rig *rig = rig_new();
    FakeImd *imds[5];
    for (unsigned i = 0; i < 5; i++)
        imds[i] = imd_up(rig, 1024 * KIB);
    for (unsigned i = 0; i < 5; i++) {
        FakeClient *c = client_new(rig);
        c->session.peer = addr_sim(1, (uint16_t)(5000 + i));
        assert_int_equal(client_report(rig, c, imds[i], HOST_FAULT_CORRUPT), STATUS_OK);
    }
    assert_int_equal(rig_stats(rig).reported_hosts, 2);
    rig_free(rig);
}

/* What it said before is forgiven by then, and so is who said it. */
TEST(report__a_client_is_believed_again_later)
{
    Rig *rig = rig_new();
    FakeImd *imds[4];
    FakeClient *c = client_new(rig);
    for (unsigned i = 0; i < 4; i++)
        imds[i] = imd_up(rig, 1024 * KIB);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(client_report(rig, c, imds[i], HOST_FAULT_CORRUPT), STATUS_OK);
    assert_int_equal(rig_stats(rig).reported_hosts, 2);
    rig_live(rig, 610);
    assert_int_equal(client_report(rig, c, imds[3], HOST_FAULT_CORRUPT), STATUS_OK);
    assert_int_equal(rig_stats(rig).reported_hosts, 3);
    rig_free(rig);
}

TEST(report__nonsense_is_refused)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    uint64_t id = client_request(rig, c, OP_REPORT, (const uint8_t *)"nonsense", 8);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_INVALID);
    assert_int_equal(client_report(rig, c, imd, HOST_FAULT_MAX), STATUS_INVALID);
    imd->session.peer_epoch++; /* no host of ours: nothing to do */
    assert_int_equal(client_report(rig, c, imd, HOST_FAULT_SLOW), STATUS_OK);
    assert_int_equal(rig_stats(rig).reported_hosts, 0);
    imd->session.peer_epoch--;
    rig_free(rig);
}
