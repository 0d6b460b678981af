/* SPDX-License-Identifier: MIT */
#include "adapters/mount/openings.h"

/* Beside passed ones, or their mappings, a file that may be cached is not. */
static bool is_to_be_cached(const Openings *o, const OpeningAsk *ask)
{
    return ask->cacheable && !ask->writes && o->passed == 0 && !o->stored;
}

bool openings_want_passed(const Openings *o, const OpeningAsk *ask)
{
    return o->unpassed == 0 && !is_to_be_cached(o, ask);
}

Opening openings_add(Openings *o, const OpeningAsk *ask, bool passed)
{
    Opening added = {.writes = ask->writes,
                     .passed = passed,
                     .straight = passed ? ask->changeable : ask->reads && ask->writes};
    o->passed += passed;
    o->unpassed += !passed;
    o->readers += opening_is_paged(&added) && !ask->writes;
    o->stored |= passed && ask->writes;
    return added;
}

void openings_remove(Openings *o, const Opening *opening)
{
    o->passed -= opening->passed;
    o->unpassed -= !opening->passed;
    o->readers -= opening_is_paged(opening) && !opening->writes;
}

void openings_leased(Openings *o)
{
    o->stored = false;
}
