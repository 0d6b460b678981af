/* SPDX-License-Identifier: MIT */
/* The parts of the synthetic benchmark (the paper's 5.2.2): options, access patterns, back ends. */
#ifndef DODO_EXAMPLES_SYNTHETIC_H
#define DODO_EXAMPLES_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "examples/bench_common.h"

enum Pattern { PATTERN_SEQUENTIAL, PATTERN_HOTCOLD, PATTERN_RANDOM, PATTERN_MAX };
extern const char *const pattern_names[PATTERN_MAX];

typedef struct Options {
    const char *file;
    const struct Backend *backend;
    uint64_t size_bytes, request_bytes, region_bytes;
    uint64_t iterations, seed;
    uint64_t compute_ns; /* between requests */
    enum Pattern pattern;
    bool make, json, progress;
} Options;
/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int options_parse(Options *o, int argc, char **argv, int *ret_status);

/* Where the bytes came from. */
typedef struct Sources {
    uint64_t remote_bytes, file_bytes;
    uint64_t regions_opened, regions_failed, regions_lost;
} Sources;

typedef struct Source Source;
typedef struct Backend {
    const char *name;
    /* Reads exactly @len bytes of the data set: 0 or -errno. */
    int (*read)(Source *s, uint64_t offset, void *buf, size_t len);
    /* Gives everything back; s->sources is complete afterwards. */
    void (*close)(Source *s);
} Backend;
extern const Backend backend_disk, backend_dodo;

/* An open data set. */
struct Source {
    const Options *options;
    int fd;
    int *regions; /* back end dodo: descriptor of each region, -1: not open */
    uint64_t regions_count;
    Sources sources;
    bool told; /* the first failing mopen was reported */
};

#endif
