/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "libmanage/backing.h"
#include "tests/lib/case.h"
#include "tests/lib/posix_lock.h"

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

TEST(id__is_the_files)
{
    int fd = file_make('i');
    Backing *b = region(fd, 1);
    struct stat st;
    dev_t device = 0;
    ino_t inode = 0;
    assert_int_equal(fstat(fd, &st), 0);
    backing_id(b, &device, &inode);
    assert_true(device == st.st_dev && inode == st.st_ino);
    assert_int_equal(backing_offset(b), LEN);
    backing_close(b);
    (void)close(fd);
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
TEST(regions_of_a_file__are_read_by_one_description)
{
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

TEST(every_read__is_by_the_one_that_reads)
{
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

TEST(regions_of_two_files__are_not_mixed_up)
{
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

/* What could be read before an error is no whole read. Taken for one, it would be the file's end,
 * and the rest zeros. */
TEST(an_error_in_the_middle__is_no_end_of_the_file)
{
    int fd = file_make('a');
    Backing *b = region(fd, 0);
    char half[LEN / 2];
    void *nowhere = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(nowhere != MAP_FAILED);
    const struct iovec iov[] = {{half, sizeof half}, {nowhere, LEN / 2}};
    assert_int_equal(preadv(fd, iov, 2, 0), sizeof half); /* as the kernel has it */
    assert_int_equal(backing_read(b, iov, 2, 0), -EFAULT);
    assert_int_equal(munmap(nowhere, LEN), 0);
    backing_close(b);
    close(fd);
}

TEST(a_range__is_open_once)
{
    int fd = file_make('a'), before = descriptors();
    Backing *b = region(fd, 0), *other;
    assert_int_equal(backing_open(fd, 0, 1, true, &other), -EBUSY);
    assert_int_equal(backing_open(fd, LEN - 1, LEN, false, &other), -EBUSY);
    backing_close(b);
    assert_int_equal(descriptors(), before);
    close(fd);
}

TEST(locks_of_the_program__survive)
{
    int fd = file_make('a');
    Backing *other;
    posix_lock(fd, F_WRLCK);
    Backing *a = region(fd, 0), *b = region(fd, 1);
    assert_int_equal(backing_open(fd, 0, LEN, false, &other), -EBUSY);
    assert_true(posix_locked(fd));
    backing_close(b);
    assert_true(posix_locked(fd));
    backing_close(a);
    assert_true(posix_locked(fd));
    close(fd);
}

/* Runs where the file cannot be opened a second time; 0: all is well. */
static int with_the_programs_description(int fd)
{
    Backing *b, *other;
    if (fchmod(fd, 0) < 0 || (geteuid() == 0 && setuid(65534) < 0))
        return 1;
    if (backing_open(fd, 0, LEN, false, &b) != -EACCES)
        return 2;
    if (backing_open(fd, 0, LEN, true, &b) != 0 || backing_open(fd, 0, LEN, true, &other) != 0)
        return 3;
    backing_close(other);
    expect(b, 'a');
    backing_close(b);
    return 0;
}

/* fdatasync by the program's own description would take the error that is for csync, or for it. */
TEST(the_programs_description__is_for_readers)
{
    int fd = file_make('a'), status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(with_the_programs_description(fd));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
}

/* The file's first four pages were just written. Those of a hole are nowhere. */
TEST(the_kernel__tells_what_it_has)
{
    Backing *b;
    int fd = file_make('h');
    if (!backing_can_tell()) {
        print_message("the kernel cannot tell\n");
        skip();
    }
    assert_int_equal(ftruncate(fd, 256 * LEN), 0);
    assert_int_equal(backing_open(fd, 2 * LEN, 200 * LEN, false, &b), 0);
    assert_true(backing_held(b, 0, 2 * LEN));
    assert_true(backing_held(b, LEN + 7, 100));
    assert_false(backing_held(b, LEN, LEN + 1)); /* its last byte is in the hole */
    assert_false(backing_held(b, 100 * LEN, 1));
    assert_false(backing_held(b, 0, 0));
    backing_close(b);
    close(fd);
}

/* Of the region's range: what the kernel keeps elsewhere stays. A tmpfs drops nothing. */
TEST(advice__reaches_the_kernel)
{
    Backing *b;
    struct statfs fs;
    int fd = file_make('w');
    assert_int_equal(fstatfs(fd, &fs), 0);
    assert_int_equal(fdatasync(fd), 0);
    assert_int_equal(backing_open(fd, LEN, 2 * LEN, false, &b), 0);
    backing_advise(b, LEN, LEN, POSIX_FADV_DONTNEED);
    if (backing_can_tell() && fs.f_type != TMPFS_MAGIC) {
        assert_true(backing_held(b, 0, LEN));
        assert_false(backing_held(b, LEN, LEN));
    }
    backing_close(b);
    close(fd);
}

static uint64_t since_of(int fd)
{
    Backing *b;
    assert_int_equal(backing_open(fd, 0, LEN, true, &b), 0);
    uint64_t since_ns = backing_since_ns(b);
    backing_close(b);
    return since_ns;
}

/* A mapping whose pages are dirty already changes the file without moving its stamp. */
TEST(since__nothing_is_known_of_a_file_that_somebody_may_be_writing)
{
    int writer = file_make('w');
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", writer);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(since_of(fd), 0);
    void *map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
    assert_true(map != MAP_FAILED);
    (void)close(writer);
    assert_int_equal(since_of(fd), 0);
    assert_int_equal(munmap(map, LEN), 0);
    assert_int_not_equal(since_of(fd), 0);
    (void)close(fd);
}

/* Descriptions that the library keeps since it wrote are no writers. */
TEST(since__what_the_library_wrote_before_is_over)
{
    int fd = file_make('w');
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    backing_close(region(fd, 0));
    int reader = open(path, O_RDONLY);
    (void)close(fd);
    assert_int_not_equal(since_of(reader), 0);
    (void)close(reader);
}

static struct {
    int file[2], fd; /* @fd is the one or the other */
    atomic_bool over;
} turns;

static void *turns_main(void *arg)
{
    for (unsigned i = 0; !turns.over; i++)
        (void)dup2(turns.file[i % 2], turns.fd);
    return arg;
}

/* Another thread closes the descriptor meanwhile and opens another file: it is the one or the
 * other, and what reads is no other file than what writes. */
TEST(open__of_a_descriptor_that_becomes_another_files)
{
    enum { ROUNDS = 3000 };
    pthread_t thread;
    struct stat first;
    turns.file[0] = file_make('a');
    turns.file[1] = file_make('b');
    turns.fd = dup(turns.file[0]);
    assert_int_equal(fstat(turns.file[0], &first), 0);
    assert_int_equal(pthread_create(&thread, NULL, turns_main, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        dev_t device;
        ino_t inode;
        Backing *b;
        if (backing_open(turns.fd, 0, LEN, false, &b) < 0)
            continue; /* it was seen as two files, which is refused */
        backing_id(b, &device, &inode);
        expect(b, inode == first.st_ino ? 'a' : 'b');
        backing_close(b);
    }
    turns.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(turns.fd);
    (void)close(turns.file[0]);
    (void)close(turns.file[1]);
}

/* Reads a part of @b at @offset. */
static void read_part(const Backing *b, uint64_t offset, size_t len)
{
    struct iovec iov = {.iov_base = malloc(len), .iov_len = len};
    assert_non_null(iov.iov_base);
    assert_int_equal(backing_read(b, &iov, 1, offset), len);
    free(iov.iov_base);
}

/* What is asked for at once, the kernel does not take for the beginning of more. */
TEST(read__a_long_one_that_goes_on_asks_for_the_next)
{
    enum { LONG = 2 * OS_ASK_LONG, PARTS = 16 };
    char path[] = "/tmp/dodo-test-backing-XXXXXX";
    int fd = mkstemp(path);
    Backing *b;
    assert_true(fd >= 0 && unlink(path) == 0 && ftruncate(fd, PARTS * LONG) == 0);
    if (!os_file_held_known()) {
        (void)close(fd);
        return;
    }
    assert_int_equal(backing_open(fd, 0, PARTS * LONG, false, &b), 0);
    read_part(b, 8 * LONG, LONG);
    assert_false(os_file_held(fd, 9 * LONG, LONG)); /* it goes on from nothing */
    read_part(b, 0, LONG);
    read_part(b, LONG, LONG);
    assert_true(os_file_held(fd, 2 * LONG, LONG));
    backing_close(b);
    (void)close(fd);
}
