/* SPDX-License-Identifier: MIT */
/* Public addresses as text: what parses, how it is written, and that nothing else is taken. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "tests/lib/case.h"
#include "usocket/public/address.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

TEST(address_parse__reads_and_format_writes)
{
    static const struct {
        const char *text, *interface, *formatted;
        uint8_t kind;
        uint16_t port;
        uint32_t scope;
        uint8_t first, last; /* byte of the address */
    } cases[] = {
        {"127.0.0.1:7000", "", "127.0.0.1:7000", DODO_U_IP4, 7000, 0, 127, 1},
        {"0.0.0.0:0", "", "0.0.0.0:0", DODO_U_IP4, 0, 0, 0, 0},
        {"[::1]:7000", "", "[::1]:7000", DODO_U_IP6, 7000, 0, 0, 1},
        {"[FE80::2%3]:1", "", "[fe80::2%3]:1", DODO_U_IP6, 1, 3, 0xfe, 2},
        {"[fe80::2%eth0]:1", "eth0", "[fe80::2]:1", DODO_U_IP6, 1, 0, 0xfe, 2},
        {"[::%fifteen-]etters]:1", "fifteen-]etters", "[::]:1", DODO_U_IP6, 1, 0, 0, 0},
        {"02:00:00:00:00:01/7%eth0", "eth0", "02:00:00:00:00:01/7", DODO_U_MAC, 7, 0, 2, 1},
        {"02:00:00:00:00:0F/65535", "", "02:00:00:00:00:0f/65535", DODO_U_MAC, 65535, 0, 2, 15},
        {"AB:cd:ef:01:23:45/0%br-lan.7", "br-lan.7", "ab:cd:ef:01:23:45/0", DODO_U_MAC, 0, 0, 0xab,
         0x45},
        {"any/7%eth0", "eth0", "any/7", DODO_U_MAC, 7, 0, 0, 0},
        {"00:00:00:00:00:00/7%fifteen-letters", "fifteen-letters", "any/7", DODO_U_MAC, 7, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char interface[INTERFACE_NAME], buf[DODO_U_TEXT_MAX];
        DodoUAddr a;
        static const size_t lens[] = {0, 4, 16, 6};
        if (address_parse(cases[i].text, &a, interface) != 0)
            fail_msg("%s should be an address", cases[i].text);
        assert_int_equal(a.kind, cases[i].kind);
        assert_int_equal(a.port, cases[i].port);
        assert_int_equal(a.scope, cases[i].scope);
        assert_int_equal(a.host[0], cases[i].first);
        assert_int_equal(a.host[lens[a.kind] - 1], cases[i].last);
        assert_string_equal(interface, cases[i].interface);
        assert_string_equal(address_format(&a, NULL, buf, sizeof buf), cases[i].formatted);
    }
}

TEST(address_parse__refuses)
{
    static const char *const texts[] = {
        "",
        "/",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "localhost:7000",
        "::1",
        "[::1]",
        "[::1]:",
        "[::1:7",
        "[fe80::1%]:7",
        "[fe80::1%eth0:7",
        "[fe80::1%sixteen-letters-]:7",
        "[fe80::1%a%b]:7",
        "[fe80::1%a b]:7",
        "[fe80::1%eth0]",
        "[127.0.0.1%eth0]:7",
        "fe80::1%eth0:7",
        "127.0.0.1%eth0:7",
        "02:00:00:00:00:01",
        "02:00:00:00:00:01/",
        "02:00:00:00:00:01/%eth0",
        "02:00:00:00:00:01/65536",
        "02:00:00:00:00:01/7 ",
        "02:00:00:00:00:01/+7",
        "02:00:00:00:00:01/7%",
        "02:00:00:00:00:01/7%sixteen-letters-",
        "02:00:00:00:00:01/7%a/b",
        "02:00:00:00:00:01/7%..",
        "02:00:00:00:00:01/7%a b",
        "02:00:00:00:00:01/7%a%b",
        "02:00:00:00:00:01/00000000000000007",
        "02:00:00:00:00:0g/7",
        "02:00:00:00:00:1/7",
        "02:00:00:00:00/7",
        "02-00-00-00-00-01/7",
        "02:00:00:00:00:01:02/7",
        "anyone/7%eth0",
        "/7%eth0",
        "none",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        DodoUAddr a, before;
        char interface[INTERFACE_NAME];
        memset(&a, 0xa5, sizeof a);
        before = a;
        if (address_parse(texts[i], &a, interface) != -EINVAL)
            fail_msg("\"%s\" should be refused", texts[i]);
        assert_memory_equal(&a, &before, sizeof a);
    }
}

TEST(address_format__interface_by_name_or_number)
{
    char buf[DODO_U_TEXT_MAX];
    const DodoUAddr a = {.kind = DODO_U_MAC, .port = 7, .scope = 12, .host = {2, [5] = 1}};
    const DodoUAddr none = {.kind = DODO_U_NONE};
    assert_string_equal(address_format(&a, "eth0", buf, sizeof buf), "02:00:00:00:00:01/7%eth0");
    assert_string_equal(address_format(&a, NULL, buf, sizeof buf), "02:00:00:00:00:01/7%12");
    assert_string_equal(address_format(&none, NULL, buf, sizeof buf), "none");
    const DodoUAddr ip6 = {.kind = DODO_U_IP6, .port = 7, .scope = 12, .host = {0xfe, 0x80}};
    assert_string_equal(address_format(&ip6, "eth0", buf, sizeof buf), "[fe80::%eth0]:7");
    assert_string_equal(address_format(&ip6, NULL, buf, sizeof buf), "[fe80::%12]:7");
}

/* The longest of each kind has room. */
TEST(address_format__longest_fits)
{
    char buf[DODO_U_TEXT_MAX];
    DodoUAddr a = {.kind = DODO_U_IP6, .port = 65535, .scope = UINT32_MAX};
    memset(a.host, 0xff, sizeof a.host);
    assert_in_range(strlen(address_format(&a, NULL, buf, sizeof buf)), 50, sizeof buf - 2);
    assert_in_range(strlen(address_format(&a, "fifteen-letters", buf, sizeof buf)), 60,
                    sizeof buf - 2);
    a.kind = DODO_U_MAC;
    memset(a.host + 6, 0, 10);
    assert_in_range(strlen(address_format(&a, "fifteen-letters", buf, sizeof buf)), 38,
                    sizeof buf - 2);
}

/* Addresses at random: written and read they are the same bytes. */
TEST(address__survives_its_text)
{
    Random r = {7};
    for (unsigned i = 0; i < 100000; i++) {
        static const size_t lens[] = {0, 4, 16, 6};
        char buf[DODO_U_TEXT_MAX], interface[INTERFACE_NAME];
        DodoUAddr back,
            a = {.kind = (uint8_t)(1 + random_below(&r, 3)), .port = (uint16_t)random_next(&r)};
        for (size_t n = 0; n < lens[a.kind]; n++)
            a.host[n] = random_below(&r, 4) ? (uint8_t)random_next(&r) : 0;
        if (a.kind == DODO_U_IP6 && random_below(&r, 2))
            a.scope = (uint32_t)random_next(&r);
        assert_int_equal(address_parse(address_format(&a, NULL, buf, sizeof buf), &back, interface),
                         0);
        assert_memory_equal(&back, &a, sizeof a);
    }
}

/* Texts that nobody wrote: what parses survives being written again, and nothing reads beyond. */
TEST(address_parse__any_text)
{
    static const char letters[] = "0123456789abcdefF:./%[]-any eth0\x7f\xff";
    Random r = {11};
    unsigned good = 0;
    for (unsigned i = 0; i < 300000; i++) {
        char text[40] = "", again[DODO_U_TEXT_MAX], interface[INTERFACE_NAME], name[INTERFACE_NAME];
        DodoUAddr a, back;
        (void)snprintf(text, sizeof text, "%s",
                       i % 2   ? "02:00:00:00:00:01/7%eth0"
                       : i % 4 ? "[fe80::1%e0]:7"
                               : "10.1.2.3:7");
        for (size_t n = 0, steps = 1 + random_below(&r, 4); n < steps; n++)
            text[random_below(&r, strlen(text) + 1)] = letters[random_below(&r, sizeof letters)];
        if (address_parse(text, &a, interface) != 0)
            continue;
        good++;
        a.scope = *interface ? 7 : a.scope;
        assert_int_equal(
            address_parse(address_format(&a, *interface ? interface : NULL, again, sizeof again),
                          &back, name),
            0);
        assert_string_equal(name, interface);
        back.scope = *interface ? 7 : back.scope;
        assert_memory_equal(&back, &a, sizeof a);
    }
    assert_in_range(good, 1000, 200000);
}

TEST(address_mac__of_one_host)
{
    assert_true(mac_is_single((const uint8_t[]){2, 0, 0, 0, 0, 1}));
    assert_false(mac_is_single((const uint8_t[]){0, 0, 0, 0, 0, 0}));
    assert_false(mac_is_single((const uint8_t[]){1, 0, 0x5e, 0, 0, 1}));
    assert_false(mac_is_single((const uint8_t[]){255, 255, 255, 255, 255, 255}));
}
