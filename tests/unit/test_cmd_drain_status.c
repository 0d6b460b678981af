/* SPDX-License-Identifier: MIT */
/* What is shown of hosts that are taken out of service: in STATUS, in events. */
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
