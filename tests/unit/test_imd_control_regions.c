/* SPDX-License-Identifier: MIT */
/* The control core: the manager's requests, what they lead to, and at most once. */
#include "tests/lib/case.h"
#include "tests/unit/imd_control_fixture.h"

#define CASE(name) TEST_WITH(name, setup, teardown)

/* ---- allocating and freeing ------------------------------------------------------------------ */

CASE(alloc__is_answered_when_the_thread_has_it)
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

CASE(alloc__full)
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

CASE(alloc__too_many_regions)
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

CASE(alloc__thread_without_memory)
{
    Fixture *f = *state;
    OpAlloc m = alloc_of(3, 0);
    join(f);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand command = expect_command(f, IMD_ADD);
    ask_free(f, command.region.region, 0);
    finish(f, &command, -ENOMEM);
    expect_reply(f, id, STATUS_NO_MEMORY);
    expect_reply(f, id + 1, STATUS_GONE); /* waited for what did not come */
    assert_int_equal(imd_control_free_bytes(f->c), POOL_PAGES * PAGE);
    assert_int_equal(imd_control_regions(f->c), 0);
}

CASE(alloc__evicts_the_least_recently_released)
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

CASE(alloc__several_wait_for_room)
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

CASE(alloc__ids_are_never_used_again)
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

CASE(free__range_comes_back_when_the_thread_let_go)
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

CASE(free__unknown)
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

CASE(reopen__gives_a_new_address)
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

CASE(reopen__stamp)
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

CASE(reopen__withdraws_the_record)
{
    Fixture *f = *state;
    RegionListing l;
    join(f);
    RegionAddress a = alloc(f, 4);
    expect_reply(f, ask_reopen(f, a.region, 1, &stamp_one), STATUS_GONE); /* never released */
    release(f, &a, &stamp_one);
    uint64_t id = ask_reopen(f, a.region, 1, &stamp_one);
    /* withdrawn before the thread opens it and before anybody gets a reply */
    assert_true(imd_control_region_at(f->c, 0, &l));
    assert_int_equal(l.flags & REGION_RELEASED, 0);
    finish_next(f, IMD_REOPEN);
    expect_reply(f, id, STATUS_OK);
    expect_reply(f, ask_reopen(f, a.region, 1, &stamp_one), STATUS_GONE);
    expect_reply(f, ask_reopen(f, a.region, 2, &stamp_one), STATUS_GONE);
    expect_reply(f, ask_release(f, &a, &stamp_one), STATUS_GONE); /* the old opening's address */
}

CASE(release__checks_the_whole_address)
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

CASE(release__twice)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 4);
    release(f, &a, &stamp_one);
    expect_reply(f, ask_release(f, &a, &stamp_one), STATUS_OK); /* as it is already */
    expect_reply(f, ask_release(f, &a, &stamp_two), STATUS_GONE);
    assert_int_equal(f->commands_count, 0);
}

CASE(released__goes_with_age)
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
    assert_int_equal(imd_control_deadline(f->c), start + AGE_NS); /* no beat is due before */
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

CASE(requests__for_one_region_queue)
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

CASE(request__once)
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
    assert_int_equal(a.region, f->alloc.address.region);
    assert_int_equal(a.opening, f->alloc.address.opening);
    assert_true(id128_equal(&a.capability, &f->alloc.address.capability));
    /* settled meanwhile: a late duplicate is not even answered */
    f->settled = f->next_id = 2;
    expect_reply(f, ask_free(f, 99, 0), STATUS_GONE);
    f->settled = 1;
    send_request(f, 1, OP_ALLOC, body, len);
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(imd_control_regions(f->c), 1);
}

CASE(request__malformed)
{
    Fixture *f = *state;
    uint8_t body[8] = {0};
    static const uint16_t ops[] = {OP_ALLOC, OP_FREE, OP_RELEASE, OP_REOPEN};
    join(f);
    for (unsigned i = 0; i < 4; i++)
        expect_reply(f, send_new(f, ops[i], body, sizeof body), STATUS_INVALID);
    Message m;
    static const uint16_t others[] = {OP_OPEN, OP_REOPEN + 1, UINT16_MAX}; /* or a later build's */
    for (unsigned i = 0; i < 3; i++) {
        send_new(f, others[i], body, sizeof body);
        pop_message(f, WIRE_REPLY, &m);
        assert_int_equal(wire_reply_decode(m.payload, m.len, &f->reply), 0);
        assert_int_equal(f->reply.status, STATUS_DENIED);
        assert_int_equal(f->reply.body_len, 0);
    }
    assert_int_equal(f->commands_count, 0);
    imd_control_input(f->c, WIRE_REQUEST, body, sizeof body, f->now_ns);
    imd_control_input(f->c, WIRE_REPLY, body, sizeof body, f->now_ns);
    imd_control_input(f->c, WIRE_READ, body, sizeof body, f->now_ns);
    imd_control_done(f->c, 0, 0, f->now_ns);
    imd_control_done(f->c, 999, 0, f->now_ns);
    assert_int_equal(f->messages_count, 0);
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

CASE(control__random)
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
    while (imd_control_regions(f->c) > 0) { /* all of it can be taken back */
        RegionListing l;
        assert_true(imd_control_region_at(f->c, 0, &l));
        f->settled = f->next_id;
        f->messages_count = 0;
        ask_free(f, l.address.region, 0);
        finish_next(f, IMD_DROP);
    }
    assert_int_equal(imd_control_free_bytes(f->c), POOL_PAGES * PAGE);
}
