/* SPDX-License-Identifier: MIT */
/* The pool's limit in the control core: nothing is given beyond it, the least recently used go
 * first when it falls, and what is given back is given back before it is used again. */
#include "tests/lib/case.h"
#include "tests/unit/imd_control_fixture.h"

static OpBeat hint_now(Fixture *f)
{
    OpBeat beat;
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    return beat;
}

static void use(const ImdCommand *added, uint64_t when_ns)
{
    atomic_store(added->region.last_use, imd_use_tick(when_ns));
}

/* A region of so many pages, and the command that added it. */
static ImdCommand added(Fixture *f, unsigned pages)
{
    OpAlloc m = alloc_of(pages, 0);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand command = finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
    return command;
}

static uint64_t dropped_next(Fixture *f)
{
    return finish_next(f, IMD_DROP).region.region;
}

static void refused(Fixture *f, unsigned pages, uint8_t evict)
{
    OpAlloc m = alloc_of(pages, evict);
    uint64_t id = ask_alloc(f, &m);
    Message reply;
    WireReply r;
    assert_int_equal(f->commands_count, 0);
    pop_message(f, WIRE_REPLY, &reply);
    assert_int_equal(wire_reply_decode(reply.payload, reply.len, &r), 0);
    assert_int_equal(r.id, id);
    assert_int_equal(r.status, STATUS_NO_MEMORY);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(limit__nothing_is_given_beyond_it)
{
    Fixture *f = *state;
    join(f);
    (void)added(f, 4);
    imd_control_limit(f->c, 10 * PAGE + 17, f->now_ns); /* whole pages count */
    assert_int_equal(imd_control_limit_bytes(f->c), 10 * PAGE);
    assert_int_equal(f->commands_count, 0);
    refused(f, 7, 0);
    refused(f, 7, 1);
    OpAlloc m = alloc_of(6, 0);
    uint64_t id = ask_alloc(f, &m);
    finish_next(f, IMD_ADD);
    Message reply;
    pop_message(f, WIRE_REPLY, &reply);
    assert_int_equal(wire_reply_decode(reply.payload, reply.len, &f->reply), 0);
    assert_int_equal(f->reply.id, id);
    assert_int_equal(f->reply.status, STATUS_OK);
    assert_int_equal(imd_control_used_bytes(f->c), 10 * PAGE);
    refused(f, 1, 0);
    imd_control_limit(f->c, UINT64_MAX, f->now_ns);
    assert_int_equal(imd_control_limit_bytes(f->c), POOL_PAGES * PAGE);
    (void)added(f, 54);
}

CASE(limit__the_manager_hears_of_it_soon)
{
    Fixture *f = *state;
    OpBeat beat;
    join(f);
    (void)added(f, 4);
    beat = hint_now(f);
    assert_int_equal(beat.hint.free_bytes, 60 * PAGE);
    imd_control_limit(f->c, 10 * PAGE, f->now_ns);
    elapse(f, BEAT_NS / 4); /* much sooner than the next would come */
    expect_beat(f, &beat);
    assert_int_equal(beat.hint.free_bytes, 6 * PAGE);
    assert_int_equal(beat.hint.largest_free_bytes, 6 * PAGE);
    assert_int_equal(beat.hint.evictable_bytes, 6 * PAGE);
    answer(f, STATUS_OK, 0);
    /* ... but not as often as it changes. */
    for (unsigned i = 0; i < 20; i++)
        imd_control_limit(f->c, (10 + i) * PAGE, f->now_ns);
    assert_int_equal(f->messages_count, 0);
}

CASE(limit__least_recently_used_go_first)
{
    Fixture *f = *state;
    ImdCommand r[4];
    join(f);
    for (unsigned i = 0; i < 4; i++)
        r[i] = added(f, 4);
    use(&r[0], f->now_ns + 40 * NS_PER_S);
    use(&r[1], f->now_ns + 10 * NS_PER_S);
    use(&r[2], f->now_ns + 30 * NS_PER_S);
    use(&r[3], f->now_ns + 20 * NS_PER_S);
    imd_control_limit(f->c, 7 * PAGE, f->now_ns); /* three must go */
    assert_int_equal(f->commands_count, 3);
    assert_int_equal(dropped_next(f), r[1].region.region);
    assert_int_equal(dropped_next(f), r[3].region.region);
    assert_int_equal(imd_control_used_bytes(f->c), 8 * PAGE);
    assert_int_equal(dropped_next(f), r[2].region.region);
    assert_int_equal(imd_control_used_bytes(f->c), 4 * PAGE);
    assert_int_equal(f->commands_count, 0);
    assert_int_equal(imd_control_regions(f->c), 1);
    imd_control_limit(f->c, 0, f->now_ns);
    assert_int_equal(dropped_next(f), r[0].region.region);
    assert_int_equal(imd_control_used_bytes(f->c), 0);
}

/* ... by their use before this fall, not before one that is over. */
CASE(limit__each_fall_looks_again)
{
    Fixture *f = *state;
    ImdCommand r[4];
    join(f);
    for (unsigned i = 0; i < 4; i++) {
        r[i] = added(f, 4);
        use(&r[i], f->now_ns + (10 + i) * NS_PER_S);
    }
    imd_control_limit(f->c, 12 * PAGE, f->now_ns);
    assert_int_equal(dropped_next(f), r[0].region.region);
    imd_control_limit(f->c, UINT64_MAX, f->now_ns);
    use(&r[1], f->now_ns + 40 * NS_PER_S);
    imd_control_limit(f->c, 8 * PAGE, f->now_ns);
    assert_int_equal(dropped_next(f), r[2].region.region);
    assert_int_equal(f->commands_count, 0);
}

/* An ALLOC counts as a use: what was opened just now is not the first to go. */
CASE(limit__new_regions_count_as_used)
{
    Fixture *f = *state;
    join(f);
    ImdCommand old = added(f, 4);
    use(&old, f->now_ns);
    f->now_ns += BEAT_NS / 2;
    (void)added(f, 4);
    imd_control_limit(f->c, 4 * PAGE, f->now_ns);
    assert_int_equal(dropped_next(f), old.region.region);
    assert_int_equal(f->commands_count, 0);
}

CASE(limit__released_ones_go_before_open_ones)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 4), b = alloc(f, 4), c = alloc(f, 4);
    release(f, &c, &stamp_one);
    release(f, &a, &stamp_one);
    imd_control_limit(f->c, 4 * PAGE, f->now_ns);
    assert_int_equal(dropped_next(f), c.region); /* released first */
    assert_int_equal(dropped_next(f), a.region);
    assert_int_equal(f->commands_count, 0);
    (void)b;
}

/* What has a command under way is looked at when it rests. */
CASE(limit__what_moves_goes_when_it_rests)
{
    Fixture *f = *state;
    join(f);
    OpAlloc m = alloc_of(4, 0);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand add = expect_command(f, IMD_ADD);
    imd_control_limit(f->c, 0, f->now_ns);
    assert_true(imd_control_check(f->c));
    assert_int_equal(f->commands_count, 0);
    OpBeat beat;
    elapse(f, BEAT_NS / 4); /* of the limit */
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    finish(f, &add, 0);
    Message reply; /* it was given, and is gone: what is true is said */
    pop_message(f, WIRE_REPLY, &reply);
    assert_int_equal(wire_reply_decode(reply.payload, reply.len, &f->reply), 0);
    assert_int_equal(f->reply.id, id);
    assert_int_equal(dropped_next(f), add.region.region);
    assert_int_equal(imd_control_used_bytes(f->c), 0);
    elapse(f, BEAT_NS / 4); /* and that it is gone, the manager hears soon, too */
    expect_beat(f, &beat);
    assert_int_equal(beat.hint.regions, 0);
}

/* An ALLOC that waited for room which the limit took away is refused, not forgotten. */
CASE(limit__refuses_what_waits_for_room)
{
    Fixture *f = *state;
    join(f);
    RegionAddress a = alloc(f, 60);
    release(f, &a, &stamp_one);
    OpAlloc m = alloc_of(30, 1);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand drop = expect_command(f, IMD_DROP);
    imd_control_limit(f->c, 20 * PAGE, f->now_ns);
    assert_int_equal(f->messages_count, 0);
    finish(f, &drop, 0);
    Message reply;
    pop_message(f, WIRE_REPLY, &reply);
    assert_int_equal(wire_reply_decode(reply.payload, reply.len, &f->reply), 0);
    assert_int_equal(f->reply.id, id);
    assert_int_equal(f->reply.status, STATUS_NO_MEMORY);
}

/* Thousands of regions are dropped a few at a time, and all of them are. */
CASE(limit__many_go_by_and_by)
{
    Fixture *f = *state;
    ImdControlConfig config = config_default();
    unsigned most = 0, dropped = 0;
    config.regions_max = 1000;
    config.pool_bytes = 512 * PAGE;
    control_start(f, &config);
    join(f);
    for (unsigned i = 0; i < 512; i++) {
        f->settled = f->next_id;
        (void)added(f, 1);
    }
    imd_control_limit(f->c, 12 * PAGE, f->now_ns);
    while (f->commands_count > 0) {
        most = f->commands_count > most ? f->commands_count : most;
        (void)dropped_next(f);
        dropped++;
    }
    assert_int_equal(dropped, 500);
    assert_true(most <= 64);
    assert_int_equal(imd_control_used_bytes(f->c), 12 * PAGE);
}

/* One whose turn is still to come is freed by its program meanwhile: it goes once. */
CASE(limit__what_is_freed_meanwhile_goes_once)
{
    enum { MANY = 100, FREED = 80 };
    Fixture *f = *state;
    ImdControlConfig config = config_default();
    uint64_t ids[MANY];
    unsigned dropped = 0, freed = 0;
    config.regions_max = MANY;
    config.pool_bytes = 128 * PAGE;
    control_start(f, &config);
    join(f);
    for (unsigned i = 0; i < MANY; i++) {
        f->settled = f->next_id;
        ids[i] = added(f, 1).region.region;
    }
    imd_control_limit(f->c, 0, f->now_ns);
    assert_true(f->commands_count < FREED);
    (void)ask_free(f, ids[FREED], 0);
    while (f->commands_count > 0) {
        freed += f->commands[0].region.region == ids[FREED];
        (void)dropped_next(f);
        if (f->messages_count > 0) /* the reply to that, or a beat */
            f->messages_count = 0;
        dropped++;
    }
    assert_int_equal(dropped, MANY);
    assert_int_equal(freed, 1);
    assert_int_equal(imd_control_used_bytes(f->c), 0);
}

/* ---- pages go back -------------------------------------------------------------------------- */

static void start_giving_back(Fixture *f)
{
    ImdControlConfig config = config_default();
    config.give_back = true;
    control_start(f, &config);
    join(f);
}

CASE(give_back__before_the_range_is_used_again)
{
    Fixture *f = *state;
    start_giving_back(f);
    RegionAddress a = alloc(f, 63);
    uint64_t id = ask_free(f, a.region, 0);
    finish_next(f, IMD_DROP);
    ImdCommand purge = expect_command(f, IMD_PURGE);
    assert_int_equal(purge.region.len, 63 * PAGE);
    expect_reply(f, id, STATUS_OK); /* nobody waits for the pages */
    assert_int_equal(f->freed.hint.free_bytes, PAGE);
    assert_int_equal(f->freed.hint.evictable_bytes, 64 * PAGE);
    assert_int_equal(imd_control_used_bytes(f->c), 63 * PAGE);
    id = ask_free(f, a.region, 0); /* it is gone */
    expect_reply(f, id, STATUS_GONE);
    refused(f, 2, 0);
    OpAlloc m = alloc_of(64, 1); /* who may wait, waits */
    id = ask_alloc(f, &m);
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(f->commands_count, 0);
    finish(f, &purge, 0);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

CASE(give_back__whole_pages)
{
    Fixture *f = *state;
    start_giving_back(f);
    OpAlloc m = alloc_of(2, 0);
    m.len = PAGE + 1;
    uint64_t id = ask_alloc(f, &m);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
    (void)ask_free(f, f->alloc.address.region, 0);
    finish_next(f, IMD_DROP);
    assert_int_equal(finish_next(f, IMD_PURGE).region.len, 2 * PAGE);
    assert_int_equal(imd_control_used_bytes(f->c), 0);
}

CASE(give_back__counts_as_used_until_it_is_over)
{
    Fixture *f = *state;
    start_giving_back(f);
    (void)alloc(f, 8);
    imd_control_limit(f->c, 0, f->now_ns);
    finish_next(f, IMD_DROP);
    assert_int_equal(imd_control_used_bytes(f->c), 8 * PAGE);
    finish_next(f, IMD_PURGE);
    assert_int_equal(imd_control_used_bytes(f->c), 0);
}

/* An ADD that failed took no page. */
CASE(give_back__not_what_was_never_had)
{
    Fixture *f = *state;
    start_giving_back(f);
    OpAlloc m = alloc_of(2, 0);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand add = expect_command(f, IMD_ADD);
    finish(f, &add, -ENOMEM);
    assert_int_equal(f->commands_count, 0);
    expect_reply(f, id, STATUS_NO_MEMORY);
}
