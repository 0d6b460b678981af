/* SPDX-License-Identifier: MIT */
#include "proto/finder.h"

#include "tests/lib/case.h"

static Addr at(unsigned n)
{
    return (Addr){.kind = ADDR_IP4, .port = 7700, .host = {10, 0, 0, (uint8_t)n}};
}

static Finder finder_of(const char *text)
{
    Places p;
    Finder f;
    assert_int_equal(places_parse(text, 7700, &p), 0);
    finder_init(&f, &p);
    return f;
}

static void assert_asks(const Finder *f, unsigned n)
{
    const Addr peer = finder_peer(f), want = at(n);
    assert_true(addr_equal(&peer, &want));
}

static bool silent(Finder *f, unsigned n)
{
    const Addr peer = at(n);
    return finder_silent(f, &peer);
}

TEST(finder__one_address_is_asked_again_and_again)
{
    Finder f = finder_of("10.0.0.1");
    for (unsigned i = 0; i < 3; i++) {
        assert_asks(&f, 1);
        assert_false(silent(&f, 1));
        assert_false(finder_take(&f)); /* there is no name */
    }
}

TEST(finder__addresses_are_asked_in_turn)
{
    Finder f = finder_of("10.0.0.1,10.0.0.2,10.0.0.3");
    assert_asks(&f, 1);
    assert_true(silent(&f, 1));
    assert_asks(&f, 2);
    assert_false(silent(&f, 1)); /* who says so has asked the one before */
    assert_asks(&f, 2);
    assert_true(silent(&f, 2));
    assert_true(silent(&f, 3));
    assert_asks(&f, 1);
}

TEST(finder__a_name_is_resolved_before_anything_is_asked)
{
    Finder f = finder_of("manager");
    const Addr found = at(7);
    assert_int_equal(finder_peer(&f).kind, ADDR_NONE);
    assert_true(finder_take(&f));
    assert_false(finder_take(&f)); /* it is under way */
    assert_false(finder_found(&f, NULL, 0));
    assert_int_equal(finder_peer(&f).kind, ADDR_NONE);
    assert_false(finder_take(&f)); /* not before it is of use */
    const Addr nobody = {.kind = ADDR_NONE};
    assert_false(finder_silent(&f, &nobody));
    assert_true(finder_take(&f));
    assert_true(finder_found(&f, &found, 1));
    assert_asks(&f, 7);
}

TEST(finder__addresses_beside_a_name_are_asked_meanwhile)
{
    Finder f = finder_of("manager,10.0.0.2");
    const Addr found[] = {at(1), at(2)};
    assert_asks(&f, 2);
    assert_true(finder_take(&f));
    assert_false(finder_found(&f, found, 2)); /* it may answer: it stays */
    assert_asks(&f, 2);
    assert_true(silent(&f, 2));
    assert_asks(&f, 1);
}

/* The manager has moved: its name stands for another address. */
TEST(finder__silence_resolves_the_name_again)
{
    Finder f = finder_of("manager");
    Addr found = at(1);
    assert_true(finder_take(&f));
    assert_true(finder_found(&f, &found, 1));
    assert_false(finder_take(&f));
    assert_false(silent(&f, 1));
    assert_true(finder_take(&f));
    assert_false(silent(&f, 1));
    assert_false(finder_take(&f)); /* it is under way */
    assert_false(finder_found(&f, &found, 1));
    assert_asks(&f, 1);
    assert_false(silent(&f, 1));
    assert_true(finder_take(&f));
    found = at(2);
    assert_true(finder_found(&f, &found, 1));
    assert_asks(&f, 2);
}

/* The one that was asked is none of them any more: they are asked in their order. */
/* An address may be in the list twice: that is no other one. */
TEST(finder_other__of_several)
{
    const Addr a = addr_sim(1, 1), b = addr_sim(2, 1), c = addr_sim(3, 1);
    Finder f = {.found = {a, b, a, c}, .count = 4};
    assert_int_equal(finder_other(&f, 0), 1);
    assert_int_equal(finder_other(&f, 1), 3);
    assert_int_equal(finder_other(&f, 3), 1);
    assert_int_equal(finder_other(&f, 77), 1); /* the list was longer */
    f.found[1] = f.found[3] = a;
    assert_int_equal(finder_other(&f, 0), 0); /* there is none */
    f.count = 1;
    assert_int_equal(finder_other(&f, 0), 0);
}

TEST(finder_go__to_one_that_is_there)
{
    const Addr a = addr_sim(1, 1), b = addr_sim(2, 1), c = addr_sim(3, 1);
    Finder f = {.found = {a, b}, .count = 2};
    finder_go(&f, &b);
    assert_int_equal(f.at, 1);
    finder_go(&f, &c);
    assert_int_equal(f.at, 1);
}

TEST(finder__others_are_asked_from_the_first_on)
{
    Finder f = finder_of("manager");
    const Addr old[] = {at(1), at(2)}, found[] = {at(3), at(4)};
    assert_true(finder_found(&f, old, 2));
    assert_true(silent(&f, 1));
    assert_asks(&f, 2);
    assert_true(finder_found(&f, found, 2));
    assert_asks(&f, 3);
    assert_true(silent(&f, 3));
    assert_asks(&f, 4);
}

TEST(finder__what_cannot_be_resolved_leaves_the_old_address)
{
    Finder f = finder_of("manager");
    const Addr found = at(1);
    assert_true(finder_take(&f));
    assert_true(finder_found(&f, &found, 1));
    assert_false(silent(&f, 1));
    assert_true(finder_take(&f));
    assert_false(finder_found(&f, NULL, 0));
    assert_asks(&f, 1);
}

TEST(finder__more_addresses_than_there_is_room_for)
{
    Finder f = finder_of("manager");
    Addr found[PLACES_FOUND_MAX + 1];
    for (unsigned i = 0; i <= PLACES_FOUND_MAX; i++)
        found[i] = at(i);
    assert_true(finder_found(&f, found, PLACES_FOUND_MAX + 1));
    for (unsigned i = 0; i < PLACES_FOUND_MAX; i++)
        assert_true(silent(&f, i));
    assert_asks(&f, 0);
}
