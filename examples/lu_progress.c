/* SPDX-License-Identifier: MIT */
/* How far lu is: see lu_progress.h. */
#include "examples/lu_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"

enum { LINE_EVERY_MS = 200 };

void lu_progress_init(LuProgress *p, bool lines)
{
    *p = (LuProgress){.lines = lines, .terminal = !lines && isatty(STDERR_FILENO)};
}

void lu_progress_start(LuProgress *p, const char *what)
{
    p->what = what;
    p->start_ns = os_now_ns();
    p->last_ns = 0;
    p->last_percent = 0;
}

char *lu_progress_text(const char *what, uint64_t done, uint64_t total, uint64_t elapsed_ns,
                       char *buf, size_t cap)
{
    unsigned percent = total > 0 ? (unsigned)(100.0 * (double)done / (double)total) : 100;
    int n = snprintf(buf, cap, "%s: %u %%", what, percent);
    if (elapsed_ns < NS_PER_S || done == 0 || n < 0 || (size_t)n >= cap)
        return buf;
    double left_ns = (double)elapsed_ns * (double)(total - done) / (double)done;
    uint64_t left = (uint64_t)(left_ns / (double)NS_PER_S + 0.5);
    if (left >= 120)
        snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " min left", (left + 30) / 60);
    else
        snprintf(buf + n, cap - (size_t)n, ", %" PRIu64 " s left", left);
    return buf;
}

void lu_progress(void *ctx, uint64_t done, uint64_t total)
{
    LuProgress *p = ctx;
    char text[128];
    if (!p->terminal && !p->lines)
        return;
    uint64_t now = os_now_ns();
    unsigned percent = total > 0 ? (unsigned)(done * 100 / total) : 100;
    bool first = p->last_ns == 0, last = done == total;
    if (!first && !last && now - p->last_ns < LINE_EVERY_MS * NS_PER_MS)
        return;
    if (p->lines && !first && !last && percent == p->last_percent)
        return;
    p->last_ns = now;
    p->last_percent = percent;
    lu_progress_text(p->what, done, total, now - p->start_ns, text, sizeof text);
    if (p->terminal)
        fprintf(stderr, "\r%s\033[K", text);
    else
        fprintf(stderr, "progress: %s\n", text);
}

void lu_progress_end(LuProgress *p)
{
    if (p->terminal && p->what)
        fputs("\r\033[K", stderr);
    p->what = NULL;
}
