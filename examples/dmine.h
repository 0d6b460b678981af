/* SPDX-License-Identifier: MIT */
/* The parts of dmine (the paper's 5.2.1): options, the scans' times, what it prints. */
#ifndef DODO_EXAMPLES_DMINE_H
#define DODO_EXAMPLES_DMINE_H

#include <stdbool.h>
#include <stdint.h>

#include "examples/apriori.h"
#include "examples/association.h"
#include "examples/source.h"

typedef struct Options {
    const char *input;
    const Backend *backend;
    const char *policy;
    uint64_t region_bytes;
    uint64_t support_ppb;
    uint64_t confidence_ppb; /* 0: no rules are wanted */
    bool json, progress;
} Options;
/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int options_parse(Options *o, int argc, char **argv, int *ret_status);

/* A scan of the whole input. */
typedef struct Scan {
    unsigned size;    /* of the sets it counted */
    uint64_t ns;      /* all of it */
    uint64_t read_ns; /* spent waiting for the back end */
} Scan;

typedef struct Result {
    Apriori apriori;
    AssociationRules rules;
    Scan *scans;
    size_t scans_count, scans_cap;
    uint64_t ns;
} Result;

void print_json(const Options *o, const Result *result, const Sources *s);
void print_text(const Options *o, const Result *result, const Sources *s);

#endif
