/* SPDX-License-Identifier: MIT */
/* The gate in all interleavings of threads that enter it with one that closes it, as fork() does
 * (see tests/lib/interleave.h). */
#include "tests/lib/case.h"
#include "tests/unit/interleave_fixture.h"

#include "base/time.h"
#include "libdodo/gate.h"

enum { COUNT_ENTERED, COUNT_CLOSED, COUNT_LATE }; /* for interleave_count() */

static struct {
    unsigned inside;
    bool closed; /* and nobody is inside */
    bool gave_up;
} w;

static void pass(void)
{
    gate_enter();
    w.inside++;
    if (w.closed)
        interleave_fail("a thread is inside a closed gate");
    interleave_point("is inside");
    if (w.closed)
        interleave_fail("the gate was closed around a thread");
    w.inside--;
    gate_leave();
    interleave_count(COUNT_ENTERED);
}

static void close_gate(void)
{
    if (!gate_close(TIME_NEVER) || w.inside > 0)
        interleave_fail("the gate is closed with %u threads inside", w.inside);
    w.closed = true;
    interleave_point("has it closed");
    w.closed = false;
    gate_open();
    interleave_count(COUNT_CLOSED);
}

/* As exit() does: not for ever. */
static void close_in_time(void)
{
    bool empty = gate_close(NS_PER_S);
    if (empty && w.inside > 0)
        interleave_fail("the gate is closed with %u threads inside", w.inside);
    interleave_count(empty ? COUNT_CLOSED : COUNT_LATE);
    gate_open();
    (void)interleave_lock(&w.gave_up);
    w.gave_up = true;
    (void)interleave_unlock(&w.gave_up);
    (void)interleave_signal(&w.gave_up);
}

/* Is inside until the other is through with the gate. */
static void stay(void)
{
    gate_enter();
    w.inside++;
    (void)interleave_lock(&w.gave_up);
    while (!w.gave_up)
        (void)interleave_wait(&w.gave_up, &w.gave_up, false);
    (void)interleave_unlock(&w.gave_up);
    w.inside--;
    gate_leave();
    interleave_count(COUNT_ENTERED);
}

static const InterleaveScenario fork_beside = {"fork", NULL, {pass, pass, close_gate}, NULL};
static const InterleaveScenario exit_beside = {"exit", NULL, {stay, close_in_time}, NULL};
static const InterleaveScenario *const scenarios[] = {&fork_beside, &exit_beside, NULL};

TEST(gate__nobody_is_inside_when_it_is_closed)
{
    (void)clean(&fork_beside, 2, COUNT_CLOSED + 1);
    noticed(&fork_beside, BREAK_STORES, "thread");
}

TEST(gate__all_get_in_again)
{
    noticed(&fork_beside, BREAK_BROADCAST, "no thread can go on");
}

TEST(gate__closes_in_time)
{
    (void)clean(&exit_beside, 2, COUNT_LATE + 1);
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay(scenarios, argc, argv) : cases_run(NULL, NULL);
}
