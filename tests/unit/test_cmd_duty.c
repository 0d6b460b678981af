/* SPDX-License-Identifier: MIT */
/* A manager that becomes the active one, and one that stands by. */
#include "tests/lib/case.h"
#include "tests/lib/peer.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

static Rig *rig_with(uint64_t number)
{
    ManagerConfig config = rig_config();
    config.number = number;
    return rig_new_with(config, 1);
}

static Endpoint *endpoint_of(const Rig *rig)
{
    return peer_new(ROLE_CMD, 1, manager_number(rig->m));
}

static void duty(Rig *rig, Endpoint *e, uint64_t number)
{
    manager_duty(rig->m, e, number, rig->now_ns);
    assert_true(manager_check(rig->m));
}

TEST(standby__answers_everybody_that_it_stands_by)
{
    Rig *rig = rig_with(MANAGER_STANDBY);
    FakeImd *imd = imd_new(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, imd->latest), STATUS_STANDBY);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_STANDBY);
    assert_int_equal(rig_stats(rig).hosts, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

TEST(standby__takes_up_its_duty)
{
    Rig *rig = rig_with(MANAGER_STANDBY);
    Endpoint *e = endpoint_of(rig);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    duty(rig, e, 7);
    (void)imd_up(rig, 64 * KIB);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    endpoint_free(e);
    rig_free(rig);
}

/* What was opened, what is under way, who waits: all is forgotten, and nobody is answered. */
TEST(duty__ends_with_all_that_was_known)
{
    Rig *rig = rig_with(7);
    Endpoint *e = endpoint_of(rig);
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0), more = open_of(2, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    imd->deaf = true;
    uint8_t body[WIRE_BODY_MAX];
    const uint64_t id =
        rig_request(rig, &c->session, &c->ids, OP_OPEN, body, wire_open_encode(&more, body));
    assert_false(rig_answered(rig, &c->session, id));
    duty(rig, e, MANAGER_STANDBY);
    assert_int_equal(rig_stats(rig).hosts, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).clients, 0);
    assert_false(rig_answered(rig, &c->session, id));
    assert_non_null(strstr(rig->events, "manager_standby"));

    duty(rig, e, 8); /* and once more, as if nothing had been */
    imd->deaf = false;
    imd_join(rig, imd);
    rig_pump(rig);
    imd_list(rig, imd);
    rig_pump(rig);
    assert_int_equal(rig_stats(rig).regions, imd->count);
    imd->dead = c->dead = true;
    endpoint_free(e);
    rig_free(rig);
}

/* Grace counts from the lease: what nobody has got to claim yet is not freed. */
TEST(duty__begins_with_a_period_of_grace)
{
    Rig *rig = rig_with(7);
    Endpoint *e = endpoint_of(rig);
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    rig_live(rig, 100);
    assert_int_equal(imd->count, 1);
    duty(rig, e, MANAGER_STANDBY);
    rig_live(rig, 100);
    duty(rig, e, 9);
    c->dead = true; /* it finds the other manager late */
    imd_join(rig, imd);
    rig_pump(rig);
    imd_list(rig, imd);
    rig_pump(rig);
    rig_live(rig, 40);
    assert_int_equal(imd->count, 1);
    rig_live(rig, 40);
    assert_int_equal(imd->count, 0);
    endpoint_free(e);
    rig_free(rig);
}

TEST(duty__an_open_waits_for_the_first_host)
{
    Rig *rig = rig_with(MANAGER_STANDBY);
    Endpoint *e = endpoint_of(rig);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    duty(rig, e, 7);
    const uint64_t id = client_open_send(rig, c, &open);
    assert_false(rig_answered(rig, &c->session, id));
    (void)imd_up(rig, 64 * KIB);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_OK);
    endpoint_free(e);
    rig_free(rig);
}

/* Where no host comes, a program gets its answer all the same. */
TEST(duty__an_open_does_not_wait_for_ever)
{
    Rig *rig = rig_with(MANAGER_STANDBY);
    Endpoint *e = endpoint_of(rig);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    duty(rig, e, 7);
    rig_live(rig, 3);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_NO_MEMORY);
    endpoint_free(e);
    rig_free(rig);
}

/* A session that is up, at the manager's end. */
static Session *meet(Endpoint *mine, Endpoint *managers, uint64_t now_ns)
{
    static const Addr at = {.kind = ADDR_IP4, .port = 8, .host = {127, 0, 0, 2}};
    static const WirePing ping = {.nonce = 1};
    uint8_t payload[WIRE_PAYLOAD_MAX], datagram[2 * WIRE_PAYLOAD_MAX];
    EndpointInput in;
    (void)endpoint_connect(mine, &(Addr){.kind = ADDR_IP4, .port = 7, .host = {127, 0, 0, 1}},
                           now_ns);
    Session *s = peer_meet(mine, managers, now_ns);
    size_t n =
        endpoint_seal(mine, s, WIRE_PING, payload, wire_ping_encode(&ping, payload), datagram);
    assert_int_equal(endpoint_input(managers, &at, datagram, n, now_ns, &in), ENDPOINT_MESSAGE);
    endpoint_forget(mine, s);
    return in.session;
}

TEST(duty__who_has_a_session_hears_of_its_end)
{
    Rig *rig = rig_with(7);
    Endpoint *e = endpoint_of(rig), *mine = peer_new(ROLE_IMD, 9, 1);
    const Session *s = meet(mine, e, rig->now_ns);
    const size_t before = rig->count;
    uint64_t number;
    duty(rig, e, MANAGER_STANDBY);
    assert_int_equal(rig->count, before + 1);
    const Sent *sent = &rig->log[before];
    assert_ptr_equal(sent->to, s);
    assert_int_equal(sent->type, WIRE_GOODBYE);
    assert_int_equal(wire_goodbye_decode(sent->payload, sent->len, &number), 0);
    assert_int_equal(number, 7);
    assert_null(endpoint_walk(e, NULL));

    (void)meet(mine, e, rig->now_ns);
    duty(rig, e, 8); /* who looked at it while it stood by finds out */
    assert_int_equal(rig->count, before + 1);
    endpoint_free(mine);
    endpoint_free(e);
    rig_free(rig);
}
