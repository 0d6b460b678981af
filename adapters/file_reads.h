/* SPDX-License-Identifier: MIT */
/* What was read of a file, and how much of it was cached: a line of a report. */
#ifndef DODO_ADAPTERS_FILE_READS_H
#define DODO_ADAPTERS_FILE_READS_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct FileReads {
    atomic_ullong cached_bytes, uncached_bytes;
    atomic_uint reads, reason; /* enum Reason, of the last read that was not from the cache */
} FileReads;

/* Writes the line of the file at @path into @line, with a newline at the end; characters of the
 * path that are no text become "?". NULL: a file that is gone. */
void file_reads_line(const FileReads *f, const char *path, char *line, size_t cap);

#endif
