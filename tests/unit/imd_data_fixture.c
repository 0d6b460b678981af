/* SPDX-License-Identifier: MIT */
#include "tests/unit/imd_data_fixture.h"

int sessions[2];

void fake_random(void *ctx, void *buf, size_t len)
{
    Fixture *f = ctx;
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)mix64(++f->random);
}

void sink_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
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

void sink_burst(void *ctx, void *session, const Burst *burst)
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

ImdRegion region_named(uint64_t id, uint64_t pool_offset, uint64_t len)
{
    return (ImdRegion){.region = id,
                       .opening = 1,
                       .capability = {{1, 2, 3, (uint8_t)id}},
                       .pool_offset = pool_offset,
                       .len = len};
}

RegionAddress address_of(const ImdRegion *r)
{
    return (RegionAddress){EPOCH, r->region, r->opening, r->capability};
}

RegionAddress the_address(void)
{
    ImdRegion r = region_named(REGION, 3 * BLOCK, REGION_BYTES);
    return address_of(&r);
}

int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    f->now_ns = NS_PER_S;
    Env env = {.random = fake_random, .ctx = f};
    ImdDataSink sink = {.message = sink_message, .burst = sink_burst, .ctx = f};
    ImdDataConfig config = {.epoch = EPOCH,
                            .pool = f->pool,
                            .pool_bytes = POOL_BYTES,
                            .writes_max = 4,
                            .write_age_ns = WRITE_AGE_NS,
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

int teardown(void **state)
{
    Fixture *f = *state;
    imd_data_free(f->d);
    free(f);
    return 0;
}

/* ---- one message in ------------------------------------------------------------------------- */

void input(Fixture *f, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    /* exactly as large as it is, so that a sanitizer sees a read beyond it */
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, payload, len);
    f->type = 0;
    f->sent = 0;
    imd_data_input(f->d, session, type, copy, len, f->now_ns);
    free(copy);
    assert_true(imd_data_check(f->d));
}

void read_as(Fixture *f, const RegionAddress *a, uint64_t offset, uint32_t len, uint16_t segment)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireRead m = {.ask = 9, .address = *a, .offset = offset, .len = len, .segment = segment};
    m.want = wire_segment_mask(wire_segment_count(len, segment));
    input(f, &sessions[SESSION_ONE], WIRE_READ, out, wire_read_encode(&m, out));
    assert_int_equal(f->type, WIRE_DATA);
    assert_int_equal(f->data.ask, 9);
    assert_ptr_equal(f->session, &sessions[SESSION_ONE]);
}

void read_at(Fixture *f, uint64_t offset, uint32_t len)
{
    RegionAddress a = the_address();
    read_as(f, &a, offset, len, SEGMENT);
    assert_int_equal(f->data.status, STATUS_OK);
}

WireWrite write_of(uint64_t number, uint64_t offset, uint32_t len)
{
    return (WireWrite){.address = the_address(),
                       .kind = WRITE_DATA,
                       .number = number,
                       .offset = offset,
                       .len = len,
                       .segment = SEGMENT};
}

WireWrite fill_of(uint64_t transfer, uint64_t number, uint64_t offset, uint32_t len)
{
    WireWrite m = write_of(number, offset, len);
    m.kind = WRITE_FILL;
    m.transfer = transfer;
    return m;
}

bool send_data(Fixture *f, void *session, WireWrite m, unsigned index, const uint8_t *data)
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

bool send_segment(Fixture *f, WireWrite m, unsigned index)
{
    return send_data(f, &sessions[SESSION_ONE], m, index, f->pattern);
}

void expect_ack(const Fixture *f, enum WriteState state, enum Status status)
{
    assert_int_equal(f->type, WIRE_WRITE_ACK);
    assert_int_equal(f->ack.state, state);
    assert_int_equal(f->ack.status, status);
}

void expect_refused(Fixture *f, WireWrite m, unsigned index, enum Status status)
{
    assert_true(send_segment(f, m, index));
    expect_ack(f, WRITE_REFUSED, status);
}

void send_all(Fixture *f, WireWrite m)
{
    unsigned count = wire_segment_count(m.len, m.segment);
    for (unsigned i = 0; i + 1 < count; i++)
        assert_false(send_segment(f, m, i));
    assert_true(send_segment(f, m, count - 1));
    expect_ack(f, WRITE_DONE, STATUS_OK);
}

void send_void(Fixture *f, uint64_t number, uint64_t offset, uint32_t len)
{
    WireWrite m = write_of(number, offset, len);
    m.kind = WRITE_VOID;
    assert_true(send_segment(f, m, WIRE_INDEX_NONE));
}

void expect_filled(Fixture *f, const char *blocks)
{
    for (unsigned i = 0; blocks[i]; i++)
        assert_int_equal(imd_data_block_filled(f->d, REGION, i), blocks[i] == 'f');
}

const uint8_t *memory_at(const Fixture *f, uint64_t offset)
{
    return f->pool + 3 * BLOCK + offset;
}
