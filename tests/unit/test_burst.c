/* SPDX-License-Identifier: MIT */
/* Bursts become the datagrams that the decoders understand, each with its own slice. */
#include <string.h>

#include "base/cleanup.h"
#include "proto/burst.h"
#include "tests/lib/case.h"

static uint8_t source[WIRE_CHUNK_MAX];
static uint8_t out[WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX];

static int fill_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)(i * 7 + i / 251);
    return 0;
}

static const struct Shape {
    uint32_t len;
    uint16_t segment;
    unsigned count, last_len;
} shapes[] = {
    {1, 896, 1, 1},
    {896, 896, 1, 896},
    {897, 896, 2, 1},
    {8192, 1400, 6, 1192},
    {WIRE_CHUNK_MAX, 896, 64, 896},
    {WIRE_CHUNK_MAX, 8000, 8, 1344},
    {WIRE_CHUNK_MAX, WIRE_SEGMENT_MAX, 1, WIRE_CHUNK_MAX},
};

TEST(burst_segment_len__only_the_last_is_short)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const struct Shape *s = &shapes[i];
        Burst b;
        burst_init_data(&b, &(WireData){.ask = 1}, s->len, s->segment, 1, source);
        for (unsigned k = 0; k + 1 < s->count; k++)
            assert_int_equal(burst_segment_len(&b, k), s->segment);
        assert_int_equal(burst_segment_len(&b, s->count - 1), s->last_len);
    }
}

TEST(burst_payload__data)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const struct Shape *s = &shapes[i];
        WireData m = {.ask = 0x123456789a, .filled = 0x2f, .index = 77}, back;
        Burst b;
        burst_init_data(&b, &m, s->len, s->segment, wire_segment_mask(s->count), source);
        assert_int_equal(b.type, WIRE_DATA);
        for (unsigned k = 0; k < s->count; k++) {
            size_t n = burst_payload(&b, k, out);
            assert_int_equal(n, WIRE_DATA_HEADER_SIZE + burst_segment_len(&b, k));
            assert_int_equal(wire_data_decode(out, n, &back), 0);
            assert_int_equal(back.ask, m.ask);
            assert_int_equal(back.filled, m.filled);
            assert_int_equal(back.index, k);
            assert_int_equal(back.status, STATUS_OK);
            assert_memory_equal(back.data, source + (size_t)k * s->segment, back.data_len);
        }
    }
}

TEST(burst_payload__write)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        const struct Shape *s = &shapes[i];
        WireWrite m = {.address = {.epoch = 1, .region = 2, .opening = 3, .capability = {{4}}},
                       .kind = WRITE_FILL,
                       .index = WIRE_INDEX_NONE,
                       .number = 5,
                       .transfer = 6,
                       .offset = 4096,
                       .len = s->len,
                       .segment = s->segment};
        WireWrite back;
        Burst b;
        burst_init_write(&b, &m, wire_segment_mask(s->count), source);
        assert_int_equal(b.type, WIRE_WRITE);
        for (unsigned k = 0; k < s->count; k++) {
            size_t n = burst_payload(&b, k, out);
            assert_int_equal(wire_write_decode(out, n, &back), 0);
            assert_int_equal(back.index, k);
            assert_int_equal(back.kind, WRITE_FILL);
            assert_int_equal(back.number, 5);
            assert_int_equal(back.transfer, 6);
            assert_int_equal(back.offset, 4096);
            assert_int_equal(back.len, s->len);
            assert_int_equal(back.data_len, burst_segment_len(&b, k));
            assert_memory_equal(back.data, source + (size_t)k * s->segment, back.data_len);
        }
    }
}

int main(void)
{
    return cases_run(fill_source, NULL);
}
