/* SPDX-License-Identifier: MIT */
/* Bursts of DATA and WRITE, made datagram by datagram. */
#include "proto/burst.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

static void burst_init(Burst *b, uint32_t len, uint16_t segment, uint64_t want, const uint8_t *data)
{
    assert(len > 0 && segment > 0 && want != 0 && data);
    assert((want & ~wire_segment_mask(wire_segment_count(len, segment))) == 0);
    b->segment = segment;
    b->len = len;
    b->want = want;
    b->data = data;
}

void burst_init_data(Burst *b, const WireData *m, uint32_t len, uint16_t segment, uint64_t want,
                     const uint8_t *data)
{
    burst_init(b, len, segment, want, data);
    b->type = WIRE_DATA;
    b->index_at = WIRE_DATA_INDEX_AT;
    b->header_len = (uint8_t)wire_data_encode_header(m, b->header);
}

void burst_init_write(Burst *b, const WireWrite *m, uint64_t want, const uint8_t *data)
{
    burst_init(b, m->len, m->segment, want, data);
    b->type = WIRE_WRITE;
    b->index_at = WIRE_WRITE_INDEX_AT;
    b->header_len = (uint8_t)wire_write_encode_header(m, b->header);
}

size_t burst_segment_len(const Burst *b, unsigned index)
{
    size_t at = (size_t)index * b->segment;
    assert(at < b->len);
    return b->len - at < b->segment ? b->len - at : b->segment;
}

size_t burst_payload(const Burst *b, unsigned index, uint8_t *out)
{
    size_t n = burst_segment_len(b, index);
    memcpy(out, b->header, b->header_len);
    put_u16(out + b->index_at, (uint16_t)index);
    memcpy(out + b->header_len, b->data + (size_t)index * b->segment, n);
    return b->header_len + n;
}
