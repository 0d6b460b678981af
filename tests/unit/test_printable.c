/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "tests/lib/case.h"

static void assert_printed(const char *text, const char *want)
{
    char buf[64];
    (void)snprintf(buf, sizeof buf, "%s", text);
    assert_ptr_equal(printable(buf), buf);
    assert_string_equal(buf, want);
}

TEST(printable__leaves_text_alone)
{
    static const char *const texts[] = {
        "",         "a b~",         "caf\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\xc2\xa0", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_printed(texts[i], texts[i]);
}

TEST(printable__masks_what_steers_a_terminal)
{
    assert_printed("\x1b[31mred\x1b[0m", "?[31mred?[0m");
    assert_printed("a\nb\tc\rd\x7f"
                   "e\x01",
                   "a?b?c?d?e?");
    assert_printed("\xc2\x9b"
                   "31m",
                   "??31m"); /* in UTF-8, too */
}

/* Else the name of a file could be shown as another one. */
TEST(printable__masks_what_changes_the_order)
{
    assert_printed("a\xe2\x80\xae"
                   "gnp.exe",
                   "a???gnp.exe");
    assert_printed("\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa", "?????????");
    assert_printed("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xa8", "?????????");
    assert_printed("\xd8\x9c", "??");
    assert_printed("\xe2\x80\x8d", "\xe2\x80\x8d"); /* it joins letters */
    assert_printed("\xe2\x80\xaf\xe2\x81\xa5", "\xe2\x80\xaf\xe2\x81\xa5");
    assert_printed("\xd7\x90", "\xd7\x90"); /* a letter that is written to the left */
}

TEST(printable__masks_what_is_not_utf8)
{
    assert_printed("\xff\xfe", "??");
    assert_printed("\x9b"
                   "1m",
                   "?1m");
    assert_printed("caf\xe9 au", "caf? au"); /* Latin-1 */
    assert_printed("\xc3", "?");
    assert_printed("\xe2\x82", "??"); /* it ends too soon */
    assert_printed("\xe2\x82z", "??z");
    assert_printed("\xf0\x9f\x98", "???");
    assert_printed("\xc0\xaf", "??"); /* longer than need be */
    assert_printed("\xe0\x80\xaf", "???");
    assert_printed("\xf0\x80\x80\xaf", "????");
    assert_printed("\xed\xa0\x80", "???");      /* half of a pair */
    assert_printed("\xf4\x90\x80\x80", "????"); /* beyond the last one */
    assert_printed("\xf5\x80\x80\x80", "????");
}

static void assert_short(const char *text, size_t cap, const char *want)
{
    char buf[64];
    assert_ptr_equal(printable_short(text, buf, cap), buf);
    assert_string_equal(buf, want);
}

TEST(short__says_that_there_is_more)
{
    assert_short("abcdefg", 8, "abcdefg");
    assert_short("abcdefgh", 8, "abcd...");
    assert_short("abcdefgh", 4, "...");
    assert_short("a\x1b[31mbcdefgh", 8, "a?[3...");
    assert_short("", 4, "");
}

TEST(short__cuts_between_characters)
{
    assert_short("abc\xc3\xa9"
                 "efgh",
                 8, "abc...");
    assert_short("ab\xc3\xa9"
                 "efgh",
                 8, "ab\xc3\xa9...");
    assert_short("\x80\x80\x80\x80\x80\x80\x80\x80\x80", 8, "...");
}

static void assert_path(const char *path, size_t cap, const char *want)
{
    char buf[64];
    assert_ptr_equal(printable_path(path, buf, cap), buf);
    assert_string_equal(buf, want);
}

TEST(path__keeps_its_end)
{
    assert_path("/a/b.cf", 8, "/a/b.cf");
    assert_path("/a/bc.cf", 8, "...c.cf");
    assert_path("/a/bc.cf", 4, "...");
    assert_path("/a/b/c\xc3\xa9xyz", 8, "...xyz");
    assert_path("/a/b/\x1b[xyz", 8, "...[xyz");
    assert_path("", 4, "");
}
