/* SPDX-License-Identifier: MIT */
#include "base/listen.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"

TEST(listen__is_an_address_or_an_interface)
{
    static const struct {
        const char *text, *addr, *interface;
        uint16_t port;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1:7701", "", 7701},
        {"[fd00::1]:5", "[fd00::1]:5", "", 5},
        {"eth0", "none", "eth0", 7701},
        {"eth0:0", "none", "eth0", 0},
        {"wlp3s0:65535", "none", "wlp3s0", 65535},
        {"eth0.100", "none", "eth0.100", 7701},
        {"br-0a1b2c3d4e5f", "none", "br-0a1b2c3d4e5f", 7701},
        {"fe", "none", "fe", 7701}, /* no IPv6 address */
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[ADDR_TEXT_MAX];
        Listen l;
        if (listen_parse(rows[i].text, 7701, &l) != 0)
            fail_msg("%s is refused", rows[i].text);
        assert_string_equal(addr_format(&l.addr, text, sizeof text), rows[i].addr);
        assert_string_equal(l.interface, rows[i].interface);
        assert_int_equal(l.addr.port, rows[i].port);
        assert_false(listen_is_open(&l));
    }
}

TEST(listen__is_nothing_else)
{
    static const char *const texts[] = {
        "",          "10.0.0.300",  "10.0.0",           "0eth",
        ":7701",     "eth0:",       "eth0:x",           "eth0:65536",
        "eth0:1:2",  "eth0:000001", "interface0123456", "my host",
        "[eth0]:77", "eth0 ",       "../eth0",          "eth0/24",
        "eth0:-1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        Listen l = {.addr = {.port = 3}};
        if (listen_parse(texts[i], 7701, &l) != -EINVAL)
            fail_msg("\"%s\" is taken", texts[i]);
        assert_int_equal(l.addr.port, 3);
        assert_true(listen_is_open(&l));
    }
}

TEST(listen__equal_in_address_port_and_interface)
{
    static const char *const texts[] = {"10.0.0.1", "10.0.0.2", "10.0.0.1:1",
                                        "eth0",     "eth1",     "eth0:1"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (size_t n = 0; n < ARRAY_SIZE(texts); n++) {
            Listen a, b;
            assert_int_equal(listen_parse(texts[i], 9, &a), 0);
            assert_int_equal(listen_parse(texts[n], 9, &b), 0);
            assert_int_equal(listen_equal(&a, &b), i == n);
        }
}
