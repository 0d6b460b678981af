/* SPDX-License-Identifier: MIT */
/* The disk model in a program: each way to read or write its file at an offset waits for the disk.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "tests/lib/case.h"

enum { BLOCK = 4096, BLOCKS = 64, POSITION_MS = 20 };

static char buf[BLOCK];

typedef ssize_t Way(int fd, struct iovec *iov, off_t offset);

static ssize_t way_pread(int fd, struct iovec *iov, off_t offset)
{
    return pread(fd, iov->iov_base, iov->iov_len, offset);
}
static ssize_t way_preadv(int fd, struct iovec *iov, off_t offset)
{
    return preadv(fd, iov, 1, offset);
}
static ssize_t way_syscall(int fd, struct iovec *iov, off_t offset)
{
    return syscall(SYS_pread64, fd, iov->iov_base, iov->iov_len, offset);
}
static ssize_t way_pwrite(int fd, struct iovec *iov, off_t offset)
{
    return pwrite(fd, iov->iov_base, iov->iov_len, offset);
}
static ssize_t way_pwritev(int fd, struct iovec *iov, off_t offset)
{
    return pwritev(fd, iov, 1, offset);
}

static uint64_t time_of(Way *way, int fd, off_t offset)
{
    struct iovec iov = {buf, sizeof buf};
    uint64_t start = os_now_ns();
    assert_int_equal(way(fd, &iov, offset), BLOCK);
    return os_now_ns() - start;
}

TEST(each_way__waits_for_the_disk)
{
    static Way *const ways[] = {way_pread, way_preadv, way_syscall, way_pwrite, way_pwritev};
    int fd = open(getenv("DISK_FILE"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
        off_t offset = (off_t)(BLOCKS - 1 - i * 7) * BLOCK; /* behind where the head is */
        assert_true(time_of(ways[i], fd, offset) >= POSITION_MS * NS_PER_MS);
    }
    (void)close(fd);
}

TEST(another_file__does_not_wait)
{
    int fd = memfd_create("other", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, BLOCKS * BLOCK), 0);
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < 10; i++) {
        uint64_t ns = time_of(way_syscall, fd, (off_t)i * 5 * BLOCK);
        least = ns < least ? ns : least;
    }
    assert_true(least < POSITION_MS * NS_PER_MS);
    (void)close(fd);
}

/* test-disk_preload PRELOAD: with it, the program runs itself again. */
int main(int argc, char **argv)
{
    if (getenv("DISK_FILE"))
        return cases_run(NULL, NULL);
    int fd = memfd_create("disk", 0);
    if (argc != 2 || fd < 0 || ftruncate(fd, BLOCKS * BLOCK) < 0)
        return 2;
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)setenv("DISK_FILE", path, 1);
    (void)setenv("DISK_POSITION", "20ms", 1);
    (void)setenv("DISK_BANDWIDTH", "100000000", 1);
    (void)setenv("LD_PRELOAD", argv[1], 1);
    (void)execv("/proc/self/exe", argv);
    return 2;
}
