/* SPDX-License-Identifier: MIT */
/* The bodies of requests and replies between imd and cmd: fields in the order of their structs,
 * packed. */
#include <assert.h>
#include <errno.h>

#include "proto/wire.h"
#include "proto/wire_fields.h"

/* Packed sizes, counted field by field. */
enum {
    HINT_SIZE = 4 * 8 + 4 + 4,
    LISTED_SIZE = ADDRESS_SIZE - 8 + 16 + 32 + 8 + 8 + 4 + STAMP_SIZE + 2,

    JOIN_SIZE_MAX = HINT_SIZE + 8 + 4 + JOIN_PORTS_MAX * 2,
    LISTING_SIZE_MAX = HINT_SIZE + PAGING_SIZE + LISTING_MAX * LISTED_SIZE,
};
_Static_assert((int)JOIN_SIZE_MAX <= (int)WIRE_BODY_MAX, "JOIN_PORTS_MAX");
_Static_assert((int)LISTING_SIZE_MAX <= (int)WIRE_BODY_MAX, "LISTING_MAX");

static void write_hint(Writer *w, const ImdHint *h)
{
    write_u64(w, h->epoch);
    write_u64(w, h->free_bytes);
    write_u64(w, h->largest_free_bytes);
    write_u64(w, h->evictable_bytes);
    write_u32(w, h->regions);
    write_zeros(w, 4);
}

static ImdHint read_hint(Reader *r)
{
    ImdHint h = {.epoch = read_u64(r)};
    h.free_bytes = read_u64(r);
    h.largest_free_bytes = read_u64(r);
    h.evictable_bytes = read_u64(r);
    h.regions = read_u32(r);
    read_zeros(r, 4);
    return h;
}

/* ---- imd to cmd ---------------------------------------------------------------------------- */

size_t wire_join_encode(const OpJoin *m, uint8_t *out)
{
    assert(m->ports_count <= JOIN_PORTS_MAX);
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    write_u64(&w, m->pool_bytes);
    write_u32(&w, m->ports_count);
    for (uint32_t i = 0; i < m->ports_count; i++)
        write_u16(&w, m->ports[i]);
    return writer_len(&w);
}

int wire_join_decode(const uint8_t *p, size_t len, OpJoin *ret)
{
    Reader r = reader_on(p, len);
    OpJoin m = {.hint = read_hint(&r)};

    m.pool_bytes = read_u64(&r);
    m.ports_count = read_count(&r, JOIN_PORTS_MAX);
    for (uint32_t i = 0; i < m.ports_count; i++)
        m.ports[i] = read_u16(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_beat_encode(const OpBeat *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    write_u64(&w, m->digest);
    write_u64(&w, m->read_bytes);
    write_u64(&w, m->write_bytes);
    return writer_len(&w);
}

int wire_beat_decode(const uint8_t *p, size_t len, OpBeat *ret)
{
    Reader r = reader_on(p, len);
    OpBeat m = {.hint = read_hint(&r)};

    m.digest = read_u64(&r);
    m.read_bytes = read_u64(&r);
    m.write_bytes = read_u64(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_beat_reply_encode(const OpBeatReply *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u32(&w, m->flags);
    return writer_len(&w);
}

int wire_beat_reply_decode(const uint8_t *p, size_t len, OpBeatReply *ret)
{
    Reader r = reader_on(p, len);
    OpBeatReply m = {.flags = read_flags(&r, BEAT_WANT_LIST)};

    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* The epoch is the hint's: it does not travel with each region, so it cannot differ. */
static void write_listed(Writer *w, const RegionListing *l)
{
    write_u64(w, l->address.region);
    write_u32(w, l->address.opening);
    write_id128(w, &l->address.capability);
    write_id128(w, &l->client);
    write_key(w, &l->key);
    write_u64(w, l->offset);
    write_u64(w, l->len);
    write_u32(w, l->flags);
    write_stamp(w, &l->stamp);
    write_u16(w, l->port);
}

static RegionListing read_listed(Reader *r, uint64_t epoch)
{
    RegionListing l = {.address.epoch = epoch};
    l.address.region = read_u64(r);
    l.address.opening = read_u32(r);
    l.address.capability = read_id128(r);
    l.client = read_id128(r);
    l.key = read_key(r);
    l.offset = read_u64(r);
    l.len = read_u64(r);
    l.flags = read_flags(r, REGION_FLAGS_MASK);
    l.stamp = read_stamp(r);
    l.port = read_u16(r);
    reader_demand(r, l.address.region != 0 && l.address.opening != 0);
    demand_range(r, l.offset, l.len);
    return l;
}

size_t wire_listing_encode(const OpListing *m, uint8_t *out)
{
    assert(m->count <= LISTING_MAX);
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    write_u32(&w, m->list);
    write_u32(&w, m->page);
    write_u32(&w, m->pages);
    write_u32(&w, m->count);
    write_u64(&w, m->before);
    for (uint32_t i = 0; i < m->count; i++)
        write_listed(&w, &m->regions[i]);
    return writer_len(&w);
}

int wire_listing_decode(const uint8_t *p, size_t len, OpListing *ret)
{
    Reader r = reader_on(p, len);
    OpListing m = {.hint = read_hint(&r)};

    m.list = read_u32(&r);
    m.page = read_u32(&r);
    m.pages = read_u32(&r);
    m.count = read_count(&r, LISTING_MAX);
    m.before = read_u64(&r);
    for (uint32_t i = 0; i < m.count; i++)
        m.regions[i] = read_listed(&r, m.hint.epoch);
    reader_demand(&r, m.page < m.pages);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_part_encode(const OpPart *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    return writer_len(&w);
}

int wire_part_decode(const uint8_t *p, size_t len, OpPart *ret)
{
    Reader r = reader_on(p, len);
    OpPart m = {.hint = read_hint(&r)};

    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- cmd to imd ---------------------------------------------------------------------------- */

size_t wire_alloc_encode(const OpAlloc *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_id128(&w, &m->client);
    write_key(&w, &m->key);
    write_u64(&w, m->offset);
    write_u64(&w, m->len);
    write_u32(&w, m->flags);
    write_u8(&w, m->evict);
    return writer_len(&w);
}

int wire_alloc_decode(const uint8_t *p, size_t len, OpAlloc *ret)
{
    Reader r = reader_on(p, len);
    OpAlloc m = {.client = read_id128(&r)};

    m.key = read_key(&r);
    m.offset = read_u64(&r);
    m.len = read_u64(&r);
    m.flags = read_flags(&r, OPENING_FLAGS);
    m.evict = read_below(&r, 2);
    demand_range(&r, m.offset, m.len);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_alloc_reply_encode(const OpAllocReply *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    write_address(&w, &m->address);
    write_u16(&w, m->port);
    return writer_len(&w);
}

/* An address, or none at all: not half of one. */
static bool address_is_whole(const RegionAddress *a, uint16_t port)
{
    if (a->region != 0)
        return a->opening != 0;
    return a->epoch == 0 && a->opening == 0 && id128_is_null(&a->capability) && port == 0;
}

int wire_alloc_reply_decode(const uint8_t *p, size_t len, OpAllocReply *ret)
{
    Reader r = reader_on(p, len);
    OpAllocReply m = {.hint = read_hint(&r)};

    m.address = read_address_or_zero(&r);
    m.port = read_u16(&r);
    reader_demand(&r, address_is_whole(&m.address, m.port));
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_free_encode(const OpFree *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->epoch);
    write_u64(&w, m->region);
    write_u32(&w, m->opening);
    return writer_len(&w);
}

int wire_free_decode(const uint8_t *p, size_t len, OpFree *ret)
{
    Reader r = reader_on(p, len);
    OpFree m = {.epoch = read_u64(&r)};

    m.region = read_u64(&r);
    m.opening = read_u32(&r);
    reader_demand(&r, m.region != 0);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_release_encode(const OpRelease *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_address(&w, &m->address);
    write_stamp(&w, &m->stamp);
    return writer_len(&w);
}

int wire_release_decode(const uint8_t *p, size_t len, OpRelease *ret)
{
    Reader r = reader_on(p, len);
    OpRelease m = {.address = read_address(&r)};

    m.stamp = read_stamp(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_reopen_encode(const OpReopen *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_name(&w, &(RegionName){m->epoch, m->region, m->opening});
    write_id128(&w, &m->client);
    write_u32(&w, m->flags);
    write_stamp(&w, &m->stamp);
    return writer_len(&w);
}

int wire_reopen_decode(const uint8_t *p, size_t len, OpReopen *ret)
{
    Reader r = reader_on(p, len);
    RegionName n = read_name(&r);
    OpReopen m = {.epoch = n.epoch, .region = n.region, .opening = n.opening};

    m.client = read_id128(&r);
    m.flags = read_flags(&r, OPENING_FLAGS);
    m.stamp = read_stamp(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_free_reply_encode(const OpFreeReply *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_hint(&w, &m->hint);
    return writer_len(&w);
}

int wire_free_reply_decode(const uint8_t *p, size_t len, OpFreeReply *ret)
{
    Reader r = reader_on(p, len);
    OpFreeReply m = {.hint = read_hint(&r)};

    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}
