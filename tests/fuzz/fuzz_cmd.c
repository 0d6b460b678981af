/* SPDX-License-Identifier: MIT */
/* The manager's core fed with whatever the input makes: raw payloads from any kind of peer, and
 * requests and replies built so that the deep ends are reached, whole or with a byte changed.
 * After every step its invariants must hold, and whatever it sends must be well-formed and go to
 * a session that there is. */
#include <stdbool.h>
#include <string.h>

#include "base/id.h"
#include "base/time.h"
#include "cmd/core.h"
#include "proto/request.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

enum {
    CLIENTS = 4,
    IMDS = 4,
    SESSIONS = 2 * CLIENTS + 2 * IMDS + 2,
    ASKED = 64,
    STEPS_MAX = 500,
    OWNERS = 4
};

/* A request of the manager that may be answered. */
typedef struct Asked {
    Session *imd;
    uint64_t id;
    uint16_t op;
    uint64_t region; /* FREE, RELEASE, REOPEN */
    uint32_t opening;
} Asked;

typedef struct World {
    Input in;
    uint64_t random, now_ns;
    Manager *m;
    Session sessions[SESSIONS]; /* two of each client, two of each imd, tool, stranger */
    Numbers ids[SESSIONS];
    Session owners[OWNERS]; /* their monitors, on the imds' hosts */
    Numbers owner_ids[OWNERS];
    Asked asked[ASKED];
    unsigned asked_count;
    RegionAddress opened[ASKED]; /* as clients got them */
    unsigned opened_count;
    uint8_t payload[WIRE_PAYLOAD_MAX];
} World;

/* ---- effects -------------------------------------------------------------------------------- */

static void note_request(World *w, Session *session, const uint8_t *payload, size_t len)
{
    WireRequest request;
    OpAlloc alloc;
    OpFree freed;
    OpRelease release;
    OpReopen reopen;
    FUZZ_CHECK(session->peer_role == ROLE_IMD);
    FUZZ_CHECK(wire_request_decode(payload, len, &request) == 0);
    Asked *a = &w->asked[w->asked_count++ % ASKED];
    *a = (Asked){.imd = session, .id = request.id, .op = request.op};
    const uint8_t *body = request.body;
    size_t body_len = request.body_len;
    if (request.op == OP_ALLOC) {
        FUZZ_CHECK(wire_alloc_decode(body, body_len, &alloc) == 0);
    } else if (request.op == OP_FREE) {
        FUZZ_CHECK(wire_free_decode(body, body_len, &freed) == 0);
        a->region = freed.region;
    } else if (request.op == OP_RELEASE) {
        FUZZ_CHECK(wire_release_decode(body, body_len, &release) == 0);
        a->region = release.address.region;
    } else {
        FUZZ_CHECK(request.op == OP_REOPEN);
        FUZZ_CHECK(wire_reopen_decode(body, body_len, &reopen) == 0);
        a->region = reopen.region;
        a->opening = reopen.opening;
    }
}

static void note_reply(World *w, const uint8_t *payload, size_t len)
{
    WireReply reply;
    OpOpenReply opened;
    OpStatusReply status;
    OpEventsReply events;
    OpBeatReply beat;
    OpAliveReply alive;
    OpMovesReply moves;
    OpDrainReply drain;
    OpRegionsReply regions;
    OpDrainsReply drains;
    OpCopiesReply copies;
    FUZZ_CHECK(wire_reply_decode(payload, len, &reply) == 0);
    FUZZ_CHECK(reply.status == STATUS_OK || reply.body_len == 0);
    if (reply.status != STATUS_OK)
        return;
    if (reply.op == OP_OPEN) {
        FUZZ_CHECK(wire_open_reply_decode(reply.body, reply.body_len, &opened) == 0);
        w->opened[w->opened_count++ % ASKED] = opened.address;
    } else if (reply.op == OP_STATUS) {
        FUZZ_CHECK(wire_status_reply_decode(reply.body, reply.body_len, &status) == 0);
    } else if (reply.op == OP_EVENTS) {
        FUZZ_CHECK(wire_events_reply_decode(reply.body, reply.body_len, &events) == 0);
    } else if (reply.op == OP_ALIVE) {
        FUZZ_CHECK(wire_alive_reply_decode(reply.body, reply.body_len, &alive) == 0);
        FUZZ_CHECK(alive.flags != (ALIVE_WANT_LIST | ALIVE_MOVE));
    } else if (reply.op == OP_MOVES) {
        FUZZ_CHECK(wire_moves_reply_decode(reply.body, reply.body_len, &moves) == 0);
    } else if (reply.op == OP_DRAIN) {
        FUZZ_CHECK(wire_drain_reply_decode(reply.body, reply.body_len, &drain) == 0);
    } else if (reply.op == OP_REGIONS) {
        FUZZ_CHECK(wire_regions_reply_decode(reply.body, reply.body_len, &regions) == 0);
    } else if (reply.op == OP_COPIES) {
        FUZZ_CHECK(wire_copies_reply_decode(reply.body, reply.body_len, &copies) == 0);
    } else if (reply.op == OP_DRAINS) {
        FUZZ_CHECK(wire_drains_reply_decode(reply.body, reply.body_len, &drains) == 0);
    } else if (reply.op == OP_BEAT || reply.op == OP_JOIN) {
        FUZZ_CHECK(wire_beat_reply_decode(reply.body, reply.body_len, &beat) == 0);
    }
}

static void message(void *ctx, Session *session, uint8_t type, const uint8_t *payload, size_t len)
{
    World *w = ctx;
    bool owner = session >= w->owners && session < w->owners + OWNERS;
    FUZZ_CHECK(owner || (session >= w->sessions && session < w->sessions + SESSIONS));
    FUZZ_CHECK(session->up);
    if (type == WIRE_REQUEST) {
        note_request(w, session, payload, len);
    } else if (type == WIRE_PING) {
        FUZZ_CHECK(session->peer_role == ROLE_CLIENT);
    } else {
        FUZZ_CHECK(type == WIRE_REPLY);
        note_reply(w, payload, len);
    }
}

/* ---- building messages ---------------------------------------------------------------------- */

/* In memory of just that size, so that a read beyond it is seen; a byte of one in eight is
 * changed. */
static void input(World *w, Session *session, uint8_t type, size_t len)
{
    uint8_t how = take_u8(&w->in);
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        return;
    if (how % 8 == 7 && len > 0)
        w->payload[take_u16(&w->in) % len] ^= how >> 3;
    memcpy(copy, w->payload, len);
    session->up = true;
    manager_input(w->m, session, type, copy, len, w->now_ns);
    free(copy);
}

/* The ids of an identity are shared by its two sessions. */
static Numbers *ids_of(World *w, const Session *session)
{
    return &w->ids[(session - w->sessions) / 2 * 2];
}

static void request_with(World *w, Session *session, Numbers *ids, uint16_t op, const uint8_t *body,
                         size_t len)
{
    uint8_t how = take_u8(&w->in);
    WireRequest m = {.op = op, .body = body, .body_len = len};
    uint64_t back = how % 16 == 15 ? 1 + how / 16 : 0; /* now and then an older one */
    if (back == 0 && ids->next - numbers_lowest(ids) >= 8)
        numbers_end(ids, numbers_lowest(ids));
    m.id = back ? ids->next - (back < ids->next ? back : 1) : numbers_take(ids);
    m.settled = numbers_lowest(ids);
    input(w, session, WIRE_REQUEST, wire_request_encode(&m, w->payload));
}

static void request(World *w, Session *session, uint16_t op, const uint8_t *body, size_t len)
{
    request_with(w, session, ids_of(w, session), op, body, len);
}

static Session *client_session(World *w, uint8_t n)
{
    return &w->sessions[n % (2 * CLIENTS)];
}

static Session *imd_session(World *w, uint8_t n)
{
    return &w->sessions[2 * CLIENTS + n % (2 * IMDS)];
}

static FileKey key_of(uint8_t n)
{
    return (FileKey){{n % 3}};
}

static Stamp stamp_of(uint8_t n)
{
    return (Stamp){n % 2, 1, 1};
}

static RegionAddress pick_opened(World *w)
{
    uint8_t n = take_u8(&w->in);
    RegionAddress a = {.epoch = 0x50 + n % IMDS, .region = 1 + n / 4 % 8, .opening = 1};
    unsigned known = w->opened_count < ASKED ? w->opened_count : ASKED;
    if (known > 0 && n % 8)
        a = w->opened[n % known];
    return a;
}

static ImdHint hint_of(World *w, const Session *imd)
{
    uint8_t n = take_u8(&w->in);
    return (ImdHint){.epoch = imd->peer_epoch + (n == 255),
                     .free_bytes = n,
                     .largest_free_bytes = n % 16,
                     .evictable_bytes = n};
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void step_raw(World *w)
{
    uint8_t type = take_u8(&w->in), from = take_u8(&w->in);
    size_t len = take_u16(&w->in) % WIRE_PAYLOAD_MAX;
    take(&w->in, w->payload, len);
    input(w, &w->sessions[from % SESSIONS], type % 4 ? WIRE_REQUEST : WIRE_REPLY, len);
}

static void step_open(World *w)
{
    uint8_t body[WIRE_BODY_MAX], what = take_u8(&w->in), how = take_u8(&w->in);
    OpOpen op = {.key = key_of(what),
                 .offset = what / 4 % 2,
                 .len = 1 + what / 8 % 16,
                 .flags = how % 4 ? REGION_RETAIN : 0,
                 .stamp = stamp_of(how / 4)};
    if (how % 8 == 7)
        op.flags |= REGION_FRESH;
    request(w, client_session(w, how / 8), OP_OPEN, body, wire_open_encode(&op, body));
}

static void step_close(World *w)
{
    uint8_t body[WIRE_BODY_MAX], how = take_u8(&w->in);
    OpClose op = {
        .address = pick_opened(w), .mode = how % CLOSE_MODE_MAX, .stamp = stamp_of(how / 4)};
    request(w, client_session(w, how / 8), OP_CLOSE, body, wire_close_encode(&op, body));
}

static void step_alive(World *w)
{
    uint8_t body[WIRE_BODY_MAX], how = take_u8(&w->in);
    OpAlive op = {.regions = how % 2, .digest = how % 4};
    const OpMoves moves = {.left_bytes = how, .copied_bytes = how, .refused = how % 2};
    if (how % 8 >= 6) {
        request(w, client_session(w, how / 8), OP_MOVES, body, wire_moves_encode(&moves, body));
        return;
    }
    request(w, client_session(w, how / 8), OP_ALIVE, body, wire_alive_encode(&op, body));
}

static void step_claim(World *w)
{
    uint8_t body[WIRE_BODY_MAX], how = take_u8(&w->in), what = take_u8(&w->in);
    Session *s = client_session(w, how / 8);
    OpClaim op = {.list = what % 4, .pages = 1 + what / 4 % 3, .count = what / 16 % 4};
    op.page = how % op.pages;
    op.before = what == 255 ? 0 : ids_of(w, s)->next;
    for (uint32_t i = 0; i < op.count; i++) {
        RegionAddress a = pick_opened(w);
        op.names[i] = (RegionName){a.epoch, a.region, a.opening};
    }
    request(w, s, OP_CLAIM, body, wire_claim_encode(&op, body));
}

static void step_leave(World *w)
{
    request(w, client_session(w, take_u8(&w->in)), OP_LEAVE, NULL, 0);
}

static void step_join(World *w)
{
    uint8_t body[WIRE_BODY_MAX];
    Session *s = imd_session(w, take_u8(&w->in));
    OpJoin op = {.hint = hint_of(w, s), .pool_bytes = 100, .ports_count = 1, .ports = {1}};
    request(w, s, OP_JOIN, body, wire_join_encode(&op, body));
}

static void step_beat(World *w)
{
    uint8_t body[WIRE_BODY_MAX];
    Session *s = imd_session(w, take_u8(&w->in));
    OpBeat op = {.hint = hint_of(w, s), .digest = take_u8(&w->in) % 4};
    request(w, s, OP_BEAT, body, wire_beat_encode(&op, body));
}

static void step_part(World *w)
{
    uint8_t body[WIRE_BODY_MAX];
    Session *s = imd_session(w, take_u8(&w->in));
    OpPart op = {.hint = hint_of(w, s)};
    request(w, s, OP_PART, body, wire_part_encode(&op, body));
}

static RegionListing pick_listed(World *w, const Session *imd)
{
    uint8_t what = take_u8(&w->in), how = take_u8(&w->in);
    RegionListing l = {.address = {imd->peer_epoch, 1 + what % 32, 1 + what / 32, {{1}}},
                       .key = key_of(how),
                       .offset = how / 4 % 2,
                       .len = 1 + how / 8 % 16,
                       .flags = how % 2 ? REGION_RETAIN | REGION_RELEASED : REGION_RETAIN,
                       .stamp = stamp_of(how / 2),
                       .port = 1};
    if (how % 2 == 0)
        l.client = client_session(w, how / 16)->peer_id;
    return l;
}

static void step_listing(World *w)
{
    uint8_t body[WIRE_BODY_MAX], how = take_u8(&w->in), what = take_u8(&w->in);
    Session *s = imd_session(w, how / 8);
    OpListing op = {.hint = hint_of(w, s),
                    .list = what % 8,
                    .pages = 1 + how % 2,
                    .count = what / 8 % (LISTING_MAX + 1),
                    .before = take_u8(&w->in)};
    op.page = what / 64 % op.pages;
    for (uint32_t i = 0; i < op.count; i++)
        op.regions[i] = pick_listed(w, s);
    request(w, s, OP_LISTING, body, wire_listing_encode(&op, body));
}

/* An answer to one of the manager's latest requests, mostly a good one. */
static void step_answer(World *w)
{
    uint8_t body[WIRE_BODY_MAX], which = take_u8(&w->in), how = take_u8(&w->in);
    unsigned known = w->asked_count < ASKED ? w->asked_count : ASKED;
    if (known == 0)
        return;
    const Asked *a = &w->asked[(w->asked_count - 1 - which % known) % ASKED];
    WireReply m = {.id = a->id, .op = a->op, .body = body};
    m.status = how % 4 == 3 ? how / 4 % (STATUS_MAX + 1) : STATUS_OK;
    if (a->op == OP_ALLOC || a->op == OP_REOPEN) {
        OpAllocReply r = {.hint = hint_of(w, a->imd)};
        if (m.status == STATUS_OK) {
            r.address = (RegionAddress){a->imd->peer_epoch, a->region, a->opening + 1, {{9}}};
            r.port = 7;
            if (a->op == OP_ALLOC)
                r.address.region = 1 + take_u8(&w->in) % 32;
        }
        m.body_len = wire_alloc_reply_encode(&r, body);
    } else {
        OpFreeReply r = {.hint = hint_of(w, a->imd)};
        m.body_len = wire_free_reply_encode(&r, body);
    }
    input(w, a->imd, WIRE_REPLY, wire_reply_encode(&m, w->payload));
}

/* A monitor tells of its host: of an imd that there is, or of any. */
static void step_owner(World *w)
{
    uint8_t body[WIRE_BODY_MAX], what = take_u8(&w->in);
    OpHost op = {.state = what % HOST_OWNER_MAX, .epoch = 0x50 + what / 4 % (IMDS + 1)};
    if (what >= 200)
        op.epoch = 0;
    unsigned i = what / 32 % OWNERS;
    request_with(w, &w->owners[i], &w->owner_ids[i], OP_HOST, body, wire_host_encode(&op, body));
}

/* An operator drains a host, or looks at regions. */
static void step_tool(World *w)
{
    uint8_t body[WIRE_BODY_MAX], what = take_u8(&w->in);
    Session *tool = &w->sessions[SESSIONS - 2];
    const Addr host = imd_session(w, what / 4)->peer;
    const OpDrain drain = {
        .host = host, .what = what / 32 % DRAIN_WHAT_MAX, .drop = what >> 7, .rate = what % 4};
    const OpRegions regions = {.cursor = (uint64_t)what << 55,
                               .host = what & 64 ? host : (Addr){0},
                               .client = what & 128 ? 1 : 0};
    const OpDrains drains = {.cursor = what / 16};
    if (what % 4)
        request(w, tool, OP_DRAIN, body, wire_drain_encode(&drain, body));
    else if (what % 8)
        request(w, tool, OP_COPIES, body, wire_copies_encode(&regions, body));
    else if (what % 16)
        request(w, tool, OP_DRAINS, body, wire_drains_encode(&drains, body));
    else
        request(w, tool, OP_REGIONS, body, wire_regions_encode(&regions, body));
}

static void step_status(World *w)
{
    uint8_t body[WIRE_BODY_MAX];
    uint8_t which = take_u8(&w->in);
    OpStatus op = {.cursor = which % 8 | (uint64_t)(which >> 3 & 1) << 63};
    const OpEvents events = {.after = which % 64};
    if (which >= 128) {
        (which >= 192 ? step_tool : step_owner)(w);
        return;
    }
    if (which >= 64) {
        request(w, &w->sessions[SESSIONS - 2], OP_EVENTS, body, wire_events_encode(&events, body));
        return;
    }
    request(w, &w->sessions[SESSIONS - 2], OP_STATUS, body, wire_status_encode(&op, body));
}

static void step_close_session(World *w)
{
    Session *s = &w->sessions[take_u8(&w->in) % SESSIONS];
    manager_session_closed(w->m, s);
    s->up = false;
}

/* Little by little, to the deadline, or a leap. */
static void step_time(World *w)
{
    uint8_t how = take_u8(&w->in);
    if (how < 100)
        w->now_ns += how * NS_PER_MS;
    else if (how < 220)
        w->now_ns = manager_deadline(w->m) > w->now_ns ? manager_deadline(w->m) : w->now_ns;
    else
        w->now_ns += (how - 219) * NS_PER_S;
    manager_expire(w->m, w->now_ns);
    FUZZ_CHECK(manager_deadline(w->m) > w->now_ns);
}

static void step(World *w)
{
    static void (*const steps[])(World *) = {
        step_time,  step_time,   step_answer,  step_answer,  step_answer,       step_answer,
        step_open,  step_open,   step_open,    step_close,   step_close,        step_alive,
        step_claim, step_leave,  step_join,    step_join,    step_beat,         step_part,
        step_raw,   step_status, step_listing, step_listing, step_close_session};
    steps[take_u8(&w->in) % (sizeof steps / sizeof steps[0])](w);
    FUZZ_CHECK(manager_check(w->m));
}

/* ---- the world ------------------------------------------------------------------------------ */

static void make_sessions(World *w)
{
    for (unsigned i = 0; i < SESSIONS; i++) {
        Session *s = &w->sessions[i];
        bool imd = i >= 2 * CLIENTS && i < 2 * (CLIENTS + IMDS);
        *s = (Session){.peer = addr_sim((uint16_t)(i / 2), 1),
                       .peer_id = {{1, (uint8_t)(i / 2)}},
                       .peer_role = i < 2 * CLIENTS ? ROLE_CLIENT : ROLE_TOOL,
                       .up = true};
        if (imd) {
            s->peer_role = ROLE_IMD;
            s->peer_epoch = 0x50 + i / 2 - CLIENTS;
            if (i / 2 == CLIENTS + IMDS - 1) /* the successor of another, at its address */
                s->peer = w->sessions[2 * CLIENTS].peer;
        }
        numbers_init(&w->ids[i], 1);
    }
    w->sessions[SESSIONS - 1].peer_role = ROLE_CMD;
    for (unsigned i = 0; i < OWNERS; i++) {
        w->owners[i] = (Session){.peer = addr_sim((uint16_t)(CLIENTS + i), 2),
                                 .peer_id = {{2, (uint8_t)i}},
                                 .peer_role = ROLE_RMD,
                                 .up = true};
        numbers_init(&w->owner_ids[i], 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static World w;
    w = (World){.in = {data, size}, .now_ns = 100 * NS_PER_S};
    Env env = {.random = fuzz_random, .ctx = &w.random};
    ManagerSink sink = {.message = message, .ctx = &w};
    ManagerConfig config = {.client_dead_ns = 6 * NS_PER_S,
                            .host_dead_ns = 3 * NS_PER_S,
                            .distrust_ns = 3 * NS_PER_S,
                            .grace_ns = 8 * NS_PER_S,
                            .request_first_retry_ns = 50 * NS_PER_MS,
                            .request_retry_max_ns = 400 * NS_PER_MS,
                            .request_deadline_ns = NS_PER_S,
                            .hosts_max = 3,
                            .clients_max = 3,
                            .regions_max = 24,
                            .opens_max = 6};
    w.random = take_u16(&w.in);
    config.number = w.random % 2 ? 7 : MANAGER_UNLEASED;
    make_sessions(&w);
    w.m = manager_new(&config, &env, &sink, &(Id128){{1}}, w.now_ns);
    if (!w.m)
        return 0;
    for (unsigned i = 0; i < STEPS_MAX && w.in.left > 0; i++)
        step(&w);
    manager_free(w.m);
    return 0;
}
