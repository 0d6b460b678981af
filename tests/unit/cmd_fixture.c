/* SPDX-License-Identifier: MIT */
#include "tests/unit/cmd_fixture.h"

/* ---- the manager's surroundings ------------------------------------------------------------- */

static void rig_random(void *ctx, void *buf, size_t len)
{
    Rig *rig = ctx;
    for (size_t i = 0; i < len; i++) {
        rig->random = rig->random * 6364136223846793005ull + 1442695040888963407ull;
        ((uint8_t *)buf)[i] = (uint8_t)(rig->random >> 56);
    }
}

static void rig_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload,
                        size_t len)
{
    Rig *rig = ctx;
    assert_non_null(session);
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

static void rig_event(void *ctx, const ManagerEvent *e)
{
    Rig *rig = ctx;
    const char *what = event_kind_text(e->kind);
    size_t n = strlen(rig->events);
    assert_true(e->number > 0 && e->at_ns > 0 && *e->reason.text);
    if (strncmp(what, "host_", 5) == 0 || e->kind == EVENT_CLIENT_CAME)
        assert_int_not_equal(e->address.kind, ADDR_NONE);
    if (e->kind != EVENT_MANAGER_STARTED)
        (void)snprintf(rig->events + n, sizeof rig->events - n, "%s(%u) ", what,
                       (unsigned)e->regions);
}

static void rig_trace(void *ctx, const char *text)
{
    (void)ctx;
    assert_true(text[0] != '\0' && !strchr(text, '\n'));
}

static void rig_start(Rig *rig)
{
    Env env = {.random = rig_random, .trace = rig_trace, .ctx = rig};
    ManagerSink sink = {.message = rig_message, .ctx = rig, .event = rig_event};
    Id128 instance = {{++rig->instances}};
    rig->m = manager_new(&rig->config, &env, &sink, &instance, rig->now_ns);
    assert_non_null(rig->m);
}

ManagerConfig rig_config(void)
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

Rig *rig_new_with(ManagerConfig config, uint64_t seed)
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

Rig *rig_new(void)
{
    return rig_new_with(rig_config(), 1);
}

void rig_free(Rig *rig)
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

void rig_amnesia(Rig *rig)
{
    manager_free(rig->m);
    rig->read = rig->count;
    rig_start(rig);
    for (unsigned i = 0; i < rig->imds_count; i++) {
        reply_cache_deinit(&rig->imds[i]->replies);
        reply_cache_init(&rig->imds[i]->replies);
    }
}

void rig_input(Rig *rig, Session *from, uint8_t type, const uint8_t *payload, size_t len)
{
    manager_input(rig->m, from, type, payload, len, rig->now_ns);
    assert_true(manager_check(rig->m));
}

uint64_t rig_request(Rig *rig, Session *from, Numbers *ids, uint16_t op, const uint8_t *body,
                     size_t len)
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

void rig_again(Rig *rig, Session *from, uint64_t id, uint64_t settled, uint16_t op,
               const uint8_t *body, size_t len)
{
    uint8_t payload[WIRE_PAYLOAD_MAX];
    WireRequest request = {.id = id, .settled = settled, .op = op, .body = body, .body_len = len};
    rig_input(rig, from, WIRE_REQUEST, payload, wire_request_encode(&request, payload));
}

unsigned rig_replies(const Rig *rig, const Session *to, uint64_t id, WireReply *ret)
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

uint16_t rig_status(const Rig *rig, const Session *to, uint64_t id)
{
    WireReply reply;
    assert_int_equal(rig_replies(rig, to, id, &reply), 1);
    return reply.status;
}

bool rig_answered(const Rig *rig, const Session *to, uint64_t id)
{
    WireReply reply;
    return rig_replies(rig, to, id, &reply) > 0;
}

WireRequest rig_asked(const Rig *rig)
{
    const Sent *s = &rig->log[rig->count - 1];
    WireRequest asked;
    assert_int_equal(s->type, WIRE_REQUEST);
    assert_int_equal(wire_request_decode(s->payload, s->len, &asked), 0);
    return asked;
}

void rig_give(Rig *rig, Session *from, const WireRequest *asked, const OpAllocReply *given,
              size_t cut)
{
    uint8_t body[WIRE_BODY_MAX], payload[WIRE_PAYLOAD_MAX];
    size_t n = wire_alloc_reply_encode(given, body) - cut;
    WireReply reply = {.id = asked->id, .op = asked->op, .body = body, .body_len = n};
    rig_input(rig, from, WIRE_REPLY, payload, wire_reply_encode(&reply, payload));
}

void rig_refuses(Rig *rig, Session *from, Numbers *ids, uint16_t op, const uint8_t *body,
                 size_t len)
{
    WireReply reply;
    uint64_t id = rig_request(rig, from, ids, op, body, len);
    assert_int_equal(rig_replies(rig, from, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_INVALID);
    assert_int_equal(reply.body_len, 0);
}

ManagerStats rig_stats(const Rig *rig)
{
    ManagerStats stats;
    manager_stats(rig->m, &stats);
    return stats;
}

/* ---- clients -------------------------------------------------------------------------------- */

FakeClient *client_new(Rig *rig)
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

FileKey key_of(uint8_t n)
{
    return (FileKey){{n, 0xF1}};
}

Stamp stamp_of(uint64_t n)
{
    return (Stamp){.size = n, .mtime_ns = n + 1, .ctime_ns = n + 2};
}

OpOpen open_of(uint8_t file, uint64_t len, uint32_t flags)
{
    return (OpOpen){
        .key = key_of(file), .offset = 0, .len = len, .flags = flags, .stamp = stamp_of(1)};
}

uint64_t client_request(Rig *rig, FakeClient *c, uint16_t op, const uint8_t *body, size_t len)
{
    return rig_request(rig, &c->session, &c->ids, op, body, len);
}

uint64_t client_open_send(Rig *rig, FakeClient *c, const OpOpen *open)
{
    uint8_t body[WIRE_BODY_MAX];
    return client_request(rig, c, OP_OPEN, body, wire_open_encode(open, body));
}

uint16_t client_opened(Rig *rig, FakeClient *c, uint64_t id, OpOpenReply *ret)
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

uint64_t client_alive(Rig *rig, FakeClient *c)
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

uint64_t client_claim_page(Rig *rig, FakeClient *c, uint32_t list, uint32_t page, uint32_t pages,
                           uint64_t before, const RegionAddress *open, unsigned count)
{
    uint8_t body[WIRE_BODY_MAX];
    OpClaim claim = {.list = list, .page = page, .pages = pages, .count = count, .before = before};
    for (unsigned i = 0; i < count; i++)
        claim.names[i] = (RegionName){open[i].epoch, open[i].region, open[i].opening};
    return client_request(rig, c, OP_CLAIM, body, wire_claim_encode(&claim, body));
}

void client_claim(Rig *rig, FakeClient *c)
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

uint64_t client_close_send(Rig *rig, FakeClient *c, const RegionAddress *address, uint8_t mode,
                           uint64_t stamp)
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

static void rig_reply_to_peer(Rig *rig, const Sent *s)
{
    WireReply reply;
    assert_int_equal(wire_reply_decode(s->payload, s->len, &reply), 0);
    for (unsigned i = 0; i < rig->imds_count; i++) {
        FakeImd *imd = rig->imds[i];
        OpBeatReply beat;
        if (s->to != &imd->session || imd->deaf)
            continue;
        numbers_end(&imd->ids, reply.id);
        const bool body = reply.op == OP_BEAT || reply.op == OP_JOIN || reply.op == OP_DRAIN;
        assert_int_equal(reply.body_len > 0, body && reply.status == STATUS_OK);
        if ((reply.op == OP_BEAT || reply.op == OP_JOIN) && reply.status == STATUS_OK) {
            assert_int_equal(wire_beat_reply_decode(reply.body, reply.body_len, &beat), 0);
            imd->last_flags = beat.flags;
            imd->settled = beat.settled;
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

void rig_pump(Rig *rig)
{
    while (rig->read < rig->count) {
        Sent s = rig->log[rig->read++];
        if (s.type == WIRE_REPLY)
            rig_reply_to_peer(rig, &s);
        if (s.type == WIRE_REPLY || s.type == WIRE_PING) /* what a client does then is its own */
            continue;
        assert_int_equal(s.type, WIRE_REQUEST);
        for (unsigned i = 0; i < rig->imds_count; i++)
            if (s.to == &rig->imds[i]->session && !rig->imds[i]->deaf)
                imd_serve(rig, rig->imds[i], &s);
    }
}

void rig_wait(Rig *rig, uint64_t ns)
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

void rig_live(Rig *rig, uint64_t seconds)
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

FakeImd *imd_up(Rig *rig, uint64_t pool)
{
    FakeImd *imd = imd_new(rig, pool);
    imd_join(rig, imd);
    rig_pump(rig);
    imd_list(rig, imd);
    rig_pump(rig);
    return imd;
}

uint16_t client_open(Rig *rig, FakeClient *c, const OpOpen *open, OpOpenReply *ret)
{
    uint64_t id = client_open_send(rig, c, open);
    rig_pump(rig);
    return client_opened(rig, c, id, ret);
}

uint16_t client_close(Rig *rig, FakeClient *c, const RegionAddress *address, uint8_t mode,
                      uint64_t stamp)
{
    uint64_t id = client_close_send(rig, c, address, mode, stamp);
    rig_pump(rig);
    numbers_end(&c->ids, id);
    return rig_status(rig, &c->session, id);
}

OpStatusReply rig_status_page(Rig *rig, uint64_t cursor)
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

unsigned lists_asked(const Rig *rig)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->imds_count; i++)
        n += rig->imds[i]->lists_asked;
    for (unsigned i = 0; i < rig->clients_count; i++)
        n += rig->clients[i]->lists_asked;
    return n;
}

void open_many(Rig *rig, FakeClient *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        OpOpen open = open_of((uint8_t)i, 4096, REGION_RETAIN);
        open.offset = i * (uint64_t)1024;
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    }
}

void imd_part(Rig *rig, FakeImd *imd)
{
    uint8_t body[WIRE_BODY_MAX];
    OpPart op = {.hint = imd_hint(imd)};
    uint64_t id =
        rig_request(rig, &imd->session, &imd->ids, OP_PART, body, wire_part_encode(&op, body));
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_OK);
    rig_pump(rig);
}

/* ---- requests that wait for a host ----------------------------------------------------------- */

Line line_up(Rig *rig, FakeImd *imd, unsigned count)
{
    Line l = {.clients = {client_new(rig), client_new(rig)}, .count = count};
    OpOpen open = open_of(1, 4096, 0);
    assert_in_range(count, 1, LINE_MAX);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(client_open(rig, l.clients[i % 2], &open, NULL), STATUS_OK);
    imd->deaf = true;
    for (unsigned i = 0; i < count; i++) {
        RegionAddress address = l.clients[i % 2]->open[0];
        l.ids[i] = client_close_send(rig, l.clients[i % 2], &address, CLOSE_FREE, 0);
    }
    return l;
}

unsigned line_answered(const Rig *rig, const Line *l)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++)
        n += rig_answered(rig, &l->clients[i % 2]->session, l->ids[i]);
    return n;
}

void line_done(const Rig *rig, Line *l)
{
    for (unsigned i = 0; i < l->count; i++) {
        FakeClient *c = l->clients[i % 2];
        assert_int_equal(rig_status(rig, &c->session, l->ids[i]), STATUS_OK);
        numbers_end(&c->ids, l->ids[i]);
    }
}
