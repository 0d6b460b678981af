/* SPDX-License-Identifier: MIT */
/* Addresses: what parses, how it is written, and what counts as the same. */
#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "tests/lib/case.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static Addr parsed(const char *text)
{
    Addr a;
    if (addr_parse(text, 7700, &a) != 0)
        fail_msg("%s should be an address", text);
    return a;
}

TEST(addr_parse__reads_and_format_writes)
{
    static const struct {
        const char *text, *formatted;
        uint8_t kind;
        uint16_t port;
        uint32_t scope;
    } cases[] = {
        {"10.0.0.1:7701", "10.0.0.1:7701", ADDR_IP4, 7701, 0},
        {"10.0.0.1", "10.0.0.1:7700", ADDR_IP4, 7700, 0},
        {"0.0.0.0:0", "0.0.0.0:0", ADDR_IP4, 0, 0},
        {"255.255.255.255:65535", "255.255.255.255:65535", ADDR_IP4, 65535, 0},
        {"[::1]:7701", "[::1]:7701", ADDR_IP6, 7701, 0},
        {"[::1]", "[::1]:7700", ADDR_IP6, 7700, 0},
        {"::1", "[::1]:7700", ADDR_IP6, 7700, 0},
        {"::", "[::]:7700", ADDR_IP6, 7700, 0},
        {"[fe80::1%2]:7701", "[fe80::1%2]:7701", ADDR_IP6, 7701, 2},
        {"fe80::1%4294967295", "[fe80::1%4294967295]:7700", ADDR_IP6, 7700, 4294967295},
        {"[2001:DB8::00a]:1", "[2001:db8::a]:1", ADDR_IP6, 1, 0},
        {"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", ADDR_IP6, 1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[ADDR_TEXT_MAX];
        Addr a = parsed(cases[i].text);
        assert_int_equal(a.kind, cases[i].kind);
        assert_int_equal(a.port, cases[i].port);
        assert_int_equal(a.scope, cases[i].scope);
        assert_ptr_equal(addr_format(&a, buf, sizeof buf), buf);
        assert_string_equal(buf, cases[i].formatted);
    }
}

TEST(addr_parse__refuses)
{
    static const char *const texts[] = {
        "",
        ":",
        ":7700",
        "localhost",
        "localhost:7700",
        "10.0.0",
        "10.0.0.1.2",
        "10.0.0.256",
        "10.0.0.1:",
        "10.0.0.1:65536",
        "10.0.0.1:99999999999999999999999",
        "10.0.0.1:+1",
        "10.0.0.1:-1",
        "10.0.0.1: 1",
        "10.0.0.1:1 ",
        "10.0.0.1:0x10",
        " 10.0.0.1",
        "10.0.0.1 ",
        "10.0.0.1%1",
        "[::1",
        "[::1]7700",
        "[::1]:",
        "[::1]:x",
        "[]",
        "[]:1",
        "[10.0.0.1]:1",
        "::1%",
        "::1%eth0",
        "::1%-1",
        "::1%4294967296",
        "::1%99999999999999999999999",
        "1::2::3",
        "[[::1]]:1",
        "::g",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999",
        "1111:2222:3333:4444:5555:6666:7777:8888%1111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        Addr a, before;
        memset(&a, 0xa5, sizeof a);
        memset(&before, 0xa5, sizeof before);
        if (addr_parse(texts[i], 7700, &a) != -EINVAL)
            fail_msg("\"%s\" should be refused", texts[i]);
        assert_memory_equal(&a, &before, sizeof a);
    }
}

TEST(addr_format__other_kinds)
{
    char buf[ADDR_TEXT_MAX];
    Addr mac = {.kind = ADDR_MAC, .host = {2, 0, 0x5e, 0x10, 0, 0xff}};
    Addr sim = addr_sim(0x1234, 9);
    Addr none = {0}, odd = {.kind = 200};
    assert_string_equal(addr_format(&mac, buf, sizeof buf), "02:00:5e:10:00:ff");
    assert_string_equal(addr_format(&sim, buf, sizeof buf), "sim4660:9");
    assert_string_equal(addr_format(&none, buf, sizeof buf), "none");
    assert_string_equal(addr_format(&odd, buf, sizeof buf), "none");
}

TEST(addr_format__longest_fits_and_small_is_cut)
{
    char buf[ADDR_TEXT_MAX], small[6];
    Addr a = {.kind = ADDR_IP6, .port = 65535, .scope = 4294967295};
    memset(a.host, 0xff, sizeof a.host);
    addr_format(&a, buf, sizeof buf);
    assert_string_equal(buf, "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535");
    addr_format(&a, small, sizeof small);
    assert_string_equal(small, "[ffff");
}

TEST(addr_equal__sees_each_part)
{
    Addr a = parsed("10.0.0.1:1"), b = parsed("10.0.0.1:2"), c = parsed("10.0.0.2:1");
    Addr l1 = parsed("[fe80::1%1]:1"), l2 = parsed("[fe80::1%2]:1"), g = parsed("[fe80::1]:1");
    Addr same = parsed("10.0.0.1:1");
    assert_true(addr_equal(&a, &same));
    assert_true(addr_hash(&a) == addr_hash(&same));
    assert_false(addr_equal(&a, &b));
    assert_true(addr_same_host(&a, &b));
    assert_false(addr_same_host(&a, &c));
    assert_false(addr_equal(&l1, &l2));
    assert_false(addr_same_host(&l1, &g));
    /* The same four bytes as another kind of address. */
    Addr other = a;
    other.kind = ADDR_MAC;
    assert_false(addr_same_host(&a, &other));
}

TEST(addr_hash__differs_by_each_part)
{
    Addr all[] = {parsed("10.0.0.1:1"),    parsed("10.0.0.1:2"),    parsed("10.0.0.2:1"),
                  parsed("[fe80::1%1]:1"), parsed("[fe80::1%2]:1"), parsed("[fe81::1%1]:1"),
                  addr_sim(10, 1),         addr_sim(1, 10)};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t k = 0; k < i; k++)
            assert_true(addr_hash(&all[i]) != addr_hash(&all[k]));
}

TEST(addr__many)
{
    static const char *const many[] = {"224.0.0.1", "239.255.255.255", "255.255.255.255",
                                       "ff02::1"},
                             *const one[] = {"223.255.255.255", "240.0.0.1", "255.255.255.254",
                                             "fe80::1",         "0.0.0.0",   "::"};
    for (size_t i = 0; i < COUNT(many); i++) {
        Addr a = parsed(many[i]);
        assert_true(addr_is_many(&a));
    }
    for (size_t i = 0; i < COUNT(one); i++) {
        Addr a = parsed(one[i]);
        assert_false(addr_is_many(&a));
    }
}

/* Each byte of a host counts, and none behind it. */
TEST(addr__all_of_a_host_counts)
{
    static const struct {
        uint8_t kind;
        size_t len;
    } kinds[] = {{ADDR_IP4, 4}, {ADDR_IP6, 16}, {ADDR_MAC, 6}, {ADDR_SIM, 2}, {ADDR_NONE, 0}};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        Addr a = {.kind = kinds[k].kind, .port = 7};
        for (size_t i = 0; i < sizeof a.host; i++) {
            Addr b = a;
            b.host[i] = 1;
            assert_int_equal(addr_same_host(&a, &b), i >= kinds[k].len);
        }
    }
}

TEST(addr__loopback_and_any)
{
    static const struct {
        const char *text;
        bool loopback, any;
    } cases[] = {
        {"127.0.0.1", true, false}, {"127.9.9.9", true, false}, {"128.0.0.1", false, false},
        {"0.0.0.0", false, true},   {"::1", true, false},       {"::2", false, false},
        {"1::1", false, false},     {"::", false, true},        {"0.0.0.1", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Addr a = parsed(cases[i].text);
        assert_int_equal(addr_is_loopback(&a), cases[i].loopback);
        assert_int_equal(addr_is_any(&a), cases[i].any);
    }
    Addr sim = addr_sim(0, 0), none = {0};
    assert_true(addr_is_loopback(&sim));
    assert_false(addr_is_any(&sim));
    assert_false(addr_is_loopback(&none));
    assert_false(addr_is_any(&none));
}
