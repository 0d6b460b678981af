/* SPDX-License-Identifier: MIT */
/* The bodies of requests and replies that clients, tools and rmd exchange with cmd: fields in the
 * order of their structs, packed. wire_imd.c has those between imd and cmd. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "proto/wire.h"
#include "proto/wire_fields.h"

/* Packed sizes, counted field by field. */
enum {
    HOST_ADDR_SIZE = 1 + 2 + 4 + 16,
    REASON_SIZE_MAX = 1 + REASON_MAX,
    HOST_STATUS_SIZE_MAX = HOST_ADDR_SIZE + 1 + 7 * 8 + REASON_SIZE_MAX,

    CLAIM_SIZE_MAX = PAGING_SIZE + CLAIM_NAMES_MAX * NAME_SIZE,
    STATUS_REPLY_SIZE_MAX = 4 * 8 + 4 + STATUS_HOSTS_MAX * HOST_STATUS_SIZE_MAX,
    EXPLAIN_REPLY_SIZE_MAX = 4 + 4 + 4 + EXPLAIN_PAGE_MAX,
};
_Static_assert((int)CLAIM_SIZE_MAX <= (int)WIRE_BODY_MAX, "CLAIM_NAMES_MAX");
_Static_assert((int)STATUS_REPLY_SIZE_MAX <= (int)WIRE_BODY_MAX, "STATUS_HOSTS_MAX");
_Static_assert((int)EXPLAIN_REPLY_SIZE_MAX <= (int)WIRE_BODY_MAX, "EXPLAIN_PAGE_MAX");

/* ---- shared fields ------------------------------------------------------------------------- */

static void write_host_addr(Writer *w, const Addr *a)
{
    write_u8(w, a->kind);
    write_u16(w, a->port);
    write_u32(w, a->scope);
    write_bytes(w, a->host, sizeof a->host);
}

/* Bytes of Addr.host that a kind uses: all others are zero, so that equal addresses are equal
 * bytes. */
static size_t host_bytes(uint8_t kind)
{
    static const uint8_t used[ADDR_KIND_MAX] = {
        [ADDR_NONE] = 0, [ADDR_IP4] = 4, [ADDR_IP6] = 16, [ADDR_MAC] = 6, [ADDR_SIM] = 2};
    return kind < ADDR_KIND_MAX ? used[kind] : 0;
}

static Addr read_host_addr(Reader *r)
{
    Addr a = {.kind = read_u8(r)};

    a.port = read_u16(r);
    a.scope = read_u32(r);
    reader_demand(r, a.kind < ADDR_KIND_MAX);
    reader_demand(r, a.kind == ADDR_IP6 || a.scope == 0);
    reader_demand(r, a.kind != ADDR_NONE || a.port == 0);
    read_bytes(r, a.host, host_bytes(a.kind));
    read_zeros(r, sizeof a.host - host_bytes(a.kind));
    return a;
}

static void write_reason(Writer *w, const Reason *reason)
{
    size_t len = strnlen(reason->text, REASON_MAX);
    write_u8(w, (uint8_t)len);
    write_bytes(w, reason->text, len);
}

/* It ends up on terminals: nothing but what prints there. */
static Reason read_reason(Reader *r)
{
    Reason reason = {""};
    size_t len = read_u8(r);

    reader_demand(r, len <= REASON_MAX);
    read_bytes(r, reason.text, len <= REASON_MAX ? len : 0);
    for (size_t i = 0; i < len && !r->bad; i++)
        reader_demand(r, reason.text[i] >= ' ' && reason.text[i] <= '~');
    return reason;
}

/* ---- client and cmd ------------------------------------------------------------------------ */

size_t wire_open_encode(const OpOpen *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_key(&w, &m->key);
    write_u64(&w, m->offset);
    write_u64(&w, m->len);
    write_u32(&w, m->flags);
    write_stamp(&w, &m->stamp);
    assert(m->avoid_count <= OPEN_AVOID_MAX);
    write_u32(&w, m->avoid_count);
    for (uint32_t i = 0; i < m->avoid_count; i++)
        write_u64(&w, m->avoid[i]);
    return writer_len(&w);
}

int wire_open_decode(const uint8_t *p, size_t len, OpOpen *ret)
{
    Reader r = reader_on(p, len);
    OpOpen m = {.key = read_key(&r)};

    m.offset = read_u64(&r);
    m.len = read_u64(&r);
    m.flags = read_flags(&r, OPENING_FLAGS);
    m.stamp = read_stamp(&r);
    m.avoid_count = read_count(&r, OPEN_AVOID_MAX);
    for (uint32_t i = 0; i < m.avoid_count; i++)
        m.avoid[i] = read_u64(&r);
    demand_range(&r, m.offset, m.len);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_open_reply_encode(const OpOpenReply *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_host_addr(&w, &m->host);
    write_address(&w, &m->address);
    write_u8(&w, m->reused);
    write_u16(&w, m->control_port);
    return writer_len(&w);
}

int wire_open_reply_decode(const uint8_t *p, size_t len, OpOpenReply *ret)
{
    Reader r = reader_on(p, len);
    OpOpenReply m = {.host = read_host_addr(&r)};

    m.address = read_address(&r);
    m.reused = read_below(&r, 2);
    m.control_port = read_u16(&r);
    reader_demand(&r, m.host.kind != ADDR_NONE && m.control_port != 0);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_close_encode(const OpClose *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_address(&w, &m->address);
    write_u8(&w, m->mode);
    write_stamp(&w, &m->stamp);
    return writer_len(&w);
}

int wire_close_decode(const uint8_t *p, size_t len, OpClose *ret)
{
    Reader r = reader_on(p, len);
    OpClose m = {.address = read_address(&r)};

    m.mode = read_below(&r, CLOSE_MODE_MAX);
    m.stamp = read_stamp(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_alive_encode(const OpAlive *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u32(&w, m->regions);
    write_u64(&w, m->digest);
    return writer_len(&w);
}

int wire_alive_decode(const uint8_t *p, size_t len, OpAlive *ret)
{
    Reader r = reader_on(p, len);
    OpAlive m = {.regions = read_u32(&r)};

    m.digest = read_u64(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_report_encode(const OpReport *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->epoch);
    write_u8(&w, m->fault);
    write_zeros(&w, 7);
    return writer_len(&w);
}

int wire_report_decode(const uint8_t *p, size_t len, OpReport *ret)
{
    Reader r = reader_on(p, len);
    OpReport m = {.epoch = read_u64(&r)};

    m.fault = read_u8(&r);
    read_zeros(&r, 7);
    reader_demand(&r, m.epoch != 0 && m.fault < HOST_FAULT_MAX);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_alive_reply_encode(const OpAliveReply *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u32(&w, m->flags);
    return writer_len(&w);
}

int wire_alive_reply_decode(const uint8_t *p, size_t len, OpAliveReply *ret)
{
    Reader r = reader_on(p, len);
    OpAliveReply m = {.flags = read_flags(&r, ALIVE_WANT_LIST)};

    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_claim_encode(const OpClaim *m, uint8_t *out)
{
    assert(m->count <= CLAIM_NAMES_MAX);
    Writer w = writer_on(out);
    write_u32(&w, m->list);
    write_u32(&w, m->page);
    write_u32(&w, m->pages);
    write_u32(&w, m->count);
    write_u64(&w, m->before);
    for (uint32_t i = 0; i < m->count; i++)
        write_name(&w, &m->names[i]);
    return writer_len(&w);
}

int wire_claim_decode(const uint8_t *p, size_t len, OpClaim *ret)
{
    Reader r = reader_on(p, len);
    OpClaim m = {.list = read_u32(&r)};

    m.page = read_u32(&r);
    m.pages = read_u32(&r);
    m.count = read_count(&r, CLAIM_NAMES_MAX);
    m.before = read_u64(&r);
    for (uint32_t i = 0; i < m.count; i++)
        m.names[i] = read_name(&r);
    reader_demand(&r, m.page < m.pages);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- tool and cmd -------------------------------------------------------------------------- */

size_t wire_status_encode(const OpStatus *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u64(&w, m->cursor);
    return writer_len(&w);
}

int wire_status_decode(const uint8_t *p, size_t len, OpStatus *ret)
{
    Reader r = reader_on(p, len);
    OpStatus m = {.cursor = read_u64(&r)};

    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

static void write_host_status(Writer *w, const HostStatus *h)
{
    write_host_addr(w, &h->address);
    write_u8(w, h->state);
    write_u64(w, h->epoch);
    write_u64(w, h->pool_bytes);
    write_u64(w, h->free_bytes);
    write_u64(w, h->largest_free_bytes);
    write_u64(w, h->regions);
    write_u64(w, h->read_bytes);
    write_u64(w, h->write_bytes);
    write_reason(w, &h->reason);
}

static HostStatus read_host_status(Reader *r)
{
    HostStatus h = {.address = read_host_addr(r)};
    h.state = read_below(r, HOST_STATE_MAX);
    h.epoch = read_u64(r);
    h.pool_bytes = read_u64(r);
    h.free_bytes = read_u64(r);
    h.largest_free_bytes = read_u64(r);
    h.regions = read_u64(r);
    h.read_bytes = read_u64(r);
    h.write_bytes = read_u64(r);
    h.reason = read_reason(r);
    return h;
}

size_t wire_status_reply_encode(const OpStatusReply *m, uint8_t *out)
{
    assert(m->count <= STATUS_HOSTS_MAX);
    Writer w = writer_on(out);
    write_u64(&w, m->next);
    write_u64(&w, m->regions);
    write_u64(&w, m->clients);
    write_u64(&w, m->uptime_ms);
    write_u32(&w, m->count);
    for (uint32_t i = 0; i < m->count; i++)
        write_host_status(&w, &m->hosts[i]);
    return writer_len(&w);
}

int wire_status_reply_decode(const uint8_t *p, size_t len, OpStatusReply *ret)
{
    Reader r = reader_on(p, len);
    OpStatusReply m = {.next = read_u64(&r)};

    m.regions = read_u64(&r);
    m.clients = read_u64(&r);
    m.uptime_ms = read_u64(&r);
    m.count = read_count(&r, STATUS_HOSTS_MAX);
    for (uint32_t i = 0; i < m.count; i++)
        m.hosts[i] = read_host_status(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- rmd: to a tool, to cmd ----------------------------------------------------------------- */

size_t wire_explain_encode(const OpExplain *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u32(&w, m->offset);
    return writer_len(&w);
}

int wire_explain_decode(const uint8_t *p, size_t len, OpExplain *ret)
{
    Reader r = reader_on(p, len);
    OpExplain m = {.offset = read_u32(&r)};

    reader_demand(&r, m.offset <= EXPLAIN_MAX);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_explain_reply_encode(const OpExplainReply *m, uint8_t *out)
{
    assert(m->len <= EXPLAIN_PAGE_MAX);
    Writer w = writer_on(out);
    write_u32(&w, m->total);
    write_u32(&w, m->version);
    write_u32(&w, m->len);
    write_bytes(&w, m->text, m->len);
    return writer_len(&w);
}

int wire_explain_reply_decode(const uint8_t *p, size_t len, OpExplainReply *ret)
{
    Reader r = reader_on(p, len);
    OpExplainReply m = {.total = read_u32(&r)};

    m.version = read_u32(&r);
    m.len = read_count(&r, EXPLAIN_PAGE_MAX);
    reader_demand(&r, m.total <= EXPLAIN_MAX && m.len <= m.total);
    read_bytes(&r, m.text, m.len);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}

size_t wire_host_encode(const OpHost *m, uint8_t *out)
{
    Writer w = writer_on(out);
    write_u8(&w, m->state);
    write_u64(&w, m->epoch);
    write_u64(&w, m->lendable_bytes);
    write_reason(&w, &m->reason);
    return writer_len(&w);
}

int wire_host_decode(const uint8_t *p, size_t len, OpHost *ret)
{
    Reader r = reader_on(p, len);
    OpHost m = {.state = read_below(&r, HOST_OWNER_MAX)};

    m.epoch = read_u64(&r);
    m.lendable_bytes = read_u64(&r);
    m.reason = read_reason(&r);
    if (reader_finish(&r) != 0)
        return -EBADMSG;
    *ret = m;
    return 0;
}
