/* SPDX-License-Identifier: MIT */
/* See progress.h. */
#include "examples/progress.h"

#include <stdio.h>

#include "base/os.h"
#include "base/time.h"

void progress_show(Progress *p, uint64_t done, uint64_t total, const char *text)
{
    if (!p->on || total == 0)
        return;
    unsigned percent = (unsigned)(done * 100 / total);
    uint64_t now = os_now_ns();
    bool first = p->last_ns == 0, last = done == total;
    if (!first && !last && (percent == p->last_percent || now - p->last_ns < 200 * NS_PER_MS))
        return;
    p->last_ns = now;
    p->last_percent = percent;
    fprintf(stderr, "progress: %u%%  %s\n", percent, text);
}
