/* SPDX-License-Identifier: MIT */
/* A host that is asked owes a chunk in each deadline, and may be eight of them behind. */
#include "base/time.h"
#include "libdodo/debt.h"
#include "tests/lib/case.h"

static const uint64_t DEADLINE = NS_PER_S;

/* One transfer of @call that takes @took_ns, in which the host serves so many chunks at its end. */
static void transfer(Debt *p, uint64_t call, uint64_t *now, uint64_t took_ns, unsigned chunks)
{
    debt_enter(p, call, *now);
    *now += took_ns;
    debt_chunks(p, chunks, DEADLINE, *now);
    debt_leave(p);
}

TEST(nothing_served__too_slow_after_eight_deadlines)
{
    Debt p = {.owed_ns = 0};
    debt_enter(&p, 1, 5);
    debt_chunks(&p, 0, DEADLINE, 5 + 8 * DEADLINE - 1);
    assert_false(debt_is_too_slow(&p, DEADLINE));
    debt_chunks(&p, 0, DEADLINE, 5 + 8 * DEADLINE);
    assert_true(debt_is_too_slow(&p, DEADLINE));
}

TEST(a_chunk_in_each_deadline__is_never_too_slow)
{
    Debt p = {.owed_ns = 0};
    uint64_t now = 0;
    debt_enter(&p, 1, now);
    for (unsigned i = 0; i < 1000; i++) {
        now += DEADLINE;
        debt_chunks(&p, 1, DEADLINE, now);
        assert_false(debt_is_too_slow(&p, DEADLINE));
    }
}

TEST(a_chunk_in_three_deadlines__is_too_slow_soon)
{
    Debt p = {.owed_ns = 0};
    uint64_t now = 0;
    unsigned chunks = 0;
    debt_enter(&p, 1, now);
    for (; !debt_is_too_slow(&p, DEADLINE); chunks++) {
        now += 3 * DEADLINE;
        debt_chunks(&p, 1, DEADLINE, now);
    }
    assert_int_equal(chunks, 4); /* behind by two more each time */
}

TEST(a_fast_beginning__is_no_credit)
{
    Debt p = {.owed_ns = 0};
    debt_enter(&p, 1, 0);
    debt_chunks(&p, 64, DEADLINE, NS_PER_MS);
    debt_chunks(&p, 0, DEADLINE, NS_PER_MS + 8 * DEADLINE);
    assert_true(debt_is_too_slow(&p, DEADLINE));
}

TEST(pieces_of_a_call__share_one_account)
{
    Debt p = {.owed_ns = 0};
    uint64_t now = 0;
    unsigned pieces = 0;
    for (; !debt_is_too_slow(&p, DEADLINE); pieces++)
        transfer(&p, 1, &now, 5 * DEADLINE, 1);
    assert_int_equal(pieces, 2);
}

TEST(the_next_call__does_not_answer_for_the_last)
{
    Debt p = {.owed_ns = 0};
    uint64_t now = 0;
    for (uint64_t call = 1; call < 100; call++) {
        transfer(&p, call, &now, 5 * DEADLINE, 1);
        assert_false(debt_is_too_slow(&p, DEADLINE));
    }
}

/* Or two that take turns would never be too slow for anybody. */
TEST(calls_beside_each_other__share_one_account)
{
    Debt p = {.owed_ns = 0};
    uint64_t now = 0;
    debt_enter(&p, 1, now);
    for (uint64_t call = 2; call < 6; call++) {
        debt_enter(&p, call, now);
        now += 2 * DEADLINE;
        debt_chunks(&p, 0, DEADLINE, now);
        debt_leave(&p);
    }
    assert_true(debt_is_too_slow(&p, DEADLINE));
}

/* Sixteen transfers at once do not make an hour of a quarter. */
TEST(time__counts_once_for_all_who_wait)
{
    Debt p = {.owed_ns = 0};
    for (unsigned i = 0; i < 16; i++)
        debt_enter(&p, 1, 0);
    debt_chunks(&p, 0, DEADLINE, DEADLINE);
    assert_int_equal(p.owed_ns, DEADLINE);
}

TEST(time__does_not_count_while_nothing_is_asked)
{
    Debt p = {.owed_ns = 0};
    debt_enter(&p, 1, 0);
    debt_chunks(&p, 0, DEADLINE, DEADLINE);
    debt_leave(&p);
    debt_enter(&p, 1, 100 * DEADLINE);
    debt_chunks(&p, 0, DEADLINE, 101 * DEADLINE);
    assert_int_equal(p.owed_ns, 2 * DEADLINE);
}
