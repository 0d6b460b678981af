/* SPDX-License-Identifier: MIT */
/* Sockets of libusocket in a child of fork(). A part of test-usocket. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/usocket_fixture.h"

TEST(fork__the_child_shares_the_socket)
{
    Ends e = ends_make();
    pid_t pid = fork();
    if (pid == 0)
        _exit(u_send(e.s[0], "child", 5) == 5 && u_close(e.s[0]) == 0 ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    char buf[8];
    assert_int_equal(u_recv(e.s[1], buf, sizeof buf, NULL, ENOUGH_MS), 5);
    send_filled(e.s[0], 4); /* the parent's is still there */
    expect_filled(e.s[1], 4, e.at[0]);
    ends_close(&e);
}

/* @child: what it does with its copy of a socket of the parent's, which stays as it was. */
static void fork_and(int (*child)(int s), Ends *e)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(e->s[0]));
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(is_readable(e->s[0]));
    send_filled(e->s[1], 5);
}

static int close_it(int s)
{
    return u_close(s) == 0 && fcntl(s, F_GETFD) < 0 ? 0 : 1;
}

/* The thread that waits is not there in the child, and does not keep the socket open. */
TEST(fork__a_close_in_the_child_is_the_childs)
{
    Ends e = ends_make();
    Waiter w;
    waiter_start(&w, e.s[0]);
    fork_and(close_it, &e);
    assert_int_equal(pthread_join(w.thread, NULL), 0);
    assert_int_equal(w.result, 5);
    ends_close(&e);
}

static int close_under_a_waiter(int s)
{
    Waiter w;
    waiter_start(&w, s);
    if (u_close(s) != 0 || pthread_join(w.thread, NULL) != 0)
        return 1;
    return w.result == -1 && w.error == EBADF && fcntl(s, F_GETFD) < 0 ? 0 : 2;
}

TEST(fork__a_close_ends_who_waits_in_the_child)
{
    Ends e = ends_make();
    fork_and(close_under_a_waiter, &e);
    expect_filled(e.s[0], 5, e.at[1]);
    ends_close(&e);
}

static int bind_it(int s)
{
    macaddr_t a = u_aton(via->local[0]);
    if (u_bind(s, &a, 1) == 0 || errno != EINVAL || !strstr(dodo_u_last_error(), "fork"))
        return 1;
    a.port = 7; /* connecting would bind it, too */
    return u_connect(s, a) < 0 && errno == EINVAL && u_close(s) == 0 ? 0 : 2;
}

/* Parent and child would get messages that they do not know of. */
TEST(fork__the_child_binds_nothing_of_the_parents)
{
    int status = -1, s = u_socket(0, 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(bind_it(s));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    macaddr_t a = u_aton(via->local[0]);
    assert_int_equal(u_bind(s, &a, 1), 0);
    assert_int_equal(u_close(s), 0);
}
