/* SPDX-License-Identifier: MIT */
#include "tests/unit/imd_control_fixture.h"

const Id128 manager_one = {{1}}, manager_two = {{2}}, client_one = {{11}}, client_two = {{22}};
const Stamp stamp_one = {100, 200, 300}, stamp_two = {100, 200, 301};

/* ---- the fixture ---------------------------------------------------------------------------- */

static void fake_random(void *ctx, void *buf, size_t len)
{
    Fixture *f = ctx;
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)mix64(++f->random);
}

static void sink_message(void *ctx, uint8_t type, const uint8_t *payload, size_t len)
{
    Fixture *f = ctx;
    assert_true(f->messages_count < MESSAGES_MAX && len <= WIRE_PAYLOAD_MAX);
    Message *m = &f->messages[f->messages_count++];
    m->type = type;
    m->len = len;
    memcpy(m->payload, payload, len);
}

static void sink_command(void *ctx, const ImdCommand *command)
{
    Fixture *f = ctx;
    assert_true(f->commands_count < COMMANDS_MAX);
    f->commands[f->commands_count++] = *command;
}

ImdControlConfig config_default(void)
{
    return (ImdControlConfig){.epoch = EPOCH,
                              .pool_bytes = POOL_PAGES * PAGE,
                              .threads = 2,
                              .ports = {7701, 7702},
                              .regions_max = 50,
                              .extent_bytes = POOL_PAGES * PAGE,
                              .beat_ns = BEAT_NS,
                              .retained_age_max_ns = AGE_NS};
}

void control_start(Fixture *f, const ImdControlConfig *config)
{
    Env env = {.random = fake_random, .ctx = f};
    ImdControlSink sink = {.message = sink_message, .command = sink_command, .ctx = f};
    imd_control_free(f->c);
    f->c = imd_control_new(config, &env, &sink, f->now_ns);
    assert_non_null(f->c);
}

int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    ImdControlConfig config = config_default();
    f->now_ns = 5 * NS_PER_S;
    f->next_id = f->settled = 1;
    control_start(f, &config);
    *state = f;
    return 0;
}

int teardown(void **state)
{
    Fixture *f = *state;
    assert_true(imd_control_check(f->c));
    imd_control_free(f->c);
    free(f);
    return 0;
}

void elapse(Fixture *f, uint64_t ns)
{
    uint64_t end = f->now_ns + ns;
    while (imd_control_deadline(f->c) <= end) {
        uint64_t before = f->now_ns;
        if (imd_control_deadline(f->c) > f->now_ns)
            f->now_ns = imd_control_deadline(f->c);
        imd_control_expire(f->c, f->now_ns);
        /* no deadline stays in the past: a shell would spin */
        assert_true(imd_control_deadline(f->c) > before);
    }
    f->now_ns = end;
    unsigned messages = f->messages_count, commands = f->commands_count;
    imd_control_expire(f->c, f->now_ns);
    assert_int_equal(f->messages_count, messages); /* nothing was due: the deadline said so */
    assert_int_equal(f->commands_count, commands);
}

/* ---- the manager's side of what the imd sends -------------------------------------------------
 */

void pop_message(Fixture *f, uint8_t type, Message *ret)
{
    assert_true(f->messages_count > 0);
    *ret = f->messages[0];
    memmove(f->messages, f->messages + 1, --f->messages_count * sizeof *f->messages);
    assert_int_equal(ret->type, type);
}

void expect_request(Fixture *f, uint16_t op, Message *m)
{
    pop_message(f, WIRE_REQUEST, m);
    assert_int_equal(wire_request_decode(m->payload, m->len, &f->request), 0);
    assert_int_equal(f->request.op, op);
}

void answer_id(Fixture *f, uint64_t id, uint16_t op, uint16_t status, uint32_t flags)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    OpBeatReply beat = {.flags = flags, .settled = f->beat_settled};
    WireReply reply = {.id = id, .op = op, .status = status};
    if (status == STATUS_OK && (op == OP_JOIN || op == OP_BEAT)) {
        reply.body = body;
        reply.body_len = wire_beat_reply_encode(&beat, body);
    }
    size_t len = wire_reply_encode(&reply, out);
    imd_control_input(f->c, WIRE_REPLY, out, len, f->now_ns);
}

void answer(Fixture *f, uint16_t status, uint32_t flags)
{
    answer_id(f, f->request.id, f->request.op, status, flags);
}

void expect_beat(Fixture *f, OpBeat *ret)
{
    Message m;
    expect_request(f, OP_BEAT, &m);
    assert_int_equal(wire_beat_decode(f->request.body, f->request.body_len, ret), 0);
}

void expect_listing(Fixture *f, OpListing *ret)
{
    Message m;
    expect_request(f, OP_LISTING, &m);
    assert_int_equal(wire_listing_decode(f->request.body, f->request.body_len, ret), 0);
}

void join(Fixture *f)
{
    Message m;
    OpBeat beat;
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    answer(f, STATUS_OK, 0);
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    assert_int_equal(f->messages_count, 0);
}

/* ---- the manager's requests -------------------------------------------------------------------
 */

void send_request(Fixture *f, uint64_t id, uint16_t op, const uint8_t *body, size_t len)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireRequest m = {.id = id, .settled = f->settled, .op = op, .body = body, .body_len = len};
    size_t n = wire_request_encode(&m, out);
    imd_control_input(f->c, WIRE_REQUEST, out, n, f->now_ns);
    assert_true(imd_control_check(f->c));
}

uint64_t send_new(Fixture *f, uint16_t op, const uint8_t *body, size_t len)
{
    uint64_t id = f->next_id++;
    send_request(f, id, op, body, len);
    return id;
}

uint64_t ask_alloc(Fixture *f, const OpAlloc *m)
{
    uint8_t body[WIRE_BODY_MAX];
    return send_new(f, OP_ALLOC, body, wire_alloc_encode(m, body));
}

OpAlloc alloc_of(unsigned pages, uint8_t evict)
{
    return (OpAlloc){.client = client_one,
                     .key = {{9}},
                     .offset = 512,
                     .len = (uint64_t)pages * PAGE,
                     .flags = REGION_RETAIN,
                     .evict = evict};
}

uint64_t ask_free(Fixture *f, uint64_t region, uint32_t opening)
{
    uint8_t body[WIRE_BODY_MAX];
    OpFree m = {EPOCH, region, opening};
    return send_new(f, OP_FREE, body, wire_free_encode(&m, body));
}

uint64_t ask_release(Fixture *f, const RegionAddress *a, const Stamp *stamp)
{
    uint8_t body[WIRE_BODY_MAX];
    OpRelease m = {*a, *stamp};
    return send_new(f, OP_RELEASE, body, wire_release_encode(&m, body));
}

uint64_t ask_reopen(Fixture *f, uint64_t region, uint32_t opening, const Stamp *stamp)
{
    uint8_t body[WIRE_BODY_MAX];
    OpReopen m = {EPOCH, region, opening, client_two, REGION_RETAIN | REGION_RDONLY, *stamp};
    return send_new(f, OP_REOPEN, body, wire_reopen_encode(&m, body));
}

void expect_reply(Fixture *f, uint64_t id, enum Status status)
{
    Message m;
    pop_message(f, WIRE_REPLY, &m);
    assert_int_equal(wire_reply_decode(m.payload, m.len, &f->reply), 0);
    assert_int_equal(f->reply.id, id);
    assert_int_equal(f->reply.status, status);
    const ImdHint *hint = &f->freed.hint;
    if (f->reply.op == OP_ALLOC || f->reply.op == OP_REOPEN) {
        assert_int_equal(wire_alloc_reply_decode(f->reply.body, f->reply.body_len, &f->alloc), 0);
        assert_int_equal(f->alloc.address.region != 0, status == STATUS_OK);
        hint = &f->alloc.hint;
    } else {
        assert_int_equal(wire_free_reply_decode(f->reply.body, f->reply.body_len, &f->freed), 0);
    }
    assert_int_equal(hint->epoch, EPOCH);
    assert_int_equal(hint->free_bytes, imd_control_free_bytes(f->c));
    assert_int_equal(hint->regions, imd_control_regions(f->c));
}

ImdCommand expect_command(Fixture *f, enum ImdCommandKind kind)
{
    assert_true(f->commands_count > 0);
    ImdCommand command = f->commands[0];
    memmove(f->commands, f->commands + 1, --f->commands_count * sizeof *f->commands);
    assert_int_equal(command.kind, kind);
    return command;
}

/* As its data thread: what is added is soon filled. */
static void obey(const Fixture *f, const ImdCommand *command)
{
    ImdExtents *x = command->region.extents;
    for (unsigned i = 0; x && i < x->count; i++) {
        if (command->kind == IMD_ADD)
            (void)extents_take(x, i, imd_use_tick(f->now_ns));
        else if (command->kind == IMD_UNFILL && extents_chosen(x, i))
            extents_go(x, i);
    }
}

void finish(Fixture *f, const ImdCommand *command, int result)
{
    if (result == 0)
        obey(f, command);
    imd_control_done(f->c, command->id, result, f->now_ns);
    assert_true(imd_control_check(f->c));
}

ImdCommand finish_next(Fixture *f, enum ImdCommandKind kind)
{
    ImdCommand command = expect_command(f, kind);
    finish(f, &command, 0);
    return command;
}

RegionAddress alloc(Fixture *f, unsigned pages)
{
    OpAlloc m = alloc_of(pages, 0);
    uint64_t id = ask_alloc(f, &m);
    assert_int_equal(f->messages_count, 0);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
    return f->alloc.address;
}

void release(Fixture *f, const RegionAddress *a, const Stamp *stamp)
{
    uint64_t id = ask_release(f, a, stamp);
    assert_int_equal(f->messages_count, 0);
    finish_next(f, IMD_CLOSE);
    expect_reply(f, id, STATUS_OK);
}
