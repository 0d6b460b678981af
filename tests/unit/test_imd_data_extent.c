/* SPDX-License-Identifier: MIT */
/* The data core: the memory of a region's blocks is taken when they are filled, and may go. What
 * has gone is unfilled, whatever was under way, and is filled again once its pages were given
 * back. */
#include "tests/lib/case.h"
#include "tests/unit/imd_data_fixture.h"

/* Extents of four blocks; the region begins at the fourth block of the pool. So block 0 is an
 * extent by itself, then come 1 to 4, 5 to 8, and the rest. */
typedef struct Memory {
    Fixture *f;
    ImdSpace space;
    ImdExtents *x;
} Memory;

static int begin(void **state)
{
    Memory *m = calloc(1, sizeof *m);
    (void)setup((void **)&m->f);
    ImdRegion r = region_named(REGION, 3 * BLOCK, REGION_BYTES);
    m->space.limit_bytes = UINT64_MAX;
    m->x = r.extents = extents_new(&m->space, r.pool_offset, 11 * BLOCK, 4 * BLOCK);
    imd_data_drop(m->f->d, REGION);
    assert_int_equal(imd_data_add(m->f->d, &r), 0);
    *state = m;
    return 0;
}

static int end(void **state)
{
    Memory *m = *state;
    (void)teardown((void **)&m->f);
    extents_end(m->x);
    assert_int_equal(m->space.filled_bytes, 0);
    m->x = extents_free(m->x);
    free(m);
    return 0;
}

/* The extent is wanted back. */
static void unfill(const Memory *m, unsigned extent)
{
    extents_choose(m->x, extent);
    imd_data_unfill(m->f->d, REGION);
    assert_true(imd_data_check(m->f->d));
}

#define CASE(name) TEST_WITH(name, begin, end)

CASE(extents__lie_in_the_pool)
{
    const Memory *m = *state;
    static const unsigned of[11] = {0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3};
    uint64_t from, to;
    assert_int_equal(m->x->count, 4);
    for (unsigned b = 0; b < 11; b++) {
        assert_int_equal(extents_at(m->x, b * BLOCK), of[b]);
        assert_int_equal(extents_at(m->x, b * BLOCK + 99), of[b]);
        extents_bounds(m->x, of[b], &from, &to);
        assert_in_range(b * BLOCK, from, to - 1);
    }
    assert_int_equal(extents_bytes(m->x, 0), BLOCK);
    assert_int_equal(extents_bytes(m->x, 1), 4 * BLOCK);
    assert_int_equal(extents_bytes(m->x, 3), 2 * BLOCK);
}

CASE(extent__is_taken_when_something_is_filled)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    read_at(f, 0, 3 * BLOCK);
    send_all(f, write_of(1, BLOCK + 1, 100)); /* it fills nothing */
    assert_int_equal(m->space.filled_bytes, 0);
    assert_int_equal(*memory_at(f, BLOCK + 1), 0xee);
    send_all(f, fill_of(1, 1, BLOCK, BLOCK));
    assert_int_equal(m->space.filled_bytes, 4 * BLOCK);
    send_all(f, write_of(2, 2 * BLOCK, BLOCK));
    assert_int_equal(m->space.filled_bytes, 4 * BLOCK);
    send_all(f, write_of(3, 4 * BLOCK, 2 * BLOCK)); /* over the boundary */
    assert_int_equal(m->space.filled_bytes, 8 * BLOCK);
    assert_int_equal(extents_filled_bytes(m->x), 8 * BLOCK);
    expect_filled(f, "uffuffuuuuu");
}

CASE(unfill__what_goes_is_read_from_the_file)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    send_all(f, fill_of(1, 0, 0, 6 * BLOCK));
    extents_choose(m->x, 3); /* never taken */
    unfill(m, 1);
    expect_filled(f, "fuuuufuu");
    assert_true(extents_goes(m->x, 1));
    assert_false(extents_goes(m->x, 3));
    assert_int_equal(imd_data_stats(f->d)->extents_unfilled, 1);
    read_at(f, 0, 6 * BLOCK);
    assert_int_equal(f->data.filled, 1 | 1 << 5);
    assert_int_equal(m->space.filled_bytes, 9 * BLOCK); /* until it is given back */
    extents_gone(m->x);
    assert_int_equal(m->space.filled_bytes, 5 * BLOCK);
}

CASE(unfill__filled_again_when_its_pages_are_back)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    send_all(f, fill_of(1, 0, BLOCK, 4 * BLOCK));
    unfill(m, 1);
    memset(f->pool + 4 * BLOCK, 0x11, 4 * BLOCK);
    expect_refused(f, fill_of(2, 0, BLOCK, 4 * BLOCK), 0, STATUS_STALE);
    send_all(f, write_of(1, BLOCK, BLOCK)); /* it is written to the file, and known here */
    expect_filled(f, "uuuuu");
    assert_int_equal(*memory_at(f, BLOCK), 0x11);
    extents_gone(m->x);
    expect_refused(f, fill_of(3, 0, BLOCK, BLOCK), 0, STATUS_STALE); /* older than the write */
    send_all(f, fill_of(4, 1, BLOCK, 4 * BLOCK));
    expect_filled(f, "uffff");
    assert_memory_equal(memory_at(f, BLOCK), f->pattern, 4 * BLOCK);
}

/* What came before the extent went is lost: the rest of it fills nothing. */
CASE(unfill__a_fill_under_way_begins_again)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    WireWrite fill = fill_of(1, 0, 0, 4 * BLOCK), other = fill_of(2, 0, 5 * BLOCK, BLOCK);
    assert_false(send_segment(f, other, 0));
    for (unsigned i = 0; i < 8; i++)
        assert_false(send_segment(f, fill, i));
    unfill(m, 1);
    extents_gone(m->x);
    for (unsigned i = 8; i < 16; i++)
        (void)send_segment(f, fill, i);
    expect_filled(f, "uuuuuuuu");
    for (unsigned i = 0; i < 8; i++)
        (void)send_segment(f, fill, i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "ffffuuuu");
    assert_memory_equal(memory_at(f, 0), f->pattern, 4 * BLOCK);
    for (unsigned i = 1; i < 4; i++) /* that one was elsewhere */
        (void)send_segment(f, other, i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "ffffufuu");
}

CASE(unfill__a_write_under_way_ends_and_fills_nothing)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    WireWrite w = write_of(1, 0, 3 * BLOCK);
    for (unsigned i = 0; i < 6; i++)
        assert_false(send_segment(f, w, i));
    unfill(m, 1);
    extents_gone(m->x);
    memset(f->pool + 4 * BLOCK, 0x11, 4 * BLOCK);
    for (unsigned i = 6; i < 11; i++)
        assert_false(send_segment(f, w, i));
    assert_true(send_segment(f, w, 11));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fuuu"); /* block 0 is of another extent */
    for (unsigned i = 0; i < 4 * BLOCK; i++)
        assert_int_equal(f->pool[4 * BLOCK + i], 0x11); /* nor does it touch a page */
    assert_int_equal(m->space.filled_bytes, BLOCK);
}

/* A write of a part of a block that was filled when it began. */
CASE(unfill__a_write_forgets_that_its_block_was_filled)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    send_all(f, fill_of(1, 0, BLOCK, BLOCK));
    WireWrite w = write_of(1, BLOCK, 2 * SEGMENT);
    assert_false(send_segment(f, w, 0));
    unfill(m, 1);
    extents_gone(m->x);
    assert_true(send_segment(f, w, 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "uuuu");
}

CASE(limit__nothing_is_filled_beyond_it)
{
    Memory *m = *state;
    Fixture *f = m->f;
    m->space.limit_bytes = 5 * BLOCK;
    send_all(f, fill_of(1, 0, BLOCK, BLOCK));
    assert_false(m->space.wanted);
    expect_refused(f, fill_of(2, 0, 5 * BLOCK, BLOCK), 0, STATUS_STALE);
    assert_false(send_segment(f, fill_of(2, 0, 5 * BLOCK, BLOCK), 1)); /* once for all of it */
    assert_true(m->space.wanted);
    send_all(f, write_of(1, 5 * BLOCK, BLOCK));
    assert_int_equal(*memory_at(f, 5 * BLOCK), 0xee);
    send_all(f,
             fill_of(3, 1, 4 * BLOCK, 2 * BLOCK)); /* over the boundary: what there is room for */
    send_all(f, fill_of(4, 1, 0, BLOCK));
    expect_filled(f, "ffuufuuuuuu");
    assert_int_equal(imd_data_stats(f->d)->fills_no_room, 1);
    assert_int_equal(m->space.filled_bytes, 5 * BLOCK);
}

/* A void makes its blocks unfilled. Memory without any data rests: it goes first, and reads of what
 * is not there are no use of it. */
CASE(void__memory_without_data_rests)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    send_all(f, fill_of(1, 0, BLOCK, 2 * BLOCK));
    send_void(f, 1, BLOCK, BLOCK);
    assert_false(extents_idle(m->x, 1));
    assert_false(m->space.idle);
    send_void(f, 2, 0, 3 * BLOCK);
    assert_true(extents_idle(m->x, 1));
    assert_false(extents_has(m->x, 0));
    assert_true(m->space.idle);
    f->now_ns = 100 * NS_PER_S;
    read_at(f, BLOCK, BLOCK);
    assert_true(extents_idle(m->x, 1));
    assert_int_equal(m->space.filled_bytes, 4 * BLOCK);
    send_all(f, fill_of(2, 2, BLOCK, BLOCK)); /* it is still there */
    assert_int_equal(extents_used(m->x, 1), imd_use_tick(100 * NS_PER_S));
    assert_int_equal(m->space.filled_bytes, 4 * BLOCK);
}

/* What a write or a fill that began before brings is data, and does not go unasked. */
CASE(void__memory_that_gets_data_again_rests_no_more)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    WireWrite write = write_of(1, 3 * BLOCK, BLOCK), fill = fill_of(2, 0, 7 * BLOCK, BLOCK);
    send_all(f, fill_of(1, 0, BLOCK, 2 * BLOCK));
    send_all(f, fill_of(3, 0, 5 * BLOCK, 2 * BLOCK));
    assert_false(send_segment(f, write, 0));
    assert_false(send_segment(f, fill, 0));
    send_void(f, 2, BLOCK, 2 * BLOCK);
    send_void(f, 3, 5 * BLOCK, 2 * BLOCK);
    for (unsigned i = 1; i < BLOCK / SEGMENT; i++) {
        (void)send_segment(f, write, i);
        (void)send_segment(f, fill, i);
    }
    expect_filled(f, "uuufuuuf");
    assert_false(extents_idle(m->x, 1));
    assert_false(extents_idle(m->x, 2));
    assert_true(imd_data_check(f->d));
    send_void(f, 4, 3 * BLOCK, BLOCK);
    send_void(f, 5, 7 * BLOCK, BLOCK);
    assert_true(extents_idle(m->x, 1));
    assert_true(extents_idle(m->x, 2));
    assert_int_equal(m->space.filled_bytes, 8 * BLOCK);
}

CASE(use__is_noted_by_extent)
{
    const Memory *m = *state;
    Fixture *f = m->f;
    send_all(f, fill_of(1, 0, 0, 8 * BLOCK));
    f->now_ns = 100 * NS_PER_S;
    read_at(f, 2 * BLOCK, 2 * BLOCK);
    f->now_ns = 200 * NS_PER_S;
    read_at(f, 4 * BLOCK, 2 * BLOCK);
    assert_int_equal(extents_used(m->x, 0), imd_use_tick(NS_PER_S));
    assert_int_equal(extents_used(m->x, 1), imd_use_tick(200 * NS_PER_S));
    assert_int_equal(extents_used(m->x, 2), imd_use_tick(200 * NS_PER_S));
    assert_int_equal(extents_used(m->x, 3), 0);
    extents_use_all(m->x, imd_use_tick(300 * NS_PER_S));
    assert_int_equal(extents_used(m->x, 0), imd_use_tick(300 * NS_PER_S));
    assert_false(extents_has(m->x, 3));
}
