/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include "adapters/run/targets.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

enum { LARGE = 1000 };

static TmpDir dir;
static char before[200];

static void make_file(const char *name, size_t size)
{
    char path[200], byte = 'x';
    (void)snprintf(path, sizeof path, "%s/%s", dir.path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)size - 1), 1);
    (void)close(fd);
}

static void make_dir(const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", dir.path, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* one/large, one/small, one/below/large, two/large; the working directory is the one of all. */
static int set_up(void **state)
{
    tmpdir_make(&dir);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir.path), 0);
    make_dir("one");
    make_dir("two");
    make_dir("one/below");
    make_file("one/large", LARGE);
    make_file("one/small", LARGE - 1);
    make_file("one/below/large", LARGE);
    make_file("two/large", LARGE);
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(chdir(before), 0);
    tmpdir_remove(&dir);
    return 0;
}

/* Chosen for @given (NULL: nothing) and @arguments are these directories below ours, NULL at the
 * end;
 * "" is ours itself. */
static void assert_chosen(char **given, char **arguments, ...)
{
    char error[200] = "", path[300];
    va_list wanted;
    guint i = 0;
    GPtrArray *found = targets_choose(given, arguments, LARGE, error, sizeof error);
    assert_non_null(found);
    va_start(wanted, arguments);
    for (const char *name; (name = va_arg(wanted, const char *)); i++) {
        (void)snprintf(path, sizeof path, "%s%s%s", dir.path, *name ? "/" : "", name);
        assert_true(i < found->len);
        assert_string_equal(found->pdata[i], path);
    }
    va_end(wanted);
    assert_int_equal(found->len, i);
    g_ptr_array_unref(found);
}

static char one_large[] = "one/large", one_small[] = "one/small", below_large[] = "one/below/large",
            two_large[] = "two/large", one[] = "one", two[] = "two", nothing[] = "nothing";

TEST_WITH(targets__those_of_large_files, set_up, tear_down)
{
    char *arguments[] = {nothing, one_small, two_large, one_large, NULL};
    assert_chosen(NULL, arguments, "two", "one", NULL);
}

TEST_WITH(targets__directories_that_are_named, set_up, tear_down)
{
    char *arguments[] = {one, NULL};
    assert_chosen(NULL, arguments, "one", NULL);
}

TEST_WITH(targets__the_value_of_an_option, set_up, tear_down)
{
    char option[] = "--input=two/large", other[] = "-x", *arguments[] = {other, option, NULL};
    assert_chosen(NULL, arguments, "two", NULL);
}

TEST_WITH(targets__none_inside_another, set_up, tear_down)
{
    char *inner_first[] = {below_large, two_large, one_large, NULL};
    char *outer_first[] = {one_large, two_large, below_large, NULL};
    assert_chosen(NULL, inner_first, "two", "one", NULL);
    assert_chosen(NULL, outer_first, "one", "two", NULL);
}

TEST_WITH(targets__or_else_the_working_directory, set_up, tear_down)
{
    char *arguments[] = {nothing, one_small, NULL}, *none[] = {NULL};
    assert_chosen(NULL, arguments, "", NULL);
    assert_chosen(NULL, none, "", NULL);
}

TEST_WITH(targets__those_given_and_no_others, set_up, tear_down)
{
    char *given[] = {two, NULL}, *arguments[] = {one_large, NULL};
    assert_chosen(given, arguments, "two", NULL);
}

TEST_WITH(targets__given_wrongly, set_up, tear_down)
{
    char root[] = "/", proc[] = "/proc/self", *none[] = {NULL};
    char *const bad[] = {nothing, one_large, root, proc};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char error[200] = "", *given[] = {bad[i], NULL};
        assert_null(targets_choose(given, none, LARGE, error, sizeof error));
        assert_non_null(strstr(error, bad[i]));
    }
}

/* They name no program's data, but the system's. */
TEST_WITH(targets__the_system_is_left_alone, set_up, tear_down)
{
    char root[] = "/", proc[] = "/proc", *arguments[] = {root, proc, two_large, NULL};
    assert_chosen(NULL, arguments, "two", NULL);
}
