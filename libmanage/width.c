/* SPDX-License-Identifier: MIT */
#include "libmanage/width.h"

#include "base/time.h"

enum {
    TRIAL = 4,     /* batches */
    USUAL = 32,    /* after which it is seen whether they are still of use */
    PATIENCE = 16, /* times what a trial took, before the next one; doubles while they fail */
    PATIENCE_DOUBLINGS = 10,
};

/* Of the time that the reads take alone: a trial that takes less has succeeded, and what takes more
 * is of no use any more. */
#define WORTH_IT 0.6
#define USELESS 0.8

unsigned width_reads(const Width *w, uint64_t now_ns)
{
    return w->wide || now_ns >= w->again_ns ? WIDTH_MAX : 1;
}

static void wait_longer(Width *w, uint64_t now_ns)
{
    const unsigned shift = w->failed < PATIENCE_DOUBLINGS ? w->failed : PATIENCE_DOUBLINGS;
    w->failed++;
    w->again_ns = time_add(now_ns, (w->ns * PATIENCE) << shift);
}

void width_note(Width *w, unsigned reads, uint64_t alone_ns, uint64_t ns, uint64_t now_ns)
{
    if (alone_ns == 0 || reads < WIDTH_MAX / 2)
        return; /* few of them say little */
    w->batches++;
    w->parts += (double)ns / (double)alone_ns;
    w->ns += ns;
    if (w->batches < (unsigned)(w->wide ? USUAL : TRIAL))
        return;
    w->wide = w->parts / w->batches < (w->wide ? USELESS : WORTH_IT);
    if (w->wide)
        w->failed = 0;
    else
        wait_longer(w, now_ns);
    w->batches = 0;
    w->parts = 0;
    w->ns = 0;
}
