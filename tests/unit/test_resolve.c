/* SPDX-License-Identifier: MIT */
/* With names that every host has, or none has (RFC 6761): nobody else is asked for them. */
#include "base/resolve.h"

#include <string.h>

#include "tests/lib/case.h"

static Resolved resolve(const char *text, uint8_t kind, bool loopback_only)
{
    Places p;
    Resolved r;
    assert_int_equal(places_parse(text, 7700, &p), 0);
    resolve_places(&p, kind, loopback_only, &r);
    return r;
}

static void assert_is(const Addr *a, const char *text)
{
    char buf[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(a, buf, sizeof buf), text);
}

TEST(resolve__a_name_has_its_addresses_and_the_port_of_the_place)
{
    Resolved r = resolve("localhost:42", ADDR_IP4, true);
    assert_int_equal(r.count, 1);
    assert_is(&r.found[0], "127.0.0.1:42");
    assert_string_equal(r.error, "");
}

TEST(resolve__addresses_stay_in_their_places)
{
    Resolved r = resolve("10.0.0.1:1,localhost:2,10.0.0.3:3", ADDR_IP4, false);
    assert_int_equal(r.count, 3);
    assert_is(&r.found[0], "10.0.0.1:1");
    assert_is(&r.found[1], "127.0.0.1:2");
    assert_is(&r.found[2], "10.0.0.3:3");
}

TEST(resolve__the_same_address_counts_once)
{
    Resolved r = resolve("localhost,127.0.0.1,localhost", ADDR_IP4, false);
    assert_int_equal(r.count, 1);
}

TEST(resolve__one_family_alone)
{
    Resolved r = resolve("[fd00::1]:1,10.0.0.2:2,[fd00::3]:3", ADDR_NONE, false);
    assert_int_equal(r.count, 2);
    assert_is(&r.found[1], "[fd00::3]:3");
}

TEST(resolve__all_families)
{
    Resolved r = resolve("[fd00::1]:1,10.0.0.2:2,localhost:3", RESOLVE_ALL, false);
    assert_true(r.count >= 3); /* localhost may have two */
    assert_is(&r.found[0], "[fd00::1]:1");
    assert_is(&r.found[1], "10.0.0.2:2");
}

TEST(resolve__without_a_key_only_this_host)
{
    Resolved r = resolve("10.0.0.1,localhost,[::1]", ADDR_IP4, true);
    assert_int_equal(r.count, 1);
    assert_is(&r.found[0], "127.0.0.1:7700");
}

TEST(resolve__a_name_without_an_address_says_what_to_do)
{
    Resolved r = resolve("no-such-host.invalid,10.0.0.1", ADDR_IP4, false);
    assert_int_equal(r.count, 1);
    assert_non_null(strstr(r.error, "no-such-host.invalid: "));
    assert_non_null(strstr(r.error, "or give the address"));
}
