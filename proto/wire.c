/* SPDX-License-Identifier: MIT */
/* Encoders and decoders, made of the fields in proto/messages.def; by hand only what no list says:
 * the header, and what has bytes at its end. */
#include "proto/wire.h"

#include <assert.h>
#include <errno.h>

#include "proto/wire_lists.h"

/* ---- sizes --------------------------------------------------------------------------------- */

/* Of each message and part, at most: NAME_SIZE. */
#define BEGIN(name, type) enum { name##_SIZE = 0
#define F(kind, field) +kind##_SIZE
#define BELOW(field, end) +1
#define FLAGS(field, known) +4
#define RESERVED(n) +(n)
#define BYTES(n, field) +(n)
#define COUNT(field, max) +4
#define MANY(kind, field, count, max) +(max)*kind##_SIZE
#define MAY_END
#define THEN(name)
/* clang-format off */
#define END(name, condition) };
/* clang-format on */
#include "proto/messages.def"

#define SAME(counted, named) \
    _Static_assert((int)(counted) == (int)(named), #named " is not what the fields add up to")
SAME(hello_SIZE, WIRE_HELLO_SIZE);
SAME(read_SIZE, WIRE_READ_SIZE);
SAME(data_header_SIZE, WIRE_DATA_HEADER_SIZE);
SAME(8, WIRE_DATA_INDEX_AT);
SAME(write_header_SIZE, WIRE_WRITE_HEADER_SIZE);
SAME(address_SIZE + 2, WIRE_WRITE_INDEX_AT);
SAME(write_ack_SIZE, WIRE_WRITE_ACK_SIZE);
SAME(request_header_SIZE, WIRE_REQUEST_HEADER_SIZE);
SAME(reply_header_SIZE, WIRE_REPLY_HEADER_SIZE);
#undef SAME
#define X(name, type) \
    _Static_assert((int)name##_SIZE <= (int)WIRE_BODY_MAX, #name " fits a datagram");
WIRE_BODIES(X)
#undef X

enum {
    DATAGRAM_LEAST = 1280 - 40 - 8, /* what IPv6's least MTU leaves to UDP's payload */
    GSO_MESSAGE_MAX = 65400,        /* one UDP GSO message stays below it */
};
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

/* ---- messages without bytes at their end --------------------------------------------------- */

/* What follows the fields is a later build's, and left alone, up to @longest bytes in all. */
#define CODEC(name, type, longest)                                    \
    size_t wire_##name##_encode(const type *m, uint8_t *out)          \
    {                                                                 \
        Writer w = writer_on(out);                                    \
        out_##name(&w, m);                                            \
        return writer_len(&w);                                        \
    }                                                                 \
    int wire_##name##_decode(const uint8_t *p, size_t len, type *ret) \
    {                                                                 \
        Reader r = reader_on(p, len);                                 \
        type m = {0};                                                 \
        in_##name(&r, &m);                                            \
        if (r.bad || len > (longest))                                 \
            return -EBADMSG;                                          \
        *ret = m;                                                     \
        return 0;                                                     \
    }
#define BODY(name, type) CODEC(name, type, WIRE_BODY_MAX)
CODEC(hello, WireHello, WIRE_HELLO_SIZE) /* no answer is larger than its question */
CODEC(ping, WirePing, WIRE_PAYLOAD_MAX)
CODEC(read, WireRead, WIRE_PAYLOAD_MAX)
CODEC(write_ack, WireWriteAck, WIRE_PAYLOAD_MAX)
WIRE_BODIES(BODY)
#undef BODY
#undef CODEC

/* One number. */
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
    if (r.bad || len > WIRE_PAYLOAD_MAX)
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

const char *host_state_text(unsigned state)
{
    static const char *const texts[HOST_STATE_MAX] = {[HOST_IDLE] = "idle",
                                                      [HOST_LEAVING] = "leaving",
                                                      [HOST_SILENT] = "silent",
                                                      [HOST_BUSY] = "busy"};
    return state < HOST_STATE_MAX ? texts[state] : "unknown";
}

const char *region_use_text(unsigned use)
{
    static const char *const texts[REGION_USE_MAX] = {[REGION_USE_OPEN] = "open",
                                                      [REGION_USE_KEPT] = "kept",
                                                      [REGION_USE_BUSY] = "busy",
                                                      [REGION_USE_FREEING] = "freeing"};
    return use < REGION_USE_MAX ? texts[use] : "unknown";
}

const char *event_kind_text(unsigned kind)
{
    switch (kind) {
#define X(name, number, word) \
    case number:              \
        return word;
#include "proto/events.def"
#undef X
    default:
        return "unknown_event";
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

/* ---- messages with bytes at their end ------------------------------------------------------ */

size_t wire_data_encode_header(const WireData *m, uint8_t *out)
{
    Writer w = writer_on(out);
    out_data_header(&w, m);
    return writer_len(&w);
}

int wire_data_decode(const uint8_t *p, size_t len, WireData *ret)
{
    if (len < WIRE_DATA_HEADER_SIZE)
        return -EBADMSG;
    Reader r = reader_on(p, WIRE_DATA_HEADER_SIZE);
    WireData m = {.data = p + WIRE_DATA_HEADER_SIZE, .data_len = len - WIRE_DATA_HEADER_SIZE};
    in_data_header(&r, &m);
    if (m.ask == 0 || m.filled >> WIRE_CHUNK_BLOCKS_MAX != 0)
        return -EBADMSG;
    if (m.index == WIRE_INDEX_NONE ? m.data_len != 0
                                   : m.index >= WIRE_SEGMENTS_MAX || m.status != STATUS_OK ||
                                         m.data_len == 0 || m.data_len > WIRE_SEGMENT_MAX)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_write_encode_header(const WireWrite *m, uint8_t *out)
{
    Writer w = writer_on(out);
    out_write_header(&w, m);
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
    in_write_header(&r, &m);
    m.data_len = reader_left(&r);
    m.data = reader_take(&r, m.data_len);
    if (reader_finish(&r) != 0 || m.data_len != segment_len(&m))
        return -EBADMSG;
    *ret = m;
    return 0;
}

#define ENVELOPE(name, type)                                                    \
    size_t wire_##name##_encode(const type *m, uint8_t *out)                    \
    {                                                                           \
        assert(m->body_len <= WIRE_BODY_MAX);                                   \
        Writer w = writer_on(out + name##_header_SIZE);                         \
        write_bytes(&w, m->body, m->body_len); /* which may be there already */ \
        w = writer_on(out);                                                     \
        out_##name##_header(&w, m);                                             \
        return writer_len(&w) + m->body_len;                                    \
    }                                                                           \
    int wire_##name##_decode(const uint8_t *p, size_t len, type *ret)           \
    {                                                                           \
        Reader r = reader_on(p, len);                                           \
        type m = {0};                                                           \
        in_##name##_header(&r, &m);                                             \
        m.body_len = reader_left(&r);                                           \
        m.body = reader_take(&r, m.body_len);                                   \
        if (reader_finish(&r) != 0 || m.body_len > WIRE_BODY_MAX)               \
            return -EBADMSG;                                                    \
        *ret = m;                                                               \
        return 0;                                                               \
    }
ENVELOPE(request, WireRequest)
ENVELOPE(reply, WireReply)
#undef ENVELOPE
