/* SPDX-License-Identifier: MIT */
/* The pool's memory: one anonymous mapping. Its pages are taken from the host when they are first
 * touched, or all together at the start. It is never in a core dump, and in huge pages and locked
 * where the host allows it. */
#ifndef DODO_IMD_MEMORY_H
#define DODO_IMD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_limit.h"

enum {
    MEMORY_HUGE_PAGE = 2 << 20,
    MEMORY_RUNS_MAX = 16384, /* of huge pages in a divided pool: the kernel keeps 65530 mappings */
};

typedef struct PoolMemory {
    uint8_t *base; /* NULL: none */
    uint64_t bytes;
    uint64_t page;       /* of the host */
    bool locked;         /* pages stay in memory once touched; else the host may swap them out */
    bool kept;           /* taken at once: not given back before the end */
    bool divided;        /* no huge page has parts of two ranges */
    unsigned processors; /* as counted at the start: later no file can be opened to count them */
} PoolMemory;

/* @bytes must not exceed what the host has to give now, nor what the limit of this process's
 * control group leaves beside imd itself. @populate: all of it is taken from the host now, and
 * kept. 0; -errno, and @error says what to fix. */
int pool_memory_map(PoolMemory *m, uint64_t bytes, bool populate, char *error, size_t error_cap);
void pool_memory_unmap(PoolMemory *m);
/* From now on a huge page is only where one range has all of it. In any other, the first byte of
 * one range would take memory from the host for the others, too, which nobody counts, and which
 * stays while that byte does. Not for a pool that is kept. */
void pool_memory_divide(PoolMemory *m);
/* In a divided pool: what it is to hold next begins and ends there, at multiples of a page. Nothing
 * of it is in use. */
void pool_memory_lay(const PoolMemory *m, uint64_t offset, uint64_t bytes);
/* The pages of a range, or of a part of one, go back to the host, and read as zeros when they are
 * touched again. Of a huge page all has to go, or it may stay; and so it is with a page of a host
 * whose pages are larger than those that ranges are made of. */
void pool_memory_give_back(const PoolMemory *m, uint64_t offset, uint64_t bytes);
/* Likewise, and the range is over. */
void pool_memory_clear(const PoolMemory *m, uint64_t offset, uint64_t bytes);
/* All of them, before the end: by as many threads as there are processors, which hurry. */
void pool_memory_give_back_all(const PoolMemory *m);
/* Memory available without swapping, [bytes]; UINT64_MAX: the system does not say. */
uint64_t memory_available(void);
/* Whether a pool of @bytes is allowed where so much is available under that limit: 0; -ENOMEM, and
 * @error says what to fix. */
int pool_memory_check(uint64_t bytes, uint64_t available, const MemoryLimit *limit, char *error,
                      size_t error_cap);

#endif
