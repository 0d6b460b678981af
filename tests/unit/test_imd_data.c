/* SPDX-License-Identifier: MIT */
/* The data core, message by message: every rule it keeps, by name. Messages go in encoded and
 * come out decoded, as on the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/id.h"
#include "imd/data.h"

enum {
    BLOCK = WIRE_BLOCK_SIZE,
    POOL_BYTES = 64 * BLOCK,
    SEGMENT = 1024,
    EPOCH = 0x1122,
    REGION = 5,
    REGION_BYTES = 10 * BLOCK + 100, /* the last block is partial */
    PAYLOAD_MAX = WIRE_WRITE_HEADER_SIZE + WIRE_CHUNK_MAX,
};

typedef struct Fixture {
    uint8_t pool[POOL_BYTES];
    uint8_t pattern[WIRE_CHUNK_MAX]; /* what writes write */
    uint64_t random;
    ImdData *d;
    /* the last answer */
    unsigned answers;
    void *session;
    uint8_t type;
    WireWriteAck ack;
    WirePing pong;
    WireData data; /* of the last datagram */
    uint64_t sent; /* segments of the burst */
    uint8_t got[WIRE_CHUNK_MAX];
} Fixture;

static int session_one, session_two;

static void fake_random(void *ctx, void *buf, size_t len)
{
    Fixture *f = ctx;
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)mix64(++f->random);
}

static void sink_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    Fixture *f = ctx;
    f->answers++;
    f->session = session;
    f->type = type;
    assert_true(len <= WIRE_PAYLOAD_MAX);
    if (type == WIRE_WRITE_ACK)
        assert_int_equal(wire_write_ack_decode(payload, len, &f->ack), 0);
    else if (type == WIRE_DATA)
        assert_int_equal(wire_data_decode(payload, len, &f->data), 0);
    else if (type == WIRE_PONG)
        assert_int_equal(wire_ping_decode(payload, len, &f->pong), 0);
    else
        fail();
}

static void sink_burst(void *ctx, void *session, const Burst *burst)
{
    Fixture *f = ctx;
    static uint8_t out[PAYLOAD_MAX];
    f->answers++;
    f->session = session;
    f->type = burst->type;
    f->sent = burst->want;
    assert_int_equal(burst->type, WIRE_DATA);
    for (uint64_t left = burst->want; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        size_t len = burst_payload(burst, i, out);
        assert_int_equal(wire_data_decode(out, len, &f->data), 0);
        assert_int_equal(f->data.index, i);
        memcpy(f->got + (size_t)i * burst->segment, f->data.data, f->data.data_len);
    }
}

static ImdRegion region_named(uint64_t id, uint64_t pool_offset, uint64_t len)
{
    return (ImdRegion){.region = id,
                       .opening = 1,
                       .capability = {{1, 2, 3, (uint8_t)id}},
                       .pool_offset = pool_offset,
                       .len = len};
}

static RegionAddress address_of(const ImdRegion *r)
{
    return (RegionAddress){EPOCH, r->region, r->opening, r->capability};
}

static RegionAddress the_address(void)
{
    ImdRegion r = region_named(REGION, 3 * BLOCK, REGION_BYTES);
    return address_of(&r);
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    Env env = {.random = fake_random, .ctx = f};
    ImdDataSink sink = {.message = sink_message, .burst = sink_burst, .ctx = f};
    ImdDataConfig config = {.epoch = EPOCH,
                            .pool = f->pool,
                            .pool_bytes = POOL_BYTES,
                            .writes_max = 4,
                            .fills_max = 3,
                            .grant_bytes = 1 << 20};
    memset(f->pool, 0xee, sizeof f->pool); /* somebody else's bytes */
    fake_random(f, f->pattern, sizeof f->pattern);
    f->d = imd_data_new(&config, &env, &sink);
    ImdRegion r = region_named(REGION, 3 * BLOCK, REGION_BYTES);
    assert_int_equal(imd_data_add(f->d, &r), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    imd_data_free(f->d);
    free(f);
    return 0;
}

/* ---- one message in ------------------------------------------------------------------------- */

static void input(Fixture *f, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    /* exactly as large as it is, so that a sanitizer sees a read beyond it */
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, payload, len);
    f->type = 0;
    f->sent = 0;
    imd_data_input(f->d, session, type, copy, len, 1);
    free(copy);
}

static void read_as(Fixture *f, const RegionAddress *a, uint64_t offset, uint32_t len,
                    uint16_t segment)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireRead m = {.ask = 9, .address = *a, .offset = offset, .len = len, .segment = segment};
    m.want = wire_segment_mask(wire_segment_count(len, segment));
    input(f, &session_one, WIRE_READ, out, wire_read_encode(&m, out));
    assert_int_equal(f->type, WIRE_DATA);
    assert_int_equal(f->data.ask, 9);
    assert_ptr_equal(f->session, &session_one);
}

static void read_at(Fixture *f, uint64_t offset, uint32_t len)
{
    RegionAddress a = the_address();
    read_as(f, &a, offset, len, SEGMENT);
    assert_int_equal(f->data.status, STATUS_OK);
}

static WireWrite write_of(uint64_t number, uint64_t offset, uint32_t len)
{
    return (WireWrite){.address = the_address(),
                       .kind = WRITE_DATA,
                       .number = number,
                       .offset = offset,
                       .len = len,
                       .segment = SEGMENT};
}

static WireWrite fill_of(uint64_t transfer, uint64_t number, uint64_t offset, uint32_t len)
{
    WireWrite m = write_of(number, offset, len);
    m.kind = WRITE_FILL;
    m.transfer = transfer;
    return m;
}

/* Segment @index of @m, the chunk's data at @data; WIRE_INDEX_NONE polls. True: it was answered. */
static bool send_data(Fixture *f, void *session, WireWrite m, unsigned index, const uint8_t *data)
{
    static uint8_t out[PAYLOAD_MAX];
    unsigned answers = f->answers;
    m.index = (uint16_t)index;
    size_t len = wire_write_encode_header(&m, out);
    if (index != WIRE_INDEX_NONE) {
        size_t at = (size_t)index * m.segment;
        size_t n = m.len - at < m.segment ? m.len - at : m.segment;
        memcpy(out + len, data + at, n);
        len += n;
    }
    input(f, session, WIRE_WRITE, out, len);
    if (f->answers == answers)
        return false;
    assert_int_equal(f->answers, answers + 1);
    assert_int_equal(f->type, WIRE_WRITE_ACK);
    assert_ptr_equal(f->session, session);
    assert_int_equal(f->ack.number, m.number);
    assert_int_equal(f->ack.kind, m.kind);
    assert_int_equal(f->ack.transfer, m.transfer);
    return true;
}

static bool send_segment(Fixture *f, WireWrite m, unsigned index)
{
    return send_data(f, &session_one, m, index, f->pattern);
}

static void expect_ack(const Fixture *f, enum WriteState state, enum Status status)
{
    assert_int_equal(f->type, WIRE_WRITE_ACK);
    assert_int_equal(f->ack.state, state);
    assert_int_equal(f->ack.status, status);
}

static void expect_refused(Fixture *f, WireWrite m, unsigned index, enum Status status)
{
    assert_true(send_segment(f, m, index));
    expect_ack(f, WRITE_REFUSED, status);
}

/* All segments in order: one answer, at the end. */
static void send_all(Fixture *f, WireWrite m)
{
    unsigned count = wire_segment_count(m.len, m.segment);
    for (unsigned i = 0; i + 1 < count; i++)
        assert_false(send_segment(f, m, i));
    assert_true(send_segment(f, m, count - 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
}

static void send_void(Fixture *f, uint64_t number, uint64_t offset, uint32_t len)
{
    WireWrite m = write_of(number, offset, len);
    m.kind = WRITE_VOID;
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
}

static void expect_filled(Fixture *f, const char *blocks)
{
    for (unsigned i = 0; blocks[i]; i++)
        assert_int_equal(imd_data_block_filled(f->d, REGION, i), blocks[i] == 'f');
}

static const uint8_t *memory_at(const Fixture *f, uint64_t offset)
{
    return f->pool + 3 * BLOCK + offset;
}

/* ---- reads ---------------------------------------------------------------------------------- */

static void read__unfilled_first(void **state)
{
    Fixture *f = *state;
    read_at(f, 0, 2 * BLOCK);
    assert_int_equal(f->data.index, WIRE_INDEX_NONE);
    assert_int_equal(f->data.filled, 0);
    assert_int_equal(f->sent, 0);
    assert_int_equal(imd_data_stats(f->d)->reads_unfilled, 1);
    assert_int_equal(imd_data_stats(f->d)->read_bytes, 0);
}

static void read__sends_what_touches_only_filled_blocks(void **state)
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

static void read__sends_only_what_is_wanted(void **state)
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
    input(f, &session_one, WIRE_READ, out, wire_read_encode(&m, out));
    assert_int_equal(f->sent, 0x42);
    assert_int_equal(f->data.filled, 3);
    assert_int_equal(imd_data_stats(f->d)->read_bytes, 2 * SEGMENT);
}

static void read__range(void **state)
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

static void address__epoch(void **state)
{
    RegionAddress a = the_address();
    a.epoch++;
    expect_denied(*state, &a, STATUS_EPOCH);
}

static void address__region_id(void **state)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    a.region++;
    expect_denied(f, &a, STATUS_GONE);
    assert_int_equal(imd_data_stats(f->d)->denied, 4);
}

static void address__opening(void **state)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    a.opening++;
    expect_denied(f, &a, STATUS_GONE);
    assert_int_equal(imd_data_stats(f->d)->denied, 4);
}

static void address__capability(void **state)
{
    Fixture *f = *state;
    for (unsigned i = 0; i < 16; i++) {
        RegionAddress a = the_address();
        a.capability.bytes[i] ^= 0x80;
        expect_denied(f, &a, STATUS_GONE);
    }
    assert_int_equal(imd_data_stats(f->d)->denied, 16 * 4);
}

/* ---- writes --------------------------------------------------------------------------------- */

static void write__unfills_until_its_last_segment(void **state)
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

static void write__poll_opens_and_unfills(void **state)
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

static void write__partial_write(void **state)
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

static void write__to_the_regions_end(void **state)
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

static void write__gap_is_told_once(void **state)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 0, 4 * BLOCK);
    assert_false(send_segment(f, m, 0));
    assert_true(send_segment(f, m, 3)); /* 1 and 2 are missing */
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 9);
    assert_false(send_segment(f, m, 4));
    assert_false(send_segment(f, m, 4));
    assert_false(send_segment(f, m, 1));
    assert_true(send_segment(f, m, 6)); /* another gap */
    assert_int_equal(f->ack.received, 0x5b);
    assert_false(send_segment(f, m, 5));
    assert_false(send_segment(f, m, 2));
    for (unsigned i = 7; i < 15; i++)
        assert_false(send_segment(f, m, i));
    assert_true(send_segment(f, m, 15));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_memory_equal(memory_at(f, 0), f->pattern, 4 * BLOCK);
}

static void write__first_segments_lost_is_a_gap(void **state)
{
    Fixture *f = *state;
    assert_true(send_segment(f, write_of(1, 0, BLOCK), 2));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 4);
}

static void write__once(void **state)
{
    Fixture *f = *state;
    uint8_t other[BLOCK];
    memset(other, 0x55, sizeof other);
    send_all(f, write_of(1, 0, 1000));
    send_all(f, write_of(3, 0, 1000)); /* above the watermark: in the map */
    for (uint64_t number = 1; number <= 3; number += 2) {
        assert_true(send_data(f, &session_one, write_of(number, 0, 1000), 0, other));
        expect_ack(f, WRITE_DONE, STATUS_OK);
        assert_true(send_data(f, &session_two, write_of(number, 0, 1000), WIRE_INDEX_NONE, NULL));
        expect_ack(f, WRITE_DONE, STATUS_OK);
        assert_memory_equal(memory_at(f, 0), f->pattern, 1000);
    }
    assert_true(imd_data_idle(f->d));
    assert_int_equal(imd_data_stats(f->d)->writes_repeated, 4);
    /* the one between was never here */
    send_all(f, write_of(2, 2000, 1000));
    assert_int_equal(imd_data_stats(f->d)->writes, 3);
}

static void write__numbers_window(void **state)
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

static void write__other_chunk_of_the_same_number(void **state)
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

static void write__cut_anew_starts_anew(void **state)
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

static void write__busy(void **state)
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

static void write__grant_is_shared(void **state)
{
    Fixture *f = *state;
    assert_true(send_segment(f, write_of(1, 0, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, 1 << 20);
    assert_true(send_segment(f, write_of(2, BLOCK, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.grant, 1 << 19);
}

static void write__alone_is_granted_a_chunk(void **state)
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
static void write__beside_another_in_one_block(void **state)
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

static void void__ends_the_write(void **state)
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

static void void__of_a_finished_or_unseen_write(void **state)
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

static void void__is_not_forgotten_by_a_write_under_way(void **state)
{
    Fixture *f = *state;
    send_all(f, write_of(1, 0, 3 * BLOCK));
    WireWrite m = write_of(2, BLOCK + 100, 2 * SEGMENT); /* part of block 1, which was filled */
    assert_false(send_segment(f, m, 0));
    send_void(f, 1, 0, 3 * BLOCK);
    assert_true(send_segment(f, m, 1));
    expect_filled(f, "uuu");
}

/* ---- fills ---------------------------------------------------------------------------------- */

static void fill__complete(void **state)
{
    Fixture *f = *state;
    WireWrite m = fill_of(7, 0, 0, 3 * BLOCK);
    for (unsigned i = 0; i < 11; i++) {
        assert_false(send_segment(f, m, i));
        expect_filled(f, "uuu");
    }
    assert_true(send_segment(f, m, 11));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fffu");
    assert_memory_equal(memory_at(f, 0), f->pattern, 3 * BLOCK);
    /* late duplicates and polls of it */
    assert_true(send_segment(f, m, 3));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_int_equal(imd_data_stats(f->d)->fills, 1);
    assert_int_equal(imd_data_stats(f->d)->fill_bytes, 3 * BLOCK);
}

static void fill__takes_only_whole_blocks(void **state)
{
    Fixture *f = *state;
    send_all(f, fill_of(1, 0, 100, 2 * BLOCK)); /* part of 0, all of 1, part of 2 */
    expect_filled(f, "ufu");
    assert_int_equal(*memory_at(f, 100), 0xee);
    assert_int_equal(*memory_at(f, 2 * BLOCK), 0xee);
    assert_memory_equal(memory_at(f, BLOCK), f->pattern + BLOCK - 100, BLOCK);
    send_all(f, fill_of(2, 0, 9 * BLOCK, BLOCK + 100)); /* to the region's end */
    assert_true(imd_data_block_filled(f->d, REGION, 10));
}

static void fill__skips_filled_blocks(void **state)
{
    Fixture *f = *state;
    uint8_t file[3 * BLOCK];
    memset(file, 0x77, sizeof file);
    send_all(f, write_of(1, BLOCK, BLOCK));
    WireWrite m = fill_of(1, 1, 0, 3 * BLOCK);
    for (unsigned i = 0; i < 12; i++)
        send_data(f, &session_one, m, i, file);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    expect_filled(f, "fff");
    assert_memory_equal(memory_at(f, 0), file, BLOCK);
    assert_memory_equal(memory_at(f, BLOCK), f->pattern, BLOCK);
    assert_memory_equal(memory_at(f, 2 * BLOCK), file, BLOCK);
}

static void fill__counter(void **state)
{
    Fixture *f = *state;
    send_all(f, write_of(1, BLOCK + 5, 10));
    expect_refused(f, fill_of(1, 0, 0, 3 * BLOCK), 0, STATUS_STALE);
    assert_int_equal(*memory_at(f, 0), 0xee);
    assert_int_equal(imd_data_stats(f->d)->fills_refused, 1);
    send_all(f, fill_of(2, 0, 2 * BLOCK, BLOCK)); /* not that block */
    send_all(f, fill_of(3, 1, 0, 2 * BLOCK));
    expect_filled(f, "fff");
}

static void fill__overtaken_while_under_way(void **state)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, 2 * BLOCK);
    for (unsigned i = 0; i < 7; i++)
        assert_false(send_segment(f, m, i));
    send_all(f, write_of(1, 10, 10)); /* leaves block 0 unfilled */
    expect_refused(f, m, 7, STATUS_STALE);
    expect_filled(f, "uu");
    expect_refused(f, m, WIRE_INDEX_NONE, STATUS_STALE);
}

static void fill__beside_a_write(void **state)
{
    Fixture *f = *state;
    WireWrite m = write_of(1, 2 * BLOCK, 2 * SEGMENT);
    assert_false(send_segment(f, m, 0));
    expect_refused(f, fill_of(1, 1, 0, 3 * BLOCK), 0, STATUS_STALE); /* even as new as it */
    send_all(f, fill_of(2, 1, 0, 2 * BLOCK));
    assert_true(send_segment(f, m, 1));
    send_all(f, fill_of(3, 1, 0, 3 * BLOCK));
    expect_filled(f, "fff");
}

/* A block that was filled when one of its segments came is not filled by this fill. */
static void fill__complete_after_a_void_between(void **state)
{
    Fixture *f = *state;
    send_all(f, write_of(1, BLOCK, BLOCK));
    WireWrite m = fill_of(1, 1, 0, 2 * BLOCK);
    for (unsigned i = 0; i < 6; i++)
        assert_false(send_segment(f, m, i)); /* two of block 1 are skipped */
    send_void(f, 1, BLOCK, BLOCK);
    assert_false(send_segment(f, m, 6));
    assert_true(send_segment(f, m, 7));
    expect_filled(f, "fu");
}

static void fill__oldest_gives_way(void **state)
{
    Fixture *f = *state;
    size_t bytes = 0;
    for (uint64_t t = 1; t <= 4; t++) {
        assert_false(send_segment(f, fill_of(t, 0, t * BLOCK, BLOCK), 0));
        if (t == 3)
            bytes = imd_data_bytes(f->d);
    }
    assert_int_equal(imd_data_bytes(f->d), bytes);
    assert_true(send_segment(f, fill_of(4, 0, 4 * BLOCK, BLOCK), WIRE_INDEX_NONE));
    assert_int_equal(f->ack.received, 1);
    /* the first is not known any more, and begins anew */
    assert_true(send_segment(f, fill_of(1, 0, BLOCK, BLOCK), WIRE_INDEX_NONE));
    expect_ack(f, WRITE_OPEN, STATUS_OK);
    assert_int_equal(f->ack.received, 0);
}

static void fill__names_are_a_sessions_own(void **state)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, BLOCK);
    assert_false(send_data(f, &session_one, m, 0, f->pattern));
    assert_false(send_data(f, &session_one, m, 1, f->pattern));
    assert_true(send_data(f, &session_two, m, 2, f->pattern));
    assert_int_equal(f->ack.received, 4);
    imd_data_session_closed(f->d, &session_one);
    assert_true(send_data(f, &session_one, m, WIRE_INDEX_NONE, NULL));
    assert_int_equal(f->ack.received, 0);
    assert_true(send_data(f, &session_two, m, WIRE_INDEX_NONE, NULL));
    assert_int_equal(f->ack.received, 4);
}

static void fill__other_chunk_of_the_same_name(void **state)
{
    Fixture *f = *state;
    WireWrite m = fill_of(1, 0, 0, BLOCK);
    assert_false(send_segment(f, m, 0));
    expect_refused(f, fill_of(1, 0, BLOCK, BLOCK), 0, STATUS_INVALID);
    expect_refused(f, fill_of(1, 5, 0, BLOCK), 0, STATUS_INVALID);
    for (unsigned i = 1; i < 4; i++)
        send_segment(f, m, i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
}

/* ---- a region's life ------------------------------------------------------------------------ */

static void region__drop(void **state)
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

static void region__close_and_reopen(void **state)
{
    Fixture *f = *state;
    RegionAddress a = the_address();
    Id128 capability = {{7}};
    send_all(f, write_of(1, 0, BLOCK));
    send_all(f, write_of(2, BLOCK, BLOCK));
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
    /* numbers start anew, for writes and for fills */
    WireWrite m = fill_of(1, 0, BLOCK, BLOCK);
    m.address = a;
    send_all(f, m);
    m = write_of(1, 0, BLOCK);
    m.address = a;
    send_all(f, m);
    assert_int_equal(imd_data_stats(f->d)->writes, 3);
}

static void region__leave(void **state)
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
    /* what is under way may finish, what is finished is told again */
    assert_true(send_segment(f, write_of(1, 0, BLOCK), 0));
    expect_ack(f, WRITE_DONE, STATUS_OK);
    for (unsigned i = 1; i < 4; i++)
        send_segment(f, write_of(2, BLOCK, BLOCK), i);
    expect_ack(f, WRITE_DONE, STATUS_OK);
    assert_true(imd_data_idle(f->d));
}

static void ping__is_echoed(void **state)
{
    Fixture *f = *state;
    uint8_t out[WIRE_PAYLOAD_MAX];
    WirePing m = {.nonce = 77};
    input(f, &session_one, WIRE_PING, out, wire_ping_encode(&m, out));
    assert_int_equal(f->type, WIRE_PONG);
    assert_int_equal(f->pong.nonce, 77);
    assert_int_equal(f->pong.epoch, EPOCH);
    assert_int_equal(f->pong.flags, 0);
    imd_data_leave(f->d);
    input(f, &session_one, WIRE_PING, out, wire_ping_encode(&m, out));
    assert_int_equal(f->pong.flags, PONG_LEAVING);
}

static void input__malformed_is_counted(void **state)
{
    static const uint8_t types[] = {
        0,         WIRE_READ,    WIRE_DATA,      WIRE_WRITE,   WIRE_PING,
        WIRE_PONG, WIRE_REQUEST, WIRE_WRITE_ACK, WIRE_GOODBYE, 255};
    Fixture *f = *state;
    uint8_t junk[200];
    memset(junk, 0xff, sizeof junk);
    for (size_t i = 0; i < sizeof types; i++)
        for (size_t len = 0; len <= sizeof junk; len++)
            input(f, &session_one, types[i], junk, len);
    assert_int_equal(f->answers, 0);
    assert_int_equal(imd_data_stats(f->d)->malformed, sizeof types * (sizeof junk + 1));
}

static void data__memory_is_accounted_for(void **state)
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

/* ---- at random: one honest client, a lossy and repeating network, a file -----------------------
 */

typedef struct World {
    Fixture *f;
    uint64_t seed;
    uint8_t file[REGION_BYTES];
    uint64_t number, transfer;
    struct {
        WireWrite m;
        uint8_t data[WIRE_CHUNK_MAX];
    } past[8]; /* chunks sent before: duplicates of them come late */
    unsigned past_count;
} World;

static uint64_t draw(World *w, uint64_t below)
{
    w->seed += 0x9e3779b97f4a7c15ull;
    return mix64(w->seed) % below;
}

static void world_late_duplicate(World *w)
{
    if (w->past_count == 0)
        return;
    unsigned i = (unsigned)draw(w, w->past_count < 8 ? w->past_count : 8);
    const WireWrite *m = &w->past[i].m;
    unsigned count = wire_segment_count(m->len, m->segment);
    unsigned index = (unsigned)draw(w, count + 1);
    /* of finished ones only: a poll or part of an aborted write would rightly count */
    send_data(w->f, &session_one, *m, index == count ? WIRE_INDEX_NONE : index, w->past[i].data);
}

static void world_remember(World *w, const WireWrite *m, const uint8_t *data)
{
    unsigned i = w->past_count++ % 8;
    w->past[i].m = *m;
    memcpy(w->past[i].data, data, m->len);
}

/* Sends a chunk until it is answered for good; segments are lost, repeated, out of order. */
static void world_send(World *w, WireWrite m, const uint8_t *data, unsigned tries)
{
    uint64_t missing = wire_segment_mask(wire_segment_count(m.len, m.segment));
    for (unsigned t = 0; t < tries; t++) {
        for (uint64_t left = missing; left; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            if (draw(w, 10) < 3)
                continue;
            send_data(w->f, &session_one, m, i, data);
            if (draw(w, 10) < 2)
                world_late_duplicate(w);
        }
        assert_true(send_data(w->f, &session_one, m, WIRE_INDEX_NONE, NULL));
        if (w->f->ack.state != WRITE_OPEN)
            break;
        missing &= ~w->f->ack.received;
    }
    world_remember(w, &m, data);
}

/* A range that ends at a block's end, like a client's chunks. */
static void world_range(World *w, uint64_t *offset, uint32_t *len)
{
    *offset = draw(w, REGION_BYTES);
    uint64_t most = REGION_BYTES - *offset;
    *len = (uint32_t)(1 + draw(w, most < 3 * BLOCK ? most : 3 * BLOCK));
}

static void world_write(World *w)
{
    static uint8_t data[WIRE_CHUNK_MAX];
    uint64_t offset;
    uint32_t len;
    world_range(w, &offset, &len);
    memset(data, (int)draw(w, 256), len);
    data[0] = (uint8_t)draw(w, 256);
    WireWrite m = write_of(++w->number, offset, len);
    world_send(w, m, data, draw(w, 8) == 0 ? 1 : 100);
    bool done = w->f->ack.state == WRITE_DONE;
    if (done && draw(w, 8) != 0) {
        memcpy(w->file + offset, data, len);
        return;
    }
    /* the file half failed, perhaps half-way */
    memcpy(w->file + offset, data, draw(w, len + 1));
    send_void(w->f, w->number, offset, len);
    expect_ack(w->f, WRITE_DONE, STATUS_OK);
}

static void world_fill(World *w)
{
    static uint8_t data[WIRE_CHUNK_MAX];
    uint64_t offset;
    uint32_t len;
    world_range(w, &offset, &len);
    memcpy(data, w->file + offset, len);
    WireWrite m = fill_of(++w->transfer, w->number, offset, len);
    while (draw(w, 3) == 0)
        world_write(w); /* between the file read and the fill: it must not overtake */
    world_send(w, m, data, 100);
}

static void world_check(World *w)
{
    Fixture *f = w->f;
    read_at(f, 0, REGION_BYTES);
    for (uint64_t left = f->sent; left; left &= left - 1) {
        uint64_t at = (uint64_t)__builtin_ctzll(left) * SEGMENT;
        size_t n = REGION_BYTES - at < SEGMENT ? REGION_BYTES - at : SEGMENT;
        assert_memory_equal(f->got + at, w->file + at, n);
    }
}

static void data__random_against_a_file(void **state)
{
    World *w = calloc(1, sizeof *w);
    w->f = *state;
    w->seed = 42;
    for (unsigned i = 0; i < 3000; i++) {
        if (draw(w, 2))
            world_write(w);
        else
            world_fill(w);
        world_check(w);
    }
    const ImdDataStats *s = imd_data_stats(w->f->d);
    assert_true(s->fills > 100 && s->fills_refused > 100 && s->writes_repeated > 100);
    assert_true(s->voided > 100 && s->read_bytes > 3000 * BLOCK);
    assert_true(imd_data_idle(w->f->d));
    free(w);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(read__unfilled_first),
        T(read__sends_what_touches_only_filled_blocks),
        T(read__sends_only_what_is_wanted),
        T(read__range),
        T(address__epoch),
        T(address__region_id),
        T(address__opening),
        T(address__capability),
        T(write__unfills_until_its_last_segment),
        T(write__poll_opens_and_unfills),
        T(write__partial_write),
        T(write__to_the_regions_end),
        T(write__gap_is_told_once),
        T(write__first_segments_lost_is_a_gap),
        T(write__once),
        T(write__numbers_window),
        T(write__other_chunk_of_the_same_number),
        T(write__cut_anew_starts_anew),
        T(write__busy),
        T(write__grant_is_shared),
        T(write__alone_is_granted_a_chunk),
        T(write__beside_another_in_one_block),
        T(void__ends_the_write),
        T(void__of_a_finished_or_unseen_write),
        T(void__is_not_forgotten_by_a_write_under_way),
        T(fill__complete),
        T(fill__takes_only_whole_blocks),
        T(fill__skips_filled_blocks),
        T(fill__counter),
        T(fill__overtaken_while_under_way),
        T(fill__beside_a_write),
        T(fill__complete_after_a_void_between),
        T(fill__oldest_gives_way),
        T(fill__names_are_a_sessions_own),
        T(fill__other_chunk_of_the_same_name),
        T(region__drop),
        T(region__close_and_reopen),
        T(region__leave),
        T(ping__is_echoed),
        T(input__malformed_is_counted),
        T(data__memory_is_accounted_for),
        T(data__random_against_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
