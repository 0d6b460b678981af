/* SPDX-License-Identifier: MIT */
#include "base/places.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"

enum { PORT = 7700 };

/* "name:port" or an address, with blanks between. */
static void show(const Places *p, char *buf, size_t cap)
{
    char text[ADDR_TEXT_MAX];
    size_t at = 0;
    *buf = '\0';
    for (unsigned i = 0; i < p->count; i++) {
        const Place *one = &p->of[i];
        if (*one->name)
            at += (size_t)snprintf(buf + at, cap - at, "%s%s:%u", i ? " " : "", one->name,
                                   one->addr.port);
        else
            at += (size_t)snprintf(buf + at, cap - at, "%s%s", i ? " " : "",
                                   addr_format(&one->addr, text, sizeof text));
    }
}

TEST(places__are_names_and_addresses_in_order)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"manager", "manager:7700"},
        {"manager:1", "manager:1"},
        {"10.0.0.1", "10.0.0.1:7700"},
        {"[fd00::1]:5", "[fd00::1]:5"},
        {"fd00::1", "[fd00::1]:7700"},
        {"a-b.example.org:65535", "a-b.example.org:65535"},
        {"3com", "3com:7700"},
        {"host.", "host.:7700"},
        {"a,10.0.0.1:2,[::1],b:3", "a:7700 10.0.0.1:2 [::1]:7700 b:3"},
        {" a , b\t,c ", "a:7700 b:7700 c:7700"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Places p;
        char shown[256];
        if (places_parse(rows[i].text, PORT, &p) != 0)
            fail_msg("not taken: %s", rows[i].text);
        show(&p, shown, sizeof shown);
        assert_string_equal(shown, rows[i].want);
    }
}

/* What looks like an address with a mistake is not taken for a name. */
TEST(places__mistakes_are_refused)
{
    static const char *const rows[] = {
        "",         " ",           ",",     "a,",        ",a",     "a,,b",
        "a b",      "a:",          "a:x",   "a:65536",   "a:-1",   "10.0.0.256",
        "10.0.0",   "7700",        ".a",    "-a",        "a..b",   "a/b",
        "[fd00::1", "[fd00::g]:1", "a:1:2", "1.2.3.4.5", "host.7", "a,b,c,d,e,f,g,h,i",
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Places p = {.count = 42};
        if (places_parse(rows[i], PORT, &p) != -EINVAL)
            fail_msg("taken: %s", rows[i]);
        assert_int_equal(p.count, 42);
    }
}

TEST(places__a_name_has_at_most_253_characters)
{
    char text[300];
    Places p;
    memset(text, 'a', sizeof text);
    text[PLACE_NAME_MAX - 1] = '\0';
    assert_int_equal(places_parse(text, PORT, &p), 0);
    assert_string_equal(p.of[0].name, text);
    text[PLACE_NAME_MAX - 1] = 'a';
    text[PLACE_NAME_MAX] = '\0';
    assert_int_equal(places_parse(text, PORT, &p), -EINVAL);
}

TEST(places__addresses_are_those_without_a_name)
{
    Places p;
    Addr all[PLACES_MAX];
    assert_int_equal(places_parse("a,10.0.0.1:2,b,[::1]:3", PORT, &p), 0);
    assert_true(places_have_names(&p));
    assert_int_equal(places_addresses(&p, all), 2);
    assert_int_equal(all[0].port, 2);
    assert_int_equal(all[1].port, 3);
    assert_int_equal(places_parse("10.0.0.1", PORT, &p), 0);
    assert_false(places_have_names(&p));
}
