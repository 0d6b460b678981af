/* SPDX-License-Identifier: MIT */
/* What processes add to the load, read from a /proc of our own making. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
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
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), 100321);
    put_process(10, "xlock", 1, "4000 0 1\n"); /* is found at the next search */
    assert_int_equal(shares_of_names(proc, names, &set, 2 * NS_PER_S), 100321);
    assert_int_equal(shares_of_names(proc, names, &set, 20 * NS_PER_S), 104321);
    char *nobody[] = {NULL};
    assert_int_equal(shares_of_names(proc, nobody, &set, 40 * NS_PER_S), 0);
    assert_int_equal(shares_of_names(proc, NULL, &set, 40 * NS_PER_S), 0);
}

CASE(no_more_than_there_is_room_for)
{
    char saver[] = "saver";
    char *names[] = {saver, NULL};
    ShareSet set = {0};
    for (int pid = 1; pid <= SHARES_PROCESSES_MAX + 5; pid++)
        put_process(pid, "saver", 0, "1 0 1\n");
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), SHARES_PROCESSES_MAX);
}

CASE(no_more_tasks_than_a_look_has_time_for)
{
    char saver[] = "saver";
    char *names[] = {saver, NULL};
    ShareSet set = {0};
    uint64_t sum;
    for (int pid = 1; pid <= 2; pid++) {
        put_process(pid, "saver", 0, "1 0 1\n");
        for (int task = 10; task < 10 + SHARES_TASKS_MAX; task++) {
            g_autofree char *path = g_strdup_printf("%d/task/%d/schedstat", pid, task);
            put(path, "1 0 1\n");
        }
    }
    assert_int_equal(shares_of_process(proc, 1, &sum), 0);
    assert_int_equal(sum, SHARES_TASKS_MAX);
    assert_int_equal(shares_of_names(proc, names, &set, NS_PER_S), SHARES_TASKS_MAX);
}
