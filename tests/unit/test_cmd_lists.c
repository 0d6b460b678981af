/* SPDX-License-Identifier: MIT */
/* Reconciliation at the manager: the lists of regions that imds send, of hosts that list whatever
 * they like, too. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- lists of imds -------------------------------------------------------------------------- */

TEST(listing__drops_what_the_imd_does_not_have)
{
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
TEST(listing__repeated_before_any_request)
{
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
TEST(listing__older_than_requests_changes_nothing)
{
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

/* ... also when it reflects all but the very last request. */
TEST(listing__older_than_the_last_request)
{
    for (uint8_t mode = CLOSE_FREE; mode <= CLOSE_RELEASE; mode++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 1024 * KIB);
        FakeClient *c = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
        OpOpenReply first;
        assert_int_equal(client_open(rig, c, &open, &first), STATUS_OK);
        const RegionListing old = imd->regions[0];
        const uint64_t before = imd_before(imd);
        assert_int_equal(client_close(rig, c, &first.address, mode, 1), STATUS_OK);
        imd_page(rig, imd, 2, 0, 1, before, &old, 1);
        rig_pump(rig);
        assert_int_equal(rig_stats(rig).regions, mode == CLOSE_RELEASE);
        assert_int_equal(rig_stats(rig).reconciled, 0);
        assert_int_equal(client_open(rig, c, &open, &first), STATUS_OK);
        assert_int_equal(first.reused, mode == CLOSE_RELEASE);
        rig_free(rig);
    }
}

/* ... and what it had to leave open is looked at again: the host drops the new region, and then its
 * digest is that of the old list. */
TEST(listing__older_than_an_alloc_is_not_the_last)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    const uint64_t before = imd_before(imd);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    imd_page(rig, imd, ++imd->lists, 0, 1, before, NULL, 0);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).regions, 1);
    imd_drop(imd, &imd->regions[0]);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).regions, 0);
    rig_free(rig);
}

/* A list that reflects an ALLOC may be faster than the ALLOC's answer. */
TEST(listing__faster_than_the_answer)
{
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
TEST(listing__corrects_the_directory)
{
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

TEST(listing__full_directory_takes_no_more_and_rests)
{
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
    assert_int_equal(imd->count, 25); /* none gave way to others of its kind */
    rig_free(rig);
}

/* An open region must be known, so that it is freed when its client has gone. */
TEST(listing__kept_ones_give_way_to_an_open_one)
{
    ManagerConfig config = rig_config();
    config.regions_max = 10;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_new(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    for (unsigned i = 0; i < 12; i++)
        imd->regions[imd->count++] =
            (RegionListing){.address = {imd->session.peer_epoch, i + 1, 1, {{1}}},
                            .client = i == 11 ? c->session.peer_id : (Id128){{0}},
                            .key = key_of((uint8_t)i),
                            .len = KIB,
                            .flags = REGION_RETAIN | (i == 11 ? 0 : (uint32_t)REGION_RELEASED),
                            .port = 9000};
    c->open[c->count++] = imd->regions[11].address;
    imd_join(rig, imd);
    rig_live(rig, 5);
    assert_int_equal(client_close(rig, c, &imd_region(imd, 12)->address, CLOSE_FREE, 0), STATUS_OK);
    assert_null(imd_region(imd, 12));
    rig_free(rig);
}

/* The room comes from another host: neither this one's digest nor ours of it shows that. */
TEST(listing__room_elsewhere_is_for_what_found_none)
{
    ManagerConfig config = rig_config();
    config.regions_max = 10;
    Rig *rig = rig_new_with(config, 1);
    (void)imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    open_many(rig, c, 10);
    FakeImd *late = imd_new(rig, 1024 * KIB);
    late->regions[late->count++] =
        (RegionListing){.address = {late->session.peer_epoch, 1, 1, {{1}}},
                        .client = d->session.peer_id,
                        .key = key_of(1),
                        .len = KIB,
                        .port = 9000};
    d->open[d->count++] = late->regions[0].address;
    imd_join(rig, late);
    rig_live(rig, 5);
    assert_int_equal(rig_stats(rig).regions, 10);
    assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_FREE, 0), STATUS_OK);
    rig_live(rig, 5);
    assert_int_equal(rig_stats(rig).regions, 10);
    d->dead = true;
    rig_live(rig, 40);
    assert_int_equal(late->count, 0); /* nobody's any more: it was freed */
    rig_free(rig);
}

TEST(listing__names_more_clients_than_may_be)
{
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
    numbers_end(&c->ids, id);
    c->dead = true;
    rig_live(rig, 200);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* A host says that it has one piece of a file over and over: a few of them are kept. */
TEST(listing__of_one_piece_over_and_over)
{
    enum { KEPT = 8 };
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    for (unsigned i = 0; i < 40; i++)
        imd->regions[imd->count++] =
            (RegionListing){.address = {imd->session.peer_epoch, i + 1, 1, {{1}}},
                            .key = open.key,
                            .offset = i < 39 ? 0 : open.len,
                            .len = open.len,
                            .flags = REGION_RETAIN | REGION_RELEASED,
                            .stamp = open.stamp,
                            .port = 9000};
    imd_join(rig, imd);
    rig_live(rig, 5);
    assert_int_equal(imd->count, KEPT + 1);
    assert_non_null(imd_region(imd, 40)); /* another piece */
    OpOpenReply reply;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(reply.reused, 1);
    rig_free(rig);
}

/* An entry that nobody can have open: a region for nobody, or for one that left. */
TEST(listing__of_nobodys_region_is_freed)
{
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

/* More regions than FREEs may be under way at once: those that wait for theirs are in the list, and
 * so are still to be freed. */
TEST(listing__names_what_waits_for_its_free)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    open_many(rig, c, 40);
    imd->deaf = true;
    client_request(rig, c, OP_LEAVE, NULL, 0);
    c->dead = true;
    rig_pump(rig);
    imd_list(rig, imd);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).regions, 40);
    imd->deaf = false;
    rig_wait(rig, 2 * rig->config.request_deadline_ns); /* asked for no other list */
    assert_int_equal(imd->got[OP_FREE], 40);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).reconciled, 0);
    rig_free(rig);
}

/* A busy host's digest always lags a little: that alone is no reason for lists. A lasting
 * difference is, however busy it is. */
TEST(beat__differing_while_busy)
{
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

/* What differs now and then, and agrees in between, is no lasting difference. */
TEST(beat__differing_now_and_then)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1024 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    unsigned asked = imd->lists_asked;
    imd->dumb = true;
    client_open_send(rig, c, &open);
    rig_pump(rig);
    for (unsigned i = 0; i < 5; i++) {
        imd_beat(rig, imd);
        imd_beat(rig, imd);
        unsigned count = imd->count;
        imd->count = 0; /* as the manager has it */
        imd_beat(rig, imd);
        imd->count = count;
        rig_pump(rig);
    }
    assert_int_equal(imd->lists_asked, asked);
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

TEST(listing__of_more_than_the_pool_has_room_for)
{
    Rig *rig = rig_new();
    FakeImd *liar = imd_up(rig, SMALL_POOL), *honest = imd_up(rig, 1024 * KIB);
    list_invented(rig, liar, 0, 400, false);
    assert_int_equal(rig_stats(rig).regions, SMALL_MOST);
    list_invented(rig, honest, 0, 200, false);
    assert_int_equal(rig_stats(rig).regions, SMALL_MOST + 200);
    rig_free(rig);
}

TEST(listing__of_ever_other_clients)
{
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
    rig_live(rig, 200); /* none of them is ever heard: they go, and count no more */
    assert_int_equal(rig_stats(rig).clients, 0);
    list_invented(rig, liar, 9000, 10, true);
    assert_int_equal(rig_stats(rig).clients, 10);
    rig_free(rig);
}

/* Clients that are heard count no more for the host that named them first. */
TEST(listing__of_clients_that_come)
{
    enum { BATCH = SMALL_MOST / 2, BATCHES = 4 };
    ManagerConfig config = rig_config();
    config.clients_max = 1000;
    Rig *rig = rig_new_with(config, 1);
    FakeImd *imd = imd_up(rig, SMALL_POOL);
    static Session sessions[BATCH * BATCHES];
    for (unsigned i = 0; i < BATCHES; i++) {
        list_invented(rig, imd, i * BATCH, BATCH, true);
        assert_int_equal(rig_stats(rig).clients, (i + 1) * BATCH);
        for (unsigned k = 0; k < BATCH; k++) {
            uint8_t body[WIRE_BODY_MAX];
            Numbers ids;
            OpAlive alive = {0};
            Session *s = &sessions[i * BATCH + k];
            *s = (Session){.peer = addr_sim((uint16_t)(1000 + i * BATCH + k), 5000),
                           .peer_id = imd->regions[k].client,
                           .peer_role = ROLE_CLIENT,
                           .up = true};
            numbers_init(&ids, 1);
            (void)rig_request(rig, s, &ids, OP_ALIVE, body, wire_alive_encode(&alive, body));
        }
    }
    rig_free(rig);
}
