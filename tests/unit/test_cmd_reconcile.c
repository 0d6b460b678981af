/* SPDX-License-Identifier: MIT */
/* Reconciliation at the manager: lists of imds, claims of clients, its own amnesia, the grace
 * period, what is in flight. Nothing may leak, nothing claimed may be freed, and an idle cluster
 * must come to rest. */
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

static unsigned lists_asked(const Rig *rig)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->imds_count; i++)
        n += rig->imds[i]->lists_asked;
    for (unsigned i = 0; i < rig->clients_count; i++)
        n += rig->clients[i]->lists_asked;
    return n;
}

static void open_many(Rig *rig, FakeClient *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        OpOpen open = open_of((uint8_t)i, 4 * KIB, REGION_RETAIN);
        open.offset = i * (uint64_t)KIB;
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    }
}

/* ---- rest ----------------------------------------------------------------------------------- */

static void lists__are_not_asked_for_when_digests_agree(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    imd_up(rig, 1024 * KIB);
    imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    unsigned asked = lists_asked(rig);

    assert_int_equal(asked, 2); /* each host at its JOIN */
    open_many(rig, c, 20);
    rig_live(rig, 100);
    assert_int_equal(lists_asked(rig), asked);
    assert_int_equal(rig_stats(rig).regions, 20);
    assert_int_equal(rig_stats(rig).reconciled, 0);
    rig_free(rig);
}

static void join__asks_for_a_list_until_it_came(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 1024 * KIB);
    imd_join(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, BEAT_WANT_LIST);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, BEAT_WANT_LIST);
    /* Not while its pages come: */
    imd_page(rig, imd, 1, 0, 2, 1, NULL, 0);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, 0);
    /* ... but when they stop coming: */
    rig_wait(rig, rig->config.request_deadline_ns);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, BEAT_WANT_LIST);
    imd_page(rig, imd, 1, 1, 2, 1, NULL, 0);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, 0);
    rig_free(rig);
}

/* ---- amnesia -------------------------------------------------------------------------------- */

static void amnesia__everything_is_found_again(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 1024 * KIB), *b = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    open_many(rig, c, 30);
    open_many(rig, d, 7);
    OpOpen open = open_of(200, 4 * KIB, REGION_RETAIN);
    OpOpenReply kept, reply;
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    assert_int_equal(client_close(rig, c, &kept.address, CLOSE_RELEASE, 1), STATUS_OK);

    rig_amnesia(rig);
    assert_int_equal(rig_stats(rig).regions, 0);
    uint64_t id = imd_beat(rig, a); /* unknown: it joins again */
    assert_int_equal(rig_status(rig, &a->session, id), STATUS_UNKNOWN_PEER);
    imd_join(rig, a);
    imd_join(rig, b);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).regions, 38);
    assert_int_equal(rig_stats(rig).clients, 2);
    unsigned asked = lists_asked(rig);
    rig_live(rig, 60);
    assert_int_equal(lists_asked(rig), asked);
    assert_int_equal(a->count + b->count, 38);
    assert_int_equal(a->got[OP_FREE] + b->got[OP_FREE], 0);
    /* All of it works: the kept one is found, another is closed. */
    assert_int_equal(client_open(rig, d, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_FREE, 0), STATUS_OK);
    rig_free(rig);
}

/* Nothing unclaimed is freed before the grace is over, though its client was silent for longer
 * than clients may be; then it is. */
static void amnesia__unclaimed_is_freed_after_the_grace(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    c->dead = true;
    rig_amnesia(rig);
    imd_join(rig, imd);
    rig_live(rig, 44);
    assert_int_equal(imd->count, 5);
    assert_int_equal(rig_stats(rig).regions, 5);
    rig_live(rig, 3);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* The client was cut off for longer than the manager's grace minus its own: it shows up in time. */
static void amnesia__late_client_keeps_its_regions(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    c->dead = true;
    rig_amnesia(rig);
    imd_join(rig, imd);
    rig_live(rig, 43);
    c->dead = false;
    rig_live(rig, 100);
    assert_int_equal(imd->count, 5);
    assert_int_equal(rig_stats(rig).regions, 5);
    rig_free(rig);
}

/* After the grace a region of an unknown client still gets client_dead_ns from when it is known:
 * a host that comes back late brings them. */
static void amnesia__late_host_brings_regions_of_late_clients(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    c->dead = imd->dead = true;
    rig_amnesia(rig);
    rig_live(rig, 200);
    imd->dead = false;
    imd_join(rig, imd);
    rig_live(rig, 29);
    assert_int_equal(imd->count, 5);
    rig_live(rig, 3);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}

static void amnesia__claims_come_before_the_hosts_list(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    imd->dead = true;
    rig_amnesia(rig);
    rig_live(rig, 10);
    /* It claims what nobody here knows: asked once, then left in peace. */
    assert_int_equal(c->lists_asked, 1);
    imd->dead = false;
    imd_join(rig, imd);
    rig_live(rig, 60);
    assert_int_equal(imd->count, 5);
    assert_int_equal(rig_stats(rig).regions, 5);
    assert_int_equal(c->lists_asked, 1);
    rig_free(rig);
}

/* The client lets a region go while nobody knows of it here. */
static void amnesia__region_dropped_meanwhile_is_freed(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    rig_amnesia(rig);
    RegionAddress gone = c->open[2];
    c->open[2] = c->open[--c->count];
    imd_join(rig, imd);
    rig_live(rig, 5);
    assert_int_equal(imd->count, 4);
    assert_null(imd_region(imd, gone.region));
    assert_int_equal(rig_stats(rig).regions, 4);
    rig_free(rig);
}

/* A CLOSE in the moment before the imd's list came: it is not answered yet, the client asks
 * again, and what is to be kept is kept. */
static void amnesia__early_close_waits_for_the_list(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 1);
    rig_amnesia(rig);
    uint8_t body[WIRE_BODY_MAX];
    OpClose op = {.address = c->open[0], .mode = CLOSE_RELEASE, .stamp = stamp_of(1)};
    size_t n = wire_close_encode(&op, body);
    uint64_t id = client_request(rig, c, OP_CLOSE, body, n);
    assert_false(rig_answered(rig, &c->session, id));
    imd_join(rig, imd);
    rig_again(rig, &c->session, id, c->ids.settled, OP_CLOSE, body, n);
    assert_false(rig_answered(rig, &c->session, id));
    imd_list(rig, imd);
    rig_again(rig, &c->session, id, c->ids.settled, OP_CLOSE, body, n);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_true(imd->regions[0].flags & REGION_RELEASED);
    /* Of a host that never shows up: until the grace is over. */
    op.address.epoch++;
    n = wire_close_encode(&op, body);
    id = client_request(rig, c, OP_CLOSE, body, n);
    rig_live(rig, 44);
    rig_again(rig, &c->session, id, c->ids.settled, OP_CLOSE, body, n);
    assert_false(rig_answered(rig, &c->session, id));
    rig_live(rig, 1);
    rig_again(rig, &c->session, id, c->ids.settled, OP_CLOSE, body, n);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_GONE);
    rig_free(rig);
}

/* ---- lost replies --------------------------------------------------------------------------- */

/* The imd allocated, its answers were lost: the client got another host. The orphan is found in
 * the imd's list and freed, since its client does not claim it. */
static void orphan__of_a_lost_alloc_answer_is_freed(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->dumb = true;
    uint64_t id = client_open_send(rig, c, &open);
    FakeImd *good = imd_up(rig, 64 * KIB);
    rig_wait(rig, rig->config.request_deadline_ns);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    assert_int_equal(imd->count, 1);
    assert_int_equal(good->count, 1);
    imd->dumb = false;
    rig_live(rig, 6);
    assert_int_equal(imd->count, 0);
    assert_int_equal(good->count, 1);
    assert_int_equal(rig_stats(rig).regions, 1);
    rig_free(rig);
}

/* The OPEN succeeded, its reply never reached the client, which gave up. */
static void orphan__of_a_lost_open_reply_is_freed(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(imd->count, 1);
    /* As long as it asks it may still get the reply: */
    rig_live(rig, 5);
    assert_int_equal(imd->count, 1);
    request_ids_settle(&c->ids, id);
    rig_live(rig, 5);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).reconciled, 1);
    rig_free(rig);
}

/* ---- claims --------------------------------------------------------------------------------- */

static void claim__keeps_what_is_in_flight(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint64_t first = client_open_send(rig, c, &open), second = client_open_send(rig, c, &open);
    rig_pump(rig);
    /* A list that was taken while the second was in flight, the first was over. */
    client_claim_page(rig, c, 1, 0, 1, second, NULL, 0);
    rig_pump(rig);
    assert_int_equal(imd->count, 1);
    assert_int_equal(rig_stats(rig).reconciled, 1);
    (void)first;
    rig_free(rig);
}

static void claim__counts_as_a_whole_only(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 120);
    uint64_t before = c->ids.next;
    const unsigned last = 120 - 2 * CLAIM_NAMES_MAX - 1; /* all but one */
    /* Backwards, each twice; the middle one of an older list again. */
    client_claim_page(rig, c, 5, 2, 3, before, &c->open[2 * CLAIM_NAMES_MAX], last);
    client_claim_page(rig, c, 5, 2, 3, before, &c->open[2 * CLAIM_NAMES_MAX], last);
    client_claim_page(rig, c, 5, 0, 3, before, &c->open[0], CLAIM_NAMES_MAX);
    client_claim_page(rig, c, 4, 1, 3, before, NULL, 0);
    client_claim_page(rig, c, 5, 0, 3, before, &c->open[0], CLAIM_NAMES_MAX);
    client_claim_page(rig, c, 5, 1, 4, before, NULL, 0); /* makes no sense */
    rig_pump(rig);
    assert_int_equal(imd->count, 120);
    client_claim_page(rig, c, 5, 1, 3, before, &c->open[CLAIM_NAMES_MAX], CLAIM_NAMES_MAX);
    rig_pump(rig);
    assert_int_equal(imd->count, 119);
    assert_null(imd_region(imd, c->open[119].region));
    /* A page of a list that is over changes nothing any more. */
    client_claim_page(rig, c, 5, 0, 1, before, NULL, 0);
    rig_pump(rig);
    assert_int_equal(imd->count, 119);
    rig_free(rig);
}

static void claim__a_newer_list_takes_over(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 60);
    client_claim_page(rig, c, 1, 0, 2, c->ids.next, &c->open[0], CLAIM_NAMES_MAX);
    client_claim_page(rig, c, 2, 0, 2, c->ids.next, &c->open[0], CLAIM_NAMES_MAX);
    client_claim_page(rig, c, 1, 1, 2, c->ids.next, NULL, 0);
    rig_pump(rig);
    assert_int_equal(imd->count, 60);
    client_claim_page(rig, c, 2, 1, 2, c->ids.next, &c->open[CLAIM_NAMES_MAX], 12);
    rig_pump(rig);
    assert_int_equal(imd->count, 60);
    rig_free(rig);
}

/* A client claims what its live, listed host does not have: it finds out when it uses it. It is
 * asked for its list once, not at every keep-alive for ever. */
static void claim__of_what_is_gone_comes_to_rest(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 3);
    imd_drop(imd, imd_region(imd, c->open[0].region));
    rig_live(rig, 5);
    assert_int_equal(rig_stats(rig).regions, 2);
    unsigned asked = lists_asked(rig);
    assert_int_equal(imd->lists_asked, 2);
    assert_int_equal(c->lists_asked, 1);
    rig_live(rig, 100);
    assert_int_equal(lists_asked(rig), asked);
    /* Something new tells something new. */
    open_many(rig, c, 1);
    rig_live(rig, 5);
    assert_int_equal(c->lists_asked, 2);
    rig_free(rig);
}

static void claim__of_another_clients_region_is_ignored(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig), *liar = client_new(rig);
    open_many(rig, c, 3);
    client_claim_page(rig, liar, 1, 0, 1, 1000, c->open, 3);
    rig_live(rig, 5);
    assert_int_equal(imd->count, 3);
    assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_FREE, 0), STATUS_OK);
    rig_free(rig);
}

/* Only what is named as it was opened last is claimed, and only by its own client. */
static void claim__of_an_older_opening_does_not_count(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig), *liar = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply one, two;
    assert_int_equal(client_open(rig, c, &open, &one), STATUS_OK);
    assert_int_equal(client_close(rig, c, &one.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &two), STATUS_OK);
    client_claim_page(rig, c, 1, 0, 2, c->ids.next, &one.address, 1);
    client_claim_page(rig, liar, 1, 0, 1, 1000, &two.address, 1);
    client_claim_page(rig, c, 1, 1, 2, c->ids.next, NULL, 0);
    rig_pump(rig);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}

/* A list knows of no more than its page that knows least. */
static void claim__the_page_that_knows_least_counts(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 2);
    uint64_t before = c->ids.next;
    open_many(rig, c, 1);
    client_claim_page(rig, c, 1, 0, 2, before, &c->open[0], 1);
    client_claim_page(rig, c, 1, 1, 2, c->ids.next, &c->open[1], 1);
    rig_pump(rig);
    assert_int_equal(imd->count, 3);
    rig_free(rig);
}

/* No further list is asked for while the pages of one come; nor after it, when it told all. */
static void claim__one_list_at_a_time(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 2);
    c->open[c->count++] = (RegionAddress){.epoch = 99, .region = 9, .opening = 9};
    uint64_t before = c->ids.next;
    client_claim_page(rig, c, 1, 0, 2, before, &c->open[0], 2);
    client_alive(rig, c);
    rig_pump(rig);
    assert_int_equal(c->lists_asked, 0);
    rig_wait(rig, rig->config.request_deadline_ns);
    client_alive(rig, c);
    rig_pump(rig);
    assert_int_equal(c->lists_asked, 1);
    /* A page twice is a page once. */
    client_claim_page(rig, c, 2, 1, 2, before, &c->open[2], 1);
    client_claim_page(rig, c, 2, 1, 2, before, &c->open[2], 1);
    client_claim_page(rig, c, 2, 0, 2, before, &c->open[0], 2);
    client_alive(rig, c);
    rig_pump(rig);
    assert_int_equal(c->lists_asked, 1);
    assert_int_equal(rig_stats(rig).regions, 2);
    rig_free(rig);
}

/* ---- lists of imds -------------------------------------------------------------------------- */

static void listing__drops_what_the_imd_does_not_have(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 20);
    OpOpen open = open_of(99, 4 * KIB, REGION_RETAIN);
    OpOpenReply kept;
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    assert_int_equal(client_close(rig, c, &kept.address, CLOSE_RELEASE, 1), STATUS_OK);
    imd_drop(imd, imd_region(imd, kept.address.region));
    imd_drop(imd, imd_region(imd, c->open[7].region));
    rig_live(rig, 2);
    assert_int_equal(rig_stats(rig).regions, 19);
    assert_int_equal(client_close(rig, c, &c->open[7], CLOSE_FREE, 0), STATUS_GONE);
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    assert_int_equal(kept.reused, 0);
    rig_free(rig);
}

/* An imd that was never asked anything: its lists know of all requests that there were. */
static void listing__repeated_before_any_request(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 5);
    rig_amnesia(rig);
    imd_join(rig, imd);
    assert_int_equal(imd_before(imd), 0);
    imd_list(rig, imd);
    imd_list(rig, imd);
    assert_int_equal(rig_stats(rig).regions, 5);
    assert_int_equal(rig_stats(rig).reconciled, 5);
    imd_drop(imd, imd_region(imd, c->open[3].region));
    imd_list(rig, imd);
    assert_int_equal(rig_stats(rig).regions, 4);
    assert_int_equal(rig_stats(rig).reconciled, 6);
    rig_free(rig);
}

/* A list taken before an ALLOC, a RELEASE, a REOPEN or a FREE, but arriving after: the directory
 * is newer. */
static void listing__older_than_requests_changes_nothing(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reopened, released, freed, allocated;
    open.key = key_of(1);
    assert_int_equal(client_open(rig, c, &open, &reopened), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reopened.address, CLOSE_RELEASE, 1), STATUS_OK);
    open.key = key_of(2);
    assert_int_equal(client_open(rig, c, &open, &released), STATUS_OK);
    open.key = key_of(3);
    assert_int_equal(client_open(rig, c, &open, &freed), STATUS_OK);

    RegionListing old[3];
    memcpy(old, imd->regions, sizeof old);
    uint64_t before = imd_before(imd);
    open.key = key_of(1);
    assert_int_equal(client_open(rig, c, &open, &reopened), STATUS_OK);
    assert_int_equal(reopened.reused, 1);
    assert_int_equal(client_close(rig, c, &released.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_close(rig, c, &freed.address, CLOSE_FREE, 0), STATUS_OK);
    open.key = key_of(4);
    assert_int_equal(client_open(rig, c, &open, &allocated), STATUS_OK);

    imd_page(rig, imd, 2, 0, 1, before, old, 3);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).regions, 3);
    assert_int_equal(rig_stats(rig).reconciled, 0);
    unsigned asked = lists_asked(rig);
    rig_live(rig, 5); /* all agree, without another list */
    assert_int_equal(lists_asked(rig), asked);
    assert_int_equal(client_close(rig, c, &reopened.address, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(client_close(rig, c, &allocated.address, CLOSE_FREE, 0), STATUS_OK);
    open.key = key_of(2);
    assert_int_equal(client_open(rig, c, &open, &released), STATUS_OK);
    assert_int_equal(released.reused, 1);
    rig_free(rig);
}

/* A list that reflects an ALLOC may be faster than the ALLOC's answer. */
static void listing__faster_than_the_answer(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->dumb = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    imd_list(rig, imd);
    assert_int_equal(rig_stats(rig).regions, 1);
    /* Claimed lists in between do not count against it. */
    client_claim(rig, c);
    assert_int_equal(rig_stats(rig).regions, 1);
    imd->dumb = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    assert_int_equal(rig_stats(rig).regions, 1);
    rig_live(rig, 50);
    assert_int_equal(imd->count, 1);
    rig_free(rig);
}

/* The directory has it open, the imd released, or released by whom it has kept: the list tells. */
static void listing__corrects_the_directory(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply a, reply;
    assert_int_equal(client_open(rig, c, &open, &a), STATUS_OK);
    imd->regions[0].flags |= REGION_RELEASED;
    imd->regions[0].client = (Id128){{0}};
    imd->regions[0].stamp = stamp_of(1);
    imd_list(rig, imd);
    assert_int_equal(client_open(rig, d, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    /* And back: kept here, open for d there. */
    assert_int_equal(client_close(rig, d, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    imd->regions[0].flags = REGION_RETAIN;
    imd->regions[0].client = d->session.peer_id;
    imd->regions[0].address.opening++;
    imd_list(rig, imd);
    rig_pump(rig);
    d->open[d->count++] = imd->regions[0].address;
    assert_int_equal(client_close(rig, d, &d->open[0], CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(imd->count, 0);
    rig_free(rig);
}

static void listing__full_directory_takes_no_more_and_rests(void **state)
{
    (void)state;
    ManagerConfig config = rig_config();
    config.regions_max = 10;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_new(rig, 1024 * KIB);
    for (unsigned i = 0; i < 25; i++)
        imd->regions[imd->count++] =
            (RegionListing){.address = {imd->session.peer_epoch, i + 1, 1, {{1}}},
                            .key = key_of((uint8_t)i),
                            .len = KIB,
                            .flags = REGION_RETAIN | REGION_RELEASED,
                            .port = 9000};
    imd_join(rig, imd);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).regions, 10);
    unsigned asked = lists_asked(rig);
    rig_live(rig, 50);
    assert_int_equal(lists_asked(rig), asked);
    rig_free(rig);
}

static void listing__names_more_clients_than_may_be(void **state)
{
    (void)state;
    ManagerConfig config = rig_config();
    config.clients_max = 4;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_new(rig, 1024 * KIB);
    for (unsigned i = 0; i < 10; i++)
        imd->regions[imd->count++] =
            (RegionListing){.address = {imd->session.peer_epoch, i + 1, 1, {{1}}},
                            .client = {{7, (uint8_t)i}},
                            .len = KIB,
                            .port = 9000};
    imd_join(rig, imd);
    rig_live(rig, 2);
    assert_int_equal(rig_stats(rig).regions, 4);
    assert_int_equal(rig_stats(rig).clients, 4);
    /* Real clients are BUSY meanwhile; in the end all is reclaimed. */
    FakeClient *c = client_new(rig);
    uint64_t id = client_alive(rig, c);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_BUSY);
    request_ids_settle(&c->ids, id);
    c->dead = true;
    rig_live(rig, 200);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* An entry that nobody can have open: a region for nobody, or for one that left. */
static void listing__of_nobodys_region_is_freed(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    client_alive(rig, c);
    client_request(rig, c, OP_LEAVE, NULL, 0);
    c->dead = true;
    for (unsigned i = 0; i < 2; i++) {
        imd->regions[imd->count++] =
            (RegionListing){.address = {imd->session.peer_epoch, i + 1, 1, {{1}}},
                            .client = i ? c->session.peer_id : (Id128){{0}},
                            .len = KIB,
                            .port = 9000};
    }
    rig_live(rig, 2);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    rig_free(rig);
}

/* A busy host's digest always lags a little: that alone is no reason for lists. A lasting
 * difference is, however busy it is. */
static void beat__differing_while_busy(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    unsigned asked = imd->lists_asked;
    imd->dumb = true;
    client_open_send(rig, c, &open);
    rig_pump(rig);
    for (unsigned i = 0; i < 2; i++) {
        imd_beat(rig, imd);
        rig_pump(rig);
        assert_int_equal(imd->lists_asked, asked);
    }
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->lists_asked, asked + 1);
    rig_free(rig);
}

/* ---- a host that lists what it likes --------------------------------------------------------- */

enum { SMALL_POOL = 16 * KIB, SMALL_MOST = SMALL_POOL / (4 * KIB) + 64 };

/* @count regions that nobody else knows, from number @first on, each open for a client of its own,
 * or all for none. */
static void list_invented(Rig *rig, FakeImd *imd, unsigned first, unsigned count, bool named)
{
    imd->count = 0;
    for (unsigned i = 0; i < count; i++) {
        RegionListing *l = &imd->regions[imd->count++];
        *l = (RegionListing){.address = {.epoch = imd->session.peer_epoch,
                                         .region = 1000 + i,
                                         .opening = 1,
                                         .capability = {{7}}},
                             .key = key_of(1),
                             .offset = i * (uint64_t)KIB,
                             .len = 4 * KIB,
                             .port = 9000};
        if (!named) {
            l->flags = REGION_RETAIN | REGION_RELEASED;
            l->stamp = stamp_of(1);
        } else {
            l->client.bytes[0] = 0xcc;
            l->client.bytes[1] = (uint8_t)(first + i);
            l->client.bytes[2] = (uint8_t)((first + i) >> 8);
        }
    }
    imd_list(rig, imd);
}

static void listing__of_more_than_the_pool_has_room_for(void **state)
{
    (void)state;
    Rig *rig = rig_new();
    FakeImd *liar = imd_up(rig, SMALL_POOL), *honest = imd_up(rig, 1024 * KIB);
    list_invented(rig, liar, 0, 400, false);
    assert_int_equal(rig_stats(rig).regions, SMALL_MOST);
    list_invented(rig, honest, 0, 200, false);
    assert_int_equal(rig_stats(rig).regions, SMALL_MOST + 200);
    rig_free(rig);
}

static void listing__of_ever_other_clients(void **state)
{
    (void)state;
    ManagerConfig config = rig_config();
    config.clients_max = 1000;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *liar = imd_up(rig, SMALL_POOL), *honest = imd_up(rig, 1024 * KIB);
    for (unsigned i = 0; i < 40; i++)
        list_invented(rig, liar, i * 10, 10, true);
    assert_int_equal(rig_stats(rig).clients, SMALL_MOST);
    list_invented(rig, honest, 5000, 100, true);
    assert_int_equal(rig_stats(rig).clients, SMALL_MOST + 100);
    liar->count = honest->count = 0;
    rig_wait(rig, 200 * NS_PER_S); /* none of them is ever heard: they go, and count no more */
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists__are_not_asked_for_when_digests_agree),
        cmocka_unit_test(listing__of_ever_other_clients),
        cmocka_unit_test(listing__of_more_than_the_pool_has_room_for),
        cmocka_unit_test(join__asks_for_a_list_until_it_came),
        cmocka_unit_test(amnesia__everything_is_found_again),
        cmocka_unit_test(amnesia__unclaimed_is_freed_after_the_grace),
        cmocka_unit_test(amnesia__late_client_keeps_its_regions),
        cmocka_unit_test(amnesia__late_host_brings_regions_of_late_clients),
        cmocka_unit_test(amnesia__claims_come_before_the_hosts_list),
        cmocka_unit_test(amnesia__region_dropped_meanwhile_is_freed),
        cmocka_unit_test(amnesia__early_close_waits_for_the_list),
        cmocka_unit_test(orphan__of_a_lost_alloc_answer_is_freed),
        cmocka_unit_test(orphan__of_a_lost_open_reply_is_freed),
        cmocka_unit_test(claim__keeps_what_is_in_flight),
        cmocka_unit_test(claim__counts_as_a_whole_only),
        cmocka_unit_test(claim__a_newer_list_takes_over),
        cmocka_unit_test(claim__of_what_is_gone_comes_to_rest),
        cmocka_unit_test(claim__of_another_clients_region_is_ignored),
        cmocka_unit_test(claim__of_an_older_opening_does_not_count),
        cmocka_unit_test(claim__the_page_that_knows_least_counts),
        cmocka_unit_test(claim__one_list_at_a_time),
        cmocka_unit_test(listing__drops_what_the_imd_does_not_have),
        cmocka_unit_test(listing__repeated_before_any_request),
        cmocka_unit_test(listing__older_than_requests_changes_nothing),
        cmocka_unit_test(listing__faster_than_the_answer),
        cmocka_unit_test(listing__corrects_the_directory),
        cmocka_unit_test(listing__full_directory_takes_no_more_and_rests),
        cmocka_unit_test(listing__names_more_clients_than_may_be),
        cmocka_unit_test(listing__of_nobodys_region_is_freed),
        cmocka_unit_test(beat__differing_while_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
