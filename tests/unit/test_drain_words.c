/* SPDX-License-Identifier: MIT */
#include "tools/drain_words.h"

#include <string.h>

#include "tests/lib/case.h"

enum { MIB = 1 << 20 };

/* Two programs have regions there, and one of them moves them. */
static DrainStatus drained(void)
{
    return (DrainStatus){.host = {.kind = ADDR_IP4, .port = 7701, .host = {10, 0, 0, 2}},
                         .progress = {.epoch = 0x55,
                                      .state = DRAIN_ON,
                                      .listed = 1,
                                      .open_regions = 12,
                                      .open_bytes = 48 * MIB,
                                      .kept_regions = 3,
                                      .kept_bytes = 5 * MIB,
                                      .host_regions = 15,
                                      .clients = 2,
                                      .asking = 1,
                                      .left_bytes = 35 * MIB,
                                      .copied_bytes = 7},
                         .ahead = 40 * MIB,
                         .pace = 20 * MIB,
                         .seconds = 2};
}

static void assert_line(const DrainStatus *d, const char *want)
{
    g_autoptr(GString) out = g_string_new(NULL);
    drain_status_say(d, out);
    assert_string_equal(out->str, want);
}

TEST(status__says_what_is_left_and_who_moves_it)
{
    DrainStatus d = drained();
    assert_line(&d, "10.0.0.2:7701 is being drained: 15 regions left (48 MiB open, 2 programs); "
                    "3 kept; 40 MiB to copy, 20 MiB/s, 2s; 1 program moves its regions; 1 program "
                    "does not move its regions yet");
    d.pace = d.seconds = 0;
    d.limit = MIB;
    d.progress.asking = 2;
    d.progress.refused = 1;
    assert_line(&d, "10.0.0.2:7701 is being drained: 15 regions left (48 MiB open, 2 programs); "
                    "3 kept; 40 MiB to copy (at most 1 MiB/s); 2 programs move their regions; 1 "
                    "finds no room");
    d.progress.listed = 0;
    assert_line(&d,
                "10.0.0.2:7701 is being drained: the manager waits for the list of its regions");
}

TEST(status__says_that_nothing_is_left)
{
    DrainStatus d = drained();
    d.progress = (OpDrainReply){.listed = 1};
    d.ahead = 0;
    assert_line(&d, "10.0.0.2:7701 is being drained: 0 regions left");
}

TEST(json__has_all)
{
    g_autoptr(GString) out = g_string_new(NULL);
    DrainStatus d = drained();
    drain_status_say_json(&d, out);
    assert_string_equal(
        out->str,
        "{\"host\":\"10.0.0.2:7701\",\"state\":\"draining\",\"epoch\":\"0000000000000055\","
        "\"listed\":true,\"open_regions\":12,\"open_bytes\":50331648,\"kept_regions\":3,"
        "\"kept_bytes\":5242880,\"busy_regions\":0,\"host_regions\":15,\"clients\":2,\"asking\":1,"
        "\"refused\":0,\"left_bytes\":36700160,\"copied_bytes\":7,\"bytes_per_second\":20971520,"
        "\"seconds_left\":2,\"silent_seconds\":0,\"to_copy_bytes\":41943040,\"rate\":0}");
    d.progress = (OpDrainReply){.listed = 1};
    g_string_truncate(out, 0);
    drain_status_say_json(&d, out);
    assert_non_null(strstr(out->str, "\"state\":\"done\""));
    d.progress.silent_s = 1;
    g_string_truncate(out, 0);
    drain_status_say_json(&d, out);
    assert_non_null(strstr(out->str, "\"state\":\"draining\""));
    d.progress.silent_s = 0;
    d.progress.host_regions = 1; /* the manager has them yet to hear of */
    g_string_truncate(out, 0);
    drain_status_say_json(&d, out);
    assert_non_null(strstr(out->str, "\"state\":\"draining\""));
}

/* ---- this host ------------------------------------------------------------------------------- */

static HostStatus host(uint8_t last, uint16_t port, enum HostState state)
{
    return (HostStatus){.address = {.kind = ADDR_IP4, .port = port, .host = {10, 0, 0, last}},
                        .state = (uint8_t)state};
}

static bool is_7(const Addr *a, const void *ctx)
{
    (void)ctx;
    return a->host[3] == 7;
}

/* Its port; how many there are instead, if not one. */
static unsigned picked(const HostStatus *hosts, size_t count)
{
    Addr here = {.port = 0};
    const unsigned found = drain_pick_here(hosts, count, is_7, NULL, &here);
    return found == 1 ? here.port : found;
}

TEST(here__is_the_imd_at_an_address_of_this_host)
{
    const HostStatus hosts[] = {host(6, 100, HOST_IDLE), host(7, 101, HOST_IDLE),
                                host(7, 102, HOST_BUSY), host(7, 103, HOST_IDLE)};
    assert_int_equal(picked(hosts, 3), 101);
    assert_int_equal(picked(hosts, 1), 0);
    assert_int_equal(picked(hosts, 4), 2);
}

/* The manager still lists the one that ran before. */
TEST(here__is_the_imd_that_lends)
{
    HostStatus hosts[] = {host(7, 100, HOST_LEAVING), host(7, 101, HOST_IDLE),
                          host(7, 102, HOST_SILENT)};
    assert_int_equal(picked(hosts, 3), 101);
    hosts[1] = host(7, 100, HOST_LEAVING); /* the same address */
    assert_int_equal(picked(hosts, 2), 100);
}
