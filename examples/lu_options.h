/* SPDX-License-Identifier: MIT */
/* The command line of lu. */
#ifndef DODO_EXAMPLES_LU_OPTIONS_H
#define DODO_EXAMPLES_LU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "examples/lu_layout.h"
#include "examples/source.h"

typedef struct LuOptions {
    LuLayout layout; /* 0: not given */
    const char *dir;
    const Backend *backend;
    const char *policy; /* NULL: first-in */
    uint64_t seed, threads;
    uint64_t compute_rate; /* operations a second at most; 0: any */
    bool generate, check, json, progress;
} LuOptions;
/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int lu_options_parse(LuOptions *o, int argc, char **argv, int *ret_status);

#endif
