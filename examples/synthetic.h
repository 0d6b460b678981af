/* SPDX-License-Identifier: MIT */
/* The parts of the synthetic benchmark (the paper's 5.2.2): options, access patterns. */
#ifndef DODO_EXAMPLES_SYNTHETIC_H
#define DODO_EXAMPLES_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "examples/bench_common.h"
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
    enum Pattern pattern;
    bool make, json, progress;
} Options;
/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int options_parse(Options *o, int argc, char **argv, int *ret_status);

#endif
