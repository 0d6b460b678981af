/* SPDX-License-Identifier: MIT */
/* OPEN at the manager: placement, the next host on refusal and silence, at-most-once. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- alloc
 * --------------------------------------------------------------------------------------- */

TEST(open__gives_a_region_and_says_where)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RDONLY);
    OpOpenReply reply;

    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, imd->session.peer_epoch);
    assert_int_equal(reply.address.region, imd->regions[0].address.region);
    assert_memory_equal(&reply.address.capability, &imd->regions[0].address.capability, 16);
    assert_true(addr_same_host(&reply.host, &imd->session.peer));
    assert_int_equal(reply.host.port, 9000);
    assert_int_equal(reply.control_port, imd->session.peer.port);
    assert_int_equal(reply.reused, 0);
    assert_true(id128_equal(&imd->regions[0].client, &c->session.peer_id));
    assert_int_equal(imd->regions[0].flags, REGION_RDONLY);
    assert_int_equal(rig_stats(rig).regions, 1);
    assert_int_equal(rig_stats(rig).opens, 1);
    rig_free(rig);
}

TEST(open__without_hosts_fails_at_once)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    uint64_t id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    assert_int_equal(rig_stats(rig).opens_failed, 1);
    rig_free(rig);
}

/* Of many regions, how many come to the smaller of two hosts. */
static unsigned on_small(bool weighted, uint64_t small_served)
{
    ManagerConfig config = rig_config();
    config.weighted = weighted;
    Rig *rig = rig_new_with(config, 4711);
    FakeImd *small = imd_up(rig, 1024 * KIB);
    (void)imd_up(rig, 4 * 1024 * KIB);
    FakeClient *c = client_new(rig);
    for (unsigned i = 0; i < 5; i++) {
        small->served += small_served;
        rig_live(rig, 1);
    }
    open_many(rig, c, 100);
    unsigned count = (unsigned)small->count;
    rig_free(rig);
    return count;
}

TEST(placement__weighted_prefers_space_and_quiet)
{
    assert_in_range(on_small(false, 0), 35, 65);
    assert_in_range(on_small(true, 0), 10, 30); /* a fifth of the space */
    assert_in_range(on_small(true, (uint64_t)1 << 30), 0, 6);
}

/* ... of many hosts, each second one small. */
static unsigned on_small_ones(bool weighted)
{
    ManagerConfig config = rig_config();
    config.weighted = weighted;
    Rig *rig = rig_new_with(config, 4711);
    FakeImd *imds[40];
    unsigned count = 0;
    for (unsigned i = 0; i < 40; i++)
        imds[i] = imd_up(rig, (i % 2 ? 4096 : 1024) * KIB);
    open_many(rig, client_new(rig), 200);
    for (unsigned i = 0; i < 40; i += 2)
        count += imds[i]->count;
    rig_free(rig);
    return count;
}

TEST(placement__weighted_among_many_hosts)
{
    assert_in_range(on_small_ones(false), 80, 120);
    assert_in_range(on_small_ones(true), 30, 70); /* both picks are small: a quarter */
}

TEST(open__asks_no_host_without_room)
{
    Rig *rig = rig_new();
    FakeImd *small = imd_up(rig, 8 * KIB), *big = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 8 * KIB + 1, 0);

    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(small->got[OP_ALLOC], 0);
    assert_int_equal(big->got[OP_ALLOC], 1);
    open.len = 64 * KIB;
    uint64_t id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    assert_int_equal(big->got[OP_ALLOC], 1);
    rig_free(rig);
}

/* What the client could not reach of late is not chosen, though the manager reaches it. */
TEST(open__avoids_what_the_client_cannot_reach)
{
    Rig *rig = rig_new();
    FakeImd *cut = imd_up(rig, 64 * KIB), *good = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, KIB, 0);
    open.avoid[open.avoid_count++] = cut->session.peer_epoch;
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(cut->got[OP_ALLOC], 0);
    assert_int_equal(good->got[OP_ALLOC], 16);
    open.avoid[open.avoid_count++] = good->session.peer_epoch;
    uint64_t id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    rig_free(rig);
}

/* Random placement: with 32 hosts (more than are picked blindly) and 192 openings each gets some,
 * none gets a quarter. A constant choice, or one that leaves slots out, fails. */
TEST(open__spreads_over_hosts)
{
    ManagerConfig config = rig_config();
    for (unsigned hosts = 4; hosts <= 32; hosts += 28) {
        Rig *rig = rig_new_with(config, 77);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, KIB, 0);
        for (unsigned i = 0; i < hosts; i++)
            imd_up(rig, 1024 * KIB);
        for (unsigned i = 0; i < 6 * hosts; i++)
            assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
        unsigned empty = 0;
        for (unsigned i = 0; i < hosts; i++) {
            assert_in_range(rig->imds[i]->count, 0, hosts == 4 ? 14 : 20);
            empty += rig->imds[i]->count == 0;
        }
        assert_in_range(empty, 0, hosts / 8);
        rig_free(rig);
    }
}

/* Three among 150 have room for 16 regions each: nobody else is asked, all room is found, and when
 * it is used up nobody is asked at all, until one has room again. */
TEST(open__finds_the_few_with_room_among_many)
{
    ManagerConfig config = rig_config();
    config.hosts_max = 150;
    Rig *rig = rig_new_with(config, 5);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 150; i++)
        (void)imd_up(rig, i % 50 == 13 ? 64 * KIB : KIB);
    for (unsigned i = 0; i < 24; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    for (unsigned i = 13; i < 150; i += 50)
        assert_in_range(rig->imds[i]->count, 1, 16);
    for (unsigned i = 24; i < 48; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
    for (unsigned i = 0; i < 150; i++)
        assert_int_equal(rig->imds[i]->got[OP_ALLOC], i % 50 == 13 ? 16 : 0);
    rig->imds[149]->pool = 8 * KIB;
    imd_beat(rig, rig->imds[149]);
    rig_pump(rig);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(rig->imds[149]->count, 1);
    rig_free(rig);
}

/* One among 130 has room; wherever it stands, it is found. */
TEST(open__finds_the_only_one_with_room)
{
    ManagerConfig config = rig_config();
    config.hosts_max = 130;
    Rig *rig = rig_new_with(config, 5);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply reply;
    for (unsigned i = 0; i < 130; i++)
        (void)imd_up(rig, KIB);
    for (unsigned i = 0; i < 130; i++) {
        FakeImd *imd = rig->imds[i];
        imd->pool = 4 * KIB;
        imd_beat(rig, imd);
        rig_pump(rig);
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        assert_int_equal(imd->count, 1);
        assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 0), STATUS_OK);
        imd->pool = KIB;
        imd_beat(rig, imd);
        rig_pump(rig);
    }
    rig_free(rig);
}

/* A host that has been asked for all that it may be asked at once: FREEs that nobody waits for do
 * not stand in line with openings. */
TEST(open__comes_before_frees_that_nobody_waits_for)
{
    ManagerConfig config = rig_config();
    config.opens_max = 100;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *gone = client_new(rig), *late = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    open_many(rig, gone, 20);
    imd->dumb = true;
    for (unsigned i = 0; i < 2; i++) {
        FakeClient *c = client_new(rig);
        for (unsigned k = 0; k < 34; k++)
            (void)client_open_send(rig, c, &open);
    }
    rig_pump(rig);
    assert_int_equal(imd->got[OP_ALLOC], 20 + NUMBERS_WINDOW);
    client_request(rig, gone, OP_LEAVE, NULL, 0);
    (void)client_open_send(rig, late, &open);
    rig_pump(rig);
    imd->dumb = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(imd->got[OP_ALLOC], 20 + 2 * 34 + 1);
    assert_int_equal(imd->got[OP_FREE], 20);
    assert_true(imd->first_got[OP_FREE] > imd->last_got[OP_ALLOC]);
    rig_free(rig);
}

TEST(open__goes_to_the_next_host_on_refusal)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 20; i++) {
        FakeImd *imd = imd_up(rig, 64 * KIB);
        imd->refuse[OP_ALLOC] = i == 7 ? STATUS_OK : STATUS_NO_MEMORY;
    }
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, rig->imds[7]->session.peer_epoch);
    unsigned asked = 0;
    for (unsigned i = 0; i < 20; i++) {
        assert_in_range(rig->imds[i]->got[OP_ALLOC], 0, 1);
        asked += rig->imds[i]->got[OP_ALLOC];
    }
    assert_int_equal(rig_stats(rig).retries_next_host, asked - 1);
    rig_free(rig);
}

/* All refuse though they tell of room: each is asked once a round, and the end is at once. */
TEST(open__asks_each_host_once_a_round)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 20; i++)
        imd_up(rig, 64 * KIB)->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(rig->imds[i]->got[OP_ALLOC], 2);
    rig_free(rig);
}

TEST(open__evicts_only_when_nothing_is_free)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 8 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 8 * KIB, REGION_RETAIN);
    OpOpenReply reply;

    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_false(imd->evicted);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    open = open_of(2, 8 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_true(imd->evicted);
    assert_int_equal(imd->count, 1);
    rig_live(rig, 3); /* the evicted one leaves the directory with the next list */
    assert_int_equal(rig_stats(rig).regions, 1);
    rig_free(rig);
}

TEST(open__skips_hosts_that_leave_or_are_silent)
{
    Rig *rig = rig_new();
    FakeImd *silent = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    /* Silent just now: no tick was needed to notice. */
    rig->now_ns += rig->config.host_dead_ns;
    manager_expire(rig->m, rig->now_ns); /* a gap of ours: clocks start again */
    rig_wait(rig, rig->config.host_dead_ns - 1);
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    rig_wait(rig, rig->config.host_dead_ns);
    id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    numbers_end(&c->ids, id);
    assert_int_equal(silent->got[OP_ALLOC], 1);

    FakeImd *leaving = imd_up(rig, 64 * KIB);
    imd_part(rig, leaving);
    id = client_open_send(rig, c, &open);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    rig_free(rig);
}

TEST(open__next_host_when_one_does_not_answer)
{
    Rig *rig = rig_new();
    FakeImd *mute = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);

    mute->dumb = true;
    uint64_t id = client_open_send(rig, c, &open);
    FakeImd *good = imd_up(rig, 64 * KIB);
    rig_wait(rig, rig->config.request_deadline_ns - 1);
    assert_false(rig_answered(rig, &c->session, id));
    rig_wait(rig, 1);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    assert_int_equal(good->count, 1);
    /* It is avoided for a while, though its beats are heard. */
    for (unsigned i = 0; i < 5; i++) {
        imd_beat(rig, mute);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    }
    assert_int_equal(good->count, 6);
    /* Until it answers something: */
    mute->dumb = false;
    good->refuse[OP_ALLOC] = STATUS_NO_MEMORY;
    id = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_NO_MEMORY);
    rig_live(rig, 3); /* its orphan of the first OPEN is found and freed */
    assert_int_equal(mute->count, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(mute->count, 1);
    rig_free(rig);
}

/* However many hosts are deaf, the client has its answer in two deadlines. */
TEST(open__time_is_bounded)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 10; i++)
        imd_up(rig, 64 * KIB)->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_wait(rig, 2 * rig->config.request_deadline_ns - 1);
    assert_false(rig_answered(rig, &c->session, id));
    rig_wait(rig, 1);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    unsigned asked = 0;
    for (unsigned i = 0; i < 10; i++) {
        bool was = false;
        for (size_t k = 0; k < rig->count; k++)
            was = was ||
                  (rig->log[k].to == &rig->imds[i]->session && rig->log[k].type == WIRE_REQUEST);
        asked += was;
    }
    assert_int_equal(asked, 2);
    rig_free(rig);
}

/* Requests to imds are retried with back-off at exact times: 50, 100, 200, 400, 400 ms ... */
/* ... also if the last host was asked late: one of the others went, in the midst of its turn. */
TEST(open__time_is_bounded_for_the_last_host_too)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    FakeImd *first = imd_up(rig, 64 * KIB);
    first->deaf = true;
    uint64_t id = client_open_send(rig, c, &open), deadline_ns = rig->config.request_deadline_ns;
    for (unsigned i = 0; i < 5; i++)
        imd_up(rig, 64 * KIB)->deaf = true;
    rig_wait(rig, deadline_ns / 2);
    imd_part(rig, first);
    rig_wait(rig, 2 * deadline_ns - deadline_ns / 2 - 1);
    assert_false(rig_answered(rig, &c->session, id));
    rig_wait(rig, 1);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
    rig_free(rig);
}

TEST(open__retries_exactly)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    static const unsigned at_ms[] = {50, 150, 350, 750, 1150, 1550, 1950};

    imd->deaf = true;
    client_open_send(rig, c, &open);
    size_t sent = rig->count;
    uint64_t start = rig->now_ns;
    for (size_t i = 0; i < sizeof at_ms / sizeof at_ms[0]; i++) {
        rig_wait(rig, start + at_ms[i] * NS_PER_MS - 1 - rig->now_ns);
        assert_int_equal(rig->count, sent + i);
        rig_wait(rig, 1);
        assert_int_equal(rig->count, sent + i + 1);
    }
    rig_free(rig);
}

TEST(open__nonsense_of_an_imd_is_a_refusal)
{
    static const struct {
        uint64_t epoch_off, region;
        uint16_t port;
        size_t cut;
    } cases[] = {{1, 5, 9000, 0}, {0, 0, 0, 0}, {0, 5, 0, 0}, {0, 5, 9000, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, 0);

        imd->deaf = true;
        uint64_t id = client_open_send(rig, c, &open);
        WireRequest asked = rig_asked(rig);
        OpAllocReply given = {.hint = imd_hint(imd), .port = cases[i].port};
        given.hint.largest_free_bytes = given.hint.evictable_bytes = 0; /* no second try */
        if (cases[i].region)
            given.address = (RegionAddress){
                imd->session.peer_epoch + cases[i].epoch_off, cases[i].region, 1, {{1}}};
        rig_give(rig, &imd->session, &asked, &given, cases[i].cut);
        rig_wait(rig, 2 * rig->config.request_deadline_ns);
        assert_int_equal(rig_status(rig, &c->session, id), STATUS_NO_MEMORY);
        assert_int_equal(rig_stats(rig).regions, 0);
        rig_free(rig);
    }
}

/* An imd that gives an id which is another region's already gives nothing. */
TEST(open__refuses_a_region_id_twice)
{
    enum {
        OTHER_FILE,
        OTHER_CLIENT,
        SAME_AGAIN,
        LISTED_OTHER_CLIENT,
        LISTED_OTHER_OPENING,
        LISTED_OTHER_LEN,
        LISTED_OTHER_OFFSET,
        CASES
    };
    for (unsigned i = 0; i < CASES; i++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig), *d = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, 0);
        OpOpenReply reply;

        if (i < LISTED_OTHER_CLIENT) {
            assert_int_equal(client_open(rig, i == OTHER_CLIENT ? d : c, &open, NULL), STATUS_OK);
            open.key = key_of(i == OTHER_FILE ? 2 : 1);
        } else {
            imd->regions[imd->count++] = (RegionListing){
                .address = {imd->session.peer_epoch, 1, 1 + (i == LISTED_OTHER_OPENING), {{1}}},
                .client = i == LISTED_OTHER_CLIENT ? d->session.peer_id : c->session.peer_id,
                .key = open.key,
                .offset = i == LISTED_OTHER_OFFSET ? 4096 : 0,
                .len = i == LISTED_OTHER_LEN ? 4096 + 1 : open.len,
                .port = 9000};
            imd_list(rig, imd);
        }
        unsigned before = imd->got[OP_ALLOC];
        imd->next_region = 1;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        assert_int_equal(imd->got[OP_ALLOC], before + 2); /* the second round's was a good one */
        assert_int_equal(reply.address.region, 2);
        assert_int_equal(rig_stats(rig).regions, 2);
        rig_free(rig);
    }
}

/* ---- at most once
 * -------------------------------------------------------------------------------- */

TEST(open__is_executed_once_and_its_reply_repeated)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_open_encode(&open, body);
    WireReply reply;

    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    /* Under way: duplicates say nothing, but the reply goes the way of the latest. */
    rig_again(rig, &c->other, id, 1, OP_OPEN, body, n);
    assert_false(rig_answered(rig, &c->session, id));
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 0);
    assert_int_equal(rig_replies(rig, &c->other, id, &reply), 1);
    /* Executed: the same reply on whichever socket asks. */
    rig_again(rig, &c->session, id, 1, OP_OPEN, body, n);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    /* Closed by the requester: silence. */
    rig_again(rig, &c->session, id + 1, id + 1, OP_ALIVE, NULL, 0);
    rig_again(rig, &c->session, id, 1, OP_OPEN, body, n);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 1);
    assert_int_equal(imd->count, 1);
    assert_int_equal(rig_stats(rig).opens, 1);
    rig_free(rig);
}

TEST(open__reply_has_no_way_when_the_session_is_gone)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_open_encode(&open, body);

    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    manager_session_closed(rig->m, &c->session);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_false(rig_answered(rig, &c->session, id));
    rig_again(rig, &c->other, id, 1, OP_OPEN, body, n);
    assert_int_equal(rig_status(rig, &c->other, id), STATUS_OK);
    rig_free(rig);
}

/* That of another thread of the same program, and an old one of the same imd: nothing is lost. */
TEST(open__another_session_of_a_peer_may_go)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    Session old = imd->session;

    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    manager_session_closed(rig->m, &c->other);
    manager_session_closed(rig->m, &old);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_free(rig);
}
