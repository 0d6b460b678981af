/* SPDX-License-Identifier: MIT */
/* The user's state directory, and the records of checksums in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libdodo/core.h"
#include "libdodo/kept.h"
#include "libdodo/state_dir.h"
#include "libdodo/state_file.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir tmp;
static const char *dir = tmp.path;

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&tmp);
    (void)setenv("XDG_STATE_HOME", dir, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&tmp);
    return 0;
}

static void assert_mode(const char *name, mode_t mode)
{
    char path[4096];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(state_dir__is_made_for_its_user_alone)
{
    char path[4096];
    CLEANUP_CLOSE int fd = state_dir_open(NULL);
    assert_true(fd >= 0);
    assert_mode("dodo", 0700);
    CLEANUP_CLOSE int part = state_dir_open("part");
    assert_true(part >= 0);
    assert_mode("dodo/part", 0700);
    (void)snprintf(path, sizeof path, "%s/deep/er", dir);
    (void)setenv("XDG_STATE_HOME", path, 1);
    CLEANUP_CLOSE int deep = state_dir_open(NULL);
    assert_true(deep >= 0);
    assert_mode("deep/er/dodo", 0700);
}

CASE(state_dir__without_xdg_lies_in_the_home)
{
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    (void)unsetenv("XDG_STATE_HOME");
    (void)setenv("HOME", dir, 1);
    CLEANUP_CLOSE int fd = state_dir_open(NULL);
    assert_true(fd >= 0);
    assert_mode(".local/state/dodo", 0700);
    (void)unsetenv("HOME");
    assert_int_equal(state_dir_open(NULL), -ENOENT);
    (void)setenv("HOME", home, 1);
    free(home);
}

CASE(state_dir__makes_no_home)
{
    char path[4096], *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    (void)unsetenv("XDG_STATE_HOME");
    (void)snprintf(path, sizeof path, "%s/none/such", dir);
    (void)setenv("HOME", path, 1);
    assert_int_equal(state_dir_open(NULL), -EACCES);
    (void)snprintf(path, sizeof path, "%s/none", dir);
    assert_int_equal(access(path, F_OK), -1);
    (void)setenv("HOME", path, 1);
    assert_int_equal(state_dir_open(NULL), -EACCES);
    assert_int_equal(access(path, F_OK), -1);
    (void)setenv("HOME", home, 1);
    free(home);
}

/* It is not the home that is missing. */
CASE(state_dir__where_none_can_be_made)
{
    char path[4096];
    (void)setenv("XDG_STATE_HOME", "/proc/none/at/all", 1);
    assert_int_equal(state_dir_open(NULL), -EACCES);
    (void)setenv("XDG_STATE_HOME", "/proc", 1);
    assert_int_equal(state_dir_open(NULL), -EACCES);
    (void)snprintf(path, sizeof path, "%s/file", dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)setenv("XDG_STATE_HOME", path, 1);
    assert_int_equal(state_dir_open(NULL), -ENOTDIR);
}

CASE(state_dir__of_others_is_refused)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/dodo", dir);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(state_dir_open(NULL), -EPERM);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_true(state_dir_open(NULL) < 0);
    assert_int_equal(unlink(path), 0);
    if (geteuid() == 0) {
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(state_dir_open(NULL), -EPERM);
    }
}

/* ---- records -------------------------------------------------------------------------------- */

enum { SUMS = 3, RECORD_BYTES = sizeof(CheckRecord) + SUMS * sizeof(uint32_t) };

typedef union Record {
    CheckRecord head;
    uint8_t bytes[RECORD_BYTES];
} Record;

static Record record_of(uint8_t key, uint64_t offset)
{
    const uint32_t sums[SUMS] = {1, 2, key};
    Record r = {.head = {.name = {.key = {{key}}, .offset = offset, .len = 12288}, .seed = key}};
    memcpy(r.bytes + sizeof(CheckRecord), sums, sizeof sums);
    return r;
}

static ssize_t load(Record *r, uint8_t key, uint64_t offset)
{
    memset(r, 0, sizeof *r);
    r->head.name = record_of(key, offset).head.name;
    return kept_load(r, RECORD_BYTES);
}

/* Of before the start of the host. */
static void make_old(int fd)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    CLEANUP_CLOSE int file = openat(fd, "old", O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    assert_int_equal(futimens(file, long_ago), 0);
}

/* Before any other that saves: it is done once a process. */
CASE(kept__the_first_one_sweeps)
{
    Record one = record_of(1, 0);
    CLEANUP_CLOSE int fd = state_dir_open("checks");
    make_old(fd);
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    assert_int_equal(faccessat(fd, "old", F_OK, 0), -1);
    make_old(fd);
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    assert_int_equal(faccessat(fd, "old", F_OK, 0), 0);
}

CASE(kept__is_found_by_its_name)
{
    Record one = record_of(1, 0), other = record_of(1, 4096), got;
    assert_int_equal(load(&got, 1, 0), 0);
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    assert_int_equal(kept_save(&other, RECORD_BYTES), 0);
    assert_int_equal(load(&got, 1, 0), RECORD_BYTES);
    assert_memory_equal(&got, &one, RECORD_BYTES);
    assert_int_equal(load(&got, 1, 4096), RECORD_BYTES);
    assert_memory_equal(&got, &other, RECORD_BYTES);
    assert_int_equal(load(&got, 2, 0), 0);
    one.head.seed = 77; /* a later one takes its place */
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    assert_int_equal(load(&got, 1, 0), RECORD_BYTES);
    assert_int_equal(got.head.seed, 77);
    assert_int_equal(kept_load(&got, RECORD_BYTES - 1), 0); /* no room for it */
}

CASE(kept__of_before_the_hosts_start_goes)
{
    Record one = record_of(1, 0), got;
    CLEANUP_CLOSE int fd = state_dir_open("checks");
    make_old(fd);
    kept_sweep();
    assert_int_equal(faccessat(fd, "old", F_OK, 0), -1);
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    kept_sweep();
    assert_int_equal(load(&got, 1, 0), RECORD_BYTES);
}

/* Something else has the name: no half of a record stays behind. */
CASE(kept__what_cannot_get_its_name_goes)
{
    Record one = record_of(1, 0);
    unsigned left = 0;
    assert_int_equal(kept_save(&one, RECORD_BYTES), 0);
    int fd = state_dir_open("checks");
    DIR *d = fdopendir(fd);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            assert_int_equal(unlinkat(fd, e->d_name, 0), 0);
            assert_int_equal(mkdirat(fd, e->d_name, 0700), 0);
            assert_int_equal(kept_save(&one, RECORD_BYTES), -1);
            assert_int_equal(unlinkat(fd, e->d_name, AT_REMOVEDIR), 0);
            break;
        }
    rewinddir(d);
    for (const struct dirent *e; (e = readdir(d));)
        left += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    assert_int_equal(left, 0);
    (void)closedir(d);
}

CASE(kept__without_a_directory_nothing_is_kept)
{
    Record one = record_of(1, 0), got;
    (void)setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
    assert_int_equal(kept_save(&one, RECORD_BYTES), -1);
    assert_int_equal(load(&got, 1, 0), 0);
}

/* A program that may not make a file as long as the record is not killed for it. */
CASE(kept__is_no_longer_than_files_may_be)
{
    Record one = record_of(1, 0), got;
    struct rlimit all, few;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    few = all;
    few.rlim_cur = RECORD_BYTES - 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    ssize_t saved = kept_save(&one, RECORD_BYTES);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(saved, -1);
    assert_int_equal(load(&got, 1, 0), 0);
}

/* Nobody waits for who writes to it. */
CASE(state_file__that_is_a_pipe_is_none)
{
    char byte;
    CLEANUP_CLOSE int part = state_dir_open("runs");
    assert_int_equal(mkfifoat(part, "pipe", 0600), 0);
    assert_int_equal(state_file_load(part, "pipe", &byte, sizeof byte), 0);
}
