/* SPDX-License-Identifier: MIT */
/* The lease that makes a manager the active one. */
#include <string.h>

#include "base/cleanup.h"
#include "cmd/lease.h"
#include "proto/fence.h"
#include "tests/lib/case.h"

static const uint64_t NOW = 100 * NS_PER_S;

static enum LeaseNews prints(Lease *l, const char *text)
{
    return lease_output(l, text, strlen(text));
}

static Lease asked(void)
{
    Lease l;
    lease_init(&l, true, NOW);
    assert_int_equal(lease_deadline(&l), NOW);
    assert_true(lease_start(&l, NOW));
    return l;
}

TEST(lease__without_a_command_the_manager_is_active)
{
    Lease l;
    lease_init(&l, false, NOW);
    assert_int_equal(lease_epoch(&l), MANAGER_UNLEASED);
    assert_false(lease_start(&l, NOW));
    assert_int_equal(lease_deadline(&l), TIME_NEVER);
}

TEST(lease__a_number_makes_it_active)
{
    Lease l = asked();
    assert_false(lease_start(&l, NOW)); /* once */
    assert_int_equal(lease_epoch(&l), MANAGER_STANDBY);
    assert_int_equal(prints(&l, "4"), LEASE_NOTHING); /* a line comes in pieces, perhaps */
    assert_int_equal(lease_epoch(&l), MANAGER_STANDBY);
    assert_int_equal(prints(&l, "2\nmore"), LEASE_GAINED);
    assert_int_equal(lease_epoch(&l), 42);
    assert_int_equal(prints(&l, " text\n43\n"), LEASE_NOTHING);
    assert_int_equal(lease_epoch(&l), 42);
}

TEST(lease__is_over_with_the_command)
{
    Lease l = asked();
    assert_int_equal(prints(&l, "42\n"), LEASE_GAINED);
    assert_int_equal(lease_ended(&l, NOW), LEASE_LOST);
    assert_int_equal(lease_epoch(&l), MANAGER_STANDBY);
    assert_int_equal(lease_ended(&l, NOW), LEASE_NOTHING);
    assert_false(lease_start(&l, NOW + LEASE_WAIT_NS - 1));
    assert_int_equal(lease_deadline(&l), NOW + LEASE_WAIT_NS);
    assert_true(lease_start(&l, NOW + LEASE_WAIT_NS));
}

TEST(lease__numbers_only_grow)
{
    Lease l = asked();
    assert_int_equal(prints(&l, "42\n"), LEASE_GAINED);
    (void)lease_ended(&l, NOW);
    assert_true(lease_start(&l, NOW + LEASE_WAIT_NS));
    assert_int_equal(prints(&l, "42\n"), LEASE_NONSENSE);
    assert_int_equal(lease_epoch(&l), MANAGER_STANDBY);
    assert_int_equal(prints(&l, "43\n"), LEASE_NOTHING); /* too late: it is being ended */
    assert_int_equal(lease_ended(&l, NOW), LEASE_NOTHING);
    assert_true(lease_start(&l, lease_deadline(&l)));
    assert_int_equal(prints(&l, "43\n"), LEASE_GAINED);
}

/* Where the store of the numbers is made from nothing, they begin again: hosts and programs forget
 * the last one after a while, and so does the manager. */
TEST(lease__a_number_is_forgotten)
{
    Lease l = asked();
    assert_int_equal(prints(&l, "42\n"), LEASE_GAINED);
    assert_int_equal(lease_ended(&l, NOW), LEASE_LOST);
    assert_true(lease_start(&l, NOW + FENCE_MEMORY_NS - 1));
    assert_int_equal(prints(&l, "1\n"), LEASE_NONSENSE);
    assert_int_equal(lease_ended(&l, NOW + FENCE_MEMORY_NS - 1), LEASE_NOTHING);
    assert_true(lease_start(&l, lease_deadline(&l)));
    assert_int_equal(prints(&l, "2\n"), LEASE_GAINED);
    assert_int_equal(lease_epoch(&l), 2);
    const uint64_t later = NOW + 3 * FENCE_MEMORY_NS; /* it is remembered since its end only */
    assert_int_equal(lease_ended(&l, later), LEASE_LOST);
    assert_true(lease_start(&l, lease_deadline(&l)));
    assert_int_equal(prints(&l, "2\n"), LEASE_NONSENSE);
}

TEST(lease__what_is_no_number_is_refused)
{
    char longest[2 * LEASE_LINE_MAX];
    memset(longest, '1', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const lines[] = {"\n",
                                 "0\n",
                                 "-1\n",
                                 "x\n",
                                 "7 x\n",
                                 "18446744073709551615\n",
                                 "99999999999999999999999\n",
                                 longest};
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        Lease l = asked();
        assert_int_equal(prints(&l, lines[i]), LEASE_NONSENSE);
        assert_int_equal(lease_epoch(&l), MANAGER_STANDBY);
    }
}

/* A command that cannot work is not started over and over. */
TEST(lease__a_command_that_only_ends_is_started_less_and_less)
{
    Lease l;
    uint64_t now = NOW, last = 0;
    lease_init(&l, true, now);
    for (unsigned i = 0; i < 10; i++) {
        assert_true(lease_start(&l, lease_deadline(&l)));
        assert_int_equal(lease_ended(&l, now), LEASE_VAIN);
        const uint64_t wait = lease_deadline(&l) - now;
        assert_true(wait >= last && wait <= LEASE_WAIT_MAX_NS);
        last = wait;
        now = lease_deadline(&l);
    }
    assert_int_equal(last, LEASE_WAIT_MAX_NS);
    assert_true(lease_start(&l, now));
    assert_int_equal(prints(&l, "1\n"), LEASE_GAINED);
    assert_int_equal(lease_ended(&l, now), LEASE_LOST);
    assert_int_equal(lease_deadline(&l), now + LEASE_WAIT_NS);
}
