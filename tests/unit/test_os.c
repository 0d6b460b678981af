/* SPDX-License-Identifier: MIT */
/* What the kernel is asked for before a long read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"
#include "tests/lib/case.h"

enum { PAGE = 4096, BYTES = 3 * OS_ASK_BYTES };

/* A file of holes, none of which is in memory. */
static int file_new(void)
{
    char path[256];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/dodo-os-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    return fd;
}

/* Bytes of [from, to) that are in memory. */
static uint64_t resident(int fd, uint64_t from, uint64_t to)
{
    static unsigned char map[BYTES / PAGE];
    uint64_t pages = 0;
    void *p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mincore(p, BYTES, map), 0);
    for (uint64_t i = from / PAGE; i < to / PAGE; i++)
        pages += map[i] & 1;
    (void)munmap(p, BYTES);
    return pages * PAGE;
}

/* Else it would be read twice where memory is short. */
TEST(ask__for_so_much_of_a_long_read)
{
    int fd = file_new();
    os_ask_for_all(fd, 0, BYTES);
    assert_int_equal(resident(fd, OS_ASK_BYTES, BYTES), 0);
    (void)close(fd);
}
