/* SPDX-License-Identifier: MIT */
/* What processes add to the load, read from a /proc of our own making. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/time.h"
#include "rmd/shares.h"
#include "tests/lib/case.h"

static char *proc;

static void put(const char *path, const char *text)
{
    g_autofree char *file = g_build_filename(proc, path, NULL);
    g_autofree char *dir = g_path_get_dirname(file);
    assert_int_equal(g_mkdir_with_parents(dir, 0755), 0);
    assert_true(g_file_set_contents(file, text, -1, NULL));
}

static void put_process(int pid, const char *name, int parent, const char *schedstat)
{
    g_autofree char *stat = g_strdup_printf("%d/stat", pid);
    g_autofree char *text = g_strdup_printf("%d (%s) S %d 1 1 0 -1", pid, name, parent);
    g_autofree char *task = g_strdup_printf("%d/task/%d/schedstat", pid, pid);
    put(stat, text);
    put(task, schedstat);
}

static void remove_all(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *below = g_build_filename(path, name, NULL);
        remove_all(below);
    }
    (void)g_remove(path);
}

static int set_up(void **state)
{
    proc = g_dir_make_tmp("dodo-proc-XXXXXX", NULL);
    return proc ? 0 : -1;
}

static int tear_down(void **state)
{
    remove_all(proc);
    g_clear_pointer(&proc, g_free);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(all_tasks_count_running_and_waiting)
{
    uint64_t sum = 0;
    put_process(17, "imd", 1, "1000 200 5\n");
    put("17/task/18/schedstat", "30 4 1\n");
    put("17/task/19/schedstat", "nonsense");
    assert_int_equal(shares_of_process(proc, 17, &sum), 0);
    assert_int_equal(sum, 1234);
    assert_int_equal(shares_of_process(proc, 99, &sum), -ENOENT);
}

CASE(by_name_with_those_they_started)
{
    char lock[] = "xlock", longer[] = "a-name-of-more-than-fifteen";
    char *names[] = {lock, longer, NULL};
    ShareSet set = {0};
    put_process(9, "sh", 8, "100000 0 1\n"); /* a child's child, found before its parent */
    put_process(5, "xlock", 1, "1 0 1\n");
    put_process(6, "xlocker", 1, "1000000 0 1\n"); /* another program */
    put_process(8, "hack) S 1 (", 5, "20 0 1\n");  /* a name that tries */
    put_process(7, "a-name-of-more-", 1, "300 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 0);
    put_process(9, "sh", 8, "200000 0 1\n");
    put_process(5, "xlock", 1, "2 0 1\n");
    put_process(6, "xlocker", 1, "2000000 0 1\n");
    put_process(8, "hack) S 1 (", 5, "20 20 1\n");
    put_process(7, "a-name-of-more-", 1, "600 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 2 * NS_PER_S), 100321);
    put_process(10, "xlock", 1, "4000 0 1\n"); /* is found at the next search */
    assert_int_equal(shares_of_names(proc, names, &set, 3 * NS_PER_S), 100321);
    assert_int_equal(shares_of_names(proc, names, &set, 20 * NS_PER_S), 100321);
    put_process(10, "xlock", 1, "4000 7 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 21 * NS_PER_S), 100328);
    char *nobody[] = {NULL};
    assert_int_equal(shares_of_names(proc, nobody, &set, 40 * NS_PER_S), 0);
    assert_int_equal(shares_of_names(proc, NULL, &set, 40 * NS_PER_S), 0);
}

/* Else a program that has run for hours, and takes the name of a screen saver, would hide the load
 * of all others. */
CASE(what_ran_before_it_had_the_name_does_not_count)
{
    char lock[] = "xlock";
    char *names[] = {lock, NULL};
    ShareSet set = {0};
    put_process(5, "xlock", 1, "1000 0 1\n");
    put_process(6, "job", 1, "36000000000000 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 0);
    put_process(5, "xlock", 1, "1010 0 1\n");
    put_process(6, "xlock", 1, "36000000000000 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 20 * NS_PER_S), 10);
    put_process(6, "xlock", 1, "36000000000002 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 21 * NS_PER_S), 12);
    put_process(6, "job", 1, "37000000000000 0 1\n"); /* and so on */
    (void)shares_of_names(proc, names, &set, 40 * NS_PER_S);
    put_process(6, "xlock", 1, "38000000000000 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 60 * NS_PER_S), 12);
}

/* As when no descriptor is left. What it ran meanwhile is not known to be of the last second. */
CASE(what_cannot_be_read_for_a_while_is_counted_anew)
{
    char lock[] = "xlock";
    char *names[] = {lock, NULL};
    ShareSet set = {0};
    uint64_t sum;
    put_process(5, "xlock", 1, "1000 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 0);
    put_process(5, "xlock", 1, "1001 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 2 * NS_PER_S), 1);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int res = shares_of_process(proc, 5, &sum);
    const uint64_t blind = shares_of_names(proc, names, &set, 3 * NS_PER_S);
    const uint64_t search = shares_of_names(proc, names, &set, 30 * NS_PER_S);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(res, -EMFILE);
    assert_int_equal(blind, 1);
    assert_int_equal(search, 1);
    put_process(5, "xlock", 1, "5000 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 50 * NS_PER_S), 1);
    put_process(5, "xlock", 1, "5001 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 51 * NS_PER_S), 2);
}

static void put_savers(int count, const char *schedstat)
{
    for (int pid = 1; pid <= count; pid++)
        put_process(pid, "saver", 0, schedstat);
}

CASE(no_more_than_there_is_room_for)
{
    char saver[] = "saver";
    char *names[] = {saver, NULL};
    ShareSet set = {0};
    put_savers(SHARES_PROCESSES_MAX + 5, "1 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 0);
    put_savers(SHARES_PROCESSES_MAX + 5, "2 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, 2 * NS_PER_S), SHARES_PROCESSES_MAX);
}

static void put_tasks(int pid, const char *schedstat)
{
    put_process(pid, "saver", 0, schedstat);
    for (int task = 10; task < 10 + SHARES_TASKS_MAX - 1; task++) {
        g_autofree char *path = g_strdup_printf("%d/task/%d/schedstat", pid, task);
        put(path, schedstat);
    }
}

/* Which of a process's tasks there is time for may be others the next time: it counts as a whole,
 * or not. */
CASE(no_more_tasks_than_a_look_has_time_for)
{
    char saver[] = "saver";
    char *names[] = {saver, NULL};
    ShareSet set = {0};
    uint64_t sum;
    for (int pid = 1; pid <= 2; pid++)
        put_tasks(pid, "1 0 1\n");
    assert_int_equal(shares_of_process(proc, 1, &sum), 0);
    assert_int_equal(sum, SHARES_TASKS_MAX);
    put("2/task/9/schedstat", "1 0 1\n");
    assert_int_equal(shares_of_process(proc, 2, &sum), -E2BIG);
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 0);
    for (int pid = 1; pid <= 2; pid++)
        put_tasks(pid, "2 0 1\n");
    const uint64_t got = shares_of_names(proc, names, &set, 2 * NS_PER_S);
    assert_true(got == 0 || got == SHARES_TASKS_MAX); /* which of them is the first */
}
