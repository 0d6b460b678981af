/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmanage/backing.h"

enum { LEN = 4096, DESCRIPTORS = 64 };

static int file_make(char fill)
{
    char path[] = "/tmp/dodo-test-backing-XXXXXX", block[LEN];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && unlink(path) == 0);
    memset(block, fill, sizeof block);
    for (int i = 0; i < 4; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    return fd;
}

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static Backing *region(int fd, int number)
{
    Backing *b;
    assert_int_equal(backing_open(fd, (uint64_t)number * LEN, LEN, false, &b), 0);
    return b;
}

static void expect(Backing *b, char wanted)
{
    char buf[LEN];
    const struct iovec iov = {.iov_base = buf, .iov_len = sizeof buf};
    assert_int_equal(backing_read(b, &iov, 1, 0), sizeof buf);
    for (int i = 0; i < LEN; i++)
        assert_int_equal(buf[i], wanted);
}

static void put(Backing *b, char value)
{
    char buf[LEN];
    int error;
    memset(buf, value, sizeof buf);
    const struct iovec iov = {.iov_base = buf, .iov_len = sizeof buf};
    assert_int_equal(backing_write(b, &iov, 1, 0, &error), sizeof buf);
}

/* Each has its own to lock, write and sync by; one more reads for all, as the kernel reads ahead.
 */
static void regions_of_a_file__are_read_by_one_description(void **state)
{
    (void)state;
    int fd = file_make('a'), before = descriptors();
    Backing *b[3];
    for (int i = 0; i < 3; i++)
        b[i] = region(fd, i);
    assert_int_equal(descriptors(), before + 3 + 1);
    put(b[1], 'b');
    expect(b[0], 'a');
    expect(b[1], 'b');
    backing_close(b[0]);
    expect(b[1], 'b');
    b[0] = region(fd, 0); /* after a write: the file is another one by its stamp */
    expect(b[0], 'a');
    for (int i = 0; i < 3; i++)
        backing_close(b[i]);
    assert_int_equal(descriptors(), before);
    close(fd);
}

/* The descriptor that reads for @b: one that is open, but was not, and is not @b's own. */
static int reading_descriptor(const Backing *b, const bool *open_before)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++)
        if (!open_before[fd] && fd != backing_fd(b) && fcntl(fd, F_GETFD) >= 0)
            return fd;
    fail_msg("nothing reads but each region's own");
    return -1;
}

static void every_read__is_by_the_one_that_reads(void **state)
{
    (void)state;
    bool open_before[DESCRIPTORS];
    char buf[LEN];
    int fd = file_make('a'), other = file_make('o');
    for (int i = 0; i < DESCRIPTORS; i++)
        open_before[i] = fcntl(i, F_GETFD) >= 0;
    Backing *b = region(fd, 0);
    int reader = reading_descriptor(b, open_before);
    Backing *c = region(fd, 1);
    assert_int_equal(dup2(other, reader), reader); /* it is seen at once who reads by it */
    expect(b, 'o');
    expect(c, 'o');
    assert_int_equal(backing_pread(c, buf, sizeof buf, 0), sizeof buf);
    assert_int_equal(buf[0], 'o');
    assert_int_equal(backing_pread(b, buf, sizeof buf, 3 * LEN + 1), LEN - 1);
    backing_close(b);
    backing_close(c);
    close(fd);
    close(other);
}

static void regions_of_two_files__are_not_mixed_up(void **state)
{
    (void)state;
    int first = file_make('1'), second = file_make('2'), before = descriptors();
    Backing *a = region(first, 0), *b = region(second, 0), *c = region(first, 1);
    assert_int_equal(descriptors(), before + 3 + 2);
    expect(a, '1');
    expect(b, '2');
    expect(c, '1');
    backing_close(a);
    backing_close(c);
    close(first); /* its numbers may be another file's now */
    int third = file_make('3');
    Backing *d = region(third, 2);
    expect(d, '3');
    expect(b, '2');
    backing_close(b);
    backing_close(d);
    close(second);
    close(third);
}

static void a_range__is_open_once(void **state)
{
    (void)state;
    int fd = file_make('a'), before = descriptors();
    Backing *b = region(fd, 0), *other;
    assert_int_equal(backing_open(fd, 0, 1, true, &other), -EBUSY);
    assert_int_equal(backing_open(fd, LEN - 1, LEN, false, &other), -EBUSY);
    backing_close(b);
    assert_int_equal(descriptors(), before);
    close(fd);
}

/* A program that has given up its right to the file since it opened it: there is no description
 * but its own, whose errors of writing back its own fsync() may have been told. */
static void a_file_that_cannot_be_opened_anew__is_not_written(void **state)
{
    (void)state;
    int fd = file_make('a'), status;
    assert_int_equal(fchmod(fd, 0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        Backing *b;
        char buf[LEN];
        const struct iovec iov = {.iov_base = buf, .iov_len = sizeof buf};
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        if (backing_open(fd, 0, LEN, false, &b) != -EACCES)
            _exit(2);
        if (backing_open(fd, 0, LEN, true, &b) != 0 || backing_read(b, &iov, 1, 0) != LEN)
            _exit(3);
        backing_close(b);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_of_a_file__are_read_by_one_description),
        cmocka_unit_test(every_read__is_by_the_one_that_reads),
        cmocka_unit_test(regions_of_two_files__are_not_mixed_up),
        cmocka_unit_test(a_range__is_open_once),
        cmocka_unit_test(a_file_that_cannot_be_opened_anew__is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
