/* SPDX-License-Identifier: MIT */
/* The factorization itself, P A = L U, slab by slab, and the check of its result. */
#ifndef DODO_EXAMPLES_LU_FACTOR_H
#define DODO_EXAMPLES_LU_FACTOR_H

#include <stdint.h>

#include "examples/lu_matrix.h"

typedef struct LuResult {
    double largest_pivot, smallest_pivot; /* by absolute value */
} LuResult;

/* Puts the factors in the place of an open matrix, all of it in the files themselves, and sets the
 * order's @pivots. The slabs are read and written; that the files hold factors then is for the
 * caller to mark. 0, or -errno with m->error set; -EDOM: the matrix is singular. */
int lu_factor(LuMatrix *m, int32_t *pivots, LuResult *ret, LuProgressFn fn, void *ctx);

/* The scaled residual of the High-Performance Linpack benchmark, of the open factors of a generated
 * matrix: with x the solution of A x = b by these factors,
 *   ||A x - b|| / (eps (||A|| ||x|| + ||b||) N)
 * in infinity norms, eps = 2^-53. Reads the factors once, and A from its seed. */
int lu_residual(LuMatrix *m, const int32_t *pivots, double *ret, LuProgressFn fn, void *ctx);
/* Below it, a result counts as right. */
#define LU_RESIDUAL_MAX 16.0

#endif
