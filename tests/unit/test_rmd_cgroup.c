/* SPDX-License-Identifier: MIT */
/* imd's control group, on files that stand for the kernel's. */
#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "rmd/cgroup.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir_case.h"

enum { TEXT_BYTES = 64 };

/* A file of the group that will be made. */
static const char *name(const char *file)
{
    static char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text, "imd-%d/%s", (int)getpid(), file);
    return text;
}

static void has(const char *file)
{
    tmpdir_text(&dir, name(file), "");
}

static const char *value(const char *file)
{
    static char text[TEXT_BYTES];
    char path[256];
    FILE *f = fopen(tmpdir_path(&dir, name(file), path), "re");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    /* The kernel takes each write by itself; a file keeps the longer one's rest. */
    return text;
}

#define CASE(name) TEST_WITH(name, dir_set_up, dir_tear_down)

CASE(limits_both_in_the_unified_hierarchy)
{
    Cgroup g;
    has("memory.max");
    has("cpu.max");
    has("cgroup.procs");
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 25), 0);
    assert_true(g.memory && g.cpu_percent == 25 && g.procs >= 0);
    assert_string_equal(value("memory.max"), "1048576");
    assert_string_equal(value("cpu.max"), "25000 100000");
    has("cpu.max");
    cgroup_hurry(&g, true);
    assert_string_equal(value("cpu.max"), "max 100000");
    has("cpu.max");
    cgroup_hurry(&g, true); /* once is enough */
    assert_string_equal(value("cpu.max"), "");
    cgroup_hurry(&g, false);
    assert_string_equal(value("cpu.max"), "25000 100000");
    cgroup_remove(&g);
}

CASE(limits_what_the_old_hierarchy_can)
{
    Cgroup g;
    has("cgroup.procs");
    has("memory.limit_in_bytes");
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 25), 0);
    assert_true(g.memory && g.cpu_percent == 0);
    assert_string_equal(value("memory.limit_in_bytes"), "1048576");
    cgroup_hurry(&g, true); /* nothing to lift */
    cgroup_remove(&g);
    tmpdir_delete(&dir, name("memory.limit_in_bytes"));
    has("cpu.cfs_quota_us");
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 25), 0);
    assert_true(!g.memory && g.cpu_percent == 25);
    assert_string_equal(value("cpu.cfs_quota_us"), "25000");
    has("cpu.cfs_quota_us");
    cgroup_hurry(&g, true);
    assert_string_equal(value("cpu.cfs_quota_us"), "-1");
    cgroup_remove(&g);
}

CASE(none_that_limits_nothing)
{
    Cgroup g;
    has("cgroup.procs");
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 25), -ENOENT);
    assert_true(g.path[0] == '\0' && g.procs == -1);
    assert_int_equal(cgroup_make(&g, "/nonexistent", 1 << 20, 0), -ENOENT);
    assert_true(g.path[0] == '\0' && g.procs == -1);
}

/* What fits of its path is the name of something else: that stays. */
CASE(none_with_too_long_a_name)
{
    Cgroup g;
    char parent[PATH_MAX];
    size_t len = strlen(dir.path);
    memset(parent, '/', sizeof parent);
    memcpy(parent + sizeof parent - 1 - len, dir.path, len + 1);
    assert_int_equal(cgroup_make(&g, parent, 1 << 20, 0), -ENAMETOOLONG);
    cgroup_remove(&g);
    assert_int_equal(access(dir.path, F_OK), 0);
}

CASE(tells_of_a_process_that_it_cannot_have)
{
    Cgroup g;
    char path[256];
    has("memory.max");
    assert_int_equal(symlink("/dev/full", tmpdir_path(&dir, name("cgroup.procs"), path)), 0);
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 0), 0);
    assert_int_equal(cgroup_join(&g, getpid()), -ENOSPC);
    cgroup_remove(&g);
    assert_int_equal(cgroup_join(&g, getpid()), 0); /* none, nothing to join */
}

CASE(joins)
{
    Cgroup g;
    char pid[TEXT_BYTES];
    has("memory.max");
    has("cgroup.procs");
    assert_int_equal(cgroup_make(&g, dir.path, 1 << 20, 0), 0);
    assert_int_equal(cgroup_join(&g, getpid()), 0);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    assert_string_equal(value("cgroup.procs"), pid);
    cgroup_remove(&g);
}

/* ---- a group that has been delegated to us --------------------------------------------------- */

/* The processes that are in it; 0: none. */
static long members[3];

static bool is_inhabited(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i])
            return true;
    return false;
}

static void write_members(void)
{
    char text[TEXT_BYTES] = "";
    for (unsigned i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i])
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%ld\n", members[i]);
    tmpdir_text(&dir, "cgroup.procs", text);
}

/* Does as the kernel: no controllers for those below while processes are in the group. */
ssize_t write(int fd, const void *buf, size_t len)
{
    char link[64], path[PATH_MAX] = "", text[TEXT_BYTES] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)!readlink(link, path, sizeof path - 1);
    if (g_str_has_suffix(path, "/cgroup.subtree_control") && is_inhabited()) {
        errno = EBUSY;
        return -1;
    }
    if (g_str_has_suffix(path, "/rmd/cgroup.procs")) {
        memcpy(text, buf, len < sizeof text ? len : sizeof text - 1);
        for (unsigned i = 0; i < ARRAY_SIZE(members); i++)
            if (members[i] == (atol(text) ? atol(text) : getpid()))
                members[i] = 0;
    }
    return syscall(SYS_write, fd, buf, len);
}

static pid_t start_helper(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    assert_true(pid > 0);
    return pid;
}

/* rmd has processes that watch for it, and stays the only service in its group. */
CASE(steps_aside_with_its_helpers)
{
    const pid_t helper = start_helper();
    tmpdir_text(&dir, "cgroup.subtree_control", "");
    tmpdir_text(&dir, "rmd/cgroup.procs", "");
    members[0] = helper;
    members[1] = getpid();
    write_members();
    const int res = cgroup_enable(dir.path, "memory");
    members[0] = helper;
    members[1] = getpid();
    members[2] = 1; /* somebody else's stays where it is */
    write_members();
    const int other = cgroup_enable(dir.path, "memory");
    const bool stays = members[2] == 1;
    members[2] = 0;
    (void)kill(helper, SIGKILL);
    (void)waitpid(helper, NULL, 0);
    assert_int_equal(res, 0);
    assert_int_equal(other, -EBUSY);
    assert_true(stays);
}
