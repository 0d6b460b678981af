/* SPDX-License-Identifier: MIT */
/* Recorded runs from one process to the next: files in the state directory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libdodo/state_dir.h"
#include "libmanage/records.h"
#include "tests/lib/tmpdir_case.h"

#define CASE(name) TEST_WITH(name, state_set_up, dir_tear_down)

static const CacheRange ranges[] = {{1, 2}, {7, 1}, {3, 4}};
static const CacheFileId file = {.device = 0xfd01, .inode = 4711};

static void save(CacheFileId id, size_t count)
{
    record_save(&(CacheRecord){.file = id, .ranges = ranges, .count = count});
}

/* What is loaded has @count ranges; 0: there is nothing. */
static void assert_loaded(CacheFileId id, size_t count)
{
    CacheRange *got = NULL;
    size_t got_count = 0;
    assert_int_equal(record_load(id, &got, &got_count), count > 0);
    assert_int_equal(got_count, count);
    if (count > 0)
        assert_memory_equal(got, ranges, count * sizeof *ranges);
    free(got);
}

CASE(record__is_found_again)
{
    CacheFileId other = {.device = 0xfd01, .inode = 4712};
    assert_loaded(file, 0);
    save(file, 3);
    assert_loaded(file, 3);
    assert_loaded(other, 0);
    save(file, 1); /* it takes the place of the one before */
    save(other, 2);
    assert_loaded(file, 1);
    assert_loaded(other, 2);
}

CASE(record__that_is_no_such_file_is_none)
{
    save(file, 3);
    CLEANUP_CLOSE int runs = state_dir_open("runs");
    assert_true(runs >= 0);
    assert_int_equal(renameat(runs, "fd01-1267", runs, "fd01-1268"), 0); /* of another inode */
    assert_loaded((CacheFileId){.device = 0xfd01, .inode = 4712}, 0);
    assert_int_equal(renameat(runs, "fd01-1268", runs, "fd01-1267"), 0);
    assert_loaded(file, 3);
    CLEANUP_CLOSE int fd = openat(runs, "fd01-1267", O_WRONLY);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t len = st.st_size - 1; len >= 0; len--) {
        assert_int_equal(ftruncate(fd, len), 0);
        assert_loaded(file, 0);
    }
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0); /* longer than any */
    assert_loaded(file, 0);
}

CASE(record__of_one_more_than_there_may_be)
{
    CLEANUP_CLOSE int runs = state_dir_open("runs");
    char name[32];
    assert_true(runs >= 0);
    save(file, 1);
    for (unsigned i = 1; i < RECORDS_MAX; i++) {
        (void)snprintf(name, sizeof name, "0-%x", i);
        CLEANUP_CLOSE int fd = openat(runs, name, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
    }
    CacheFileId more = {.device = 1, .inode = 1};
    save(more, 2);
    assert_loaded(more, 0);
    save(file, 3); /* which is there */
    assert_loaded(file, 3);
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(runs, name, long_ago, 0), 0); /* nobody has renewed it */
    save(more, 2);
    assert_loaded(more, 2);
    assert_int_equal(faccessat(runs, name, F_OK, 0), -1);
}
