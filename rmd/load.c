/* SPDX-License-Identifier: MIT */
#include "rmd/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/time.h"

/* The kernel damps every five seconds by exp(-5/60); so does this, in steps of any length. */
static double damping(uint64_t ns)
{
    return exp(-(double)ns / (double)(60 * NS_PER_S));
}

int load_parse(const char *loadavg, double *ret)
{
    char *end;
    double average = strtod(loadavg, &end);
    if (end == loadavg || (*end != ' ' && *end != '\n' && *end) || !(average >= 0 && average < 1e9))
        return -EINVAL;
    *ret = average;
    return 0;
}

static void damp(LoadShare *s, uint64_t busy_ns, uint64_t now_ns)
{
    if (now_ns <= s->at_ns)
        return;
    uint64_t elapsed = now_ns - s->at_ns;
    double keep = damping(elapsed);
    s->share = s->share * keep + (double)busy_ns / (double)elapsed * (1 - keep);
    s->at_ns = now_ns;
}

void load_share_update(LoadShare *s, uint64_t busy_ns, uint64_t now_ns)
{
    if (!s->began || now_ns < s->at_ns) {
        s->at_ns = now_ns;
    } else if (now_ns > s->at_ns) {
        damp(s, busy_ns >= s->busy_ns ? busy_ns - s->busy_ns : 0, now_ns);
    } else {
        return; /* twice at one instant: the next one counts both */
    }
    s->began = true;
    s->busy_ns = busy_ns;
}

void load_share_gone(LoadShare *s, uint64_t now_ns)
{
    damp(s, 0, now_ns);
    s->at_ns = now_ns;
    s->busy_ns = 0;
    s->began = true; /* the next process's time counts from its own beginning */
}

void load_share_lost(LoadShare *s, uint64_t now_ns)
{
    damp(s, 0, now_ns);
    s->at_ns = now_ns;
    s->began = false; /* of its time only what is still to come */
}

double load_less(double average, const LoadShare *shares, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        average -= shares[i].share;
    return average > 0 ? average : 0;
}
