/* SPDX-License-Identifier: MIT */
/* The pool on a host whose pages are larger than a region may be: what the kernel is asked to take
 * back is all that it takes. The kernel of this test has pages of 64 KiB. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "imd/memory.h"
#include "tests/lib/case.h"

enum { LARGE = 64 << 10, REGION = 4096, BYTES = 1 << 20 };

long sysconf(int name)
{
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf"); /* POSIX: it may be stored so */
    return name == _SC_PAGESIZE ? LARGE : real(name);
}

/* See madvise(2): the start has to be a page's, the length is rounded up to whole pages. */
int madvise(void *at, size_t len, int advice)
{
    if ((uintptr_t)at % LARGE != 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, at, (len + LARGE - 1) / LARGE * LARGE, advice);
}

static void take(PoolMemory *m)
{
    char error[256] = "";
    assert_int_equal(pool_memory_map(m, BYTES, false, error, sizeof error), 0);
    memset(m->base, 0x5a, BYTES);
}

static bool is_kept(const PoolMemory *m, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++)
        if (m->base[at] != 0x5a)
            return false;
    return true;
}

TEST(give_back__leaves_the_neighbours_in_the_page)
{
    PoolMemory m;
    take(&m);
    for (uint64_t at = 0; at < 2 * LARGE; at += 4 * REGION)
        pool_memory_clear(&m, at, REGION);
    for (uint64_t at = 0; at < 2 * LARGE; at += 4 * REGION)
        assert_true(is_kept(&m, at + REGION, at + 4 * REGION));
    pool_memory_unmap(&m);
}

TEST(give_back__takes_whole_pages_of_a_range)
{
    PoolMemory m;
    take(&m);
    pool_memory_clear(&m, LARGE - REGION, 2 * LARGE + 2 * REGION);
    assert_true(is_kept(&m, 0, LARGE - REGION));
    assert_int_equal(m.base[LARGE] | m.base[3 * LARGE - 1], 0);
    assert_true(is_kept(&m, 3 * LARGE + REGION, BYTES));
    pool_memory_unmap(&m);
}
