/* SPDX-License-Identifier: MIT */
/* The cap: what is owed, and until when. */
#include "imd/pace.h"
#include "tests/lib/case.h"

static const uint64_t START = 100 * NS_PER_S;

TEST(none__owes_nothing)
{
    Pace p;
    pace_init(&p, 0, 0);
    assert_false(pace_is_on(&p));
    pace_charge(&p, 1ull << 30, 1 << 20, START);
    assert_int_equal(pace_debt_ns(&p, START), 0);
    assert_int_equal(pace_cost_ns(&p, 1 << 20, 100), 0);
}

TEST(bytes__take_their_time)
{
    Pace p;
    pace_init(&p, 1000000, 0);
    assert_true(pace_is_on(&p));
    assert_int_equal(pace_debt_ns(&p, START), 0);
    pace_charge(&p, 100000, 50, START);
    assert_int_equal(pace_debt_ns(&p, START), 100 * NS_PER_MS - PACE_SAVED_NS);
    assert_int_equal(pace_debt_ns(&p, START + 200 * NS_PER_MS), 0);
    assert_int_equal(pace_cost_ns(&p, 2000, 5000), 2 * NS_PER_MS);
}

TEST(packets__count_too)
{
    Pace p;
    pace_init(&p, 1000000, 1000);
    pace_charge(&p, 100, 50, START);
    assert_int_equal(pace_debt_ns(&p, START), 50 * NS_PER_MS - PACE_SAVED_NS);
    assert_int_equal(pace_cost_ns(&p, 4000, 3), 4 * NS_PER_MS);
    assert_int_equal(pace_cost_ns(&p, 4000, 5), 5 * NS_PER_MS);
}

/* However it is asked for, no more than the rate comes out, but for what idle time saved. */
TEST(rate__holds_over_a_long_time)
{
    enum { RATE = 3000000, PIECE = 57344 };
    Pace p;
    uint64_t now = START, sent = 0;
    pace_init(&p, RATE, 0);
    while (now < START + 100 * NS_PER_S) {
        if (pace_debt_ns(&p, now) == 0) {
            pace_charge(&p, PIECE, 1, now);
            sent += PIECE;
        }
        uint64_t wait = pace_debt_ns(&p, now);
        now += wait ? wait : 1;
    }
    assert_in_range(sent, 100ull * RATE - PIECE, 100ull * RATE + RATE / 200 + 2 * PIECE);
}

/* Idle time is worth a few milliseconds, not hours. */
TEST(saved__is_little)
{
    Pace p;
    pace_init(&p, 1000000, 0);
    pace_charge(&p, 1000, 1, START);
    uint64_t later = START + 3600 * NS_PER_S;
    pace_charge(&p, 1000000, 1, later);
    assert_int_equal(pace_debt_ns(&p, later), NS_PER_S - PACE_SAVED_NS);
}

/* The two caps are set, changed and lifted each for itself. */
TEST(set__packets_too)
{
    Pace p;
    pace_init(&p, 0, 0);
    pace_set(&p, 0, 1000);
    assert_true(pace_is_on(&p));
    assert_int_equal(pace_cost_ns(&p, 1 << 20, 5), 5 * NS_PER_MS);
    pace_charge(&p, 1 << 20, 50, START);
    assert_int_equal(pace_debt_ns(&p, START), 50 * NS_PER_MS - PACE_SAVED_NS);
    pace_set(&p, 1000000, 0);
    assert_int_equal(pace_debt_ns(&p, START), 0);
    assert_int_equal(pace_cost_ns(&p, 5000, 1000), 5 * NS_PER_MS);
    pace_set(&p, 0, 0);
    assert_false(pace_is_on(&p));
}

TEST(set__counts_from_then_on)
{
    Pace p;
    pace_init(&p, 0, 0);
    pace_charge(&p, 1000000, 1, NS_PER_S);
    assert_false(pace_is_on(&p));
    pace_set(&p, 1000000, 0);
    assert_true(pace_is_on(&p));
    assert_int_equal(pace_debt_ns(&p, NS_PER_S), 0); /* what was free stays free */
    pace_charge(&p, 1000000, 1, NS_PER_S);
    assert_int_equal(pace_debt_ns(&p, NS_PER_S), NS_PER_S - PACE_SAVED_NS);
    pace_set(&p, 0, 0);
    assert_int_equal(pace_debt_ns(&p, NS_PER_S), 0);
}
