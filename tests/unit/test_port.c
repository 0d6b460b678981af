/* SPDX-License-Identifier: MIT */
/* Two ports on an in-process pair: sessions come up by themselves, more messages than the queue
 * holds arrive in order, nothing is sent on a session that is not up, and what goes wrong becomes
 * one event. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/os.h"
#include "base/time.h"
#include "proto/endpoint_internal.h"
#include "tests/lib/case.h"
#include "usocket/port.h"

typedef struct End {
    Port port;
    Session *session; /* the initiator's; the responder's last */
    unsigned ups, closed, messages;
    uint8_t types[3 * BATCHES_SENDS_MAX];
    uint32_t numbers[3 * BATCHES_SENDS_MAX];
    uint64_t pong_epoch;
    unsigned events;
    PortEvent event; /* the last one */
} End;

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    End *e = ctx;
    WirePing ping;
    e->session = s;
    assert_true(e->messages < sizeof e->types);
    e->types[e->messages] = type;
    if (type == WIRE_PING)
        port_pong(&e->port, s, payload, len, 42);
    else if (type == WIRE_PONG && wire_ping_decode(payload, len, &ping) == 0)
        e->pong_epoch = ping.epoch;
    else
        e->numbers[e->messages] = get_u32(payload);
    e->messages++;
}

static void on_up(void *ctx, Session *s, uint64_t now_ns)
{
    ((End *)ctx)->ups++;
}

static void on_closed(void *ctx, Session *s)
{
    ((End *)ctx)->closed++;
}

static void on_event(void *ctx, const PortEvent *event)
{
    End *e = ctx;
    e->events++;
    e->event = *event;
}

static const PortOps ops = {
    .message = on_message, .up = on_up, .closed = on_closed, .event = on_event};

static void open_small(End e[2], Transport *pair[2], const BatchesRoom *room)
{
    assert_int_equal(transport_pair_open(pair), 0);
    for (unsigned i = 0; i < 2; i++) {
        const EndpointConfig c = {.cluster = 3,
                                  .role = i ? ROLE_CMD : ROLE_TOOL,
                                  .self = {{(uint8_t)(i + 1)}},
                                  .sessions_max = 1,
                                  .half_open_max = 2,
                                  .hello_retry_ns = NS_PER_S};
        const PortConfig config = {.endpoint = &c, .env = os_env(), .room = *room};
        e[i] = (End){.ups = 0};
        assert_int_equal(port_open(&e[i].port, pair[i], &config, &ops, &e[i]), 0);
    }
}

static void open_ends(End e[2], Transport *pair[2])
{
    open_small(e, pair, &(BatchesRoom){.receives = 0});
}

static void close_ends(End e[2])
{
    for (unsigned i = 0; i < 2; i++) {
        port_close(&e[i].port);
        port_close(&e[i].port); /* harmless */
    }
}

/* Datagrams go to and fro until none is left. */
static void settle(End e[2])
{
    unsigned n;
    do {
        n = 0;
        for (unsigned i = 0; i < 2; i++) {
            port_expire(&e[i].port, os_now_ns());
            n += port_receive(&e[i].port, os_now_ns());
        }
    } while (n);
}

static void send_number(End *e, uint32_t number)
{
    uint8_t payload[WIRE_PAYLOAD_MAX] = {0};
    put_u32(payload, number);
    port_message(&e->port, e->session, WIRE_REQUEST, payload, 4 + number % 1000);
}

static void many_arrive(const BatchesRoom *room)
{
    static End e[2];
    Transport *pair[2];
    open_small(e, pair, room);
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    send_number(&e[0], 99); /* not up yet: lost */
    settle(e);
    assert_int_equal(e[0].ups, 1);
    assert_int_equal(e[1].messages, 0);
    for (uint32_t i = 0; i < 2 * BATCHES_SENDS_MAX + 5; i++)
        send_number(&e[0], i);
    settle(e);
    assert_int_equal(e[1].messages, 2 * BATCHES_SENDS_MAX + 5);
    for (uint32_t i = 0; i < e[1].messages; i++)
        assert_int_equal(e[1].numbers[i], i);
    close_ends(e);
}

TEST(message__many_arrive_in_order)
{
    many_arrive(&(BatchesRoom){.receives = 0});
}

TEST(room__as_little_as_there_may_be)
{
    many_arrive(&(BatchesRoom){.receives = 1, .sends = 1});
}

TEST(room__is_what_a_call_brings)
{
    static End e[2];
    Transport *pair[2];
    open_small(e, pair, &(BatchesRoom){.receives = 3});
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    settle(e);
    for (uint32_t i = 0; i < 5; i++)
        send_number(&e[0], i);
    port_flush(&e[0].port);
    assert_int_equal(port_receive(&e[1].port, os_now_ns()), 3);
    assert_int_equal(e[1].messages, 3);
    assert_int_equal(port_receive(&e[1].port, os_now_ns()), 2);
    assert_int_equal(e[1].messages, 5);
    close_ends(e);
}

TEST(pong__answers_pings_only)
{
    static End e[2];
    Transport *pair[2];
    uint8_t payload[WIRE_PAYLOAD_MAX];
    const WirePing ping = {.nonce = 7};
    open_ends(e, pair);
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    settle(e);
    size_t len = wire_ping_encode(&ping, payload);
    port_message(&e[0].port, e[0].session, WIRE_PING, payload, len - 1); /* malformed */
    settle(e);
    assert_int_equal(e[0].messages, 0);
    port_message(&e[0].port, e[0].session, WIRE_PING, payload, len);
    settle(e);
    assert_int_equal(e[0].messages, 1);
    assert_int_equal(e[0].types[0], WIRE_PONG);
    assert_int_equal(e[0].pong_epoch, 42);
    close_ends(e);
}

static int send_fails(Transport *t, const TransportSend *sends, unsigned count)
{
    return -EBADF;
}

static int receive_fails(Transport *t, TransportReceive *receives, unsigned count)
{
    return -ENOTSOCK;
}

TEST(transport__that_fails_makes_events)
{
    static End e[2];
    static BurstScratch scratch;
    Transport *pair[2];
    const uint8_t payload[4] = {0};
    open_ends(e, pair);
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    settle(e);
    TransportOps failing = *pair[0]->ops;
    failing.send = send_fails;
    failing.receive = receive_fails;
    pair[0]->ops = &failing;
    send_number(&e[0], 1);
    port_flush(&e[0].port);
    assert_int_equal(e[0].events, 1);
    assert_int_equal(e[0].event.kind, PORT_SEND_FAILED);
    assert_int_equal(e[0].event.error, EBADF);
    port_large(&e[0].port, e[0].session, WIRE_REQUEST, payload, sizeof payload, &scratch);
    assert_int_equal(e[0].events, 2);
    assert_int_equal(port_receive(&e[0].port, os_now_ns()), 0);
    assert_int_equal(e[0].events, 3);
    assert_int_equal(e[0].event.kind, PORT_RECEIVE_FAILED);
    assert_int_equal(e[0].event.error, ENOTSOCK);
    close_ends(e);
}

TEST(large__is_sent_ahead_of_the_queue)
{
    static End e[2];
    static BurstScratch scratch;
    Transport *pair[2];
    static const uint8_t payload[4 * WIRE_PAYLOAD_MAX] = {0};
    open_ends(e, pair);
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    settle(e);
    send_number(&e[0], 1);
    port_large(&e[0].port, e[0].session, WIRE_PROBE, payload, sizeof payload, &scratch);
    settle(e);
    assert_int_equal(e[1].messages, 2);
    assert_int_equal(e[1].types[0], WIRE_PROBE);
    assert_int_equal(e[1].types[1], WIRE_REQUEST);
    close_ends(e);
}

TEST(closed__the_owner_is_informed)
{
    static End e[2];
    Transport *pair[2];
    const Addr nobody = addr_sim(9, 9);
    open_ends(e, pair);
    e[0].session = endpoint_connect(e[0].port.endpoint, &pair[1]->local, os_now_ns());
    settle(e);
    /* The table holds one session: another peer takes its place. */
    assert_non_null(endpoint_connect(e[0].port.endpoint, &nobody, os_now_ns() + NS_PER_S));
    assert_int_equal(e[0].closed, 1);
    close_ends(e);
    assert_int_equal(e[0].closed, 1); /* not at the end */
}

/* A datagram of @h, without a seal, from e[1]'s transport to e[0]. */
static void send_raw(Transport *pair[2], const WireHeader *h)
{
    uint8_t bytes[WIRE_HEADER_SIZE];
    const struct iovec iov = {bytes, sizeof bytes};
    const TransportSend send = {.to = &pair[0]->local, .iov = &iov, .iov_count = 1};
    wire_header_encode(h, bytes);
    assert_int_equal(pair[1]->ops->send(pair[1], &send, 1), 0);
}

/* Once in a while, and only of what has come since. */
TEST(complaint__is_not_repeated_without_reason)
{
    static End e[2];
    Transport *pair[2];
    open_ends(e, pair);
    Port *p = &e[0].port;
    uint64_t now = os_now_ns();
    const WireHeader foreign = {.version = WIRE_VERSION, .type = WIRE_PING, .cluster = 4, .tag = 1};
    send_raw(pair, &foreign);
    (void)port_receive(p, now);
    assert_int_equal(e[0].events, 1);
    assert_int_equal(e[0].event.kind, PORT_CLUSTER);
    assert_int_equal(e[0].event.datagrams, 1);
    (void)port_receive(p, now + 60 * NS_PER_S);
    assert_int_equal(e[0].events, 1);
    send_raw(pair, &foreign);
    (void)port_receive(p, now + 61 * NS_PER_S);
    assert_int_equal(e[0].events, 2);
    send_raw(pair, &foreign);
    (void)port_receive(p, now + 62 * NS_PER_S); /* too soon */
    assert_int_equal(e[0].events, 2);
    close_ends(e);
}

TEST(complaint__of_another_version_says_which)
{
    static End e[2];
    Transport *pair[2];
    open_ends(e, pair);
    send_raw(pair, &(WireHeader){.version = WIRE_VERSION + 1, .type = WIRE_PING, .cluster = 3});
    (void)port_receive(&e[0].port, os_now_ns());
    assert_int_equal(e[0].events, 1);
    assert_int_equal(e[0].event.kind, PORT_VERSION);
    assert_int_equal(e[0].event.version, WIRE_VERSION + 1);
    close_ends(e);
}

TEST(complaint__of_another_key_says_who)
{
    static End e[2];
    Transport *pair[2];
    const EndpointConfig keyed = {
        .cluster = 3, .keys = {{{1}}}, .keys_count = 1, .sessions_max = 1};
    const PortConfig config = {.endpoint = &keyed, .env = os_env()};
    assert_int_equal(transport_pair_open(pair), 0);
    assert_int_equal(port_open(&e[0].port, pair[0], &config, &ops, &e[0]), 0);
    send_raw(pair, &(WireHeader){.version = WIRE_VERSION, .type = WIRE_PING, .cluster = 3});
    (void)port_receive(&e[0].port, os_now_ns());
    assert_int_equal(e[0].events, 1);
    assert_int_equal(e[0].event.kind, PORT_DENIED);
    assert_true(addr_equal(&e[0].event.address, &pair[1]->local));
    port_close(&e[0].port);
    (void)transport_close(pair[1]);
}

/* HELLOs with our key, more than sessions are made for, come from one who repeats himself. */
TEST(complaint__of_too_many_sessions_says_who)
{
    static End e[2];
    Transport *pair[2];
    const EndpointConfig keyed = {.cluster = 3,
                                  .keys = {{{1}}},
                                  .keys_count = 1,
                                  .role = ROLE_CLIENT,
                                  .sessions_max = 4,
                                  .half_open_max = 2};
    const PortConfig config = {.endpoint = &keyed, .env = os_env()};
    const uint64_t now = os_now_ns();
    assert_int_equal(transport_pair_open(pair), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(port_open(&e[i].port, pair[i], &config, &ops, &e[i]), 0);
    for (unsigned i = 0; i <= HELLO_BURST; i++) {
        assert_int_equal(e[0].events, 0);
        Session *s = endpoint_connect(e[1].port.endpoint, &pair[0]->local, now);
        port_expire(&e[1].port, now);
        endpoint_forget(e[1].port.endpoint, s);
        (void)port_receive(&e[0].port, now);
    }
    assert_int_equal(e[0].events, 1);
    assert_int_equal(e[0].event.kind, PORT_LIMITED);
    assert_int_equal(e[0].event.datagrams, 1);
    assert_true(addr_equal(&e[0].event.address, &pair[1]->local));
    for (unsigned i = 0; i < 2; i++)
        port_close(&e[i].port);
}

/* Whether anything leaves this host; the pair's ends count nothing by themselves. */
TEST(way__is_noticed_when_it_goes_and_comes)
{
    static End e[2];
    Transport *pair[2];
    open_ends(e, pair);
    Port *p = &e[0].port;
    uint64_t now = os_now_ns();
    port_expire(p, now);
    assert_false(port_is_cut_off(p));
    pair[0]->astray++;
    pair[0]->sent++; /* another peer is reached */
    port_expire(p, ++now);
    assert_false(port_is_cut_off(p));
    pair[0]->astray++;
    pair[0]->astray_error = 5;
    port_expire(p, ++now);
    assert_true(port_is_cut_off(p));
    assert_int_equal(e[0].event.kind, PORT_CUT_OFF);
    assert_int_equal(e[0].event.error, 5);
    port_expire(p, ++now); /* nothing was sent */
    assert_true(port_is_cut_off(p));
    pair[0]->sent++;
    port_expire(p, ++now);
    assert_false(port_is_cut_off(p));
    assert_int_equal(e[0].event.kind, PORT_REACHES_AGAIN);
    assert_int_equal(e[0].events, 2);
    pair[0]->astray++;
    port_expire(p, ++now); /* a way that comes and goes is no news each time */
    assert_int_equal(e[0].events, 2);
    pair[0]->astray++;
    now += 10 * NS_PER_S;
    port_expire(p, now);
    assert_int_equal(e[0].event.kind, PORT_CUT_OFF);
    assert_int_equal(e[0].events, 3);
    close_ends(e);
}

TEST(way__of_an_address_that_comes_late)
{
    static End e[2];
    Transport *pair[2];
    assert_int_equal(transport_pair_open(pair), 0);
    const EndpointConfig c = {.cluster = 3, .role = ROLE_TOOL, .self = {{1}}, .sessions_max = 1};
    const PortConfig config = {.endpoint = &c, .env = os_env()};
    pair[0]->late = true;
    assert_int_equal(port_open(&e[0].port, pair[0], &config, &ops, &e[0]), 0);
    assert_true(port_is_cut_off(&e[0].port));
    pair[0]->sent++;
    port_expire(&e[0].port, os_now_ns());
    assert_false(port_is_cut_off(&e[0].port));
    port_close(&e[0].port);
    (void)transport_close(pair[1]);
}
