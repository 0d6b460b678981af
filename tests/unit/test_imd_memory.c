/* SPDX-License-Identifier: MIT */
/* The pool's memory: taken when touched, refused when the host has not got it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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

/* Of each pair of neighbours in a huge page the small one is filled. */
TEST(lay__a_range_takes_no_memory_for_its_neighbour)
{
    enum { PAGE = MEMORY_HUGE_PAGE, BYTES = 16 * PAGE, PART = 64 << 10 };
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, BYTES, false, error, sizeof error), 0);
    pool_memory_divide(&m);
    pool_memory_lay(&m, 0, BYTES); /* what was there before */
    memset(m.base, 0x5a, BYTES);
    pool_memory_clear(&m, 0, BYTES);
    assert_int_equal(resident(&m), 0);
    for (uint64_t at = 0; at < BYTES; at += PAGE) {
        pool_memory_lay(&m, at, PART);
        pool_memory_lay(&m, at + PART, PAGE - PART);
        memset(m.base + at, 0x5a, PART);
    }
    collapse(&m);
    assert_int_equal(resident(&m), BYTES / PAGE * PART);
    for (uint64_t at = 0; at < BYTES; at += PAGE)
        pool_memory_clear(&m, at, PART);
    assert_int_equal(resident(&m), 0);
    pool_memory_unmap(&m);
}

/* What the kernel says of the mapping that has this byte. */
static bool has_huge(const PoolMemory *m, uint64_t offset)
{
    char line[512];
    uint64_t from, to, at = (uintptr_t)m->base + offset;
    bool here = false, huge = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            here = from <= at && at < to;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            huge = strstr(line, " hg") != NULL;
    }
    (void)fclose(f);
    return huge;
}

TEST(lay__huge_pages_are_of_one_range)
{
    enum { PAGE = MEMORY_HUGE_PAGE, BYTES = 8 * PAGE, PART = 64 << 10 };
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, BYTES, false, error, sizeof error), 0);
    const bool any = has_huge(&m, 0); /* this kernel has them */
    pool_memory_divide(&m);
    assert_false(has_huge(&m, 0));
    pool_memory_lay(&m, PART, 3 * PAGE);
    assert_false(has_huge(&m, PART));
    assert_int_equal(has_huge(&m, PAGE), any);
    assert_int_equal(has_huge(&m, 3 * PAGE - 1), any);
    assert_false(has_huge(&m, 3 * PAGE));
    pool_memory_clear(&m, PART, 3 * PAGE);
    assert_false(has_huge(&m, PAGE));
    pool_memory_unmap(&m);
}

/* The kernel's number of mappings is limited. */
TEST(lay__many_ranges_have_no_huge_pages)
{
    const uint64_t page = MEMORY_HUGE_PAGE;
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, 8 * page, false, error, sizeof error), 0);
    pool_memory_divide(&m);
    m.bytes = 2 * MEMORY_RUNS_MAX * page; /* as if it were of a large pool */
    pool_memory_lay(&m, 0, page);
    assert_false(has_huge(&m, 0));
    m.bytes = 8 * page;
    pool_memory_unmap(&m);
}

TEST(divide__not_what_is_kept)
{
    PoolMemory m;
    char error[256] = "";
    assert_int_equal(pool_memory_map(&m, MEMORY_HUGE_PAGE, true, error, sizeof error), 0);
    const bool huge = has_huge(&m, 0);
    pool_memory_divide(&m);
    pool_memory_lay(&m, 0, 4096);
    assert_int_equal(has_huge(&m, 0), huge);
    pool_memory_unmap(&m);
}

int main(void)
{
    case_if(memory_available() != UINT64_MAX, map__more_than_there_is,
            "this system does not tell how much memory is available");
    return cases_run(NULL, NULL);
}
