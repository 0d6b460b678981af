/* SPDX-License-Identifier: MIT */
/* The memory of pieces. */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libmanage/pages.h"
#include "tests/lib/case.h"

enum {
    EACH = 64 << 10,
    COUNT = 130,
    BESIDE = 100
}; /* pages of up to 64 KiB; three words of the map */

static Buffers b;
static uint8_t *taken[COUNT];

static int set_up(void **state)
{
    (void)state;
    assert_true(buffers_init(&b, &manage_pages, (uint64_t)COUNT * EACH + EACH - 1, EACH, BESIDE));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buffers_deinit(&b);
    return 0;
}

/* All of them, each filled with its number. */
static void take_all(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        taken[i] = buffers_take(&b);
        assert_non_null(taken[i]);
        assert_true(buffers_have(&b, taken[i]));
        memset(taken[i], (int)i + 1, EACH);
        assert_int_equal((uintptr_t)buffers_beside(&b, taken[i]) % _Alignof(max_align_t), 0);
        memset(buffers_beside(&b, taken[i]), (int)i + 1, BESIDE);
    }
    assert_null(buffers_take(&b));
}

static void assert_filled(unsigned i)
{
    const uint8_t *beside = buffers_beside(&b, taken[i]);
    for (size_t k = 0; k < EACH; k++)
        assert_int_equal(taken[i][k], i + 1);
    for (size_t k = 0; k < BESIDE; k++)
        assert_int_equal(beside[k], i + 1);
}

static unsigned pages_held(void)
{
    static unsigned char map[COUNT * EACH / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)COUNT * EACH / page;
    unsigned held = 0;
    assert_int_equal(mincore(b.base, (size_t)COUNT * EACH, map), 0);
    for (size_t i = 0; i < pages; i++)
        held += map[i] & 1;
    return held;
}

static unsigned pages_of(unsigned buffers)
{
    return (unsigned)(buffers * (size_t)EACH / (size_t)sysconf(_SC_PAGESIZE));
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(each_is_taken_once)
{
    take_all();
    for (unsigned i = 0; i < COUNT; i++)
        assert_filled(i);
    for (unsigned i = 0; i < COUNT; i += 2)
        buffers_give(&b, taken[i]);
    for (unsigned i = 1; i < COUNT; i += 2)
        assert_filled(i);
    assert_int_equal(b.kept_count, COUNT / 2);
    for (unsigned i = 0; i < COUNT; i += 2) {
        taken[i] = buffers_take(&b);
        assert_non_null(taken[i]);
        memset(taken[i], (int)i + 1, EACH);
        memset(buffers_beside(&b, taken[i]), (int)i + 1, BESIDE);
    }
    assert_null(buffers_take(&b));
    for (unsigned i = 0; i < COUNT; i++)
        assert_filled(i);
    assert_int_equal(b.kept_count, 0);
}

CASE(memory_is_kept_until_released)
{
    assert_int_equal(pages_held(), 0);
    take_all();
    assert_int_equal(pages_held(), pages_of(COUNT));
    for (unsigned i = 0; i < 70; i++)
        buffers_give(&b, taken[i]);
    assert_int_equal(pages_held(), pages_of(COUNT));
    for (unsigned i = 0; i < 60; i++)
        buffers_release(&b);
    assert_int_equal(b.kept_count, 10);
    assert_int_equal(pages_held(), pages_of(COUNT - 60));
    for (unsigned i = 0; i < 10; i++) /* those with memory first */
        assert_non_null(buffers_take(&b));
    assert_int_equal(pages_held(), pages_of(COUNT - 60));
    for (unsigned i = 0; i < 60; i++) {
        uint8_t *buffer = buffers_take(&b);
        assert_non_null(buffer);
        for (size_t k = 0; k < EACH; k++)
            assert_int_equal(buffer[k], 0);
    }
    assert_null(buffers_take(&b));
    for (unsigned i = 70; i < COUNT; i++)
        assert_filled(i);
    buffers_release(&b); /* none is kept: nothing happens */
}

CASE(all_at_once)
{
    take_all();
    for (unsigned i = 0; i < COUNT; i++)
        buffers_give(&b, taken[i]);
    buffers_release_all(&b);
    assert_int_equal(pages_held(), 0);
    assert_int_equal(b.kept_count, 0);
    take_all();
}

/* Some host's huge pages, or none: what is held is the same. */
CASE(collapsed_while_in_use)
{
    void *at;
    size_t bytes;
    take_all();
    for (unsigned i = 100; i < COUNT; i++)
        buffers_give(&b, taken[i]);
    for (unsigned n = 0; buffers_part(&b, n, &at, &bytes); n++)
        manage_pages_collapse(at, bytes);
    for (unsigned i = 0; i < 100; i++)
        assert_filled(i);
    for (unsigned i = 0; i < 100; i++)
        buffers_give(&b, taken[i]);
    buffers_release_all(&b);
    assert_int_equal(pages_held(), 0);
    take_all();
}

static void covers(const uint8_t *base, size_t all, unsigned *n)
{
    void *at;
    size_t bytes;
    for (size_t done = 0; done < all; done += bytes, ++*n) {
        assert_true(buffers_part(&b, *n, &at, &bytes));
        assert_ptr_equal(at, base + done);
        assert_in_range(bytes, 1, BUFFERS_PART);
        assert_true(done == 0 || (uintptr_t)at % BUFFERS_PART == 0);
        assert_true(done + bytes == all || ((uintptr_t)at + bytes) % BUFFERS_PART == 0);
    }
}

CASE(parts_cover_all)
{
    void *at;
    size_t bytes;
    unsigned n = 0;
    covers(b.base, (size_t)b.count * b.each, &n);
    covers(b.beside, (size_t)b.count * b.beside_each, &n);
    assert_false(buffers_part(&b, n, &at, &bytes));
    assert_false(buffers_part(&b, UINT_MAX, &at, &bytes));
}

TEST(none)
{
    uint8_t other[16];
    Buffers n;
    void *at;
    size_t bytes;
    assert_false(buffers_init(&n, &manage_pages, EACH - 1, EACH, BESIDE));
    assert_false(
        buffers_init(&n, &manage_pages, UINT64_MAX / 4, EACH, BESIDE)); /* no such address space */
    assert_false(buffers_init(&n, NULL, EACH, EACH, BESIDE));
    assert_null(buffers_take(&n));
    assert_false(buffers_part(&n, 0, &at, &bytes));
    assert_false(buffers_have(&n, other));
    buffers_release(&n);
    buffers_deinit(&n);
}
