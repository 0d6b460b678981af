/* SPDX-License-Identifier: MIT */
#include "adapters/run/preload.h"

#include <stdlib.h>

#include "adapters/mount/cache.h"
#include "tests/lib/case.h"

#define OURS "/lib/dodo/libdodo-preload.so"

static const MountOptions plain = {.min_bytes = 1 << 20, .cache_bytes = CACHE_AS_CONFIGURED};
static char error[200];
static char db[] = "*.db", spaced[] = "a b", any[] = "*", broken[] = "a\nb";
static char data[] = "/data", more[] = "/more", report[] = "/proc/9/fd/9", here[] = "/";

static int set_up(void **state)
{
    static const char *const names[] = {
        "LD_PRELOAD",         "DODO_CACHE_SIZE",     "DODO_PRELOAD_DIRS",
        "DODO_PRELOAD_ONLY",  "DODO_PRELOAD_NEVER",  "DODO_PRELOAD_MIN_SIZE",
        "DODO_PRELOAD_LOCAL", "DODO_PRELOAD_REPORT", "DODO_PRELOAD_REPORT_FILE"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unsetenv(names[i]) < 0)
            return -1;
    return 0;
}

static void assert_set(const char *name, const char *value)
{
    const char *is = getenv(name);
    if (value) {
        assert_non_null(is);
        assert_string_equal(is, value);
    } else {
        assert_null(is);
    }
}

TEST_WITH(set__as_little_as_can_be, set_up, NULL)
{
    assert_true(preload_set(OURS, &plain, NULL, error, sizeof error));
    assert_set("LD_PRELOAD", OURS);
    assert_set("DODO_PRELOAD_MIN_SIZE", "1048576");
    assert_set("DODO_PRELOAD_DIRS", NULL);
    assert_set("DODO_PRELOAD_ONLY", NULL);
    assert_set("DODO_PRELOAD_NEVER", NULL);
    assert_set("DODO_PRELOAD_LOCAL", NULL);
    assert_set("DODO_PRELOAD_REPORT", NULL);
    assert_set("DODO_CACHE_SIZE", NULL);
}

TEST_WITH(set__all_that_there_is, set_up, NULL)
{
    char *only[] = {db, spaced, NULL}, *never[] = {any, NULL}, *dirs[] = {data, more};
    GPtrArray array = {.pdata = (void **)dirs, .len = 2};
    MountOptions o = {.min_bytes = 1,
                      .only = only,
                      .never = never,
                      .local = true,
                      .cache_bytes = 0,
                      .report = report};
    assert_true(preload_set(OURS, &o, &array, error, sizeof error));
    assert_set("DODO_PRELOAD_MIN_SIZE", "1");
    assert_set("DODO_PRELOAD_DIRS", "/data\n/more");
    assert_set("DODO_PRELOAD_ONLY", "*.db\na b");
    assert_set("DODO_PRELOAD_NEVER", "*");
    assert_set("DODO_PRELOAD_LOCAL", "1");
    assert_set("DODO_PRELOAD_REPORT", "/proc/9/fd/9");
    assert_set("DODO_CACHE_SIZE", "0");
}

/* A program that is run below another one has its own settings, and none of that one's. */
TEST_WITH(set__once_more, set_up, NULL)
{
    char *only[] = {db, NULL};
    MountOptions o = plain;
    o.only = only;
    o.local = true;
    o.report = here;
    assert_true(preload_set(OURS, &o, NULL, error, sizeof error));
    assert_non_null(getenv("DODO_PRELOAD_REPORT_FILE"));
    assert_true(preload_set(OURS, &plain, NULL, error, sizeof error));
    assert_set("LD_PRELOAD", OURS);
    assert_set("DODO_PRELOAD_ONLY", NULL);
    assert_set("DODO_PRELOAD_LOCAL", NULL);
    assert_set("DODO_PRELOAD_REPORT", NULL);
    assert_set("DODO_PRELOAD_REPORT_FILE", NULL);
}

TEST_WITH(set__before_other_libraries, set_up, NULL)
{
    assert_int_equal(setenv("LD_PRELOAD", "libother.so libmore.so", 1), 0);
    assert_true(preload_set(OURS, &plain, NULL, error, sizeof error));
    assert_set("LD_PRELOAD", OURS ":libother.so libmore.so");
    assert_int_equal(setenv("LD_PRELOAD", OURS ".other", 1), 0);
    assert_true(preload_set(OURS, &plain, NULL, error, sizeof error));
    assert_set("LD_PRELOAD", OURS ":" OURS ".other");
}

TEST_WITH(set__what_no_variable_can_hold, set_up, NULL)
{
    char *pattern[] = {broken, NULL}, *dirs[] = {broken};
    GPtrArray array = {.pdata = (void **)dirs, .len = 1};
    MountOptions o = plain;
    assert_false(preload_set("/a b/" OURS, &plain, NULL, error, sizeof error));
    assert_false(preload_set("/a:b/" OURS, &plain, NULL, error, sizeof error));
    assert_non_null(strstr(error, "/a:b/"));
    assert_false(preload_set(OURS, &plain, &array, error, sizeof error));
    assert_non_null(strstr(error, "newline"));
    o.never = pattern;
    assert_false(preload_set(OURS, &o, NULL, error, sizeof error));
    assert_set("LD_PRELOAD", NULL);
}
