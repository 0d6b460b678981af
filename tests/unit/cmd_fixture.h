/* SPDX-License-Identifier: MIT */
/* A manager's core with scripted imds and clients around it, for the tests of cmd. Everything
 * passes through the real encoders; time is what the test says; after every step the manager's
 * invariants are checked. A test file includes this once. */
#ifndef DODO_TESTS_CMD_FIXTURE_H
#define DODO_TESTS_CMD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"
#include "cmd/core.h"
#include "proto/request.h"

#define FIXTURE static inline __attribute__((unused))

enum { IMDS_MAX = 160, CLIENTS_MAX = 24, FAKE_REGIONS_MAX = 512, OPS_MAX = 64 };

typedef struct Sent {
    Session *to;
    uint8_t type;
    size_t len;
    uint8_t payload[WIRE_PAYLOAD_MAX];
} Sent;

typedef struct FakeImd {
    Session session;
    uint64_t pool;
    RegionListing regions[FAKE_REGIONS_MAX];
    unsigned count;
    uint64_t next_region;
    Numbers ids;
    ReplyCache replies;
    bool deaf;            /* gets nothing from the manager */
    bool dumb;            /* its replies are lost */
    bool dead;            /* does not beat either */
    uint64_t claims_free; /* told as largest free block; 0: the truth */
    uint16_t refuse[OPS_MAX];
    unsigned got[OPS_MAX]; /* executed or refused, by op */
    unsigned executed;     /* of all ops; then of each op when it first and when it last came: */
    unsigned first_got[OPS_MAX], last_got[OPS_MAX];
    bool evicted; /* the last ALLOC had evict = 1 */
    uint32_t lists, lists_asked;
    uint32_t last_flags;
    uint64_t latest; /* id of its latest JOIN or BEAT */
} FakeImd;

typedef struct FakeClient {
    Session session, other; /* two threads' sockets */
    Numbers ids;
    RegionAddress open[FAKE_REGIONS_MAX];
    unsigned count;
    bool dead;
    uint32_t lists, lists_asked;
    uint32_t last_flags;
    uint64_t latest_alive;
} FakeClient;

typedef struct Rig {
    Manager *m;
    ManagerConfig config;
    uint64_t now_ns, random;
    Sent *log;
    size_t count, room, read;
    FakeImd *imds[IMDS_MAX];
    unsigned imds_count;
    FakeClient *clients[CLIENTS_MAX];
    unsigned clients_count;
    uint8_t instances;
    char events[4096]; /* "WHAT(REGIONS) ..." */
    Session tool;
    Numbers tool_ids;
} Rig;

/* ---- the manager's surroundings ------------------------------------------------------------- */

FIXTURE void rig_random(void *ctx, void *buf, size_t len)
{
    Rig *rig = ctx;
    for (size_t i = 0; i < len; i++) {
        rig->random = rig->random * 6364136223846793005ull + 1442695040888963407ull;
        ((uint8_t *)buf)[i] = (uint8_t)(rig->random >> 56);
    }
}

FIXTURE void rig_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload,
                         size_t len)
{
    Rig *rig = ctx;
    if (rig->count == rig->room) {
        rig->room = rig->room ? 2 * rig->room : 256;
        rig->log = realloc(rig->log, rig->room * sizeof *rig->log);
        assert_non_null(rig->log);
    }
    Sent *s = &rig->log[rig->count++];
    s->to = session;
    s->type = type;
    s->len = len;
    memcpy(s->payload, payload, len);
}

FIXTURE void rig_event(void *ctx, const ManagerEvent *e)
{
    Rig *rig = ctx;
    size_t n = strlen(rig->events);
    (void)snprintf(rig->events + n, sizeof rig->events - n, "%s(%u) ", e->what,
                   (unsigned)e->regions);
}

FIXTURE void rig_trace(void *ctx, const char *text)
{
    (void)ctx;
    assert_true(text[0] != '\0' && !strchr(text, '\n'));
}

FIXTURE void rig_start(Rig *rig)
{
    Env env = {.random = rig_random, .trace = rig_trace, .ctx = rig};
    ManagerSink sink = {.message = rig_message, .ctx = rig, .event = rig_event};
    Id128 instance = {{++rig->instances}};
    rig->m = manager_new(&rig->config, &env, &sink, &instance, rig->now_ns);
    assert_non_null(rig->m);
}

FIXTURE ManagerConfig rig_config(void)
{
    return (ManagerConfig){.client_dead_ns = 30 * NS_PER_S,
                           .host_dead_ns = 15 * NS_PER_S,
                           .distrust_ns = 600 * NS_PER_S,
                           .grace_ns = 45 * NS_PER_S,
                           .request_first_retry_ns = 50 * NS_PER_MS,
                           .request_retry_max_ns = 400 * NS_PER_MS,
                           .request_deadline_ns = 2 * NS_PER_S,
                           .hosts_max = 40,
                           .clients_max = 16,
                           .regions_max = 1000,
                           .opens_max = 8};
}

FIXTURE Rig *rig_new_with(ManagerConfig config, uint64_t seed)
{
    Rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->config = config;
    rig->random = seed;
    rig->now_ns = 1000 * NS_PER_S;
    rig->tool = (Session){.peer_role = ROLE_TOOL, .peer_id = {{3}}, .up = true};
    numbers_init(&rig->tool_ids, 1);
    rig_start(rig);
    return rig;
}

FIXTURE Rig *rig_new(void)
{
    return rig_new_with(rig_config(), 1);
}

FIXTURE void rig_free(Rig *rig)
{
    rig->m = manager_free(rig->m);
    for (unsigned i = 0; i < rig->imds_count; i++) {
        reply_cache_deinit(&rig->imds[i]->replies);
        free(rig->imds[i]);
    }
    for (unsigned i = 0; i < rig->clients_count; i++)
        free(rig->clients[i]);
    free(rig->log);
    free(rig);
}

/* The manager forgets everything; the imds notice the new instance. */
FIXTURE void rig_amnesia(Rig *rig)
{
    manager_free(rig->m);
    rig->read = rig->count;
    rig_start(rig);
    for (unsigned i = 0; i < rig->imds_count; i++) {
        reply_cache_deinit(&rig->imds[i]->replies);
        reply_cache_init(&rig->imds[i]->replies);
    }
}

FIXTURE void rig_input(Rig *rig, Session *from, uint8_t type, const uint8_t *payload, size_t len)
{
    manager_input(rig->m, from, type, payload, len, rig->now_ns);
    assert_true(manager_check(rig->m));
}

FIXTURE uint64_t rig_request(Rig *rig, Session *from, Numbers *ids, uint16_t op,
                             const uint8_t *body, size_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireRequest request = {.id = numbers_take(ids),
                           .settled = numbers_lowest(ids),
                           .op = op,
                           .body = body,
                           .body_len = len};
    assert_int_not_equal(request.id, 0);
    rig_input(rig, from, WIRE_REQUEST, payload, wire_request_encode(&request, payload));
    return request.id;
}

/* The same request again, as a retry or a duplicate. */
FIXTURE void rig_again(Rig *rig, Session *from, uint64_t id, uint64_t settled, uint16_t op,
                       const uint8_t *body, size_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireRequest request = {.id = id, .settled = settled, .op = op, .body = body, .body_len = len};
    rig_input(rig, from, WIRE_REQUEST, payload, wire_request_encode(&request, payload));
}

/* Replies to this request so far; the last one's content, body borrowed until the next step. */
FIXTURE unsigned rig_replies(const Rig *rig, const Session *to, uint64_t id, WireReply *ret)
{
    unsigned n = 0;
    *ret = (WireReply){0};
    for (size_t i = 0; i < rig->count; i++) {
        WireReply reply;
        const Sent *s = &rig->log[i];
        if (s->to != to || s->type != WIRE_REPLY)
            continue;
        assert_int_equal(wire_reply_decode(s->payload, s->len, &reply), 0);
        if (reply.id != id)
            continue;
        *ret = reply;
        n++;
    }
    return n;
}

FIXTURE uint16_t rig_status(const Rig *rig, const Session *to, uint64_t id)
{
    WireReply reply;
    assert_int_equal(rig_replies(rig, to, id, &reply), 1);
    return reply.status;
}

FIXTURE bool rig_answered(const Rig *rig, const Session *to, uint64_t id)
{
    WireReply reply;
    return rig_replies(rig, to, id, &reply) > 0;
}

FIXTURE ManagerStats rig_stats(const Rig *rig)
{
    ManagerStats stats;
    manager_stats(rig->m, &stats);
    return stats;
}

/* ---- imds ----------------------------------------------------------------------------------- */

FIXTURE FakeImd *imd_new(Rig *rig, uint64_t pool)
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

FIXTURE ImdHint imd_hint(const FakeImd *imd)
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

FIXTURE uint64_t imd_digest(const FakeImd *imd)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < imd->count; i++) {
        const RegionAddress *a = &imd->regions[i].address;
        digest ^= region_digest(&(RegionName){a->epoch, a->region, a->opening});
    }
    return digest;
}

FIXTURE RegionListing *imd_region(FakeImd *imd, uint64_t region)
{
    for (unsigned i = 0; i < imd->count; i++)
        if (imd->regions[i].address.region == region)
            return &imd->regions[i];
    return NULL;
}

FIXTURE void imd_drop(FakeImd *imd, RegionListing *l)
{
    *l = imd->regions[--imd->count];
}

/* The lowest request id that is not reflected in what imd->regions says. */
FIXTURE uint64_t imd_before(const FakeImd *imd)
{
    return number_window_open(&imd->replies.seen);
}

/* A JOIN or BEAT: takes the place of an unanswered one. */
FIXTURE uint64_t imd_request(Rig *rig, FakeImd *imd, uint16_t op, const uint8_t *body, size_t len)
{
    numbers_end(&imd->ids, imd->latest);
    imd->latest = imd->ids.next;
    return rig_request(rig, &imd->session, &imd->ids, op, body, len);
}

FIXTURE uint64_t imd_join(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpJoin join = {
        .hint = imd_hint(imd), .pool_bytes = imd->pool, .ports_count = 1, .ports = {9000}};
    return imd_request(rig, imd, OP_JOIN, body, wire_join_encode(&join, body));
}

FIXTURE uint64_t imd_beat(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpBeat beat = {
        .hint = imd_hint(imd), .digest = imd_digest(imd), .read_bytes = 11, .write_bytes = 22};
    return imd_request(rig, imd, OP_BEAT, body, wire_beat_encode(&beat, body));
}

/* One page of a list, as the arguments say. */
FIXTURE uint64_t imd_page(Rig *rig, FakeImd *imd, uint32_t list, uint32_t page, uint32_t pages,
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

/* A whole list of what it has. */
FIXTURE void imd_list(Rig *rig, FakeImd *imd)
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

FIXTURE uint16_t imd_alloc(FakeImd *imd, const WireRequest *request, OpAllocReply *reply)
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

FIXTURE uint16_t imd_free_op(FakeImd *imd, const WireRequest *request)
{
    OpFree op;
    assert_int_equal(wire_free_decode(request->body, request->body_len, &op), 0);
    RegionListing *l = imd_region(imd, op.region);
    if (!l)
        return STATUS_GONE;
    imd_drop(imd, l);
    return STATUS_OK;
}

FIXTURE uint16_t imd_release(FakeImd *imd, const WireRequest *request)
{
    OpRelease op;
    assert_int_equal(wire_release_decode(request->body, request->body_len, &op), 0);
    RegionListing *l = imd_region(imd, op.address.region);
    if (!l || l->address.opening != op.address.opening ||
        !id128_equal(&l->address.capability, &op.address.capability))
        return STATUS_GONE;
    l->flags |= REGION_RELEASED;
    l->stamp = op.stamp;
    l->client = (Id128){{0}};
    return STATUS_OK;
}

FIXTURE uint16_t imd_reopen(FakeImd *imd, const WireRequest *request, OpAllocReply *reply)
{
    OpReopen op;
    assert_int_equal(wire_reopen_decode(request->body, request->body_len, &op), 0);
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

FIXTURE void imd_answer(Rig *rig, FakeImd *imd, const WireRequest *request)
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

FIXTURE void imd_serve(Rig *rig, FakeImd *imd, const Sent *s)
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

/* ---- clients -------------------------------------------------------------------------------- */

FIXTURE FakeClient *client_new(Rig *rig)
{
    assert_true(rig->clients_count < CLIENTS_MAX);
    FakeClient *c = calloc(1, sizeof *c);
    assert_non_null(c);
    unsigned n = rig->clients_count;
    rig->clients[rig->clients_count++] = c;
    c->session = (Session){.peer = addr_sim((uint16_t)(1 + n), 5000),
                           .peer_id = {{0xC1, (uint8_t)n}},
                           .peer_role = ROLE_CLIENT,
                           .up = true};
    c->other = c->session;
    c->other.peer.port++;
    numbers_init(&c->ids, 1);
    return c;
}

FIXTURE FileKey key_of(uint8_t n)
{
    return (FileKey){{n, 0xF1}};
}

FIXTURE Stamp stamp_of(uint64_t n)
{
    return (Stamp){.size = n, .mtime_ns = n + 1, .ctime_ns = n + 2};
}

FIXTURE OpOpen open_of(uint8_t file, uint64_t len, uint32_t flags)
{
    return (OpOpen){
        .key = key_of(file), .offset = 0, .len = len, .flags = flags, .stamp = stamp_of(1)};
}

FIXTURE uint64_t client_request(Rig *rig, FakeClient *c, uint16_t op, const uint8_t *body,
                                size_t len)
{
    return rig_request(rig, &c->session, &c->ids, op, body, len);
}

FIXTURE uint64_t client_open_send(Rig *rig, FakeClient *c, const OpOpen *open)
{
    uint8_t body[WIRE_BODY_MAX];
    return client_request(rig, c, OP_OPEN, body, wire_open_encode(open, body));
}

/* Takes the reply to an OPEN into the client's table. */
FIXTURE uint16_t client_opened(Rig *rig, FakeClient *c, uint64_t id, OpOpenReply *ret)
{
    WireReply reply;
    OpOpenReply got;
    assert_true(rig_replies(rig, &c->session, id, &reply) > 0);
    numbers_end(&c->ids, id);
    if (reply.status != STATUS_OK)
        return reply.status;
    assert_int_equal(wire_open_reply_decode(reply.body, reply.body_len, &got), 0);
    assert_true(c->count < FAKE_REGIONS_MAX);
    c->open[c->count++] = got.address;
    if (ret)
        *ret = got;
    return STATUS_OK;
}

FIXTURE uint64_t client_alive(Rig *rig, FakeClient *c)
{
    uint8_t body[WIRE_BODY_MAX];
    OpAlive alive = {.regions = c->count};
    for (unsigned i = 0; i < c->count; i++)
        alive.digest ^=
            region_digest(&(RegionName){c->open[i].epoch, c->open[i].region, c->open[i].opening});
    numbers_end(&c->ids, c->latest_alive);
    c->latest_alive = c->ids.next;
    return client_request(rig, c, OP_ALIVE, body, wire_alive_encode(&alive, body));
}

FIXTURE uint64_t client_claim_page(Rig *rig, FakeClient *c, uint32_t list, uint32_t page,
                                   uint32_t pages, uint64_t before, const RegionAddress *open,
                                   unsigned count)
{
    uint8_t body[WIRE_BODY_MAX];
    OpClaim claim = {.list = list, .page = page, .pages = pages, .count = count, .before = before};
    for (unsigned i = 0; i < count; i++)
        claim.names[i] = (RegionName){open[i].epoch, open[i].region, open[i].opening};
    return client_request(rig, c, OP_CLAIM, body, wire_claim_encode(&claim, body));
}

FIXTURE void client_claim(Rig *rig, FakeClient *c)
{
    uint32_t pages = c->count ? (c->count + CLAIM_NAMES_MAX - 1) / CLAIM_NAMES_MAX : 1;
    uint64_t before = numbers_lowest(&c->ids);
    c->lists++;
    for (uint32_t page = 0; page < pages; page++) {
        unsigned first = page * CLAIM_NAMES_MAX, left = c->count - first;
        uint64_t id = client_claim_page(rig, c, c->lists, page, pages, before, &c->open[first],
                                        left < CLAIM_NAMES_MAX ? left : CLAIM_NAMES_MAX);
        numbers_end(&c->ids, id);
    }
}

FIXTURE uint64_t client_close_send(Rig *rig, FakeClient *c, const RegionAddress *address,
                                   uint8_t mode, uint64_t stamp)
{
    uint8_t body[WIRE_BODY_MAX];
    OpClose op = {.address = *address, .mode = mode, .stamp = stamp_of(stamp)};
    for (unsigned i = 0; i < c->count; i++) {
        if (c->open[i].epoch == address->epoch && c->open[i].region == address->region &&
            c->open[i].opening == address->opening) {
            c->open[i] = c->open[--c->count];
            break;
        }
    }
    return client_request(rig, c, OP_CLOSE, body, wire_close_encode(&op, body));
}

/* ---- running -------------------------------------------------------------------------------- */

FIXTURE void rig_reply_to_peer(Rig *rig, const Sent *s)
{
    WireReply reply;
    assert_int_equal(wire_reply_decode(s->payload, s->len, &reply), 0);
    for (unsigned i = 0; i < rig->imds_count; i++) {
        FakeImd *imd = rig->imds[i];
        OpBeatReply beat;
        if (s->to != &imd->session || imd->deaf)
            continue;
        numbers_end(&imd->ids, reply.id);
        if ((reply.op == OP_BEAT || reply.op == OP_JOIN) && reply.status == STATUS_OK) {
            assert_int_equal(wire_beat_reply_decode(reply.body, reply.body_len, &beat), 0);
            imd->last_flags = beat.flags;
            imd->lists_asked += beat.flags & BEAT_WANT_LIST;
        }
    }
    for (unsigned i = 0; i < rig->clients_count; i++) {
        FakeClient *c = rig->clients[i];
        OpAliveReply alive;
        if (s->to != &c->session || reply.op != OP_ALIVE)
            continue;
        numbers_end(&c->ids, reply.id);
        if (reply.status != STATUS_OK)
            continue;
        assert_int_equal(wire_alive_reply_decode(reply.body, reply.body_len, &alive), 0);
        c->last_flags = alive.flags;
        c->lists_asked += alive.flags & ALIVE_WANT_LIST;
    }
}

/* Delivers what the manager sent, and what comes of it, until nothing more does. */
FIXTURE void rig_pump(Rig *rig)
{
    while (rig->read < rig->count) {
        Sent s = rig->log[rig->read++];
        if (s.type == WIRE_REPLY) {
            rig_reply_to_peer(rig, &s);
            continue;
        }
        assert_int_equal(s.type, WIRE_REQUEST);
        for (unsigned i = 0; i < rig->imds_count; i++)
            if (s.to == &rig->imds[i]->session && !rig->imds[i]->deaf)
                imd_serve(rig, rig->imds[i], &s);
    }
}

/* Time passes; nobody but the manager does anything by itself. */
FIXTURE void rig_wait(Rig *rig, uint64_t ns)
{
    uint64_t end = rig->now_ns + ns;
    rig_pump(rig);
    while (manager_deadline(rig->m) <= end) {
        if (manager_deadline(rig->m) > rig->now_ns)
            rig->now_ns = manager_deadline(rig->m);
        manager_expire(rig->m, rig->now_ns);
        assert_true(manager_check(rig->m));
        assert_true(manager_deadline(rig->m) > rig->now_ns); /* or it would run hot */
        rig_pump(rig);
    }
    rig->now_ns = end;
}

/* Time passes as it does in a living cluster: all that live beat and keep alive, and send the
 * lists that they are asked for. */
FIXTURE void rig_live(Rig *rig, uint64_t seconds)
{
    for (uint64_t s = 0; s < seconds; s++) {
        for (unsigned i = 0; i < rig->imds_count; i++) {
            FakeImd *imd = rig->imds[i];
            if (imd->dead)
                continue;
            imd->last_flags = 0;
            imd_beat(rig, imd);
            rig_pump(rig);
            if (imd->last_flags & BEAT_WANT_LIST)
                imd_list(rig, imd);
            rig_pump(rig);
        }
        for (unsigned i = 0; i < rig->clients_count; i++) {
            FakeClient *c = rig->clients[i];
            if (c->dead)
                continue;
            c->last_flags = 0;
            client_alive(rig, c);
            rig_pump(rig);
            if (c->last_flags & ALIVE_WANT_LIST)
                client_claim(rig, c);
            rig_pump(rig);
        }
        rig_wait(rig, NS_PER_S);
    }
}

/* A host that joined and gave its list. */
FIXTURE FakeImd *imd_up(Rig *rig, uint64_t pool)
{
    FakeImd *imd = imd_new(rig, pool);
    imd_join(rig, imd);
    rig_pump(rig);
    imd_list(rig, imd);
    rig_pump(rig);
    return imd;
}

FIXTURE uint16_t client_open(Rig *rig, FakeClient *c, const OpOpen *open, OpOpenReply *ret)
{
    uint64_t id = client_open_send(rig, c, open);
    rig_pump(rig);
    return client_opened(rig, c, id, ret);
}

FIXTURE uint16_t client_close(Rig *rig, FakeClient *c, const RegionAddress *address, uint8_t mode,
                              uint64_t stamp)
{
    uint64_t id = client_close_send(rig, c, address, mode, stamp);
    rig_pump(rig);
    numbers_end(&c->ids, id);
    return rig_status(rig, &c->session, id);
}

/* What the manager tells the tool of its hosts, from @cursor on. */
FIXTURE OpStatusReply rig_status_page(Rig *rig, uint64_t cursor)
{
    uint8_t body[WIRE_BODY_MAX];
    OpStatusReply ret;
    WireReply reply;
    OpStatus op = {.cursor = cursor};
    uint64_t id = rig_request(rig, &rig->tool, &rig->tool_ids, OP_STATUS, body,
                              wire_status_encode(&op, body));
    numbers_end(&rig->tool_ids, id);
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_status_reply_decode(reply.body, reply.body_len, &ret), 0);
    return ret;
}

/* How many lists all together have been asked for. */
FIXTURE unsigned lists_asked(const Rig *rig)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->imds_count; i++)
        n += rig->imds[i]->lists_asked;
    for (unsigned i = 0; i < rig->clients_count; i++)
        n += rig->clients[i]->lists_asked;
    return n;
}

/* That many regions of 4 KiB. */
FIXTURE void open_many(Rig *rig, FakeClient *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        OpOpen open = open_of((uint8_t)i, 4096, REGION_RETAIN);
        open.offset = i * (uint64_t)1024;
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    }
}

/* Its memory goes: it says so, and is answered. */
static inline void imd_part(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpPart op = {.hint = imd_hint(imd)};
    uint64_t id =
        rig_request(rig, &imd->session, &imd->ids, OP_PART, body, wire_part_encode(&op, body));
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_OK);
    rig_pump(rig);
}

#endif
