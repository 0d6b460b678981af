/* SPDX-License-Identifier: MIT */
/* Which files are cached in a program that nobody changed. */
#include <stdlib.h>

#include "adapters/preload/settings.h"
#include "tests/lib/case.h"

static bool chosen(PreloadSettings s, const char *path)
{
    return settings_choose(&s, path);
}

TEST(settings__are_in_the_environment)
{
    PreloadSettings s;
    assert_int_equal(unsetenv("DODO_PRELOAD_MIN_SIZE"), 0);
    settings_read(&s);
    assert_int_equal(s.min_bytes, 16 << 20);
    assert_null(s.only);
    assert_false(s.local);
    assert_int_equal(setenv("DODO_PRELOAD_MIN_SIZE", "4096", 1), 0);
    assert_int_equal(setenv("DODO_PRELOAD_LOCAL", "1", 1), 0);
    assert_int_equal(setenv("DODO_PRELOAD_ONLY", "*.db", 1), 0);
    assert_int_equal(setenv("DODO_PRELOAD_REPORT", "", 1), 0); /* as if it were not there */
    settings_read(&s);
    assert_int_equal(s.min_bytes, 4096);
    assert_string_equal(s.only, "*.db");
    assert_null(s.report);
    assert_true(s.local);
}

TEST(patterns__are_for_the_path_or_its_end)
{
    assert_true(chosen((PreloadSettings){0}, "/data/a.db"));
    assert_true(chosen((PreloadSettings){.only = "*.db"}, "/data/x/a.db"));
    assert_true(chosen((PreloadSettings){.only = "x/a.*"}, "/data/x/a.db"));
    assert_true(chosen((PreloadSettings){.only = "/data/x/a.db"}, "/data/x/a.db"));
    assert_true(chosen((PreloadSettings){.only = "*.txt\n*.db"}, "/data/x/a.db"));
    assert_false(chosen((PreloadSettings){.only = "a"}, "/data/x/a.db"));
    assert_false(chosen((PreloadSettings){.never = "*.txt\n*.db"}, "/data/x/a.db"));
    assert_false(chosen((PreloadSettings){.only = "*.db", .never = "x/*"}, "/data/x/a.db"));
    assert_true(chosen((PreloadSettings){.only = "*.db", .never = "y/*"}, "/data/x/a.db"));
}

TEST(directories__say_where_paths_begin)
{
    PreloadSettings s = {.dirs = "/data/x\n/tmp"};
    assert_true(chosen(s, "/data/x/a.db"));
    assert_true(chosen(s, "/tmp/y/a.db"));
    assert_false(chosen(s, "/data/a.db"));
    assert_false(chosen(s, "/data/xy/a.db"));
    s.only = "a.db";
    assert_true(chosen(s, "/data/x/a.db"));
    assert_false(chosen(s, "/tmp/y/a.db"));
}
