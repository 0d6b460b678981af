/* SPDX-License-Identifier: MIT */
/* The buffers of vectored calls: the call's bytes, in pieces of all sizes, with a guard between any
 * two. */
#include "tests/sim/world.h"

static size_t some_length(SimRng *r)
{
    switch (sim_rng_below(r, 4)) {
    case 0:
        return sim_rng_below(r, 20); /* now and then nothing */
    case 1:
        return sim_rng_spread(r, 1, 4096);
    default:
        return sim_rng_spread(r, 4096, 300000);
    }
}

static size_t room(const Thread *t)
{
    return t->process->world->p.region_max + (VECTOR_BUFFERS + 1) * (size_t)GUARD;
}

void vector_scatter(Thread *t, bool writing)
{
    size_t left = t->len, begin = 0, at = GUARD;
    if (!t->vector.scattered)
        t->vector.scattered = malloc(room(t));
    if (!t->vector.scattered)
        abort();
    for (t->vector.buffers = 0; t->vector.buffers < VECTOR_BUFFERS && left > 0;
         t->vector.buffers++) {
        size_t n = some_length(&t->process->rng);
        if (n > left || t->vector.buffers == VECTOR_BUFFERS - 1)
            n = left;
        memset(t->vector.scattered + at - GUARD, GUARD_BYTE, GUARD);
        t->vector.iov[t->vector.buffers] = (struct iovec){t->vector.scattered + at, n};
        if (writing)
            memcpy(t->vector.scattered + at, t->buf + begin, n);
        else
            memset(t->vector.scattered + at, 0xEE, n);
        begin += n;
        left -= n;
        at += n + GUARD;
    }
    memset(t->vector.scattered + at - GUARD, GUARD_BYTE, GUARD);
}

bool vector_gather(Thread *t)
{
    size_t begin = 0;
    bool whole = true;
    for (int i = 0; i < t->vector.buffers; i++) {
        const uint8_t *buf = t->vector.iov[i].iov_base;
        memcpy(t->buf + begin, buf, t->vector.iov[i].iov_len);
        begin += t->vector.iov[i].iov_len;
        for (size_t j = 0; j < GUARD; j++)
            whole &=
                buf[t->vector.iov[i].iov_len + j] == GUARD_BYTE && *(buf - 1 - j) == GUARD_BYTE;
    }
    return whole;
}

void vector_free(Thread *t)
{
    free(t->vector.scattered);
    t->vector.scattered = NULL;
}
