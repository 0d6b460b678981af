/* SPDX-License-Identifier: MIT */
#include "adapters/preload/hold.h"

#include "adapters/mount/trust.h"
#include "base/num.h"
#include "base/time.h"

bool hold_want(Hold *h, uint64_t now_ns)
{
    if (h->state != HOLD_PLAIN || now_ns < h->again_ns)
        return false;
    h->state = HOLD_WANTED;
    return true;
}

void hold_take(Hold *h)
{
    h->broken = false;
}

bool hold_begin(Hold *h)
{
    if (!h->broken)
        h->state = HOLD_HELD;
    return !h->broken;
}

bool hold_give_up(Hold *h, bool broken, uint64_t now_ns)
{
    bool held = h->state == HOLD_HELD;
    if (held)
        h->state = HOLD_ENDING;
    h->broken |= broken;
    if (broken)
        h->again_ns = time_add(now_ns, TRUST_AGAIN_NS);
    return held;
}

void hold_end(Hold *h, bool never, uint64_t pause_ns, uint64_t now_ns)
{
    h->state = never ? HOLD_NEVER : HOLD_PLAIN;
    h->again_ns = max_u64(h->again_ns, time_add(now_ns, pause_ns));
}
