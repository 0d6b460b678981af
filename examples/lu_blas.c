/* SPDX-License-Identifier: MIT */
/* What lu does with the numbers in memory: see lu_blas.h. */
#include "examples/lu_blas.h"

#include <cblas.h>
#include <string.h>

#include "base/num.h"

/* LAPACK has only a Fortran interface everywhere. */
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void dlaswp_(const int *n, double *a, const int *lda, const int *k1, const int *k2, const int *ipiv,
             const int *incx);

enum { TILE = 8 }; /* a cache line of numbers */

void lu_blas_threads(unsigned threads)
{
    openblas_set_num_threads((int)threads);
}

void lu_panel_from_block(const LuLayout *l, uint64_t columns, const double *block, double *panel)
{
    for (uint64_t r0 = 0; r0 < l->order; r0 += TILE)
        for (uint64_t c = 0; c < columns; c++)
            for (uint64_t r = r0; r < min_u64(r0 + TILE, l->order); r++)
                panel[c * l->order + r] = block[r * l->slab + c];
}

void lu_block_from_panel(const LuLayout *l, uint64_t columns, const double *panel, double *block)
{
    for (uint64_t r0 = 0; r0 < l->order; r0 += TILE)
        for (uint64_t c = 0; c < columns; c++)
            for (uint64_t r = r0; r < min_u64(r0 + TILE, l->order); r++)
                block[r * l->slab + c] = panel[c * l->order + r];
}

/* BLAS takes the block for its transpose, column by column: that is why it says "Upper" and
 * "Trans". */
void lu_update(const LuLayout *l, uint64_t k, const double *block, const int32_t *pivots,
               uint64_t columns, double *panel)
{
    int order = (int)l->order, slab = (int)l->slab, n = (int)columns;
    int top = (int)(k * l->slab), below = order - top - slab;
    int first = top + 1, last = top + slab, step = 1;
    dlaswp_(&n, panel, &order, &first, &last, pivots, &step);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasUnit, slab, n, 1.0, block,
                slab, panel + top, order);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, below, n, slab, -1.0,
                block + l->slab * l->slab, slab, panel + top, order, 1.0, panel + top + slab,
                order);
}

uint64_t lu_factor_panel(const LuLayout *l, uint64_t j, double *panel, int32_t *pivots)
{
    int order = (int)l->order, top = (int)(j * l->slab), rows = order - top;
    int columns = (int)lu_slab_columns(l, j), info = 0;
    dgetrf_(&rows, &columns, panel + top, &order, pivots + top, &info);
    for (int i = 0; i < columns; i++)
        pivots[top + i] += top;
    return info > 0 ? (uint64_t)(top + info) : 0;
}

static void swap_rows(double *a, double *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        double x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

void lu_interchange(const LuLayout *l, uint64_t k, const int32_t *pivots, double *block)
{
    uint64_t top = (k + 1) * l->slab;
    for (uint64_t r = top; r < l->order; r++) {
        uint64_t other = (uint64_t)pivots[r] - 1;
        if (other != r)
            swap_rows(block + (r - top) * l->slab, block + (other - top) * l->slab, l->slab);
    }
}
