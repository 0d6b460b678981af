/* SPDX-License-Identifier: MIT */
/* The scripted imds, and the monitors beside them. */
#include "tests/unit/cmd_fixture.h"

FakeImd *imd_new(Rig *rig, uint64_t pool)
{
    assert_true(rig->imds_count < IMDS_MAX);
    FakeImd *imd = calloc(1, sizeof *imd);
    assert_non_null(imd);
    unsigned n = rig->imds_count;
    rig->imds[rig->imds_count++] = imd;
    imd->session = (Session){.peer = addr_sim((uint16_t)(100 + n), 7701),
                             .peer_id = {{0xEE, (uint8_t)n}},
                             .peer_epoch = 0x1000 + n,
                             .peer_role = ROLE_IMD,
                             .up = true};
    imd->pool = pool;
    imd->next_region = 1;
    numbers_init(&imd->ids, 1);
    reply_cache_init(&imd->replies);
    return imd;
}

ImdHint imd_hint(const FakeImd *imd)
{
    ImdHint hint = {.epoch = imd->session.peer_epoch, .regions = imd->count};
    uint64_t used = 0, released = 0;
    for (unsigned i = 0; i < imd->count; i++) {
        used += imd->regions[i].len;
        released += imd->regions[i].flags & REGION_RELEASED ? imd->regions[i].len : 0;
    }
    hint.free_bytes = imd->pool - used;
    hint.largest_free_bytes = imd->claims_free ? imd->claims_free : hint.free_bytes;
    hint.evictable_bytes = hint.free_bytes + released;
    return hint;
}

static uint64_t imd_digest(const FakeImd *imd)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < imd->count; i++) {
        const RegionAddress *a = &imd->regions[i].address;
        digest ^= region_digest(&(RegionName){a->epoch, a->region, a->opening});
    }
    return digest;
}

RegionListing *imd_region(FakeImd *imd, uint64_t region)
{
    for (unsigned i = 0; i < imd->count; i++)
        if (imd->regions[i].address.region == region)
            return &imd->regions[i];
    return NULL;
}

void imd_drop(FakeImd *imd, RegionListing *l)
{
    *l = imd->regions[--imd->count];
}

uint64_t imd_before(const FakeImd *imd)
{
    return number_window_open(&imd->replies.seen);
}

/* A JOIN or BEAT: takes the place of an unanswered one. */
static uint64_t imd_request(Rig *rig, FakeImd *imd, uint16_t op, const uint8_t *body, size_t len)
{
    numbers_end(&imd->ids, imd->latest);
    imd->latest = imd->ids.next;
    return rig_request(rig, &imd->session, &imd->ids, op, body, len);
}

uint64_t imd_join(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpJoin join = {
        .hint = imd_hint(imd), .pool_bytes = imd->pool, .ports_count = 1, .ports = {9000}};
    return imd_request(rig, imd, OP_JOIN, body, wire_join_encode(&join, body));
}

uint64_t imd_beat(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpBeat beat = {.hint = imd_hint(imd), .digest = imd_digest(imd), .served = {11, 22, 33, 44, 4}};
    beat.served.read_bytes += imd->served;
    return imd_request(rig, imd, OP_BEAT, body, wire_beat_encode(&beat, body));
}

uint64_t imd_page(Rig *rig, FakeImd *imd, uint32_t list, uint32_t page, uint32_t pages,
                  uint64_t before, const RegionListing *regions, unsigned count)
{
    uint8_t body[WIRE_BODY_MAX];
    OpListing listing = {.hint = imd_hint(imd),
                         .list = list,
                         .page = page,
                         .pages = pages,
                         .count = count,
                         .before = before};
    for (unsigned i = 0; i < count; i++)
        listing.regions[i] = regions[i];
    return rig_request(rig, &imd->session, &imd->ids, OP_LISTING, body,
                       wire_listing_encode(&listing, body));
}

void imd_list(Rig *rig, FakeImd *imd)
{
    uint32_t pages = imd->count ? (imd->count + LISTING_MAX - 1) / LISTING_MAX : 1;
    uint64_t before = imd_before(imd);
    imd->lists++;
    for (uint32_t page = 0; page < pages; page++) {
        unsigned first = page * LISTING_MAX, left = imd->count - first;
        uint64_t id = imd_page(rig, imd, imd->lists, page, pages, before, &imd->regions[first],
                               left < LISTING_MAX ? left : LISTING_MAX);
        numbers_end(&imd->ids, id);
    }
}

static uint16_t imd_alloc(FakeImd *imd, const WireRequest *request, OpAllocReply *reply)
{
    OpAlloc op;
    assert_int_equal(wire_alloc_decode(request->body, request->body_len, &op), 0);
    imd->evicted = op.evict;
    for (unsigned i = 0; op.evict && i < imd->count && imd_hint(imd).free_bytes < op.len; i++)
        if (imd->regions[i].flags & REGION_RELEASED)
            imd_drop(imd, &imd->regions[i--]);
    if (imd_hint(imd).free_bytes < op.len || imd->count == FAKE_REGIONS_MAX)
        return STATUS_NO_MEMORY;
    RegionListing *l = &imd->regions[imd->count++];
    *l = (RegionListing){.address = {.epoch = imd->session.peer_epoch,
                                     .region = imd->next_region++,
                                     .opening = 1,
                                     .capability = {{0xCA}}},
                         .client = op.client,
                         .key = op.key,
                         .offset = op.offset,
                         .len = op.len,
                         .flags = op.flags,
                         .port = 9000};
    reply->address = l->address;
    reply->port = l->port;
    return STATUS_OK;
}

static uint16_t imd_free_op(FakeImd *imd, const WireRequest *request)
{
    OpFree op;
    assert_int_equal(wire_free_decode(request->body, request->body_len, &op), 0);
    assert_int_equal(op.epoch, imd->session.peer_epoch);
    RegionListing *l = imd_region(imd, op.region);
    if (!l)
        return STATUS_GONE;
    imd_drop(imd, l);
    return STATUS_OK;
}

static uint16_t imd_release(FakeImd *imd, const WireRequest *request)
{
    OpRelease op;
    assert_int_equal(wire_release_decode(request->body, request->body_len, &op), 0);
    assert_int_equal(op.address.epoch, imd->session.peer_epoch);
    RegionListing *l = imd_region(imd, op.address.region);
    if (!l || l->address.opening != op.address.opening ||
        !id128_equal(&l->address.capability, &op.address.capability))
        return STATUS_GONE;
    l->flags |= REGION_RELEASED;
    l->stamp = op.stamp;
    l->client = (Id128){{0}};
    return STATUS_OK;
}

static uint16_t imd_reopen(FakeImd *imd, const WireRequest *request, OpAllocReply *reply)
{
    OpReopen op;
    assert_int_equal(wire_reopen_decode(request->body, request->body_len, &op), 0);
    assert_int_equal(op.epoch, imd->session.peer_epoch);
    assert_true(op.flags & REGION_RETAIN);
    RegionListing *l = imd_region(imd, op.region);
    if (!l || !(l->flags & REGION_RELEASED) || l->address.opening != op.opening)
        return STATUS_GONE;
    if (memcmp(&l->stamp, &op.stamp, sizeof op.stamp) != 0)
        return STATUS_STALE;
    l->flags = op.flags;
    l->client = op.client;
    l->address.opening++;
    l->address.capability.bytes[1]++;
    reply->address = l->address;
    reply->port = l->port;
    return STATUS_OK;
}

static void imd_answer(Rig *rig, FakeImd *imd, const WireRequest *request)
{
    uint8_t body[WIRE_BODY_MAX], payload[WIRE_PAYLOAD_MAX];
    OpAllocReply given = {0};
    uint16_t status = imd->refuse[request->op];

    imd->last_got[request->op] = ++imd->executed;
    if (imd->got[request->op]++ == 0)
        imd->first_got[request->op] = imd->executed;
    if (status == STATUS_OK && request->op == OP_ALLOC)
        status = imd_alloc(imd, request, &given);
    else if (status == STATUS_OK && request->op == OP_FREE)
        status = imd_free_op(imd, request);
    else if (status == STATUS_OK && request->op == OP_RELEASE)
        status = imd_release(imd, request);
    else if (status == STATUS_OK)
        status = imd_reopen(imd, request, &given);
    given.hint = imd_hint(imd);
    OpFreeReply other = {.hint = given.hint};
    size_t n = request->op == OP_ALLOC || request->op == OP_REOPEN
                   ? wire_alloc_reply_encode(&given, body)
                   : wire_free_reply_encode(&other, body);
    WireReply reply = {
        .id = request->id, .op = request->op, .status = status, .body = body, .body_len = n};
    size_t len = wire_reply_encode(&reply, payload);
    assert_int_equal(reply_cache_store(&imd->replies, request->id, payload, len), 0);
    if (!imd->dumb)
        rig_input(rig, &imd->session, WIRE_REPLY, payload, len);
}

void imd_serve(Rig *rig, FakeImd *imd, const Sent *s)
{
    WireRequest request;
    const uint8_t *again;
    size_t len;
    assert_int_equal(wire_request_decode(s->payload, s->len, &request), 0);
    enum RequestFate fate = reply_cache_admit(&imd->replies, &request, &again, &len);
    assert_int_not_equal(fate, REQUEST_OVER); /* a request that nobody would ever answer */
    if (fate == REQUEST_EXECUTE)
        imd_answer(rig, imd, &request);
    else if (fate == REQUEST_REPEAT && !imd->dumb)
        rig_input(rig, &imd->session, WIRE_REPLY, again, len);
}

/* ---- monitors ------------------------------------------------------------------------------- */

FakeRmd rmd_of(const FakeImd *imd)
{
    FakeRmd r = {.session = {.peer = imd->session.peer,
                             .peer_id = {{0xDD, imd->session.peer_id.bytes[1]}},
                             .peer_role = ROLE_RMD,
                             .up = true}};
    r.session.peer.port = 7702;
    numbers_init(&r.ids, 1);
    return r;
}

OpHost rmd_op(enum HostOwner state, uint64_t epoch, const char *reason)
{
    OpHost op = {.state = (uint8_t)state, .epoch = epoch, .lendable_bytes = 77};
    (void)snprintf(op.reason.text, sizeof op.reason.text, "%s", reason);
    return op;
}

uint64_t rmd_report(Rig *rig, FakeRmd *rmd, enum HostOwner state, uint64_t epoch,
                    const char *reason)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpHost op = rmd_op(state, epoch, reason);
    uint64_t id =
        rig_request(rig, &rmd->session, &rmd->ids, OP_HOST, body, wire_host_encode(&op, body));
    assert_int_equal(rig_status(rig, &rmd->session, id), STATUS_OK);
    numbers_end(&rmd->ids, id);
    return id;
}
