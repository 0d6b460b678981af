/* SPDX-License-Identifier: MIT */
/* How many reads of a trace miss in a cache of so many pieces: under each policy of the library,
 * in its own core, and under Belady's, which knows the future. A trace has numbers of pieces below
 * @pieces, each read alone. */
#ifndef DODO_BENCH_POLICIES_RUN_H
#define DODO_BENCH_POLICIES_RUN_H

#include <stddef.h>
#include <stdint.h>

typedef struct PolicyTrace {
    const uint32_t *at;
    size_t len;
    uint32_t pieces;
} PolicyTrace;

/* Both end the program where there is no memory. @room: of the cache [pieces]. */
uint64_t policy_misses(const PolicyTrace *t, uint64_t room, int policy);
/* What was just read, too, may be what leaves. */
uint64_t optimum_misses(const PolicyTrace *t, uint64_t room);

#endif
