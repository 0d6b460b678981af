/* SPDX-License-Identifier: MIT */
#include "tests/lib/wire_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/wire.h"

static const char *const op_names[] = {
    [OP_OPEN] = "OPEN",       [OP_CLOSE] = "CLOSE",     [OP_ALIVE] = "ALIVE",
    [OP_CLAIM] = "CLAIM",     [OP_LEAVE] = "LEAVE",     [OP_STATUS] = "STATUS",
    [OP_EXPLAIN] = "EXPLAIN", [OP_REPORT] = "REPORT",   [OP_MOVES] = "MOVES",
    [OP_TAKE] = "TAKE",       [OP_DRAIN] = "DRAIN",     [OP_REGIONS] = "REGIONS",
    [OP_JOIN] = "JOIN",       [OP_BEAT] = "BEAT",       [OP_LISTING] = "LISTING",
    [OP_PART] = "PART",       [OP_HOST] = "HOST",       [OP_ALLOC] = "ALLOC",
    [OP_FREE] = "FREE",       [OP_RELEASE] = "RELEASE", [OP_REOPEN] = "REOPEN",
};

static const char *op_name(uint16_t op)
{
    return op < sizeof op_names / sizeof *op_names && op_names[op] ? op_names[op] : "?";
}

static const char *status_name(uint16_t status)
{
    static const char *const names[] = {
#define X(name, number, text) [number] = #name,
#include "proto/status.def"
#undef X
    };
    return status < sizeof names / sizeof *names && names[status] ? names[status] : "?";
}

/* "0-3, 5". */
static const char *segments_text(uint64_t map, char *buf, size_t cap)
{
    size_t len = 0;
    buf[0] = '\0';
    for (unsigned i = 0; i < 64 && len < cap; i++) {
        unsigned from = i;
        if (!(map >> i & 1))
            continue;
        while (i < 63 && map >> (i + 1) & 1)
            i++;
        len += (size_t)snprintf(buf + len, cap - len, from < i ? "%s%u-%u" : "%s%u",
                                len ? ", " : "", from, i);
    }
    return buf;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void request_text(const WireRequest *q, char *buf)
{
    OpOpen open;
    OpAlloc alloc;
    int len = snprintf(buf, WIRE_TEXT_MAX, "%s (request %" PRIu64 ")", op_name(q->op), q->id);
    char *more = buf + len;
    size_t cap = WIRE_TEXT_MAX - (size_t)len;
    if (q->op == OP_OPEN && wire_open_decode(q->body, q->body_len, &open) == 0)
        snprintf(more, cap, ": bytes %" PRIu64 " to %" PRIu64 " of a file", open.offset,
                 open.offset + open.len - 1);
    else if (q->op == OP_ALLOC && wire_alloc_decode(q->body, q->body_len, &alloc) == 0)
        snprintf(more, cap, ": %" PRIu64 " bytes", alloc.len);
}

static void reply_text(const WireReply *r, char *buf)
{
    OpAllocReply alloc;
    OpOpenReply open;
    int len = snprintf(buf, WIRE_TEXT_MAX, "%s (reply %" PRIu64 "): %s", op_name(r->op), r->id,
                       status_name(r->status));
    char *more = buf + len;
    size_t cap = WIRE_TEXT_MAX - (size_t)len;
    if (r->op == OP_ALLOC && wire_alloc_reply_decode(r->body, r->body_len, &alloc) == 0)
        snprintf(more, cap, ", region %" PRIu64, alloc.address.region);
    else if (r->op == OP_OPEN && wire_open_reply_decode(r->body, r->body_len, &open) == 0)
        snprintf(more, cap, ", region %" PRIu64 " of that imd, and its capability",
                 open.address.region);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void read_text(const WireRead *m, char *buf)
{
    char segments[64];
    snprintf(buf, WIRE_TEXT_MAX,
             "READ ask %" PRIu64 ": bytes %" PRIu64 " to %" PRIu64 " of region %" PRIu64
             ", segments %s",
             m->ask, m->offset, m->offset + m->len - 1, m->address.region,
             segments_text(m->want, segments, sizeof segments));
}

static void data_text(const WireData *m, char *buf)
{
    char filled[64];
    segments_text(m->filled, filled, sizeof filled);
    if (m->index != WIRE_INDEX_NONE)
        snprintf(buf, WIRE_TEXT_MAX, "DATA ask %" PRIu64 ": segment %u, %zu bytes", m->ask,
                 m->index, m->data_len);
    else
        snprintf(buf, WIRE_TEXT_MAX, "DATA ask %" PRIu64 ": %s, filled blocks: %s", m->ask,
                 status_name(m->status), filled[0] ? filled : "none");
}

static void write_text(const WireWrite *m, char *buf)
{
    static const char *const kinds[] = {"WRITE", "WRITE (a fill)", "WRITE (a void)"};
    int len = snprintf(buf, WIRE_TEXT_MAX, "%s number %" PRIu64 ": bytes %" PRIu64 " to %" PRIu64,
                       kinds[m->kind], m->number, m->offset, m->offset + m->len - 1);
    size_t cap = WIRE_TEXT_MAX - (size_t)len;
    if (m->index == WIRE_INDEX_NONE)
        snprintf(buf + len, cap, m->kind == WRITE_VOID ? "" : ": what has come?");
    else
        snprintf(buf + len, cap, ", segment %u", m->index);
}

static void write_ack_text(const WireWriteAck *m, char *buf)
{
    char segments[64];
    segments_text(m->received, segments, sizeof segments);
    if (m->state == WRITE_OPEN)
        snprintf(buf, WIRE_TEXT_MAX, "WRITE_ACK number %" PRIu64 ": has segments %s", m->number,
                 segments[0] ? segments : "none");
    else
        snprintf(buf, WIRE_TEXT_MAX, "WRITE_ACK number %" PRIu64 ": %s", m->number,
                 m->state == WRITE_DONE ? "done" : status_name(m->status));
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char *plain_name(uint8_t type)
{
    switch (type) {
    case WIRE_HELLO:
        return "HELLO";
    case WIRE_HELLO_ACK:
        return "HELLO_ACK";
    case WIRE_RESET:
        return "RESET";
    case WIRE_PING:
        return "PING";
    case WIRE_PONG:
        return "PONG";
    case WIRE_GOODBYE:
        return "GOODBYE";
    case WIRE_PROBE:
        return "PROBE";
    case WIRE_PROBE_ACK:
        return "PROBE_ACK";
    default:
        return "?";
    }
}

const char *wire_text(const uint8_t *datagram, size_t len, char *buf)
{
    WireHeader h;
    union {
        WireRead read;
        WireData data;
        WireWrite write;
        WireWriteAck ack;
        WireRequest request;
        WireReply reply;
    } m;
    if (wire_header_decode(datagram, len, &h) != 0)
        return "not a message";
    const uint8_t *p = datagram + WIRE_HEADER_SIZE;
    size_t n = len - WIRE_HEADER_SIZE;
    snprintf(buf, WIRE_TEXT_MAX, "%s", plain_name(h.type));
    if (h.type == WIRE_READ && wire_read_decode(p, n, &m.read) == 0)
        read_text(&m.read, buf);
    else if (h.type == WIRE_DATA && wire_data_decode(p, n, &m.data) == 0)
        data_text(&m.data, buf);
    else if (h.type == WIRE_WRITE && wire_write_decode(p, n, &m.write) == 0)
        write_text(&m.write, buf);
    else if (h.type == WIRE_WRITE_ACK && wire_write_ack_decode(p, n, &m.ack) == 0)
        write_ack_text(&m.ack, buf);
    else if (h.type == WIRE_REQUEST && wire_request_decode(p, n, &m.request) == 0)
        request_text(&m.request, buf);
    else if (h.type == WIRE_REPLY && wire_reply_decode(p, n, &m.reply) == 0)
        reply_text(&m.reply, buf);
    return buf;
}
