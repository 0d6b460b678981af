/* SPDX-License-Identifier: MIT */
/* Headers, sessions, reads, writes and the envelopes of requests; bodies are in wire_bodies.c
 * and wire_imd.c. */
#include "proto/wire.h"

#include <assert.h>
#include <errno.h>

#include "proto/wire_fields.h"

/* What is on the wire, counted field by field. */
enum {
    HEADER_SIZE = 1 + 1 + 1 + 1 + 4 + 8,
    HELLO_SIZE = 8 + WIRE_SALT_SIZE * 2 + 16 + 8 + 4 + 1 + 3 + 16 + WIRE_MAC_SIZE,
    READ_SIZE = 8 + ADDRESS_SIZE + 8 + 4 + 2 + 2 + 8,
    DATA_HEADER_SIZE = 8 + 2 + 2 + 4,
    WRITE_HEADER_SIZE = ADDRESS_SIZE + 1 + 1 + 2 + 8 + 8 + 8 + 4 + 2 + 2,
    WRITE_ACK_SIZE = 8 + 8 + 1 + 1 + 2 + 4 + 8,
    REQUEST_HEADER_SIZE = 8 + 8 + 2 + 6,
    REPLY_HEADER_SIZE = 8 + 2 + 2 + 4,

    DATAGRAM_LEAST = 1280 - 40 - 8, /* what IPv6's least MTU leaves to UDP's payload */
    GSO_MESSAGE_MAX = 65400,        /* one UDP GSO message stays below it */
};
#define SAME(counted, named) \
    _Static_assert((int)(counted) == (int)(named), #named " is not what the fields add up to")
SAME(ADDRESS_SIZE, 36);
SAME(HEADER_SIZE, WIRE_HEADER_SIZE);
SAME(HELLO_SIZE, WIRE_HELLO_SIZE);
SAME(READ_SIZE, WIRE_READ_SIZE);
SAME(DATA_HEADER_SIZE, WIRE_DATA_HEADER_SIZE);
SAME(8, WIRE_DATA_INDEX_AT);
SAME(WRITE_HEADER_SIZE, WIRE_WRITE_HEADER_SIZE);
SAME(ADDRESS_SIZE + 2, WIRE_WRITE_INDEX_AT);
SAME(WRITE_ACK_SIZE, WIRE_WRITE_ACK_SIZE);
SAME(REQUEST_HEADER_SIZE, WIRE_REQUEST_HEADER_SIZE);
SAME(REPLY_HEADER_SIZE, WIRE_REPLY_HEADER_SIZE);
#undef SAME

#define AT_MOST(what, limit, why) _Static_assert((int)(what) <= (int)(limit), why)
AT_MOST(WIRE_REPLY_HEADER_SIZE + (int)WIRE_BODY_MAX, WIRE_PAYLOAD_MAX,
        "a body fits a REPLY as it fits a REQUEST");
AT_MOST(WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD + WIRE_PAYLOAD_MAX, DATAGRAM_LEAST,
        "a sealed control message fits IPv6's least MTU");
AT_MOST(WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD + WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MIN,
        DATAGRAM_LEAST, "so does a sealed WRITE of the least segment");
AT_MOST(WIRE_CHUNK_MAX, WIRE_SEGMENTS_MAX *WIRE_SEGMENT_MIN,
        "no chunk has more segments than a map has bits");
AT_MOST(WIRE_CHUNK_MAX +
            WIRE_SEGMENTS_MAX * (WIRE_HEADER_SIZE + WIRE_SEAL_OVERHEAD + WIRE_WRITE_HEADER_SIZE),
        GSO_MESSAGE_MAX, "a chunk is one GSO message, headers counted");
AT_MOST(WIRE_SEGMENT_MAX, UINT16_MAX, "a segment's length is 16 bits");
AT_MOST(WIRE_SEGMENTS_MAX, WIRE_INDEX_NONE, "no segment's index is the one that means none");
AT_MOST(WIRE_CHUNK_BLOCKS_MAX, 31, "WireData.filled has a bit for each block");
#undef AT_MOST

/* ---- status -------------------------------------------------------------------------------- */

const char *status_text(unsigned status)
{
    switch (status) {
#define X(name, number, text) \
    case number:              \
        return text;
#include "proto/status.def"
#undef X
    default:
        return "unknown status";
    }
}

/* What a newer peer may say and we do not know counts as STATUS_PROTOCOL (proto/status.def). */
static uint16_t read_status(Reader *r)
{
    uint16_t status = read_u16(r);
    switch (status) {
#define X(name, number, text) case number:
#include "proto/status.def"
#undef X
        return status;
    default:
        return STATUS_PROTOCOL;
    }
}

/* ---- header -------------------------------------------------------------------------------- */

void wire_header_encode(const WireHeader *h, uint8_t out[WIRE_HEADER_SIZE])
{
    Writer w = writer_on(out);
    write_u8(&w, WIRE_MAGIC);
    write_u8(&w, h->version);
    write_u8(&w, h->type);
    write_u8(&w, h->flags);
    write_u32(&w, h->cluster);
    write_u64(&w, h->tag);
}

int wire_header_decode(const uint8_t *p, size_t len, WireHeader *ret)
{
    WireHeader h;

    if (len < WIRE_HEADER_SIZE)
        return -EBADMSG;
    Reader r = reader_on(p, WIRE_HEADER_SIZE);
    reader_demand(&r, read_u8(&r) == WIRE_MAGIC);
    h.version = read_u8(&r);
    if (!r.bad && h.version != WIRE_VERSION) {
        ret->version = h.version;
        return WIRE_E_VERSION;
    }
    h.type = read_u8(&r);
    h.flags = read_u8(&r);
    h.cluster = read_u32(&r);
    h.tag = read_u64(&r);
    reader_demand(&r, (h.flags & ~WIRE_FLAG_SEALED) == 0);
    /* Both speak where no session is known. */
    reader_demand(&r, h.tag == 0 || (h.type != WIRE_HELLO && h.type != WIRE_RESET));
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = h;
    return 0;
}

/* ---- sessions ------------------------------------------------------------------------------ */

size_t wire_hello_encode(const WireHello *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->tag);
    write_bytes(&w, m->salt, sizeof m->salt);
    write_bytes(&w, m->peer_salt, sizeof m->peer_salt);
    write_id128(&w, &m->self);
    write_u64(&w, m->epoch);
    write_u32(&w, m->key_id);
    write_u8(&w, m->role);
    write_zeros(&w, 3 + 16);
    write_bytes(&w, m->mac, sizeof m->mac);
    return writer_len(&w);
}

int wire_hello_decode(const uint8_t *p, size_t len, WireHello *ret)
{
    Reader r = reader_on(p, len);
    WireHello m;

    m.tag = read_u64(&r);
    read_bytes(&r, m.salt, sizeof m.salt);
    read_bytes(&r, m.peer_salt, sizeof m.peer_salt);
    m.self = read_id128(&r);
    m.epoch = read_u64(&r);
    m.key_id = read_u32(&r);
    m.role = read_u8(&r);
    read_zeros(&r, 3 + 16);
    read_bytes(&r, m.mac, sizeof m.mac);
    reader_demand(&r, m.tag != 0);
    reader_demand(&r, m.role != ROLE_NONE && m.role < ROLE_MAX);
    reader_demand(&r, m.epoch == 0 || m.role == ROLE_IMD);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

static size_t encode_one_u64(uint64_t v, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, v);
    return writer_len(&w);
}

static int decode_one_u64(const uint8_t *p, size_t len, uint64_t *ret)
{
    Reader r = reader_on(p, len);
    uint64_t v = read_u64(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = v;
    return 0;
}

size_t wire_reset_encode(uint64_t tag, uint8_t *out)
{
    return encode_one_u64(tag, out);
}

int wire_reset_decode(const uint8_t *p, size_t len, uint64_t *ret_tag)
{
    return decode_one_u64(p, len, ret_tag);
}

size_t wire_ping_encode(const WirePing *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->nonce);
    write_u64(&w, m->epoch);
    write_u64(&w, m->flags);
    return writer_len(&w);
}

int wire_ping_decode(const uint8_t *p, size_t len, WirePing *ret)
{
    Reader r = reader_on(p, len);
    WirePing m;

    m.nonce = read_u64(&r);
    m.epoch = read_u64(&r);
    m.flags = read_u64(&r);
    reader_demand(&r, (m.flags & ~(uint64_t)PONG_LEAVING) == 0);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_goodbye_encode(uint64_t epoch, uint8_t *out)
{
    return encode_one_u64(epoch, out);
}

int wire_goodbye_decode(const uint8_t *p, size_t len, uint64_t *ret_epoch)
{
    return decode_one_u64(p, len, ret_epoch);
}

size_t wire_probe_encode(uint64_t nonce, size_t len, uint8_t *out)
{
    memset(out, 0, len);
    put_u64(out, nonce);
    return len;
}

int wire_probe_decode(const uint8_t *p, size_t len, uint64_t *ret_nonce)
{
    if (len < WIRE_PROBE_MIN || len > WIRE_PROBE_MAX)
        return -EBADMSG;
    *ret_nonce = get_u64(p);
    return 0;
}

/* ---- reads --------------------------------------------------------------------------------- */

/* A chunk and how it is cut. */
static void demand_chunk(Reader *r, uint64_t offset, uint32_t len, uint16_t segment)
{
    demand_range(r, offset, len);
    reader_demand(r, len <= WIRE_CHUNK_MAX);
    reader_demand(r, segment >= WIRE_SEGMENT_MIN && segment <= WIRE_SEGMENT_MAX);
}

size_t wire_read_encode(const WireRead *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->ask);
    write_address(&w, &m->address);
    write_u64(&w, m->offset);
    write_u32(&w, m->len);
    write_u16(&w, m->segment);
    write_zeros(&w, 2);
    write_u64(&w, m->want);
    return writer_len(&w);
}

int wire_read_decode(const uint8_t *p, size_t len, WireRead *ret)
{
    Reader r = reader_on(p, len);
    WireRead m;

    m.ask = read_u64(&r);
    m.address = read_address(&r);
    m.offset = read_u64(&r);
    m.len = read_u32(&r);
    m.segment = read_u16(&r);
    read_zeros(&r, 2);
    m.want = read_u64(&r);
    reader_demand(&r, m.ask != 0 && m.want != 0);
    demand_chunk(&r, m.offset, m.len, m.segment);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    /* Only now is it known that the segments can be counted. */
    if (m.want & ~wire_segment_mask(wire_segment_count(m.len, m.segment)))
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_data_encode_header(const WireData *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->ask);
    write_u16(&w, m->index);
    write_u16(&w, m->status);
    write_u32(&w, m->filled);
    return writer_len(&w);
}

int wire_data_decode(const uint8_t *p, size_t len, WireData *ret)
{
    if (len < WIRE_DATA_HEADER_SIZE) /* without the reader's care: there are millions a second */
        return -EBADMSG;
    Reader status = reader_on(p + 10, 2);
    WireData m = {.ask = get_u64(p), .index = get_u16(p + 8), .filled = get_u32(p + 12)};
    m.data = p + WIRE_DATA_HEADER_SIZE;
    m.data_len = len - WIRE_DATA_HEADER_SIZE;
    m.status = get_u16(p + 10) == STATUS_OK ? STATUS_OK : read_status(&status);
    if (m.ask == 0 || m.filled >> WIRE_CHUNK_BLOCKS_MAX != 0)
        return -EBADMSG;
    if (m.index == WIRE_INDEX_NONE ? m.data_len != 0
                                   : m.index >= WIRE_SEGMENTS_MAX || m.status != STATUS_OK ||
                                         m.data_len == 0 || m.data_len > WIRE_SEGMENT_MAX)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- writes -------------------------------------------------------------------------------- */

size_t wire_write_encode_header(const WireWrite *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_address(&w, &m->address);
    write_u8(&w, m->kind);
    write_zeros(&w, 1);
    write_u16(&w, m->index);
    write_u64(&w, m->number);
    write_u64(&w, m->transfer);
    write_u64(&w, m->offset);
    write_u32(&w, m->len);
    write_u16(&w, m->segment);
    write_zeros(&w, 2);
    return writer_len(&w);
}

/* Bytes that segment @index of a sound chunk has; 0 for a poll. */
static size_t segment_len(const WireWrite *m)
{
    if (m->index == WIRE_INDEX_NONE)
        return 0;
    size_t at = (size_t)m->index * m->segment;
    return m->len - at < m->segment ? m->len - at : m->segment;
}

int wire_write_decode(const uint8_t *p, size_t len, WireWrite *ret)
{
    Reader r = reader_on(p, len);
    WireWrite m;

    m.address = read_address(&r);
    m.kind = read_u8(&r);
    read_zeros(&r, 1);
    m.index = read_u16(&r);
    m.number = read_u64(&r);
    m.transfer = read_u64(&r);
    m.offset = read_u64(&r);
    m.len = read_u32(&r);
    m.segment = read_u16(&r);
    read_zeros(&r, 2);
    m.data_len = reader_left(&r);
    m.data = reader_take(&r, m.data_len);
    reader_demand(&r, m.kind < WRITE_KIND_MAX);
    reader_demand(&r, m.kind != WRITE_FILL || m.transfer != 0);
    reader_demand(&r, m.kind != WRITE_VOID || m.index == WIRE_INDEX_NONE);
    demand_chunk(&r, m.offset, m.len, m.segment);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    /* Only now is it known that the segments can be counted. */
    if (m.index != WIRE_INDEX_NONE && m.index >= wire_segment_count(m.len, m.segment))
        return -EBADMSG;
    if (m.data_len != segment_len(&m))
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_write_ack_encode(const WireWriteAck *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->number);
    write_u64(&w, m->transfer);
    write_u8(&w, m->kind);
    write_u8(&w, m->state);
    write_u16(&w, m->status);
    write_u32(&w, m->grant);
    write_u64(&w, m->received);
    return writer_len(&w);
}

int wire_write_ack_decode(const uint8_t *p, size_t len, WireWriteAck *ret)
{
    Reader r = reader_on(p, len);
    WireWriteAck m;

    m.number = read_u64(&r);
    m.transfer = read_u64(&r);
    m.kind = read_u8(&r);
    m.state = read_u8(&r);
    m.status = read_status(&r);
    m.grant = read_u32(&r);
    m.received = read_u64(&r);
    reader_demand(&r, m.kind < WRITE_KIND_MAX && m.state < WRITE_STATE_MAX);
    reader_demand(&r, m.kind != WRITE_FILL || m.transfer != 0);
    reader_demand(&r, (m.state == WRITE_REFUSED) == (m.status != STATUS_OK));
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- requests and replies ------------------------------------------------------------------ */

size_t wire_request_encode(const WireRequest *m, uint8_t *out)
{
    assert(m->body_len <= WIRE_BODY_MAX);
    Writer w = writer_on(out);
    write_bytes(&(Writer){.at = out + WIRE_REQUEST_HEADER_SIZE}, m->body, m->body_len);
    write_u64(&w, m->id);
    write_u64(&w, m->settled);
    write_u16(&w, m->op);
    write_zeros(&w, 6);
    return writer_len(&w) + m->body_len;
}

int wire_request_decode(const uint8_t *p, size_t len, WireRequest *ret)
{
    Reader r = reader_on(p, len);
    WireRequest m;

    m.id = read_u64(&r);
    m.settled = read_u64(&r);
    m.op = read_u16(&r);
    read_zeros(&r, 6);
    m.body_len = reader_left(&r);
    m.body = reader_take(&r, m.body_len);
    reader_demand(&r, m.id != 0 && m.body_len <= WIRE_BODY_MAX);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_reply_encode(const WireReply *m, uint8_t *out)
{
    assert(m->body_len <= WIRE_BODY_MAX);
    Writer w = writer_on(out);
    write_bytes(&(Writer){.at = out + WIRE_REPLY_HEADER_SIZE}, m->body, m->body_len);
    write_u64(&w, m->id);
    write_u16(&w, m->op);
    write_u16(&w, m->status);
    write_zeros(&w, 4);
    return writer_len(&w) + m->body_len;
}

int wire_reply_decode(const uint8_t *p, size_t len, WireReply *ret)
{
    Reader r = reader_on(p, len);
    WireReply m;

    m.id = read_u64(&r);
    m.op = read_u16(&r);
    m.status = read_status(&r);
    read_zeros(&r, 4);
    m.body_len = reader_left(&r);
    m.body = reader_take(&r, m.body_len);
    reader_demand(&r, m.id != 0 && m.body_len <= WIRE_BODY_MAX);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}
