/* SPDX-License-Identifier: MIT */
#include "usocket/helper/told.h"

uint64_t told_add(Told *t, unsigned most, uint64_t now_ns)
{
    const uint64_t count = t->untold + 1;
    if (now_ns >= t->until_ns)
        *t = (Told){.until_ns = time_add(now_ns, TOLD_EVERY_NS)};
    t->untold = t->lines < most ? 0 : count;
    if (t->untold > 0)
        return 0;
    t->lines++;
    return count;
}
