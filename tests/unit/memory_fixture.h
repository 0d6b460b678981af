/* SPDX-License-Identifier: MIT */
/* A host of 100 GiB. */
#ifndef DODO_TESTS_MEMORY_FIXTURE_H
#define DODO_TESTS_MEMORY_FIXTURE_H

#include "rmd/pool_size.h"

#define GIB (1ull << 30)
#define MIB (1ull << 20)

static inline MemoryState host(uint64_t spare)
{
    return (MemoryState){.total_bytes = 100 * GIB, .spare_bytes = spare, .reserve_bytes = GIB};
}

#endif
