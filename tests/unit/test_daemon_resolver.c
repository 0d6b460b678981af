/* SPDX-License-Identifier: MIT */
/* The process that resolves names, as a daemon has it. */
#include "daemon/resolver.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/case.h"

static const Addr listen_at = {.kind = ADDR_IP4, .port = 1, .host = {127, 0, 0, 1}};

static Places places_of(const char *text)
{
    Places p;
    assert_int_equal(places_parse(text, 7700, &p), 0);
    return p;
}

static void start(Resolver *r, const char *text)
{
    char error[CONFIG_ERROR_MAX];
    const CommonOptions o = {.manager = NULL};
    const Places p = places_of(text);
    assert_int_equal(resolver_start(r, &o, &listen_at, &p, error), 0);
}

static int wait_and_take(Resolver *r, Resolved *ret)
{
    struct pollfd fd = {.fd = r->fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 60000), 1);
    return resolver_take(r, ret);
}

TEST(resolver__answers_what_the_finder_wants)
{
    Resolver r;
    Resolved found;
    Finder f;
    const Places p = places_of("localhost:9");
    start(&r, "localhost:9");
    finder_init(&f, &p);
    resolver_step(&r, &f);
    assert_int_equal(wait_and_take(&r, &found), 0);
    assert_true(finder_found(&f, found.found, found.count));
    assert_int_equal(finder_peer(&f).port, 9);
    resolver_step(&r, &f); /* nothing is wanted */
    assert_int_equal(resolver_take(&r, &found), -EAGAIN);
    resolver_close(&r);
}

TEST(resolver__is_asked_once)
{
    int ends[2];
    char question[sizeof(Places) + 64];
    Finder f;
    const Places p = places_of("localhost:9");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    const Resolver r = {.fd = ends[0], .places = p};
    finder_init(&f, &p);
    for (unsigned i = 0; i < 3; i++)
        resolver_step(&r, &f);
    assert_true(recv(ends[1], question, sizeof question, 0) > 0);
    assert_int_equal(recv(ends[1], question, sizeof question, 0), -1);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(resolver__is_not_there_without_names)
{
    Resolver r;
    Resolved found;
    const Places named = places_of("localhost"), others = places_of("127.0.0.2");
    start(&r, "127.0.0.1");
    assert_int_equal(r.fd, -1);
    assert_int_equal(resolver_move(&r, &others), 0);
    assert_int_equal(resolver_move(&r, &named), -ENOENT);
    const Places beyond = places_of("127.0.0.3,10.0.0.1"); /* there is no key */
    assert_int_equal(resolver_move(&r, &beyond), -EACCES);
    assert_true(addr_equal(&r.places.of[0].addr, &others.of[0].addr));
    assert_int_equal(resolver_take(&r, &found), -EPIPE);
    resolver_close(&r);
}

/* What the names before stood for is no answer, be it on its way or not. */
TEST(resolver__forgets_what_it_asked_before_it_moved)
{
    Resolver r;
    Resolved found;
    Finder f;
    const Places before = places_of("localhost:9"), address = places_of("127.0.0.2:5"),
                 names = places_of("localhost:5");
    start(&r, "localhost:9");
    finder_init(&f, &before);
    resolver_step(&r, &f);
    assert_int_equal(resolver_move(&r, &address), 0);
    assert_int_equal(wait_and_take(&r, &found), -EAGAIN);
    finder_init(&f, &before);
    resolver_step(&r, &f);
    assert_int_equal(resolver_move(&r, &names), 0);
    finder_init(&f, &names);
    resolver_step(&r, &f);
    assert_int_equal(wait_and_take(&r, &found), -EAGAIN);
    assert_int_equal(wait_and_take(&r, &found), 0);
    assert_int_equal(found.found[0].port, 5);
    resolver_close(&r);
}

TEST(resolver__moves_to_other_names)
{
    Resolver r;
    Resolved found;
    Finder f;
    const Places p = places_of("localhost:5");
    start(&r, "no-such-host.invalid");
    assert_int_equal(resolver_move(&r, &p), 0);
    finder_init(&f, &p);
    resolver_step(&r, &f);
    assert_int_equal(wait_and_take(&r, &found), 0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.found[0].port, 5);
    resolver_close(&r);
}
