/* SPDX-License-Identifier: MIT */
/* The files by which processes that share find each other. Each joining has a description of its
 * own, so two of one process are as two processes. */
#include "libdodo/share_map.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdodo/shared_map.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

enum { LEN = 1 << 20 };

static TmpDir tmp;

static void cluster_of(uint8_t key)
{
    static Settings s;
    memset(s.keys, key, sizeof s.keys);
    s.keys_count = 1;
    share_map_cluster(&s);
}

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&tmp);
    (void)setenv("XDG_RUNTIME_DIR", tmp.path, 1);
    cluster_of(1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&tmp);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

static unsigned entries(const char *path, char *ret_last, size_t cap)
{
    unsigned count = 0;
    const struct dirent *e;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while ((e = readdir(dir)))
        if (e->d_name[0] != '.') {
            count++;
            (void)snprintf(ret_last, cap, "%s/%s", path, e->d_name);
        }
    (void)closedir(dir);
    return count;
}

/* Their files, and the path of one of them. */
static unsigned maps(char *ret_path, size_t cap)
{
    char dir[4096];
    (void)snprintf(dir, sizeof dir, "%s/dodo/shared", tmp.path);
    return entries(dir, ret_path, cap);
}

static ShareAsk ask_of(uint8_t file)
{
    ShareAsk ask = {.name = {.name = {.len = LEN}, .stamp = {.size = LEN, .mtime_ns = 5}}};
    ask.name.name.key.bytes[0] = file;
    return ask;
}

static ShareAsk joined(uint8_t file)
{
    ShareAsk ask = ask_of(file);
    share_map_join(&ask);
    assert_non_null(ask.share);
    ask.share->opener = ask.opener;
    return ask;
}

CASE(share_map__one_is_the_opener_until_it_ends)
{
    char path[8192];
    ShareAsk first = joined(1), second = joined(1), other = joined(2);
    assert_true(first.opener && first.made && other.opener);
    assert_false(second.opener || second.made);
    assert_int_equal(first.share->map->present, 2);
    share_map_join(&second);
    assert_false(second.opener);
    share_map_end(first.share);
    share_map_join(&second);
    assert_true(second.opener);
    assert_false(second.made);
    ShareAsk third = joined(1);
    assert_false(third.opener);
    share_map_end(second.share);
    share_map_end(other.share);
    assert_int_equal(maps(path, sizeof path), 1);
    share_map_end(third.share);
    assert_int_equal(maps(path, sizeof path), 0);
}

CASE(share_map__another_cluster_is_apart)
{
    ShareAsk first = joined(1);
    cluster_of(2);
    ShareAsk second = joined(1);
    assert_true(second.opener && second.made);
    share_map_end(second.share);
    share_map_end(first.share);
}

/* ... and so is one in a network of its own, which may have a host of the same address. */
CASE(share_map__another_network_is_apart)
{
    ShareAsk first = joined(1);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNET) != 0)
            _exit(0); /* it takes a privilege */
        cluster_of(1);
        ShareAsk second = joined(1);
        _exit(second.opener && second.made ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    share_map_end(first.share);
}

/* A program may have few. */
CASE(share_map__holds_no_descriptor)
{
    char last[512];
    ShareAsk warm = joined(0), of[16];
    unsigned before = entries("/proc/self/fd", last, sizeof last);
    for (unsigned i = 0; i < 16; i++)
        of[i] = joined((uint8_t)(i / 2));
    assert_int_equal(entries("/proc/self/fd", last, sizeof last), before);
    for (unsigned i = 0; i < 16; i++)
        share_map_end(of[i].share);
    share_map_end(warm.share);
}

/* Nothing waits for ever where the files in use were removed. */
CASE(share_map__a_file_that_is_gone_ends_it)
{
    char path[8192];
    ShareAsk first = joined(1), second = joined(1);
    assert_int_equal(maps(path, sizeof path), 1);
    assert_int_equal(unlink(path), 0);
    share_map_join(&second);
    assert_false(second.opener);
    assert_int_equal(first.share->map->changed, 1);
    ShareAsk third = joined(1);
    assert_true(third.opener && third.made);
    share_map_end(first.share);
    share_map_end(second.share);
    assert_int_equal(maps(path, sizeof path), 1); /* not theirs */
    share_map_end(third.share);
    assert_int_equal(maps(path, sizeof path), 0);
}

/* It would kill those who have it mapped. */
CASE(share_map__what_others_have_mapped_is_not_cut)
{
    char path[8192];
    ShareAsk first = joined(1), second = joined(1), third = ask_of(1);
    share_map_end(first.share);
    assert_int_equal(maps(path, sizeof path), 1);
    assert_int_equal(truncate(path, 2 * LEN), 0);
    share_map_join(&third);
    assert_null(third.share);
    second.share->map->checks[LEN / 4096 - 1].sum = 7;
    share_map_end(second.share);
    ShareAsk fourth = joined(1);
    assert_true(fourth.made);
    assert_int_equal(fourth.share->map->checks[LEN / 4096 - 1].sum, 0);
    share_map_end(fourth.share);
}

/* ... and killed ones take nothing away from others. */
CASE(share_map__a_process_that_dies_leaves)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)joined(1);
        if (write(ready[1], "x", 1) == 1)
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    ShareAsk second = joined(1);
    assert_false(second.opener);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    share_map_join(&second);
    assert_true(second.opener);
    share_map_end(second.share);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void exits_in_a_child(void)
{
    struct timespec until;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        share_map_abandon_all();
        (void)joined(1);
        (void)joined(2);
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 60;
        share_map_exit(&until);
        ShareAsk late = ask_of(3);
        share_map_join(&late);
        _exit(late.share ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Nobody closes regions before each exit(): what nobody else has goes, and nothing comes then. */
CASE(share_map__a_process_that_exits_leaves_nothing)
{
    char path[8192];
    exits_in_a_child();
    assert_int_equal(maps(path, sizeof path), 0);
    ShareAsk ours = joined(1);
    exits_in_a_child();
    assert_int_equal(maps(path, sizeof path), 1);
    assert_true(ours.opener);
    assert_int_equal(atomic_load(&ours.share->map->present), 1);
    share_map_end(ours.share);
    assert_int_equal(maps(path, sizeof path), 0);
}

/* The child of a fork has none of it, however it was forked. */
CASE(share_map__a_child_holds_no_lock)
{
    int wait[2];
    ShareAsk first = joined(1);
    assert_int_equal(pipe(wait), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(wait[1]);
        _exit(read(wait[0], &byte, 1) == 0 ? 0 : 1);
    }
    share_map_end(first.share);
    ShareAsk second = joined(1);
    assert_true(second.opener && second.made);
    share_map_end(second.share);
    (void)close(wait[0]);
    (void)close(wait[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A program that may not make a file as long as the map is not killed for it. */
CASE(share_map__is_no_longer_than_files_may_be)
{
    char path[8192];
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit few = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
        (void)setrlimit(RLIMIT_FSIZE, &few);
        ShareAsk ask = ask_of(1);
        share_map_join(&ask);
        _exit(ask.share ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(maps(path, sizeof path), 0);
}

/* Memory for a map is taken before it is known whether any host has room for the region. */
CASE(share_map__of_a_very_long_region_is_none)
{
    char path[8192];
    ShareAsk ask = ask_of(1);
    ask.name.name.len = (uint64_t)1 << 40;
    share_map_join(&ask);
    assert_null(ask.share);
    assert_int_equal(maps(path, sizeof path), 0);
}

/* In a small control group the kernel would kill the program for the memory of many. */
CASE(share_map__of_a_process_have_a_limit)
{
    const uint64_t bytes = share_map_bytes(LEN);
    char path[8192];
    share_map_limit(2 * bytes + bytes / 2);
    ShareAsk first = joined(1), second = joined(2), third = ask_of(3);
    share_map_join(&third);
    assert_null(third.share);
    assert_int_equal(maps(path, sizeof path), 2);
    share_map_end(first.share);
    third = joined(3);
    share_map_end(second.share);
    share_map_end(third.share);
    share_map_limit(UINT64_MAX);
}

/* The user's session has its files there, too. */
CASE(share_map__leaves_room_for_others)
{
    char path[8192];
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", tmp.path, "tmpfs", 0, "size=64k,mode=700") != 0)
            _exit(0); /* it takes a privilege */
        ShareAsk small = ask_of(1), large = ask_of(2);
        large.name.name.len = 16 << 20; /* 32 KiB: half of what is free */
        share_map_join(&small);
        share_map_join(&large);
        _exit(!small.share || large.share || maps(path, sizeof path) != 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
