/* SPDX-License-Identifier: MIT */
/* The idle memory daemon's pool as numbers: first-fit allocation of ranges with coalescing
 * (the paper's 4.2). Knows nothing of the memory itself. Pure; bookkeeping memory is bounded by
 * the number of ranges. Ranges start at multiples of POOL_ALIGN and are rounded up to it. */
#ifndef DODO_IMD_POOL_H
#define DODO_IMD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_ALIGN = 4096 };

typedef struct Pool Pool;

Pool *pool_new(uint64_t bytes); /* NULL: no memory; @bytes is rounded down to POOL_ALIGN */
Pool *pool_free(Pool *p);       /* returns NULL */
/* 0 and the offset; POOL_E_FULL: no block is large enough; -ENOMEM: no bookkeeping memory. */
enum { POOL_E_FULL = 1 };
int pool_take(Pool *p, uint64_t len, uint64_t *ret_offset);
/* @offset as pool_take() gave it; anything else is the caller's bug (asserted). */
void pool_give(Pool *p, uint64_t offset);
uint64_t pool_bytes(const Pool *p);
uint64_t pool_free_bytes(const Pool *p);
uint64_t pool_largest_free(const Pool *p); /* O(1) or O(log n) */
size_t pool_ranges(const Pool *p);         /* taken */
/* Every invariant: ranges disjoint, ordered, coalesced, sums right. For tests. */
bool pool_check(const Pool *p);

#endif
