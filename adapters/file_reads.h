/* SPDX-License-Identifier: MIT */
/* What was read of files, and how much of it was cached: the lines of a report. */
#ifndef DODO_ADAPTERS_FILE_READS_H
#define DODO_ADAPTERS_FILE_READS_H

#include <stdatomic.h>
#include <dodo/manage.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "adapters/totals.h"

typedef struct FileReads {
    atomic_ullong cached_bytes, uncached_bytes;
    atomic_uint reads, reason; /* enum Reason, why not all came from the cache */
} FileReads;

/* Of all files. */
typedef struct ReadSums {
    atomic_ullong reads, bytes, uncached_reads, uncached_bytes, ns;
} ReadSums;

/* A read of @f has brought @n bytes, or an error, in @ns. */
void file_reads_add(FileReads *f, ReadSums *sums, bool cached, ssize_t n, uint64_t ns);
/* "total ...", with a newline: the sums, and where @st says that bytes of cached files came from.
 * Returns @line. */
char *read_sums_line(const ReadSums *sums, const DodoManageStats *st,
                     char line[TOTALS_LINE_MAX + 1]);
/* Writes the line of the file at @path into @line, with a newline at the end; characters of the
 * path that are no text become "?". NULL: a file that is gone. */
void file_reads_line(const FileReads *f, const char *path, char *line, size_t cap);

#endif
