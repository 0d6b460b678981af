/* SPDX-License-Identifier: MIT */
/* What the owners' monitors tell the manager: hosts go at once when their owners come back, and
 * nobody's word is taken for another's, or for what it meant before. */
#include <stdio.h>

#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1 << 10 };

TEST(busy__ends_its_imd_at_once)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB), *other = imd_up(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 40 * KIB, 0);
    OpOpenReply opened;
    rmd_report(rig, &rmd, HOST_OWNER_LENDING, imd->session.peer_epoch, "idle");
    other->claims_free = 1; /* the first one is chosen */
    assert_int_equal(client_open(rig, c, &open, &opened), STATUS_OK);
    assert_int_equal(opened.address.epoch, imd->session.peer_epoch);
    imd->dead = true;
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, imd->session.peer_epoch, "somebody types");
    assert_int_equal(rig_stats(rig).hosts, 1);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).lost_hosts, 1);
    other->claims_free = 0;
    open = open_of(2, 40 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, &opened), STATUS_OK);
    assert_int_equal(opened.address.epoch, other->session.peer_epoch);
    rig_free(rig);
}

/* An OPEN that waits for that imd goes on to the next. */
TEST(busy__an_open_under_way_goes_on)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB), *other = imd_up(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 40 * KIB, 0);
    OpOpenReply opened;
    other->claims_free = 1;
    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_pump(rig);
    assert_false(rig_answered(rig, &c->session, id));
    other->claims_free = 0;
    imd_beat(rig, other);
    rig_pump(rig);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, imd->session.peer_epoch, "");
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, &opened), STATUS_OK);
    assert_int_equal(opened.address.epoch, other->session.peer_epoch);
    rig_free(rig);
}

/* A monitor that says that it lends is no obstacle, nor does our own pause make it forgotten. */
TEST(lending__its_imd_is_welcome)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd);
    OpHost known;
    rmd_report(rig, &rmd, HOST_OWNER_LENDING, imd->session.peer_epoch, "idle");
    uint64_t id = imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_OK);
    rig->now_ns += 1000 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    rig_wait(rig, 20 * NS_PER_S);
    assert_true(manager_owner(rig->m, &rmd.session.peer, &known));
    assert_int_equal(known.lendable_bytes, 77);
    rig_wait(rig, 20 * NS_PER_S);
    assert_false(manager_owner(rig->m, &rmd.session.peer, &known));
    rig_free(rig);
}

TEST(busy__only_on_its_own_host)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB), *other = imd_up(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(other);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, imd->session.peer_epoch, "");
    assert_int_equal(rig_stats(rig).hosts, 2);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, 0, "");
    assert_int_equal(rig_stats(rig).hosts, 2);
    rmd_report(rig, &rmd, HOST_OWNER_IDLE, other->session.peer_epoch, "");
    assert_int_equal(rig_stats(rig).hosts, 2);

    /* Nor does it keep one away that is to come. */
    FakeImd *next = imd_new(rig, 64 * KIB);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, next->session.peer_epoch, "");
    uint64_t id = imd_join(rig, next);
    assert_int_equal(rig_status(rig, &next->session, id), STATUS_OK);
    assert_int_equal(rig_stats(rig).hosts, 3);
    rig_free(rig);
}

/* The good-bye was lost, a late datagram of the old imd comes, then a new one starts. */
TEST(busy__the_old_imd_stays_away_the_next_is_welcome)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd);
    uint64_t old = imd->session.peer_epoch;
    uint64_t told = rmd_report(rig, &rmd, HOST_OWNER_BUSY, old, "");
    uint64_t id = imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_LEAVING);
    assert_int_equal(rig_stats(rig).hosts, 0);

    FakeImd *next = imd_new(rig, 64 * KIB);
    next->session.peer = imd->session.peer;
    next->session.peer_epoch = old + 500;
    rmd_report(rig, &rmd, HOST_OWNER_IDLE, 0, "");
    id = imd_join(rig, next);
    assert_int_equal(rig_status(rig, &next->session, id), STATUS_OK);
    rmd_report(rig, &rmd, HOST_OWNER_LENDING, old + 500, "");
    assert_int_equal(rig_stats(rig).hosts, 1);

    /* Late duplicates of the old word: neither undo the newer nor end anybody. */
    uint8_t body[WIRE_BODY_MAX];
    OpHost op = rmd_op(HOST_OWNER_BUSY, old, "");
    rig_again(rig, &rmd.session, told, told, OP_HOST, body, wire_host_encode(&op, body));
    op.epoch = old + 500; /* even if it named the new one */
    rig_again(rig, &rmd.session, told, told, OP_HOST, body, wire_host_encode(&op, body));
    assert_int_equal(rig_stats(rig).hosts, 1);
    assert_int_equal(rig_status_page(rig, 0).count, 1);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_IDLE);
    rig_free(rig);
}

/* JOIN comes before the monitor's word that there is an imd: the word "busy" is about another. */
TEST(busy__of_before_is_no_obstacle)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd);
    rmd_report(rig, &rmd, HOST_OWNER_BUSY, 99, "");
    uint64_t id = imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_OK);
    assert_int_equal(rig_stats(rig).hosts, 1);
    rig_free(rig);
}

TEST(status__shows_busy_hosts_and_reasons)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB), *gone = imd_new(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd), busy = rmd_of(gone);
    rmd_report(rig, &rmd, HOST_OWNER_LENDING, imd->session.peer_epoch, "the console is quiet");
    rmd_report(rig, &busy, HOST_OWNER_BUSY, 0, "load is 1.5");
    OpStatusReply s = rig_status_page(rig, 0);
    assert_int_equal(s.next, 0);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.hosts[0].state, HOST_IDLE);
    assert_string_equal(s.hosts[0].reason.text, "the console is quiet");
    assert_int_equal(s.hosts[1].state, HOST_BUSY);
    assert_true(addr_equal(&s.hosts[1].address, &busy.session.peer));
    assert_string_equal(s.hosts[1].reason.text, "load is 1.5");
    rmd_report(rig, &busy, HOST_OWNER_IDLE, 0, "");
    assert_int_equal(rig_status_page(rig, 0).count, 1);
    rig_free(rig);
}

/* Hosts and busy ones over several pages, each just once. */
TEST(status__pages)
{
    enum { N = 20 };
    ManagerConfig config = rig_config();
    config.hosts_max = 2 * N;
    Rig *rig = rig_new_with(config, 1);
    FakeRmd rmds[N];
    unsigned seen[2] = {0}, pages = 0;
    uint64_t cursor = 0;
    for (unsigned i = 0; i < 2 * N; i++) {
        if (i % 2 == 0) {
            (void)imd_up(rig, 64 * KIB);
            continue;
        }
        FakeImd *none = imd_new(rig, 64 * KIB);
        rmds[i / 2] = rmd_of(none);
        rmd_report(rig, &rmds[i / 2], HOST_OWNER_BUSY, 0,
                   "a reason that is as long as reasons may be");
    }
    do {
        OpStatusReply s = rig_status_page(rig, cursor);
        for (unsigned i = 0; i < s.count; i++)
            seen[s.hosts[i].state == HOST_BUSY]++;
        cursor = s.next;
        pages++;
    } while (cursor != 0 && pages < 4 * N);
    assert_int_equal(seen[0], N);
    assert_int_equal(seen[1], N);
    assert_int_equal(pages, (2 * N + STATUS_HOSTS_MAX - 1) / STATUS_HOSTS_MAX);
    rig_free(rig);
}

TEST(monitors__are_bounded_and_forgotten)
{
    ManagerConfig config = rig_config();
    config.hosts_max = 3;
    Rig *rig = rig_new_with(config, 1);
    uint8_t body[WIRE_BODY_MAX];
    OpHost op = rmd_op(HOST_OWNER_BUSY, 0, "");
    size_t n = wire_host_encode(&op, body);
    FakeRmd rmds[4];
    for (unsigned i = 0; i < 4; i++) {
        FakeImd *none = imd_new(rig, 64 * KIB);
        rmds[i] = rmd_of(none);
        uint64_t id = rig_request(rig, &rmds[i].session, &rmds[i].ids, OP_HOST, body, n);
        assert_int_equal(rig_status(rig, &rmds[i].session, id), i < 3 ? STATUS_OK : STATUS_BUSY);
    }
    assert_int_equal(rig_status_page(rig, 0).count, 3);
    size_t bytes = manager_bytes(rig->m);
    rig_live(rig, 2 * config.host_dead_ns / NS_PER_S - 2);
    assert_int_equal(rig_status_page(rig, 0).count, 3);
    rig_live(rig, 4);
    assert_int_equal(rig_status_page(rig, 0).count, 0);
    assert_true(manager_bytes(rig->m) < bytes);
    rmd_report(rig, &rmds[3], HOST_OWNER_BUSY, 0, "");
    rig_free(rig);
}

/* One that started again counts its requests from 1. */
TEST(monitors__may_start_again)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    FakeRmd rmd = rmd_of(imd), next = rmd_of(imd);
    for (unsigned i = 0; i < 5; i++)
        rmd_report(rig, &rmd, HOST_OWNER_BUSY, 0, "");
    next.session.peer_id.bytes[7] = 9;
    uint64_t busy = rmd_report(rig, &next, HOST_OWNER_BUSY, 0, "");
    rmd_report(rig, &next, HOST_OWNER_LENDING, 1, "");
    assert_int_equal(rig_status_page(rig, 0).count, 0);
    /* A late duplicate of what it said first is no news. */
    uint8_t body[WIRE_BODY_MAX];
    const OpHost op = rmd_op(HOST_OWNER_BUSY, 0, "");
    rig_again(rig, &next.session, busy, 1, OP_HOST, body, wire_host_encode(&op, body));
    assert_int_equal(rig_status_page(rig, 0).count, 0);
    rig_free(rig);
}
