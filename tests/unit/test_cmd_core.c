/* SPDX-License-Identifier: MIT */
/* The manager as a whole: who may ask what, hosts that come, go and fall silent, limits, STATUS.
 * test_cmd_clients.c has the clients. */
#include "tests/lib/case.h"
#include "cmd/manager_private.h"
#include "cmd/metrics.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1024 };

/* ---- who may ask what ----------------------------------------------------------------------- */

TEST(input__role_decides)
{
    static const struct {
        uint16_t op;
        uint8_t role;
    } allowed[] = {{OP_OPEN, ROLE_CLIENT},  {OP_CLOSE, ROLE_CLIENT}, {OP_ALIVE, ROLE_CLIENT},
                   {OP_CLAIM, ROLE_CLIENT}, {OP_LEAVE, ROLE_CLIENT}, {OP_JOIN, ROLE_IMD},
                   {OP_BEAT, ROLE_IMD},     {OP_LISTING, ROLE_IMD},  {OP_PART, ROLE_IMD},
                   {OP_STATUS, ROLE_TOOL},  {OP_HOST, ROLE_RMD},     {OP_REPORT, ROLE_CLIENT},
                   {OP_EVENTS, ROLE_TOOL},  {OP_MOVES, ROLE_CLIENT}, {OP_DRAIN, ROLE_TOOL},
                   {OP_REGIONS, ROLE_TOOL}, {OP_TAKE, ROLE_CLIENT},  {OP_DRAINS, ROLE_TOOL},
                   {OP_COPIES, ROLE_TOOL},  {OP_DRAIN, ROLE_IMD}};

    for (uint16_t op = 0; op < OPS_MAX; op++) {
        for (uint8_t role = 0; role <= ROLE_MAX; role++) {
            Rig *rig = rig_new();
            Session s = {.peer = addr_sim(1, 5000),
                         .peer_role = role,
                         .peer_id = {{1}},
                         .peer_epoch = 5,
                         .up = true};
            Numbers ids;
            bool may = false;
            numbers_init(&ids, 1);
            for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
                may = may || (allowed[i].op == op && allowed[i].role == role);
            uint64_t id = rig_request(rig, &s, &ids, op, (const uint8_t *)"rubbish", 7);
            uint16_t status = rig_status(rig, &s, id);
            if (may)
                assert_int_not_equal(status, STATUS_DENIED);
            else
                assert_int_equal(status, STATUS_DENIED);
            rig_free(rig);
        }
    }
}

TEST(input__malformed_is_dropped_or_invalid)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    FakeImd *imd = imd_up(rig, 64 * KIB);
    static const uint16_t client_ops[] = {OP_OPEN, OP_CLOSE, OP_ALIVE, OP_CLAIM};
    static const uint16_t imd_ops[] = {OP_JOIN, OP_BEAT, OP_LISTING, OP_PART};
    uint8_t body[200] = {0};

    size_t count = rig->count;
    rig_input(rig, &c->session, WIRE_REQUEST, body, 5);
    rig_input(rig, &c->session, WIRE_REPLY, body, 5);
    rig_input(rig, &imd->session, WIRE_REPLY, body, 5);
    rig_input(rig, &c->session, WIRE_PING, body, 24);
    assert_int_equal(rig->count, count);
    memset(body, 0xFF, sizeof body);
    for (unsigned i = 0; i < 4; i++) {
        /* An ALIVE may say anything, if it is whole. */
        size_t len = client_ops[i] == OP_ALIVE ? 11 : sizeof body;
        uint64_t id = client_request(rig, c, client_ops[i], body, len);
        assert_int_equal(rig_status(rig, &c->session, id), STATUS_INVALID);
        id = rig_request(rig, &imd->session, &imd->ids, imd_ops[i], body, sizeof body);
        assert_int_equal(rig_status(rig, &imd->session, id), STATUS_INVALID);
    }
    rig_free(rig);
}

TEST(input__nobody_is_no_client)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    c->session.peer_id = (Id128){{0}};
    uint64_t id = client_alive(rig, c);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_DENIED);
    assert_int_equal(rig_stats(rig).clients, 0);
    rig_free(rig);
}

/* ---- hosts ---------------------------------------------------------------------------------- */

TEST(join__epoch_is_the_identity)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    FakeImd *other = imd_new(rig, 64 * KIB);
    uint8_t body[WIRE_BODY_MAX];

    /* The hint's epoch must be the one proven at HELLO; 0 is none. */
    OpJoin join = {.hint = {.epoch = 1}, .pool_bytes = 1};
    uint64_t id =
        rig_request(rig, &imd->session, &imd->ids, OP_JOIN, body, wire_join_encode(&join, body));
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_INVALID);
    imd->session.peer_epoch = 0;
    id = imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_INVALID);
    assert_int_equal(rig_stats(rig).hosts, 0);
    imd->session.peer_epoch = 0x1000;
    id = imd_join(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_OK);
    /* Somebody else with the same epoch: */
    other->session.peer_epoch = imd->session.peer_epoch;
    id = imd_join(rig, other);
    assert_int_equal(rig_status(rig, &other->session, id), STATUS_DENIED);
    id = imd_beat(rig, other);
    assert_int_equal(rig_status(rig, &other->session, id), STATUS_DENIED);
    assert_int_equal(rig_stats(rig).hosts, 1);
    rig_free(rig);
}

TEST(join__comes_first)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    uint64_t id = imd_beat(rig, imd);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_UNKNOWN_PEER);
    id = imd_page(rig, imd, 1, 0, 1, 1, NULL, 0);
    assert_int_equal(rig_status(rig, &imd->session, id), STATUS_UNKNOWN_PEER);
    assert_int_equal(rig_stats(rig).hosts, 0);
    rig_free(rig);
}

TEST(join__limit_of_hosts)
{
    ManagerConfig config = rig_config();
    config.hosts_max = 3;
    Rig *rig = rig_new_with(config, 1);
    for (unsigned i = 0; i < 3; i++)
        imd_up(rig, 64 * KIB);
    FakeImd *more = imd_new(rig, 64 * KIB);
    uint64_t id = imd_join(rig, more);
    assert_int_equal(rig_status(rig, &more->session, id), STATUS_BUSY);
    assert_int_equal(rig_stats(rig).hosts, 3);
    rig->imds[1]->dead = true;
    more->dead = true;
    rig_live(rig, 32);
    assert_int_equal(rig_stats(rig).hosts, 2);
    id = imd_join(rig, more);
    assert_int_equal(rig_status(rig, &more->session, id), STATUS_OK);
    rig_free(rig);
}

/* A new epoch at an address: the old memory is gone, at once. */
TEST(join__replaces_a_predecessor)
{
    Rig *rig = rig_new();
    FakeImd *old = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    FakeImd *new = imd_new(rig, 64 * KIB);
    new->session.peer = old->session.peer;
    imd_join(rig, new);
    assert_int_equal(rig_stats(rig).hosts, 1);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).lost_hosts, 1);
    uint64_t id = imd_beat(rig, old);
    assert_int_equal(rig_status(rig, &old->session, id), STATUS_UNKNOWN_PEER);
    rig_free(rig);
}

TEST(part__ends_a_host_at_once)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply one, two;
    assert_int_equal(client_open(rig, c, &open, &one), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &two), STATUS_OK);
    imd->deaf = true;
    uint64_t close = client_close_send(rig, c, &one.address, CLOSE_FREE, 0);
    uint64_t opened = client_open_send(rig, c, &open);
    FakeImd *other = imd_up(rig, 64 * KIB);
    imd_part(rig, imd);
    assert_int_equal(rig_status(rig, &c->session, close), STATUS_OK);
    numbers_end(&c->ids, close);
    assert_int_equal(client_opened(rig, c, opened, NULL), STATUS_OK);
    assert_int_equal(other->count, 1);
    assert_int_equal(rig_stats(rig).regions, 1);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_LEAVING);
    /* Its further beats and lists change nothing, JOIN does not bring it back. */
    imd->deaf = false;
    imd_list(rig, imd);
    imd_join(rig, imd);
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(imd->last_flags, 0);
    assert_int_equal(rig_stats(rig).regions, 1);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_LEAVING);
    imd->dead = true;
    rig_live(rig, 5);
    assert_int_equal(rig_stats(rig).hosts, 2); /* it is remembered a little */
    rig_live(rig, 12);
    assert_int_equal(rig_stats(rig).hosts, 1);
    rig_free(rig);
}

/* Silent: not chosen, its regions stay known; then they are dropped; it comes back with the same
 * memory: all is as before, and requests to it go on (the imd has seen ids of ours). */
TEST(host__falls_silent_and_comes_back)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    imd->dead = imd->deaf = true;
    rig_live(rig, 16);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_SILENT);
    assert_int_equal(rig_stats(rig).regions, 3);
    imd->dead = imd->deaf = false;
    rig_live(rig, 1);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].state, HOST_IDLE);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);

    imd->dead = imd->deaf = true;
    rig_live(rig, 29);
    assert_int_equal(rig_stats(rig).hosts, 1);
    assert_int_equal(rig_stats(rig).regions, 4);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).hosts, 0);
    assert_int_equal(rig_stats(rig).regions, 0);
    assert_int_equal(rig_stats(rig).lost_hosts, 1);
    imd->dead = imd->deaf = false;
    imd_join(rig, imd);
    rig_live(rig, 3);
    assert_int_equal(rig_stats(rig).regions, 4);
    assert_int_equal(imd->count, 4);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_close(rig, c, &c->open[0], CLOSE_FREE, 0), STATUS_OK);
    rig_free(rig);
}

/* The imd renewed its session: what is under way is sent there, at once. */
TEST(host__new_session_gets_what_is_under_way)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    uint64_t id = client_open_send(rig, c, &open);
    rig_wait(rig, 1000 * NS_PER_MS);
    manager_session_closed(rig->m, &imd->session);
    size_t sent = rig->count;
    rig_wait(rig, 500 * NS_PER_MS);
    assert_int_equal(rig->count, sent); /* nowhere to send to */
    imd->deaf = false;
    imd_beat(rig, imd);
    rig_pump(rig);
    assert_int_equal(client_opened(rig, c, id, NULL), STATUS_OK);
    rig_free(rig);
}

/* Its machine has another address now: that is where clients go. */
TEST(host__that_has_moved)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    OpOpenReply got;
    imd->session.peer = addr_sim(150, 7701);
    imd_beat(rig, imd);
    assert_int_equal(client_open(rig, c, &open, &got), STATUS_OK);
    assert_true(addr_same_host(&got.host, &imd->session.peer));
    assert_true(addr_equal(&rig_status_page(rig, 0).hosts[0].address, &imd->session.peer));
    rig_free(rig);
}

/* Another imd may start where it was before: that is no reason to lose it. */
TEST(host__that_has_moved_leaves_its_address)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB), *next = imd_new(rig, 64 * KIB);
    const Addr first = imd->session.peer;
    for (uint16_t i = 0; i < 3; i++) {
        imd->session.peer = addr_sim(150 + i, 7701);
        imd_beat(rig, imd);
    }
    next->session.peer = first;
    imd_join(rig, next);
    assert_int_equal(rig_stats(rig).hosts, 2);
    next->session.peer = imd->session.peer; /* it takes the other's place now */
    imd->dead = true;
    imd_beat(rig, next);
    rig_live(rig, 100);
    assert_int_equal(rig_stats(rig).hosts, 1);
    rig_free(rig);
}

/* Whatever it sends says how much room it has. */
TEST(host__each_message_has_its_room)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_new(rig, 64 * KIB);
    imd_join(rig, imd);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].free_bytes, 64 * KIB);
    imd->pool = 32 * KIB;
    imd_list(rig, imd);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].free_bytes, 32 * KIB);
    imd->pool = 16 * KIB;
    imd_beat(rig, imd);
    assert_int_equal(rig_status_page(rig, 0).hosts[0].free_bytes, 16 * KIB);
    rig_free(rig);
}

/* It said HELLO again: the session that it had before may end at any time. */
TEST(host__an_older_session_closes)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    Session older = imd->session;
    manager_session_closed(rig->m, &older);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    rig_free(rig);
}

/* ---- STATUS --------------------------------------------------------------------------------- */

TEST(status__tells_of_hosts)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    rig_live(rig, 3);
    OpStatusReply s = rig_status_page(rig, 0);
    assert_int_equal(s.next, 0);
    assert_int_equal(s.regions, 1);
    assert_int_equal(s.clients, 1);
    assert_int_equal(s.uptime_ms, 3000);
    assert_int_equal(s.count, 1);
    assert_true(addr_equal(&s.hosts[0].address, &imd->session.peer));
    assert_int_equal(s.hosts[0].state, HOST_IDLE);
    assert_int_equal(s.hosts[0].epoch, imd->session.peer_epoch);
    assert_int_equal(s.hosts[0].pool_bytes, 64 * KIB);
    assert_int_equal(s.hosts[0].free_bytes, 60 * KIB);
    assert_int_equal(s.hosts[0].largest_free_bytes, 60 * KIB);
    assert_int_equal(s.hosts[0].regions, 1);
    assert_int_equal(s.hosts[0].read_bytes, 11);
    assert_int_equal(s.hosts[0].write_bytes, 22);
    rig_free(rig);
}

TEST(metrics__count_hosts_by_state)
{
    Rig *rig = rig_new();
    FakeImd *quiet = imd_up(rig, 64 * KIB);
    (void)imd_up(rig, 32 * KIB);
    CmdMetrics m = {.idle = 0};
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.idle, 2);
    assert_int_equal(m.silent + m.leaving, 0);
    assert_int_equal(m.pool_bytes, 96 * KIB);
    assert_int_equal(m.free_bytes, 96 * KIB);
    quiet->dead = true;
    quiet->deaf = true;
    rig_live(rig, 16);
    m = (CmdMetrics){.idle = 0};
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.idle, 1);
    assert_int_equal(m.silent, 1);
    assert_int_equal(m.stats.hosts, 2);
    rig_free(rig);
}

TEST(metrics__count_retained_regions)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    (void)imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    CmdMetrics m = {.idle = 0};
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    assert_int_equal(client_close(rig, c, &reply.address, CLOSE_RELEASE, 1), STATUS_OK);
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.stats.regions, 2);
    assert_int_equal(m.retained, 1);
    rig_free(rig);
}

/* Hosts that come and go between pages neither repeat nor hide others. */
TEST(status__pages_are_stable)
{
    Rig *rig = rig_new();
    for (unsigned i = 0; i < 20; i++)
        imd_up(rig, 64 * KIB);
    unsigned seen[24] = {0};
    uint64_t cursor = 0;
    for (unsigned page = 0; page < 10; page++) {
        OpStatusReply s = rig_status_page(rig, cursor);
        for (unsigned i = 0; i < s.count; i++)
            seen[s.hosts[i].epoch - 0x1000]++;
        cursor = s.next;
        if (page == 0) { /* one seen and the one that is next are replaced by others */
            for (unsigned i = 3; i <= 8; i += 5) {
                FakeImd *imd = imd_new(rig, 64 * KIB);
                imd->session.peer = rig->imds[i]->session.peer;
                imd_join(rig, imd);
            }
        }
        if (cursor == 0)
            break;
    }
    for (unsigned i = 0; i < 22; i++)
        assert_int_equal(seen[i], i == 8 ? 0 : 1);
    rig_free(rig);
}

/* ---- memory and deadlines -------------------------------------------------------------------- */

TEST(bytes__follow_what_is_held)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    (void)client_alive(rig, c);
    size_t before = manager_bytes(rig->m);
    enum { REGIONS = FAKE_REGIONS_MAX };
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    size_t after = manager_bytes(rig->m);
    assert_in_range((after - before) / REGIONS, 100, 180); /* with its share of the map */
    client_request(rig, c, OP_LEAVE, NULL, 0);
    rig_wait(rig, NS_PER_S);
    assert_int_equal(imd->count, 0);
    assert_in_range(manager_bytes(rig->m), 1, before + 64 * KIB); /* a block stays, and maps */
    rig_free(rig);
}

/* What is freed makes room for what is opened next, wherever it lay. */
TEST(bytes__do_not_grow_when_regions_come_and_go)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    enum { REGIONS = FAKE_REGIONS_MAX, EVERY = 7 };
    OpOpenReply given[REGIONS];
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(client_open(rig, c, &open, &given[i]), STATUS_OK);
    size_t before = manager_bytes(rig->m);
    for (unsigned round = 0; round < EVERY; round++) {
        for (unsigned i = round; i < REGIONS; i += EVERY)
            assert_int_equal(client_close(rig, c, &given[i].address, CLOSE_FREE, 0), STATUS_OK);
        for (unsigned i = round; i < REGIONS; i += EVERY)
            assert_int_equal(client_open(rig, c, &open, &given[i]), STATUS_OK);
        assert_int_equal(manager_bytes(rig->m), before);
        assert_true(manager_check(rig->m));
    }
    rig_free(rig);
}

/* What a host does not answer costs memory, until it ends. */
TEST(bytes__follow_what_is_under_way)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    enum { OPENS = 8 };
    uint64_t ids[OPENS];
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    (void)client_alive(rig, c);
    size_t before = manager_bytes(rig->m);
    imd->deaf = true;
    for (unsigned i = 0; i < OPENS; i++)
        ids[i] = client_open_send(rig, c, &open);
    const size_t of_one = sizeof(Task) + sizeof(Call) + sizeof(Request); /* and regions' blocks */
    assert_in_range((manager_bytes(rig->m) - before) / OPENS, of_one, of_one + 256);
    CmdMetrics m = {.idle = 0};
    cmd_metrics_read(&m, rig->m);
    assert_int_equal(m.opening, OPENS);
    assert_int_equal(m.calls, OPENS);
    rig_wait(rig, 2 * rig->config.request_deadline_ns);
    for (unsigned i = 0; i < OPENS; i++)
        assert_int_equal(client_opened(rig, c, ids[i], NULL), STATUS_NO_MEMORY);
    assert_in_range(manager_bytes(rig->m), 1, before + 16 * KIB); /* maps do not shrink */
    rig_free(rig);
}

TEST(free__while_much_is_under_way)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 4096 * KIB);
    OpOpen open = open_of(1, 4 * KIB, 0);
    Line l = line_up(rig, imd, NUMBERS_WINDOW + 2); /* more than the host is sent at once */
    (void)client_open_send(rig, client_new(rig), &open);
    assert_int_equal(line_answered(rig, &l), 0);
    CmdMetrics m = {.idle = 0};
    cmd_metrics_read(&m, rig->m);
    assert_true(m.calls > NUMBERS_WINDOW);
    rig_free(rig);
}

TEST(deadline__ticks_at_least_once_a_second)
{
    Rig *rig = rig_new();
    assert_int_equal(manager_deadline(rig->m), rig->now_ns + NS_PER_S);
    ManagerConfig config = rig_config();
    config.host_dead_ns = 400 * NS_PER_MS;
    Rig *quick = rig_new_with(config, 1);
    assert_int_equal(manager_deadline(quick->m), quick->now_ns + 100 * NS_PER_MS);
    FakeImd *imd = imd_up(quick, 64 * KIB);
    FakeClient *c = client_new(quick);
    OpOpen open = open_of(1, 4 * KIB, 0);
    imd->deaf = true;
    client_open_send(quick, c, &open);
    assert_int_equal(manager_deadline(quick->m), quick->now_ns + 50 * NS_PER_MS);
    rig_free(quick);
    rig_free(rig);
}

/* A whole life with many hosts, clients
 * and faults at random, after which everything must agree and be free. */
TEST(manager__long_life)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        ManagerConfig config = rig_config();
        config.regions_max = 150;
        Rig *rig = rig_new_with(config, seed);
        uint64_t x = seed;
        for (unsigned i = 0; i < 6; i++)
            imd_up(rig, 200 * KIB);
        for (unsigned i = 0; i < 5; i++)
            client_new(rig);
        for (unsigned step = 0; step < 1000; step++) {
            x = mix64(x + step + 1);
            FakeImd *imd = rig->imds[x % 6];
            FakeClient *c = rig->clients[(x >> 8) % 5];
            OpOpen open = open_of((uint8_t)((x >> 16) % 8), (1 + (x >> 20) % 8) * KIB,
                                  (x >> 24) % 2 ? REGION_RETAIN : 0);
            switch ((x >> 32) % 16) {
            case 0:
                imd->deaf = !imd->deaf;
                break;
            case 1:
                imd->dumb = !imd->dumb;
                break;
            case 2:
                imd->refuse[(x >> 40) % 4 + OP_ALLOC] = (x >> 44) % 3 ? STATUS_OK : STATUS_BUSY;
                break;
            case 3:
                c->dead = !c->dead;
                break;
            case 4:
                imd->dead = !imd->dead;
                break;
            case 5:
                rig_live(rig, (x >> 40) % 8);
                break;
            case 6:
                if (c->count) {
                    uint64_t id = client_close_send(rig, c, &c->open[0], (x >> 40) % 2, 1);
                    numbers_end(&c->ids, id);
                }
                break;
            case 7:
                if ((x >> 40) % 40 == 0) {
                    rig_amnesia(rig);
                    for (unsigned i = 0; i < 6; i++)
                        imd_join(rig, rig->imds[i]);
                }
                break;
            default: {
                uint64_t id = client_open_send(rig, c, &open);
                rig_pump(rig);
                if (rig_answered(rig, &c->session, id) && c->count < 400)
                    (void)client_opened(rig, c, id, NULL);
                else
                    numbers_end(&c->ids, id);
                break;
            }
            }
            /* Unknown hosts join again, as imds do. */
            for (unsigned i = 0; i < 6; i++) {
                WireReply reply;
                Session *s = &rig->imds[i]->session;
                uint64_t last = rig->imds[i]->ids.next - 1;
                if (rig_replies(rig, s, last, &reply) && reply.status == STATUS_UNKNOWN_PEER)
                    imd_join(rig, rig->imds[i]);
            }
            if (step % 50 == 0) { /* the log is searched: keep it short */
                rig_pump(rig);
                rig->count = rig->read = 0;
            }
        }
        for (unsigned i = 0; i < 6; i++) {
            rig->imds[i]->deaf = rig->imds[i]->dumb = rig->imds[i]->dead = false;
            memset(rig->imds[i]->refuse, 0, sizeof rig->imds[i]->refuse);
            imd_join(rig, rig->imds[i]);
        }
        for (unsigned i = 0; i < 5; i++)
            rig->clients[i]->dead = true;
        rig_live(rig, 100);
        unsigned held = 0;
        for (unsigned i = 0; i < 6; i++) {
            for (unsigned k = 0; k < rig->imds[i]->count; k++)
                assert_true(rig->imds[i]->regions[k].flags & REGION_RELEASED);
            held += rig->imds[i]->count;
        }
        assert_int_equal(rig_stats(rig).regions, held);
        assert_int_equal(rig_stats(rig).clients, 0);
        assert_int_equal(rig_stats(rig).hosts, 6);
        rig_free(rig);
    }
}

/* ---- what the operator hears ----------------------------------------------------------------- */

TEST(events__name_who_comes_and_goes)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 1 << 20), *other = imd_up(rig, 1 << 20);
    FakeClient *c = client_new(rig), *dies = client_new(rig);
    OpOpen open = open_of(1, 4096, 0);
    uint8_t body[WIRE_BODY_MAX];
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    (void)client_alive(rig, dies);
    assert_string_equal(rig->events,
                        "host_joined(0) host_joined(0) client_came(0) client_came(0) ");
    rig->events[0] = '\0';
    (void)client_request(rig, c, OP_LEAVE, body, 0);
    (void)client_request(rig, c, OP_LEAVE, body, 0);
    assert_string_equal(rig->events, "client_left(2) ");
    rig->events[0] = '\0';
    dies->dead = c->dead = true;
    rig_live(rig, 100);
    assert_string_equal(rig->events, "client_lost(0) "); /* not who has left */
    rig->events[0] = '\0';
    imd->dead = true;
    rig_live(rig, 100);
    assert_string_equal(rig->events, "host_lost(0) ");
    rig->events[0] = '\0';
    imd_part(rig, other);
    imd_part(rig, other);
    assert_string_equal(rig->events, "host_left(0) ");
    other->dead = true;
    rig_live(rig, 100);
    assert_string_equal(rig->events, "host_left(0) "); /* nor a host that has left */
    assert_int_equal(rig_stats(rig).hosts, 0);
    rig_free(rig);
}
