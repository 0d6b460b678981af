/* SPDX-License-Identifier: MIT */
/* Compiled into the simulation's copy of the cores ahead of each file: their memory is taken from
 * the process they run in, so that a kill -9 in the midst of anything frees all of it, and an
 * orderly end can be checked to have left nothing. */
#ifndef DODO_TESTS_SIM_ALLOC_H
#define DODO_TESTS_SIM_ALLOC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tests/lib/sim_rng.h"

/* The memory of one simulated process. */
typedef struct SimHeap {
    ListNode blocks;
    size_t bytes, peak;
    uint32_t fail_ppm; /* allocations that fail */
    uint64_t failed;
    SimRng rng;
} SimHeap;

void sim_heap_init(SimHeap *h, uint64_t seed);
void sim_heap_drop(SimHeap *h); /* frees all */
/* All allocation from now on is @h's; returns whose it was. */
SimHeap *sim_heap_enter(SimHeap *h);

void *sim_malloc(size_t n) __attribute__((malloc));
void *sim_calloc(size_t n, size_t size) __attribute__((malloc));
void *sim_aligned_alloc(size_t align, size_t n) __attribute__((malloc));
void *sim_realloc(void *p, size_t n);
void sim_free(void *p);

#ifdef SIM_CORES
#define malloc(n) sim_malloc(n)
#define calloc(n, size) sim_calloc(n, size)
#define aligned_alloc(align, n) sim_aligned_alloc(align, n)
#define realloc(p, n) sim_realloc(p, n)
#define free(p) sim_free(p)
#endif

#endif
