/* SPDX-License-Identifier: MIT */
/* Where a daemon serves that is not given an address. That one goes, tests/net/cluster_page.sh
 * tries. */
#include "daemon/address_watch.h"
#include "daemon/look_time.h"

#include <errno.h>
#include <arpa/inet.h>
#include <glib.h>
#include <ifaddrs.h>
#include <poll.h>
#include <string.h>

#include "tests/lib/case.h"

enum { SOME_MAX = 16 };
static HostAddress some[SOME_MAX];
static HostAddresses all = {.of = some};

static void add(const char *interface, const char *text)
{
    assert_true(all.count < SOME_MAX);
    HostAddress *h = &all.of[all.count++];
    *h = (HostAddress){.passing = false};
    (void)g_strlcpy(h->interface, interface, sizeof h->interface);
    assert_int_equal(addr_parse(text, 0, &h->addr), 0);
}

static void some_addresses(void)
{
    all.count = 0;
    add("lo", "127.0.0.1");
    add("eth0", "fe80::1");
    add("eth0", "fd00::aa");
    add("eth0", "fd00::1");
    add("eth0", "169.254.3.4");
    add("wlan0", "fe80::2");
    add("wlan0", "169.254.5.6");
    add("eth1", "10.0.0.1");
    add("eth1", "10.0.0.2");
    add("eth1", "fd00::2");
}

static void assert_pick(const char *interface, uint8_t kind, const char *want)
{
    char text[ADDR_TEXT_MAX];
    const Addr *a = host_addresses_pick(&all, interface, kind);
    assert_string_equal(a ? addr_format(a, text, sizeof text) : "none", want);
}

TEST(pick__the_first_that_others_can_reach)
{
    some_addresses();
    assert_pick("lo", ADDR_NONE, "127.0.0.1:0");
    assert_pick("eth0", ADDR_NONE, "[fd00::aa]:0");
    assert_pick("eth0", ADDR_IP4, "none");
    assert_pick("wlan0", ADDR_NONE, "none");
    assert_pick("eth1", ADDR_NONE, "10.0.0.1:0");
    assert_pick("eth1", ADDR_IP6, "[fd00::2]:0");
    assert_pick("eth", ADDR_NONE, "none");
}

/* As an address that is new each day, for the sake of privacy. */
TEST(pick__what_stays)
{
    some_addresses();
    host_addresses_mark(&all, "fd0000000000000000000000000000aa 02 40 00 01     eth0\n"
                              "fd000000000000000000000000000001 02 40 00 80     eth0\n"
                              "fd000000000000000000000000000002 03 40 00 20     eth1\nxx\n");
    assert_pick("eth0", ADDR_NONE, "[fd00::1]:0");
    assert_pick("eth1", ADDR_IP6, "[fd00::2]:0"); /* there is no other */
}

TEST(have__on_any_port)
{
    Addr a;
    some_addresses();
    assert_int_equal(addr_parse("10.0.0.2:77", 0, &a), 0);
    assert_true(host_addresses_have(&all, &a));
    assert_int_equal(addr_parse("10.0.0.3:77", 0, &a), 0);
    assert_false(host_addresses_have(&all, &a));
}

/* A host that serves others may have hundreds, and its own one behind them. */
TEST(take__however_many_there_are)
{
    enum { MANY = 5000 };
    static struct ifaddrs list[MANY];
    static struct sockaddr_in at[MANY];
    static char lo[] = "lo", own[] = "eth0";
    char text[ADDR_TEXT_MAX];
    HostAddresses many;
    for (unsigned i = 0; i < MANY; i++) {
        at[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001 + i)};
        list[i] = (struct ifaddrs){.ifa_name = i + 1 < MANY ? lo : own,
                                   .ifa_addr = i % 2 == 0 && i + 1 < MANY
                                                   ? NULL /* an interface without one */
                                                   : (struct sockaddr *)(void *)&at[i],
                                   .ifa_next = i + 1 < MANY ? &list[i + 1] : NULL};
    }
    host_addresses_take(&many, list);
    assert_int_equal(many.count, MANY / 2);
    const Addr *a = host_addresses_pick(&many, own, ADDR_NONE);
    assert_non_null(a);
    assert_string_equal(addr_format(a, text, sizeof text), "10.0.19.136:0");
    host_addresses_clear(&many);
    host_addresses_take(&many, NULL);
    assert_int_equal(many.count, 0);
    host_addresses_clear(&many);
}

/* An IPv4 address may have a label of its own, which getifaddrs(3) tells in the interface's place.
 */
TEST(take__an_address_with_a_label)
{
    static char label[] = "eth0:backup";
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
    const struct ifaddrs list = {.ifa_name = label, .ifa_addr = (struct sockaddr *)(void *)&at};
    char text[ADDR_TEXT_MAX];
    HostAddresses labelled;
    host_addresses_take(&labelled, &list);
    const Addr *a = host_addresses_pick(&labelled, "eth0", ADDR_NONE);
    assert_non_null(a);
    assert_string_equal(addr_format(a, text, sizeof text), "10.0.0.1:0");
    host_addresses_clear(&labelled);
}

/* ---- when to look ---------------------------------------------------------------------------- */

static LookTime looked_at(uint64_t now_ns)
{
    LookTime t = {.quiet_ns = 500 * NS_PER_MS, .most_ns = 5 * NS_PER_S};
    look_time_looked(&t, TIME_NEVER);
    assert_int_equal(look_time_wait_ms(&t, now_ns), -1);
    return t;
}

TEST(look__after_the_last_of_a_group_of_changes)
{
    uint64_t now = NS_PER_S;
    LookTime t = looked_at(now);
    for (unsigned i = 0; i < 3; i++, now += 400 * NS_PER_MS) {
        assert_false(look_time_due(&t, now));
        look_time_changed(&t, now);
        assert_int_equal(look_time_wait_ms(&t, now), 500);
    }
    assert_int_equal(look_time_wait_ms(&t, now), 100);
    assert_false(look_time_due(&t, now + 99 * NS_PER_MS));
    assert_true(look_time_due(&t, now + 100 * NS_PER_MS));
    look_time_looked(&t, TIME_NEVER);
    assert_false(look_time_due(&t, now + 3600 * NS_PER_S));
}

TEST(look__although_changes_do_not_end)
{
    const uint64_t begin = NS_PER_S;
    LookTime t = looked_at(begin);
    uint64_t now = begin;
    for (; !look_time_due(&t, now); now += 10 * NS_PER_MS) {
        assert_true(now <= begin + 5 * NS_PER_S);
        look_time_changed(&t, now);
    }
    assert_int_equal(now, begin + 5 * NS_PER_S);
    assert_int_equal(look_time_wait_ms(&t, now), 0);
    look_time_looked(&t, now + 30 * NS_PER_S);
    look_time_changed(&t, now); /* the next group has its own time */
    assert_int_equal(look_time_wait_ms(&t, now), 500);
}

/* ---- on this host ---------------------------------------------------------------------------- */

static int start(AddressWatch *w, const char *listen, const char *manager, char *error)
{
    const CommonOptions o = {.manager = (char *)manager};
    Listen l = {.addr.port = 7};
    if (*listen)
        assert_int_equal(listen_parse(listen, 7, &l), 0);
    *error = '\0';
    return address_watch_start(w, &o, &l, manager != NULL, error);
}

static void assert_at(const AddressWatch *w, const char *want)
{
    char text[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(&w->at, text, sizeof text), want);
}

TEST(watch__an_address_that_is_given_needs_none)
{
    char error[CONFIG_ERROR_MAX];
    AddressWatch w;
    assert_int_equal(start(&w, "192.0.2.1:5", "127.0.0.1", error), 0);
    assert_at(&w, "192.0.2.1:5");
    assert_int_equal(w.fd, -1);
    address_watch_close(&w);
}

TEST(watch__of_the_way_to_the_manager_and_of_an_interface)
{
    static const struct {
        const char *listen, *manager;
    } rows[] = {{"", "127.0.0.1:7700"}, {"", "localhost"}, {"lo", "127.0.0.2"}, {"lo", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char error[CONFIG_ERROR_MAX];
        AddressWatch w;
        if (start(&w, rows[i].listen, rows[i].manager, error) != 0)
            fail_msg("%zu: %s", i, error);
        if (w.at.kind == ADDR_IP4)
            assert_at(&w, "127.0.0.1:7");
        else
            assert_at(&w, "[::1]:7");
        assert_true(w.fd >= 0 && !w.moved);
        address_watch_close(&w);
    }
}

TEST(watch__says_why_there_is_no_address)
{
    static const struct {
        const char *listen, *manager, *says;
    } rows[] = {
        {"nowhere0", "127.0.0.1", "--listen nowhere0: there is no such interface (see ip addr)"},
        {"", "nobody.invalid", "nobody.invalid: "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char error[CONFIG_ERROR_MAX];
        AddressWatch w;
        assert_true(start(&w, rows[i].listen, rows[i].manager, error) < 0);
        if (!g_str_has_prefix(error, rows[i].says))
            fail_msg("%s", error);
        address_watch_close(&w);
    }
}
