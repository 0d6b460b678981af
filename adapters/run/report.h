/* SPDX-License-Identifier: MIT */
/* What mounts, or the library in the program's processes, report of its reads, for --stats and
 * --verbose. */
#ifndef DODO_ADAPTERS_RUN_REPORT_H
#define DODO_ADAPTERS_RUN_REPORT_H

#include <stdbool.h>
#include <stdint.h>

/* A file in memory that they append to: its descriptor, or -1. */
int report_make(void);

typedef struct ReportAsk {
    bool files;      /* the line of each file */
    bool sums;       /* one line with all */
    bool library;    /* it is the library's; else of mounts */
    unsigned mounts; /* that have ended */
} ReportAsk;
/* Prints what is in it, of a program that ran for @elapsed_ns. */
void report_print(int fd, const ReportAsk *ask, uint64_t elapsed_ns);

#endif
