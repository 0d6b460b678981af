/* SPDX-License-Identifier: MIT */
#include "base/hidden.h"

#include "tests/lib/case.h"

#define QUARTER "0123456789abcDEF"
#define KEY QUARTER QUARTER QUARTER QUARTER

TEST(hidden__is_what_looks_like_a_key)
{
    assert_true(hidden_is(KEY));
    assert_true(hidden_is("\"" KEY "\""));
    assert_true(hidden_is(KEY "\n" KEY));
    assert_true(hidden_is("key " KEY "."));
    assert_true(hidden_is(QUARTER QUARTER QUARTER)); /* some of it is missing */
}

TEST(hidden__is_no_name_of_a_file)
{
    assert_false(hidden_is(""));
    assert_false(hidden_is("key"));
    assert_false(hidden_is("d41d8cd98f00b204e9800998ecf8427e.key"));
    assert_false(hidden_is("/run/" KEY "/key"));
    assert_false(hidden_is("./" KEY));
    assert_false(hidden_is(QUARTER QUARTER "0123456789abcde"
                                           "-" QUARTER));
}

TEST(hidden__copy_leaves_it_out)
{
    char buf[64];
    assert_string_equal(hidden_copy("DODO_KEY=" KEY, buf, sizeof buf), "DODO_KEY=(hidden)");
    assert_string_equal(hidden_copy("--key \"" KEY "\nx", buf, sizeof buf), "--key \"(hidden)\nx");
    assert_string_equal(hidden_copy("beat=5Q", buf, sizeof buf), "beat=5Q");
    assert_string_equal(hidden_copy("", buf, sizeof buf), "");
    char small[16];
    assert_string_equal(hidden_copy("DODO_KEY=" KEY, small, sizeof small), "DODO_KEY=");
    assert_string_equal(hidden_copy("--log-level louder", small, sizeof small), "--log-level lou");
}
