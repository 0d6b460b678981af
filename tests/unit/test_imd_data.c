/* SPDX-License-Identifier: MIT */
/* The data core: reads, addresses, and a region's life. */
#include "imd/data_priv.h"
#include "tests/lib/case.h"
#include "tests/unit/imd_data_fixture.h"

#define CASE(name) TEST_WITH(name, setup, teardown)

/* ---- reads ---------------------------------------------------------------------------------- */

CASE(read__unfilled_first)
{
    Fixture *f = *state;
    read_at(f, 0, 2 * BLOCK);
    assert_int_equal(f->data.index, WIRE_INDEX_NONE);
    assert_int_equal(f->data.filled, 0);
    assert_int_equal(f->sent, 0);
    assert_int_equal(imd_data_stats(f->d)->reads_unfilled, 1);
    assert_int_equal(imd_data_stats(f->d)->read_bytes, 0);
}

CASE(read__sends_what_touches_only_filled_blocks)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    send_all(f, write_of(1, BLOCK, BLOCK));     /* block 1 */
    send_all(f, write_of(2, 3 * BLOCK, BLOCK)); /* block 3 */
    read_at(f, 0, 4 * BLOCK);
    assert_int_equal(f->sent, 0xf0f0);
    assert_int_equal(f->data.filled, 0xa);
    assert_memory_equal(f->got + BLOCK, f->pattern, BLOCK);
    assert_memory_equal(f->got + 3 * BLOCK, f->pattern, BLOCK);
    /* segments that lie across blocks: the second ends 400 bytes into the unfilled block 2 */
    read_as(f, &a, BLOCK + 400, BLOCK, 2048);
    assert_int_equal(f->sent, 1);
    assert_int_equal(f->data.filled, 1);
    assert_memory_equal(f->got, f->pattern + 400, 2048);
}

CASE(read__sends_only_what_is_wanted)
{
    Fixture *f = *state;
    uint8_t out[WIRE_PAYLOAD_MAX];
    send_all(f, write_of(1, 0, 2 * BLOCK));
    WireRead m = {.ask = 9,
                  .address = the_address(),
                  .offset = 0,
                  .len = 2 * BLOCK,
                  .segment = SEGMENT,
                  .want = 0x42};
    input(f, &sessions[SESSION_ONE], WIRE_READ, out, wire_read_encode(&m, out));
    assert_int_equal(f->sent, 0x42);
    assert_int_equal(f->data.filled, 3);
    assert_int_equal(imd_data_stats(f->d)->read_bytes, 2 * SEGMENT);
}

CASE(read__range)
{
    static const struct {
        uint64_t offset;
        uint32_t len;
        uint16_t status;
    } cases[] = {
        {REGION_BYTES - 1, 1, STATUS_OK},      {REGION_BYTES - BLOCK, BLOCK, STATUS_OK},
        {REGION_BYTES, 1, STATUS_INVALID},     {REGION_BYTES - 1, 2, STATUS_INVALID},
        {0, REGION_BYTES + 1, STATUS_INVALID}, {UINT64_MAX - BLOCK, BLOCK, STATUS_INVALID},
    };
    Fixture *f = *state;
    RegionAddress a = the_address();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_as(f, &a, cases[i].offset, cases[i].len, SEGMENT);
        assert_int_equal(f->data.status, cases[i].status);
        assert_int_equal(f->data.index, WIRE_INDEX_NONE);
    }
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void expect_denied(Fixture *f, const RegionAddress *a, enum Status status)
{
    WireWrite m = write_of(1, 0, 100);
    uint8_t before[100];
    memcpy(before, memory_at(f, 0), sizeof before);
    read_as(f, a, 0, 100, SEGMENT);
    assert_int_equal(f->data.status, status);
    assert_int_equal(f->data.filled, 0);
    m.address = *a;
    expect_refused(f, m, 0, status);
    m.kind = WRITE_VOID;
    expect_refused(f, m, WIRE_INDEX_NONE, status);
    m.kind = WRITE_FILL;
    m.transfer = 1;
    expect_refused(f, m, 0, status);
    assert_memory_equal(before, memory_at(f, 0), sizeof before);
}

CASE(address__epoch)
{
    RegionAddress a = the_address();
    a.epoch++;
    expect_denied(*state, &a, STATUS_EPOCH);
}

CASE(address__region_id)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    a.region++;
    expect_denied(f, &a, STATUS_GONE);
    assert_int_equal(imd_data_stats(f->d)->denied, 4);
}

CASE(address__opening)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    a.opening++;
    expect_denied(f, &a, STATUS_GONE);
    assert_int_equal(imd_data_stats(f->d)->denied, 4);
}

CASE(address__capability)
{
    Fixture *f = *state;
    for (unsigned i = 0; i < 16; i++) {
        RegionAddress a = the_address();
        a.capability.bytes[i] ^= 0x80;
        expect_denied(f, &a, STATUS_GONE);
    }
    assert_int_equal(imd_data_stats(f->d)->denied, 16 * 4);
}

/* ---- a region's life ------------------------------------------------------------------------ */

CASE(region__drop)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    ImdRegion second = region_named(6, 3 * BLOCK, REGION_BYTES);
    size_t bytes = imd_data_bytes(f->d);
    assert_false(send_segment(f, write_of(1, 0, BLOCK), 0));
    assert_false(send_segment(f, fill_of(1, 0, BLOCK, BLOCK), 0));
    assert_true(imd_data_bytes(f->d) > bytes);
    imd_data_drop(f->d, REGION);
    imd_data_drop(f->d, REGION);
    assert_true(imd_data_idle(f->d));
    assert_int_equal(imd_data_regions(f->d), 0);
    expect_denied(f, &a, STATUS_GONE);
    /* the range of another region now */
    assert_int_equal(imd_data_add(f->d, &second), 0);
    assert_int_equal(imd_data_bytes(f->d), bytes);
    a = address_of(&second);
    read_as(f, &a, 0, REGION_BYTES, SEGMENT);
    assert_int_equal(f->data.filled, 0);
    assert_int_equal(f->sent, 0);
}

/* Who has not been read for longest gives way first. */
/* Of blocks that are farther apart than a chunk's can be, none is the same. */
TEST(blocks__in_common)
{
    const BlockSpan here = {.first = 100, .count = 2, .touched = 3};
    for (uint64_t first = 0; first < 200; first++) {
        const BlockSpan there = {.first = first, .count = 2, .touched = 3};
        uint32_t common = first == 99 ? 1 : first == 100 ? 3 : first == 101 ? 2 : 0;
        assert_int_equal(blocks_common(&here, &there, 3), common);
    }
}

CASE(region__use_is_noted)
{
    Fixture *f = *state;
    ImdSpace space = {.limit_bytes = UINT64_MAX};
    ImdRegion watched = region_named(6, 20 * BLOCK, 2 * BLOCK);
    watched.extents = extents_new(&space, watched.pool_offset, watched.len, 4 * BLOCK);
    assert_true(extents_take(watched.extents, 0, 1));
    assert_int_equal(imd_data_add(f->d, &watched), 0);
    RegionAddress a = address_of(&watched), other = a;
    f->now_ns = 100 * NS_PER_S;
    read_as(f, &a, 0, BLOCK, SEGMENT);
    assert_int_equal(extents_used(watched.extents, 0), imd_use_tick(100 * NS_PER_S));
    f->now_ns = 200 * NS_PER_S;
    other.capability.bytes[0] ^= 1;
    expect_denied(f, &other, STATUS_GONE);
    assert_int_equal(extents_used(watched.extents, 0), imd_use_tick(100 * NS_PER_S));
    read_as(f, &a, BLOCK, BLOCK, SEGMENT);
    assert_int_equal(extents_used(watched.extents, 0), imd_use_tick(200 * NS_PER_S));
    imd_data_drop(f->d, watched.region);
    watched.extents = extents_free(watched.extents);
}

CASE(region__close_and_reopen)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    Id128 capability = {{7}};
    send_all(f, write_of(1, 0, BLOCK));
    send_all(f, write_of(2, BLOCK, BLOCK));
    send_all(f, write_of(4, BLOCK, BLOCK)); /* before the one that is under way */
    assert_false(send_segment(f, write_of(3, BLOCK, BLOCK), 0));
    assert_false(send_segment(f, fill_of(1, 2, 2 * BLOCK, BLOCK), 0));
    imd_data_close(f->d, REGION);
    assert_true(imd_data_idle(f->d));
    read_as(f, &a, 0, BLOCK, SEGMENT);
    assert_int_equal(f->data.status, STATUS_GONE);
    expect_refused(f, write_of(3, BLOCK, BLOCK), 1, STATUS_GONE);
    expect_refused(f, fill_of(1, 2, 2 * BLOCK, BLOCK), 1, STATUS_GONE);

    imd_data_reopen(f->d, REGION, 2, &capability);
    read_as(f, &a, 0, BLOCK, SEGMENT);
    assert_int_equal(f->data.status, STATUS_GONE);
    a.opening = 2;
    a.capability = capability;
    read_as(f, &a, 0, 3 * BLOCK, SEGMENT);
    assert_int_equal(f->data.filled, 1); /* what was under way stays unfilled */
    assert_memory_equal(f->got, f->pattern, BLOCK);
    /* numbers start again, for writes and for fills */
    WireWrite m = fill_of(1, 0, BLOCK, BLOCK);
    m.address = a;
    send_all(f, m);
    for (uint64_t number = 1; number <= 4; number++) {
        m = write_of(number, 0, BLOCK);
        m.address = a;
        send_all(f, m);
    }
    assert_int_equal(imd_data_stats(f->d)->writes, 3 + 4);
    assert_int_equal(imd_data_stats(f->d)->writes_repeated, 0);
}

CASE(region__leave)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    send_all(f, write_of(1, 0, BLOCK));
    assert_false(send_segment(f, write_of(2, BLOCK, BLOCK), 0));
    imd_data_leave(f->d);
    assert_false(imd_data_idle(f->d));
    read_as(f, &a, 0, BLOCK, SEGMENT);
    assert_int_equal(f->data.status, STATUS_LEAVING);
    expect_refused(f, write_of(3, 0, BLOCK), 0, STATUS_LEAVING);
    expect_refused(f, fill_of(1, 2, 0, BLOCK), 0, STATUS_LEAVING);
    /* what is under way may finish, what is finished is acknowledged again */
    assert_true(send_segment(f, write_of(1, 0, BLOCK), 0));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    for (unsigned i = 1; i < 4; i++)
        send_segment(f, write_of(2, BLOCK, BLOCK), i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_true(imd_data_idle(f->d));
}

CASE(ping__is_echoed)
{
    Fixture *f = *state;
    uint8_t out[WIRE_PAYLOAD_MAX];
    WirePing m = {.nonce = 77};
    input(f, &sessions[SESSION_ONE], WIRE_PING, out, wire_ping_encode(&m, out));
    assert_int_equal(f->type, WIRE_PONG);
    assert_int_equal(f->pong.nonce, 77);
    assert_int_equal(f->pong.epoch, EPOCH);
    assert_int_equal(f->pong.flags, 0);
    imd_data_leave(f->d);
    input(f, &sessions[SESSION_ONE], WIRE_PING, out, wire_ping_encode(&m, out));
    assert_int_equal(f->pong.flags, PONG_LEAVING);
}

CASE(input__malformed_is_counted)
{
    static const uint8_t types[] = {
        0,         WIRE_READ,    WIRE_DATA,      WIRE_WRITE,   WIRE_PING,
        WIRE_PONG, WIRE_REQUEST, WIRE_WRITE_ACK, WIRE_GOODBYE, 255};
    Fixture *f = *state;
    uint8_t junk[200];
    memset(junk, 0xff, sizeof junk);
    for (size_t i = 0; i < sizeof types; i++)
        for (size_t len = 0; len <= sizeof junk; len++)
            input(f, &sessions[SESSION_ONE], types[i], junk, len);
    assert_int_equal(f->answers, 0);
    assert_int_equal(imd_data_stats(f->d)->malformed, sizeof types * (sizeof junk + 1));
}

CASE(data__memory_is_accounted_for)
{
    Fixture *f = *state;
    ImdRegion r;
    imd_data_drop(f->d, REGION);
    size_t empty = imd_data_bytes(f->d);
    r = region_named(1, 0, 1);
    imd_data_add(f->d, &r);
    size_t one = imd_data_bytes(f->d) - empty;
    r = region_named(2, BLOCK, 33 * BLOCK);
    imd_data_add(f->d, &r);
    /* 32 more blocks: a last write each; the bits fit into the same word */
    assert_int_equal(imd_data_bytes(f->d) - empty, 2 * one + 32 * 8);
    imd_data_drop(f->d, 1);
    imd_data_drop(f->d, 2);
    assert_int_equal(imd_data_bytes(f->d), empty);
}
