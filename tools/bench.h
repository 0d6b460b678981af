/* SPDX-License-Identifier: MIT */
/* The parts of dodo bench: its options, the area that it reads and writes, the measurement, the
 * report. The command itself is bench.c. */
#ifndef DODO_TOOLS_BENCH_H
#define DODO_TOOLS_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/bench_histogram.h"
#include "tools/bench_plan.h"
#include "tools/client.h"

enum { BENCH_THREADS_MAX = 256, BENCH_REGIONS_MAX = 1 << 16, BENCH_HOST_MAX = 64 };

typedef struct BenchOptions {
    ToolOptions tool; /* first */
    bool read, write, progress;
    char *size, *pattern_name, *file, *dir; /* as given; @file may be NULL */
    uint64_t threads, time_ns, pause_ns, area_bytes, region_bytes;
    /* what follows from them: */
    BenchSizes sizes;
    BenchPattern pattern;
} BenchOptions;

/* The number of the signal that wants the program to end; 0: none came. */
extern volatile sig_atomic_t bench_signal;

/* ---- bench_area.c: a file, and regions of it one behind the other ------------------------------
 */

typedef struct BenchArea {
    BenchLayout layout;
    int fd;
    bool made;    /* here: its bytes follow from their place. Else they are what the file has */
    int *regions; /* descriptors */
    uint64_t regions_open;
} BenchArea;

typedef struct BenchSources {
    uint64_t remote_bytes, file_bytes;
} BenchSources;

/* All return 0, or -errno with @error saying what to fix; -EINTR once a signal came. */
/* Makes the file, or opens the one that was named, then the regions. */
int bench_area_open(BenchArea *a, const BenchOptions *o, char error[CONFIG_ERROR_MAX]);
void bench_area_close(BenchArea *a); /* also after a failed bench_area_open() */
/* Reads all of it until it comes from remote memory. What does not after a while stays as it is. */
int bench_area_fill(const BenchArea *a, bool progress, char error[CONFIG_ERROR_MAX]);

/* One call of the library, within one region. 0, or -errno. */
int bench_area_read(const BenchArea *a, uint64_t offset, void *buf, size_t len);
int bench_area_write(const BenchArea *a, uint64_t offset, const void *buf, size_t len);
/* What the bytes at a place are in one of their versions; 0 is what the file was made of. */
void bench_contents_make(uint64_t offset, uint32_t version, void *buf, size_t len);
/* How many of @buf are something else in @ret; @spare: room for @len bytes. 0, or -errno. */
int bench_area_check(const BenchArea *a, uint64_t offset, uint32_t version, const void *buf,
                     void *spare, size_t len, uint64_t *ret);
/* The same, of the file as it is. */
int bench_area_check_file(const BenchArea *a, uint64_t offset, const void *buf, void *spare,
                          size_t len, uint64_t *ret);
/* The text behind a failed call. Returns @result. */
int bench_call_failed(const char *what, uint64_t offset, int result, char *error);
/* Read so far. */
BenchSources bench_area_sources(const BenchArea *a);
/* The hosts that hold it, each once, in order of their regions; at most @max. Returns how many. */
unsigned bench_area_hosts(const BenchArea *a, char (*ret)[BENCH_HOST_MAX], unsigned max);

/* ---- bench_run.c: calls of one kind and size ----------------------------------------------------
 */

typedef struct BenchRow {
    bool write;
    uint64_t size;
    Histogram times;      /* of each call [ns] */
    double calls_per_s;   /* all threads together, while they are inside the calls */
    uint64_t cpu_ns;      /* of this process, but for making and checking contents */
    BenchSources sources; /* of reads; of writes: when they were read back */
    uint64_t checked_bytes, wrong_bytes;
} BenchRow;

/* 0, or -errno with @error; -EINTR once a signal came. */
int bench_run(const BenchArea *a, const BenchOptions *o, bool write, uint64_t size, BenchRow *ret,
              char error[CONFIG_ERROR_MAX]);

/* ---- bench_report.c ---------------------------------------------------------------------------
 */

void bench_print_stage(FILE *to, const BenchArea *a, const BenchOptions *o);
void bench_print_row(FILE *to, const BenchRow *r, bool first);
void bench_print_json(FILE *to, const BenchArea *a, const BenchOptions *o, const BenchRow *rows,
                      unsigned count);

#endif
