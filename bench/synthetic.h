/* SPDX-License-Identifier: MIT */
/* The parts of the synthetic benchmark (the paper's 5.2.2): options, access patterns. */
#ifndef DODO_BENCH_SYNTHETIC_H
#define DODO_BENCH_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/common.h"
#include "examples/source.h"

enum Pattern { PATTERN_SEQUENTIAL, PATTERN_HOTCOLD, PATTERN_RANDOM, PATTERN_MAX };
extern const char *const pattern_names[PATTERN_MAX];

typedef struct Options {
    const char *file;
    const Backend *backend;
    const char *policy; /* NULL: the back end's usual one */
    uint64_t size_bytes, request_bytes, region_bytes;
    uint64_t iterations, seed;
    uint64_t compute_ns; /* between requests */
    bool compute_sleeps;
    enum Pattern pattern;
    uint64_t hot_data_percent, hot_requests_percent;
    bool make, json, progress, histogram, prefetch;
} Options;

/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int options_parse(Options *o, int argc, char **argv, int *ret_status);

typedef struct Run {
    const Options *options;
    uint64_t requests; /* an iteration */
    uint64_t *iteration_ns;
    uint32_t *request_ns; /* of every request, in order */
    uint64_t done;        /* requests */
    uint64_t verified_bytes, wrong_bytes;
    uint64_t total_ns, read_ns; /* of all iterations; of all requests */
} Run;
/* One line, or one JSON object. Sorts the times. */
void synthetic_print(Run *run, const Sources *s);

#endif
