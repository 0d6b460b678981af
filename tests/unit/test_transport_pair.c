/* SPDX-License-Identifier: MIT */
/* The in-process pair: what one end sends the other receives, bounded, with no network. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "usocket/transport.h"
#include "tests/lib/case.h"

static uint8_t in[4][TRANSPORT_RECV_MAX];

static int open_pair(void **state)
{
    Transport **ends = calloc(2, sizeof *ends);
    *state = ends;
    return ends ? transport_pair_open(ends) : -1;
}

static int close_pair(void **state)
{
    Transport **ends = *state;
    for (int i = 0; i < 2; i++)
        ends[i] = transport_close(ends[i]);
    free(ends);
    return 0;
}

static void send_text(Transport *from, const Addr *to, const char *text)
{
    struct iovec v = {(void *)text, strlen(text)};
    TransportSend s = {.to = to, .iov = &v, .iov_count = 1};
    assert_int_equal(from->ops->send(from, &s, 1), 0);
}

static int receive(Transport *t, TransportReceive *r, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        r[i] = (TransportReceive){.buf = in[i], .cap = sizeof in[i]};
    return t->ops->receive(t, r, count);
}

#define CASE(name) TEST_WITH(name, open_pair, close_pair)

CASE(send__reaches_the_other_end)
{
    Transport **e = *state;
    TransportReceive r[4];
    send_text(e[0], &e[1]->local, "one");
    send_text(e[0], &e[1]->local, "");
    send_text(e[1], &e[0]->local, "three");
    assert_int_equal(receive(e[1], r, 4), 2);
    assert_int_equal(r[0].len, 3);
    assert_memory_equal(r[0].buf, "one", 3);
    assert_true(addr_equal(&r[0].from, &e[0]->local));
    assert_int_equal(r[1].len, 0);
    assert_int_equal(receive(e[0], r, 4), 1);
    assert_memory_equal(r[0].buf, "three", 5);
}

CASE(send__to_nobody_is_lost)
{
    Transport **e = *state;
    TransportReceive r[1];
    Addr nobody = addr_sim(7, 0);
    send_text(e[0], &nobody, "lost");
    send_text(e[0], &e[0]->local, "lost");
    assert_int_equal(receive(e[0], r, 1), 0);
    assert_int_equal(receive(e[1], r, 1), 0);
}

CASE(fd__is_readable_while_something_waits)
{
    Transport **e = *state;
    TransportReceive r[1];
    assert_int_equal(transport_wait(e[1], 0), 0);
    send_text(e[0], &e[1]->local, "a");
    send_text(e[0], &e[1]->local, "b");
    assert_int_equal(transport_wait(e[1], UINT64_MAX), 1);
    assert_int_equal(receive(e[1], r, 1), 1);
    assert_int_equal(transport_wait(e[1], UINT64_MAX), 1);
    assert_int_equal(receive(e[1], r, 1), 1);
    assert_int_equal(transport_wait(e[1], 0), 0);
}

CASE(send__runs_arrive_joined)
{
    Transport **e = *state;
    static uint8_t bytes[100000];
    TransportReceive r[4];
    struct iovec v = {bytes, sizeof bytes};
    TransportSend s = {.to = &e[1]->local, .iov = &v, .iov_count = 1, .segment = 1000};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 1000);
    assert_int_equal(e[0]->ops->send(e[0], &s, 1), 0);
    assert_int_equal(receive(e[1], r, 4), 2);
    assert_int_equal(r[0].segment, 1000);
    assert_int_equal(r[0].len, 64000);
    assert_int_equal(r[1].len, 36000);
    assert_memory_equal(r[0].buf, bytes, 64000);
    assert_memory_equal(r[1].buf, bytes + 64000, 36000);
}

CASE(send__beyond_the_queue_is_lost)
{
    Transport **e = *state;
    TransportReceive r[4];
    int got = 0;
    for (int i = 0; i < TRANSPORT_PAIR_QUEUE + 10; i++)
        send_text(e[0], &e[1]->local, "x");
    for (int n; (n = receive(e[1], r, 4)) > 0;)
        got += n;
    assert_int_equal(got, TRANSPORT_PAIR_QUEUE);
}

CASE(close__leaves_the_other_end_usable)
{
    Transport **e = *state;
    TransportReceive r[1];
    send_text(e[0], &e[1]->local, "kept");
    Addr gone = e[0]->local;
    e[0] = transport_close(e[0]);
    send_text(e[1], &gone, "lost");
    assert_int_equal(receive(e[1], r, 1), 1);
    assert_int_equal(r[0].len, 4);
}
