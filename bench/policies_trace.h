/* SPDX-License-Identifier: MIT */
/* A trace from a file: a block number a line. */
#ifndef DODO_BENCH_POLICIES_TRACE_H
#define DODO_BENCH_POLICIES_TRACE_H

#include "bench/policies_run.h"

/* Blocks get new numbers, in the order of their first read. "-" is standard input. 0; -1 after a
 * complaint on standard error. The array is the caller's, to be freed. */
int policy_trace_read(const char *path, PolicyTrace *ret, uint32_t **ret_at);

#endif
