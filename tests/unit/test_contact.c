/* SPDX-License-Identifier: MIT */
/* A session that is kept, with one of several peers: b of a pair, and another that nobody hears. */
#include "base/time.h"
#include "proto/contact.h"
#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

enum { EVERY_NS = 1000 * PAIR_RETRY_NS };

/* It asks b first. */
static Contact contact_of(const Pair *p)
{
    const Addr found[] = {p->at_b, addr_sim(3, 300)};
    Contact c = {.every_ns = EVERY_NS};
    assert_true(finder_found(&c.finder, found, 2));
    return c;
}

static void assert_asks(const Contact *c, const Addr *peer)
{
    assert_non_null(c->session);
    assert_true(addr_equal(&c->session->peer, peer));
}

/* b answers. */
static void answer(Pair *p, Contact *c)
{
    Dgram hello = output(p->a, p->now_ns);
    Got asked = give_b(p, &hello), answered = give_a(p, &asked.reply);
    assert_int_equal(answered.outcome, ENDPOINT_UP);
    assert_ptr_equal(answered.session, c->session);
    assert_true(contact_is_up(c));
}

TEST(contact__that_is_up_stays)
{
    Pair p;
    pair_init(&p, 1);
    Contact c = contact_of(&p);
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &p.at_b);
    assert_int_equal(c.due_ns, p.now_ns + EVERY_NS);
    answer(&p, &c);
    p.now_ns = c.due_ns;
    contact_step(&c, p.a, p.now_ns);
    assert_true(contact_is_up(&c));
    assert_asks(&c, &p.at_b);
    assert_int_equal(c.due_ns, TIME_NEVER);
    pair_deinit(&p);
}

TEST(contact__silent_gives_way_to_the_next)
{
    Pair p;
    pair_init(&p, 1);
    Contact c = contact_of(&p);
    const Addr other = addr_sim(3, 300);
    contact_step(&c, p.a, p.now_ns);
    contact_step(&c, p.a, p.now_ns + EVERY_NS - 1);
    assert_asks(&c, &p.at_b);
    p.now_ns += EVERY_NS;
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &other);
    assert_null(endpoint_find(p.a, &p.at_b));
    p.now_ns += EVERY_NS;
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &p.at_b);
    answer(&p, &c);
    pair_deinit(&p);
}

TEST(contact__ended_is_set_up_again_at_once)
{
    Pair p;
    pair_init(&p, 1);
    Contact c = contact_of(&p);
    Session stranger = {.up = true};
    contact_step(&c, p.a, p.now_ns);
    answer(&p, &c);
    assert_false(contact_closed(&c, &stranger));
    assert_true(contact_is_up(&c));
    endpoint_forget(p.a, c.session);
    assert_true(contact_closed(&c, c.session));
    assert_int_equal(c.due_ns, 0);
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &p.at_b);
    answer(&p, &c);
    pair_deinit(&p);
}

/* Where its names stand for other addresses now, a session that is up stays; one that is not begins
 * again with them. */
TEST(contact__found_elsewhere)
{
    Pair p;
    pair_init(&p, 1);
    Contact c = contact_of(&p);
    const Addr other = addr_sim(4, 400);
    contact_step(&c, p.a, p.now_ns);
    answer(&p, &c);
    contact_found(&c, p.a, &other, 1);
    assert_true(contact_is_up(&c));
    contact_found(&c, p.a, &p.at_b, 1);
    contact_renew(&c, p.a);
    assert_null(c.session);
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &p.at_b);
    contact_found(&c, p.a, &other, 1);
    assert_null(c.session);
    contact_step(&c, p.a, p.now_ns);
    assert_asks(&c, &other);
    pair_deinit(&p);
}
