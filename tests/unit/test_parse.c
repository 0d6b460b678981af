/* SPDX-License-Identifier: MIT */
/* Sizes, times, booleans and numbers, and the texts of key files, from memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/parse.h"
#include "tests/lib/case.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull
#define KI 1024ull
#define SEC 1000000000ull

typedef struct Quantity {
    const char *text;
    int result;
    uint64_t value;
} Quantity;

static void check_quantities(int (*parse)(const char *, uint64_t *), const Quantity *cases,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t v = UNTOUCHED;
        int r = parse(cases[i].text, &v);
        uint64_t want = cases[i].result == 0 ? cases[i].value : UNTOUCHED;
        if (r != cases[i].result || v != want)
            fail_msg("\"%s\": result %d, value %llu", cases[i].text, r, (unsigned long long)v);
    }
}

TEST(parse_size__table)
{
    static const Quantity cases[] = {
        {"0", 0, 0},
        {"4096", 0, 4096},
        {"0004096", 0, 4096},
        {"512K", 0, 512 * KI},
        {"64M", 0, 64 * KI * KI},
        {"1G", 0, KI * KI * KI},
        {"2T", 0, 2 * KI * KI * KI * KI},
        {"1k", 0, KI},
        {"1m", 0, KI * KI},
        {"1g", 0, KI * KI * KI},
        {"1t", 0, KI * KI * KI * KI},
        {"1.5G", 0, 1536 * KI * KI},
        {"0.25K", 0, 256},
        {"0.3K", 0, 307},
        {"1.000001T", 0, KI * KI * KI * KI + 1099511},
        {"1.999999T", 0, 2199022156040},
        {"18446744073709551615", 0, UINT64_MAX},
        {"16777215T", 0, 16777215 * KI * KI * KI * KI},
        {"16777215.999999T", 0, 18446744073708452104ull},

        {"18446744073709551616", -ERANGE, 0},
        {"184467440737095516150", -ERANGE, 0},
        {"99999999999999999999999999999999", -ERANGE, 0},
        {"16777216T", -ERANGE, 0},
        {"18446744073709551615K", -ERANGE, 0},

        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
        {"K", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1 K", -EINVAL, 0},
        {"1KB", -EINVAL, 0},
        {"1KiB", -EINVAL, 0},
        {"1KK", -EINVAL, 0},
        {"1P", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"1,5G", -EINVAL, 0},
        {".5G", -EINVAL, 0},
        {"1.G", -EINVAL, 0},
        {"1.5", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"1.5.5G", -EINVAL, 0},
        {"1.-5G", -EINVAL, 0},
        {"1.0000000G", -EINVAL, 0},
        {"1.99999999999999999999999G", -EINVAL, 0},
        {"99999999999999999999999x", -EINVAL, 0},
    };
    check_quantities(parse_size, cases, COUNT(cases));
}

TEST(parse_time__table)
{
    static const Quantity cases[] = {
        {"0", 0, 0},
        {"30", 0, 30 * SEC},
        {"30s", 0, 30 * SEC},
        {"500ms", 0, SEC / 2},
        {"2us", 0, 2000},
        {"7ns", 0, 7},
        {"5min", 0, 300 * SEC},
        {"1h", 0, 3600 * SEC},
        {"0.5", 0, SEC / 2},
        {"0.5s", 0, SEC / 2},
        {"1.5min", 0, 90 * SEC},
        {"1.5us", 0, 1500},
        {"0.0001us", 0, 0},
        {"18446744073709551615ns", 0, UINT64_MAX},
        {"18446744073", 0, 18446744073 * SEC},
        {"5124095.576030h", 0, 5124095ull * 3600 * SEC + 2073708000000},

        {"18446744074", -ERANGE, 0},
        {"18446744073.999999", -ERANGE, 0},
        {"5124096h", -ERANGE, 0},
        {"18446744073709551616ns", -ERANGE, 0},

        {"", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1m", -EINVAL, 0},
        {"1S", -EINVAL, 0},
        {"1sec", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"1s ", -EINVAL, 0},
        {"1d", -EINVAL, 0},
        {"1.5ns", -EINVAL, 0},
        {"1min30s", -EINVAL, 0},
        {"infinity", -EINVAL, 0},
        {"never", -EINVAL, 0},
    };
    check_quantities(parse_time, cases, COUNT(cases));
}

TEST(parse_bool__table)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    static const char *const bad[] = {"", "y", "n", "Yes", "TRUE", "2", "01", "yes ", " no", "onn"};
    for (size_t i = 0; i < COUNT(yes); i++) {
        bool b = false;
        assert_int_equal(parse_bool(yes[i], &b), 0);
        assert_true(b);
        assert_int_equal(parse_bool(no[i], &b), 0);
        assert_false(b);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        bool b = true, c = false;
        assert_int_equal(parse_bool(bad[i], &b), -EINVAL);
        assert_int_equal(parse_bool(bad[i], &c), -EINVAL);
        assert_true(b && !c);
    }
}

TEST(parse_u64__table)
{
    static const struct {
        const char *text;
        uint64_t min, max;
        int result;
        uint64_t value;
    } cases[] = {
        {"0", 0, UINT64_MAX, 0, 0},
        {"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
        {"007", 0, 10, 0, 7},
        {"5", 5, 5, 0, 5},
        {"4", 5, 10, -ERANGE, 0},
        {"11", 5, 10, -ERANGE, 0},
        {"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
        {"18446744073709551620", 0, UINT64_MAX, -ERANGE, 0},
        {"99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
        {"99999999999999999999999x", 0, UINT64_MAX, -EINVAL, 0},
        {"", 0, 10, -EINVAL, 0},
        {"-1", 0, UINT64_MAX, -EINVAL, 0},
        {"+1", 0, 10, -EINVAL, 0},
        {" 1", 0, 10, -EINVAL, 0},
        {"1 ", 0, 10, -EINVAL, 0},
        {"1.0", 0, 10, -EINVAL, 0},
        {"0x1", 0, 10, -EINVAL, 0},
        {"1K", 0, 10000, -EINVAL, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = UNTOUCHED;
        int r = parse_u64(cases[i].text, cases[i].min, cases[i].max, &v);
        if (r != cases[i].result || v != (r ? UNTOUCHED : cases[i].value))
            fail_msg("\"%s\": result %d, value %llu", cases[i].text, r, (unsigned long long)v);
    }
}

TEST(format_size__table)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {KI, "1 KiB"},
        {KI + 51, "1 KiB"},
        {KI + 52, "1.1 KiB"},
        {1536, "1.5 KiB"},
        {64 * KI * KI, "64 MiB"},
        {1536 * KI * KI, "1.5 GiB"},
        {KI * KI - 1, "1 MiB"},
        {KI * KI - 52, "1023.9 KiB"},
        {KI * KI * KI - 1, "1 GiB"},
        {KI * KI * KI * KI * KI, "1 PiB"},
        {1ull << 60, "1 EiB"},
        {(1ull << 60) - 1, "1 EiB"},
        {UINT64_MAX, "16 EiB"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[32];
        assert_ptr_equal(format_size(cases[i].bytes, buf, sizeof buf), buf);
        assert_string_equal(buf, cases[i].text);
    }
}

TEST(format_time__table)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ns"},
        {9999, "9999ns"},
        {10000, "10us"},
        {10001, "10.001us"},
        {SEC / 2, "500ms"},
        {1500 * SEC / 1000, "1500ms"},
        {30 * SEC, "30s"},
        {90 * SEC, "90s"},
        {300 * SEC, "5min"},
        {5400 * SEC, "90min"},
        {3600 * SEC, "1h"},
        {12034567, "12.035ms"},
        {12000400, "12ms"},
        {12030400, "12.03ms"},
        {1234567891, "1.235s"},
        {59999999999, "60s"},
        {3599999999999, "60min"},
        {90000000001, "1.5min"},
        {UINT64_MAX - 1, "5124095.576h"},
        {UINT64_MAX, "never"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[32];
        assert_ptr_equal(format_time(cases[i].ns, buf, sizeof buf), buf);
        assert_string_equal(buf, cases[i].text);
    }
}

TEST(format_time__configured_times_parse_back)
{
    static const uint64_t units[] = {1, 1000, 1000000, SEC, 60 * SEC, 3600 * SEC};
    for (size_t u = 0; u < COUNT(units); u++) {
        for (uint64_t n = 0; n < 10000; n += n < 100 ? 1 : 97) {
            char buf[32];
            uint64_t back;
            assert_int_equal(parse_time(format_time(n * units[u], buf, sizeof buf), &back), 0);
            assert_true(back == n * units[u]);
        }
    }
}

TEST(format__a_small_buffer_is_terminated)
{
    char buf[4];
    assert_string_equal(format_size(1536 * KI * KI, buf, sizeof buf), "1.5");
    assert_string_equal(format_time(12034567, buf, sizeof buf), "12.");
}

/* ---- texts of key files ---------------------------------------------------------------------- */

/* Writes down what it is called with; refuses the key "bad", without a word the key "mute". */
typedef struct Story {
    unsigned line;
    char text[16384];
} Story;

static int tell(void *ctx, const KeyLine *l, char *error, size_t error_cap)
{
    Story *s = ctx;
    size_t at = strlen(s->text);
    s->line = l->number;
    if (!l->key) {
        assert_null(l->value);
        (void)snprintf(error, error_cap, "not this group");
        return strcmp(l->group, "bad") == 0 ? -EDOM : 0;
    }
    (void)snprintf(s->text + at, sizeof s->text - at, "%s|%s|%s;", l->group, l->key, l->value);
    if (strcmp(l->key, "bad") == 0) {
        (void)snprintf(error, error_cap, "unknown key \"%s\"", l->key);
        return -ENOENT;
    }
    return strcmp(l->key, "mute") == 0 ? -ENOTSUP : 0;
}

/* From memory that ends where the text ends. */
static int parse_text(const char *text, size_t len, Story *story, char *error, size_t error_cap)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    story->text[0] = '\0';
    (void)snprintf(error, error_cap, "none");
    int r = key_text_parse("dodo.conf", copy, len, tell, story, error, error_cap);
    free(copy);
    return r;
}

typedef struct TextCase {
    const char *text;
    int result;
    const char *story;
    const char *error; /* "none": untouched */
} TextCase;

TEST(key_text_parse__table)
{
    static const TextCase cases[] = {
        {"", 0, "", "none"},
        {"\n\n", 0, "", "none"},
        {"# only a comment", 0, "", "none"},
        {"[a]", 0, "", "none"},
        {"[a]\nk = v\n", 0, "a|k|v;", "none"},
        {"[a]\nk=v", 0, "a|k|v;", "none"},
        {"[a]\r\nk = v\r\n", 0, "a|k|v;", "none"},
        {"  [a]  \n\t k \t=\t v w \t\n", 0, "a|k|v w;", "none"},
        {"[a]\nk =\n", 0, "a|k|;", "none"},
        {"[a]\nk = x = y\n", 0, "a|k|x = y;", "none"},
        {"[a]\nk = v # not a comment\n  # one\n", 0, "a|k|v # not a comment;", "none"},
        {"[a]\nk=1\n[b c]\nk=2\n[a]\nk=3\n", 0, "a|k|1;b c|k|2;a|k|3;", "none"},
        {"[a]\nk = [v]\n", 0, "a|k|[v];", "none"},

        {"[a]\n\n#\nword\n", -EINVAL, "", "dodo.conf:4: expected \"key = value\""},
        {"[a]\n= v\n", -EINVAL, "", "dodo.conf:2: expected \"key = value\""},
        {"[a]\ntwo words = v\n", -EINVAL, "", "dodo.conf:2: expected \"key = value\""},
        {"[a]\nk = v\nword", -EINVAL, "a|k|v;", "dodo.conf:3: expected \"key = value\""},
        {"k = v\n", -EINVAL, "", "dodo.conf:1: expected a \"[group]\" line before the first key"},
        {"[a\n", -EINVAL, "", "dodo.conf:1: expected \"[group]\""},
        {"[]\n", -EINVAL, "", "dodo.conf:1: expected \"[group]\""},
        {"[a] b\n", -EINVAL, "", "dodo.conf:1: expected \"[group]\""},
        {"[a]]\n", -EINVAL, "", "dodo.conf:1: expected \"[group]\""},
        {"[[a]\n", -EINVAL, "", "dodo.conf:1: expected \"[group]\""},

        {"[a]\nbad = v\nk = v\n", -ENOENT, "a|bad|v;", "dodo.conf:2: unknown key \"bad\""},
        {"\n[bad]\n", -EDOM, "", "dodo.conf:2: not this group"},
        {"[a]\nmute = v\n", -ENOTSUP, "a|mute|v;",
         "dodo.conf:2: this key or its value is not understood"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Story story;
        char error[256];
        assert_int_equal(
            parse_text(cases[i].text, strlen(cases[i].text), &story, error, sizeof error),
            cases[i].result);
        assert_string_equal(story.text, cases[i].story);
        assert_string_equal(error, cases[i].error);
    }
}

TEST(key_text_parse__numbers_lines)
{
    static const char text[] = "# one\n[a]\n\nk = v\n";
    Story story;
    char error[256];
    assert_int_equal(parse_text(text, strlen(text), &story, error, sizeof error), 0);
    assert_int_equal(story.line, 4);
}

TEST(parse_number__table)
{
    static const struct {
        const char *text;
        int result;
        double want;
    } cases[] = {
        {"0", 0, 0},
        {"0.3", 0, 0.3},
        {"1.25", 0, 1.25},
        {"2", 0, 2},
        {"10", 0, 10},
        {"0.000001", 0, 1e-6},
        {"", -EINVAL, 7},
        {"-1", -EINVAL, 7},
        {".3", -EINVAL, 7},
        {"3.", -EINVAL, 7},
        {"0.3x", -EINVAL, 7},
        {"nan", -EINVAL, 7},
        {"inf", -EINVAL, 7},
        {"1e1", -EINVAL, 7},
        {"0,3", -EINVAL, 7},
        {" 1", -EINVAL, 7},
        {"10.1", -ERANGE, 7},
        {"11", -ERANGE, 7},
        {"99999999999999999999", -ERANGE, 7},
        {"18446744073709551615.5", -ERANGE, 7},
        {"0.0000001", -EINVAL, 7},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = 7;
        assert_int_equal(parse_number(cases[i].text, 0, 10, &v), cases[i].result);
        assert_true(v == cases[i].want);
    }
}

TEST(key_text_parse__zero_byte_is_refused)
{
    static const char text[] = "[a]\nk = v\0w\n";
    Story story;
    char error[256];
    assert_int_equal(parse_text(text, sizeof text - 1, &story, error, sizeof error), -EINVAL);
    assert_string_equal(error, "dodo.conf:2: a zero byte: is this a text file?");
    assert_string_equal(story.text, "");
}

/* It cannot be seen in an editor. */
TEST(key_text_parse__mark_of_utf8)
{
    static const char text[] = "\xef\xbb\xbf[a]\nk = v\n",
                      twice[] = "\xef\xbb\xbf\xef\xbb\xbf[a]\n";
    Story story;
    char error[256];
    assert_int_equal(parse_text(text, sizeof text - 1, &story, error, sizeof error), 0);
    assert_string_equal(story.text, "a|k|v;");
    assert_int_equal(parse_text(text, 3, &story, error, sizeof error), 0);
    assert_int_equal(parse_text(twice, sizeof twice - 1, &story, error, sizeof error), -EINVAL);
}

TEST(key_text_parse__line_limit)
{
    static char text[2 * LINES_LINE_MAX];
    Story story;
    char error[256];
    for (size_t len = LINES_LINE_MAX - 1; len <= LINES_LINE_MAX; len++) {
        int n = snprintf(text, sizeof text, "[a]\n  k=");
        memset(text + n, 'v', len - 2);
        (void)snprintf(text + n + len - 2, 3, " \n"); /* trimmed before it is measured */
        int r = parse_text(text, strlen(text), &story, error, sizeof error);
        assert_int_equal(r, len < LINES_LINE_MAX ? 0 : -EINVAL);
        if (r == 0)
            assert_int_equal(strlen(story.text), len + 3); /* a|k|vvv...; */
        else
            assert_string_equal(error, "dodo.conf:2: the line is too long: it may have 5119 bytes");
    }
}

TEST(key_text_parse__group_limit)
{
    char text[128];
    Story story;
    char error[256];
    for (int len = 63; len <= 64; len++) {
        (void)snprintf(text, sizeof text, "[%0*d]\nk=v\n", len, 1);
        assert_int_equal(parse_text(text, strlen(text), &story, error, sizeof error),
                         len == 63 ? 0 : -EINVAL);
    }
}
