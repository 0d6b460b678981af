/* SPDX-License-Identifier: MIT */
#include "adapters/file_reads.h"

#include <stdio.h>
#include <string.h>

#include "adapters/mount/reason.h"
#include "base/parse.h"

/* In one line, whatever the path has. */
static void make_text(char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == 0x7f)
            *path = '?';
}

void file_reads_line(const FileReads *f, const char *path, char *line, size_t cap)
{
    char cached[32], uncached[32];
    const char *why = reason_text((enum Reason)f->reason);
    (void)format_size(f->cached_bytes, cached, sizeof cached);
    (void)format_size(f->uncached_bytes, uncached, sizeof uncached);
    int len = snprintf(line, cap, "%s", path ? path : "(a file that is gone)");
    make_text(line);
    if (len < 0 || (size_t)len >= cap)
        return;
    line += len;
    cap -= (size_t)len;
    if (f->reason == REASON_NONE)
        (void)snprintf(line, cap, ": cached, %s read\n", cached);
    else if (f->cached_bytes == 0)
        (void)snprintf(line, cap, ": not cached, %s read: %s\n", uncached, why);
    else
        (void)snprintf(line, cap, ": cached at times, %s read, and %s while it was not: %s\n",
                       cached, uncached, why);
}
