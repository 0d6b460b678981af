/* SPDX-License-Identifier: MIT */
/* Hosts and clients of a manager under load: see cmd_load_rig.h. */
#include "bench/cmd_load_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/time.h"
#include "proto/conf/defaults.h"

enum {
    IMD_PORT = 7701,
    CLIENT_PORT = 5000,
    TOOL_PORT = 5001,
    DATA_PORT = 9000,
    PAGE_BYTES = 4096,
    QUEUE_MESSAGES = 1 << 17, /* when all clients leave: a window of FREEs to each host */
    QUEUE_BYTES = 32 << 20,
};

/* Virtual time is as good as stopped: that nobody falls silent is not what is measured. */
static const uint64_t MESSAGE_NS = 100;
static const uint64_t START_NS = 1000 * NS_PER_S;

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "cmd-load: %s\n", what);
    exit(EXIT_FAILURE);
}

static void must(bool good, const char *what)
{
    if (!good)
        fail(what);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void *touched(size_t count, size_t size)
{
    volatile uint8_t *p = calloc(count * size + 1, 1);
    must(p, "no memory");
    for (size_t i = 0; i < count * size + 1; i += PAGE_BYTES)
        p[i] = 0; /* so that it is resident before anything is measured */
    return (void *)p;
}

static void queue_init(LoadQueue *q)
{
    q->messages = touched(QUEUE_MESSAGES, sizeof *q->messages);
    q->bytes = touched(QUEUE_BYTES, 1);
}

/* Room for the payload of the message that queue_add() enters. */
static uint8_t *queue_room(LoadQueue *q)
{
    must(q->count < QUEUE_MESSAGES && QUEUE_BYTES - q->used >= WIRE_PAYLOAD_MAX, "a full queue");
    return q->bytes + q->used;
}

static void queue_add(LoadQueue *q, Session *peer, uint8_t type, size_t len)
{
    q->messages[q->count++] =
        (LoadMessage){.peer = peer, .at = q->used, .len = (uint16_t)len, .type = type};
    q->used += len;
}

static void queue_clear(LoadQueue *q)
{
    q->count = q->used = 0;
}

static void on_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload,
                       size_t len)
{
    LoadRig *rig = ctx;
    memcpy(queue_room(&rig->out), payload, len);
    queue_add(&rig->out, session, type, len);
}

void load_manager_restart(LoadRig *rig)
{
    const Env env = os_env(); /* as cmd has it: numbers from the kernel */
    const ManagerSink sink = {.message = on_message, .ctx = rig};
    static const Id128 instance = {{1}};

    rig->m = manager_free(rig->m);
    rig->m = manager_new(&rig->config, &env, &sink, &instance, rig->now_ns);
    must(rig->m, "no memory");
}

static void hosts_init(LoadRig *rig)
{
    for (unsigned i = 0; i < rig->hosts_count; i++) {
        LoadHost *h = &rig->hosts[i];
        h->session = (Session){.peer = addr_sim((uint16_t)(1 + i), IMD_PORT),
                               .peer_id = {{0xEE, (uint8_t)i, (uint8_t)(i >> 8)}},
                               .peer_epoch = mix64(1 + i),
                               .peer_role = ROLE_IMD,
                               .up = true,
                               .user = h};
        h->next_region = 1;
        h->pool_regions = UINT32_MAX;
        numbers_init(&h->ids, 1);
    }
}

static void clients_init(LoadRig *rig)
{
    for (unsigned i = 0; i < rig->clients_count; i++) {
        LoadClient *c = &rig->clients[i];
        c->session = (Session){.peer = addr_sim((uint16_t)(1 + i), CLIENT_PORT),
                               .peer_id = {{0xC1, (uint8_t)i, (uint8_t)(i >> 8)}},
                               .peer_role = ROLE_CLIENT,
                               .up = true,
                               .user = c};
        c->number = i;
        numbers_init(&c->ids, 1);
    }
}

LoadRig *load_rig_new(unsigned hosts, unsigned clients, size_t regions_room, size_t regions_max)
{
    LoadRig *rig = touched(1, sizeof *rig);
    rig->config = (ManagerConfig){
        .client_dead_ns = DEFAULT_CLIENT_DEAD_NS,
        .host_dead_ns = DEFAULT_HOST_DEAD_NS,
        .distrust_ns = DEFAULT_DISTRUST_NS,
        .grace_ns = DEFAULT_GRACE_NS,
        .request_first_retry_ns = DEFAULT_CMD_REQUEST_RETRY_NS,
        .request_retry_max_ns = DEFAULT_CMD_REQUEST_RETRY_MAX_NS,
        .request_deadline_ns = DEFAULT_CMD_REQUEST_DEADLINE_NS,
        .hosts_max = DEFAULT_CMD_HOSTS_MAX,
        .clients_max = DEFAULT_CMD_CLIENTS_MAX,
        .regions_max = (unsigned)regions_max,
        .opens_max = DEFAULT_CMD_OPENS_MAX,
    };
    must(hosts <= rig->config.hosts_max && clients <= rig->config.clients_max, "too many");
    rig->hosts = touched(hosts, sizeof *rig->hosts);
    rig->clients = touched(clients, sizeof *rig->clients);
    rig->regions = touched(regions_room, sizeof *rig->regions);
    queue_init(&rig->in);
    queue_init(&rig->out);
    rig->hosts_count = hosts;
    rig->clients_count = clients;
    rig->regions_room = regions_room;
    rig->random.state = 1;
    rig->now_ns = START_NS;
    hosts_init(rig);
    clients_init(rig);
    rig->tool = (Session){.peer = addr_sim(0, TOOL_PORT), .peer_role = ROLE_TOOL, .up = true};
    numbers_init(&rig->tool_ids, 1);
    load_manager_restart(rig);
    return rig;
}

LoadRig *load_rig_free(LoadRig *rig)
{
    rig->m = manager_free(rig->m);
    free(rig->hosts);
    free(rig->clients);
    free(rig->regions);
    free(rig->in.messages);
    free(rig->in.bytes);
    free(rig->out.messages);
    free(rig->out.bytes);
    free(rig);
    return NULL;
}

/* ---- the clock ------------------------------------------------------------------------------ */

static void clock_stop(LoadRig *rig, uint64_t from_ns)
{
    uint64_t took = os_thread_cpu_ns() - from_ns;
    rig->time.cpu_ns += took;
    if (took > rig->time.worst_ns)
        rig->time.worst_ns = took;
}

LoadTime load_time_take(LoadRig *rig)
{
    LoadTime t = rig->time;
    rig->time = (LoadTime){0};
    return t;
}

/* ---- what the hosts answer ------------------------------------------------------------------ */

static ImdHint host_hint(const LoadHost *h)
{
    uint64_t room = h->pool_regions - h->regions;
    return (ImdHint){.epoch = h->session.peer_epoch,
                     .free_bytes = room * LOAD_REGION_BYTES,
                     .largest_free_bytes = room * LOAD_REGION_BYTES,
                     .evictable_bytes = room * LOAD_REGION_BYTES,
                     .regions = (uint32_t)h->regions};
}

static uint64_t name_digest(uint64_t epoch, uint64_t region, uint32_t opening)
{
    return region_digest(&(RegionName){epoch, region, opening});
}

static uint16_t host_alloc(LoadHost *h, OpAllocReply *reply)
{
    if (h->regions >= h->pool_regions)
        return STATUS_NO_MEMORY;
    reply->address = (RegionAddress){h->session.peer_epoch, h->next_region++, 1, {{0xCA}}};
    reply->port = DATA_PORT;
    h->regions++;
    h->digest ^= name_digest(reply->address.epoch, reply->address.region, 1);
    return STATUS_OK;
}

static uint16_t host_reopen(LoadHost *h, const WireRequest *request, OpAllocReply *reply)
{
    OpReopen op;
    must(wire_reopen_decode(request->body, request->body_len, &op) == 0, "a wrong REOPEN");
    reply->address = (RegionAddress){op.epoch, op.region, op.opening + 1, {{0xCA}}};
    reply->port = DATA_PORT;
    h->digest ^= name_digest(op.epoch, op.region, op.opening);
    h->digest ^= name_digest(op.epoch, op.region, op.opening + 1);
    return STATUS_OK;
}

static uint16_t host_free(LoadHost *h, const WireRequest *request)
{
    OpFree op;
    must(wire_free_decode(request->body, request->body_len, &op) == 0, "a wrong FREE");
    h->regions--;
    h->digest ^= name_digest(op.epoch, op.region, 1);
    return STATUS_OK;
}

static void put_reply(LoadRig *rig, Session *peer, const WireRequest *request, uint16_t status,
                      const uint8_t *body, size_t body_len)
{
    WireReply reply = {
        .id = request->id, .op = request->op, .status = status, .body = body, .body_len = body_len};
    queue_add(&rig->in, peer, WIRE_REPLY, wire_reply_encode(&reply, queue_room(&rig->in)));
}

static void host_answer(LoadRig *rig, LoadHost *h, const LoadMessage *out)
{
    const uint8_t *payload = rig->out.bytes + out->at;
    uint8_t body[WIRE_BODY_MAX];
    WireRequest request;
    OpAllocReply given = {0};
    uint16_t status = STATUS_OK;

    must(wire_request_decode(payload, out->len, &request) == 0, "a wrong request");
    if (request.op == OP_ALLOC)
        status = host_alloc(h, &given);
    else if (request.op == OP_REOPEN)
        status = host_reopen(h, &request, &given);
    else if (request.op == OP_FREE)
        status = host_free(h, &request);
    given.hint = host_hint(h);
    OpFreeReply other = {.hint = given.hint};
    size_t n = request.op == OP_ALLOC || request.op == OP_REOPEN
                   ? wire_alloc_reply_encode(&given, body)
                   : wire_free_reply_encode(&other, body);
    put_reply(rig, out->peer, &request, status, body, n);
}

/* ---- what the manager answers --------------------------------------------------------------- */

static void client_opened(LoadRig *rig, LoadClient *c, const WireReply *reply)
{
    OpOpenReply given;
    if (reply->status != STATUS_OK) {
        must(reply->status == STATUS_NO_MEMORY, "an OPEN that failed");
        rig->refused++;
        return;
    }
    must(wire_open_reply_decode(reply->body, reply->body_len, &given) == 0, "a wrong reply");
    must(rig->regions_count < rig->regions_room, "too many regions");
    unsigned host = (given.host.host[0] | (unsigned)given.host.host[1] << 8) - 1;
    rig->regions[rig->regions_count++] = (LoadRegion){.region = given.address.region,
                                                      .file = c->opening_file,
                                                      .host = host,
                                                      .client = c->number,
                                                      .opening = given.address.opening};
    c->regions++;
    c->digest ^= name_digest(given.address.epoch, given.address.region, given.address.opening);
    rig->opened++;
    rig->reused += given.reused;
}

static void client_heard(LoadRig *rig, LoadClient *c, const LoadMessage *out)
{
    WireReply reply;
    OpAliveReply alive;
    must(wire_reply_decode(rig->out.bytes + out->at, out->len, &reply) == 0, "a wrong reply");
    numbers_end(&c->ids, reply.id);
    if (reply.op == OP_OPEN)
        client_opened(rig, c, &reply);
    else
        must(reply.status == STATUS_OK, "a request of a client that failed");
    rig->closed += reply.op == OP_CLOSE;
    if (reply.op == OP_ALIVE)
        must(wire_alive_reply_decode(reply.body, reply.body_len, &alive) == 0 &&
                 !(alive.flags & ALIVE_WANT_LIST),
             "a digest that differs");
}

/* A host, or the tool. */
static void other_heard(LoadRig *rig, Numbers *ids, const LoadMessage *out)
{
    WireReply reply;
    must(wire_reply_decode(rig->out.bytes + out->at, out->len, &reply) == 0 &&
             reply.status == STATUS_OK,
         "a request of a host or a tool that failed");
    numbers_end(ids, reply.id);
}

static void heard(LoadRig *rig, const LoadMessage *out)
{
    if (out->type == WIRE_REQUEST)
        host_answer(rig, out->peer->user, out);
    else if (out->peer->peer_role == ROLE_CLIENT)
        client_heard(rig, out->peer->user, out);
    else if (out->peer->peer_role == ROLE_IMD)
        other_heard(rig, &((LoadHost *)out->peer->user)->ids, out);
    else
        other_heard(rig, &rig->tool_ids, out);
}

/* ---- delivery ------------------------------------------------------------------------------- */

static void take_in(LoadRig *rig, size_t from, size_t count)
{
    uint64_t start = os_thread_cpu_ns();
    for (size_t i = from; i < from + count; i++) {
        const LoadMessage *in = &rig->in.messages[i];
        manager_input(rig->m, in->peer, in->type, rig->in.bytes + in->at, in->len, rig->now_ns);
        rig->now_ns += MESSAGE_NS;
    }
    if (manager_deadline(rig->m) <= rig->now_ns)
        manager_expire(rig->m, rig->now_ns);
    clock_stop(rig, start);
    rig->time.messages += count;
}

/* Until nothing is under way any more. */
static void deliver(LoadRig *rig)
{
    while (rig->in.count > 0) {
        for (size_t left = rig->in.count, n; left > 0; left -= n) {
            n = left < LOAD_BATCH ? left : LOAD_BATCH;
            take_in(rig, rig->in.count - left, n);
        }
        queue_clear(&rig->in);
        for (size_t i = 0; i < rig->out.count; i++)
            heard(rig, &rig->out.messages[i]);
        queue_clear(&rig->out);
    }
}

static void put_request(LoadRig *rig, Session *from, Numbers *ids, uint16_t op, const uint8_t *body,
                        size_t len)
{
    WireRequest request = {.id = numbers_take(ids),
                           .settled = numbers_lowest(ids),
                           .op = op,
                           .body = body,
                           .body_len = len};
    must(request.id != 0, "a full window");
    queue_add(&rig->in, from, WIRE_REQUEST, wire_request_encode(&request, queue_room(&rig->in)));
    if (rig->in.count == LOAD_BATCH)
        deliver(rig);
}

/* ---- OPEN and CLOSE ------------------------------------------------------------------------- */

static FileKey key_of(uint64_t file)
{
    FileKey key = {{0}};
    uint64_t words[] = {mix64(file), file};
    memcpy(key.bytes, words, sizeof words);
    return key;
}

static void put_open(LoadRig *rig, LoadClient *c, uint64_t file)
{
    uint8_t body[WIRE_BODY_MAX];
    OpOpen open = {
        .key = key_of(file), .len = LOAD_REGION_BYTES, .flags = REGION_RETAIN, .stamp = {1, 2, 3}};
    c->opening_file = file;
    put_request(rig, &c->session, &c->ids, OP_OPEN, body, wire_open_encode(&open, body));
}

void load_open(LoadRig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* One at a time of a client, as in a program: a batch of fewer clients ends early. */
        if (rig->in.count == rig->clients_count)
            deliver(rig);
        put_open(rig, &rig->clients[rig->next_client++ % rig->clients_count], rig->files++);
    }
    deliver(rig);
}

/* The last of them stands at its place then. */
static LoadRegion put_close_at(LoadRig *rig, LoadRegion *at, uint8_t mode)
{
    uint8_t body[WIRE_BODY_MAX];
    LoadRegion r = *at;
    LoadClient *c = &rig->clients[r.client];
    uint64_t epoch = rig->hosts[r.host].session.peer_epoch;
    OpClose op = {.address = {epoch, r.region, r.opening, {{0xCA}}}, .mode = mode};

    *at = rig->regions[--rig->regions_count];
    if (mode == CLOSE_RELEASE)
        op.stamp = (Stamp){1, 2, 3};
    c->regions--;
    c->digest ^= name_digest(epoch, r.region, r.opening);
    put_request(rig, &c->session, &c->ids, OP_CLOSE, body, wire_close_encode(&op, body));
    return r;
}

static LoadRegion put_close(LoadRig *rig, uint8_t mode)
{
    must(rig->regions_count > 0, "nothing to close");
    return put_close_at(rig, &rig->regions[random_below(&rig->random, rig->regions_count)], mode);
}

void load_close(LoadRig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)put_close(rig, CLOSE_FREE);
    deliver(rig);
}

void load_release(LoadRig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)put_close(rig, CLOSE_RELEASE);
    deliver(rig);
}

void load_release_and_reopen(LoadRig *rig, size_t count)
{
    while (count > 0) {
        LoadRegion r[LOAD_BATCH];
        size_t n = count < LOAD_BATCH ? count : LOAD_BATCH;
        for (size_t i = 0; i < n; i++)
            r[i] = put_close(rig, CLOSE_RELEASE);
        deliver(rig);
        for (size_t i = 0; i < n; i++) {
            if (rig->in.count == rig->clients_count)
                deliver(rig);
            put_open(rig, &rig->clients[rig->next_client++ % rig->clients_count], r[i].file);
        }
        deliver(rig);
        count -= n;
    }
}

/* ---- moves ---------------------------------------------------------------------------------- */

void load_drain(LoadRig *rig, unsigned host, uint8_t what)
{
    uint8_t body[WIRE_BODY_MAX];
    const OpDrain op = {.host = rig->hosts[host].session.peer, .what = what};
    put_request(rig, &rig->tool, &rig->tool_ids, OP_DRAIN, body, wire_drain_encode(&op, body));
    deliver(rig);
}

/* The next regions there, at most one of each client and a batch of all. */
static unsigned next_there(const LoadRig *rig, unsigned host, size_t *from, size_t ret[LOAD_BATCH])
{
    unsigned n = 0;
    for (; *from < rig->regions_count && n < LOAD_BATCH; ++*from) {
        const LoadRegion *r = &rig->regions[*from];
        bool begun = r->host != host;
        for (unsigned i = 0; i < n; i++)
            begun |= rig->regions[ret[i]].client == r->client;
        if (!begun)
            ret[n++] = *from;
        else if (r->host == host)
            break;
    }
    return n;
}

void load_ask_moves(LoadRig *rig)
{
    uint8_t body[WIRE_BODY_MAX];
    for (unsigned i = 0; i < rig->clients_count; i++) {
        LoadClient *c = &rig->clients[i];
        const OpMoves op = {.left_bytes = c->regions * LOAD_REGION_BYTES};
        put_request(rig, &c->session, &c->ids, OP_MOVES, body, wire_moves_encode(&op, body));
    }
    deliver(rig);
}

size_t load_move(LoadRig *rig, unsigned host)
{
    size_t moved = 0, from = 0, at[LOAD_BATCH];
    unsigned n;
    while ((n = next_there(rig, host, &from, at)) > 0) {
        for (unsigned i = 0; i < n; i++) {
            const LoadRegion *r = &rig->regions[at[i]];
            put_open(rig, &rig->clients[r->client], r->file);
        }
        deliver(rig);
        from = at[0]; /* from the last on: what takes a place there stood behind all of them */
        for (unsigned i = n; i > 0; i--)
            (void)put_close_at(rig, &rig->regions[at[i - 1]], CLOSE_FREE);
        deliver(rig);
        moved += n;
    }
    return moved;
}

/* ---- lists and keep-alives ------------------------------------------------------------------ */

void load_beat(LoadRig *rig)
{
    uint8_t body[WIRE_BODY_MAX];
    for (unsigned i = 0; i < rig->hosts_count; i++) {
        LoadHost *h = &rig->hosts[i];
        OpBeat beat = {.hint = host_hint(h), .digest = h->digest};
        put_request(rig, &h->session, &h->ids, OP_BEAT, body, wire_beat_encode(&beat, body));
    }
    deliver(rig);
}

void load_alive(LoadRig *rig)
{
    uint8_t body[WIRE_BODY_MAX];
    for (unsigned i = 0; i < rig->clients_count; i++) {
        LoadClient *c = &rig->clients[i];
        OpAlive alive = {.regions = (uint32_t)c->regions, .digest = c->digest};
        put_request(rig, &c->session, &c->ids, OP_ALIVE, body, wire_alive_encode(&alive, body));
    }
    deliver(rig);
}

void load_tick(LoadRig *rig, unsigned ticks)
{
    for (unsigned i = 0; i < ticks; i++) {
        rig->now_ns = manager_deadline(rig->m);
        uint64_t start = os_thread_cpu_ns();
        manager_expire(rig->m, rig->now_ns);
        clock_stop(rig, start);
    }
    must(rig->out.count == 0, "a tick that says something");
}

void load_leave(LoadRig *rig)
{
    for (unsigned i = 0; i < rig->clients_count; i++) {
        LoadClient *c = &rig->clients[i];
        put_request(rig, &c->session, &c->ids, OP_LEAVE, NULL, 0);
        c->regions = c->digest = 0;
    }
    deliver(rig);
    rig->regions_count = 0;
}

static int by_client(const void *a, const void *b)
{
    const LoadRegion *x = a, *y = b;
    return (x->client > y->client) - (x->client < y->client);
}

static int by_host(const void *a, const void *b)
{
    const LoadRegion *x = a, *y = b;
    return (x->host > y->host) - (x->host < y->host);
}

static void claim_of(LoadRig *rig, LoadClient *c, const LoadRegion *regions, size_t count)
{
    uint8_t body[WIRE_BODY_MAX];
    uint32_t pages = count ? (uint32_t)((count + CLAIM_NAMES_MAX - 1) / CLAIM_NAMES_MAX) : 1;
    uint64_t before = c->ids.next;

    c->lists++;
    for (uint32_t page = 0; page < pages; page++) {
        OpClaim op = {.list = c->lists, .page = page, .pages = pages, .before = before};
        for (size_t i = page * (size_t)CLAIM_NAMES_MAX; i < count && op.count < CLAIM_NAMES_MAX;
             i++)
            op.names[op.count++] = (RegionName){rig->hosts[regions[i].host].session.peer_epoch,
                                                regions[i].region, regions[i].opening};
        put_request(rig, &c->session, &c->ids, OP_CLAIM, body, wire_claim_encode(&op, body));
    }
    deliver(rig);
}

void load_claim(LoadRig *rig)
{
    size_t at = 0;
    qsort(rig->regions, rig->regions_count, sizeof *rig->regions, by_client);
    for (unsigned i = 0; i < rig->clients_count; i++) {
        size_t first = at;
        while (at < rig->regions_count && rig->regions[at].client == i)
            at++;
        claim_of(rig, &rig->clients[i], &rig->regions[first], at - first);
    }
}

static RegionListing listing_of(const LoadRig *rig, const LoadRegion *r)
{
    return (RegionListing){
        .address = {rig->hosts[r->host].session.peer_epoch, r->region, r->opening, {{0xCA}}},
        .client = rig->clients[r->client].session.peer_id,
        .key = key_of(r->file),
        .len = LOAD_REGION_BYTES,
        .flags = REGION_RETAIN,
        .port = DATA_PORT};
}

static void list_of(LoadRig *rig, LoadHost *h, const LoadRegion *regions, size_t count)
{
    uint8_t body[WIRE_BODY_MAX];
    uint32_t pages = count ? (uint32_t)((count + LISTING_MAX - 1) / LISTING_MAX) : 1;

    h->lists++;
    for (uint32_t page = 0; page < pages; page++) {
        OpListing op = {.hint = host_hint(h),
                        .list = h->lists,
                        .page = page,
                        .pages = pages,
                        .before = UINT32_MAX};
        for (size_t i = page * (size_t)LISTING_MAX; i < count && op.count < LISTING_MAX; i++)
            op.regions[op.count++] = listing_of(rig, &regions[i]);
        put_request(rig, &h->session, &h->ids, OP_LISTING, body, wire_listing_encode(&op, body));
    }
    deliver(rig);
}

void load_list(LoadRig *rig)
{
    size_t at = 0;
    qsort(rig->regions, rig->regions_count, sizeof *rig->regions, by_host);
    for (unsigned i = 0; i < rig->hosts_count; i++) {
        size_t first = at;
        while (at < rig->regions_count && rig->regions[at].host == i)
            at++;
        list_of(rig, &rig->hosts[i], &rig->regions[first], at - first);
    }
}

void load_join(LoadRig *rig)
{
    uint8_t body[WIRE_BODY_MAX];
    for (unsigned i = 0; i < rig->hosts_count; i++) {
        LoadHost *h = &rig->hosts[i];
        OpJoin join = {.hint = host_hint(h),
                       .pool_bytes = (uint64_t)h->pool_regions * LOAD_REGION_BYTES,
                       .ports_count = 1,
                       .ports = {DATA_PORT}};
        put_request(rig, &h->session, &h->ids, OP_JOIN, body, wire_join_encode(&join, body));
    }
    deliver(rig);
    load_list(rig);
}

void load_room(LoadRig *rig, unsigned hosts, size_t each)
{
    for (unsigned i = 0; i < rig->hosts_count; i++) {
        LoadHost *h = &rig->hosts[i];
        h->pool_regions = h->regions;
    }
    /* Anywhere among them, not the first ones. */
    for (unsigned i = 0; i < hosts; i++)
        rig->hosts[(uint64_t)i * rig->hosts_count / hosts + rig->hosts_count / (2 * hosts)]
            .pool_regions += each;
    load_beat(rig);
}
