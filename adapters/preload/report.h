/* SPDX-License-Identifier: MIT */
/* What was read of large files, and from where: for `dodo run --stats` and `--verbose`. Nothing is
 * counted where nobody wants it. */
#ifndef DODO_ADAPTERS_PRELOAD_REPORT_H
#define DODO_ADAPTERS_PRELOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "adapters/preload/files.h"

/* A read begins: the time for report_read(); 0: nobody wants to know. */
uint64_t report_begin(void);
/* A read of @f has brought @n bytes, or less than 0; @cached: from the region cache. */
void report_read(File *f, bool cached, ssize_t n, uint64_t began_ns);
/* The line of a file whose place another one gets. */
void report_file(const File *f);
/* When the process ends, before what is at its end by now: the lines of all files, and the sums. */
void report_at_exit(void);
void report_write(void);
/* The child of a fork begins at nothing. @for_good: and says nothing. */
void report_forget(bool for_good);

#endif
