/* SPDX-License-Identifier: MIT */
/* What lu does with the numbers in memory, on BLAS and LAPACK. Two shapes: a block is some rows of
 * a slab, row by row, @ld numbers apart, as the files have it; a panel is a slab, column by column,
 * all rows, @order numbers apart, as LAPACK wants what it factors. */
#ifndef DODO_EXAMPLES_LU_BLAS_H
#define DODO_EXAMPLES_LU_BLAS_H

#include <stdint.h>

#include "examples/lu_layout.h"

/* How many threads BLAS may use. With one, the same operations give the same bits. */
void lu_blas_threads(unsigned threads);

/* Between a block of all rows, l->slab apart, and a panel; @columns of them. */
void lu_panel_from_block(const LuLayout *l, uint64_t columns, const double *block, double *panel);
void lu_block_from_panel(const LuLayout *l, uint64_t columns, const double *panel, double *block);

/* What the earlier slab @k does to the panel: its interchanges, its triangle, its rows below.
 * @block: the rows of slab @k from its diagonal down, as they were when it had been factored. */
void lu_update(const LuLayout *l, uint64_t k, const double *block, const int32_t *pivots,
               uint64_t columns, double *panel);
/* Factors the rows of the panel from slab @j's diagonal down. @pivots: of all rows; slab @j's are
 * set. 0; else the column, counted from 1, whose pivot is zero. */
uint64_t lu_factor_panel(const LuLayout *l, uint64_t j, double *panel, int32_t *pivots);
/* The interchanges of all rows below slab @k's diagonal block, on the block of those rows. */
void lu_interchange(const LuLayout *l, uint64_t k, const int32_t *pivots, double *block);

#endif
