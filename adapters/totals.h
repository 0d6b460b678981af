/* SPDX-License-Identifier: MIT */
/* What was read through mounts, or the library in a program, as the last line of a report has it:
 * they write it, `dodo run` reads it. Pure. */
#ifndef DODO_ADAPTERS_TOTALS_H
#define DODO_ADAPTERS_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads that came to a mount, and their bytes; what the kernel answered itself did not. A read of a
 * cached file counts at the farthest place that it had to go to, its bytes where each came from. */
#define READ_TOTALS(X)                                 \
    X(reads)                                           \
    X(bytes)                                           \
    X(local_reads)                                     \
    X(local_bytes)                                     \
    X(remote_reads)                                    \
    X(remote_bytes)                                    \
    X(file_reads) /* of cached files, from the file */ \
    X(file_bytes)                                      \
    X(uncached_reads) /* of other files */             \
    X(uncached_bytes)                                  \
    X(ns) /* that all reads took, in all; several may run at once */

typedef struct ReadTotals {
#define FIELD(name) uint64_t name;
    READ_TOTALS(FIELD)
#undef FIELD
} ReadTotals;

enum { TOTALS_LINE_MAX = 600 };

/* "total reads=N bytes=N ...", without a newline. Returns @line. */
char *totals_line(const ReadTotals *t, char line[TOTALS_LINE_MAX]);
/* Adds what such a line has; false: it is none. */
bool totals_add(ReadTotals *t, const char *line);
/* For people: what was read @through what, and where the bytes came from. Returns @text. */
char *totals_text(const ReadTotals *t, const char *through, char *text, size_t cap);

#endif
