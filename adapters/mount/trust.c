/* SPDX-License-Identifier: MIT */
#include "adapters/mount/trust.h"

bool trust_wants_lease(const Trust *t, uint64_t now_ns)
{
    return t->state == TRUST_PLAIN && t->writers == 0 &&
           (!t->broken || now_ns - t->broken_ns >= TRUST_AGAIN_NS);
}

bool trust_take(Trust *t, uint64_t *ret)
{
    *ret = ++t->takes;
    t->broken = false;
    t->state = t->pages ? TRUST_TAKEN : TRUST_HELD;
    return t->pages;
}

void trust_settle(Trust *t, uint64_t take)
{
    if (t->state != TRUST_TAKEN || t->takes != take)
        return;
    t->pages = false;
    t->state = TRUST_HELD;
}

bool trust_give_up(Trust *t, bool broken, uint64_t now_ns)
{
    if (t->state == TRUST_PLAIN)
        return false;
    t->state = TRUST_PLAIN;
    t->pages = true; /* those that it had while it was held */
    t->broken = broken;
    t->broken_ns = now_ns;
    return true;
}

void trust_writer_begin(Trust *t)
{
    t->writers++;
    t->pages = true;
}

void trust_writer_end(Trust *t)
{
    t->writers--;
}

bool trust_read_begin(Trust *t)
{
    if (t->state == TRUST_PLAIN)
        t->pages = true;
    return t->state != TRUST_PLAIN;
}
