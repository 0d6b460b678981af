/* SPDX-License-Identifier: MIT */
/* When to look at what changes in groups: shortly after the last change, and at the latest so long
 * after the first one, however many follow. Pure. */
#ifndef DODO_DAEMON_LOOK_TIME_H
#define DODO_DAEMON_LOOK_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "base/time.h"

typedef struct LookTime {
    uint64_t quiet_ns, most_ns; /* after the last change; after the first */
    uint64_t due_ns;            /* TIME_NEVER: with the next change */
    uint64_t latest_ns;         /* TIME_NEVER: nothing has changed since the last look */
} LookTime;

static inline void look_time_changed(LookTime *t, uint64_t now_ns)
{
    if (t->latest_ns == TIME_NEVER)
        t->latest_ns = time_add(now_ns, t->most_ns);
    t->due_ns = min_u64(time_add(now_ns, t->quiet_ns), t->latest_ns);
}

/* Somebody has looked; again at @next_ns, if nothing changes. */
static inline void look_time_looked(LookTime *t, uint64_t next_ns)
{
    t->latest_ns = TIME_NEVER;
    t->due_ns = next_ns;
}

static inline bool look_time_due(const LookTime *t, uint64_t now_ns)
{
    return now_ns >= t->due_ns;
}

/* For poll(): -1 is for ever. */
static inline int look_time_wait_ms(const LookTime *t, uint64_t now_ns)
{
    if (t->due_ns == TIME_NEVER)
        return -1;
    return t->due_ns > now_ns ? (int)((t->due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

#endif
