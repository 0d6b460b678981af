/* SPDX-License-Identifier: MIT */
/* Where processes of one user find each other's maps. */
#include "libdodo/share_dir.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir tmp;
static char in_memory[64];

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&tmp);
    (void)setenv("XDG_RUNTIME_DIR", tmp.path, 1);
    (void)setenv("XDG_STATE_HOME", tmp.path, 1);
    (void)snprintf(in_memory, sizeof in_memory, "/dev/shm/dodo-%u/shared", geteuid());
    return 0;
}

/* Those that other processes use stay. */
static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&tmp);
    (void)rmdir(in_memory);
    *strrchr(in_memory, '/') = '\0';
    (void)rmdir(in_memory);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* The directory that is given is @path. */
static void assert_opens(const char *path)
{
    struct stat is, wanted;
    CLEANUP_CLOSE int dir = share_dir_open();
    assert_true(dir >= 0);
    assert_int_equal(stat(path, &wanted), 0);
    assert_int_equal(fstat(dir, &is), 0);
    assert_true(is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino);
    assert_int_equal(is.st_mode & 0777, 0700);
}

static const char *in_tmp(const char *name)
{
    static char path[4200];
    (void)snprintf(path, sizeof path, "%s/%s", tmp.path, name);
    return path;
}

CASE(share_dir__is_made_in_the_runtime_directory)
{
    assert_opens(in_tmp("dodo/shared"));
    assert_opens(in_tmp("dodo/shared"));
}

/* As at the end of a session that a program outlives. */
CASE(share_dir__is_made_again_when_it_is_gone)
{
    assert_opens(in_tmp("dodo/shared"));
    assert_int_equal(rmdir(in_tmp("dodo/shared")), 0);
    assert_int_equal(rmdir(in_tmp("dodo")), 0);
    assert_opens(in_tmp("dodo/shared"));
}

CASE(share_dir__is_of_this_user_alone)
{
    if (access("/dev/shm", W_OK) != 0)
        skip();
    assert_opens(in_tmp("dodo/shared"));
    assert_int_equal(chmod(in_tmp("dodo/shared"), 0770), 0);
    assert_opens(in_memory);
    assert_int_equal(chmod(in_tmp("dodo/shared"), 0700), 0);
    assert_opens(in_memory); /* those who have come meanwhile are there */
}

CASE(share_dir__is_in_shared_memory_without_a_runtime_directory)
{
    if (access("/dev/shm", W_OK) != 0)
        skip();
    (void)setenv("XDG_RUNTIME_DIR", in_tmp("none"), 1);
    assert_opens(in_memory);
}

/* In a /dev/shm of its own; what it says with _exit(). It takes a privilege. */
static void other_shm(const char *options)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, options) != 0)
        _exit(77);
    (void)setenv("XDG_RUNTIME_DIR", in_tmp("none"), 1);
}

static void assert_child(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 77 << 8)
        skip();
    assert_int_equal(status, 0);
}

/* 0: that on disk is given. */
static int opens_on_disk(void)
{
    struct stat is, wanted;
    CLEANUP_CLOSE int dir = share_dir_open();
    return dir < 0 || fstat(dir, &is) != 0 || stat(in_tmp("dodo/shared"), &wanted) != 0 ||
           is.st_ino != wanted.st_ino;
}

/* Who has made this user's directory in a place for all first, gets nothing. */
CASE(share_dir__is_not_one_that_another_user_has_made)
{
    pid_t pid = fork();
    if (pid == 0) {
        other_shm("mode=1777");
        *strrchr(in_memory, '/') = '\0';
        if (mkdir(in_memory, 0777) != 0 || chown(in_memory, 65534, 65534) != 0)
            _exit(77);
        _exit(opens_on_disk());
    }
    assert_child(pid);
}

CASE(share_dir__is_on_disk_where_there_is_none_in_memory)
{
    pid_t pid = fork();
    if (pid == 0) {
        other_shm("ro");
        _exit(opens_on_disk());
    }
    assert_child(pid);
}
