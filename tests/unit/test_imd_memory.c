/* SPDX-License-Identifier: MIT */
/* The pool's memory: taken when touched, refused when the host has not got it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "imd/memory.h"
#include "tests/lib/case.h"
#include "tests/lib/needs.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* headers older than the kernel */
#endif

TEST(map__is_zeroed_aligned_and_writable)
{
    static const uint64_t sizes[] = {64 << 10, 3 << 20, 8ull << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        PoolMemory m;
        char error[256] = "";
        assert_int_equal(pool_memory_map(&m, sizes[i], false, error, sizeof error), 0);
        assert_string_equal(error, "");
        assert_int_equal((uintptr_t)m.base % (2 << 20), 0);
        assert_int_equal(m.bytes, sizes[i]);
        assert_int_equal(m.base[0] | m.base[sizes[i] - 1], 0);
        memset(m.base, 0x5a, sizes[i]);
        pool_memory_unmap(&m);
        assert_null(m.base);
        pool_memory_unmap(&m); /* harmless */
    }
}

TEST(map__more_than_there_is)
{
    PoolMemory m = {.base = NULL};
    char error[256] = "";
    assert_true(memory_available() > 0);
    /* Far more than could become available meanwhile. */
    assert_int_equal(pool_memory_map(&m, (uint64_t)1 << 47, false, error, sizeof error), -ENOMEM);
    assert_non_null(strstr(error, "a pool of 128 TiB is more than this host has"));
    assert_non_null(strstr(error, "choose a smaller --pool"));
    assert_null(m.base);
}

/* Pages of the pool that are in memory, as the kernel sees it. */
static uint64_t resident(const PoolMemory *m)
{
    static unsigned char map[(64 << 20) / 4096];
    uint64_t pages = 0;
    assert_true(m->bytes / 4096 <= sizeof map && sysconf(_SC_PAGESIZE) == 4096);
    assert_int_equal(mincore(m->base, m->bytes, map), 0);
    for (uint64_t i = 0; i < m->bytes / 4096; i++)
        pages += map[i] & 1;
    return pages * 4096;
}

TEST(map__all_at_once)
{
    enum { BYTES = 8 << 20 };
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, BYTES, false, error, sizeof error), 0);
    assert_int_equal(resident(&m), 0);
    pool_memory_unmap(&m);
    assert_int_equal(pool_memory_map(&m, BYTES, true, error, sizeof error), 0);
    assert_int_equal(resident(&m), BYTES);
    assert_int_equal(m.base[0] | m.base[BYTES - 1], 0);
    pool_memory_give_back_all(&m); /* the end */
    assert_int_equal(resident(&m), 0);
    pool_memory_unmap(&m);
}

TEST(give_back__frees_the_pages_and_only_those)
{
    enum { BYTES = 64 << 20, AT = 6 << 20, LEN = 40 << 20 };
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, BYTES, false, error, sizeof error), 0);
    memset(m.base, 0x5a, BYTES);
    assert_int_equal(resident(&m), BYTES);
    pool_memory_give_back(&m, AT, LEN);
    assert_int_equal(resident(&m), BYTES - LEN);
    assert_int_equal(m.base[AT - 1], 0x5a);
    assert_int_equal(m.base[AT + LEN], 0x5a);
    assert_int_equal(m.base[AT] | m.base[AT + LEN - 1], 0); /* a new page, and zero */
    pool_memory_give_back(&m, 4096, 4096);                  /* a part of a huge page */
    assert_int_equal(m.base[4095], 0x5a);
    assert_int_equal(m.base[4096], 0);
    assert_int_equal(m.base[8192], 0x5a);
    pool_memory_give_back_all(&m);
    assert_int_equal(resident(&m), 0);
    pool_memory_unmap(&m);
}

/* What the kernel does in the background, done at once, where it can be asked for. */
static void collapse(const PoolMemory *m)
{
    for (uint64_t at = 0; at < m->bytes; at += MEMORY_HUGE_PAGE)
        (void)madvise(m->base + at, MEMORY_HUGE_PAGE, MADV_COLLAPSE);
}

TEST(give_back__of_parts_of_huge_pages_lasts)
{
    enum { PAGE = MEMORY_HUGE_PAGE, BYTES = 8 * PAGE, PART = 64 << 10, REST = BYTES - 6 * PART };
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, BYTES, false, error, sizeof error), 0);
    memset(m.base, 0x5a, BYTES);
    pool_memory_give_back(&m, PART, PART);                /* inside of one */
    pool_memory_give_back(&m, 2 * PAGE - PART, 2 * PART); /* over a boundary */
    pool_memory_give_back(&m, 4 * PAGE, PART);
    pool_memory_give_back(&m, BYTES - 2 * PART, 2 * PART);
    collapse(&m);
    assert_int_equal(resident(&m), REST);
    assert_int_equal(m.base[0], 0x5a);
    pool_memory_give_back(&m, 0, BYTES);
    assert_int_equal(resident(&m), 0);
    pool_memory_unmap(&m);
}

int main(void)
{
    case_if(memory_available() != UINT64_MAX, map__more_than_there_is,
            "this system does not tell how much memory is available");
    return cases_run(NULL, NULL);
}
