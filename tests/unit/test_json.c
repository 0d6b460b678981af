/* SPDX-License-Identifier: MIT */
/* Whatever the text, a reader of JSON gets it back, and nothing is written beyond the room. */
#include <string.h>

#include "base/json.h"
#include "tests/lib/case.h"

TEST(string__nothing_in_it_ends_it)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"load is 1.5", "\"load is 1.5\""},
        {"a\"b\\c", "\"a\\u0022b\\u005cc\""},
        {"</script><!--&'", "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0027\""},
        {"\n\t\x1b\x7f", "\"\\u000a\\u0009\\u001b\\u007f\""},
        {"caf\xc3\xa9 \xe2\x82\xac", "\"caf\xc3\xa9 \xe2\x82\xac\""},
        {"\xff"
         "a\xc2\x9b",
         "\"\\ufffda\\ufffd\\ufffd\""}, /* no character; one that steers */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[128];
        Json j = {.buf = buf, .cap = sizeof buf};
        json_string(&j, cases[i].text);
        assert_int_equal(json_end(&j), strlen(cases[i].json));
        assert_string_equal(buf, cases[i].json);
    }
}

TEST(room__is_kept_or_there_is_nothing)
{
    static const char wanted[] = "{\"a\":18446744073709551615,\"b\":\"x\\u000ay\"}";
    char buf[sizeof wanted + 1];
    for (size_t cap = 0; cap <= sizeof wanted; cap++) {
        Json j = {.buf = buf, .cap = cap};
        memset(buf, '#', sizeof buf);
        json_add(&j, "{\"a\":%llu,\"b\":", 18446744073709551615ull);
        json_string(&j, "x\ny");
        json_add(&j, "}");
        assert_int_equal(json_end(&j), cap < sizeof wanted ? 0 : sizeof wanted - 1);
        assert_int_equal(buf[cap], '#');
    }
    assert_string_equal(buf, wanted);
}
