/* SPDX-License-Identifier: MIT */
/* CLOSE at the manager, and what becomes of released regions: kept, found again, freed. Also who
 * leaves while something is under way for him. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- released regions
 * ---------------------------------------------------------------------------- */

static OpOpenReply open_and_release(Rig *rig, FakeClient *c, const OpOpen *open, uint64_t stamp)
{
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, stamp), STATUS_OK);
    return reply;
}

TEST(reopen__finds_a_released_region_for_anybody)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    imd_up(rig, 1024 * KIB);
    imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *next = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    open.offset = 12 * KIB;
    OpOpenReply first = open_and_release(rig, c, &open, 1), again;

    open.offset = 16 * KIB; /* another part of the file */
    assert_int_equal(client_open(rig, next, &open, &again), STATUS_OK);
    assert_int_equal(again.reused, 0);
    assert_int_equal(client_close(rig, next, &again.address, CLOSE_FREE, 0), STATUS_OK);
    open.offset = 12 * KIB;
    assert_int_equal(client_open(rig, next, &open, &again), STATUS_OK);
    assert_int_equal(again.reused, 1);
    assert_int_equal(again.address.epoch, first.address.epoch);
    assert_int_equal(again.address.region, first.address.region);
    assert_int_equal(again.address.opening, first.address.opening + 1);
    assert_int_equal(rig_stats(rig).opens_reused, 1);
    /* Taken: the next one gets a new region. The address of the first opening is nobody's. */
    assert_int_equal(client_open(rig, c, &open, &again), STATUS_OK);
    assert_int_equal(again.reused, 0);
    assert_int_equal(client_close(rig, c, &first.address, CLOSE_FREE, 0), STATUS_GONE);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).regions, 2);
    (void)imd;
    rig_free(rig);
}

TEST(reopen__needs_key_offset_length_and_flag)
{
    Rig *rig = rig_new();
    imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN), other;
    OpOpenReply reply;
    open_and_release(rig, c, &open, 1);

    for (unsigned i = 0; i < 4; i++) {
        other = open;
        other.flags = i == 0 ? 0 : REGION_RETAIN;
        other.offset += i == 1;
        other.len += i == 2;
        other.key.bytes[31] ^= i == 3;
        assert_int_equal(client_open(rig, c, &other, &reply), STATUS_OK);
        assert_int_equal(reply.reused, 0);
    }
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}

TEST(reopen__with_another_stamp_frees_and_allocates)
{
    for (unsigned field = 0; field < 3; field++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 1024 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply old = open_and_release(rig, c, &open, 1), reply;

        open.stamp.size += field == 0;
        open.stamp.mtime_ns += field == 1;
        open.stamp.ctime_ns += field == 2;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        assert_int_equal(reply.reused, 0);
        assert_int_equal(imd->got[OP_REOPEN], 0);
        assert_int_equal(imd->got[OP_FREE], 1);
        assert_null(imd_region(imd, old.address.region));
        assert_int_equal(rig_stats(rig).regions, 1);
        rig_free(rig);
    }
}

/* Whatever becomes of the REOPEN, the OPEN goes on, and nothing is left behind. */
TEST(reopen__failing_goes_on_with_a_new_region)
{
    static const struct {
        uint16_t status;
        bool stays;
    } cases[] = {{STATUS_GONE, false},  {STATUS_EPOCH, false},    {STATUS_STALE, false},
                 {STATUS_BUSY, true},   {STATUS_NO_MEMORY, true}, {STATUS_INVALID, false},
                 {STATUS_DENIED, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 1024 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply old = open_and_release(rig, c, &open, 1), reply;

        imd->refuse[OP_REOPEN] = cases[i].status;
        if (cases[i].status == STATUS_GONE || cases[i].status == STATUS_EPOCH)
            imd_drop(imd, imd_region(imd, old.address.region));
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        assert_int_equal(reply.reused, 0);
        assert_int_equal(rig_stats(rig).regions, 1 + cases[i].stays);
        assert_int_equal(imd->count, 1 + cases[i].stays);
        /* What is gone is not freed once more. */
        assert_int_equal(imd->got[OP_FREE], cases[i].status != STATUS_GONE &&
                                                cases[i].status != STATUS_EPOCH && !cases[i].stays);
        imd->refuse[OP_REOPEN] = STATUS_OK;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        assert_int_equal(reply.reused, cases[i].stays);
        rig_free(rig);
    }
}

/* The answer to a REOPEN is lost: the region may be open for the client, who will never know. It
 * is freed as soon as its host can be asked again. */
TEST(reopen__unanswered_is_freed)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    open_and_release(rig, c, &open, 1);

    imd->dumb = true;
    uint64_t id = client_open_send(rig, c, &open);
    FakeImd *other = imd_up(rig, 1024 * KIB);
    rig_wait(rig, rig->config.request_deadline_ns);
    assert_int_equal(client_opened(rig, c, id, &reply), STATUS_OK);
    assert_int_equal(reply.address.epoch, other->session.peer_epoch);
    imd->dumb = false;
    rig_live(rig, 5);
    assert_int_equal(imd->count, 0);
    assert_int_equal(other->count, 1);
    assert_int_equal(rig_stats(rig).regions, 1);
    rig_free(rig);
}

/* An answer that does not name a later opening of this region is no success. */
TEST(reopen__nonsense_of_an_imd_is_a_refusal)
{
    for (unsigned i = 0; i < 3; i++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply old = open_and_release(rig, c, &open, 1), got;

        imd->deaf = true;
        uint64_t id = client_open_send(rig, c, &open);
        WireRequest asked = rig_asked(rig);
        assert_int_equal(asked.op, OP_REOPEN);
        OpAllocReply given = {.hint = imd_hint(imd), .address = old.address, .port = 9000};
        given.address.opening += i > 0;
        given.address.region += i == 1;
        given.port = i == 2 ? 0 : 9000;
        rig_give(rig, &imd->session, &asked, &given, 0);
        imd->deaf = false;
        rig_wait(rig, NS_PER_S);
        assert_int_equal(client_opened(rig, c, id, &got), STATUS_OK);
        assert_int_equal(got.reused, 0);
        assert_int_equal(imd->count, 1);
        assert_int_equal(rig_stats(rig).regions, 1);
        rig_free(rig);
    }
}

/* Kept at a host that is silent: nobody waits for that. */
TEST(reopen__at_a_silent_host_is_not_tried)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    open_and_release(rig, c, &open, 1);
    imd->dead = imd->deaf = true;
    rig_live(rig, 16);
    FakeImd *other = imd_up(rig, 64 * KIB);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 0);
    assert_int_equal(other->count, 1);
    /* It is still kept, for later. */
    imd->dead = imd->deaf = false;
    rig_live(rig, 1);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}

/* ---- CLOSE
 * --------------------------------------------------------------------------------------- */

/* Eight clients have 50 regions each at @imd, which is deaf from now on. */
static void crowd_up(Rig *rig, FakeImd *imd, FakeClient *c[8])
{
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    for (unsigned i = 0; i < 8; i++) {
        c[i] = client_new(rig);
        for (unsigned k = 0; k < 50; k++)
            assert_int_equal(client_open(rig, c[i], &open, NULL), STATUS_OK);
    }
    imd->deaf = true;
}

/* They close all of them. How many are answered at once, which is with @status. */
static unsigned crowd_closes(Rig *rig, FakeClient *c[8], uint8_t mode, uint16_t status)
{
    unsigned answered = 0;
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < 50; k++) {
            RegionAddress address = c[i]->open[0];
            uint64_t id = client_close_send(rig, c[i], &address, mode, 0);
            WireReply reply;
            if (rig_replies(rig, &c[i]->session, id, &reply) == 0)
                continue;
            assert_int_equal(reply.status, status);
            numbers_end(&c[i]->ids, id);
            answered++;
        }
    }
    return answered;
}

/* Beyond the window of requests to one host, requests wait in line; beyond the line: another
 * host, or BUSY. */
TEST(close__window_and_line_of_a_host_are_bounded)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c[8];
    crowd_up(rig, imd, c);
    size_t sent = rig->count;
    const unsigned busy = crowd_closes(rig, c, CLOSE_RELEASE, STATUS_BUSY);
    assert_int_equal(busy, 400 - 64 - 256);
    assert_int_equal(rig->count - sent, 64 + busy); /* requests to the imd, and the replies */
    rig_free(rig);
}

/* A FREE that finds no place in the line is done: nobody need wait for it. */
TEST(close__a_free_beyond_the_line_is_done_later)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c[8];
    crowd_up(rig, imd, c);
    size_t sent = rig->count;
    const unsigned done = crowd_closes(rig, c, CLOSE_FREE, STATUS_OK);
    assert_int_equal(done, 400 - 64 - 256);
    assert_int_equal(rig->count - sent, 64 + done);
    assert_int_equal(imd->count, 400);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    rig_free(rig);
}

/* Those in line, too, end after a deadline; what they were about is freed later. */
TEST(close__line_of_a_mute_host_ends)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    Line line = line_up(rig, imd, LINE_MAX);
    rig_wait(rig, rig->config.request_deadline_ns - 1);
    assert_int_equal(line_answered(rig, &line), 0);
    rig_wait(rig, 1);
    line_done(rig, &line);
    imd->deaf = false;
    rig_live(rig, 5);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    rig_free(rig);
}

TEST(close__frees_when_the_imd_did)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply reply;

    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    imd->deaf = true;
    uint64_t id = client_close_send(rig, c, &reply.address, CLOSE_FREE, 0);
    assert_false(rig_answered(rig, &c->session, id));
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).closes, 1);
    rig_free(rig);
}

TEST(close__of_what_is_not_ones_own_is_gone)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig), *thief = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    rig_live(rig, 50); /* beyond the grace: unknown hosts are not waited for */

    RegionAddress wrong[4] = {reply.address, reply.address, reply.address, reply.address};
    wrong[1].epoch++;
    wrong[2].region++;
    wrong[3].opening++;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(client_close(rig, i == 0 ? thief : c, &wrong[i], CLOSE_FREE, 0),
                         STATUS_GONE);
    assert_int_equal(imd->got[OP_FREE], 0);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 0), STATUS_GONE);
    assert_int_equal(imd->count, 1);
    rig_free(rig);
}

TEST(close__release_needs_the_flag)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_INVALID);
    assert_int_equal(imd->got[OP_RELEASE], 0);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 1), STATUS_OK);
    rig_free(rig);
}

TEST(close__release_frees_the_older_one)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply one, two, reply;
    assert_int_equal(client_open(rig, c, &open, &one), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &two), STATUS_OK);
    assert_int_equal(client_close(rig, c, &one.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(client_close(rig, c, &two.address, CLOSE_RELEASE, 1), STATUS_OK);
    assert_int_equal(imd->count, 1);
    assert_int_equal(imd->regions[0].address.region, two.address.region);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.address.region, two.address.region);
    rig_free(rig);
}

/* What the imd does not confirm is not kept; a refused one is freed, so that nothing is left. */
TEST(close__refused_release_is_gone)
{
    static const uint16_t refusals[] = {STATUS_GONE, STATUS_STALE, STATUS_INVALID};
    for (unsigned i = 0; i < 3; i++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply reply;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        imd->refuse[OP_RELEASE] = refusals[i];
        assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_GONE);
        assert_int_equal(rig_stats(rig).regions, 0);
        assert_int_equal(imd->count, refusals[i] == STATUS_GONE);
        rig_free(rig);
    }
}

/* The imd does not answer: a FREE is as good as done, a release is not; both are freed when the
 * host is heard again. */
TEST(close__of_a_mute_host)
{
    for (unsigned release = 0; release < 2; release++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply reply;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        imd->deaf = true;
        uint64_t id =
            client_close_send(rig, c, &reply.address, release ? CLOSE_RELEASE : CLOSE_FREE, 1);
        rig_wait(rig, rig->config.request_deadline_ns);
        assert_int_equal(rig_status(rig, &c->session, id), release ? STATUS_GONE : STATUS_OK);
        numbers_end(&c->ids, id);
        assert_int_equal(imd->count, 1);
        imd->deaf = false;
        rig_live(rig, 5);
        assert_int_equal(imd->count, 0);
        assert_int_equal(rig_stats(rig).regions, 0);
        rig_free(rig);
    }
}

/* The host is silent already: the client need not wait for a deadline. */
TEST(close__of_a_silent_host_is_answered_at_once)
{
    for (unsigned release = 0; release < 2; release++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply reply;
        assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
        imd->deaf = imd->dead = true;
        rig_live(rig, 16);
        uint64_t id =
            client_close_send(rig, c, &reply.address, release ? CLOSE_RELEASE : CLOSE_FREE, 1);
        assert_int_equal(rig_status(rig, &c->session, id), release ? STATUS_GONE : STATUS_OK);
        numbers_end(&c->ids, id);
        imd->deaf = imd->dead = false;
        imd_beat(rig, imd); /* the first that is heard of it: no list is needed */
        rig_pump(rig);
        assert_int_equal(imd->count, 0);
        rig_free(rig);
    }
}

/* The host dies while it is asked: an OPEN goes on elsewhere, closes end. */
TEST(close__host_dies_meanwhile)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply one, two, three;
    assert_int_equal(client_open(rig, c, &open, &one), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &two), STATUS_OK);
    open.key = key_of(2);
    three = open_and_release(rig, c, &open, 1);

    imd->deaf = true;
    uint64_t freed = client_close_send(rig, c, &one.address, CLOSE_FREE, 0);
    uint64_t released = client_close_send(rig, c, &two.address, CLOSE_RELEASE, 1);
    uint64_t reopened = client_open_send(rig, c, &open);
    open.key = key_of(3);
    uint64_t opened = client_open_send(rig, c, &open);
    FakeImd *other = imd_new(rig, 64 * KIB);
    other->session.peer = imd->session.peer; /* its successor, at the same address */
    imd_join(rig, other);
    rig_pump(rig);
    assert_int_equal(rig_status(rig, &c->session, freed), STATUS_OK);
    assert_int_equal(rig_status(rig, &c->session, released), STATUS_GONE);
    /* Nobody was there to be asked at that instant: the successor's entry came after. */
    assert_int_equal(rig_status(rig, &c->session, reopened), STATUS_NO_MEMORY);
    assert_int_equal(rig_status(rig, &c->session, opened), STATUS_NO_MEMORY);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).hosts, 1);
    assert_int_equal(rig_stats(rig).lost_hosts, 1);
    (void)three;
    rig_free(rig);
}

/* ---- the client goes while it waits
 * -------------------------------------------------------------- */

TEST(open__client_leaves_meanwhile)
{
    for (unsigned i = 0; i < 4; i++) {
        bool reopen = i % 2, refused = i / 2;
        uint16_t op = reopen ? OP_REOPEN : OP_ALLOC;
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        if (reopen)
            open_and_release(rig, c, &open, 1);
        imd->deaf = true;
        imd->refuse[op] = refused ? STATUS_BUSY : STATUS_OK;
        unsigned allocs = imd->got[OP_ALLOC];
        uint64_t id = client_open_send(rig, c, &open);
        uint64_t leave = client_request(rig, c, OP_LEAVE, NULL, 0);
        assert_int_equal(rig_status(rig, &c->session, leave), STATUS_OK);
        imd->deaf = false;
        rig_wait(rig, NS_PER_S);
        assert_false(rig_answered(rig, &c->session, id));
        /* Nothing more is tried for it, nothing is left but what was kept before. */
        assert_int_equal(imd->got[OP_ALLOC], allocs + !reopen);
        assert_int_equal(imd->count, reopen && refused);
        assert_int_equal(rig_stats(rig).regions, imd->count);
        rig_free(rig);
    }
}

TEST(close__client_leaves_meanwhile)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    imd->deaf = true;
    client_close_send(rig, c, &reply.address, CLOSE_RELEASE, 1);
    client_request(rig, c, OP_LEAVE, NULL, 0);
    imd->deaf = false;
    rig_wait(rig, NS_PER_S);
    /* The release was under way already: it is kept. */
    FakeClient *next = client_new(rig);
    assert_int_equal(client_open(rig, next, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}
