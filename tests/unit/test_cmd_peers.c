/* SPDX-License-Identifier: MIT */
/* What peers say that is not theirs to say, or comes at an odd moment; and what they hear for it.
 */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* A peer's word is about its own memory: the epoch in the body is the one that it proved. */
TEST(hint__of_another_epoch_is_invalid)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    ImdHint hint = imd_hint(imd);
    uint8_t body[WIRE_BODY_MAX];
    hint.epoch++;
    OpJoin join = {.hint = hint, .pool_bytes = 1, .ports_count = 1, .ports = {9000}};
    OpBeat beat = {.hint = hint};
    OpListing listing = {.hint = hint, .list = 9, .pages = 1};
    OpPart part = {.hint = hint};
    rig_refuses(rig, &imd->session, &imd->ids, OP_JOIN, body, wire_join_encode(&join, body));
    rig_refuses(rig, &imd->session, &imd->ids, OP_BEAT, body, wire_beat_encode(&beat, body));
    rig_refuses(rig, &imd->session, &imd->ids, OP_LISTING, body,
                wire_listing_encode(&listing, body));
    rig_refuses(rig, &imd->session, &imd->ids, OP_PART, body, wire_part_encode(&part, body));
    assert_true(manager_has_host(rig->m, imd->session.peer_epoch));
    rig_free(rig);
}

TEST(body__cut_short_is_invalid)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    uint8_t body[WIRE_BODY_MAX];
    OpAlive alive = {0};
    OpReport report = {.epoch = imd->session.peer_epoch, .fault = HOST_FAULT_SLOW};
    OpBeat beat = {.hint = imd_hint(imd)};
    rig_refuses(rig, &c->session, &c->ids, OP_ALIVE, body, wire_alive_encode(&alive, body) - 1);
    rig_refuses(rig, &c->session, &c->ids, OP_REPORT, body, wire_report_encode(&report, body) - 1);
    rig_refuses(rig, &imd->session, &imd->ids, OP_BEAT, body, wire_beat_encode(&beat, body) - 1);
    assert_int_equal(rig_stats(rig).reported_hosts, 0);
    rig_free(rig);
}

/* The answer to a request comes from whom it was asked, not from somebody with the same epoch. */
TEST(reply__of_another_identity_is_none)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    WireRequest asked = rig_asked(rig);
    OpAllocReply given = {
        .hint = imd_hint(imd), .port = 9000, .address = {imd->session.peer_epoch, 5, 1, {{1}}}};
    Session impostor = imd->session, client = imd->session;
    impostor.peer_id.bytes[0]++;
    client.peer_role = ROLE_CLIENT;
    rig_give(rig, &impostor, &asked, &given, 0);
    rig_give(rig, &client, &asked, &given, 0);
    assert_false(rig_answered(rig, &c->session, id));
    rig_give(rig, &imd->session, &asked, &given, 0);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* A host that goes with its line full: each that waits is answered, nothing more is asked of it. */
static void goes_with_a_full_line(bool says_so)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB), *next = NULL;
    Line line = line_up(rig, imd, NUMBERS_WINDOW + 20);
    imd->dead = true;
    size_t sent = rig->count;
    if (says_so) {
        imd_part(rig, imd);
    } else {
        next = imd_new(rig, 64 * KIB);
        next->session.peer = imd->session.peer;
        imd_join(rig, next);
    }
    for (size_t i = sent; i < rig->count; i++)
        assert_false(rig->log[i].to == &imd->session && rig->log[i].type == WIRE_REQUEST);
    line_done(rig, &line);
    assert_int_equal(rig_stats(rig).regions, 0);
    rig_free(rig);
}

TEST(host__that_goes_is_asked_nothing_more)
{
    goes_with_a_full_line(true);
    goes_with_a_full_line(false);
}

/* To one that hears nothing there is nothing to say: what it has is freed when it is heard. */
TEST(host__silent_is_asked_nothing)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 20);
    imd->deaf = imd->dead = true;
    rig_live(rig, 16);
    size_t sent = rig->count;
    client_request(rig, c, OP_LEAVE, NULL, 0);
    rig_wait(rig, 5 * NS_PER_S);
    for (size_t i = sent; i < rig->count; i++)
        assert_ptr_not_equal(rig->log[i].to, &imd->session);
    imd->deaf = imd->dead = false;
    rig_live(rig, 2);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}

/* What is under way is sent again to a new session, not at every word of the old one. */
TEST(host__a_beat_repeats_no_request)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    (void)client_open_send(rig, c, &open);
    size_t sent = rig->count;
    for (unsigned i = 0; i < 5; i++)
        imd_beat(rig, imd);
    for (size_t i = sent; i < rig->count; i++)
        assert_int_equal(rig->log[i].type, WIRE_REPLY);
    rig_free(rig);
}

/* One that is known and joins again says nothing of its regions: that asks for no list. */
TEST(join__again_asks_for_no_list)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 3);
    rig_live(rig, 2);
    unsigned asked = lists_asked(rig);
    for (unsigned i = 0; i < 5; i++) {
        imd_join(rig, imd);
        rig_pump(rig);
    }
    assert_int_equal(lists_asked(rig), asked);
    rig_free(rig);
}

/* A duplicate of one request changes the way of its own reply only. */
TEST(duplicate__moves_no_other_reply)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    imd->deaf = true;
    uint64_t one = client_open_send(rig, c, &open), two = client_open_send(rig, c, &open);
    rig_again(rig, &c->other, two, 1, OP_OPEN, body, wire_open_encode(&open, body));
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_true(rig_answered(rig, &c->session, one));
    assert_false(rig_answered(rig, &c->session, two));
    assert_true(rig_answered(rig, &c->other, two));
    rig_free(rig);
}

/* One that left is known for as long as there is room, even if others come. */
TEST(leave__is_remembered_while_there_is_room)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    client_request(rig, c, OP_LEAVE, NULL, 0);
    rig_pump(rig);
    client_alive(rig, d);
    rig_again(rig, &c->session, id, 1, OP_OPEN, body, wire_open_encode(&open, body));
    rig_pump(rig);
    assert_int_equal(imd->got[OP_ALLOC], 1);
    rig_free(rig);
}

TEST(leave__of_a_stranger_needs_no_room)
{
    ManagerConfig config = rig_config();
    config.clients_max = 1;
    Rig *rig = rig_new_with(config, 1);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    client_alive(rig, c);
    uint64_t id = client_request(rig, d, OP_LEAVE, NULL, 0);
    assert_int_equal(rig_status(rig, &d->session, id), STATUS_OK);
    rig_free(rig);
}

/* Who dies with nothing open is no loss to count; what another leaves is freed at once. */
TEST(client__that_dies_is_reclaimed_at_once)
{
    ManagerConfig config = rig_config();
    config.client_dead_ns = 4 * NS_PER_S;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    client_alive(rig, d);
    open_many(rig, c, 3);
    rig_wait(rig, config.client_dead_ns + NS_PER_S); /* and nobody says anything */
    assert_int_equal(rig_stats(rig).clients, 0);
    assert_int_equal(rig_stats(rig).reclaimed_clients, 1);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}

/* Deadlines count from when a message came, whenever the clock was looked at last. */
TEST(input__brings_the_time)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    rig->now_ns += 777 * NS_PER_MS;
    (void)client_open_send(rig, c, &open);
    assert_int_equal(manager_deadline(rig->m), rig->now_ns + rig->config.request_first_retry_ns);
    rig_free(rig);
}

/* Silence is noticed soon after, however short it may be. */
TEST(tick__suits_the_shorter_silence)
{
    for (unsigned i = 0; i < 2; i++) {
        ManagerConfig config = rig_config();
        uint64_t *dead_ns = i ? &config.client_dead_ns : &config.host_dead_ns;
        *dead_ns = 2 * NS_PER_S;
        Rig *rig = rig_new_with(config, 1);
        assert_int_equal(manager_deadline(rig->m), rig->now_ns + *dead_ns / 8);
        rig_free(rig);
        *dead_ns = 8 * NS_PER_MS;
        rig = rig_new_with(config, 1);
        assert_int_equal(manager_deadline(rig->m), rig->now_ns + 100 * NS_PER_MS);
        rig_free(rig);
    }
}

/* Those that wait in a host's line keep the time that they had left, too. */
TEST(pause__postpones_what_waits_in_line)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    Line line = line_up(rig, imd, NUMBERS_WINDOW + 5);
    rig_wait(rig, NS_PER_S);
    rig->now_ns += 500 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S - 1);
    line_done(rig, &line);
    assert_int_equal(imd->count, 0); /* done, not given up */
    rig_free(rig);
}

/* And so what waits for them: an OPEN behind a full line still finds its host. */
TEST(pause__postpones_what_somebody_waits_for_in_line)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(99, 4 * KIB, 0);
    Line line = line_up(rig, imd, NUMBERS_WINDOW);
    uint64_t opening = client_open_send(rig, c, &open);
    rig_wait(rig, NS_PER_S);
    assert_false(rig_answered(rig, &c->session, opening));
    rig->now_ns += 500 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S - 1);
    line_done(rig, &line);
    assert_int_equal(client_opened(rig, c, opening, NULL), STATUS_OK);
    rig_free(rig);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* A list that contradicts the directory in one thing: it is corrected, once, and then both agree.
 */
static void list_corrects(Rig *rig, FakeImd *imd)
{
    uint64_t reconciled = rig_stats(rig).reconciled;
    imd_list(rig, imd);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).reconciled, reconciled + 1);
    imd_list(rig, imd);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).reconciled, reconciled + 1);
}

TEST(listing__corrects_a_kept_regions_stamp)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    imd->regions[0].stamp = stamp_of(2);
    list_corrects(rig, imd);
    open.stamp = stamp_of(2);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}

TEST(listing__corrects_an_opening)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    imd->regions[0].address.opening++;
    list_corrects(rig, imd);
    RegionAddress now = imd->regions[0].address;
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 0), STATUS_GONE);
    assert_int_equal(client_close(rig, c, &now, CLOSE_FREE, 0), STATUS_OK);
    rig_free(rig);
}

/* A list that settled a difference settles that one only: when our side changes, one is asked. */
TEST(listing__settles_one_difference)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 256 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 2);
    RegionAddress gone = {.epoch = imd->session.peer_epoch, .region = 99, .opening = 1};
    c->open[c->count++] = gone; /* it names what is not here: that settles nothing new */
    rig_live(rig, 5);
    unsigned asked = c->lists_asked;
    assert_int_equal(asked, 1);
    rig_live(rig, 5);
    assert_int_equal(c->lists_asked, asked);
    imd_drop(imd, &imd->regions[0]); /* ours changes, theirs does not */
    imd_list(rig, imd);
    rig_live(rig, 5);
    assert_int_equal(c->lists_asked, asked + 1);
    rig_free(rig);
}

/* ---- early closes --------------------------------------------------------------------------- */

/* A manager that has just started answers a CLOSE of what it knows, even before the whole list. */
TEST(close__of_what_a_first_page_named_is_early_enough)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 1);
    rig_amnesia(rig);
    imd_join(rig, imd);
    rig_pump(rig);
    imd_page(rig, imd, 7, 0, 2, UINT64_MAX, imd->regions, 1);
    const RegionAddress address = c->open[0];
    assert_int_equal(client_close(rig, client_new(rig), &address, CLOSE_FREE, 0), STATUS_GONE);
    assert_int_equal(imd->count, 1);
    assert_int_equal(client_close(rig, c, &address, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}
