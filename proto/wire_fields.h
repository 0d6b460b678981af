/* SPDX-License-Identifier: MIT */
/* Fields that several messages share, private to the codecs of proto/. */
#ifndef DODO_PROTO_WIRE_FIELDS_H
#define DODO_PROTO_WIRE_FIELDS_H

#include "proto/cursor.h"
#include "proto/wire.h"

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

#endif
