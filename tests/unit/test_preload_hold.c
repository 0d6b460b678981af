/* SPDX-License-Identifier: MIT */
/* When a file is held in a program that nobody changed. */
#include "adapters/mount/trust.h"
#include "adapters/preload/hold.h"
#include "tests/lib/case.h"

enum { NOW = 1000, PAUSE = 50 };

static Hold wanted(void)
{
    Hold h = {.state = HOLD_PLAIN};
    assert_true(hold_want(&h, NOW));
    hold_take(&h);
    return h;
}

TEST(want__tells_the_worker_once)
{
    Hold h = wanted(), none = {0}, never = {.state = HOLD_NEVER};
    assert_false(hold_want(&h, NOW));
    assert_false(hold_want(&none, NOW));
    assert_false(hold_want(&never, NOW));
    assert_true(hold_begin(&h));
    assert_false(hold_want(&h, NOW));
}

TEST(broken__while_it_is_opened_it_is_not_held)
{
    Hold h = wanted();
    assert_false(hold_give_up(&h, true, NOW)); /* nobody is inside */
    assert_false(hold_begin(&h));
    hold_end(&h, false, 0, NOW);
    assert_false(hold_want(&h, NOW + TRUST_AGAIN_NS - 1));
    assert_true(hold_want(&h, NOW + TRUST_AGAIN_NS));
    hold_take(&h);
    assert_true(hold_begin(&h)); /* by the next lease */
}

TEST(given_up__readers_are_kept_out_once)
{
    Hold h = wanted();
    assert_true(hold_begin(&h));
    assert_true(hold_give_up(&h, false, NOW));
    assert_false(hold_give_up(&h, true, NOW));
    assert_false(hold_want(&h, NOW));
    assert_int_equal(h.state, HOLD_ENDING);
    hold_end(&h, false, 0, NOW);
    assert_int_equal(h.state, HOLD_PLAIN);
}

TEST(given_up__what_the_program_has_closed_may_be_wanted_at_once)
{
    Hold h = wanted();
    assert_true(hold_begin(&h));
    (void)hold_give_up(&h, false, NOW);
    hold_end(&h, false, 0, NOW);
    assert_true(hold_want(&h, NOW));
}

TEST(ended__for_a_while_or_for_good)
{
    Hold h = wanted(), g = wanted();
    hold_end(&h, false, PAUSE, NOW);
    assert_false(hold_want(&h, NOW + PAUSE - 1));
    assert_true(hold_want(&h, NOW + PAUSE));
    hold_end(&g, true, 0, NOW);
    assert_false(hold_want(&g, UINT64_MAX));
}
