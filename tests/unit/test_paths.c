/* SPDX-License-Identifier: MIT */
#include "adapters/paths.h"
#include "tests/lib/case.h"

TEST(paths__below)
{
    assert_string_equal(path_below("/a", "/a/b/c"), "b/c");
    assert_string_equal(path_below("/a/b", "/a/b/c"), "c");
    assert_string_equal(path_below("/", "/a/b"), "a/b");
}

TEST(paths__a_directory_is_below_itself)
{
    assert_string_equal(path_below("/a", "/a"), "");
    assert_string_equal(path_below("/", "/"), "");
}

TEST(paths__others_are_not)
{
    assert_null(path_below("/a", "/ab"));
    assert_null(path_below("/a", "/ab/c"));
    assert_null(path_below("/a/b", "/a"));
    assert_null(path_below("/a", "/"));
}
