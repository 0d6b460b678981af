/* SPDX-License-Identifier: MIT */
/* The data core: writes and voids, every rule that they keep by name. */
#include "tests/lib/case.h"
#include "tests/unit/imd_data_fixture.h"

#define CASE(name) TEST_WITH(name, setup, teardown)

/* ---- writes --------------------------------------------------------------------------------- */

CASE(write__unfills_until_its_last_segment)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 3 * BLOCK));
    expect_filled(f, "fffu");
    WireWrite m = write_of(2, BLOCK, 2 * BLOCK);
    assert_false(send_segment(f, m, 0));
    expect_filled(f, "fuuu");
    read_at(f, 0, 3 * BLOCK);
    assert_int_equal(f->data.filled, 1);
    for (unsigned i = 1; i < 7; i++) {
        assert_false(send_segment(f, m, i));
        expect_filled(f, "fuuu");
    }
    assert_true(send_segment(f, m, 7));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fffu");
    assert_true(imd_data_idle(f->d));
    assert_int_equal(imd_data_stats(f->d)->writes, 2);
    assert_int_equal(imd_data_stats(f->d)->write_bytes, 5 * BLOCK);
}

CASE(write__poll_opens_and_unfills)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, BLOCK));
    WireWrite m = write_of(2, 0, BLOCK);
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 0);
    expect_filled(f, "u");
    assert_false(imd_data_idle(f->d));
    assert_false(send_segment(f, m, 0));
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
    assert_int_equal(f->ack.received, 1);
}

CASE(write__partial_write)
{
    Fixture *f = *state;
    /* part of unfilled blocks: 0 and 2 stay unfilled, 1 is covered */
    send_all(f, write_of(1, 100, 2 * BLOCK));
    expect_filled(f, "ufu");
    /* part of a filled block: its other bytes are still good */
    send_all(f, write_of(2, BLOCK + 10, 50));
    expect_filled(f, "ufu");
    read_at(f, BLOCK, BLOCK);
    assert_memory_equal(f->got, f->pattern + BLOCK - 100, 10);
    assert_memory_equal(f->got + 10, f->pattern, 50);
    assert_memory_equal(f->got + 60, f->pattern + BLOCK - 100 + 60, BLOCK - 60);
}

CASE(write__to_the_regions_end)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 10 * BLOCK, 99));
    assert_false(imd_data_block_filled(f->d, REGION, 10));
    send_all(f, write_of(2, 10 * BLOCK, 100));
    assert_true(imd_data_block_filled(f->d, REGION, 10));
    expect_refused(f, write_of(3, 10 * BLOCK, 101), 0, STATUS_INVALID);
    assert_int_equal(f->pool[3 * BLOCK + REGION_BYTES], 0xee);
    read_at(f, 10 * BLOCK, 100);
    assert_memory_equal(f->got, f->pattern, 100);
}

/* And what closes it, late: by that the client tells reordering from loss. */
CASE(write__gap_is_reported_and_what_closes_it)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 0, 4 * BLOCK);
    assert_false(send_segment(f, m, 0));
    assert_true(send_segment(f, m, 3)); /* 1 and 2 are missing */
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 9);
    assert_false(send_segment(f, m, 4));
    assert_false(send_segment(f, m, 4));
    assert_true(send_segment(f, m, 1)); /* late */
    assert_int_equal(f->ack.received, 0x1b);
    assert_false(send_segment(f, m, 1));
    assert_true(send_segment(f, m, 6)); /* another gap */
    assert_int_equal(f->ack.received, 0x5b);
    assert_true(send_segment(f, m, 5));
    assert_true(send_segment(f, m, 2));
    assert_int_equal(f->ack.received, 0x7f);
    for (unsigned i = 7; i < 15; i++)
        assert_false(send_segment(f, m, i));
    assert_true(send_segment(f, m, 15));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_memory_equal(memory_at(f, 0), f->pattern, 4 * BLOCK);
}

CASE(write__first_segments_lost_is_a_gap)
{
    Fixture *f = *state;
    assert_true(send_segment(f, write_of(1, 0, BLOCK), 2));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 4);
}

CASE(write__once)
{
    Fixture *f = *state;
    uint8_t other[BLOCK];
    memset(other, 0x55, sizeof other);
    send_all(f, write_of(1, 0, 1000));
    send_all(f, write_of(3, 0, 1000)); /* above the lowest: in the map */
    for (uint64_t number = 1; number <= 3; number += 2) {
        assert_true(send_data(f, &sessions[SESSION_ONE], write_of(number, 0, 1000), 0, other));
        expect_ack(f, WRITE_DONE, STATUS_OK);
        assert_true(
            send_data(f, &sessions[SESSION_TWO], write_of(number, 0, 1000), WIRE_INDEX_NONE, NULL));
        expect_ack(f, WRITE_DONE, STATUS_OK);
        assert_memory_equal(memory_at(f, 0), f->pattern, 1000);
    }
    assert_true(imd_data_idle(f->d));
    assert_int_equal(imd_data_stats(f->d)->writes_repeated, 4);
    /* the one between was never here */
    send_all(f, write_of(2, 2000, 1000));
    assert_int_equal(imd_data_stats(f->d)->writes, 3);
}

CASE(write__numbers_window)
{
    Fixture *f = *state;
    expect_refused(f, write_of(0, 0, 10), 0, STATUS_INVALID);
    expect_refused(f, write_of(65, 0, 10), 0, STATUS_INVALID);
    expect_refused(f, write_of(UINT64_MAX, 0, 10), 0, STATUS_INVALID);
    for (uint64_t n = 64; n >= 1; n--)
        send_all(f, write_of(n, n, 1));
    for (uint64_t n = 1; n <= 64; n++)
        assert_true(send_segment(f, write_of(n, n, 1), 0));
    assert_int_equal(imd_data_stats(f->d)->writes_repeated, 64);
    expect_refused(f, write_of(129, 0, 10), 0, STATUS_INVALID);
    send_all(f, write_of(128, 0, 10));
    send_all(f, write_of(65, 0, 10));
    expect_refused(f, write_of(130, 0, 10), 0, STATUS_INVALID);
    send_all(f, write_of(129, 0, 10));
}

CASE(write__other_chunk_of_the_same_number)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 0, 2 * BLOCK), other = m;
    assert_false(send_segment(f, m, 0));
    other.offset = BLOCK;
    expect_refused(f, other, 0, STATUS_INVALID);
    other = m;
    other.len--;
    expect_refused(f, other, 0, STATUS_INVALID);
    other.kind = WRITE_VOID;
    expect_refused(f, other, WIRE_INDEX_NONE, STATUS_INVALID);
    /* nothing changed */
    for (unsigned i = 1; i < 7; i++)
        assert_false(send_segment(f, m, i));
    assert_true(send_segment(f, m, 7));
    expect_ack(f, WRITE_DONE, STATUS_OK);
}

CASE(write__cut_again_starts_again)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 0, BLOCK);
    assert_false(send_segment(f, m, 0));
    assert_false(send_segment(f, m, 1));
    m.segment = 2048; /* the path's MTU changed */
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
    assert_int_equal(f->ack.received, 0);
    assert_false(send_segment(f, m, 0));
    expect_filled(f, "u");
    assert_true(send_segment(f, m, 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_memory_equal(memory_at(f, 0), f->pattern, BLOCK);
}

/* Who begins writes and never ends them takes room and the others' grant from them. */
CASE(write__that_nobody_goes_on_with_gives_way)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 4 * BLOCK));
    for (unsigned i = 0; i < 4; i++) /* as many as may be */
        (void)send_segment(f, write_of(2 + i, i * BLOCK, BLOCK), WIRE_INDEX_NONE);
    f->now_ns += WRITE_AGE_NS - 10 * NS_PER_MS;
    expect_refused(f, write_of(6, 0, BLOCK), WIRE_INDEX_NONE, STATUS_BUSY);
    assert_false(send_segment(f, write_of(3, BLOCK, BLOCK), 0)); /* that one goes on */
    f->now_ns += 20 * NS_PER_MS;
    assert_true(send_segment(f, write_of(6, 0, BLOCK), WIRE_INDEX_NONE));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(imd_data_stats(f->d)->writes_aged, 3);
    expect_filled(f, "uuuu"); /* what they began is not known */
    send_all(f, write_of(3, BLOCK, BLOCK));
    expect_filled(f, "ufuu");
    send_all(f, write_of(5, 3 * BLOCK, BLOCK)); /* late, and from the start */
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "ufuf");
}

CASE(write__busy)
{
    Fixture *f = *state;
    for (uint64_t n = 1; n <= 4; n++)
        assert_false(send_segment(f, write_of(n, (n - 1) * BLOCK, BLOCK), 0));
    send_all(f, fill_of(1, 0, 4 * BLOCK, BLOCK)); /* fills have their own room */
    expect_filled(f, "uuuuf");
    expect_refused(f, write_of(5, 4 * BLOCK, BLOCK), 0, STATUS_BUSY);
    expect_filled(f, "uuuuf"); /* it did not begin */
    assert_int_equal(imd_data_stats(f->d)->busy, 1);
    for (unsigned i = 1; i < 4; i++)
        send_segment(f, write_of(2, BLOCK, BLOCK), i);
    send_all(f, write_of(5, 4 * BLOCK, BLOCK));
}

CASE(write__grant_is_shared)
{
    Fixture *f = *state;
    assert_true(send_segment(f, write_of(1, 0, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, 1 << 20);
    assert_true(send_segment(f, write_of(2, BLOCK, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, 1 << 19);
}

CASE(write__alone_is_granted_a_chunk)
{
    Fixture *f = *state;
    Env env = {.random = fake_random, .ctx = f};
    ImdDataSink sink = {.message = sink_message, .burst = sink_burst, .ctx = f};
    ImdDataConfig config = {.epoch = EPOCH,
                            .pool = f->pool,
                            .pool_bytes = POOL_BYTES,
                            .writes_max = 4,
                            .grant_bytes = 100};
    ImdRegion r = region_named(REGION, 0, REGION_BYTES);
    imd_data_free(f->d);
    f->d = imd_data_new(&config, &env, &sink);
    imd_data_add(f->d, &r);
    assert_true(send_segment(f, write_of(1, 0, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, 64 << 10);
    assert_true(send_segment(f, write_of(2, BLOCK, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, SEGMENT);
    expect_refused(f, fill_of(1, 2, 4 * BLOCK, BLOCK), 0, STATUS_BUSY); /* fills_max is 0 */
}

/* A client that breaks the order of its own writes harms itself only so far. */
CASE(write__beside_another_in_one_block)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, BLOCK));
    assert_false(send_segment(f, write_of(2, 0, 2 * SEGMENT), 0));
    assert_false(send_segment(f, write_of(3, SEGMENT, 2 * SEGMENT), 0));
    assert_true(send_segment(f, write_of(2, 0, 2 * SEGMENT), 1));
    expect_filled(f, "u"); /* 3 is still under way */
    assert_true(send_segment(f, write_of(3, SEGMENT, 2 * SEGMENT), 1));
    expect_filled(f, "u"); /* it began when the block was unfilled */
}

/* ---- voids ---------------------------------------------------------------------------------- */

CASE(void__ends_the_write)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 3 * BLOCK));
    assert_false(send_segment(f, write_of(2, 100, BLOCK), 0));
    send_void(f, 2, 100, BLOCK);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "uuf");
    assert_true(imd_data_idle(f->d));
    assert_int_equal(imd_data_stats(f->d)->voided, 1);
    /* a late segment of it changes nothing */
    assert_true(send_segment(f, write_of(2, 100, BLOCK), 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "uuf");
}

CASE(void__of_a_finished_or_unseen_write)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 3 * BLOCK));
    send_void(f, 1, 0, BLOCK);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "uff");
    send_void(f, 2, 2 * BLOCK, 10);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "ufu");
    /* the unseen one is finished now, and counts as the block's last write */
    assert_true(send_segment(f, write_of(2, 2 * BLOCK, 10), 0));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_int_equal(imd_data_stats(f->d)->writes, 1);
    expect_refused(f, fill_of(1, 1, 2 * BLOCK, BLOCK), 0, STATUS_STALE);
    send_void(f, 70, 0, 10);
    expect_ack(f, WRITE_REFUSED, STATUS_INVALID);
    send_void(f, 0, 0, 10);
    expect_ack(f, WRITE_REFUSED, STATUS_INVALID);
}

/* What was done there since the VOID came first stays. */
CASE(void__that_comes_again_late)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 4 * BLOCK));
    send_void(f, 2, 0, 4 * BLOCK);
    send_void(f, 3, BLOCK, BLOCK);
    send_all(f, fill_of(1, 3, BLOCK, BLOCK));
    send_all(f, write_of(4, 2 * BLOCK, BLOCK));
    send_all(f, fill_of(2, 4, 3 * BLOCK, BLOCK));
    expect_filled(f, "ufff");
    send_void(f, 2, 0, 4 * BLOCK);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    send_void(f, 3, BLOCK, BLOCK);
    expect_filled(f, "ufff");
    send_void(f, 5, 0, 4 * BLOCK);
    expect_filled(f, "uuuu");
    expect_refused(f, fill_of(3, 4, 0, BLOCK), 0, STATUS_STALE);
}

CASE(void__is_not_forgotten_by_a_write_under_way)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 3 * BLOCK));
    WireWrite m = write_of(2, BLOCK + 100, 2 * SEGMENT); /* part of block 1, which was filled */
    assert_false(send_segment(f, m, 0));
    send_void(f, 1, 0, 3 * BLOCK);
    assert_true(send_segment(f, m, 1));
    expect_filled(f, "uuu");
}

/* For the cap's sake: what is under way goes on, what is new is refused once and comes again. */
CASE(pace__new_writes_and_fills_are_busy)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, BLOCK));
    WireWrite begun = write_of(2, BLOCK, BLOCK), more = write_of(3, 2 * BLOCK, BLOCK);
    assert_false(send_segment(f, begun, 0));
    imd_data_pace(f->d, true);
    expect_refused(f, more, 0, STATUS_BUSY);
    assert_false(send_segment(f, more, 1));
    expect_refused(f, more, WIRE_INDEX_NONE, STATUS_BUSY);
    expect_refused(f, fill_of(7, 3, 2 * BLOCK, BLOCK), 0, STATUS_BUSY);
    assert_false(send_segment(f, fill_of(7, 3, 2 * BLOCK, BLOCK), 1));
    expect_filled(f, "fuu");
    for (unsigned i = 1; i + 1 < wire_segment_count(BLOCK, SEGMENT); i++)
        assert_false(send_segment(f, begun, i));
    assert_true(send_segment(f, begun, wire_segment_count(BLOCK, SEGMENT) - 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "ffu");
    send_void(f, 3, 2 * BLOCK, BLOCK); /* what only takes away is always done */
    expect_ack(f, WRITE_DONE, STATUS_OK);
    read_at(f, 0, BLOCK);
    assert_int_not_equal(f->sent, 0);
    imd_data_pace(f->d, false);
    send_all(f, write_of(4, 2 * BLOCK, BLOCK));
}

CASE(pace__a_read_is_asked_to_come_again)
{
    Fixture *f = *state;
    WireRead m = {.ask = 9, .address = the_address(), .len = 100, .segment = SEGMENT, .want = 1};
    imd_data_busy(f->d, &sessions[SESSION_ONE], &m);
    assert_int_equal(f->type, WIRE_DATA);
    assert_int_equal(f->data.ask, 9);
    assert_int_equal(f->data.index, WIRE_INDEX_NONE);
    assert_int_equal(f->data.status, STATUS_BUSY);
    assert_int_equal(imd_data_stats(f->d)->busy, 1);
}
