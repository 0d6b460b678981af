/* SPDX-License-Identifier: MIT */
/* What dodo top shows, of few hosts, of many, and of the oddest that a manager can list. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/addr_of.h"
#include "tests/lib/case.h"
#include "tools/top_frame.h"

enum { MANY = 1000, MIB = 1 << 20 };
static HostStatus now[MANY], before[MANY];
static Addr manager;

/* @count hosts 10.0.x.y, of 64 MiB each. */
static TopView few(size_t count)
{
    manager = addr_of("10.0.0.1:7700");
    for (size_t i = 0; i < count; i++) {
        before[i] = (HostStatus){.address = addr_of("10.0.0.2:7701"),
                                 .epoch = 7,
                                 .pool_bytes = 64 * MIB,
                                 .free_bytes = 48 * MIB,
                                 .regions = 2,
                                 .read_bytes = 10 * MIB,
                                 .write_bytes = MIB};
        before[i].address.host[2] = (uint8_t)(i >> 8);
        before[i].address.host[3] = (uint8_t)i;
        now[i] = before[i];
    }
    return (TopView){.now = {.hosts = now,
                             .count = count,
                             .regions = 12,
                             .clients = 4,
                             .uptime_ms = 3600 * 1000,
                             .at_ns = 102 * NS_PER_S},
                     .manager = &manager,
                     .width = 80};
}

static TopView rated(size_t count)
{
    TopView v = few(count);
    v.before = v.now;
    v.before.hosts = before;
    v.before.at_ns = 100 * NS_PER_S;
    return v;
}

static void assert_frame(const TopView *v, const char *expected)
{
    g_autoptr(GString) frame = top_frame(v);
    assert_string_equal(frame->str, expected);
}

/* How many lines; none is longer than the width, nor has anything but printable ASCII. */
static unsigned lines_of(const TopView *v, GString *frame)
{
    unsigned lines = 0, at = 0;
    for (const char *c = frame->str; *c; c++) {
        at = *c == '\n' ? 0 : at + 1;
        lines += *c == '\n';
        assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
        assert_true(at <= v->width);
    }
    assert_int_equal(at, 0);
    return lines;
}

static void assert_lines(const TopView *v, unsigned lines, const char *text)
{
    g_autoptr(GString) frame = top_frame(v);
    assert_int_equal(lines_of(v, frame), lines);
    if (!strstr(frame->str, text))
        fail_msg("not \"%s\":\n%s", text, frame->str);
}

TEST(once__is_since_the_start_in_the_managers_order)
{
    TopView v = few(4);
    now[1].state = HOST_BUSY;
    (void)strcpy(now[1].reason.text, "the keyboard was used 3s ago");
    now[2].state = HOST_SILENT;
    now[3].free_bytes = 0;
    now[3].read_bytes = 3ull << 40;
    assert_frame(
        &v, "manager 10.0.0.1:7700, up 1h: 12 regions, 4 clients\n"
            "4 hosts: 2 idle, 1 busy, 1 silent, 0 leaving\n"
            "lent 128M, used 80M; read 3.0T, written 4.0M\n"
            "HOST                    STATE        LENT      USED  REGIONS      READ   WRITTEN\n"
            "10.0.0.0:7701           idle          64M       16M        2       10M      1.0M\n"
            "10.0.0.1:7701           busy    the keyboard was used 3s ago\n"
            "10.0.0.2:7701           silent        64M       16M        2       10M      1.0M\n"
            "10.0.0.3:7701           idle          64M       64M        2      3.0T      1.0M\n");
}

TEST(again__is_by_the_second_busiest_first)
{
    TopView v = rated(4);
    v.height = 24;
    now[1].read_bytes += 3 * MIB;
    now[2].write_bytes += 8 * MIB;
    now[3].free_bytes = 0;
    assert_frame(
        &v, "manager 10.0.0.1:7700, up 1h: 12 regions, 4 clients\n"
            "4 hosts: 4 idle, 0 busy, 0 silent, 0 leaving\n"
            "lent 256M, used 112M; read 1.5M/s, written 4.0M/s\n"
            "HOST                    STATE        LENT      USED  REGIONS    READ/s   WRITE/s\n"
            "10.0.0.2:7701           idle          64M       16M        2        0B      4.0M\n"
            "10.0.0.1:7701           idle          64M       16M        2      1.5M        0B\n"
            "10.0.0.3:7701           idle          64M       64M        2        0B        0B\n"
            "10.0.0.0:7701           idle          64M       16M        2        0B        0B\n");
}

/* A host that is new, has started again or has counted backwards has no rate, and takes no part in
 * the sum. */
TEST(again__another_start_is_no_difference)
{
    TopView v = rated(3);
    before[0].address.port++;
    now[1].epoch++;
    now[2].read_bytes--;
    for (unsigned i = 0; i < 3; i++)
        now[i].write_bytes += 64 * MIB;
    assert_lines(
        &v, 7,
        "10.0.0.0:7701           idle          64M       16M        2         -         -\n"
        "10.0.0.1:7701           idle          64M       16M        2         -         -\n"
        "10.0.0.2:7701           idle          64M       16M        2         -         -\n");
    assert_lines(&v, 7, "; read 0B/s, written 0B/s\n");
}

TEST(again__no_time_has_passed)
{
    TopView v = rated(1);
    v.before.at_ns = v.now.at_ns;
    assert_lines(&v, 5, "; read 0B/s, written 0B/s\n");
    assert_lines(
        &v, 5,
        "10.0.0.0:7701           idle          64M       16M        2         -         -\n");
}

TEST(size__has_four_digits_at_most)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, " 0B, "},          {1023, " 1023B, "},    {1024, " 1.0K, "},
                 {2047, " 1.9K, "},     {10239, " 9.9K, "},    {10240, " 10K, "},
                 {MIB - 1, " 1023K, "}, {UINT64_MAX, " 15E, "}};
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        TopView v = few(1);
        now[0].pool_bytes = now[0].free_bytes = sizes[i].bytes;
        char text[32];
        (void)snprintf(text, sizeof text, "\nlent%sused 0B; ", sizes[i].text);
        assert_lines(&v, 5, text);
    }
}

TEST(many__fill_the_height_and_no_more)
{
    TopView v = rated(MANY);
    assert_lines(&v, 4 + MANY, "10.0.3.231:7701 ");
    v.height = 24;
    now[900].read_bytes += MIB;
    assert_lines(&v, 24,
                 "WRITE/s\n10.0.3.132:7701         idle          64M       16M        2      512K  "
                 "      0B\n");
    assert_lines(&v, 24, "\nand 981 more\n");
    v.height = 4 + MANY;
    assert_lines(&v, 4 + MANY, "10.0.3.231:7701 ");
    for (v.height = 1; v.height <= 5; v.height++)
        assert_lines(&v, 5, "\nand 1000 more\n");
    v = few(0);
    assert_lines(&v, 4, "\n0 hosts: 0 idle, 0 busy, 0 silent, 0 leaving\nlent 0B, used 0B;");
}

TEST(width__is_kept_whatever_comes)
{
    static const unsigned widths[] = {1, 20, 79, 80, 81, 100, 300};
    TopView v = rated(3);
    for (unsigned i = 0; i < 2; i++) {
        now[i] = (HostStatus){.address = addr_of("[fd00:1111:2222:3333:4444:5555:6666:7777]:65535"),
                              .state = HOST_LEAVING,
                              .pool_bytes = UINT64_MAX,
                              .regions = UINT64_MAX,
                              .read_bytes = UINT64_MAX,
                              .write_bytes = UINT64_MAX};
        before[i] = (HostStatus){.address = now[i].address};
    }
    now[2].state = HOST_BUSY;
    memset(now[2].reason.text, 'r', sizeof now[2].reason.text - 1);
    v.now.regions = v.now.clients = v.now.uptime_ms = UINT64_MAX;
    v.before.at_ns = v.now.at_ns - 1;
    for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
        v.width = widths[i];
        assert_lines(&v, 7, "");
    }
    v.width = 80;
    assert_lines(&v, 7, "\n[fd00:1111:2222:3333:4+ leaving ");
    now[0].address = addr_of("[fd00::1234:5678]:65535");  /* 23 characters */
    now[1].address = addr_of("[fd00::1234:5678:9]:7701"); /* 24 */
    assert_lines(&v, 7, "\n[fd00::1234:5678]:65535 leaving ");
    assert_lines(&v, 7, "\n[fd00::1234:5678:9]:77+ leaving ");
    now[0].address = addr_of("[fd00:1111:2222:3333:4444:5555:6666:7777]:65535");
    v.width = 105;
    assert_lines(&v, 7, "\n[fd00:1111:2222:3333:4444:5555:6666:7777]:65535  leaving ");
}

/* As dodo status says it. */
TEST(head__says_what_the_manager_is)
{
    TopView v = few(1);
    v.now.number = 7;
    assert_lines(&v, 5, "manager 10.0.0.1:7700, lease 7 for 1h: 12 regions, 4 clients\n");
    v.now.number = MANAGER_STANDBY;
    assert_lines(&v, 5, "manager 10.0.0.1:7700, stands by for 1h: 12 regions, 4 clients\n");
}

TEST(fault__stands_above_what_was_seen_last)
{
    TopView v = rated(1);
    v.fault = "10.0.0.1:7700 does not answer within 5s\033[2J";
    assert_lines(&v, 5, "\n10.0.0.1:7700 does not answer within 5s?[2J\nHOST ");
    assert_lines(&v, 5, "\n10.0.0.0:7701           idle ");
}
