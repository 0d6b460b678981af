/* SPDX-License-Identifier: MIT */
/* The manager's clients: they come, go, fall silent and are reclaimed; and what the manager makes
 * of its own pauses, during which it heard nobody. */
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- clients -------------------------------------------------------------------------------- */

TEST(client__silent_is_reclaimed)
{
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 4096 * KIB), *b = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply kept;
    assert_int_equal(client_open(rig, c, &open, &kept), STATUS_OK);
    assert_int_equal(client_close(rig, c, &kept.address, CLOSE_RELEASE, 1), STATUS_OK);
    open.key = key_of(2);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, d, &open, NULL), STATUS_OK);
    c->dead = true;
    rig_live(rig, 29);
    assert_int_equal(rig_stats(rig).regions, 202);
    rig_live(rig, 3);
    /* All but the kept one and the other client's. */
    assert_int_equal(rig_stats(rig).regions, 2);
    assert_int_equal(a->count + b->count, 2);
    assert_int_equal(rig_stats(rig).clients, 1);
    assert_int_equal(rig_stats(rig).reclaimed_clients, 1);
    assert_int_equal(rig_stats(rig).reclaimed_regions, 200);
    /* It was only paused: it finds out when it uses them, and may start again. */
    c->dead = false;
    rig_live(rig, 10);
    assert_int_equal(a->count + b->count, 2);
    assert_in_range(c->lists_asked, 1, 1);
    assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_FREE, 0), STATUS_GONE);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    rig_free(rig);
}

/* Half the time, from now on. */
TEST(client__silent_is_reclaimed_as_soon_as_is_wanted_now)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    const OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    c->dead = true;
    rig_live(rig, 10);
    manager_patience(rig->m, 15 * NS_PER_S, rig->config.host_dead_ns, rig->config.distrust_ns);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).clients, 1);
    rig_live(rig, 4);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

TEST(client__any_request_is_life)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    c->dead = true; /* no keep-alives */
    for (unsigned i = 0; i < 5; i++) {
        rig_live(rig, 25);
        OpOpenReply reply;
        if (i % 2) {
            assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
            assert_int_equal(client_close(rig, c, &reply.address, CLOSE_FREE, 0), STATUS_OK);
        } else { /* even a duplicate of what is over */
            rig_again(rig, &c->session, 1, 1, OP_ALIVE, NULL, 0);
        }
    }
    assert_int_equal(imd->count, 1);
    rig_free(rig);
}

/* The FREEs of a reclaim are paced: they fill a part of the host's window only, and somebody who
 * waits is served in between. */
TEST(client__reclaim_is_paced)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    imd->deaf = true;
    size_t sent = rig->count;
    client_request(rig, c, OP_LEAVE, NULL, 0);
    assert_int_equal(rig->count, sent + 16 + 1); /* and LEAVE's reply */
    assert_int_equal(rig_stats(rig).regions, 200);
    /* They are not given up while the host lives, and nothing else waits behind them. */
    rig_wait(rig, 5 * rig->config.request_deadline_ns);
    imd->deaf = false;
    imd_beat(rig, imd);
    uint64_t id = client_open_send(rig, d, &open);
    rig_live(rig, 2);
    assert_int_equal(imd->count, rig_answered(rig, &d->session, id) &&
                                     client_opened(rig, d, id, NULL) == STATUS_OK);
    assert_int_equal(rig_stats(rig).regions, imd->count);
    rig_free(rig);
}

TEST(leave__frees_at_once)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    uint8_t body[WIRE_BODY_MAX];
    size_t n = wire_open_encode(&open, body);
    uint64_t opened = client_open_send(rig, c, &open);
    rig_pump(rig);
    uint64_t id = client_request(rig, c, OP_LEAVE, NULL, 0);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    rig_pump(rig);
    assert_int_equal(imd->count, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    /* A late duplicate of its OPEN opens nothing, and does not bring it back. */
    rig_again(rig, &c->session, opened, 1, OP_OPEN, body, n);
    rig_pump(rig);
    assert_int_equal(imd->got[OP_ALLOC], 1);
    assert_int_equal(rig_stats(rig).clients, 0);
    WireReply reply;
    rig_again(rig, &c->session, id, 1, OP_LEAVE, NULL, 0);
    assert_int_equal(rig_replies(rig, &c->session, id, &reply), 2);
    client_request(rig, c, OP_LEAVE, NULL, 0); /* once more, a new one */
    assert_int_equal(rig_stats(rig).clients, 0);
    /* It may come back by itself. */
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(rig_stats(rig).clients, 1);
    rig_free(rig);
}

TEST(leave__of_a_stranger_is_done_already)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    uint64_t id = client_request(rig, c, OP_LEAVE, NULL, 0);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

TEST(client__limit)
{
    ManagerConfig config = rig_config();
    config.clients_max = 3;
    Rig *rig = rig_new_with(config, 1);
    FakeClient *c[5];
    for (unsigned i = 0; i < 5; i++)
        c[i] = client_new(rig);
    uint8_t body[WIRE_BODY_MAX];
    size_t len = wire_alive_encode(&(OpAlive){0}, body);
    uint64_t first[3];
    for (unsigned i = 0; i < 3; i++) {
        first[i] = client_alive(rig, c[i]);
        assert_int_equal(rig_status(rig, &c[i]->session, first[i]), STATUS_OK);
    }
    assert_int_equal(rig_status(rig, &c[3]->session, client_alive(rig, c[3])), STATUS_BUSY);
    /* Who left makes room at once, the earliest first. */
    client_request(rig, c[1], OP_LEAVE, NULL, 0);
    client_request(rig, c[0], OP_LEAVE, NULL, 0);
    assert_int_equal(rig_status(rig, &c[4]->session, client_alive(rig, c[4])), STATUS_OK);
    assert_int_equal(rig_stats(rig).clients, 2);
    rig_again(rig, &c[0]->session, first[0], 1, OP_ALIVE, body, len); /* late: known as one */
    assert_int_equal(rig_stats(rig).clients, 2);
    /* Who is silent makes room in the end. */
    for (unsigned i = 0; i < 5; i++)
        c[i]->dead = true;
    rig_live(rig, 32);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* ---- our own pauses -------------------------------------------------------------------------- */

/* Silence counts only while we ran: nobody is dead after a pause of ours, whether time is noticed
 * by the clock or by a message; and the grace is not over. */
TEST(pause__starts_all_clocks_again)
{
    for (unsigned by_message = 0; by_message < 2; by_message++) {
        Rig *rig = rig_new();
        FakeImd *imd = imd_up(rig, 64 * KIB);
        FakeClient *c = client_new(rig), *d = client_new(rig);
        OpOpen open = open_of(1, 4 * KIB, 0);
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
        rig_live(rig, 2);
        rig->now_ns += 1000 * NS_PER_S;
        if (by_message)
            client_alive(rig, d);
        manager_expire(rig->m, rig->now_ns);
        assert_true(manager_check(rig->m));
        assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_IDLE);
        rig_wait(rig, 14 * NS_PER_S);
        assert_int_equal(rig_stats(rig).hosts, 1);
        assert_int_equal(rig_stats(rig).clients, 2);
        assert_int_equal(rig_stats(rig).regions, 1);
        assert_int_equal(rig_status_page(rig, 0).uptime_ms, 16000); /* while it ran */
        rig_live(rig, 5);
        assert_int_equal(imd->count, 1);
        /* From then on silence counts. */
        c->dead = true;
        rig_live(rig, 32);
        assert_int_equal(imd->count, 0);
        rig_free(rig);
    }
}

/* Requests under way have the time that they had left. */
TEST(pause__postpones_requests)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_wait(rig, 1000 * NS_PER_MS);
    rig->now_ns += 500 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    assert_false(rig_answered(rig, &c->session, id));
    rig_wait(rig, 900 * NS_PER_MS);
    assert_false(rig_answered(rig, &c->session, id));
    imd->deaf = false;
    rig_wait(rig, 99 * NS_PER_MS);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    rig_free(rig);
}

/* An OPEN still has time for the next host. */
TEST(pause__postpones_the_end_of_an_open)
{
    Rig *rig = rig_new();
    FakeImd *deaf = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    deaf->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_wait(rig, 1000 * NS_PER_MS);
    rig->now_ns += 500 * NS_PER_S;
    manager_expire(rig->m, rig->now_ns);
    FakeImd *good = imd_up(rig, 64 * KIB);
    rig_wait(rig, 1000 * NS_PER_MS);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    assert_int_equal(good->count, 1);
    rig_free(rig);
}

/* Who is dead goes, however often we pause: what he was silent for while we ran still counts. */
TEST(pause__again_and_again_keeps_nobody)
{
    enum { ROUNDS = 8 }; /* between two pauses a part of the time that kills */
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    (void)imd_up(rig, 64 * KIB);
    client_alive(rig, c);
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        if (i < ROUNDS) {
            assert_int_equal(rig_stats(rig).clients, 1);
            assert_int_equal(rig_stats(rig).hosts, 1);
        }
        rig_wait(rig, rig->config.client_dead_ns / ROUNDS);
        rig->now_ns += 500 * NS_PER_S;
        manager_expire(rig->m, rig->now_ns);
    }
    assert_int_equal(rig_stats(rig).clients, 0);
    assert_int_equal(rig_stats(rig).hosts, 0);
    rig_free(rig);
}

/* A little lateness is no pause. */
TEST(pause__short_delays_count)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    client_alive(rig, c);
    for (unsigned i = 0; i < 16; i++) {
        rig->now_ns = manager_deadline(rig->m) + NS_PER_S;
        manager_expire(rig->m, rig->now_ns);
    }
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* A clock that steps back (it is monotonic: somebody's error) breaks nothing. */
TEST(time__never_goes_back)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    rig_live(rig, 3);
    rig->now_ns = 0;
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    manager_expire(rig->m, 0);
    assert_true(manager_check(rig->m));
    assert_int_equal(imd->count, 1);
    rig_free(rig);
}
