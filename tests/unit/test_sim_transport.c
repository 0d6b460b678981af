/* SPDX-License-Identifier: MIT */
/* The simulation's transport: runs are sent datagram by datagram and come joined, a call brings no
 * more than was asked for, and what comes while nobody runs waits, in a bounded queue. */
#include <errno.h>

#include "tests/lib/case.h"
#include "tests/sim/sim_transport.h"

enum { MESSAGES = 4, BYTES = 1000, DATAGRAM_MAX = 1500 };

typedef struct End {
    SimTransport t;
    SimTransports all;
    uint32_t life;
    unsigned calls, per_call; /* messages that the owner takes in a call */
    unsigned messages;
    size_t lens[512];
    uint16_t segments[512];
    uint8_t first[512];
} End;

static void ready(void *ctx)
{
    static uint8_t bufs[MESSAGES][TRANSPORT_RECV_MAX];
    End *e = ctx;
    TransportReceive r[MESSAGES];
    for (unsigned i = 0; i < MESSAGES; i++)
        r[i] = (TransportReceive){.buf = bufs[i], .cap = sizeof bufs[i]};
    int n = e->t.base.ops->receive(&e->t.base, r, e->per_call);
    e->calls++;
    for (int i = 0; i < n; i++, e->messages++) {
        e->lens[e->messages] = r[i].len;
        e->segments[e->messages] = r[i].segment;
        e->first[e->messages] = bufs[i][0];
    }
}

static void open_end(End *e, SimNet *net, uint16_t host, unsigned per_call)
{
    *e = (End){.per_call = per_call};
    sim_rng_init(&e->all.rng, 1, host);
    sim_transport_open(&e->t, &(SimTransportConfig){.net = net,
                                                    .all = &e->all,
                                                    .host = host,
                                                    .port = 1,
                                                    .datagram_max = DATAGRAM_MAX,
                                                    .life = &e->life,
                                                    .ready = ready,
                                                    .ctx = e});
}

static SimNet *open_ends(End e[2], unsigned per_call)
{
    SimNet *net = simnet_new(1, 0);
    simnet_link(net, 0, 1)->delay_ns = NS_PER_US;
    open_end(&e[0], net, 0, per_call);
    open_end(&e[1], net, 1, per_call);
    return net;
}

static void run(SimNet *net)
{
    while (simnet_step(net))
        ;
}

static void close_ends(End e[2], SimNet *net)
{
    for (unsigned i = 0; i < 2; i++)
        e[i].t.base.ops->close(&e[i].t.base);
    simnet_free(net);
}

/* A run of @len bytes in datagrams of @segment; 0: one datagram. */
static void send_bytes(End e[2], const uint8_t *bytes, size_t len, uint16_t segment)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, len};
    const TransportSend send = {
        .to = &e[1].t.base.local, .iov = &iov, .iov_count = 1, .segment = segment};
    assert_int_equal(e[0].t.base.ops->send(&e[0].t.base, &send, 1), 0);
}

TEST(run__is_sent_by_datagrams_and_comes_joined)
{
    static End e[2];
    static uint8_t bytes[2 * BYTES + 10];
    SimNet *net = open_ends(e, MESSAGES);
    sim_transport_hold(&e[1].t, true);
    send_bytes(e, bytes, sizeof bytes, BYTES);
    bytes[0] = 1;
    send_bytes(e, bytes, BYTES, 0); /* the one before was shorter: the run is at its end */
    run(net);
    assert_int_equal(simnet_counters(net)->sent, 4);
    assert_int_equal(e[1].calls, 0);
    sim_transport_hold(&e[1].t, false);
    sim_transport_look(&e[1].t);
    assert_int_equal(e[1].calls, 1);
    assert_int_equal(e[1].messages, 2);
    assert_int_equal(e[1].lens[0], sizeof bytes);
    assert_int_equal(e[1].segments[0], BYTES);
    assert_int_equal(e[1].lens[1], BYTES);
    assert_int_equal(e[1].segments[1], 0);
    assert_int_equal(e[1].first[1], 1);
    close_ends(e, net);
}

TEST(run__in_pieces_is_put_together)
{
    static End e[2];
    uint8_t head[2] = {7, 8}, body[5] = {0};
    SimNet *net = open_ends(e, MESSAGES);
    const struct iovec iov[] = {{head, 1}, {body, 3}, {head + 1, 1}, {body + 3, 2}};
    const TransportSend send = {
        .to = &e[1].t.base.local, .iov = iov, .iov_count = 4, .iov_per_segment = 2, .segment = 4};
    assert_int_equal(e[0].t.base.ops->send(&e[0].t.base, &send, 1), 0);
    run(net);
    assert_int_equal(e[1].messages, 2);
    assert_int_equal(e[1].lens[0], 4);
    assert_int_equal(e[1].first[0], 7);
    assert_int_equal(e[1].lens[1], 3);
    assert_int_equal(e[1].first[1], 8);
    close_ends(e, net);
}

TEST(receive__brings_no_more_than_asked_for_and_then_the_rest)
{
    static End e[2];
    uint8_t bytes[MESSAGES + 1] = {0};
    SimNet *net = open_ends(e, 2);
    sim_transport_hold(&e[1].t, true);
    for (size_t len = 1; len <= MESSAGES + 1; len++) /* longer each time: none is joined */
        send_bytes(e, bytes, len, 0);
    run(net);
    sim_transport_hold(&e[1].t, false);
    sim_transport_look(&e[1].t);
    assert_int_equal(e[1].messages, 2);
    run(net);
    assert_int_equal(e[1].calls, 3);
    assert_int_equal(e[1].messages, MESSAGES + 1);
    close_ends(e, net);
}

TEST(queue__is_bounded)
{
    static End e[2];
    uint8_t byte = 0;
    SimNet *net = open_ends(e, 1);
    sim_transport_hold(&e[1].t, true);
    for (unsigned i = 0; i < SIM_TRANSPORT_QUEUE + 3; i++)
        send_bytes(e, &byte, 1, 0);
    run(net);
    assert_int_equal(simnet_counters(net)->overrun, 3);
    close_ends(e, net);
}

TEST(send__of_what_is_too_long_is_lost)
{
    static End e[2];
    static uint8_t bytes[DATAGRAM_MAX + 1];
    SimNet *net = open_ends(e, 1);
    send_bytes(e, bytes, sizeof bytes, 0);
    send_bytes(e, bytes, sizeof bytes - 1, 0);
    run(net);
    assert_int_equal(e[1].messages, 1);
    assert_int_equal(e[1].lens[0], DATAGRAM_MAX);
    close_ends(e, net);
}

TEST(part__the_rest_comes_with_the_next_call)
{
    static End e[2];
    static uint8_t bytes[20 * BYTES];
    SimNet *net = open_ends(e, MESSAGES);
    e[1].all.part_ppm = 1000000;
    sim_transport_hold(&e[1].t, true);
    send_bytes(e, bytes, sizeof bytes, BYTES);
    run(net);
    sim_transport_hold(&e[1].t, false);
    sim_transport_look(&e[1].t);
    run(net);
    size_t len = 0;
    for (unsigned i = 0; i < e[1].messages; i++)
        len += e[1].lens[i];
    assert_int_equal(len, sizeof bytes);
    assert_true(e[1].calls > 1);
    assert_int_equal(e[1].all.parts, e[1].calls - 1);
    close_ends(e, net);
}

TEST(full__what_is_left_of_the_call_is_dropped)
{
    static End e[2];
    static uint8_t bytes[20 * BYTES];
    SimNet *net = open_ends(e, MESSAGES);
    e[0].all.full_ppm = 1000000;
    send_bytes(e, bytes, sizeof bytes, BYTES);
    run(net);
    assert_true(e[0].all.dropped > 0);
    assert_int_equal(e[0].all.dropped + simnet_counters(net)->sent, 20);
    assert_int_equal(e[0].t.base.sent, 1);
    close_ends(e, net);
}

TEST(no_route__sends_go_astray)
{
    static End e[2];
    const uint8_t byte = 0;
    SimNet *net = open_ends(e, MESSAGES);
    e[0].all.no_route[0] = 1;
    send_bytes(e, &byte, 1, 0);
    assert_int_equal(e[0].t.base.astray, 1);
    assert_int_equal(e[0].t.base.astray_error, ENETUNREACH);
    assert_int_equal(e[0].t.base.sent, 0);
    e[0].all.no_route[0] = 0;
    send_bytes(e, &byte, 1, 0);
    assert_int_equal(e[0].t.base.sent, 1);
    run(net);
    assert_int_equal(e[1].messages, 1);
    close_ends(e, net);
}

TEST(late__a_look_brings_what_came_meanwhile)
{
    static End e[2];
    const uint8_t byte = 0;
    SimNet *net = open_ends(e, MESSAGES);
    e[1].all.look_late_ns = NS_PER_S;
    for (unsigned i = 0; i < 3; i++)
        send_bytes(e, &byte, 1, 0);
    run(net);
    assert_int_equal(e[1].calls, 1);
    assert_int_equal(e[1].lens[0], 3);
    assert_true(simnet_now(net) > NS_PER_MS);
    close_ends(e, net);
}
