/* SPDX-License-Identifier: MIT */
/* The client's core while a manager and an imd that know the cluster say whatever they like: calls
 * must end, invariants must hold, buffers must not be overrun. The input is a script of steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/time.h"
#include "dodo/dodo.h"
#include "libdodo/core.h"
#include "tests/fuzz/fuzz.h"

enum {
    HOST_MANAGER = 1,
    HOST_IMD = 2,
    HOST_CLIENT = 3,
    CHANNELS = 2,
    BUFFER = 200000,
    STRIPE = 56000, /* four stripes */
    CALLS = 3,      /* at once */
    BUFFERS = 8,    /* of a vectored call */
};

typedef struct Running {
    Call call;
    bool on;
    struct iovec iov[BUFFERS]; /* exactly what the call may touch */
} Running;

typedef struct World {
    uint64_t now, random;
    Client *client;
    Channel *channels[CHANNELS]; /* 0: the background's */
    Endpoint *servers[2];
    Session *sessions[2][CHANNELS]; /* of the servers, as they came */
    Running calls[CALLS];
    unsigned files;
    uint64_t last_request, last_ask;
    RegionAddress address;
} World;

static World w;
static int the_file;

/* The script, byte by byte; zeros at its end. */
typedef struct Script {
    const uint8_t *at, *end;
} Script;

static uint64_t take(Script *s, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | (s->at < s->end ? *s->at++ : 0);
    return v;
}

static void rng(void *ctx, void *buf, size_t len)
{
    (void)ctx;
    for (size_t i = 0; i < len; i++) {
        w.random = w.random * 6364136223846793005ull + 1442695040888963407ull;
        ((uint8_t *)buf)[i] = (uint8_t)(w.random >> 56);
    }
}

static Addr addr_of(unsigned host, unsigned port)
{
    return addr_sim((uint16_t)host, (uint16_t)port);
}

/* ---- the wires: only what sets sessions up is answered here --------------------------------- */

static void note_request(const EndpointInput *in)
{
    WireRequest q;
    WireRead r;
    if (in->type == WIRE_REQUEST && wire_request_decode(in->payload, in->payload_len, &q) == 0)
        w.last_request = q.id;
    else if (in->type == WIRE_READ && wire_read_decode(in->payload, in->payload_len, &r) == 0)
        w.last_ask = r.ask;
}

static void sink_datagram(void *ctx, const Addr *to, const uint8_t *bytes, size_t len)
{
    uint8_t copy[2048];
    EndpointInput in;
    unsigned channel = (unsigned)(uintptr_t)ctx, server = to->host[0] == HOST_IMD;
    Addr from = addr_of(HOST_CLIENT, channel + 1);
    if ((to->host[0] != HOST_IMD && to->host[0] != HOST_MANAGER) || len > sizeof copy)
        return;
    memcpy(copy, bytes, len);
    if (endpoint_input(w.servers[server], &from, copy, len, w.now, &in) == ENDPOINT_MESSAGE) {
        w.sessions[server][channel] = in.session;
        note_request(&in);
    }
    if (in.reply_len)
        channel_input(w.channels[channel], to, in.reply, in.reply_len, w.now);
}

static void sink_burst(void *ctx, Session *s, const Burst *b)
{
    uint8_t payload[2048];
    (void)ctx, (void)s;
    for (unsigned i = 0; i < WIRE_SEGMENTS_MAX; i++)
        if (b->want >> i & 1) /* reads the memory that it may */
            FUZZ_CHECK(burst_payload(b, i, payload) <= sizeof payload);
}

static size_t sink_datagram_max(void *ctx, const Addr *to)
{
    (void)ctx, (void)to;
    return 1472;
}

/* An authentic message from the manager (0) or the imd (1). */
static void say(unsigned server, unsigned channel, uint8_t type, const uint8_t *payload, size_t len)
{
    uint8_t datagram[4096];
    Session *s = w.sessions[server][channel];
    if (!s || !s->up || len > sizeof datagram - 64)
        return;
    size_t n = endpoint_seal(w.servers[server], s, type, payload, len, datagram);
    Addr from = addr_of(server ? HOST_IMD : HOST_MANAGER, 1);
    channel_input(w.channels[channel], &from, datagram, n, w.now);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool file_needed(const Call *call)
{
    return call->need >= NEED_FILE_READ && call->need <= NEED_FILE_STAMP;
}

/* Of one of the channel's calls, or pieces of calls; false: none needs its file. */
static bool do_file(Script *s)
{
    Call *call = NULL;
    FileResult r = {0};
    while ((call = channel_next(w.channels[1], call)) && !file_needed(call))
        ;
    if (!call)
        return false;
    uint8_t how = (uint8_t)take(s, 1);
    if (call->need == NEED_FILE_WRITE)
        call_file_taken(call);
    r.count = call->need == NEED_FILE_READ || call->file_pending ? (ssize_t)call->file_len : 0;
    if (call->need == NEED_FILE_READ)
        memset(call->file_buf, how, call->file_len);
    if (how % 8 == 1)
        r.count = r.count / 2;
    if (how % 8 == 2)
        r = (FileResult){.count = -1, .error = EIO};
    r.lease = how & 4 ? LEASE_GRANTED : LEASE_WRITER;
    r.taken_ns = how & 8 ? UINT64_MAX / 2 : 0;
    call_file_done(call, &r, w.now);
    return true;
}

static void buffers_free(Running *r)
{
    for (unsigned i = 0; i < BUFFERS; i++) {
        free(r->iov[i].iov_base);
        r->iov[i] = (struct iovec){0};
    }
}

static void step(Script *s)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        channel_step(w.channels[i], w.now);
    for (unsigned guard = 0; guard < 4096 && do_file(s); guard++)
        channel_step(w.channels[1], w.now);
    for (unsigned i = 0; i < CALLS; i++) {
        Running *r = &w.calls[i];
        if (!r->on || r->call.need != NEED_NOTHING)
            continue;
        r->on = false;
        FUZZ_CHECK(r->call.result >= -1);
        FUZZ_CHECK(!r->iov[0].iov_base || r->call.result <= BUFFER);
        FUZZ_CHECK(r->call.result >= 0 || r->call.error != 0);
        buffers_free(r);
    }
}

static Running *idle(void)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (!w.calls[i].on)
            return &w.calls[i];
    return NULL;
}

static bool buffer_add(Running *r, unsigned i, size_t len)
{
    r->iov[i] = (struct iovec){malloc(len ? len : 1), len};
    if (r->iov[i].iov_base)
        memset(r->iov[i].iov_base, 0x11, len);
    return r->iov[i].iov_base;
}

static void start_transfer(Script *s, bool writing, bool vectored)
{
    uint64_t offset = take(s, 2) * 5, len = take(s, 2) * 3;
    unsigned count = vectored ? 1 + (unsigned)take(s, 1) % (BUFFERS - 1) : 1;
    Running *r = idle();
    int rd = client_region_next(w.client, -1);
    if (!r || !buffer_add(r, 0, len))
        return;
    for (unsigned i = 1; i < count; i++)
        if (!buffer_add(r, i, take(s, 2) * (i % 2 ? 1 : 3)))
            count = i;
    r->on = true;
    if (writing && vectored)
        call_writev_start(&r->call, w.channels[1], rd, (off_t)offset, r->iov, (int)count, w.now);
    else if (writing)
        call_write_start(&r->call, w.channels[1], rd, (off_t)offset, r->iov[0].iov_base, len,
                         w.now);
    else if (vectored)
        call_readv_start(&r->call, w.channels[1], rd, (off_t)offset, r->iov, (int)count, w.now);
    else
        call_read_start(&r->call, w.channels[1], rd, (off_t)offset, r->iov[0].iov_base, len, w.now);
}

static void start_other(Script *s)
{
    uint8_t which = (uint8_t)take(s, 1);
    FileGiven given = {.file = &the_file, .lease = LEASE_GRANTED, .retainable = true};
    int rd = client_region_next(w.client, -1);
    Running *r = idle();
    if (!r)
        return;
    r->on = true;
    if (which % 4 == 0) {
        w.files++;
        call_open_start(&r->call, w.channels[1], &given, BUFFER, 0, which >> 2 & 15, w.now);
    } else if (which % 4 == 1) {
        call_sync_start(&r->call, w.channels[1], rd, w.now);
    } else {
        call_close_start(&r->call, w.channels[1], rd, w.now);
    }
}

static void say_anything(Script *s)
{
    uint8_t payload[256], where = (uint8_t)take(s, 1), type = (uint8_t)take(s, 1);
    size_t len = (uint8_t)take(s, 1);
    for (size_t i = 0; i < len; i++)
        payload[i] = (uint8_t)take(s, 1);
    say(where & 1, where >> 1 & 1, type, payload, len);
}

static void say_data(Script *s)
{
    uint8_t payload[WIRE_DATA_HEADER_SIZE + 1500];
    WireData m = {.ask = w.last_ask - take(s, 1) % 64,
                  .index = (uint16_t)take(s, 1),
                  .filled = (uint32_t)take(s, 2)};
    uint8_t how = (uint8_t)take(s, 1);
    size_t len = how & 1 ? 1440 : take(s, 2) % 1500;
    if (how & 2)
        m.index = WIRE_INDEX_NONE;
    if (how & 4)
        m.status = (uint16_t)(how >> 3);
    if (m.index == WIRE_INDEX_NONE)
        len = 0;
    memset(payload, how, sizeof payload);
    (void)wire_data_encode_header(&m, payload);
    say(1, 1, WIRE_DATA, payload, WIRE_DATA_HEADER_SIZE + len);
}

static void say_ack(Script *s)
{
    uint8_t payload[WIRE_WRITE_ACK_SIZE];
    WireWriteAck m = {.number = take(s, 1),
                      .transfer = take(s, 1),
                      .kind = (uint8_t)(take(s, 1) % WRITE_KIND_MAX),
                      .state = (uint8_t)(take(s, 1) % WRITE_STATE_MAX),
                      .status = (uint16_t)(take(s, 1) % STATUS_MAX),
                      .grant = (uint32_t)take(s, 3),
                      .received = take(s, 8)};
    say(1, (unsigned)take(s, 1) & 1, WIRE_WRITE_ACK, payload, wire_write_ack_encode(&m, payload));
}

static void say_reply(Script *s)
{
    uint8_t payload[WIRE_PAYLOAD_MAX], body[WIRE_BODY_MAX];
    uint8_t how = (uint8_t)take(s, 1);
    OpOpenReply open = {
        .host = addr_of(HOST_IMD, 1), .address = w.address, .reused = how & 1, .control_port = 1};
    OpAliveReply alive = {.flags = how & 1};
    WireReply m = {.id = w.last_request - (how >> 6),
                   .op = (uint16_t)take(s, 1),
                   .status = (uint16_t)(how & 2 ? take(s, 1) : 0),
                   .body = body};
    w.address.region++;
    m.body_len = m.op == OP_OPEN    ? wire_open_reply_encode(&open, body)
                 : m.op == OP_ALIVE ? wire_alive_reply_encode(&alive, body)
                                    : 0;
    say(0, how >> 3 & 1, WIRE_REPLY, payload, wire_reply_encode(&m, payload));
}

static void run(Script *s)
{
    uint8_t what = (uint8_t)take(s, 1);
    switch (what % 9) {
    case 0:
        w.now += take(s, 2) * 20000;
        break;
    case 1:
        say_anything(s);
        break;
    case 2:
        start_transfer(s, false, what >= 128);
        break;
    case 3:
        start_transfer(s, true, what >= 128);
        break;
    case 4:
        start_other(s);
        break;
    case 5:
        say_data(s);
        break;
    case 6:
        say_ack(s);
        break;
    case 7:
        say_reply(s);
        break;
    default:
        w.now += 10 * NS_PER_MS;
    }
    step(s);
    FUZZ_CHECK(client_check(w.client));
}

/* ---- set-up --------------------------------------------------------------------------------- */

static void hook_nothing(void *ctx)
{
    (void)ctx;
}

static void hook_release(void *ctx, void *file)
{
    (void)ctx;
    FUZZ_CHECK(file == &the_file);
    w.files--;
}

static Endpoint *endpoint(uint8_t role, uint64_t epoch)
{
    Env env = {.random = rng};
    EndpointConfig config = {.cluster = 1,
                             .role = role,
                             .self = {{role}},
                             .epoch = epoch,
                             .sessions_max = 8,
                             .half_open_max = 8,
                             .hello_retry_ns = 50 * NS_PER_MS};
    return endpoint_new(&config, &env);
}

static void world_start(void)
{
    Env env = {.random = rng};
    memset(&w, 0, sizeof w);
    w.now = NS_PER_S;
    w.random = 1;
    w.address = (RegionAddress){.epoch = 77, .region = 1, .opening = 1};
    ClientConfig config = {.manager = addr_of(HOST_MANAGER, 1),
                           .refraction_ns = 50 * NS_PER_MS,
                           .transfer_deadline_ns = 300 * NS_PER_MS,
                           .alive_ns = 100 * NS_PER_MS,
                           .reopen_ns = 100 * NS_PER_MS,
                           .request = {10 * NS_PER_MS, 100 * NS_PER_MS, 300 * NS_PER_MS},
                           .credit_cap_bytes = 1 << 18,
                           .regions_max = 64,
                           .fill_queue_bytes = 1 << 18,
                           .stripe_bytes = STRIPE};
    ClientHooks hooks = {
        .wake = hook_nothing, .wake_background = hook_nothing, .file_release = hook_release};
    w.client = client_new(&config, &env, &hooks);
    w.servers[0] = endpoint(ROLE_CMD, 0);
    w.servers[1] = endpoint(ROLE_IMD, 77);
    FUZZ_CHECK(w.client && w.servers[0] && w.servers[1]);
    for (unsigned i = 0; i < CHANNELS; i++) {
        ChannelSink sink = {sink_datagram, sink_burst, sink_datagram_max, (void *)(uintptr_t)i};
        w.channels[i] = channel_new(w.client, endpoint(ROLE_CLIENT, 0), &sink, CALLS, i == 0);
        FUZZ_CHECK(w.channels[i]);
    }
}

/* A region to begin with, perhaps of several stripes. */
static void world_open(Script *s)
{
    uint8_t payload[WIRE_PAYLOAD_MAX], body[WIRE_BODY_MAX];
    FileGiven given = {.file = &the_file};
    OpOpenReply open = {.host = addr_of(HOST_IMD, 1), .address = w.address, .control_port = 1};
    w.files++;
    w.calls[0].on = true;
    call_open_start(&w.calls[0].call, w.channels[1], &given, BUFFER, 0, take(s, 1) & 15, w.now);
    step(s);
    step(s);
    WireReply reply = {.id = w.last_request, .op = OP_OPEN, .body = body};
    for (; reply.id > 0; reply.id--) { /* one a stripe */
        open.address = w.address;
        w.address.region++;
        reply.body_len = wire_open_reply_encode(&open, body);
        say(0, 1, WIRE_REPLY, payload, wire_reply_encode(&reply, payload));
    }
    step(s);
}

static bool running(void)
{
    bool any = false;
    for (unsigned i = 0; i < CALLS; i++)
        any |= w.calls[i].on;
    return any;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Script s = {data, data + size};
    world_start();
    world_open(&s);
    while (s.at < s.end)
        run(&s);
    /* Silence: whatever is under way ends by its deadlines. */
    for (unsigned guard = 0; running() && guard < 10000; guard++) {
        w.now += 5 * NS_PER_MS;
        step(&s);
    }
    FUZZ_CHECK(!running());
    for (unsigned i = 0; i < CHANNELS; i++)
        channel_free(w.channels[i]);
    client_free(w.client);
    FUZZ_CHECK(w.files == 0);
    endpoint_free(w.servers[0]);
    endpoint_free(w.servers[1]);
    return 0;
}
