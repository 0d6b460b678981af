/* SPDX-License-Identifier: MIT */
#include "adapters/file_reads.h"

#include <stdio.h>
#include <string.h>

#include "adapters/mount/reason.h"
#include "base/parse.h"

void file_reads_add(FileReads *f, ReadSums *sums, bool cached, ssize_t n, uint64_t ns)
{
    uint64_t bytes = n > 0 ? (uint64_t)n : 0;
    f->reads++;
    if (cached) {
        f->cached_bytes += bytes;
    } else {
        f->uncached_bytes += bytes;
        sums->uncached_reads++;
        sums->uncached_bytes += bytes;
    }
    sums->reads++;
    sums->bytes += bytes;
    sums->ns += ns;
}

char *read_sums_line(const ReadSums *sums, const DodoManageStats *st,
                     char line[TOTALS_LINE_MAX + 1])
{
    ReadTotals t = {.reads = sums->reads,
                    .bytes = sums->bytes,
                    .local_reads = st->local_hits,
                    .local_bytes = st->local_bytes,
                    .remote_reads = st->remote_hits,
                    .remote_bytes = st->remote_bytes,
                    .file_reads = st->disk_reads,
                    .file_bytes = st->disk_bytes,
                    .uncached_reads = sums->uncached_reads,
                    .uncached_bytes = sums->uncached_bytes,
                    .ns = sums->ns};
    return strcat(totals_line(&t, line), "\n");
}

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
    else if (f->reads == 0)
        (void)snprintf(line, cap, ": not cached: %s\n", why);
    else if (f->cached_bytes == 0)
        (void)snprintf(line, cap, ": not cached, %s read: %s\n", uncached, why);
    else
        (void)snprintf(line, cap, ": cached at times, %s read, and %s while it was not: %s\n",
                       cached, uncached, why);
}
