/* SPDX-License-Identifier: MIT */
/* The data core's regions and its dispatch. */
#include "imd/data.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "imd/address.h"
#include "imd/data_priv.h"

/* ---- life ----------------------------------------------------------------------------------- */

ImdData *imd_data_new(const ImdDataConfig *config, const Env *env, const ImdDataSink *sink)
{
    ImdData *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->config = *config;
    d->sink = *sink;
    d->bytes = sizeof *d;
    list_init(&d->fills);
    list_init(&d->writes);
    if (hmap_init(&d->regions, env_random_u64(env)) < 0) {
        free(d);
        return NULL;
    }
    return d;
}

static void region_end_transactions(ImdData *d, DataRegion *r)
{
    LIST_FOREACH(node, &r->writes)
        data_write_end(d, CONTAINER_OF(node, DataWrite, in_region));
    LIST_FOREACH(node, &r->fills)
        data_fill_end(d, CONTAINER_OF(node, DataFill, in_region));
}

static size_t filled_words(uint64_t blocks)
{
    return (size_t)((blocks + 63) / 64);
}

static size_t region_bytes(uint64_t blocks)
{
    return sizeof(DataRegion) + ((size_t)blocks + filled_words(blocks)) * sizeof(uint64_t);
}

static void region_free(ImdData *d, DataRegion *r)
{
    region_end_transactions(d, r);
    hmap_remove(&d->regions, &r->node);
    d->bytes -= region_bytes(r->blocks);
    free(r);
}

ImdData *imd_data_free(ImdData *d)
{
    if (!d)
        return NULL;
    HmapNode *next;
    for (HmapNode *node = hmap_walk(&d->regions, NULL); node; node = next) {
        next = hmap_walk(&d->regions, node);
        region_free(d, CONTAINER_OF(node, DataRegion, node));
    }
    hmap_deinit(&d->regions);
    assert(d->bytes == sizeof *d && d->writes_open == 0 && d->fills_open == 0);
    free(d);
    return NULL;
}

/* ---- regions -------------------------------------------------------------------------------- */

int imd_data_add(ImdData *d, const ImdRegion *region)
{
    assert(region->len > 0 && region->len <= d->config.pool_bytes &&
           region->pool_offset <= d->config.pool_bytes - region->len);
    assert(!data_region_find(d, region->region));
    uint64_t blocks = (region->len - 1) / WIRE_BLOCK_SIZE + 1;
    DataRegion *r = calloc(1, region_bytes(blocks));
    if (!r)
        return -ENOMEM;
    r->name = *region;
    r->open = true;
    r->blocks = blocks;
    number_window_reset(&r->numbers, 1);
    r->filled = r->last_write + blocks; /* none: calloc's zeros, whatever the range held before */
    list_init(&r->writes);
    list_init(&r->fills);
    hmap_insert(&d->regions, &r->node, region->region);
    d->bytes += region_bytes(blocks);
    return 0;
}

void imd_data_drop(ImdData *d, uint64_t region)
{
    DataRegion *r = data_region_find(d, region);
    if (r)
        region_free(d, r);
}

void imd_data_reopen(ImdData *d, uint64_t region, uint32_t opening, const Id128 *capability)
{
    DataRegion *r = data_region_find(d, region);
    if (!r)
        return;
    region_end_transactions(d, r);
    r->name.opening = opening;
    r->name.capability = *capability;
    r->open = true;
    number_window_reset(&r->numbers, 1);
    memset(r->last_write, 0, (size_t)r->blocks * sizeof *r->last_write);
}

void imd_data_close(ImdData *d, uint64_t region)
{
    DataRegion *r = data_region_find(d, region);
    if (!r)
        return;
    region_end_transactions(d, r);
    r->open = false;
}

void imd_data_leave(ImdData *d)
{
    d->leaving = true;
}

bool imd_data_idle(const ImdData *d)
{
    return d->writes_open == 0;
}

/* ---- input ---------------------------------------------------------------------------------- */

static int input_read(ImdData *d, void *session, const uint8_t *payload, size_t len)
{
    WireRead m;
    int r = wire_read_decode(payload, len, &m);
    if (r == 0)
        data_read(d, session, &m);
    return r;
}

static int input_write(ImdData *d, void *session, const uint8_t *payload, size_t len)
{
    WireWrite m;
    DataRegion *region = NULL;
    int r = wire_write_decode(payload, len, &m);
    if (r < 0)
        return r;
    uint16_t status = region_open(d, &m.address, m.offset, m.len, &region);
    if (status != STATUS_OK)
        write_refuse(d, session, &m, status);
    else if (m.kind == WRITE_DATA)
        data_write(d, session, region, &m);
    else if (m.kind == WRITE_FILL)
        data_fill(d, session, region, &m);
    else
        data_void(d, session, region, &m);
    return 0;
}

static int input_ping(ImdData *d, void *session, const uint8_t *payload, size_t len)
{
    WirePing m;
    uint8_t out[WIRE_PAYLOAD_MAX];
    int r = wire_ping_decode(payload, len, &m);
    if (r < 0)
        return r;
    m.epoch = d->config.epoch;
    m.flags = d->leaving ? PONG_LEAVING : 0;
    d->sink.message(d->sink.ctx, session, WIRE_PONG, out, wire_ping_encode(&m, out));
    return 0;
}

/* Goes back as it came: no reply is larger than what it answers. */
static int input_probe(ImdData *d, void *session, const uint8_t *payload, size_t len)
{
    uint64_t nonce;
    int r = wire_probe_decode(payload, len, &nonce);
    if (r == 0 && d->sink.probe_ack)
        d->sink.probe_ack(d->sink.ctx, session, payload, len);
    return r;
}

void imd_data_input(ImdData *d, void *session, uint8_t type, const uint8_t *payload, size_t len,
                    uint64_t now_ns)
{
    d->tick = imd_use_tick(now_ns); /* the client owns every timer, the imd only reacts */
    int r = -EBADMSG;
    if (type == WIRE_READ)
        r = input_read(d, session, payload, len);
    else if (type == WIRE_WRITE)
        r = input_write(d, session, payload, len);
    else if (type == WIRE_PING)
        r = input_ping(d, session, payload, len);
    else if (type == WIRE_PROBE)
        r = input_probe(d, session, payload, len);
    if (r < 0)
        d->stats.malformed++;
}

void imd_data_pace_bytes(ImdData *d, uint32_t bytes)
{
    d->config.pace_bytes = bytes;
}

void imd_data_pace(ImdData *d, bool over)
{
    d->paced = over;
}

void imd_data_read(ImdData *d, void *session, const WireRead *read, uint64_t now_ns)
{
    d->tick = imd_use_tick(now_ns);
    data_read(d, session, read);
}

void imd_data_busy(ImdData *d, void *session, const WireRead *read)
{
    d->stats.busy++;
    read_refuse(d, session, read, STATUS_BUSY);
}

void imd_data_session_closed(ImdData *d, void *session)
{
    LIST_FOREACH(node, &d->fills) {
        DataFill *f = CONTAINER_OF(node, DataFill, in_order);
        if (f->session == session)
            data_fill_end(d, f);
    }
}

/* ---- what is known of it -------------------------------------------------------------------- */

const ImdDataStats *imd_data_stats(const ImdData *d)
{
    return &d->stats;
}

ImdAwaited imd_data_awaited(const ImdData *d)
{
    return d->awaited;
}

size_t imd_data_bytes(const ImdData *d)
{
    return d->bytes + hmap_bytes(&d->regions);
}

bool imd_data_block_filled(const ImdData *d, uint64_t region, uint64_t block)
{
    const DataRegion *r = data_region_find(d, region);
    return r && block < r->blocks && (r->filled[block / 64] >> (block % 64) & 1);
}

size_t imd_data_regions(const ImdData *d)
{
    return d->regions.count;
}

static size_t list_length(const ListNode *head)
{
    size_t n = 0;
    LIST_FOREACH(node, head)
        n++;
    return n;
}

static void add_missing(ImdAwaited *sum, const Assembly *a)
{
    ImdAwaited m = assembly_missing(a);
    sum->bytes += m.bytes;
    sum->segments += m.segments;
}

static void add_awaited(ImdAwaited *sum, const DataRegion *r)
{
    LIST_FOREACH(node, &r->writes)
        add_missing(sum, &CONTAINER_OF(node, DataWrite, in_region)->chunk);
    LIST_FOREACH(node, &r->fills)
        add_missing(sum, &CONTAINER_OF(node, DataFill, in_region)->chunk);
}

bool imd_data_check(const ImdData *d)
{
    size_t bytes = sizeof *d, writes = 0, fills = 0;
    ImdAwaited awaited = {0};
    for (HmapNode *node = hmap_walk(&d->regions, NULL); node; node = hmap_walk(&d->regions, node)) {
        const DataRegion *r = CONTAINER_OF(node, DataRegion, node);
        if (!data_writes_check(r) || !data_extents_check(r) ||
            (!r->open && !(list_empty(&r->writes) && list_empty(&r->fills))))
            return false;
        writes += list_length(&r->writes);
        fills += list_length(&r->fills);
        add_awaited(&awaited, r);
        bytes += region_bytes(r->blocks);
    }
    bytes += writes * sizeof(DataWrite) + fills * sizeof(DataFill);
    return bytes == d->bytes && writes == d->writes_open && fills == d->fills_open &&
           fills == list_length(&d->fills) && writes <= d->config.writes_max &&
           fills <= d->config.fills_max && awaited.bytes == d->awaited.bytes &&
           awaited.segments == d->awaited.segments;
}
