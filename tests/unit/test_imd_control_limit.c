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
    extents_use(added->region.extents, 0, imd_use_tick(when_ns));
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
    RegionAddress a = alloc(f, 4);
    uint64_t id = ask_release(f, &a, &stamp_one);
    ImdCommand closing = expect_command(f, IMD_CLOSE);
    imd_control_limit(f->c, 0, f->now_ns);
    assert_true(imd_control_check(f->c));
    assert_int_equal(f->commands_count, 0);
    OpBeat beat;
    elapse(f, BEAT_NS / 4); /* of the limit */
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    finish(f, &closing, 0);
    Message reply; /* it was released, and is gone: what is true is said */
    pop_message(f, WIRE_REPLY, &reply);
    assert_int_equal(wire_reply_decode(reply.payload, reply.len, &f->reply), 0);
    assert_int_equal(f->reply.id, id);
    assert_int_equal(dropped_next(f), a.region);
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

/* ---- extents -------------------------------------------------------------------------------- */

/* A region of four extents of four pages each, all of them filled; used in the order 2, 0, 3, 1. */
static ImdCommand four_extents(Fixture *f, bool give_back)
{
    static const unsigned order[] = {2, 0, 3, 1};
    ImdControlConfig config = config_default();
    config.extent_bytes = 4 * PAGE;
    config.give_back = give_back;
    control_start(f, &config);
    join(f);
    ImdCommand r = added(f, 16);
    for (unsigned i = 0; i < 4; i++)
        extents_use(r.region.extents, order[i], imd_use_tick(f->now_ns + (i + 1) * NS_PER_S));
    return r;
}

static void expect_chosen(const ImdCommand *unfill, const char *extents)
{
    for (unsigned i = 0; extents[i]; i++)
        assert_int_equal(extents_chosen(unfill->region.extents, i), extents[i] == 'c');
}

CASE(extents__least_recently_used_go_first)
{
    Fixture *f = *state;
    ImdCommand r = four_extents(f, true);
    imd_control_limit(f->c, 11 * PAGE, f->now_ns);
    ImdCommand unfill = finish_next(f, IMD_UNFILL);
    assert_int_equal(unfill.region.region, r.region.region);
    assert_int_equal(unfill.thread, r.thread);
    expect_chosen(&unfill, "c-c-");
    assert_int_equal(imd_control_filled_bytes(f->c), 16 * PAGE); /* until the pages are back */
    ImdCommand purge = finish_next(f, IMD_PURGE);
    assert_ptr_equal(purge.region.extents, r.region.extents);
    assert_int_equal(imd_control_filled_bytes(f->c), 8 * PAGE);
    assert_int_equal(imd_control_used_bytes(f->c), 16 * PAGE);
    assert_int_equal(imd_control_regions(f->c), 1);
    assert_int_equal(f->commands_count, 0);
    refused(f, 1, 1); /* more is reserved than the owner allows */
    assert_false(extents_take(r.region.extents, 0, 9));
    imd_control_limit(f->c, 12 * PAGE, f->now_ns);
    assert_true(extents_take(r.region.extents, 0, 9));
    assert_false(extents_take(r.region.extents, 2, 9));
}

CASE(extents__a_region_without_any_is_dropped)
{
    Fixture *f = *state;
    ImdCommand r = four_extents(f, false);
    imd_control_limit(f->c, 4 * PAGE, f->now_ns);
    ImdCommand unfill = finish_next(f, IMD_UNFILL);
    expect_chosen(&unfill, "\0");
    assert_int_equal(imd_control_filled_bytes(f->c), 4 * PAGE);
    imd_control_limit(f->c, 0, f->now_ns);
    assert_int_equal(dropped_next(f), r.region.region);
    assert_int_equal(imd_control_filled_bytes(f->c), 0);
    assert_int_equal(imd_control_regions(f->c), 0);
}

/* More goes as soon as the region rests; what the manager asks for waits for that, too. */
CASE(extents__while_some_go)
{
    Fixture *f = *state;
    ImdCommand r = four_extents(f, true);
    imd_control_limit(f->c, 15 * PAGE, f->now_ns);
    ImdCommand unfill = expect_command(f, IMD_UNFILL);
    expect_chosen(&unfill, "--c-");
    imd_control_limit(f->c, 8 * PAGE, f->now_ns);
    assert_int_equal(f->commands_count, 0);
    f->messages_count = 0;
    finish(f, &unfill, 0);
    ImdCommand purge = expect_command(f, IMD_PURGE);
    uint64_t id = ask_free(f, r.region.region, 0);
    assert_int_equal(f->messages_count, 0);
    finish(f, &purge, 0);
    assert_int_equal(dropped_next(f), r.region.region);
    (void)id;
    finish_next(f, IMD_PURGE);
    assert_int_equal(imd_control_filled_bytes(f->c), 0);
}

/* It stays in the turn in which it was released, and can be opened again. */
CASE(extents__of_released_regions_go_in_their_turn)
{
    Fixture *f = *state;
    ImdControlConfig config = config_default();
    config.extent_bytes = 4 * PAGE;
    control_start(f, &config);
    join(f);
    RegionAddress open = alloc(f, 8), first = alloc(f, 8), second = alloc(f, 8);
    release(f, &first, &stamp_one);
    f->now_ns += NS_PER_MS;
    release(f, &second, &stamp_one);
    imd_control_limit(f->c, 20 * PAGE, f->now_ns);
    assert_int_equal(finish_next(f, IMD_UNFILL).region.region, first.region);
    imd_control_limit(f->c, 12 * PAGE, f->now_ns); /* the rest of it, and half of the other */
    assert_int_equal(f->commands_count, 2);
    assert_int_equal(dropped_next(f), first.region);
    assert_int_equal(finish_next(f, IMD_UNFILL).region.region, second.region);
    (void)ask_reopen(f, second.region, second.opening, &stamp_one);
    finish_next(f, IMD_REOPEN);
    f->messages_count = 0;
    imd_control_limit(f->c, 8 * PAGE, f->now_ns);
    assert_int_equal(finish_next(f, IMD_UNFILL).region.region, open.region);
}

/* What cannot be filled for the limit makes room for itself where nobody has been for a while. */
CASE(extents__unused_ones_give_way)
{
    Fixture *f = *state;
    OpBeat beat;
    ImdCommand r = four_extents(f, false);
    imd_control_limit(f->c, 12 * PAGE, f->now_ns);
    expect_chosen(&(ImdCommand){.region = r.region}, "--c-");
    finish_next(f, IMD_UNFILL);
    beat = hint_now(f);
    assert_int_equal(f->commands_count, 0); /* nothing was wanted */
    assert_false(extents_take(r.region.extents, 2, imd_use_tick(f->now_ns)));
    beat = hint_now(f);
    assert_int_equal(f->commands_count, 0); /* all were used just now */
    assert_false(extents_take(r.region.extents, 2, imd_use_tick(f->now_ns)));
    f->now_ns += 4 * NS_PER_S; /* extent 0 was used more than two seconds ago now */
    imd_control_expire(f->c, f->now_ns);
    f->messages_count = 0;
    ImdCommand unfill = finish_next(f, IMD_UNFILL);
    expect_chosen(&(ImdCommand){.region = unfill.region}, "----");
    assert_true(extents_take(r.region.extents, 2, imd_use_tick(f->now_ns)));
    assert_false(extents_has(r.region.extents, 0));
    assert_int_equal(f->commands_count, 0);
    (void)beat;
}

/* What holds no data any more goes without being asked for; an open region keeps its name. */
CASE(extents__idle_ones_go_soon)
{
    Fixture *f = *state;
    ImdCommand r = four_extents(f, true);
    extents_rest(r.region.extents, 3);
    extents_rest(r.region.extents, 0);
    (void)hint_now(f);
    finish_next(f, IMD_UNFILL);
    finish_next(f, IMD_PURGE);
    assert_int_equal(imd_control_filled_bytes(f->c), 8 * PAGE);
    extents_rest(r.region.extents, 1);
    extents_rest(r.region.extents, 2);
    (void)hint_now(f);
    finish_next(f, IMD_UNFILL);
    finish_next(f, IMD_PURGE);
    assert_int_equal(imd_control_filled_bytes(f->c), 0);
    assert_int_equal(imd_control_regions(f->c), 1);
    assert_int_equal(f->commands_count, 0);
}

/* Of a region that is just being released they go when it is. */
CASE(extents__idle_ones_of_what_moves_go_when_it_rests)
{
    Fixture *f = *state;
    ImdCommand r = four_extents(f, true);
    RegionAddress a = {.epoch = EPOCH,
                       .region = r.region.region,
                       .opening = r.region.opening,
                       .capability = r.region.capability};
    extents_rest(r.region.extents, 3);
    uint64_t id = ask_release(f, &a, &stamp_one);
    ImdCommand close = expect_command(f, IMD_CLOSE);
    (void)hint_now(f);
    assert_int_equal(f->commands_count, 0);
    finish(f, &close, 0);
    expect_reply(f, id, STATUS_OK);
    (void)hint_now(f);
    finish_next(f, IMD_UNFILL);
    finish_next(f, IMD_PURGE);
    assert_int_equal(imd_control_filled_bytes(f->c), 12 * PAGE);
    (void)hint_now(f);
    assert_int_equal(f->commands_count, 0);
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
