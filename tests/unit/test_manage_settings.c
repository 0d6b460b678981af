/* SPDX-License-Identifier: MIT */
/* How large the region cache is. */
#include <stdlib.h>

#include "libmanage/settings.h"
#include "tests/lib/case.h"

#define MIB ((uint64_t)1 << 20)

static const ManagePreset none;

static uint64_t limited(ManageSettings s, uint64_t limit_bytes)
{
    manage_settings_limit(&s, limit_bytes);
    return s.cache_bytes;
}

/* One of its usual size would fill a small control group, and the kernel would kill the program. */
TEST(limit__of_the_control_group)
{
    const ManageSettings usual = {.cache_bytes = 64 * MIB, .readahead_bytes = UINT64_MAX};
    assert_int_equal(limited(usual, UINT64_MAX), 64 * MIB);
    assert_int_equal(limited(usual, 1024 * MIB), 64 * MIB);
    assert_int_equal(limited(usual, 256 * MIB), 64 * MIB);
    assert_int_equal(limited(usual, 40 * MIB), 10 * MIB);
    assert_int_equal(limited(usual, 0), 0);
}

TEST(limit__is_no_matter_where_the_size_was_chosen)
{
    const ManageSettings chosen = {
        .cache_bytes = 64 * MIB, .readahead_bytes = UINT64_MAX, .cache_given = true};
    assert_int_equal(limited(chosen, 40 * MIB), 64 * MIB);
}

TEST(limit__leaves_room_for_what_is_read_ahead)
{
    const ManageSettings ahead = {.cache_bytes = 64 * MIB, .readahead_bytes = 16 * MIB};
    assert_int_equal(limited(ahead, 40 * MIB), 16 * MIB);
    assert_int_equal(limited(ahead, 80 * MIB), 20 * MIB);
}

TEST(load__knows_what_was_chosen)
{
    ManageSettings s;
    char error[MANAGE_SETTINGS_ERROR_MAX];
    assert_int_equal(setenv("DODO_CACHE_SIZE", "48M", 1), 0);
    assert_int_equal(manage_settings_load(&s, &none, error), 0);
    assert_true(s.cache_given);
    assert_int_equal(s.cache_bytes, 48 * MIB);
    assert_int_equal(unsetenv("DODO_CACHE_SIZE"), 0);
    assert_int_equal(manage_settings_load(&s, &none, error), 0);
    assert_false(s.cache_given);
    assert_in_range(s.cache_bytes, 0, 64 * MIB);
}

static ManageSettings loaded(const ManagePreset *preset)
{
    ManageSettings s;
    char error[MANAGE_SETTINGS_ERROR_MAX];
    assert_int_equal(manage_settings_load(&s, preset, error), 0);
    return s;
}

/* The environment must fit to what the program has set, not to what that replaces. */
TEST(preset__goes_before_the_environment)
{
    const ManagePreset large = {.cache = true, .cache_bytes = 1024 * MIB};
    const ManagePreset small = {.cache = true, .cache_bytes = 1 * MIB};
    const ManagePreset ahead = {.readahead = true, .readahead_bytes = 2 * MIB};
    assert_int_equal(setenv("DODO_CACHE_SIZE", "48M", 1), 0);
    assert_int_equal(setenv("DODO_READAHEAD", "128M", 1), 0);
    assert_int_equal(loaded(&large).cache_bytes, 1024 * MIB);
    assert_int_equal(loaded(&large).readahead_bytes, 128 * MIB);
    assert_int_equal(loaded(&small).readahead_bytes, 1 * MIB);
    assert_int_equal(loaded(&ahead).cache_bytes, 48 * MIB);
    assert_int_equal(loaded(&ahead).readahead_bytes, 2 * MIB);
    assert_int_equal(unsetenv("DODO_READAHEAD"), 0);
    assert_int_equal(loaded(&large).readahead_bytes, UINT64_MAX);
    assert_int_equal(unsetenv("DODO_CACHE_SIZE"), 0);
}

int main(void)
{
    return cases_run(NULL, NULL);
}
