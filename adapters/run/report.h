/* SPDX-License-Identifier: MIT */
/* What the mounts report of the program's reads, for --stats and --verbose. */
#ifndef DODO_ADAPTERS_RUN_REPORT_H
#define DODO_ADAPTERS_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/* A file in memory that the mounts append to: its descriptor, or -1. */
int report_make(void);
/* Prints what is in it, of @mounts that have ended: @files: the line of each file; @sums: one line
 * with all, for a program that ran for @elapsed_ns. */
void report_print(int fd, unsigned mounts, bool files, bool sums, uint64_t elapsed_ns);

#endif
