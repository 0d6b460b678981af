/* SPDX-License-Identifier: MIT */
/* Two ends of a way that messages take, for tests of libusocket: by UDP over the loopback, or as
 * raw frames between the interfaces of a pair (tests/net/usocket.sh makes it, and the helpers). */
#ifndef DODO_TESTS_UNIT_USOCKET_FIXTURE_H
#define DODO_TESTS_UNIT_USOCKET_FIXTURE_H

#include <dodo/usocket.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case.h"

enum { ENOUGH_MS = 60000 }; /* for what comes anyway */

typedef struct Path {
    const char *name;
    const char *local[2]; /* where each end is bound */
    const char *foreign;  /* an address of this kind that is not ours */
    size_t edge;          /* a message around this length is padded, or is not; 0: none is */
} Path;

static const Path paths[] = {
    {"udp4", {"127.0.0.1:0", "127.0.0.2:0"}, "192.0.2.1:0", 0},
    {"udp6", {"[::1]:0", "[::1]:0"}, "[2001:db8::1]:0", 0},
    {"raw", {"any/0%ua", "any/0%ub"}, "02:00:00:00:99:99/0%ua", 38},
};
/* One for all files of a program. */
__attribute__((weak)) const Path *via = &paths[0];

/* The address as the other end names it: by its own interface, or by none. */
static inline macaddr_t as_peer(macaddr_t a)
{
    if (a.kind == DODO_U_MAC)
        a.scope = 0;
    return a;
}

/* A socket at that address, which becomes what it is bound to. */
static inline int bound_to(const char *text, macaddr_t *ret)
{
    int s = u_socket(0, 0);
    macaddr_t a = u_aton(text);
    if (s < 0 || a.kind == DODO_U_NONE || u_bind(s, &a, 1) != 0)
        fail_msg("%s: %s", text, dodo_u_last_error());
    *ret = a;
    return s;
}

/* Both ends, each connected to the other. */
typedef struct Ends {
    int s[2];
    macaddr_t at[2]; /* as the other end names them */
} Ends;

static inline Ends ends_make(void)
{
    Ends e;
    for (int i = 0; i < 2; i++) {
        e.s[i] = bound_to(via->local[i], &e.at[i]);
        e.at[i] = as_peer(e.at[i]);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(u_connect(e.s[i], e.at[!i]), 0);
    return e;
}

static inline void ends_close(Ends *e)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(u_close(e->s[i]), 0);
}

#define assert_errno(call, number)                    \
    do {                                              \
        errno = 0;                                    \
        assert_int_equal(call, -1);                   \
        assert_int_equal(errno, number);              \
        assert_true(strlen(dodo_u_last_error()) > 0); \
    } while (0)

/* A message of @len bytes comes that says so in each of them. */
static inline void fill(uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t)(len + i * 7);
}

static inline void send_filled(int s, size_t len)
{
    uint8_t *buf = malloc(len + 1);
    assert_non_null(buf);
    fill(buf, len);
    if (u_send(s, buf, len) != (ssize_t)len)
        fail_msg("%zu bytes: %s", len, dodo_u_last_error());
    free(buf);
}

static inline void expect_filled(int s, size_t len, macaddr_t from)
{
    static uint8_t got[1 << 17], wanted[1 << 17];
    macaddr_t who;
    ssize_t n = u_recv(s, got, sizeof got, &who, ENOUGH_MS);
    if (n < 0)
        fail_msg("%zu bytes: %s", len, dodo_u_last_error());
    assert_int_equal(n, len);
    fill(wanted, len);
    assert_memory_equal(got, wanted, len);
    who = as_peer(who);
    assert_memory_equal(&who, &from, sizeof who);
}

static inline void expect_nothing(int s)
{
    uint8_t byte;
    assert_errno(u_recv(s, &byte, sizeof byte, NULL, 0), EAGAIN);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static inline bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

/* A thread that waits for a message as long as it takes. */
typedef struct Waiter {
    pthread_t thread;
    int s, error;
    ssize_t result;
    atomic_bool begun;
} Waiter;

static inline void *wait_for_ever(void *ctx)
{
    Waiter *w = ctx;
    char buf[8];
    w->begun = true;
    w->result = u_recv(w->s, buf, sizeof buf, NULL, -1);
    w->error = errno;
    return NULL;
}

static inline void waiter_start(Waiter *w, int s)
{
    *w = (Waiter){.s = s};
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_ever, w), 0);
    while (!w->begun)
        (void)sched_yield();
}

#endif
