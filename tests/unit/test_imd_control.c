/* SPDX-License-Identifier: MIT */
/* The control core: joining, beats, listings, other managers, leaving. */
#include "base/cleanup.h"
#include "imd/metrics.h"
#include "tests/lib/case.h"
#include "tests/unit/imd_control_fixture.h"

#define CASE(name) TEST_WITH(name, setup, teardown)

/* ---- joining and beating --------------------------------------------------------------------- */

CASE(join__says_what_there_is)
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

CASE(join__is_repeated_until_answered)
{
    Fixture *f = *state;
    Message m;
    imd_control_up(f->c, &manager_one, f->now_ns);
    elapse(f, 30 * NS_PER_S);
    assert_in_range(f->messages_count, 10, 40); /* backed off */
    /* The same request for some seconds; then a new one, for a manager that has executed it but
     * can repeat its answer no more. */
    uint64_t last = 1;
    while (f->messages_count > 0) {
        expect_request(f, OP_JOIN, &m);
        assert_in_range(f->request.id, last, last + 1);
        assert_int_equal(f->request.settled, f->request.id);
        last = f->request.id;
    }
    assert_in_range(last, 2, 4);
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_joined(f->c));
}

CASE(join__refused_is_tried_again)
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

CASE(beat__tells_hint_digest_and_traffic)
{
    Fixture *f = *state;
    OpBeat beat;
    join(f);
    RegionAddress a = alloc(f, 3), b = alloc(f, 5);
    release(f, &b, &stamp_one);
    imd_control_served(f->c, &(Served){1000, 2000, 3000, 40, 5});
    elapse(f, BEAT_NS - 1);
    assert_int_equal(f->messages_count, 0);
    elapse(f, 1);
    expect_beat(f, &beat);
    RegionName names[] = {{EPOCH, a.region, 1}, {EPOCH, b.region, 1}};
    assert_int_equal(beat.digest, region_digest(&names[0]) ^ region_digest(&names[1]));
    assert_int_equal(beat.served.read_bytes, 1000);
    assert_int_equal(beat.served.write_bytes, 2000);
    assert_int_equal(beat.served.fill_bytes, 3000);
    assert_int_equal(beat.served.reads, 40);
    assert_int_equal(beat.served.reads_unfilled, 5);
    assert_int_equal(beat.hint.free_bytes, (POOL_PAGES - 8) * PAGE);
    assert_int_equal(beat.hint.evictable_bytes, (POOL_PAGES - 3) * PAGE);
    assert_int_equal(beat.hint.regions, 2);
}

CASE(beat__latest_takes_the_place_of_an_unanswered)
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

CASE(join__answer_may_ask_for_a_list)
{
    Fixture *f = *state;
    OpListing listing;
    Message m;
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    answer(f, STATUS_OK, BEAT_WANT_LIST);
    while (f->messages_count > 0) {
        pop_message(f, WIRE_REQUEST, &m);
        assert_int_equal(wire_request_decode(m.payload, m.len, &f->request), 0);
        if (f->request.op == OP_LISTING)
            break;
    }
    assert_int_equal(f->request.op, OP_LISTING);
    assert_int_equal(wire_listing_decode(f->request.body, f->request.body_len, &listing), 0);
}

CASE(beat__unknown_peer_joins_again)
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

/* ---- a manager that is silent ---------------------------------------------------------------- */

enum { DEAD_BEATS = 3 };

static void start_minding(Fixture *f)
{
    ImdControlConfig config = config_default();
    config.manager_dead_ns = DEAD_BEATS * BEAT_NS;
    control_start(f, &config);
    join(f);
}

static void beats_answered(Fixture *f, unsigned count)
{
    OpBeat beat;
    for (unsigned i = 0; i < count; i++) {
        elapse(f, BEAT_NS);
        expect_beat(f, &beat);
        answer(f, STATUS_OK, 0);
    }
}

CASE(silence__of_the_manager_is_its_loss)
{
    Fixture *f = *state;
    Message m;
    start_minding(f);
    beats_answered(f, 10);
    assert_true(imd_control_joined(f->c));
    elapse(f, BEAT_NS); /* the first BEAT that nobody answers */
    elapse(f, DEAD_BEATS * BEAT_NS - 1);
    assert_true(imd_control_joined(f->c));
    f->messages_count = 0;
    elapse(f, 1);
    assert_false(imd_control_joined(f->c));
    assert_true(imd_control_lost(f->c));
    assert_false(imd_control_lost(f->c)); /* said once */
    expect_request(f, OP_JOIN, &m);
    elapse(f, 20 * BEAT_NS); /* it asks to be taken in, again and again, and beats no more */
    while (f->messages_count > 0)
        expect_request(f, OP_JOIN, &m);
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_joined(f->c));
    beats_answered(f, 1);
}

CASE(silence__ends_with_any_answer)
{
    Fixture *f = *state;
    OpBeat beat;
    start_minding(f);
    for (unsigned i = 0; i < 20; i++) { /* every second one is lost */
        elapse(f, BEAT_NS);
        f->messages_count = 0;
        elapse(f, BEAT_NS);
        while (f->messages_count > 0)
            expect_beat(f, &beat);
        answer(f, STATUS_OK, 0);
        assert_true(imd_control_joined(f->c));
    }
}

/* It has just been heard. */
CASE(silence__ends_with_a_new_session)
{
    Fixture *f = *state;
    start_minding(f);
    beats_answered(f, 3);
    elapse(f, BEAT_NS); /* the first BEAT that nobody answers */
    elapse(f, DEAD_BEATS * BEAT_NS - 1);
    imd_control_up(f->c, &manager_one, f->now_ns);
    elapse(f, 1);
    assert_true(imd_control_joined(f->c));
    assert_false(imd_control_lost(f->c));
}

/* Answers may wait for us to read them, and nothing was asked meanwhile. */
CASE(silence__counts_only_while_we_run)
{
    Fixture *f = *state;
    OpBeat beat;
    start_minding(f);
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    f->now_ns += 100 * BEAT_NS; /* paused */
    imd_control_expire(f->c, f->now_ns);
    assert_true(imd_control_joined(f->c));
    elapse(f, DEAD_BEATS * BEAT_NS - 1);
    assert_true(imd_control_joined(f->c));
    elapse(f, 1);
    assert_false(imd_control_joined(f->c));
}

/* ---- listings -------------------------------------------------------------------------------- */

static void want_list(Fixture *f)
{
    OpBeat beat;
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    answer(f, STATUS_OK, BEAT_WANT_LIST);
}

CASE(listing__of_nothing_is_one_empty_page)
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

CASE(listing__shows_all_a_directory_needs)
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
    assert_int_equal(l->address.epoch, a.epoch);
    assert_int_equal(l->address.region, a.region);
    assert_int_equal(l->address.opening, a.opening);
    assert_true(id128_equal(&l->address.capability, &a.capability));
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

CASE(listing__of_many_pages)
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

CASE(listing__before_what_is_under_way)
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

/* A request that the manager has given up, and that never comes: from a BEAT's answer on lists do
 * not wait for it. */
CASE(listing__not_before_what_was_given_up)
{
    Fixture *f = *state;
    OpListing page;
    OpAlloc m = alloc_of(1, 0);
    join(f);
    alloc(f, 1);    /* id 1 */
    f->next_id = 3; /* id 2 is on its way, as it seems */
    alloc(f, 1);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, 2);
    answer(f, STATUS_OK, 0);
    f->beat_settled = 4;
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, 4);
    answer(f, STATUS_OK, 0);
    f->next_id = 2; /* it comes after all, too late */
    ask_alloc(f, &m);
    assert_int_equal(f->commands_count, 0);
    assert_int_equal(f->messages_count, 0);
}

/* ... or waits for room. */
CASE(listing__before_what_waits)
{
    Fixture *f = *state;
    OpListing page;
    OpAlloc m = alloc_of(30, 1);
    join(f);
    RegionAddress a = alloc(f, 60);
    release(f, &a, &stamp_one);
    uint64_t id = ask_alloc(f, &m);
    ImdCommand drop = expect_command(f, IMD_DROP);
    assert_int_equal(f->commands_count, 0);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, id);
    answer(f, STATUS_OK, 0);
    finish(f, &drop, 0);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

/* What an earlier manager asked for says nothing of this one's requests. */
CASE(listing__before_what_this_manager_asks)
{
    Fixture *f = *state;
    Message m;
    OpBeat beat;
    OpListing page;
    OpAlloc body = alloc_of(1, 0);
    join(f);
    ask_alloc(f, &body); /* id 1 of that one, not done */
    imd_control_up(f->c, &manager_two, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    answer(f, STATUS_OK, 0);
    expect_beat(f, &beat);
    answer(f, STATUS_OK, 0);
    ImdCommand add = expect_command(f, IMD_ADD);
    f->next_id = f->settled = 1;
    alloc(f, 1);
    alloc(f, 1);
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.before, 3);
    answer(f, STATUS_OK, 0);
    finish(f, &add, 0);
}

CASE(listing__abandoned_when_refused)
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

/* A manager that answers BEATs and no pages gets another list when it wants one. */
CASE(listing__abandoned_when_not_answered)
{
    Fixture *f = *state;
    OpListing page;
    OpBeat beat;
    Message m;
    join(f);
    alloc(f, 1);
    want_list(f);
    expect_listing(f, &page);
    for (unsigned i = 0; i < 20; i++) {
        elapse(f, BEAT_NS);
        while (f->messages_count > 1) /* the page, again and again */
            expect_request(f, OP_LISTING, &m);
        expect_beat(f, &beat);
        answer(f, STATUS_OK, 0);
    }
    want_list(f);
    expect_listing(f, &page);
    assert_int_equal(page.list, 2);
    assert_int_equal(page.count, 1);
}

/* ---- sessions and managers --------------------------------------------------------------------
 */

CASE(up__same_manager_goes_on)
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

CASE(up__other_manager_starts_again)
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
    finish(f, &reopen, 0); /* nobody gets a reply, and the FREE is forgotten */
    assert_int_equal(f->messages_count, 0);
    assert_int_equal(f->commands_count, 0);
    /* the new manager counts from 1 */
    f->next_id = f->settled = 1;
    uint64_t id = ask_alloc(f, &body);
    finish_next(f, IMD_ADD);
    expect_reply(f, id, STATUS_OK);
}

CASE(up__waiting_requests_of_another_manager_end)
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

/* ---- figures --------------------------------------------------------------------------------- */

TEST(metrics__of_all_threads_are_summed)
{
    ImdCounts counts;
    ImdMetrics sum = {.threads = 0};
    uint64_t words[IMD_COUNTS_WORDS], data[sizeof counts.data / sizeof(uint64_t)];
    for (unsigned i = 0; i < IMD_COUNTS_WORDS; i++)
        words[i] = i + 1;
    memcpy(&counts, words, sizeof counts);
    imd_metrics_add(&sum, &counts);
    imd_metrics_add(&sum, &counts);
    memcpy(data, &sum.data, sizeof data);
    for (unsigned i = 0; i < ARRAY_SIZE(data); i++)
        assert_int_equal(data[i], 2 * (i + 1));
    assert_int_equal(sum.threads, 2);
    assert_int_equal(sum.reads_waiting, 2 * counts.reads_waiting);
}

CASE(metrics__of_the_directory)
{
    Fixture *f = *state;
    ImdMetrics m = {.threads = 0};
    imd_metrics_read(&m, f->c);
    assert_int_equal(m.joined, 0);
    assert_int_equal(m.managers, 0);
    join(f);
    (void)alloc(f, 4);
    (void)alloc(f, 2);
    imd_control_limit(f->c, 60 * PAGE, f->now_ns);
    imd_metrics_read(&m, f->c);
    assert_int_equal(m.joined, 1);
    assert_int_equal(m.managers, 1);
    assert_int_equal(m.regions, 2);
    assert_int_equal(m.limit_bytes, 60 * PAGE);
    assert_int_equal(m.used_bytes, 6 * PAGE);
    assert_int_equal(m.free_bytes, 58 * PAGE);
}

/* ---- leaving --------------------------------------------------------------------------------- */

CASE(leave__parts)
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

/* Overtaken by the PART, a JOIN would make the manager count on a host that is gone. */
CASE(leave__parts_after_a_join_that_is_on_its_way)
{
    Fixture *f = *state;
    Message m;
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_JOIN, &m);
    uint64_t join = f->request.id;
    imd_control_leave(f->c, f->now_ns);
    assert_int_equal(f->messages_count, 0);
    assert_false(imd_control_finished(f->c));
    answer_id(f, join, OP_JOIN, STATUS_OK, BEAT_WANT_LIST);
    expect_request(f, OP_PART, &m);
    assert_int_equal(f->messages_count, 0); /* there is nothing left to list */
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_finished(f->c));
}

/* Nothing but the PART is said any more: no BEAT that was under way is said again. */
CASE(leave__ends_the_beat_under_way)
{
    Fixture *f = *state;
    OpBeat beat;
    Message m;
    join(f);
    elapse(f, BEAT_NS);
    expect_beat(f, &beat);
    imd_control_leave(f->c, f->now_ns);
    elapse(f, NS_PER_S);
    assert_true(f->messages_count > 1);
    while (f->messages_count > 0)
        expect_request(f, OP_PART, &m);
}

/* A manager that comes while we leave hears of it, and is not asked to take us in; the same one on
 * a new session hears it again at once. */
CASE(leave__reaches_a_manager_that_comes)
{
    Fixture *f = *state;
    Message m;
    join(f);
    imd_control_leave(f->c, f->now_ns);
    expect_request(f, OP_PART, &m);
    uint64_t id = f->request.id;
    imd_control_up(f->c, &manager_one, f->now_ns);
    expect_request(f, OP_PART, &m);
    assert_int_equal(f->request.id, id);
    imd_control_up(f->c, &manager_two, f->now_ns);
    expect_request(f, OP_PART, &m);
    assert_int_equal(f->messages_count, 0);
    assert_false(imd_control_finished(f->c));
    answer(f, STATUS_OK, 0);
    assert_true(imd_control_finished(f->c));
}

CASE(leave__gives_up)
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

CASE(leave__without_a_manager)
{
    Fixture *f = *state;
    imd_control_leave(f->c, f->now_ns);
    assert_true(imd_control_finished(f->c));
    assert_int_equal(f->messages_count, 0);
}

CASE(leave__refuses_those_that_wait)
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
