/* SPDX-License-Identifier: MIT */
/* What libusocket promises, whichever way messages take. test-usocket WAY [CASE...]: udp4, udp6, or
 * raw. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/lib/needs.h"
#include "tests/unit/usocket_fixture.h"

/* ---- messages -------------------------------------------------------------------------------- */

TEST(send__arrives_whole_with_its_sender)
{
    Ends e = ends_make();
    macaddr_t from;
    char buf[16];
    assert_int_equal(u_send(e.s[0], "ping", 4), 4);
    assert_int_equal(u_recv(e.s[1], buf, sizeof buf, &from, ENOUGH_MS), 4);
    assert_memory_equal(buf, "ping", 4);
    assert_int_equal(u_connect(e.s[1], from), 0); /* as it comes */
    assert_int_equal(u_send(e.s[1], "pong!", 5), 5);
    assert_int_equal(u_recv(e.s[0], buf, sizeof buf, NULL, ENOUGH_MS), 5);
    assert_memory_equal(buf, "pong!", 5);
    ends_close(&e);
}

TEST(send__boundaries_are_kept)
{
    Ends e = ends_make();
    const size_t lens[] = {0, 1, 500, 0, 0, 1400, 2};
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        send_filled(e.s[0], lens[i]);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        expect_filled(e.s[1], lens[i], e.at[0]);
    expect_nothing(e.s[1]);
    ends_close(&e);
}

TEST(send__every_length_around_an_edge)
{
    Ends e = ends_make();
    ssize_t max = dodo_u_max(e.s[0]);
    assert_in_range(max, 1000, 65527);
    for (size_t len = 0; len < via->edge + 30; len++) {
        send_filled(e.s[0], len);
        expect_filled(e.s[1], len, e.at[0]);
    }
    for (ssize_t len = max - 3; len <= max; len++) {
        send_filled(e.s[0], (size_t)len);
        expect_filled(e.s[1], (size_t)len, e.at[0]);
    }
    ends_close(&e);
}

TEST(send__longer_than_max_is_refused)
{
    static uint8_t buf[1 << 17];
    Ends e = ends_make();
    size_t max = (size_t)dodo_u_max(e.s[0]);
    assert_errno(u_send(e.s[0], buf, max + 1), EMSGSIZE);
    assert_errno(u_send(e.s[0], buf, 65536), EMSGSIZE);
    assert_errno(u_send(e.s[0], buf, sizeof buf), EMSGSIZE);
    expect_nothing(e.s[1]);
    send_filled(e.s[0], 9); /* and it goes on */
    expect_filled(e.s[1], 9, e.at[0]);
    ends_close(&e);
}

TEST(iovec__gathers_and_scatters)
{
    Ends e = ends_make();
    char a[3] = "abc", b[4] = "defg", got[3][8];
    struct iovec out[] = {{a, 3}, {NULL, 0}, {b, 4}};
    struct iovec in[] = {{got[0], 2}, {got[1], 0}, {got[1], 4}, {got[2], 8}};
    int iovc = 4;
    memset(got, 'x', sizeof got);
    assert_int_equal(u_send_iovec(e.s[0], out, 3), 7);
    assert_int_equal(u_recv_iovec(e.s[1], in, &iovc, NULL, ENOUGH_MS), 7);
    assert_int_equal(iovc, 4);
    assert_memory_equal(got[0], "abx", 3);
    assert_memory_equal(got[1], "cdefx", 5);
    assert_int_equal(got[2][0], 'g');
    assert_int_equal(u_send_iovec(e.s[0], out, 1), 3);
    assert_int_equal(u_recv_iovec(e.s[1], in, &iovc, NULL, ENOUGH_MS), 3);
    assert_int_equal(iovc, 3);
    assert_int_equal(u_send_iovec(e.s[0], NULL, 0), 0);
    assert_int_equal(u_recv_iovec(e.s[1], in, &iovc, NULL, ENOUGH_MS), 0);
    assert_int_equal(iovc, 0);
    ends_close(&e);
}

TEST(iovec__as_many_as_there_may_be)
{
    Ends e = ends_make();
    static uint8_t bytes[DODO_U_IOV_MAX + 1], got[DODO_U_IOV_MAX + 1];
    static struct iovec out[DODO_U_IOV_MAX + 1], in[DODO_U_IOV_MAX + 1];
    for (int i = 0; i <= DODO_U_IOV_MAX; i++) {
        bytes[i] = (uint8_t)(i * 3);
        out[i] = (struct iovec){&bytes[i], 1};
        in[i] = (struct iovec){&got[i], 1};
    }
    int iovc = DODO_U_IOV_MAX;
    assert_int_equal(u_send_iovec(e.s[0], out, iovc), DODO_U_IOV_MAX);
    assert_int_equal(u_recv_iovec(e.s[1], in, &iovc, NULL, ENOUGH_MS), DODO_U_IOV_MAX);
    assert_int_equal(iovc, DODO_U_IOV_MAX);
    assert_memory_equal(got, bytes, DODO_U_IOV_MAX);
    assert_errno(u_send_iovec(e.s[0], out, DODO_U_IOV_MAX + 1), EINVAL);
    iovc = DODO_U_IOV_MAX + 1;
    assert_errno(u_recv_iovec(e.s[1], in, &iovc, NULL, 0), EINVAL);
    ends_close(&e);
}

TEST(recv__too_little_room)
{
    Ends e = ends_make();
    char buf[8] = "xxxxxxx";
    macaddr_t from = {0};
    assert_int_equal(u_send(e.s[0], "abcdefgh", 8), 8);
    assert_errno(u_recv(e.s[1], buf, 3, &from, ENOUGH_MS), EMSGSIZE);
    assert_null(strstr(dodo_u_last_error(), "nothing received")); /* its beginning was */
    assert_non_null(strstr(dodo_u_last_error(), "the rest is lost"));
    assert_memory_equal(buf, "abcx", 4);
    from = as_peer(from);
    assert_memory_equal(&from, &e.at[0], sizeof from);
    expect_nothing(e.s[1]); /* the rest is lost */
    assert_int_equal(u_send(e.s[0], "abc", 3), 3);
    assert_int_equal(u_recv(e.s[1], buf, 3, &from, ENOUGH_MS), 3); /* just enough */
    assert_int_equal(u_send(e.s[0], "a", 1), 1);
    assert_errno(u_recv(e.s[1], NULL, 0, NULL, ENOUGH_MS), EMSGSIZE);
    assert_int_equal(u_send(e.s[0], "", 0), 0);
    assert_int_equal(u_recv(e.s[1], NULL, 0, NULL, ENOUGH_MS), 0);
    ends_close(&e);
}

TEST(connect__filters_nothing)
{
    Ends e = ends_make();
    macaddr_t third_at;
    int third = bound_to(via->local[0], &third_at);
    assert_int_equal(u_connect(third, e.at[1]), 0);
    send_filled(third, 33); /* e.s[1] is connected to e.s[0] */
    expect_filled(e.s[1], 33, as_peer(third_at));
    assert_int_equal(u_close(third), 0);
    ends_close(&e);
}

/* ---- waiting --------------------------------------------------------------------------------- */

TEST(recv__timeouts)
{
    Ends e = ends_make();
    char byte;
    expect_nothing(e.s[0]);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, 5), EAGAIN);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, -2), EINVAL);
    assert_int_equal(fcntl(e.s[0], F_SETFL, O_NONBLOCK), 0);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, -1), EAGAIN);
    assert_errno(u_recv(e.s[0], &byte, 1, NULL, ENOUGH_MS), EAGAIN);
    send_filled(e.s[1], 5);
    struct pollfd p = {.fd = e.s[0], .events = POLLIN};
    assert_int_equal(poll(&p, 1, ENOUGH_MS), 1);
    expect_filled(e.s[0], 5, e.at[1]);
    ends_close(&e);
}

TEST(poll__says_when_there_is_something)
{
    Ends e = ends_make();
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, e.s[1], &ev), 0);
    assert_false(is_readable(e.s[1]));
    assert_int_equal(epoll_wait(loop, &ev, 1, 0), 0);
    send_filled(e.s[0], 1);
    send_filled(e.s[0], 2);
    assert_int_equal(epoll_wait(loop, &ev, 1, ENOUGH_MS), 1);
    assert_true(is_readable(e.s[1]));
    expect_filled(e.s[1], 1, e.at[0]);
    expect_filled(e.s[1], 2, e.at[0]);
    assert_false(is_readable(e.s[1]));
    assert_int_equal(close(loop), 0);
    ends_close(&e);
}

TEST(close__ends_those_who_wait)
{
    Ends e = ends_make();
    Waiter w[3];
    for (int i = 0; i < 3; i++)
        waiter_start(&w[i], e.s[0]);
    assert_int_equal(u_close(e.s[0]), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        assert_int_equal(w[i].result, -1);
        assert_int_equal(w[i].error, EBADF);
    }
    assert_int_equal(u_close(e.s[1]), 0);
}

/* Also a single one, and whether it waits already or is about to. */
TEST(close__ends_a_single_one_that_waits)
{
    for (int round = 0; round < 50; round++) {
        Ends e = ends_make();
        Waiter w;
        waiter_start(&w, e.s[0]);
        for (int i = 0; i < round; i++)
            (void)sched_yield();
        assert_int_equal(u_close(e.s[0]), 0);
        assert_int_equal(pthread_join(w.thread, NULL), 0);
        assert_int_equal(w.result, -1);
        assert_int_equal(w.error, EBADF);
        assert_int_equal(u_close(e.s[1]), 0);
    }
}

/* A thread that is cancelled in a call ends after it; else the socket would stay open for ever. */
TEST(recv__is_no_cancellation_point)
{
    Ends e = ends_make();
    Waiter w;
    void *ended = NULL;
    waiter_start(&w, e.s[0]);
    assert_int_equal(pthread_cancel(w.thread), 0);
    send_filled(e.s[1], 3);
    assert_int_equal(pthread_join(w.thread, &ended), 0);
    assert_null(ended);
    assert_int_equal(w.result, 3);
    ends_close(&e);
    assert_int_equal(fcntl(e.s[0], F_GETFD), -1);
}

TEST(recv__a_message_wakes_who_waits)
{
    Ends e = ends_make();
    Waiter w;
    waiter_start(&w, e.s[0]);
    send_filled(e.s[1], 3);
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    assert_int_equal(w.result, 3);
    ends_close(&e);
}

enum { THREADS = 4, EACH = 2000 };
static atomic_uint seen[THREADS * EACH];
static atomic_uint seen_count;

static void *take_some(void *ctx)
{
    uint32_t number;
    while (seen_count < THREADS * EACH)
        if (u_recv(*(int *)ctx, &number, sizeof number, NULL, 20) == sizeof number) {
            seen[number]++;
            seen_count++;
        }
    return NULL;
}

/* Each message is given to one of the threads, once. */
TEST(recv__threads_share_a_socket)
{
    Ends e = ends_make();
    pthread_t threads[THREADS];
    seen_count = 0;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_some, &e.s[1]), 0);
    for (uint32_t n = 0; n < THREADS * EACH; n++) {
        assert_int_equal(u_send(e.s[0], &n, sizeof n), sizeof n);
        while (n + 1 - seen_count > 50) /* never more on the way than there is room for */
            (void)sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < THREADS * EACH; i++)
        assert_int_equal(seen[i], 1);
    ends_close(&e);
}

/* ---- addresses ------------------------------------------------------------------------------- */

TEST(bind__tells_what_was_left_open)
{
    macaddr_t a;
    char text[DODO_U_TEXT_MAX];
    int s = bound_to(via->local[0], &a);
    assert_int_not_equal(a.port, 0);
    macaddr_t again = u_aton(u_ntoa(a, text));
    assert_memory_equal(&again, &a, sizeof a);
    if (a.kind == DODO_U_MAC)
        assert_int_not_equal(a.host[5] | a.host[4] | a.host[0], 0);
    assert_int_equal(u_close(s), 0);
}

TEST(bind__a_port_has_one_socket)
{
    macaddr_t a, b;
    int s = bound_to(via->local[0], &a), t = u_socket(0, 0);
    b = a;
    assert_errno(u_bind(t, &b, 1), EADDRINUSE);
    assert_memory_equal(&b, &a, sizeof a);
    assert_int_equal(u_close(s), 0);
    assert_int_equal(u_bind(t, &b, 1), 0); /* now it is free, and t not spent */
    assert_int_equal(u_close(t), 0);
}

TEST(bind__what_is_wrong)
{
    int s = u_socket(0, 0);
    macaddr_t a[9] = {u_aton(via->local[0])}, none = {0};
    assert_errno(u_bind(s, a, 0), EINVAL);
    assert_errno(u_bind(s, a, 9), EINVAL);
    assert_errno(u_bind(s, NULL, 1), EINVAL);
    assert_errno(u_bind(s, &none, 1), EINVAL);
    macaddr_t foreign = u_aton(via->foreign);
    assert_errno(u_bind(s, &foreign, 1), EADDRNOTAVAIL);
    macaddr_t nowhere = u_aton("02:00:00:00:00:01/7"); /* on which interface? */
    assert_errno(u_bind(s, &nowhere, 1), EINVAL);
    char byte;
    assert_errno(u_recv(s, &byte, 1, NULL, 0), EINVAL);
    assert_int_equal(u_bind(s, a, 1), 0);
    assert_errno(u_bind(s, a, 1), EINVAL);
    assert_int_equal(u_close(s), 0);
}

/* Whichever step it has no descriptor for, it says so. */
TEST(bind__without_descriptors)
{
    const macaddr_t wanted = u_aton(via->local[0]);
    const int s = u_socket(0, 0), first = dup(STDERR_FILENO);
    int result = -1;
    struct rlimit before, few;
    assert_true(s >= 0 && first >= 0);
    assert_int_equal(close(first), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (few.rlim_cur = (rlim_t)first; result != 0; few.rlim_cur++) {
        macaddr_t a = wanted;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        result = u_bind(s, &a, 1);
        const int error = errno;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (result != 0)
            assert_int_equal(error, EMFILE);
    }
    assert_int_equal(u_close(s), 0);
}

/* An interface is found, or there is no descriptor for that; what is known needs none. */
TEST(calls__without_descriptors)
{
    Ends e = ends_make();
    const ssize_t max = dodo_u_max(e.s[0]);
    const int first = dup(STDERR_FILENO);
    struct rlimit before, none;
    assert_true(first >= 0);
    assert_int_equal(close(first), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)first;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 0;
    const macaddr_t a = u_aton(via->local[0]);
    const int error = errno;
    const ssize_t same = dodo_u_max(e.s[0]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(a.kind != DODO_U_NONE || error == EMFILE);
    assert_int_equal(same, max);
    ends_close(&e);
}

TEST(bind__several_addresses_all_or_none)
{
    macaddr_t taken, a[3];
    int other = bound_to(via->local[0], &taken), s = u_socket(0, 0);
    a[0] = u_aton("127.0.0.1:0");
    a[1] = u_aton(via->local[1]);
    a[2] = taken;
    assert_errno(u_bind(s, a, 3), EADDRINUSE);
    assert_int_equal(a[0].port, 0);
    assert_int_equal(u_bind(s, a, 2), 0);
    assert_int_not_equal(a[0].port, 0);
    /* Messages come to both; answers go back by the first way that leads there. */
    int udp = u_socket(0, 0);
    assert_int_equal(u_connect(udp, a[0]), 0);
    assert_int_equal(u_connect(other, as_peer(a[1])), 0);
    const int senders[2] = {udp, other};
    for (int round = 0; round < 20; round++) {
        int from = senders[round % 2];
        macaddr_t who;
        char byte;
        assert_int_equal(u_send(from, "?", 1), 1);
        assert_int_equal(u_recv(s, &byte, 1, &who, ENOUGH_MS), 1);
        assert_int_equal(u_connect(s, who), 0);
        assert_int_equal(u_send(s, "!", 1), 1);
        assert_int_equal(u_recv(from, &byte, 1, &who, ENOUGH_MS), 1);
        who = as_peer(who);
        macaddr_t wanted = as_peer(a[a[1].kind == a[0].kind ? 0 : round % 2]);
        assert_memory_equal(&who, &wanted, sizeof who);
    }
    assert_int_equal(u_close(udp), 0);
    assert_int_equal(u_close(other), 0);
    assert_int_equal(u_close(s), 0);
}

TEST(connect__binds_what_is_not_bound)
{
    macaddr_t at;
    int s = bound_to(via->local[0], &at), client = u_socket(0, 0);
    macaddr_t to = at;
    if (to.kind == DODO_U_MAC)
        to.scope = u_aton(via->local[1]).scope; /* by its own interface */
    assert_int_equal(u_connect(client, to), 0);
    assert_int_equal(u_send(client, "x", 1), 1);
    char byte;
    assert_int_equal(u_recv(s, &byte, 1, &to, ENOUGH_MS), 1);
    assert_int_not_equal(to.port, 0);
    assert_int_equal(u_close(client), 0);
    assert_int_equal(u_close(s), 0);
}

typedef struct Connector {
    pthread_barrier_t *start;
    int s, result;
    macaddr_t to;
} Connector;

static void *connect_it(void *ctx)
{
    Connector *c = ctx;
    (void)pthread_barrier_wait(c->start);
    c->result = u_connect(c->s, c->to);
    return NULL;
}

/* The thread that comes second finds it bound. */
TEST(connect__threads_bind_it_once)
{
    macaddr_t to;
    pthread_barrier_t start;
    int s = bound_to(via->local[0], &to);
    if (to.kind == DODO_U_MAC)
        to.scope = u_aton(via->local[1]).scope;
    assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
    for (int round = 0; round < 200; round++) {
        pthread_t thread;
        int client = u_socket(0, 0);
        Connector one = {&start, client, -1, to}, other = one;
        assert_int_equal(pthread_create(&thread, NULL, connect_it, &one), 0);
        (void)connect_it(&other);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(one.result, 0);
        assert_int_equal(other.result, 0);
        assert_int_equal(u_close(client), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
    assert_int_equal(u_close(s), 0);
}

TEST(connect__what_is_wrong)
{
    Ends e = ends_make();
    macaddr_t a = e.at[1], none = {0};
    a.port = 0;
    assert_errno(u_connect(e.s[0], a), EINVAL);
    a = e.at[1];
    a.kind = 9;
    assert_errno(u_connect(e.s[0], a), EINVAL);
    assert_errno(u_connect(e.s[0], u_aton("ff:ff:ff:ff:ff:ff/7")), EINVAL);
    assert_errno(u_connect(e.s[0], u_aton("01:00:5e:00:00:01/7")), EINVAL);
    assert_errno(u_connect(e.s[0], u_aton("any/7")), EINVAL);
    bool ip6 = e.at[0].kind == DODO_U_IP6;
    assert_errno(u_connect(e.s[0], u_aton(ip6 ? "127.0.0.1:7" : "[::1]:7")), EAFNOSUPPORT);
    send_filled(e.s[0], 8); /* still to where it was */
    expect_filled(e.s[1], 8, e.at[0]);
    assert_int_equal(u_connect(e.s[0], none), 0);
    assert_errno(u_send(e.s[0], "x", 1), EDESTADDRREQ);
    assert_errno(dodo_u_max(e.s[0]), EDESTADDRREQ);
    ends_close(&e);
}

/* ---- arguments and life ---------------------------------------------------------------------- */

TEST(calls__on_what_is_no_socket)
{
    char byte = 0;
    int iovc = 1, plain = open("/dev/null", O_RDWR);
    struct iovec iov = {&byte, 1};
    macaddr_t a = u_aton("127.0.0.1:7");
    DodoUStats st;
    int s = u_socket(0, 0);
    assert_int_equal(u_close(s), 0);
    const int fds[] = {-1, s, plain, 1 << 20};
    for (int i = 0; i < 4; i++) {
        assert_errno(u_close(fds[i]), EBADF);
        assert_errno(u_bind(fds[i], &a, 1), EBADF);
        assert_errno(u_connect(fds[i], a), EBADF);
        assert_errno(u_send(fds[i], &byte, 1), EBADF);
        assert_errno(u_send_iovec(fds[i], &iov, 1), EBADF);
        assert_errno(u_recv(fds[i], &byte, 1, NULL, 0), EBADF);
        assert_errno(u_recv_iovec(fds[i], &iov, &iovc, NULL, 0), EBADF);
        assert_errno(dodo_u_max(fds[i]), EBADF);
        assert_errno(dodo_u_stats(fds[i], &st), EBADF);
    }
    assert_int_equal(write(plain, "x", 1), 1); /* not ours to close */
    assert_int_equal(close(plain), 0);
}

TEST(calls__what_is_wrong)
{
    Ends e = ends_make();
    char byte = 0;
    int iovc = 2, bad = -1;
    struct iovec iov[2] = {{&byte, 1}, {NULL, 1}};
    struct iovec endless[2] = {{&byte, SIZE_MAX}, {&byte, 2}};
    assert_errno(u_socket(-1, 0), EINVAL);
    assert_errno(u_socket(0, -1), EINVAL);
    assert_errno(u_send(e.s[0], NULL, 1), EINVAL);
    assert_errno(u_send_iovec(e.s[0], iov, 2), EINVAL);
    assert_errno(u_send_iovec(e.s[0], NULL, 1), EINVAL);
    assert_errno(u_send_iovec(e.s[0], iov, -1), EINVAL);
    assert_errno(u_send_iovec(e.s[0], endless, 2), EMSGSIZE);
    assert_errno(u_send(e.s[0], &byte, SIZE_MAX), EMSGSIZE);
    assert_errno(u_recv(e.s[0], &byte, SIZE_MAX, NULL, 0), EINVAL);
    assert_errno(u_recv(e.s[0], NULL, 1, NULL, 0), EINVAL);
    assert_errno(u_recv_iovec(e.s[0], iov, &iovc, NULL, 0), EINVAL);
    assert_errno(u_recv_iovec(e.s[0], iov, NULL, NULL, 0), EINVAL);
    assert_errno(u_recv_iovec(e.s[0], iov, &bad, NULL, 0), EINVAL);
    assert_errno(u_recv_iovec(e.s[0], NULL, &iovc, NULL, 0), EINVAL);
    assert_int_equal(iovc, 2);
    assert_errno(dodo_u_stats(e.s[0], NULL), EINVAL);
    expect_nothing(e.s[1]);
    ends_close(&e);
}

TEST(stats__count)
{
    Ends e = ends_make();
    DodoUStats st;
    char buf[4];
    send_filled(e.s[0], 3);
    send_filled(e.s[0], 4);
    send_filled(e.s[0], 100);
    assert_int_equal(u_recv(e.s[1], buf, 4, NULL, ENOUGH_MS), 3);
    assert_int_equal(u_recv(e.s[1], buf, 4, NULL, ENOUGH_MS), 4);
    assert_errno(u_recv(e.s[1], buf, 4, NULL, ENOUGH_MS), EMSGSIZE);
    assert_int_equal(dodo_u_stats(e.s[0], &st), 0);
    assert_int_equal(st.sent, 3);
    assert_int_equal(st.sent_bytes, 107);
    assert_int_equal(st.received, 0);
    assert_int_equal(dodo_u_stats(e.s[1], &st), 0);
    assert_int_equal(st.sent, 0);
    assert_int_equal(st.received, 2);
    assert_int_equal(st.received_bytes, 7);
    assert_int_equal(st.cut, 1);
    assert_int_equal(st.refused, 0);
    assert_int_equal(st.dropped, 0);
    ends_close(&e);
}

/* What finds no room in the receiver's buffer is lost, counted, and does no harm. */
TEST(stats__count_what_was_dropped)
{
    macaddr_t at;
    int small = u_socket(0, 1), sender = u_socket(0, 0);
    at = u_aton(via->local[0]);
    assert_int_equal(u_bind(small, &at, 1), 0);
    macaddr_t own = u_aton(via->local[1]);
    assert_int_equal(u_bind(sender, &own, 1), 0);
    assert_int_equal(u_connect(sender, as_peer(at)), 0);
    enum { SENT = 1000 };
    for (int i = 0; i < SENT; i++)
        send_filled(sender, 900);
    char buf[1000];
    uint64_t got = 0;
    while (u_recv(small, buf, sizeof buf, NULL, 0) == 900)
        got++;
    DodoUStats st;
    assert_int_equal(dodo_u_stats(small, &st), 0);
    assert_in_range(got, 1, SENT / 2);
    assert_int_equal(st.dropped, SENT - got);
    assert_int_equal(u_close(small), 0);
    assert_int_equal(u_close(sender), 0);
}

TEST(socket__is_no_standard_descriptor)
{
    int in = dup(0);
    assert_int_equal(close(0), 0);
    Ends e = ends_make();
    assert_in_range(e.s[0], 3, 1000);
    assert_int_equal(fcntl(0, F_GETFD), -1); /* nothing took its place */
    ends_close(&e);
    assert_int_equal(dup2(in, 0), 0);
    assert_int_equal(close(in), 0);
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(close__leaves_nothing_open)
{
    Ends warm = ends_make();
    ends_close(&warm);
    int before = open_descriptors();
    for (int i = 0; i < 10; i++) {
        Ends e = ends_make();
        macaddr_t bad = u_aton(via->foreign);
        int s = u_socket(0, 0);
        assert_errno(u_bind(s, &bad, 1), EADDRNOTAVAIL);
        assert_int_equal(u_close(s), 0);
        ends_close(&e);
    }
    assert_int_equal(open_descriptors(), before);
}

/* ---- */

static bool has_ip6(void)
{
    int s = u_socket(0, 0);
    macaddr_t a = u_aton("[::1]:0");
    bool has = s >= 0 && u_bind(s, &a, 1) == 0;
    (void)u_close(s);
    return has;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof paths / sizeof *paths; i++)
        if (strcmp(argv[1], paths[i].name) == 0) {
            via = &paths[i];
            if (strcmp(via->name, "udp6") == 0 && !has_ip6())
                return skip_all("no IPv6 loopback");
            return cases_run(NULL, NULL);
        }
    (void)fprintf(stderr, "usage: %s udp4|udp6|raw\n", argv[0]);
    return 2;
}
