/* SPDX-License-Identifier: MIT */
/* How each kind of field of proto/messages.def is written and read: out_KIND(), in_KIND(), and
 * the bytes that it has at most. Private to proto/wire.c and what checks it. */
#ifndef DODO_PROTO_WIRE_FIELDS_H
#define DODO_PROTO_WIRE_FIELDS_H

#include "proto/cursor.h"
#include "proto/wire.h"

enum {
    u8_SIZE = 1,
    u16_SIZE = 2,
    u32_SIZE = 4,
    u64_SIZE = 8,
    code_SIZE = 2,
    host_addr_SIZE = 1 + 2 + 4 + 16,
    reason_SIZE = 1 + REASON_MAX,

    OPENING_FLAGS = REGION_RDONLY | REGION_RETAIN, /* of ALLOC and REOPEN */
    OPEN_FLAGS = OPENING_FLAGS | REGION_FRESH,
};

#define NUMBER(kind, type)                                  \
    static inline void out_##kind(Writer *w, const type *v) \
    {                                                       \
        write_##kind(w, *v);                                \
    }                                                       \
    static inline void in_##kind(Reader *r, type *ret)      \
    {                                                       \
        *ret = read_##kind(r);                              \
    }
NUMBER(u8, uint8_t)
NUMBER(u16, uint16_t)
NUMBER(u32, uint32_t)
NUMBER(u64, uint64_t)
#undef NUMBER

/* A status. What a newer peer may say and we do not know counts as STATUS_PROTOCOL
 * (proto/status.def). */
static inline uint16_t status_known(uint16_t status)
{
    switch (status) {
#define X(name, number, text) case number:
#include "proto/status.def"
#undef X
        return status;
    default:
        return STATUS_PROTOCOL;
    }
}
static inline void out_code(Writer *w, const uint16_t *status)
{
    write_u16(w, *status);
}
static inline void in_code(Reader *r, uint16_t *ret)
{
    *ret = status_known(read_u16(r));
}

static inline void out_host_addr(Writer *w, const Addr *a)
{
    write_u8(w, a->kind);
    write_u16(w, a->port);
    write_u32(w, a->scope);
    write_bytes(w, a->host, sizeof a->host);
}
/* Bytes of Addr.host that a kind uses: all others are zero, so that equal addresses are equal
 * bytes. */
static inline size_t host_bytes(uint8_t kind)
{
    static const uint8_t used[ADDR_KIND_MAX] = {
        [ADDR_NONE] = 0, [ADDR_IP4] = 4, [ADDR_IP6] = 16, [ADDR_MAC] = 6, [ADDR_SIM] = 2};
    return kind < ADDR_KIND_MAX ? used[kind] : 0;
}
static inline void in_host_addr(Reader *r, Addr *ret)
{
    *ret = (Addr){.kind = read_u8(r)};
    ret->port = read_u16(r);
    ret->scope = read_u32(r);
    reader_demand(r, ret->kind < ADDR_KIND_MAX);
    reader_demand(r, ret->kind == ADDR_IP6 || ret->scope == 0);
    reader_demand(r, ret->kind != ADDR_NONE || ret->port == 0);
    read_bytes(r, ret->host, host_bytes(ret->kind));
    read_zeros(r, sizeof ret->host - host_bytes(ret->kind));
}

static inline void out_reason(Writer *w, const Reason *reason)
{
    size_t len = strnlen(reason->text, REASON_MAX);
    write_u8(w, (uint8_t)len);
    write_bytes(w, reason->text, len);
}
/* It ends up on terminals: nothing but what prints there. */
static inline void in_reason(Reader *r, Reason *ret)
{
    size_t len = read_u8(r);
    *ret = (Reason){""};
    reader_demand(r, len <= REASON_MAX);
    read_bytes(r, ret->text, len <= REASON_MAX ? len : 0);
    for (size_t i = 0; i < len && !r->bad; i++)
        reader_demand(r, ret->text[i] >= ' ' && ret->text[i] <= '~');
}

/* Number of elements of a list that follows: at most @max, whatever came. */
static inline uint32_t read_count(Reader *r, uint32_t max)
{
    uint32_t count = read_u32(r);
    reader_demand(r, count <= max);
    return r->bad ? 0 : count;
}

/* ---- what must hold between fields ---------------------------------------------------------- */

/* A stretch of a file or region: not empty, and its end is a number too. */
static inline bool is_range(uint64_t offset, uint64_t len)
{
    return len > 0 && offset <= UINT64_MAX - len;
}
/* A chunk and how it is cut: its segments can be counted. */
static inline bool is_chunk(uint64_t offset, uint32_t len, uint16_t segment)
{
    return is_range(offset, len) && len <= WIRE_CHUNK_MAX && segment >= WIRE_SEGMENT_MIN &&
           segment <= WIRE_SEGMENT_MAX;
}
/* An address, or none at all: not half of one. */
static inline bool address_is_whole(const RegionAddress *a, uint16_t port)
{
    if (a->region != 0)
        return a->opening != 0;
    return a->epoch == 0 && a->opening == 0 && id128_is_null(&a->capability) && port == 0;
}

/* The list's epoch is the hint's. */
static inline void listing_epochs(OpListing *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        m->regions[i].address.epoch = m->hint.epoch;
}

#endif
