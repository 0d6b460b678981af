/* SPDX-License-Identifier: MIT */
/* Whether a peer that is asked again and again has been silent for too long. Silence counts only
 * while we ran ourselves: after a gap in our own ticks it starts again. Pure. */
#ifndef DODO_PROTO_SILENCE_H
#define DODO_PROTO_SILENCE_H

#include <stdbool.h>

#include "base/time.h"

typedef struct Silence {
    uint64_t since_ns; /* the first question without an answer; 0: all are answered */
    uint64_t tick_ns;  /* when we looked last */
} Silence;

static inline void silence_asked(Silence *s, uint64_t now_ns)
{
    if (s->since_ns == 0)
        s->since_ns = now_ns;
}

static inline void silence_answered(Silence *s)
{
    s->since_ns = 0;
}

/* Called at least every @every_ns while we run. */
static inline bool silence_is_long(Silence *s, uint64_t every_ns, uint64_t limit_ns,
                                   uint64_t now_ns)
{
    if (s->since_ns != 0 && now_ns > time_add(s->tick_ns, 2 * every_ns))
        s->since_ns = now_ns;
    s->tick_ns = now_ns;
    return s->since_ns != 0 && now_ns >= time_add(s->since_ns, limit_ns);
}

/* When it will be too long; TIME_NEVER: nothing is asked. */
static inline uint64_t silence_deadline(const Silence *s, uint64_t limit_ns)
{
    return s->since_ns != 0 ? time_add(s->since_ns, limit_ns) : TIME_NEVER;
}

#endif
