/* SPDX-License-Identifier: MIT */
/* What is shown of hosts that are taken out of service: in STATUS, DRAINS, EVENTS. */
#include "cmd/metrics.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture_drain.h"

enum { KIB = 1 << 10 };

TEST(status__shows_a_drain_as_leaving)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress a = opened(rig, c, &open), b = opened(rig, c, &open);
    CmdMetrics m = {.idle = 0};
    (void)drain(rig, leaves, DRAIN_START);
    HostStatus h = rig_status_page(rig, 0).hosts[0];
    assert_int_equal(h.state, HOST_LEAVING);
    assert_string_equal(h.reason.text, "it is being drained: 2 regions are left");
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.draining, 1);
    assert_int_equal(m.leaving, 1);
    assert_int_equal(m.idle, 0);
    (void)client_close(rig, c, &a, CLOSE_FREE, 0);
    assert_string_equal(rig_status_page(rig, 0).hosts[0].reason.text,
                        "it is being drained: 1 region is left");
    (void)client_close(rig, c, &b, CLOSE_FREE, 0);
    assert_string_equal(rig_status_page(rig, 0).hosts[0].reason.text,
                        "it is being drained: nothing is left");
    (void)drain(rig, leaves, DRAIN_CANCEL);
    h = rig_status_page(rig, 0).hosts[0];
    assert_int_equal(h.state, HOST_IDLE);
    assert_string_equal(h.reason.text, "");
    (void)drain(rig, leaves, DRAIN_START);
    rig_wait(rig, 20 * NS_PER_S);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_SILENT);
    m = (CmdMetrics){.idle = 0};
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.silent, 1);
    assert_int_equal(m.leaving + m.idle, 0);
    rig_free(rig);
}

static const char *reason_of(Rig *rig)
{
    static HostStatus h;
    h = rig_status_page(rig, 0).hosts[0];
    return h.reason.text;
}

/* How fast what clients still have to copy becomes less, since it was most. */
TEST(status__shows_how_fast_a_drain_is)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    (void)drain(rig, leaves, DRAIN_START);
    (void)moves(rig, c, 0, 0, 0); /* it has not looked yet */
    rig_live(rig, 4);
    assert_string_equal(reason_of(rig), "it is being drained: 1 region is left");
    (void)moves(rig, c, 400 * KIB, 0, 0);
    rig_live(rig, 4);
    assert_string_equal(reason_of(rig), "it is being drained: 1 region is left; 400 KiB to copy");
    for (unsigned i = 3; i > 0; i--) {
        (void)moves(rig, c, i * 100 * KIB, 0, 0);
        rig_live(rig, 10);
    }
    const char *ahead = strstr(reason_of(rig), "; 100 KiB to copy, ");
    assert_non_null(ahead);
    double rate = strtod(ahead + strlen("; 100 KiB to copy, "), NULL);
    assert_true(rate > 8 && rate < 13);
    rig_live(rig, 40); /* it gets on no more */
    (void)moves(rig, c, 100 * KIB, 0, 0);
    rig_live(rig, 3);
    assert_string_equal(reason_of(rig), "it is being drained: 1 region is left; 100 KiB to copy");
    (void)drain(rig, leaves, DRAIN_CANCEL);
    (void)drain(rig, leaves, DRAIN_START);
    assert_string_equal(reason_of(rig), "it is being drained: 1 region is left");
    rig_free(rig);
}

/* What is kept is to be copied, too, unless it is to be freed. */
TEST(status__counts_what_is_kept_as_to_be_copied)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    const RegionAddress a = opened(rig, c, &open);
    (void)client_close(rig, c, &a, CLOSE_RELEASE, 1);
    (void)drain(rig, leaves, DRAIN_START);
    rig_live(rig, 4);
    assert_string_equal(reason_of(rig), "it is being drained: 1 region is left; 4 KiB to copy");
    rig_free(rig);
}

static OpDrainsReply drains_page(Rig *rig, uint64_t cursor)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpDrains op = {.cursor = cursor};
    OpDrainsReply ret;
    WireReply reply;
    uint64_t id = rig_request(rig, &rig->tool, &rig->tool_ids, OP_DRAINS, body,
                              wire_drains_encode(&op, body));
    numbers_end(&rig->tool_ids, id);
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_drains_reply_decode(reply.body, reply.body_len, &ret), 0);
    return ret;
}

TEST(drains__say_how_far_they_are)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)opened(rig, c, &open);
    assert_int_equal(drains_page(rig, 0).count, 0);
    (void)drain_with(rig, leaves, DRAIN_START, false, 5000);
    for (unsigned i = 3; i > 0; i--) {
        (void)moves(rig, c, i * 100 * KIB, 7, 0);
        rig_live(rig, 10);
    }
    const OpDrainReply one = drain(rig, leaves, DRAIN_LOOK);
    const OpDrainsReply all = drains_page(rig, 0);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.next, 0);
    const DrainStatus *d = &all.drains[0];
    assert_true(addr_equal(&d->host, &leaves->session.peer));
    assert_memory_equal(&d->progress, &one, sizeof one);
    assert_int_equal(d->progress.open_regions, 1);
    assert_int_equal(d->progress.asking, 1);
    assert_int_equal(d->limit, 5000);
    assert_int_equal(d->ahead, 100 * KIB);
    assert_true(d->pace > 8 * KIB && d->pace < 13 * KIB);
    assert_int_equal(d->seconds, (d->ahead + d->pace - 1) / d->pace);
    (void)drain(rig, leaves, DRAIN_CANCEL);
    assert_int_equal(drains_page(rig, 0).count, 0);
    rig_free(rig);
}

/* Each is in one page only, also if others end meanwhile. */
TEST(drains__come_in_pages)
{
    enum { COUNT = 2 * DRAINS_PAGE_MAX + 1 };
    Rig *rig = rig_new();
    FakeImd *imds[COUNT];
    unsigned seen[COUNT] = {0}, pages = 0;
    uint64_t cursor = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        imds[i] = imd_up(rig, 64 * KIB);
        (void)drain(rig, imds[i], DRAIN_START);
    }
    do {
        const OpDrainsReply r = drains_page(rig, cursor);
        for (uint32_t k = 0; k < r.count; k++)
            for (unsigned i = 0; i < COUNT; i++)
                seen[i] += addr_equal(&r.drains[k].host, &imds[i]->session.peer);
        if (pages++ == 0)
            (void)drain(rig, imds[0], DRAIN_CANCEL);
        cursor = r.next;
    } while (cursor != 0);
    assert_int_equal(pages, 3);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(drains_page(rig, UINT64_MAX).count, 0);
    rig_free(rig);
}

TEST(events__tell_of_a_drain_once)
{
    Rig *rig = rig_new();
    FakeImd *leaves = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const RegionAddress a = opened(rig, c, &open);
    *rig->events = '\0';
    for (unsigned i = 0; i < 3; i++) {
        (void)drain(rig, leaves, DRAIN_START);
        rig_live(rig, 1);
    }
    assert_string_equal(rig->events, "host_busy(1) ");
    (void)client_close(rig, c, &a, CLOSE_FREE, 0);
    rig_live(rig, 5);
    assert_string_equal(rig->events, "host_busy(1) host_busy(0) ");
    (void)drain(rig, leaves, DRAIN_CANCEL);
    (void)drain(rig, leaves, DRAIN_CANCEL);
    assert_string_equal(rig->events, "host_busy(1) host_busy(0) host_idle(0) ");
    rig_free(rig);
}
