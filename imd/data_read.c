/* SPDX-License-Identifier: MIT */
/* READs: answered from what is filled at this moment, nothing is remembered. */
#include "imd/data_priv.h"

static void read_answer_none(ImdData *d, void *session, const WireRead *m, uint16_t status,
                             uint32_t filled)
{
    WireData answer = {.ask = m->ask, .index = WIRE_INDEX_NONE, .status = status, .filled = filled};
    uint8_t out[WIRE_DATA_HEADER_SIZE];
    d->sink.message(d->sink.ctx, session, WIRE_DATA, out, wire_data_encode_header(&answer, out));
}

void read_refuse(ImdData *d, void *session, const WireRead *m, enum Status status)
{
    read_answer_none(d, session, m, (uint16_t)status, 0);
}

/* Bytes of segment @index of the ask. */
static uint32_t segment_bytes(const WireRead *m, unsigned index)
{
    uint32_t at = index * (uint32_t)m->segment;
    return m->len - at < m->segment ? m->len - at : m->segment;
}

/* The segments of @m->want that touch only filled blocks. */
static uint64_t segments_filled(const WireRead *m, uint32_t filled, uint32_t touched,
                                uint64_t *ret_bytes)
{
    uint64_t send = 0;
    if (filled == touched && m->want == wire_segment_mask(wire_segment_count(m->len, m->segment))) {
        *ret_bytes = m->len; /* mostly: all of it is wanted, and filled */
        return m->want;
    }
    uint32_t in_block = m->offset % WIRE_BLOCK_SIZE;
    for (uint64_t left = m->want; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        uint32_t start = in_block + i * (uint32_t)m->segment;
        uint32_t end = start + segment_bytes(m, i);
        unsigned first = start / WIRE_BLOCK_SIZE, last = (end - 1) / WIRE_BLOCK_SIZE;
        uint32_t needed = ((1u << (last - first + 1)) - 1) << first;
        if ((filled & needed) != needed)
            continue;
        send |= (uint64_t)1 << i;
        *ret_bytes += segment_bytes(m, i);
    }
    return send;
}

void data_read(ImdData *d, void *session, const WireRead *m)
{
    DataRegion *r = NULL;
    uint16_t status = region_open(d, &m->address, m->offset, m->len, &r);
    if (status == STATUS_OK && d->leaving)
        status = STATUS_LEAVING;
    if (status != STATUS_OK) {
        read_answer_none(d, session, m, status, 0);
        return;
    }
    BlockSpan span = block_span(r, m->offset, m->len);
    uint32_t filled = blocks_filled(r, &span);
    uint64_t bytes = 0;
    uint64_t send = segments_filled(m, filled, span.touched, &bytes);
    d->stats.reads++;
    d->stats.read_bytes += bytes;
    if (filled != span.touched)
        d->stats.reads_unfilled++;
    if (!send) {
        read_answer_none(d, session, m, STATUS_OK, filled);
        return;
    }
    WireData answer = {.ask = m->ask, .status = STATUS_OK, .filled = filled};
    Burst burst;
    burst_init_data(&burst, &answer, m->len, m->segment, send, region_memory(d, r, m->offset));
    d->sink.burst(d->sink.ctx, session, &burst);
}
