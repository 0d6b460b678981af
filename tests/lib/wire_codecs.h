/* SPDX-License-Identifier: MIT */
/* Every message and body as one pair of functions of one shape, for tests that treat them alike:
 * the golden bytes, the fuzz target, the seeds of its corpus. A new message is one line here. */
#ifndef DODO_TESTS_LIB_WIRE_CODECS_H
#define DODO_TESTS_LIB_WIRE_CODECS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/wire.h"
#include "tests/lib/wire_masks.h"

enum { WIRE_CODEC_ROOM = WIRE_WRITE_HEADER_SIZE + WIRE_SEGMENT_MAX };

typedef struct WireCodec {
    const char *name;
    size_t size; /* of the struct */
    /* 0, or anything else: refused. */
    int (*decode)(const uint8_t *p, size_t len, void *ret);
    /* Data and bodies are encoded too; @out has WIRE_CODEC_ROOM bytes. */
    size_t (*encode)(const void *m, uint8_t *out);
    size_t status_at; /* offset of the status on the wire; 0: has none */
    /* Bytes at the end that are opaque to the codec: any number of them decodes. */
    size_t (*opaque)(const void *m);
    /* Bytes that it has at most with what a later build puts at its end; 0: nothing. */
    size_t longest;
    /* As the encoder, the bytes that say something (tests/lib/wire_masks.h); NULL: all do. */
    size_t (*mask)(const void *m, uint8_t *out);
} WireCodec;

#define WIRE_CODEC_WRAP(name, type)                                           \
    static int codec_##name##_decode(const uint8_t *p, size_t len, void *ret) \
    {                                                                         \
        return wire_##name##_decode(p, len, (type *)ret);                     \
    }                                                                         \
    static size_t codec_##name##_encode(const void *m, uint8_t *out)          \
    {                                                                         \
        return wire_##name##_encode((const type *)m, out);                    \
    }
#define WIRE_CODEC_MASK(name, type)                                \
    static size_t codec_##name##_mask(const void *m, uint8_t *out) \
    {                                                              \
        Writer w = writer_on(out);                                 \
        mask_##name(&w, (const type *)m);                          \
        return writer_len(&w);                                     \
    }
#define WIRE_CODEC_MASKED(name, type) WIRE_CODEC_WRAP(name, type) WIRE_CODEC_MASK(name, type)
WIRE_CODEC_WRAP(hello, WireHello)
WIRE_CODEC_WRAP(read, WireRead)
WIRE_CODEC_WRAP(write_ack, WireWriteAck)
WIRE_CODEC_WRAP(ping, WirePing)
WIRE_CODEC_WRAP(request, WireRequest)
WIRE_CODEC_WRAP(reply, WireReply)
WIRE_CODEC_MASK(hello, WireHello)
WIRE_CODEC_MASK(read, WireRead)
WIRE_CODEC_MASK(write_header, WireWrite)
WIRE_CODEC_MASK(request_header, WireRequest)
WIRE_CODEC_MASK(reply_header, WireReply)
WIRE_BODIES(WIRE_CODEC_MASKED)
#undef WIRE_CODEC_WRAP
#undef WIRE_CODEC_MASK
#undef WIRE_CODEC_MASKED

static int codec_header_decode(const uint8_t *p, size_t len, void *ret)
{
    /* A payload follows a header; here it is taken alone. */
    return len > WIRE_HEADER_SIZE ? -EBADMSG : wire_header_decode(p, len, ret);
}
static size_t codec_header_encode(const void *m, uint8_t *out)
{
    wire_header_encode(m, out);
    return WIRE_HEADER_SIZE;
}

static int codec_reset_decode(const uint8_t *p, size_t len, void *ret)
{
    return wire_reset_decode(p, len, ret);
}
static size_t codec_reset_encode(const void *m, uint8_t *out)
{
    return wire_reset_encode(*(const uint64_t *)m, out);
}

static int codec_goodbye_decode(const uint8_t *p, size_t len, void *ret)
{
    return wire_goodbye_decode(p, len, ret);
}
static size_t codec_goodbye_encode(const void *m, uint8_t *out)
{
    return wire_goodbye_encode(*(const uint64_t *)m, out);
}

static size_t codec_append(uint8_t *out, size_t at, const uint8_t *data, size_t len)
{
    if (len)
        memcpy(out + at, data, len);
    return at + len;
}

static int codec_data_decode(const uint8_t *p, size_t len, void *ret)
{
    return wire_data_decode(p, len, ret);
}
static size_t codec_data_encode(const void *m, uint8_t *out)
{
    const WireData *d = m;
    return codec_append(out, wire_data_encode_header(d, out), d->data, d->data_len);
}
static size_t codec_data_opaque(const void *m)
{
    return ((const WireData *)m)->data_len;
}

static int codec_write_decode(const uint8_t *p, size_t len, void *ret)
{
    return wire_write_decode(p, len, ret);
}
static size_t codec_write_encode(const void *m, uint8_t *out)
{
    const WireWrite *d = m;
    return codec_append(out, wire_write_encode_header(d, out), d->data, d->data_len);
}

static size_t codec_request_opaque(const void *m)
{
    return ((const WireRequest *)m)->body_len;
}
static size_t codec_reply_opaque(const void *m)
{
    return ((const WireReply *)m)->body_len;
}

#define WIRE_CODEC(codec, type)                                             \
    .name = #codec, .size = sizeof(type), .decode = codec_##codec##_decode, \
    .encode = codec_##codec##_encode
#define WIRE_CODEC_BODY(codec, type) \
    {WIRE_CODEC(codec, type), .longest = WIRE_BODY_MAX, .mask = codec_##codec##_mask},
static const WireCodec wire_codecs[] = {
    {WIRE_CODEC(header, WireHeader)},
    {WIRE_CODEC(hello, WireHello), .mask = codec_hello_mask}, /* and HELLO_ACK */
    {WIRE_CODEC(reset, uint64_t), .longest = WIRE_PAYLOAD_MAX},
    {WIRE_CODEC(read, WireRead), .longest = WIRE_PAYLOAD_MAX, .mask = codec_read_mask},
    {WIRE_CODEC(data, WireData), .status_at = WIRE_DATA_INDEX_AT + 2, .opaque = codec_data_opaque},
    {WIRE_CODEC(write, WireWrite), .mask = codec_write_header_mask},
    {WIRE_CODEC(write_ack, WireWriteAck), .status_at = 18, .longest = WIRE_PAYLOAD_MAX},
    {WIRE_CODEC(ping, WirePing), .longest = WIRE_PAYLOAD_MAX}, /* and PONG */
    {WIRE_CODEC(goodbye, uint64_t), .longest = WIRE_PAYLOAD_MAX},
    {WIRE_CODEC(request, WireRequest), .opaque = codec_request_opaque,
     .mask = codec_request_header_mask},
    {WIRE_CODEC(reply, WireReply), .status_at = 10, .opaque = codec_reply_opaque,
     .mask = codec_reply_header_mask},
    WIRE_BODIES(WIRE_CODEC_BODY)};
#undef WIRE_CODEC_BODY
#undef WIRE_CODEC
enum { WIRE_CODECS_COUNT = sizeof wire_codecs / sizeof wire_codecs[0] };

/* Any of the structs. */
typedef union WireAny {
    WireHeader header;
    WireHello hello;
    WireRead read;
    WireData data;
    WireWrite write;
    WireWriteAck write_ack;
    WirePing ping;
    WireRequest request;
    WireReply reply;
#define X(name, type) type name;
    WIRE_BODIES(X)
#undef X
} WireAny;

#endif
