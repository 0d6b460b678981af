/* SPDX-License-Identifier: MIT */
/* The bodies of requests and replies: fields in the order of their structs, packed. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "proto/wire.h"
#include "proto/wire_fields.h"

/* Packed sizes, counted field by field. */
enum {
    ADDRESS_SIZE = 8 + 8 + 4 + 16,
    HOST_ADDR_SIZE = 1 + 2 + 4 + 16,
    HINT_SIZE = 4 * 8 + 4 + 4,
    STAMP_SIZE = 3 * 8,
    NAME_SIZE = 8 + 8 + 4,
    REASON_SIZE_MAX = 1 + REASON_MAX,
    HOST_STATUS_SIZE_MAX = HOST_ADDR_SIZE + 1 + 7 * 8 + REASON_SIZE_MAX,
    LISTED_SIZE = ADDRESS_SIZE - 8 + 16 + 32 + 8 + 8 + 4 + STAMP_SIZE + 2,
    PAGING_SIZE = 4 * 4 + 8,

    CLAIM_SIZE_MAX = PAGING_SIZE + CLAIM_NAMES_MAX * NAME_SIZE,
    STATUS_REPLY_SIZE_MAX = 4 * 8 + 4 + STATUS_HOSTS_MAX * HOST_STATUS_SIZE_MAX,
    EXPLAIN_REPLY_SIZE_MAX = 4 + 4 + 4 + EXPLAIN_PAGE_MAX,
    JOIN_SIZE_MAX = HINT_SIZE + 8 + 4 + JOIN_PORTS_MAX * 2,
    LISTING_SIZE_MAX = HINT_SIZE + PAGING_SIZE + LISTING_MAX * LISTED_SIZE,

    OPENING_FLAGS = REGION_RDONLY | REGION_RETAIN,
};
_Static_assert(sizeof(FileKey) == 32, "FileKey");
_Static_assert((int)CLAIM_SIZE_MAX <= (int)WIRE_BODY_MAX, "CLAIM_NAMES_MAX");
_Static_assert((int)STATUS_REPLY_SIZE_MAX <= (int)WIRE_BODY_MAX, "STATUS_HOSTS_MAX");
_Static_assert((int)EXPLAIN_REPLY_SIZE_MAX <= (int)WIRE_BODY_MAX, "EXPLAIN_PAGE_MAX");
_Static_assert((int)JOIN_SIZE_MAX <= (int)WIRE_BODY_MAX, "JOIN_PORTS_MAX");
_Static_assert((int)LISTING_SIZE_MAX <= (int)WIRE_BODY_MAX, "LISTING_MAX");

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

static void write_stamp(Writer *w, const Stamp *s)
{
    write_u64(w, s->size);
    write_u64(w, s->mtime_ns);
    write_u64(w, s->ctime_ns);
}

static Stamp read_stamp(Reader *r)
{
    Stamp s;
    s.size = read_u64(r);
    s.mtime_ns = read_u64(r);
    s.ctime_ns = read_u64(r);
    return s;
}

static void write_key(Writer *w, const FileKey *k)
{
    write_bytes(w, k->bytes, sizeof k->bytes);
}

static FileKey read_key(Reader *r)
{
    FileKey k;
    read_bytes(r, k.bytes, sizeof k.bytes);
    return k;
}

static uint32_t read_flags(Reader *r, uint32_t known)
{
    uint32_t flags = read_u32(r);
    reader_demand(r, (flags & ~known) == 0);
    return flags;
}

/* An enumerated byte below @end. */
static uint8_t read_below(Reader *r, uint8_t end)
{
    uint8_t v = read_u8(r);
    reader_demand(r, v < end);
    return v;
}

/* Number of elements of a list that follows: read_count() yields at most @max, whatever came. */
static uint32_t read_count(Reader *r, uint32_t max)
{
    uint32_t count = read_u32(r);
    reader_demand(r, count <= max);
    return r->bad ? 0 : count;
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

static void write_name(Writer *w, const RegionName *n)
{
    write_u64(w, n->epoch);
    write_u64(w, n->region);
    write_u32(w, n->opening);
}

static RegionName read_name(Reader *r)
{
    RegionName n = {.epoch = read_u64(r)};
    n.region = read_u64(r);
    n.opening = read_u32(r);
    reader_demand(r, n.region != 0 && n.opening != 0);
    return n;
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
