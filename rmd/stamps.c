/* SPDX-License-Identifier: MIT */
#include "rmd/stamps.h"

#include "base/id.h"
#include "base/time.h"

void stamps_begin(Stamps *s, uint64_t now_ns, uint64_t awake_ns)
{
    s->now_ns = now_ns;
    s->awake_ns = awake_ns;
    s->next_signature = 0;
    s->youngest_ns = TIME_NEVER;
}

void stamps_add(Stamps *s, const char *name, uint64_t stamp_ns)
{
    uint64_t hash = stamp_ns;
    for (; *name; name++)
        hash = mix64(hash ^ (uint8_t)*name) + 1;
    s->next_signature += mix64(hash); /* in any order */
    s->youngest_ns = min_u64(s->youngest_ns, stamp_ns < s->now_ns ? s->now_ns - stamp_ns : 0);
}

/* A change came after the look before, whatever its stamp says. */
static uint64_t changed_at_most_ns_ago(const Stamps *s)
{
    return s->awake_ns > s->look_ns ? s->awake_ns - s->look_ns - 1 : 0;
}

uint64_t stamps_end(Stamps *s)
{
    if (!s->started || s->awake_ns < s->look_ns)
        s->active_ns = s->awake_ns - min_u64(s->youngest_ns, s->awake_ns);
    else if (s->next_signature != s->signature)
        s->active_ns = s->awake_ns - min_u64(s->youngest_ns, changed_at_most_ns_ago(s));
    s->started = true;
    s->signature = s->next_signature;
    s->look_ns = s->awake_ns;
    return s->awake_ns - s->active_ns;
}
