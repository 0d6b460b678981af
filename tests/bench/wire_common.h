/* SPDX-License-Identifier: MIT */
/* What the two programs of scripts/bench-wire share: one loop that measures a read or a write of a
 * fixed size at random places, one at a time, checks every byte, and prints a line of JSON. So that
 * only what is measured differs between them. */
#ifndef DODO_TESTS_BENCH_WIRE_COMMON_H
#define DODO_TESTS_BENCH_WIRE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_LOST = 1 }; /* an outcome: it did not come through, and is not repeated */

/* Both: 0; WIRE_LOST; -errno. */
typedef struct WireTarget {
    int (*read)(void *ctx, uint64_t offset, void *buf, size_t len);
    int (*write)(void *ctx, uint64_t offset, const void *buf, size_t len);
    void *ctx;
} WireTarget;

typedef struct WireOptions {
    const char *name; /* who is measured; printed */
    const char *at;   /* ADDR:PORT or a path: the program's own business */
    bool write;
    size_t size;         /* of a read or write */
    uint64_t area_bytes; /* the places are multiples of the size below it */
    uint64_t least_ns;   /* so long inside the calls, */
    uint64_t least_ops;  /* and so many of them at least */
    uint64_t warm_ops;   /* before, not counted */
} WireOptions;

typedef struct WireResult {
    size_t ops;
    uint64_t lost, wrong_bytes;
    double p50_us, p99_us, least_us, mean_us;
} WireResult;

/* "read|write AT [NAME=VALUE...]": the options as they are, or exits with the usage. */
WireOptions wire_options(int argc, char **argv, const char *usage);
/* The area holds bench_data_make()'s bytes when reads are measured. What was written is read back
 * afterwards. 0, or -errno. */
int wire_measure(const WireOptions *o, const WireTarget *target, WireResult *ret);
/* @more: further fields, as ", \"name\": 1", or "". */
void wire_print(const WireOptions *o, const WireResult *r, const char *more);

#endif
