/* SPDX-License-Identifier: MIT */
/* Reconciliation at the manager: claims of clients, its own amnesia, the grace period, what is in
 * flight. Nothing may leak, nothing claimed may be freed, and an idle cluster must come to rest.
 * test_cmd_lists.c has the lists of imds. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- rest ----------------------------------------------------------------------------------- */

TEST(lists__are_not_asked_for_when_digests_agree)
{
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

TEST(join__asks_for_a_list_until_it_came)
{
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

TEST(amnesia__everything_is_found_again)
{
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 1024 * KIB), *b = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    open_many(rig, c, 30);
    open_many(rig, d, 7);
    OpOpen open = open_of(200, 4 * KIB, REGION_RETAIN);
    OpOpenReply kept, reply;
    open.offset = 12 * KIB;
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
TEST(amnesia__unclaimed_is_freed_after_the_grace)
{
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
TEST(amnesia__late_client_keeps_its_regions)
{
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
TEST(amnesia__late_host_brings_regions_of_late_clients)
{
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

TEST(amnesia__claims_come_before_the_hosts_list)
{
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
TEST(amnesia__region_dropped_meanwhile_is_freed)
{
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

/* A list of claims was on its way to the manager before, which then opened one more region. The
 * new manager gets this list first: it says nothing of that region. The next list does. */
TEST(amnesia__old_list_of_claims_frees_nothing)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 1);
    uint64_t before = c->ids.next;
    open_many(rig, c, 1);
    rig_amnesia(rig);
    imd_join(rig, imd);
    imd_list(rig, imd);
    client_claim_page(rig, c, 1, 0, 1, before, &c->open[0], 1);
    rig_pump(rig);
    assert_int_equal(imd->count, 2);
    client_claim_page(rig, c, 2, 0, 1, c->ids.next, &c->open[0], 1);
    rig_pump(rig);
    assert_int_equal(imd->count, 1);
    assert_non_null(imd_region(imd, c->open[0].region));
    rig_free(rig);
}

/* A manager that knows nothing of a host and of a client's region there. */
static Rig *amnesia(FakeImd **ret_imd, FakeClient **ret_client)
{
    Rig *rig = rig_new();
    *ret_imd = imd_up(rig, 1024 * KIB);
    *ret_client = client_new(rig);
    open_many(rig, *ret_client, 1);
    rig_amnesia(rig);
    return rig;
}

/* The client has heard no answer to its release, and asks again. */
static void release_again(Rig *rig, FakeClient *c, uint64_t id, const RegionAddress *address)
{
    uint8_t body[WIRE_BODY_MAX];
    OpClose op = {.address = *address, .mode = CLOSE_RELEASE, .stamp = stamp_of(1)};
    size_t n = wire_close_encode(&op, body);
    rig_again(rig, &c->session, id, numbers_lowest(&c->ids), OP_CLOSE, body, n);
    rig_pump(rig);
}

/* A CLOSE in the moment before the imd's list came is not answered yet. The client asks again, and
 * the region is kept. */
TEST(amnesia__early_close_waits_for_the_list)
{
    FakeImd *imd;
    FakeClient *c;
    Rig *rig = amnesia(&imd, &c);
    RegionAddress address = c->open[0];
    uint64_t id = client_close_send(rig, c, &address, CLOSE_RELEASE, 1);
    assert_false(rig_answered(rig, &c->session, id));
    imd_join(rig, imd);
    release_again(rig, c, id, &address);
    assert_false(rig_answered(rig, &c->session, id));
    imd_list(rig, imd);
    release_again(rig, c, id, &address);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_true(imd->regions[0].flags & REGION_RELEASED);
    /* Of a host that never shows up: until it counts as silent. */
    address.epoch++;
    id = client_close_send(rig, c, &address, CLOSE_RELEASE, 1);
    rig_live(rig, 14);
    release_again(rig, c, id, &address);
    assert_false(rig_answered(rig, &c->session, id));
    rig_live(rig, 1);
    release_again(rig, c, id, &address);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_GONE);
    rig_free(rig);
}

/* The manager before this one has done it, and its answer was lost. */
TEST(amnesia__a_close_that_is_done_already)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 1);
    const RegionAddress address = c->open[0];
    RegionAddress later = address;
    later.opening++;
    assert_int_equal(client_close(rig, c, &address, CLOSE_RELEASE, 1), STATUS_OK);
    rig_amnesia(rig);
    imd_join(rig, imd);
    imd_list(rig, imd);
    assert_int_equal(client_close(rig, c, &address, CLOSE_RELEASE, 2), STATUS_GONE);
    assert_int_equal(client_close(rig, c, &later, CLOSE_RELEASE, 1), STATUS_GONE);
    assert_int_equal(client_close(rig, c, &address, CLOSE_FREE, 1), STATUS_GONE);
    assert_int_equal(client_close(rig, c, &address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_true(imd->regions[0].flags & REGION_RELEASED);
    rig_free(rig);
}

/* Of a host that has come, and is still giving its list. */
TEST(amnesia__early_close_waits_for_a_long_list)
{
    FakeImd *imd;
    FakeClient *c;
    Rig *rig = amnesia(&imd, &c);
    const RegionAddress address = c->open[0];
    imd_join(rig, imd);
    uint64_t id = client_close_send(rig, c, &address, CLOSE_RELEASE, 1);
    for (unsigned s = 0; s < 20; s++) {
        imd_beat(rig, imd);
        rig_wait(rig, NS_PER_S);
    }
    release_again(rig, c, id, &address);
    assert_false(rig_answered(rig, &c->session, id));
    imd_list(rig, imd);
    release_again(rig, c, id, &address);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}

/* Nobody waits for a FREE of what is not known yet: it would hold the client's window of requests.
 * If its host comes, the region is freed there, as its client claims it no more. */
TEST(amnesia__early_free_is_answered_at_once)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 2);
    const RegionAddress closed = c->open[1], lost = {closed.epoch + 1, closed.region, 1};
    rig_amnesia(rig);
    assert_int_equal(client_close(rig, c, &lost, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(client_close(rig, c, &closed, CLOSE_FREE, 0), STATUS_OK);
    assert_int_equal(imd->count, 2);
    imd_join(rig, imd);
    imd_list(rig, imd);
    rig_live(rig, 6);
    assert_int_equal(imd->count, 1);
    assert_non_null(imd_region(imd, c->open[0].region));
    rig_free(rig);
}

/* A host that leaves before it has given its list: nothing is kept there, and nobody waits. */
TEST(amnesia__close_at_a_host_that_leaves)
{
    FakeImd *imd;
    FakeClient *c;
    Rig *rig = amnesia(&imd, &c);
    const RegionAddress address = c->open[0];
    imd_join(rig, imd);
    uint8_t body[WIRE_BODY_MAX];
    OpPart part = {.hint = imd_hint(imd)};
    (void)rig_request(rig, &imd->session, &imd->ids, OP_PART, body, wire_part_encode(&part, body));
    assert_int_equal(client_close(rig, c, &address, CLOSE_RELEASE, 1), STATUS_GONE);
    rig_free(rig);
}

/* It is done, the answer was lost, and the host is gone when the client asks again. */
TEST(amnesia__a_repeated_close_is_answered_without_its_host)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    WireReply reply;
    open_many(rig, c, 1);
    const RegionAddress address = c->open[0];
    uint64_t id = client_close_send(rig, c, &address, CLOSE_RELEASE, 1);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    FakeRmd rmd = rmd_of(imd);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, imd->session.peer_epoch, "");
    assert_int_equal(rig_stats(rig).hosts, 0);
    release_again(rig, c, id, &address);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 2);
    assert_int_equal(reply.status, STATUS_OK);
    rig_free(rig);
}

/* ---- lost replies --------------------------------------------------------------------------- */

/* The imd allocated, its answers were lost: the client got another host. The orphan is found in
 * the imd's list and freed, since its client does not claim it. */
TEST(orphan__of_a_lost_alloc_answer_is_freed)
{
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

/* The imd hears with its next BEAT that a request is given up: it may never have seen it. */
TEST(beat__tells_what_is_settled)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    rig_live(rig, 1);
    uint64_t first = imd->settled;
    imd->dumb = true;
    (void)client_open_send(rig, c, &open);
    rig_pump(rig);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->settled, first);
    rig_wait(rig, rig->config.request_deadline_ns);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_true(imd->settled > first);
    rig_free(rig);
}

/* The OPEN succeeded, its reply never reached the client, which gave up. */
TEST(orphan__of_a_lost_open_reply_is_freed)
{
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
    numbers_end(&c->ids, id);
    rig_live(rig, 5);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).reconciled, 1);
    rig_free(rig);
}

/* ---- claims --------------------------------------------------------------------------------- */

TEST(claim__keeps_what_is_in_flight)
{
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

TEST(claim__counts_as_a_whole_only)
{
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

/* Pages come near each other: one that is far ahead comes again later. */
TEST(claim__a_page_too_far_ahead_does_not_count)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 2);
    uint64_t before = c->ids.next;
    numbers_end(&c->ids, client_claim_page(rig, c, 5, 64, 65, before, &c->open[1], 1));
    for (unsigned i = 0; i < 64; i++) {
        uint64_t id = client_claim_page(rig, c, 5, i, 65, before, &c->open[0], i == 0);
        numbers_end(&c->ids, id);
    }
    rig_pump(rig);
    assert_int_equal(imd->count, 2); /* the list is not whole */
    client_claim_page(rig, c, 5, 64, 65, before, &c->open[1], 1);
    rig_pump(rig);
    assert_int_equal(imd->count, 2);
    rig_free(rig);
}

TEST(claim__a_newer_list_takes_over)
{
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
TEST(claim__of_what_is_gone_comes_to_rest)
{
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

TEST(claim__of_another_clients_region_is_ignored)
{
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
TEST(claim__of_an_older_opening_does_not_count)
{
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
TEST(claim__the_page_that_knows_least_counts)
{
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
TEST(claim__one_list_at_a_time)
{
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
