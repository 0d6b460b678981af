/* SPDX-License-Identifier: MIT */
#include "adapters/preload/way.h"

unsigned way_weight(uint64_t number)
{
    if (number < WAY_SAMPLE)
        return 1;
    return number % WAY_SAMPLE == 0 ? WAY_SAMPLE : 0;
}

void way_watched(Way *w, bool slept, uint64_t ns, unsigned weight)
{
    if (w->cache || !slept)
        return;
    w->waited_ns += ns * weight;
    if (w->waited_ns >= WAY_START_NS)
        *w = (Way){.cache = true};
}

bool way_asks(uint64_t number)
{
    return number % WAY_SAMPLE == 0;
}

void way_answered(Way *w, bool cached, bool held)
{
    if (!w->cache || cached)
        return;
    w->held = held ? w->held + 1 : 0;
    if (w->held == WAY_SAMPLE)
        *w = (Way){.cache = false};
}
