/* SPDX-License-Identifier: MIT */
/* What the tests of interleavings share. A test file includes this once. */
#ifndef DODO_TESTS_INTERLEAVE_FIXTURE_H
#define DODO_TESTS_INTERLEAVE_FIXTURE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case.h"
#include "tests/lib/interleave.h"

/* No schedule fails; and what the scenario counts has happened, the first @counts of it. */
static inline InterleaveResult clean(const InterleaveScenario *s, unsigned preemptions,
                                     unsigned counts)
{
    InterleaveLimits limits = {.preemptions = preemptions, .schedules_max = 400000, .random = 2000};
    InterleaveResult r;
    interleave_explore(s, &limits, &r);
    print_message("# %s: %" PRIu64 " schedules, %" PRIu64 " random ones, %" PRIu64 " steps\n",
                  s->name, r.schedules, r.random, r.steps);
    if (r.failed)
        fail_msg("%s: %s; again: %s '%s'", s->name, r.what, s->name, r.schedule);
    assert_true(r.schedules > 1 && r.random == limits.random);
    for (unsigned i = 0; i < counts; i++)
        assert_true(r.counts[i] > 0);
    return r;
}

/* Some schedule fails in that way, and does so again. */
static inline void noticed(const InterleaveScenario *s, unsigned breaks, const char *what)
{
    InterleaveLimits limits = {.preemptions = 2, .schedules_max = 400000, .breaks = breaks};
    InterleaveResult r, again;
    interleave_explore(s, &limits, &r);
    print_message("# %s: %s (the %" PRIu64 ". schedule: '%s')\n", s->name,
                  r.failed ? r.what : "NOT NOTICED", r.schedules, r.schedule);
    assert_true(r.failed);
    assert_non_null(strstr(r.what, what));
    interleave_replay(s, breaks, false, r.schedule, &again);
    assert_true(again.failed);
    assert_string_equal(again.what, r.what);
}

/* PROGRAM NAME SCHEDULE: that one again, step by step. */
static inline int replay(const InterleaveScenario *const *all, int argc, char **argv)
{
    for (; argc == 3 && *all; all++) {
        InterleaveResult r;
        if (strcmp((*all)->name, argv[1]) != 0)
            continue;
        interleave_replay(*all, 0, true, argv[2], &r);
        printf("%s\n", r.failed ? r.what : "clean");
        return r.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    fprintf(stderr, "usage: %s [NAME SCHEDULE]\n", argv[0]);
    return 2;
}

#endif
