/* SPDX-License-Identifier: MIT */
/* The pool's memory: one anonymous mapping whose pages are taken from the host when they are first
 * touched. Never in a core dump, in huge pages and locked where the host allows it. */
#ifndef DODO_IMD_MEMORY_H
#define DODO_IMD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PoolMemory {
    uint8_t *base; /* NULL: none */
    uint64_t bytes;
    bool locked; /* pages stay in memory once touched; else the host may swap them out */
} PoolMemory;

/* @bytes must not exceed what the host has to give now. 0; -errno, and @error says what to mend. */
int pool_memory_map(PoolMemory *m, uint64_t bytes, char *error, size_t error_cap);
void pool_memory_unmap(PoolMemory *m);
/* Memory that can be had without swapping, [bytes]; UINT64_MAX: the system does not tell. */
uint64_t memory_available(void);

#endif
