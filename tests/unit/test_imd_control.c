/* SPDX-License-Identifier: MIT */
/* The control core against a manager and data threads played by the test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/id.h"
#include "base/time.h"
#include "imd/control.h"
#include "proto/request.h"

enum {
    EPOCH = 0xe90c,
    PAGE = 4096,
    POOL_PAGES = 64,
    MESSAGES_MAX = 64,
    COMMANDS_MAX = 64,
};

#define BEAT_NS NS_PER_S
#define AGE_NS (100 * NS_PER_S)

typedef struct Message {
    uint8_t type;
    size_t len;
    uint8_t payload[WIRE_PAYLOAD_MAX];
} Message;

typedef struct Fixture {
    ImdControl *c;
    uint64_t random;
    uint64_t now_ns;
    Message messages[MESSAGES_MAX]; /* not yet looked at, in order */
    unsigned messages_count;
    ImdCommand commands[COMMANDS_MAX];
    unsigned commands_count;
    uint64_t next_id; /* the manager's requests */
    uint64_t settled;
    /* the last reply */
    WireReply reply;
    OpAllocReply alloc;
    OpFreeReply freed;
    /* the last request of the imd */
    WireRequest request;
} Fixture;

static const Id128 manager_one = {{1}}, manager_two = {{2}}, client_one = {{11}},
                   client_two = {{22}};
static const Stamp stamp_one = {100, 200, 300}, stamp_two = {100, 200, 301};

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

static ImdControlConfig config_default(void)
{
    return (ImdControlConfig){.epoch = EPOCH,
                              .pool_bytes = POOL_PAGES * PAGE,
                              .threads = 2,
                              .ports = {7701, 7702},
                              .regions_max = 50,
                              .beat_ns = BEAT_NS,
                              .retained_age_max_ns = AGE_NS};
}

static void control_start(Fixture *f, const ImdControlConfig *config)
{
    Env env = {.random = fake_random, .ctx = f};
    ImdControlSink sink = {.message = sink_message, .command = sink_command, .ctx = f};
    imd_control_free(f->c);
    f->c = imd_control_new(config, &env, &sink, f->now_ns);
    assert_non_null(f->c);
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    ImdControlConfig config = config_default();
    f->now_ns = 5 * NS_PER_S;
    f->next_id = f->settled = 1;
    control_start(f, &config);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    assert_true(imd_control_check(f->c));
    imd_control_free(f->c);
    free(f);
    return 0;
}

static void elapse(Fixture *f, uint64_t ns)
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
    imd_control_expire(f->c, f->now_ns);
}

/* ---- the manager's side of what the imd sends -------------------------------------------------
 */

static void pop_message(Fixture *f, uint8_t type, Message *ret)
{
    assert_true(f->messages_count > 0);
    *ret = f->messages[0];
    memmove(f->messages, f->messages + 1, --f->messages_count * sizeof *f->messages);
    assert_int_equal(ret->type, type);
}

/* The imd's next request, whose body stays in @m. */
static void expect_request(Fixture *f, uint16_t op, Message *m)
{
    pop_message(f, WIRE_REQUEST, m);
    assert_int_equal(wire_request_decode(m->payload, m->len, &f->request), 0);
    assert_int_equal(f->request.op, op);
}

static void answer_id(Fixture *f, uint64_t id, uint16_t op, uint16_t status, uint32_t flags)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    OpBeatReply beat = {.flags = flags};
    WireReply reply = {.id = id, .op = op, .status = status};
    if (status == STATUS_OK && (op == OP_JOIN || op == OP_BEAT)) {
        reply.body = body;
        reply.body_len = wire_beat_reply_encode(&beat, body);
    }
    size_t len = wire_reply_encode(&reply, out);
    imd_control_input(f->c, WIRE_REPLY, out, len, f->now_ns);
}

static void answer(Fixture *f, uint16_t status, uint32_t flags)
{
    answer_id(f, f->request.id, f->request.op, status, flags);
}

static void expect_beat(Fixture *f, OpBeat *ret)
{
    Message m;
    expect_request(f, OP_BEAT, &m);
    assert_int_equal(wire_beat_decode(f->request.body, f->request.body_len, ret), 0);
}

static void expect_listing(Fixture *f, OpListing *ret)
{
    Message m;
    expect_request(f, OP_LISTING, &m);
    assert_int_equal(wire_listing_decode(f->request.body, f->request.body_len, ret), 0);
}

/* Joined, and the first BEAT answered. */
static void join(Fixture *f)
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

static void send_request(Fixture *f, uint64_t id, uint16_t op, const uint8_t *body, size_t len)
{
    uint8_t out[WIRE_PAYLOAD_MAX];
    WireRequest m = {.id = id, .settled = f->settled, .op = op, .body = body, .body_len = len};
    size_t n = wire_request_encode(&m, out);
    imd_control_input(f->c, WIRE_REQUEST, out, n, f->now_ns);
    assert_true(imd_control_check(f->c));
}

static uint64_t send_new(Fixture *f, uint16_t op, const uint8_t *body, size_t len)
{
    uint64_t id = f->next_id++;
    send_request(f, id, op, body, len);
    return id;
}

static uint64_t ask_alloc(Fixture *f, const OpAlloc *m)
{
    uint8_t body[WIRE_BODY_MAX];
    return send_new(f, OP_ALLOC, body, wire_alloc_encode(m, body));
}

static OpAlloc alloc_of(unsigned pages, uint8_t evict)
{
    return (OpAlloc){.client = client_one,
                     .key = {{9}},
                     .offset = 512,
                     .len = (uint64_t)pages * PAGE,
                     .flags = REGION_RETAIN,
                     .evict = evict};
}

static uint64_t ask_free(Fixture *f, uint64_t region, uint32_t opening)
{
    uint8_t body[WIRE_BODY_MAX];
    OpFree m = {EPOCH, region, opening};
    return send_new(f, OP_FREE, body, wire_free_encode(&m, body));
}

static uint64_t ask_release(Fixture *f, const RegionAddress *a, const Stamp *stamp)
{
    uint8_t body[WIRE_BODY_MAX];
    OpRelease m = {*a, *stamp};
    return send_new(f, OP_RELEASE, body, wire_release_encode(&m, body));
}

static uint64_t ask_reopen(Fixture *f, uint64_t region, uint32_t opening, const Stamp *stamp)
{
    uint8_t body[WIRE_BODY_MAX];
    OpReopen m = {EPOCH, region, opening, client_two, REGION_RETAIN | REGION_RDONLY, *stamp};
    return send_new(f, OP_REOPEN, body, wire_reopen_encode(&m, body));
}

/* The next message is the reply to @id; its hint is right. */
static void expect_reply(Fixture *f, uint64_t id, enum Status status)
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

/* The next command; nothing was said to the manager before it is over. */
static ImdCommand expect_command(Fixture *f, enum ImdCommandKind kind)
{
    assert_true(f->commands_count > 0);
    ImdCommand command = f->commands[0];
    memmove(f->commands, f->commands + 1, --f->commands_count * sizeof *f->commands);
    assert_int_equal(command.kind, kind);
    return command;
}

static void finish(Fixture *f, const ImdCommand *command, int result)
{
    imd_control_done(f->c, command->id, result, f->now_ns);
    assert_true(imd_control_check(f->c));
}

static ImdCommand finish_next(Fixture *f, enum ImdCommandKind kind)
{
    ImdCommand command = expect_command(f, kind);
    finish(f, &command, 0);
    return command;
}

static RegionAddress alloc(Fixture *f, unsigned pages)
{
    OpAlloc m = alloc_of(pages, 0);
    uint64_t id = ask_alloc(f, &m);
    assert_int_equal(f->messages_count, 0);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
    return f->alloc.address;
}

static void release(Fixture *f, const RegionAddress *a, const Stamp *stamp)
{
    uint64_t id = ask_release(f, a, stamp);
    assert_int_equal(f->messages_count, 0);
    finish_next(f, IMD_CLOSE);
    expect_reply(f, id, STATUS_OK);
}

/* ---- joining and beating --------------------------------------------------------------------- */

static void join__says_what_there_is(void **state)
{
    Fixture *f = *state;
    Message m;
    OpJoin body;
    assert_int_equal(imd_control_deadline(f->c), TIME_NEVER);
    elapse(f, NS_PER_S);
    assert_int_equal(f->messages_count, 0); /* nobody to join */
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    assert_int_equal(wire_join_decode(f->request.body, f->request.body_len, &body), 0);
    assert_int_equal(body.pool_bytes, POOL_PAGES * PAGE);
    assert_int_equal(body.hint.epoch, EPOCH);
    assert_int_equal(body.hint.largest_free_bytes, POOL_PAGES * PAGE);
    assert_int_equal(body.ports_count, 2);
    assert_int_equal(body.ports[1], 7702);
    assert_false(imd_control_joined(f->c));
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_joined(f->c));
}

static void join__is_repeated_until_answered(void **state)
{
    Fixture *f = *state;
    Message m;
    imd_control_up(f->c, &manager_one, f->now_ns);
    elapse(f, 30 * NS_PER_S);
    assert_in_range(f->messages_count, 10, 25); /* backed off */
    while (f->messages_count > 0) {
        expect_request(f, OP_JOIN, &m);
        assert_int_equal(f->request.id, 1);
    }
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_joined(f->c));
}

static void join__refused_is_tried_again(void **state)
{
    Fixture *f = *state;
    Message m;
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    answer(f, STATUS_NO_MEMORY, 0);
    assert_false(imd_control_joined(f->c));
    assert_int_equal(f->messages_count, 0);
    elapse(f, BEAT_NS);
    expect_request(f, OP_JOIN, &m);
    assert_int_equal(f->request.id, 2);
    assert_int_equal(f->request.settled, 2);
}

static void beat__tells_hint_digest_and_traffic(void **state)
{
    Fixture *f = *state;
    OpBeat beat;
    join(f);
    RegionAddress a = alloc(f, 3), b = alloc(f, 5);
    release(f, &b, &stamp_one);
    imd_control_served(f->c, 1000, 2000);
    elapse(f, BEAT_NS - 1);
    assert_int_equal(f->messages_count, 0);
    elapse(f, 1);
    expect_beat(f, &beat);
    RegionName names[] = {{EPOCH, a.region, 1}, {EPOCH, b.region, 1}};
    assert_int_equal(beat.digest, region_digest(&names[0]) ^ region_digest(&names[1]));
    assert_int_equal(beat.read_bytes, 1000);
    assert_int_equal(beat.write_bytes, 2000);
    assert_int_equal(beat.hint.free_bytes, (POOL_PAGES - 8) * PAGE);
    assert_int_equal(beat.hint.evictable_bytes, (POOL_PAGES - 3) * PAGE);
    assert_int_equal(beat.hint.regions, 2);
}

static void beat__latest_takes_the_place_of_an_unanswered(void **state)
{
    Fixture *f = *state;
    OpBeat beat;
    join(f);
    for (unsigned i = 0; i < 200; i++) { /* more than a window of requests */
        elapse(f, BEAT_NS);
        while (f->messages_count > 0)
            expect_beat(f, &beat);
        assert_int_equal(f->request.settled, f->request.id);
    }
}

static void beat__unknown_peer_joins_again(void **state)
{
    Fixture *f = *state;
    OpBeat beat;
    Message m;
    join(f);
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    answer(f, STATUS_UNKNOWN_PEER, 0);
    assert_false(imd_control_joined(f->c));
    expect_request(f, OP_JOIN, &m);
}

/* ---- listings -------------------------------------------------------------------------------- */

static void want_list(Fixture *f)
{
    OpBeat beat;
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    answer(f, STATUS_OK, BEAT_WANT_LIST);
}

static void listing__of_nothing_is_one_empty_page(void **state)
{
    Fixture *f = *state;
    OpListing page;
    join(f);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.pages, 1);
    assert_int_equal(page.count, 0);
    assert_int_equal(f->messages_count, 0);
    answer(f, STATUS_OK, 0);
}

static void listing__shows_all_a_directory_needs(void **state)
{
    Fixture *f = *state;
    OpListing page;
    join(f);
    RegionAddress a = alloc(f, 3), b = alloc(f, 5);
    release(f, &b, &stamp_one);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.count, 2);
    assert_int_equal(page.before, 4);
    const RegionListing *l = &page.regions[0];
    assert_memory_equal(&l->address, &a, sizeof a);
    assert_true(id128_equal(&l->client, &client_one));
    assert_int_equal(l->key.bytes[0], 9);
    assert_int_equal(l->offset, 512);
    assert_int_equal(l->len, 3 * PAGE);
    assert_int_equal(l->flags, REGION_RETAIN);
    assert_int_equal(l->port, 7701);
    l = &page.regions[1];
    assert_int_equal(l->address.region, b.region);
    assert_true(id128_is_null(&l->client));
    assert_int_equal(l->flags, REGION_RETAIN | REGION_RELEASED);
    assert_memory_equal(&l->stamp, &stamp_one, sizeof stamp_one);
    assert_int_equal(l->port, 7702);
}

static void listing__of_many_pages(void **state)
{
    Fixture *f = *state;
    OpListing page;
    bool seen[50] = {false};
    unsigned regions = 0;
    join(f);
    for (unsigned i = 0; i < 50; i++) {
        alloc(f, 1);
        f->settled = f->next_id;
    }
    want_list(f);
    assert_int_equal(f->messages_count, 8); /* the window */
    for (unsigned i = 0; i < 9; i++) {
        expect_listing(f, &page);
        assert_int_equal(page.page, i);
        assert_int_equal(page.pages, 9);
        assert_int_equal(page.list, 1);
        for (unsigned k = 0; k < page.count; k++, regions++) {
            assert_false(seen[page.regions[k].address.region - 1]);
            seen[page.regions[k].address.region - 1] = true;
        }
        if (i == 3) /* what comes meanwhile changes no page of this list */
            ask_free(f, 50, 0);
        answer(f, STATUS_OK, 0);
    }
    assert_int_equal(regions, 50);
    finish_next(f, IMD_DROP);
    expect_reply(f, f->next_id - 1, STATUS_OK);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.list, 2);
}

static void listing__before_what_is_under_way(void **state)
{
    Fixture *f = *state;
    OpListing page;
    OpAlloc m = alloc_of(1, 0);
    join(f);
    alloc(f, 1);      /* id 1 */
    ask_alloc(f, &m); /* id 2, not done */
    f->next_id = 4;   /* id 3 is still on its way */
    ask_alloc(f, &m);
    ImdCommand second = expect_command(f, IMD_ADD), fourth = expect_command(f, IMD_ADD);
    finish(f, &fourth, 0);
    expect_reply(f, 4, STATUS_OK);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, 2);
    assert_int_equal(page.count, 2);
    answer(f, STATUS_OK, 0);
    finish(f, &second, 0);
    expect_reply(f, 2, STATUS_OK);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, 3);
    assert_int_equal(page.count, 3);
}

static void listing__abandoned_when_refused(void **state)
{
    Fixture *f = *state;
    OpListing page;
    join(f);
    alloc(f, 1);
    want_list(f);
    expect_listing(f, &page);
    answer(f, STATUS_NO_MEMORY, 0);
    elapse(f, BEAT_NS / 2);
    assert_int_equal(f->messages_count, 0);
    elapse(f, BEAT_NS / 2);
    OpBeat beat;
    expect_beat(f, &beat);
    answer(f, STATUS_OK, BEAT_WANT_LIST);
    expect_listing(f, &page);
    assert_int_equal(page.list, 2);
}

/* ---- allocating and freeing ------------------------------------------------------------------ */

static void alloc__is_answered_when_the_thread_has_it(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(3, 0);
    join(f);
    m.len -= 100;
    uint64_t id = ask_alloc(f, &m);
    assert_int_equal(f->messages_count, 0);
    ImdCommand command = expect_command(f, IMD_ADD);
    assert_int_equal(command.thread, 0);
    assert_int_equal(command.region.pool_offset, 0);
    assert_int_equal(command.region.len, 3 * PAGE - 100);
    finish(f, &command, 0);
    expect_reply(f, id, STATUS_OK);
    assert_int_equal(f->alloc.address.epoch, EPOCH);
    assert_int_equal(f->alloc.address.region, command.region.region);
    assert_int_equal(f->alloc.address.opening, 1);
    assert_false(id128_is_null(&f->alloc.address.capability));
    assert_memory_equal(&f->alloc.address.capability, &command.region.capability, 16);
    assert_int_equal(f->alloc.port, 7701);
    assert_int_equal(f->alloc.hint.free_bytes, (POOL_PAGES - 3) * PAGE);
    /* the other thread has less now */
    alloc(f, 1);
    assert_int_equal(f->alloc.port, 7702);
    alloc(f, 1);
    assert_int_equal(f->alloc.port, 7702);
}

static void alloc__full(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(POOL_PAGES + 1, 1);
    join(f);
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY);
    alloc(f, POOL_PAGES - 1);
    m = alloc_of(2, 1); /* nothing that could be evicted */
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY);
    m.len = UINT64_MAX - m.offset;
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY);
    assert_int_equal(f->alloc.hint.largest_free_bytes, PAGE);
    assert_int_equal(f->commands_count, 0);
}

static void alloc__too_many_regions(void **state)
{
    Fixture *f = *state;
    ImdControlConfig config = config_default();
    OpAlloc m = alloc_of(1, 0);
    config.regions_max = 2;
    control_start(f, &config);
    join(f);
    RegionAddress a = alloc(f, 1);
    alloc(f, 1);
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY);
    assert_int_equal(f->alloc.hint.largest_free_bytes, 0);
    /* room can be made */
    release(f, &a, &stamp_one);
    m.evict = 1;
    uint64_t id = ask_alloc(f, &m);
    finish_next(f, IMD_DROP);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

static void alloc__thread_without_memory(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(3, 0);
    join(f);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand command = expect_command(f, IMD_ADD);
    ask_free(f, command.region.region, 0);
    finish(f, &command, -ENOMEM);
    expect_reply(f, id, STATUS_NO_MEMORY);
    expect_reply(f, id + 1, STATUS_GONE); /* waited for it in vain */
    assert_int_equal(imd_control_free_bytes(f->c), POOL_PAGES * PAGE);
    assert_int_equal(imd_control_regions(f->c), 0);
}

static void alloc__evicts_the_least_recently_released(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(30, 0);
    RegionAddress a[4];
    join(f);
    for (unsigned i = 0; i < 4; i++)
        a[i] = alloc(f, 16);
    release(f, &a[1], &stamp_one);
    release(f, &a[2], &stamp_one);
    release(f, &a[0], &stamp_one);
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY); /* not asked to evict */
    m.evict = 1;
    uint64_t id = ask_alloc(f, &m);
    ImdCommand drop = expect_command(f, IMD_DROP);
    assert_int_equal(drop.region.region, a[1].region);
    assert_int_equal(f->commands_count, 0); /* one by one: no more than needed go */
    finish(f, &drop, 0);
    drop = expect_command(f, IMD_DROP);
    assert_int_equal(drop.region.region, a[2].region);
    assert_int_equal(f->messages_count, 0);
    finish(f, &drop, 0);
    ImdCommand add = expect_command(f, IMD_ADD);
    assert_int_equal(add.region.pool_offset, 16 * PAGE);
    finish(f, &add, 0);
    expect_reply(f, id, STATUS_OK);
    assert_int_equal(imd_control_regions(f->c), 3);
}

static void alloc__several_wait_for_room(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(32, 1);
    RegionAddress a[2];
    join(f);
    for (unsigned i = 0; i < 2; i++) {
        a[i] = alloc(f, 32);
        release(f, &a[i], &stamp_one);
    }
    uint64_t first = ask_alloc(f, &m), second = ask_alloc(f, &m), third = ask_alloc(f, &m);
    finish_next(f, IMD_DROP);
    finish_next(f, IMD_ADD);
    expect_reply(f, first, STATUS_OK);
    finish_next(f, IMD_DROP);
    expect_reply(f, third, STATUS_NO_MEMORY);
    finish_next(f, IMD_ADD);
    expect_reply(f, second, STATUS_OK);
}

static void alloc__ids_are_never_used_again(void **state)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 1);
    ask_free(f, a.region, 0);
    finish_next(f, IMD_DROP);
    expect_reply(f, 2, STATUS_OK);
    RegionAddress b = alloc(f, 1);
    assert_int_not_equal(a.region, b.region);
    assert_memory_not_equal(&a.capability, &b.capability, sizeof a.capability);
}

static void free__range_comes_back_when_the_thread_let_go(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(POOL_PAGES, 0);
    join(f);
    RegionAddress a = alloc(f, POOL_PAGES);
    uint64_t id = ask_free(f, a.region, 1);
    assert_int_equal(f->messages_count, 0);
    expect_reply(f, ask_alloc(f, &m), STATUS_NO_MEMORY);
    ImdCommand drop = expect_command(f, IMD_DROP);
    assert_int_equal(drop.region.region, a.region);
    finish(f, &drop, 0);
    expect_reply(f, id, STATUS_OK);
    assert_int_equal(f->freed.hint.free_bytes, POOL_PAGES * PAGE);
    alloc(f, POOL_PAGES);
}

static void free__unknown(void **state)
{
    Fixture *f = *state;
    uint8_t body[WIRE_BODY_MAX];
    OpFree m = {EPOCH + 1, 1, 0};
    join(f);
    RegionAddress a = alloc(f, 1);
    expect_reply(f, ask_free(f, a.region + 1, 0), STATUS_GONE);
    expect_reply(f, ask_free(f, a.region, 2), STATUS_GONE);
    uint64_t id = send_new(f, OP_FREE, body, wire_free_encode(&m, body));
    expect_reply(f, id, STATUS_EPOCH);
    assert_int_equal(f->commands_count, 0);
}

/* ---- release and reopen -----------------------------------------------------------------------
 */

static void reopen__gives_a_new_address(void **state)
{
    Fixture *f = *state;
    RegionListing l;
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    uint64_t id = ask_reopen(f, a.region, 1, &stamp_one);
    assert_int_equal(f->messages_count, 0);
    ImdCommand command = expect_command(f, IMD_REOPEN);
    assert_int_equal(command.region.opening, 2);
    finish(f, &command, 0);
    expect_reply(f, id, STATUS_OK);
    assert_int_equal(f->alloc.address.region, a.region);
    assert_int_equal(f->alloc.address.opening, 2);
    assert_memory_equal(&f->alloc.address.capability, &command.region.capability, 16);
    assert_memory_not_equal(&f->alloc.address.capability, &a.capability, 16);
    assert_int_equal(f->alloc.port, 7701);
    assert_true(imd_control_region_at(f->c, 0, &l));
    assert_int_equal(l.flags, REGION_RETAIN | REGION_RDONLY);
    assert_true(id128_equal(&l.client, &client_two));
    assert_int_equal(l.address.opening, 2);
    assert_false(imd_control_region_at(f->c, 1, &l));
}

static void reopen__stamp(void **state)
{
    Fixture *f = *state;
    const Stamp others[] = {{101, 200, 300}, {100, 201, 300}, {100, 200, 301}};
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    for (unsigned i = 0; i < 3; i++)
        expect_reply(f, ask_reopen(f, a.region, 1, &others[i]), STATUS_STALE);
    expect_reply(f, ask_reopen(f, a.region, 2, &stamp_one), STATUS_GONE);
    assert_int_equal(f->commands_count, 0);
    ask_reopen(f, a.region, 1, &stamp_one);
    finish_next(f, IMD_REOPEN);
}

static void reopen__withdraws_the_record(void **state)
{
    Fixture *f = *state;
    RegionListing l;
    join(f);
    RegionAddress a = alloc(f, 4);
    expect_reply(f, ask_reopen(f, a.region, 1, &stamp_one), STATUS_GONE); /* never released */
    release(f, &a, &stamp_one);
    uint64_t id = ask_reopen(f, a.region, 1, &stamp_one);
    /* withdrawn before the thread opens it and before anybody is told */
    assert_true(imd_control_region_at(f->c, 0, &l));
    assert_int_equal(l.flags & REGION_RELEASED, 0);
    finish_next(f, IMD_REOPEN);
    expect_reply(f, id, STATUS_OK);
    expect_reply(f, ask_reopen(f, a.region, 1, &stamp_one), STATUS_GONE);
    expect_reply(f, ask_reopen(f, a.region, 2, &stamp_one), STATUS_GONE);
    expect_reply(f, ask_release(f, &a, &stamp_one), STATUS_GONE); /* the old opening's address */
}

static void release__checks_the_whole_address(void **state)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 4), wrong = a;
    wrong.epoch++;
    expect_reply(f, ask_release(f, &wrong, &stamp_one), STATUS_EPOCH);
    wrong = a;
    wrong.region++;
    expect_reply(f, ask_release(f, &wrong, &stamp_one), STATUS_GONE);
    wrong = a;
    wrong.opening++;
    expect_reply(f, ask_release(f, &wrong, &stamp_one), STATUS_GONE);
    wrong = a;
    wrong.capability.bytes[15] ^= 1;
    expect_reply(f, ask_release(f, &wrong, &stamp_one), STATUS_GONE);
    assert_int_equal(f->commands_count, 0);
}

static void release__twice(void **state)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    expect_reply(f, ask_release(f, &a, &stamp_one), STATUS_OK); /* as it is already */
    expect_reply(f, ask_release(f, &a, &stamp_two), STATUS_GONE);
    assert_int_equal(f->commands_count, 0);
}

static void released__goes_with_age(void **state)
{
    Fixture *f = *state;
    RegionListing l;
    join(f);
    RegionAddress a = alloc(f, 4), b = alloc(f, 4);
    uint64_t start = f->now_ns;
    release(f, &a, &stamp_one);
    f->now_ns += NS_PER_S / 2;
    release(f, &b, &stamp_one);
    assert_true(imd_control_deadline(f->c) <= start + AGE_NS);
    f->now_ns = start + AGE_NS - 1;
    imd_control_expire(f->c, f->now_ns);
    assert_int_equal(f->commands_count, 0);
    elapse(f, 1);
    ImdCommand drop = expect_command(f, IMD_DROP);
    assert_int_equal(drop.region.region, a.region);
    assert_int_equal(f->commands_count, 0);
    elapse(f, NS_PER_S / 4); /* the other is not due */
    finish(f, &drop, 0);
    assert_int_equal(imd_control_regions(f->c), 1);
    assert_true(imd_control_region_at(f->c, 0, &l));
    assert_int_equal(l.address.region, b.region);
}

static void requests__for_one_region_queue(void **state)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 4);
    uint64_t released = ask_release(f, &a, &stamp_one);
    uint64_t reopened = ask_reopen(f, a.region, 1, &stamp_one);
    uint64_t freed = ask_free(f, a.region, 0);
    uint64_t again = ask_free(f, a.region, 0);
    assert_int_equal(f->messages_count, 0);
    finish_next(f, IMD_CLOSE);
    expect_reply(f, released, STATUS_OK);
    finish_next(f, IMD_REOPEN);
    expect_reply(f, reopened, STATUS_OK);
    finish_next(f, IMD_DROP);
    expect_reply(f, freed, STATUS_OK);
    expect_reply(f, again, STATUS_GONE);
    assert_int_equal(imd_control_regions(f->c), 0);
}

/* ---- at most once ---------------------------------------------------------------------------- */

static void request__once(void **state)
{
    Fixture *f = *state;
    uint8_t body[WIRE_BODY_MAX];
    OpAlloc m = alloc_of(4, 0);
    size_t len = wire_alloc_encode(&m, body);
    join(f);
    send_request(f, 1, OP_ALLOC, body, len);
    send_request(f, 1, OP_ALLOC, body, len); /* under way: nothing is said, nothing done */
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(f->commands_count, 1);
    finish_next(f, IMD_ADD);
    expect_reply(f, 1, STATUS_OK);
    RegionAddress a = f->alloc.address;
    send_request(f, 1, OP_ALLOC, body, len);
    Message again;
    pop_message(f, WIRE_REPLY, &again);
    wire_reply_decode(again.payload, again.len, &f->reply);
    wire_alloc_reply_decode(f->reply.body, f->reply.body_len, &f->alloc);
    assert_memory_equal(&a, &f->alloc.address, sizeof a);
    /* settled meanwhile: a late duplicate is not even answered */
    f->settled = f->next_id = 2;
    expect_reply(f, ask_free(f, 99, 0), STATUS_GONE);
    f->settled = 1;
    send_request(f, 1, OP_ALLOC, body, len);
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(imd_control_regions(f->c), 1);
}

static void request__malformed(void **state)
{
    Fixture *f = *state;
    uint8_t body[8] = {0};
    static const uint16_t ops[] = {OP_ALLOC, OP_FREE, OP_RELEASE, OP_REOPEN};
    join(f);
    for (unsigned i = 0; i < 4; i++)
        expect_reply(f, send_new(f, ops[i], body, sizeof body), STATUS_INVALID);
    Message m;
    send_new(f, OP_OPEN, body, sizeof body);
    pop_message(f, WIRE_REPLY, &m);
    assert_int_equal(wire_reply_decode(m.payload, m.len, &f->reply), 0);
    assert_int_equal(f->reply.status, STATUS_INVALID);
    assert_int_equal(f->reply.body_len, 0);
    assert_int_equal(f->commands_count, 0);
    imd_control_input(f->c, WIRE_REQUEST, body, sizeof body, f->now_ns);
    imd_control_input(f->c, WIRE_REPLY, body, sizeof body, f->now_ns);
    imd_control_input(f->c, WIRE_READ, body, sizeof body, f->now_ns);
    imd_control_done(f->c, 0, 0, f->now_ns);
    imd_control_done(f->c, 999, 0, f->now_ns);
    assert_int_equal(f->messages_count, 0);
}

/* ---- sessions and managers --------------------------------------------------------------------
 */

static void up__same_manager_goes_on(void **state)
{
    Fixture *f = *state;
    Message m;
    OpAlloc body = alloc_of(4, 0);
    join(f);
    uint64_t id = ask_alloc(f, &body);
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

static void up__other_manager_starts_anew(void **state)
{
    Fixture *f = *state;
    Message m;
    OpAlloc body = alloc_of(4, 0);
    join(f);
    RegionAddress a = alloc(f, 60);
    release(f, &a, &stamp_one);
    ask_reopen(f, a.region, 1, &stamp_one);
    ImdCommand reopen = expect_command(f, IMD_REOPEN);
    ask_free(f, a.region, 0); /* waits behind it */
    imd_control_up(f->c, &manager_two, f->now_ns);
    assert_false(imd_control_joined(f->c));
    expect_request(f, OP_JOIN, &m);
    assert_true(f->request.id > 2); /* the imd's own ids go on */
    assert_int_equal(f->request.settled, f->request.id);
    answer(f, STATUS_OK, 0);
    OpBeat beat;
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    finish(f, &reopen, 0); /* nobody is told, and the FREE is forgotten */
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(f->commands_count, 0);
    /* the new manager counts from 1 */
    f->next_id = f->settled = 1;
    uint64_t id = ask_alloc(f, &body);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

static void up__waiting_requests_of_another_manager_end(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(POOL_PAGES, 1);
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    ask_alloc(f, &m);
    imd_control_up(f->c, &manager_two, f->now_ns);
    f->messages_count = 0;
    finish_next(f, IMD_DROP);
    assert_int_equal(f->commands_count, 0);
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(imd_control_free_bytes(f->c), POOL_PAGES * PAGE);
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void leave__parts(void **state)
{
    Fixture *f = *state;
    Message m;
    OpAlloc body = alloc_of(4, 0);
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    imd_control_leave(f->c, f->now_ns);
    imd_control_leave(f->c, f->now_ns);
    assert_int_equal(expect_command(f, IMD_LEAVE).thread, 0);
    assert_int_equal(expect_command(f, IMD_LEAVE).thread, 1);
    assert_int_equal(f->commands_count, 0);
    expect_request(f, OP_PART, &m);
    expect_reply(f, ask_alloc(f, &body), STATUS_LEAVING);
    expect_reply(f, ask_reopen(f, a.region, 1, &stamp_one), STATUS_LEAVING);
    assert_false(imd_control_finished(f->c));
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_finished(f->c));
    elapse(f, 10 * NS_PER_S);
    assert_int_equal(f->messages_count, 0); /* no BEAT any more */
}

static void leave__gives_up(void **state)
{
    Fixture *f = *state;
    Message m;
    join(f);
    imd_control_leave(f->c, f->now_ns);
    elapse(f, 2 * NS_PER_S);
    assert_true(imd_control_finished(f->c));
    assert_in_range(f->messages_count, 3, 10);
    while (f->messages_count > 0)
        expect_request(f, OP_PART, &m);
    assert_int_equal(imd_control_deadline(f->c), TIME_NEVER);
}

static void leave__without_a_manager(void **state)
{
    Fixture *f = *state;
    imd_control_leave(f->c, f->now_ns);
    assert_true(imd_control_finished(f->c));
    assert_int_equal(f->messages_count, 0);
}

static void leave__refuses_those_that_wait(void **state)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(POOL_PAGES, 1);
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    uint64_t id = ask_alloc(f, &m);
    imd_control_leave(f->c, f->now_ns);
    expect_reply(f, id, STATUS_LEAVING);
    ImdCommand drop = expect_command(f, IMD_DROP);
    finish(f, &drop, 0);
}

/* ---- at random ------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed, uint64_t below)
{
    *seed += 0x9e3779b97f4a7c15ull;
    return mix64(*seed) % below;
}

/* The addresses that replies told; the listing tells the rest. */
static void random_request(Fixture *f, uint64_t *seed)
{
    RegionListing l = {.address.region = 1};
    uint8_t body[WIRE_BODY_MAX];
    size_t count = imd_control_regions(f->c);
    if (count > 0)
        (void)imd_control_region_at(f->c, draw(seed, count), &l);
    OpReopen reopen = {EPOCH, l.address.region, l.address.opening, client_two, 0, l.stamp};
    OpAlloc m = alloc_of(1 + (unsigned)draw(seed, 20), (uint8_t)draw(seed, 2));
    switch (draw(seed, 5)) {
    case 0:
        ask_free(f, l.address.region, draw(seed, 2) ? l.address.opening : 0);
        break;
    case 1:
        if (l.address.opening != 0)
            ask_release(f, &l.address, &stamp_one);
        break;
    case 2:
        if (l.address.opening != 0)
            send_new(f, OP_REOPEN, body, wire_reopen_encode(&reopen, body));
        break;
    default:
        ask_alloc(f, &m);
    }
}

static void random_finish(Fixture *f, uint64_t *seed)
{
    if (f->commands_count == 0)
        return;
    unsigned i = (unsigned)draw(seed, f->commands_count);
    ImdCommand command = f->commands[i];
    memmove(f->commands + i, f->commands + i + 1, (--f->commands_count - i) * sizeof *f->commands);
    finish(f, &command, command.kind == IMD_ADD && draw(seed, 10) == 0 ? -ENOMEM : 0);
}

static void control__random(void **state)
{
    Fixture *f = *state;
    uint64_t seed = 3;
    Id128 manager = manager_one;
    join(f);
    for (unsigned i = 0; i < 5000; i++) {
        if (draw(&seed, 2) && f->next_id - f->settled < 40)
            random_request(f, &seed);
        else
            random_finish(f, &seed);
        if (draw(&seed, 50) == 0)
            elapse(f, draw(&seed, 5 * NS_PER_S));
        if (draw(&seed, 200) == 0) {
            manager.bytes[1]++;
            imd_control_up(f->c, &manager, f->now_ns);
            f->next_id = f->settled = 1;
        }
        if (f->commands_count == 0)
            f->settled = f->next_id;
        f->messages_count = 0;
    }
    while (f->commands_count > 0)
        random_finish(f, &seed);
    while (imd_control_regions(f->c) > 0) { /* all of it can be had back */
        RegionListing l;
        assert_true(imd_control_region_at(f->c, 0, &l));
        f->settled = f->next_id;
        f->messages_count = 0;
        ask_free(f, l.address.region, 0);
        finish_next(f, IMD_DROP);
    }
    assert_int_equal(imd_control_free_bytes(f->c), POOL_PAGES * PAGE);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(join__says_what_there_is),
        T(join__is_repeated_until_answered),
        T(join__refused_is_tried_again),
        T(beat__tells_hint_digest_and_traffic),
        T(beat__latest_takes_the_place_of_an_unanswered),
        T(beat__unknown_peer_joins_again),
        T(listing__of_nothing_is_one_empty_page),
        T(listing__shows_all_a_directory_needs),
        T(listing__of_many_pages),
        T(listing__before_what_is_under_way),
        T(listing__abandoned_when_refused),
        T(alloc__is_answered_when_the_thread_has_it),
        T(alloc__full),
        T(alloc__too_many_regions),
        T(alloc__thread_without_memory),
        T(alloc__evicts_the_least_recently_released),
        T(alloc__several_wait_for_room),
        T(alloc__ids_are_never_used_again),
        T(free__range_comes_back_when_the_thread_let_go),
        T(free__unknown),
        T(reopen__gives_a_new_address),
        T(reopen__stamp),
        T(reopen__withdraws_the_record),
        T(release__checks_the_whole_address),
        T(release__twice),
        T(released__goes_with_age),
        T(requests__for_one_region_queue),
        T(request__once),
        T(request__malformed),
        T(up__same_manager_goes_on),
        T(up__other_manager_starts_anew),
        T(up__waiting_requests_of_another_manager_end),
        T(leave__parts),
        T(leave__gives_up),
        T(leave__without_a_manager),
        T(leave__refuses_those_that_wait),
        T(control__random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
