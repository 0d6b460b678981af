/* SPDX-License-Identifier: MIT */
#include "usocket/helper/refusals.h"

uint64_t refusals_add(Refusals *r, uint64_t now_ns)
{
    const uint64_t count = r->untold + 1;
    r->untold = now_ns < r->from_ns ? count : 0;
    if (r->untold > 0)
        return 0;
    r->from_ns = time_add(now_ns, REFUSALS_EVERY_NS);
    return count;
}
