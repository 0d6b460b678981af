/* SPDX-License-Identifier: MIT */
/* The imd's two cores fed with whatever the input makes: raw payloads of any type, and messages
 * built with valid addresses so that the deep ends are reached, whole or with a byte changed.
 * Commands of the control core go to the data core, as the shell would hand them on. */
#include <stdbool.h>
#include <string.h>

#include "base/id.h"
#include "base/time.h"
#include "imd/control.h"
#include "imd/data.h"
#include "proto/request.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

enum {
    EPOCH = 0x51,
    POOL_BYTES = 48 * 4096,
    COMMANDS_MAX = 512,
    PAYLOAD_MAX = WIRE_WRITE_HEADER_SIZE + WIRE_CHUNK_MAX,
    STEPS_MAX = 400,
};

typedef struct World {
    Input in;
    uint64_t random;
    uint64_t now_ns;
    ImdData *data;
    ImdControl *control;
    ImdCommand commands[COMMANDS_MAX]; /* not over yet, in order */
    unsigned commands_count;
    uint64_t next_id;
    uint8_t pool[POOL_BYTES];
    uint8_t payload[PAYLOAD_MAX];
} World;

/* ---- effects ----------------------------------------------------------------------------------
 */

static void data_message(void *ctx, void *session, uint8_t type, const uint8_t *payload, size_t len)
{
    WireData data;
    WireWriteAck ack;
    WirePing pong;
    if (type == WIRE_DATA)
        FUZZ_CHECK(wire_data_decode(payload, len, &data) == 0);
    else if (type == WIRE_WRITE_ACK)
        FUZZ_CHECK(wire_write_ack_decode(payload, len, &ack) == 0);
    else
        FUZZ_CHECK(type == WIRE_PONG && wire_ping_decode(payload, len, &pong) == 0);
}

static void data_burst(void *ctx, void *session, const Burst *burst)
{
    World *w = ctx;
    static uint8_t out[PAYLOAD_MAX];
    FUZZ_CHECK(burst->data >= w->pool && burst->data + burst->len <= w->pool + POOL_BYTES);
    for (uint64_t left = burst->want; left; left &= left - 1) {
        WireData m;
        size_t n = burst_payload(burst, (unsigned)__builtin_ctzll(left), out);
        FUZZ_CHECK(wire_data_decode(out, n, &m) == 0);
    }
}

static void control_message(void *ctx, uint8_t type, const uint8_t *payload, size_t len)
{
    WireRequest request;
    WireReply reply;
    if (type == WIRE_REQUEST)
        FUZZ_CHECK(wire_request_decode(payload, len, &request) == 0);
    else
        FUZZ_CHECK(type == WIRE_REPLY && wire_reply_decode(payload, len, &reply) == 0);
}

static void control_command(void *ctx, const ImdCommand *command)
{
    World *w = ctx;
    FUZZ_CHECK(w->commands_count < COMMANDS_MAX);
    w->commands[w->commands_count++] = *command;
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static void purge(World *w, const ImdRegion *r)
{
    const ImdExtents *x = r->extents;
    uint64_t from, to;
    if (!x)
        memset(w->pool + r->pool_offset, 0, r->len);
    for (unsigned i = 0; x && i < x->count; i++) {
        extents_bounds(x, i, &from, &to);
        if (extents_goes(x, i))
            memset(w->pool + r->pool_offset + from, 0, to - from);
    }
}

static void step_command(World *w)
{
    if (w->commands_count == 0)
        return;
    ImdCommand command = w->commands[0];
    const ImdRegion *r = &command.region;
    int result = 0;
    memmove(w->commands, w->commands + 1, --w->commands_count * sizeof *w->commands);
    switch ((enum ImdCommandKind)command.kind) {
    case IMD_ADD:
        result = imd_data_add(w->data, r);
        break;
    case IMD_DROP:
        imd_data_drop(w->data, r->region);
        break;
    case IMD_REOPEN:
        imd_data_reopen(w->data, r->region, r->opening, &r->capability);
        break;
    case IMD_CLOSE:
        imd_data_close(w->data, r->region);
        break;
    case IMD_LEAVE:
        imd_data_leave(w->data);
        break;
    case IMD_UNFILL:
        imd_data_unfill(w->data, r->region);
        break;
    case IMD_PURGE:
        purge(w, r);
        break;
    }
    imd_control_done(w->control, command.id, result, w->now_ns);
}

/* A region that there is, and now and then one that there is not. */
static RegionListing pick_region(World *w)
{
    RegionListing l = {.address = {.epoch = EPOCH, .region = 1, .opening = 1}, .len = 4096};
    size_t count = imd_control_regions(w->control);
    if (count > 0)
        (void)imd_control_region_at(w->control, take_u8(&w->in) % count, &l);
    return l;
}

/* Changes a byte of one message in four. */
static void spoil(World *w, size_t len)
{
    uint8_t how = take_u8(&w->in);
    if (how % 4 == 0 && len > 0)
        w->payload[take_u16(&w->in) % len] ^= how >> 2;
}

/* In memory of just that size, so that a read beyond it is seen. */
static void into_data(World *w, uint8_t type, size_t len)
{
    static int sessions[2];
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        return;
    memcpy(copy, w->payload, len);
    imd_data_input(w->data, &sessions[take_u8(&w->in) % 2], type, copy, len, w->now_ns);
    if (take_u8(&w->in) == 1)
        imd_data_session_closed(w->data, &sessions[0]);
    free(copy);
}

static void into_control(World *w, uint8_t type, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        return;
    memcpy(copy, w->payload, len);
    imd_control_input(w->control, type, copy, len, w->now_ns);
    free(copy);
}

static void step_raw(World *w)
{
    uint8_t type = take_u8(&w->in);
    size_t len = take_u16(&w->in) % WIRE_PAYLOAD_MAX;
    take(&w->in, w->payload, len);
    if (type % 2)
        into_data(w, type / 2, len);
    else
        into_control(w, type / 2, len);
}

static void step_read(World *w)
{
    RegionListing l = pick_region(w);
    WireRead m = {.ask = 1 + take_u8(&w->in), .address = l.address};
    m.offset = take_u64(&w->in) % (l.len + 10);
    m.len = 1 + take_u16(&w->in) % WIRE_CHUNK_MAX;
    m.segment = (uint16_t)(WIRE_SEGMENT_MIN + take_u16(&w->in) % WIRE_SEGMENT_MAX);
    m.want = take_u64(&w->in) & wire_segment_mask(wire_segment_count(m.len, m.segment));
    size_t len = wire_read_encode(&m, w->payload);
    spoil(w, len);
    into_data(w, WIRE_READ, len);
}

static void step_write(World *w)
{
    RegionListing l = pick_region(w);
    WireWrite m = {.address = l.address, .kind = take_u8(&w->in) % WRITE_KIND_MAX};
    m.offset = take_u16(&w->in) % (l.len + 10);
    m.len = 1 + take_u16(&w->in) % WIRE_CHUNK_MAX;
    m.segment = (uint16_t)(WIRE_SEGMENT_MIN + take_u16(&w->in) % WIRE_SEGMENT_MAX);
    m.number = take_u8(&w->in);
    m.transfer = m.kind == WRITE_FILL ? 1 + take_u8(&w->in) % 8 : 0;
    unsigned index = take_u8(&w->in) % (wire_segment_count(m.len, m.segment) + 1);
    size_t data_len = 0, at = (size_t)index * m.segment;
    if (m.kind == WRITE_VOID || at >= m.len)
        m.index = WIRE_INDEX_NONE;
    else {
        m.index = (uint16_t)index;
        data_len = m.len - at < m.segment ? m.len - at : m.segment;
    }
    size_t len = wire_write_encode_header(&m, w->payload);
    memset(w->payload + len, m.number, data_len);
    spoil(w, len);
    into_data(w, WIRE_WRITE, len + data_len);
}

static size_t request_body(World *w, uint16_t *ret_op, uint8_t *body)
{
    RegionListing l = pick_region(w);
    uint8_t what = take_u8(&w->in);
    OpAlloc alloc = {
        .client = {{1}}, .offset = what, .len = 1 + take_u16(&w->in), .evict = what & 1};
    OpFree freed = {EPOCH, l.address.region, l.address.opening};
    OpRelease release = {l.address, {1, 2, 3}};
    OpReopen reopen = {EPOCH, l.address.region, l.address.opening, {{2}}, 0, l.stamp};
    static const uint16_t ops[] = {OP_ALLOC, OP_FREE, OP_RELEASE, OP_REOPEN};
    *ret_op = ops[what / 2 % 4];
    switch (*ret_op) {
    case OP_ALLOC:
        return wire_alloc_encode(&alloc, body);
    case OP_FREE:
        return wire_free_encode(&freed, body);
    case OP_RELEASE:
        return wire_release_encode(&release, body);
    default:
        return wire_reopen_encode(&reopen, body);
    }
}

static void step_request(World *w)
{
    uint8_t body[WIRE_BODY_MAX];
    WireRequest m = {.body = body};
    m.body_len = request_body(w, &m.op, body);
    uint8_t back = take_u8(&w->in) % 32; /* late ones, and gaps */
    m.id = back < w->next_id ? w->next_id - back : 1;
    w->next_id += back == 0;
    m.settled = take_u8(&w->in) % 2 && m.id > 8 ? m.id - 8 : 1;
    size_t len = wire_request_encode(&m, w->payload);
    spoil(w, len);
    into_control(w, WIRE_REQUEST, len);
}

static void step_reply(World *w)
{
    static const uint16_t ops[] = {OP_JOIN, OP_BEAT, OP_LISTING, OP_PART};
    uint8_t body[WIRE_BODY_MAX], what = take_u8(&w->in);
    OpBeatReply beat = {.flags = what & 1};
    WireReply m = {.id = take_u8(&w->in), .op = ops[what / 2 % 4], .status = what / 8 % 12};
    if (m.status == STATUS_OK && what / 2 % 4 < 2) {
        m.body = body;
        m.body_len = wire_beat_reply_encode(&beat, body);
    }
    size_t len = wire_reply_encode(&m, w->payload);
    spoil(w, len);
    into_control(w, WIRE_REPLY, len);
}

static void step_time(World *w)
{
    Id128 manager = {{take_u8(&w->in) % 4}};
    uint8_t what = take_u8(&w->in);
    w->now_ns += take_u16(&w->in) * NS_PER_MS;
    imd_control_expire(w->control, w->now_ns);
    FUZZ_CHECK(imd_control_deadline(w->control) > w->now_ns);
    if (what < 16) {
        imd_control_up(w->control, &manager, w->now_ns);
        w->next_id = 1;
    } else if (what == 255)
        imd_control_leave(w->control, w->now_ns);
}

static void step(World *w)
{
    static void (*const steps[])(World *) = {step_raw,     step_read,  step_write, step_write,
                                             step_request, step_reply, step_time,  step_command};
    uint8_t which = take_u8(&w->in);
    if (which >= 240) /* the owner */
        imd_control_limit(w->control, (uint64_t)(take_u8(&w->in) % 64) * 4096, w->now_ns);
    else
        steps[which % (sizeof steps / sizeof *steps)](w);
    FUZZ_CHECK(imd_control_check(w->control));
    FUZZ_CHECK(imd_data_check(w->data));
    FUZZ_CHECK(imd_control_free_bytes(w->control) <= POOL_BYTES);
}

static bool world_init(World *w)
{
    Env env = {.random = fuzz_random, .ctx = &w->random};
    ImdDataSink data_sink = {.message = data_message, .burst = data_burst, .ctx = w};
    ImdControlSink control_sink = {
        .message = control_message, .command = control_command, .ctx = w};
    ImdDataConfig data_config = {.epoch = EPOCH,
                                 .pool = w->pool,
                                 .pool_bytes = POOL_BYTES,
                                 .writes_max = 6,
                                 .fills_max = 3,
                                 .grant_bytes = 65536};
    ImdControlConfig config = {.epoch = EPOCH,
                               .pool_bytes = POOL_BYTES,
                               .threads = 1,
                               .ports = {7701},
                               .regions_max = 12,
                               .extent_bytes = 8192,
                               .beat_ns = NS_PER_S,
                               .retained_age_max_ns = 60 * NS_PER_S,
                               .give_back = true};
    w->data = imd_data_new(&data_config, &env, &data_sink);
    w->control = imd_control_new(&config, &env, &control_sink, 0);
    return w->data && w->control;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
    World *w = calloc(1, sizeof *w);
    if (!w)
        return 0;
    w->in = (Input){p, len};
    w->next_id = 1;
    if (world_init(w)) {
        Id128 manager = {{1}};
        imd_control_up(w->control, &manager, 0);
        for (unsigned i = 0; i < STEPS_MAX && w->in.left > 0; i++)
            step(w);
        /* every command comes to its end, and nothing is lost */
        while (w->commands_count > 0)
            step_command(w);
        FUZZ_CHECK(imd_control_check(w->control));
        FUZZ_CHECK(imd_control_regions(w->control) == imd_data_regions(w->data));
    }
    imd_control_free(w->control);
    imd_data_free(w->data);
    free(w);
    return 0;
}
