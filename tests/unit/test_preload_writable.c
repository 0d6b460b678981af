/* SPDX-License-Identifier: MIT */
/* Buffers that a program may write to, may not, or may in part. */
#include "adapters/preload/writable.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/case.h"

enum { PAGES = 4 };

static size_t page;

/* Pages with an unmapped one before and behind them. */
static uint8_t *map_pages(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *all =
        mmap(NULL, (PAGES + 2) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    assert_int_equal(munmap(all, page), 0);
    assert_int_equal(munmap(all + (PAGES + 1) * page, page), 0);
    return all + page;
}

static void unmap_pages(uint8_t *at)
{
    assert_int_equal(munmap(at, PAGES * page), 0);
}

/* Offsets and ends around the borders of pages. */
static size_t around(unsigned i)
{
    return i / 24 * page + i % 24 - 12;
}

TEST(writable__of_all_borders_touches_nothing_beside_it)
{
    static uint8_t beside[16];
    uint8_t *at = map_pages();
    memset(beside, 0x11, sizeof beside);
    for (unsigned i = 24; i < 24 * PAGES; i++) {
        for (unsigned k = i; k < 24 * PAGES; k++) {
            size_t from = around(i), end = around(k);
            memset(at, 0x11, PAGES * page);
            assert_true(writable(at + from, end - from));
            assert_memory_equal(at + from - sizeof beside, beside, sizeof beside);
            assert_memory_equal(at + end, beside, sizeof beside);
        }
    }
    unmap_pages(at);
}

/* At the borders of what there is, too. */
TEST(writable__of_the_first_and_the_last_byte)
{
    uint8_t *at = map_pages();
    for (size_t len = 0; len < 40; len++) {
        assert_true(writable(at, len));
        assert_true(writable(at + PAGES * page - len, len));
    }
    assert_true(writable(at, PAGES * page));
    unmap_pages(at);
}

/* Wherever that page lies in it, and however little of it is wanted. */
TEST(writable__not_if_one_page_is_not)
{
    for (unsigned bad = 0; bad < PAGES; bad++) {
        uint8_t *at = map_pages();
        assert_int_equal(mprotect(at + bad * page, page, bad % 2 ? PROT_READ : PROT_NONE), 0);
        for (unsigned i = 12; i < 24 * PAGES; i++) {
            for (unsigned k = i; k < 24 * PAGES; k++) {
                size_t from = around(i), end = around(k);
                bool touches = from < end && from < (bad + 1) * page && end > bad * page;
                assert_int_equal(writable(at + from, end - from), !touches);
            }
        }
        unmap_pages(at);
    }
}

TEST(writable__not_of_what_is_not_there)
{
    uint8_t *at = map_pages();
    for (size_t len = 1; len < 40; len++) {
        assert_false(writable(at + PAGES * page, len));
        assert_false(writable(at + PAGES * page - len + 1, len));
        assert_false(writable(at - 1, len));
    }
    assert_false(writable(at, PAGES * page + 1));
    assert_false(writable(NULL, 64));
    unmap_pages(at);
}
