/* SPDX-License-Identifier: MIT */
/* A transport with its buffers: what is collected goes out in order and by one call, what is too
 * long for that goes by itself behind it, and what a look brought is received once. */
#include <errno.h>
#include <string.h>

#include "tests/lib/case.h"
#include "usocket/batches.h"

enum { SENDS = 3, SEND_BYTES = 8, RECEIVES = 2, RECEIVED_MAX = 16 };

typedef struct Ends {
    Batches b; /* at pair[0] */
    Transport *pair[2];
    TransportOps ops; /* of pair[0]: counts */
    const TransportOps *real;
    unsigned calls;
    uint8_t first[RECEIVED_MAX]; /* byte of each datagram that reached the other end */
    size_t lens[RECEIVED_MAX];
    unsigned count;
} Ends;

static Ends e;

static int counted_send(Transport *t, const TransportSend *sends, unsigned count)
{
    e.calls++;
    return e.real->send(t, sends, count);
}

static int failing_send(Transport *t, const TransportSend *sends, unsigned count)
{
    return -EBADF;
}

static void open_ends(void)
{
    const BatchesRoom room = {.receives = RECEIVES,
                              .receive_bytes = TRANSPORT_RECV_MAX,
                              .sends = SENDS,
                              .send_bytes = SEND_BYTES};
    e = (Ends){.calls = 0};
    assert_int_equal(transport_pair_open(e.pair), 0);
    e.real = e.pair[0]->ops;
    e.ops = *e.real;
    e.ops.send = counted_send;
    e.pair[0]->ops = &e.ops;
    assert_int_equal(batches_open(&e.b, e.pair[0], &room), 0);
}

static void close_ends(void)
{
    batches_close(&e.b);
    batches_close(&e.b); /* harmless */
    (void)transport_close(e.pair[1]);
}

static int put(uint8_t first, size_t len)
{
    uint8_t bytes[2 * SEND_BYTES] = {first};
    return batches_put(&e.b, &e.pair[1]->local, bytes, len);
}

/* What has reached the other end. */
static void other_receives(void)
{
    static uint8_t buf[TRANSPORT_RECV_MAX];
    TransportReceive r = {.buf = buf, .cap = sizeof buf};
    while (e.pair[1]->ops->receive(e.pair[1], &r, 1) == 1) {
        assert_true(e.count < RECEIVED_MAX);
        e.first[e.count] = buf[0];
        e.lens[e.count++] = r.len;
    }
}

static void other_sends(uint8_t first)
{
    const struct iovec iov = {&first, 1};
    const TransportSend send = {.to = &e.pair[0]->local, .iov = &iov, .iov_count = 1};
    assert_int_equal(e.pair[1]->ops->send(e.pair[1], &send, 1), 0);
}

TEST(put__is_sent_by_one_call)
{
    open_ends();
    for (uint8_t i = 0; i < SENDS; i++)
        assert_int_equal(put(i, SEND_BYTES), 0);
    assert_int_equal(e.calls, 0);
    assert_int_equal(batches_flush(&e.b), 0);
    assert_int_equal(batches_flush(&e.b), 0); /* nothing is left */
    assert_int_equal(e.calls, 1);
    other_receives();
    assert_int_equal(e.count, SENDS);
    for (uint8_t i = 0; i < SENDS; i++)
        assert_int_equal(e.first[i], i);
    close_ends();
}

TEST(put__without_room_sends_what_is_collected)
{
    open_ends();
    for (uint8_t i = 0; i <= SENDS; i++)
        assert_int_equal(put(i, 1), 0);
    assert_int_equal(e.calls, 1);
    other_receives();
    assert_int_equal(e.count, SENDS);
    assert_int_equal(batches_flush(&e.b), 0);
    other_receives();
    assert_int_equal(e.count, SENDS + 1);
    assert_int_equal(e.first[SENDS], SENDS);
    close_ends();
}

TEST(put__of_what_is_longer_goes_by_itself_in_order)
{
    open_ends();
    assert_int_equal(put(1, 1), 0);
    assert_int_equal(put(2, SEND_BYTES + 1), 0);
    assert_int_equal(e.calls, 2);
    other_receives();
    assert_int_equal(e.count, 2);
    assert_int_equal(e.first[0], 1);
    assert_int_equal(e.first[1], 2);
    assert_int_equal(e.lens[1], SEND_BYTES + 1);
    close_ends();
}

TEST(next__is_kept_only_if_asked_for)
{
    int res;
    open_ends();
    batches_next(&e.b, &res)[0] = 1;
    assert_int_equal(res, 0);
    batches_next(&e.b, &res)[0] = 2; /* in its place */
    batches_keep(&e.b, &e.pair[1]->local, 4);
    assert_int_equal(batches_flush(&e.b), 0);
    other_receives();
    assert_int_equal(e.count, 1);
    assert_int_equal(e.first[0], 2);
    assert_int_equal(e.lens[0], 4);
    close_ends();
}

TEST(send__its_failure_is_returned_and_nothing_kept)
{
    int res;
    open_ends();
    e.ops.send = failing_send;
    for (uint8_t i = 0; i < SENDS; i++)
        assert_int_equal(put(i, 1), 0);
    (void)batches_next(&e.b, &res);
    assert_int_equal(res, -EBADF);
    assert_int_equal(batches_flush(&e.b), 0);
    assert_int_equal(put(1, SEND_BYTES + 1), -EBADF);
    close_ends();
}

TEST(receive__what_a_look_brought_comes_once)
{
    open_ends();
    assert_false(batches_look(&e.b));
    assert_int_equal(batches_receive(&e.b), 0);
    for (uint8_t i = 1; i <= RECEIVES + 1; i++)
        other_sends(i);
    assert_true(batches_look(&e.b));
    assert_int_equal(batches_receive(&e.b), RECEIVES);
    assert_int_equal(e.b.receives[0].buf[0], 1);
    assert_int_equal(e.b.receives[1].buf[0], 2);
    assert_int_equal(batches_receive(&e.b), 1);
    assert_int_equal(e.b.receives[0].buf[0], 3);
    assert_int_equal(batches_receive(&e.b), 0);
    close_ends();
}
