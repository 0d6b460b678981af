/* SPDX-License-Identifier: MIT */
/* Cursors over wire bytes, private to the codecs of proto/: a writer that trusts its room (the
 * caller gave WIRE_PAYLOAD_MAX bytes) and a reader that trusts nothing. A reader that found an
 * error stays `bad` and yields zeros, so that decoders read to the end and ask once. */
#ifndef DODO_PROTO_CURSOR_H
#define DODO_PROTO_CURSOR_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

typedef struct Writer {
    uint8_t *start, *at;
} Writer;

static inline Writer writer_on(uint8_t *out)
{
    return (Writer){.start = out, .at = out};
}
static inline size_t writer_len(const Writer *w)
{
    return (size_t)(w->at - w->start);
}
static inline void write_u8(Writer *w, uint8_t v)
{
    put_u8(w->at, v);
    w->at += 1;
}
static inline void write_u16(Writer *w, uint16_t v)
{
    put_u16(w->at, v);
    w->at += 2;
}
static inline void write_u32(Writer *w, uint32_t v)
{
    put_u32(w->at, v);
    w->at += 4;
}
static inline void write_u64(Writer *w, uint64_t v)
{
    put_u64(w->at, v);
    w->at += 8;
}
static inline void write_zeros(Writer *w, size_t n)
{
    memset(w->at, 0, n);
    w->at += n;
}
/* @src may be NULL when @n is 0, and may already stand where it is to go. */
static inline void write_bytes(Writer *w, const void *src, size_t n)
{
    if (n)
        memmove(w->at, src, n);
    w->at += n;
}

typedef struct Reader {
    const uint8_t *at, *end;
    bool bad;
    bool ended; /* where it may: what is read from there on is zero */
} Reader;

static inline Reader reader_on(const uint8_t *p, size_t len)
{
    return (Reader){.at = p, .end = len ? p + len : p};
}
static inline size_t reader_left(const Reader *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->at);
}
/* The next @n bytes, or NULL: there are not so many, which is bad unless the bytes have ended. */
static inline const uint8_t *reader_take(Reader *r, size_t n)
{
    if (r->ended)
        return NULL;
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *p = r->at;
    r->at = n ? p + n : p;
    return p;
}
/* The bytes may end here. */
static inline void reader_may_end(Reader *r)
{
    if (r->at == r->end)
        r->ended = true;
}
static inline void reader_demand(Reader *r, bool holds)
{
    if (!holds)
        r->bad = true;
}
static inline uint8_t read_u8(Reader *r)
{
    const uint8_t *p = reader_take(r, 1);
    return p ? get_u8(p) : 0;
}
static inline uint16_t read_u16(Reader *r)
{
    const uint8_t *p = reader_take(r, 2);
    return p ? get_u16(p) : 0;
}
static inline uint32_t read_u32(Reader *r)
{
    const uint8_t *p = reader_take(r, 4);
    return p ? get_u32(p) : 0;
}
static inline uint64_t read_u64(Reader *r)
{
    const uint8_t *p = reader_take(r, 8);
    return p ? get_u64(p) : 0;
}
static inline void read_bytes(Reader *r, void *dst, size_t n)
{
    const uint8_t *p = reader_take(r, n);
    if (p)
        memcpy(dst, p, n);
    else
        memset(dst, 0, n);
}
/* @n reserved bytes: a later build may use them. */
static inline void read_reserved(Reader *r, size_t n)
{
    (void)reader_take(r, n);
}
/* @n bytes that are zero, so that equal values are equal bytes. */
static inline void read_zeros(Reader *r, size_t n)
{
    const uint8_t *p = reader_take(r, n);
    for (size_t i = 0; p && i < n; i++)
        reader_demand(r, p[i] == 0);
}
/* 0 when all was right and nothing is left over, else -EBADMSG. */
static inline int reader_finish(const Reader *r)
{
    return !r->bad && r->at == r->end ? 0 : -EBADMSG;
}

#endif
