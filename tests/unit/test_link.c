/* SPDX-License-Identifier: MIT */
/* How a link waits. Nothing here depends on how long a wait takes, only that it is not too short,
 * and that what comes ends it: a wait that misses that runs into the test's own time limit. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "libdodo/link.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "tests/lib/case.h"

static Client *client;
static Link *the_link;

static int set_up(void **state)
{
    static const Settings settings = {.receive_bytes = 1 << 20, .family = ADDR_IP4};
    static const Id128 self = {.bytes = {1}};
    const ClientConfig config = {.credit_cap_bytes = 1 << 20, .regions_max = 1};
    const ClientHooks hooks = {.lock = NULL};
    const Env env = os_env();
    (void)state;
    client = client_new(&config, &env, &hooks);
    the_link = client ? link_new(client, &settings, &self, 1, false) : NULL;
    return the_link ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    the_link = link_free(the_link);
    client = client_free(client);
    return 0;
}

/* Waits until @ns from now: never less. */
static void wait_for_ns(uint64_t ns)
{
    uint64_t deadline = os_now_ns() + ns;
    link_wait(the_link, -1, deadline);
    assert_true(os_now_ns() >= deadline);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(link_wait__lasts_to_the_deadline)
{
    static const uint64_t us[] = {1, 3000, 100, 0, 1000, 900, 2000, 5000, 60, 60, 60, 700};
    assert_true(the_link->timer_fd >= 0);
    for (size_t i = 0; i < sizeof us / sizeof *us; i++)
        wait_for_ns(us[i] * NS_PER_US);
}

/* One that took longer than was wanted is followed by waits that end in time. */
CASE(link_doze__not_soon_after_one_that_was_too_long)
{
    const uint64_t later = os_now_ns() + 3600 * NS_PER_S;
    assert_true(link_may_doze(the_link, later));
    link_doze(the_link, TIME_NEVER);
    assert_int_equal(the_link->doze_from_ns, 0);
    link_doze(the_link, 1); /* which was long ago */
    assert_true(the_link->doze_from_ns > 0);
    the_link->doze_from_ns = later;
    assert_false(link_may_doze(the_link, later));
    the_link->doze_from_ns = 1;
    assert_true(link_may_doze(the_link, later));
    assert_false(link_may_doze(the_link, os_now_ns()));
}

/* Who polls, measures whether that pays. Where nobody waits for the answer it would only cost. */
CASE(link_await__does_not_poll_for_what_nobody_waits_for)
{
    for (unsigned patient = 0; patient < 2; patient++) {
        unsigned waits = the_link->trial.waits;
        polling_init(&the_link->polling, NS_PER_MS);
        the_link->patient = patient;
        link_await(the_link, os_now_ns() + NS_PER_MS);
        assert_int_equal(the_link->trial.waits - waits, patient ? 0 : 1);
    }
}

/* The timer of a wait that ended early rings during the next: that one goes on. */
CASE(link_wait__an_earlier_waits_timer_does_not_end_it)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    assert_true(fd >= 0);
    while (the_link->rings_ns == 0) /* where the machine is so busy that the time is over before */
        link_wait(the_link, fd, os_now_ns() + 2 * NS_PER_MS);
    uint64_t rings = the_link->rings_ns, deadline;
    do { /* likewise: all of it in the 5 ms */
        deadline = (rings > os_now_ns() ? rings : os_now_ns()) + 5 * NS_PER_MS;
        link_wait(the_link, -1, deadline);
        assert_true(os_now_ns() >= deadline);
    } while (the_link->rings_ns == rings);
    close(fd);
}

/* It is not set again for each wait: that is what it is there for. */
CASE(link_wait__a_timer_that_rings_in_time_stays)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    uint64_t deadline = os_now_ns() + 3600 * NS_PER_S;
    link_wait(the_link, fd, deadline);
    assert_int_equal(the_link->rings_ns, deadline);
    link_wait(the_link, fd, deadline + NS_PER_S);
    assert_int_equal(the_link->rings_ns, deadline);
    link_wait(the_link, fd, deadline - NS_PER_S);
    assert_int_equal(the_link->rings_ns, deadline - NS_PER_S);
    close(fd);
}

/* An alarm that was put off does not count as set. */
CASE(link_alarm__rings_again_after_it_was_put_off)
{
    struct itimerspec set;
    link_alarm(the_link, os_now_ns() + 3600 * NS_PER_S);
    link_alarm(the_link, TIME_NEVER);
    assert_int_equal(timerfd_gettime(the_link->timer_fd, &set), 0);
    assert_int_equal(set.it_value.tv_sec, 0);
    link_alarm(the_link, os_now_ns() + 7200 * NS_PER_S);
    assert_int_equal(timerfd_gettime(the_link->timer_fd, &set), 0);
    assert_true(set.it_value.tv_sec > 0);
}

CASE(link_wait__without_a_timer)
{
    close(the_link->timer_fd);
    the_link->timer_fd = -1;
    wait_for_ns(500 * NS_PER_US);
    wait_for_ns(100 * NS_PER_US);
}

CASE(link_wait__a_datagram_ends_it)
{
    Transport *other;
    Addr local = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}}, to = local;
    struct iovec iov = {(char[]){"x"}, 1};
    assert_int_equal(transport_udp_open(&local, NULL, &other), 0);
    to.port = the_link->batches.transport->local.port;
    TransportSend send = {.to = &to, .iov = &iov, .iov_count = 1};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(other->ops->send(other, &send, 1), 0);
        link_wait(the_link, -1, i == 0 ? TIME_NEVER : os_now_ns() + 3600 * NS_PER_S);
        link_receive(the_link);
    }
    transport_close(other);
}

/* A member with the key could say that it is a host, and say good-bye in that host's name. */
CASE(link__takes_no_session_from_others)
{
    Transport *other;
    Addr local = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}}, to = local;
    const Env env = os_env();
    const EndpointConfig config = {
        .role = ROLE_IMD, .self = {{9}}, .epoch = 5, .sessions_max = 1, .hello_retry_ns = NS_PER_S};
    uint8_t hello[512];
    struct iovec iov = {hello, 0};
    assert_int_equal(transport_udp_open(&local, NULL, &other), 0);
    to.port = the_link->batches.transport->local.port;
    Endpoint *e = endpoint_new(&config, &env);
    assert_non_null(e);
    assert_non_null(endpoint_connect(e, &to, os_now_ns()));
    iov.iov_len = endpoint_output(e, hello, sizeof hello, &to, os_now_ns());
    assert_true(iov.iov_len > 0);
    TransportSend send = {.to = &to, .iov = &iov, .iov_count = 1};
    assert_int_equal(other->ops->send(other, &send, 1), 0);
    const EndpointCounters *count = endpoint_counters(the_link->channel->endpoint);
    while (count->hello_refused == 0 && transport_wait(other, 0) == 0) {
        link_wait(the_link, -1, TIME_NEVER);
        link_receive(the_link);
    }
    assert_int_equal(count->hello_refused, 1);
    assert_int_equal(transport_wait(other, 0), 0); /* on loopback an answer would be here */
    e = endpoint_free(e);
    transport_close(other);
}

/* A session of the link with a host that is a socket of ours. */
static Session *session_with(Transport *other, Endpoint *host)
{
    Endpoint *e = the_link->channel->endpoint;
    static uint8_t out[TRANSPORT_RECV_MAX];
    TransportReceive r = {.buf = out, .cap = sizeof out};
    struct iovec iov = {out, 0};
    EndpointInput in;
    Addr to;
    Session *session = endpoint_connect(e, &other->local, os_now_ns());
    assert_non_null(session);
    iov.iov_len = endpoint_output(e, out, sizeof out, &to, os_now_ns());
    TransportSend hello = {.to = &to, .iov = &iov, .iov_count = 1};
    assert_int_equal(the_link->batches.transport->ops->send(the_link->batches.transport, &hello, 1),
                     0);
    assert_int_equal(other->ops->receive(other, &r, 1), 1);
    (void)endpoint_input(host, &r.from, r.buf, r.len, os_now_ns(), &in);
    struct iovec answer = {in.reply, in.reply_len};
    TransportSend send = {.to = &r.from, .iov = &answer, .iov_count = 1};
    assert_int_equal(other->ops->send(other, &send, 1), 0);
    link_wait(the_link, -1, TIME_NEVER);
    assert_true(link_receive(the_link));
    assert_true(session->up);
    return session;
}

/* What the core sends before a burst is under way before it, as repeated segments before new ones.
 */
CASE(link__sends_in_the_cores_order)
{
    static uint8_t data[4000], got[TRANSPORT_RECV_MAX];
    Transport *other;
    Burst burst;
    Addr local = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    const Env env = os_env();
    const EndpointConfig config = {.role = ROLE_IMD,
                                   .self = {{9}},
                                   .epoch = 5,
                                   .sessions_max = 1,
                                   .half_open_max = 1,
                                   .hello_retry_ns = NS_PER_S};
    const WireWrite m = {.address = {.epoch = 5, .region = 2, .opening = 1},
                         .kind = WRITE_DATA,
                         .number = 1,
                         .len = sizeof data,
                         .segment = 1400};
    assert_int_equal(transport_udp_open(&local, NULL, &other), 0);
    Endpoint *host = endpoint_new(&config, &env);
    assert_non_null(host);
    Session *session = session_with(other, host);
    const ChannelSink *sink = &the_link->channel->sink;
    burst_init_write(&burst, &m, 7, data);
    sink->datagram(sink->ctx, &other->local, (const uint8_t *)"first", 5);
    sink->burst(sink->ctx, session, &burst);
    link_step(the_link);
    TransportReceive r = {.buf = got, .cap = sizeof got};
    assert_int_equal(transport_wait(other, UINT64_MAX), 1);
    assert_int_equal(other->ops->receive(other, &r, 1), 1);
    assert_int_equal(r.len, 5);
    assert_memory_equal(got, "first", 5);
    host = endpoint_free(host);
    transport_close(other);
}
