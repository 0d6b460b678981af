/* SPDX-License-Identifier: MIT */
/* Filled blocks, their last writes, and chunks put together from segments. */
#include <string.h>

#include "base/num.h"
#include "imd/data_priv.h"

BlockSpan block_span(const DataRegion *r, uint64_t offset, uint32_t len)
{
    uint64_t end = offset + len;
    BlockSpan s = {.first = offset / WIRE_BLOCK_SIZE};
    s.count = (unsigned)((end - 1) / WIRE_BLOCK_SIZE - s.first + 1);
    s.touched = (1u << s.count) - 1;
    for (unsigned i = 0; i < s.count; i++) {
        uint64_t block_start = (s.first + i) * WIRE_BLOCK_SIZE;
        uint64_t block_end = min_u64(block_start + WIRE_BLOCK_SIZE, r->name.len);
        if (offset <= block_start && block_end <= end)
            s.whole |= 1u << i;
    }
    return s;
}

uint32_t blocks_filled(const DataRegion *r, const BlockSpan *s)
{
    uint32_t map = 0;
    for (unsigned i = 0; i < s->count; i++) {
        uint64_t block = s->first + i;
        map |= (uint32_t)(r->filled[block / 64] >> (block % 64) & 1) << i;
    }
    return map;
}

void blocks_fill(DataRegion *r, const BlockSpan *s, uint32_t map)
{
    for (unsigned i = 0; i < s->count; i++) {
        uint64_t block = s->first + i;
        r->filled[block / 64] |= (uint64_t)(map >> i & 1) << (block % 64);
    }
}

void blocks_unfill(DataRegion *r, const BlockSpan *s, uint32_t map)
{
    for (unsigned i = 0; i < s->count; i++) {
        uint64_t block = s->first + i;
        r->filled[block / 64] &= ~((uint64_t)(map >> i & 1) << (block % 64));
    }
}

uint32_t blocks_written_after(const DataRegion *r, const BlockSpan *s, uint64_t number)
{
    uint32_t map = 0;
    for (unsigned i = 0; i < s->count; i++)
        map |= (uint32_t)(r->last_write[s->first + i] / 2 > number) << i;
    return map;
}

uint32_t blocks_done_after(const DataRegion *r, const BlockSpan *s, uint64_t number)
{
    uint32_t map = 0;
    for (unsigned i = 0; i < s->count; i++)
        map |= (uint32_t)(r->last_write[s->first + i] > 2 * number) << i;
    return map;
}

void blocks_note_write(DataRegion *r, const BlockSpan *s, uint64_t number)
{
    for (unsigned i = 0; i < s->count; i++)
        if (r->last_write[s->first + i] < 2 * number)
            r->last_write[s->first + i] = 2 * number;
}

void blocks_note_fill(DataRegion *r, const BlockSpan *s, uint32_t map)
{
    for (; map; map &= map - 1)
        r->last_write[s->first + (unsigned)__builtin_ctz(map)] |= 1;
}

uint32_t blocks_common(const BlockSpan *s, const BlockSpan *other, uint32_t map)
{
    uint64_t apart = other->first >= s->first ? other->first - s->first : s->first - other->first;
    if (apart >= WIRE_CHUNK_BLOCKS_MAX)
        return 0;
    uint32_t here = other->first >= s->first ? map << apart : map >> apart;
    return here & s->touched;
}

void block_store(const ImdData *d, const DataRegion *r, const WireWrite *m, const BlockSpan *s,
                 unsigned i)
{
    uint64_t start = m->offset + (uint64_t)m->index * m->segment, end = start + m->data_len;
    uint64_t block_start = (s->first + i) * WIRE_BLOCK_SIZE;
    uint64_t from = max_u64(start, block_start);
    uint64_t to = min_u64(end, block_start + WIRE_BLOCK_SIZE);
    memcpy(region_memory(d, r, from), m->data + (from - start), (size_t)(to - from));
}

static uint32_t segment_bytes(const Assembly *a, unsigned index)
{
    uint32_t from = index * (uint32_t)a->segment, left = a->len - from;
    return left < a->segment ? left : a->segment;
}

ImdAwaited assembly_missing(const Assembly *a)
{
    unsigned count = wire_segment_count(a->len, a->segment), last = count - 1;
    uint64_t map = wire_segment_mask(count) & ~a->received;
    unsigned segments = (unsigned)__builtin_popcountll(map);
    uint32_t bytes = segments * a->segment;
    if (map >> last & 1)
        bytes -= a->segment - segment_bytes(a, last);
    return (ImdAwaited){.bytes = bytes, .segments = segments};
}

void assembly_begin(Assembly *a, const WireWrite *m, ImdAwaited *awaited)
{
    *a = (Assembly){.offset = m->offset, .len = m->len, .segment = m->segment};
    ImdAwaited all = assembly_missing(a);
    awaited->bytes += all.bytes;
    awaited->segments += all.segments;
}

void assembly_end(const Assembly *a, ImdAwaited *awaited)
{
    ImdAwaited rest = assembly_missing(a);
    awaited->bytes -= rest.bytes;
    awaited->segments -= rest.segments;
}

bool assembly_matches(Assembly *a, const WireWrite *m, ImdAwaited *awaited)
{
    if (a->offset != m->offset || a->len != m->len)
        return false;
    if (a->segment != m->segment) {
        assembly_end(a, awaited);
        assembly_begin(a, m, awaited);
    }
    return true;
}

unsigned assembly_take(Assembly *a, unsigned index, ImdAwaited *awaited)
{
    uint64_t bit = (uint64_t)1 << index;
    if (a->received & bit)
        return 0;
    a->received |= bit;
    awaited->bytes -= segment_bytes(a, index);
    awaited->segments--;
    /* Reported when a gap closes, too: by that the client distinguishes reordering from loss. */
    bool gap = index > a->expected || index + 1 < a->expected;
    unsigned outcome = SEGMENT_NEW | (gap ? SEGMENT_GAP : 0);
    if (index >= a->expected)
        a->expected = (uint16_t)(index + 1);
    return outcome;
}

bool assembly_complete(const Assembly *a)
{
    return a->received == wire_segment_mask(wire_segment_count(a->len, a->segment));
}
