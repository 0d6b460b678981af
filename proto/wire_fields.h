/* SPDX-License-Identifier: MIT */
/* Fields that several messages share, private to the codecs of proto/. */
#ifndef DODO_PROTO_WIRE_FIELDS_H
#define DODO_PROTO_WIRE_FIELDS_H

#include "proto/cursor.h"
#include "proto/wire.h"

/* Packed sizes, counted field by field. */
enum {
    ADDRESS_SIZE = 8 + 8 + 4 + 16,
    STAMP_SIZE = 3 * 8,
    NAME_SIZE = 8 + 8 + 4,
    PAGING_SIZE = 4 * 4 + 8,

    OPENING_FLAGS = REGION_RDONLY | REGION_RETAIN,
};
_Static_assert(sizeof(FileKey) == 32, "FileKey");

static inline void write_id128(Writer *w, const Id128 *id)
{
    write_bytes(w, id->bytes, sizeof id->bytes);
}
static inline Id128 read_id128(Reader *r)
{
    Id128 id;
    read_bytes(r, id.bytes, sizeof id.bytes);
    return id;
}

/* A stretch of a file or region: not empty, and its end is a number too. */
static inline void demand_range(Reader *r, uint64_t offset, uint64_t len)
{
    reader_demand(r, len > 0 && offset <= UINT64_MAX - len);
}

static inline void write_address(Writer *w, const RegionAddress *a)
{
    write_u64(w, a->epoch);
    write_u64(w, a->region);
    write_u32(w, a->opening);
    write_id128(w, &a->capability);
}
/* Any value of the fields: for the one body that may leave it all zero. */
static inline RegionAddress read_address_or_zero(Reader *r)
{
    RegionAddress a;
    a.epoch = read_u64(r);
    a.region = read_u64(r);
    a.opening = read_u32(r);
    a.capability = read_id128(r);
    return a;
}
static inline RegionAddress read_address(Reader *r)
{
    RegionAddress a = read_address_or_zero(r);
    reader_demand(r, a.region != 0 && a.opening != 0);
    return a;
}

static inline void write_stamp(Writer *w, const Stamp *s)
{
    write_u64(w, s->size);
    write_u64(w, s->mtime_ns);
    write_u64(w, s->ctime_ns);
}

static inline Stamp read_stamp(Reader *r)
{
    Stamp s;
    s.size = read_u64(r);
    s.mtime_ns = read_u64(r);
    s.ctime_ns = read_u64(r);
    return s;
}

static inline void write_key(Writer *w, const FileKey *k)
{
    write_bytes(w, k->bytes, sizeof k->bytes);
}

static inline FileKey read_key(Reader *r)
{
    FileKey k;
    read_bytes(r, k.bytes, sizeof k.bytes);
    return k;
}

static inline uint32_t read_flags(Reader *r, uint32_t known)
{
    uint32_t flags = read_u32(r);
    reader_demand(r, (flags & ~known) == 0);
    return flags;
}

/* An enumerated byte below @end. */
static inline uint8_t read_below(Reader *r, uint8_t end)
{
    uint8_t v = read_u8(r);
    reader_demand(r, v < end);
    return v;
}

/* Number of elements of a list that follows: read_count() yields at most @max, whatever came. */
static inline uint32_t read_count(Reader *r, uint32_t max)
{
    uint32_t count = read_u32(r);
    reader_demand(r, count <= max);
    return r->bad ? 0 : count;
}

static inline void write_name(Writer *w, const RegionName *n)
{
    write_u64(w, n->epoch);
    write_u64(w, n->region);
    write_u32(w, n->opening);
}

static inline RegionName read_name(Reader *r)
{
    RegionName n = {.epoch = read_u64(r)};
    n.region = read_u64(r);
    n.opening = read_u32(r);
    reader_demand(r, n.region != 0 && n.opening != 0);
    return n;
}

#endif
