/* SPDX-License-Identifier: MIT */
/* UDP over loopback, ephemeral ports: every shape of run arrives byte by byte and cut as it was
 * sent, with GSO and GRO on and off, over IPv4 and IPv6; failing sends are losses, not errors. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/time.h"
#include "tests/lib/case.h"
#include "tests/lib/needs.h"
#include "tests/unit/transport_ends.h"
#include "usocket/transport.h"

#ifndef SO_NO_CHECK
#define SO_NO_CHECK 11
#endif

static void open_ends(Ends *e, const char *host, bool no_gso, bool no_gro)
{
    /* What every system grants (rmem_max of stock kernels), so that the test is alike on all. */
    TransportOptions o = {.receive_bytes = 212992, .no_gso = no_gso, .no_gro = no_gro};
    Addr any;
    assert_int_equal(addr_parse(host, 0, &any), 0);
    assert_int_equal(transport_udp_open(&any, &o, &e->from), 0);
    assert_int_equal(transport_udp_open(&any, &o, &e->to), 0);
    assert_true(e->to->local.port != 0);
    assert_true(e->to->receive_bytes > 0);
}

static bool have_ip6(void)
{
    Addr a;
    Transport *t;
    if (addr_parse("[::1]:0", 0, &a) != 0 || transport_udp_open(&a, NULL, &t) != 0)
        return false;
    transport_close(t);
    return true;
}

static void check_runs(const char *host)
{
    for (int mode = 0; mode < 4; mode++) {
        Ends e;
        bool joined = false;
        open_ends(&e, host, mode & 1, mode & 2);
        check_all_runs(&e, &joined);
        if (mode & 2)
            assert_false(joined);
        if (mode == 0) /* loopback hands a GSO message over uncut */
            assert_true(joined);
        close_ends(&e);
    }
}

TEST(send__runs_over_ip4)
{
    check_runs("127.0.0.1:0");
}

TEST(send__runs_over_ip6)
{
    check_runs("[::1]:0");
}

TEST(send__many_single_datagrams_keep_their_order)
{
    Ends e;
    open_ends(&e, "127.0.0.1:0", false, false);
    check_many(&e);
    close_ends(&e);
}

/* A socket without checksums cannot do GSO (EINVAL), as a device without checksum offload
 * cannot (EIO): the run must arrive all the same, and so must the next. */
TEST(send__falls_back_where_gso_fails)
{
    Ends e;
    const int one = 1;
    bool joined = false;
    open_ends(&e, "127.0.0.1:0", false, false);
    int fd = e.from->ops->fd(e.from);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &one, sizeof one), 0);
    for (unsigned per = 0; per < 3; per++)
        check_run(&e, 150001, 1200, per, &joined);
    assert_false(joined);
    /* Remembered: with checksums again, runs to this host still go singly. */
    const int zero = 0;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &zero, sizeof zero), 0);
    check_run(&e, 20000, 1200, 1, &joined);
    assert_false(joined);
    close_ends(&e);
}

TEST(send__what_cannot_go_is_lost_and_the_rest_arrives)
{
    static const char *const nowhere[] = {"[::1]:9", "127.0.0.1:0", "255.255.255.255:9"};
    Ends e, dead;
    bool joined = false;
    uint16_t cuts[4];
    open_ends(&e, "127.0.0.1:0", false, false);
    open_ends(&dead, "127.0.0.1:0", false, false);
    Addr closed = dead.to->local; /* nobody there: ECONNREFUSED may come back */
    close_ends(&dead);
    struct iovec small = {sent, 100}, huge = {sent, 65508};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        Addr a;
        assert_int_equal(addr_parse(nowhere[i], 0, &a), 0);
        TransportSend s[] = {
            {.to = &a, .iov = &small, .iov_count = 1},
            {.to = &closed, .iov = &small, .iov_count = 1},
            {.to = &e.to->local, .iov = &huge, .iov_count = 1},
            {.to = &a, .iov = &huge, .iov_count = 1, .segment = 1000},
            {.to = &e.to->local, .iov = &small, .iov_count = 1},
        };
        assert_int_equal(e.from->ops->send(e.from, s, sizeof s / sizeof s[0]), 0);
        assert_int_equal(collect(&e, 100, cuts, &joined), 1);
    }
    TransportReceive r = {.buf = in[0], .cap = sizeof in[0]};
    assert_int_equal(e.from->ops->receive(e.from, &r, 1), 0);
    close_ends(&e);
}

/* The room differs from call to call, as where another transport has taken some of it. */
TEST(receive__a_run_is_cut_after_calls_with_less_room)
{
    enum { LEN = 3000, SEGMENT = 1000 };
    Ends e;
    TransportReceive r[3];
    open_ends(&e, "127.0.0.1:0", false, false);
    const struct iovec small = {sent, 100};
    const TransportSend single = {.to = &e.to->local, .iov = &small, .iov_count = 1};
    for (int i = 0; i < 3; i++)
        r[i] = (TransportReceive){.buf = in[i], .cap = sizeof in[i]};
    for (int i = 0; i < 3; i++)
        assert_int_equal(e.from->ops->send(e.from, &single, 1), 0);
    assert_int_equal(e.to->ops->receive(e.to, r, 3), 3);
    assert_int_equal(e.from->ops->send(e.from, &single, 1), 0);
    assert_int_equal(e.to->ops->receive(e.to, r, 1), 1);
    assert_int_equal(e.from->ops->send(e.from, &single, 1), 0);
    send_run(&e, LEN, SEGMENT, 0);
    assert_int_equal(e.to->ops->receive(e.to, r, 3), 2);
    assert_int_equal(r[1].len, LEN);
    assert_int_equal(r[1].segment, SEGMENT);
    close_ends(&e);
}

TEST(receive__nothing_there)
{
    Ends e;
    open_ends(&e, "127.0.0.1:0", false, false);
    check_nothing(&e);
    close_ends(&e);
}

TEST(datagram_max__goes_through)
{
    const char *const hosts[] = {"127.0.0.1:0", "[::1]:0"};
    for (int i = 0; i < (have_ip6() ? 2 : 1); i++) {
        Ends e;
        open_ends(&e, hosts[i], false, false);
        check_longest(&e);
        close_ends(&e);
    }
}

TEST(datagram_max__unknown_route_is_the_least)
{
    Ends e;
    Addr other;
    open_ends(&e, "127.0.0.1:0", false, false);
    assert_int_equal(addr_parse("[::1]:9", 0, &other), 0);
    assert_int_equal(e.from->ops->datagram_max(e.from, &other), 1232);
    close_ends(&e);
}

/* In a process of its own, in a network of its own. */
static bool in_own_network(bool (*body)(void))
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit((unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) && body()
                  ? 0
                  : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool loopback_mtu(int bytes)
{
    struct ifreq mtu = {.ifr_name = "lo", .ifr_mtu = bytes};
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = ioctl(fd, SIOCSIFMTU, &mtu) == 0 && ioctl(fd, SIOCSIFFLAGS, &up) == 0;
    (void)close(fd);
    return good;
}

static bool loopback_set(void)
{
    return loopback_mtu(9000);
}

/* One datagram to the first host, a run of them to the second; both are too long by now. */
static bool mtu_shrinks(void)
{
    struct iovec iov = {sent, 8000}, run = {sent, 24000};
    Transport *t = NULL;
    Addr any, first, second;
    if (!loopback_mtu(9000) || addr_parse("127.0.0.1:0", 0, &any) != 0 ||
        addr_parse("127.0.0.2:9", 0, &first) != 0 || addr_parse("127.0.0.3:9", 0, &second) != 0 ||
        transport_udp_open(&any, NULL, &t) != 0)
        return false;
    const TransportSend single = {.to = &first, .iov = &iov, .iov_count = 1};
    const TransportSend many = {.to = &second, .iov = &run, .iov_count = 1, .segment = 8000};
    bool good = t->ops->datagram_max(t, &first) == 9000 - 28 &&
                t->ops->datagram_max(t, &second) == 9000 - 28 && loopback_mtu(1400) &&
                t->ops->datagram_max(t, &first) == 9000 - 28 && /* nothing has failed yet */
                t->ops->send(t, &single, 1) == 0 && t->ops->datagram_max(t, &first) == 1400 - 28 &&
                t->ops->datagram_max(t, &second) == 9000 - 28 && t->ops->send(t, &many, 1) == 0 &&
                t->ops->datagram_max(t, &second) == 1400 - 28;
    transport_close(t);
    return good;
}

TEST(datagram_max__shrinks_as_soon_as_a_datagram_is_too_long)
{
    assert_true(in_own_network(mtu_shrinks));
}

TEST(open__refuses)
{
    Transport *t = NULL, *second = NULL;
    Addr a = addr_sim(1, 1);
    assert_int_equal(transport_udp_open(&a, NULL, &t), -EAFNOSUPPORT);
    assert_int_equal(addr_parse("127.0.0.1:0", 0, &a), 0);
    assert_int_equal(transport_udp_open(&a, NULL, &t), 0);
    assert_int_equal(transport_udp_open(&t->local, NULL, &second), -EADDRINUSE);
    assert_null(second);
    assert_int_equal(addr_parse("198.51.100.77:0", 0, &a), 0); /* not ours */
    assert_int_equal(transport_udp_open(&a, NULL, &second), -EADDRNOTAVAIL);
    assert_null(transport_close(t));
    assert_null(transport_close(NULL));
}

/* An address that this host does not have, or no longer: what is sent goes astray, and is counted.
 */
TEST(open__an_address_that_is_not_there_yet)
{
    const TransportOptions o = {.free_bind = true};
    Transport *t = NULL;
    Addr a, to;
    struct iovec iov = {(char[]){"x"}, 1};
    assert_int_equal(addr_parse("198.51.100.77:0", 0, &a), 0);
    assert_int_equal(addr_parse("127.0.0.1:9", 0, &to), 0);
    assert_int_equal(transport_udp_open(&a, &o, &t), 0);
    assert_true(t->late);
    TransportSend send = {.to = &to, .iov = &iov, .iov_count = 1};
    assert_int_equal(t->ops->send(t, &send, 1), 0);
    assert_int_equal(t->sent, 0);
    assert_int_equal(t->astray, 1);
    t = transport_close(t);
    assert_int_equal(transport_udp_open(&to, &o, &t), 0);
    assert_false(t->late);
    assert_int_equal(t->ops->send(t, &send, 1), 0);
    assert_int_equal(t->sent, 1);
    assert_int_equal(t->astray, 0);
    t = transport_close(t);
}

/* ---- asleep ---------------------------------------------------------------------------------- */

TEST(receive_asleep__a_nudge_of_another_thread_ends_it)
{
    const Addr any = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    Transport *t;
    assert_int_equal(transport_udp_open(&any, NULL, &t), 0);
    check_nudges(t);
    transport_close(t);
}

/* The kernel keeps the time: what it was set to, and that an end without a message is none. */
TEST(receive_asleep__ends_when_its_patience_is_over)
{
    static uint8_t buf[TRANSPORT_RECV_MAX];
    const Addr any = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    const TransportOptions options = {.patience_ns = 3600 * NS_PER_S + 2 * NS_PER_MS};
    struct timeval told;
    socklen_t len = sizeof told;
    Transport *t;
    assert_int_equal(transport_udp_open(&any, &options, &t), 0);
    int fd = t->ops->fd(t);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &told, &len), 0);
    assert_int_equal(told.tv_sec, 3600);
    assert_in_range(told.tv_usec, 2000, 2000 + 20000); /* up to its tick */
    TransportReceive r = {.buf = buf, .cap = sizeof buf};
    assert_int_equal(t->ops->receive(t, &r, 1), 0);      /* which never falls asleep */
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0); /* as if the time were over */
    assert_int_equal(t->ops->receive_asleep(t, &r, 1), 0);
    transport_close(t);
}

int main(void)
{
    case_if(have_ip6(), send__runs_over_ip6, "this host has no IPv6 loopback");
    case_if(in_own_network(loopback_set), datagram_max__shrinks_as_soon_as_a_datagram_is_too_long,
            "no network of its own can be made here");
    return cases_run(NULL, NULL);
}
