/* SPDX-License-Identifier: MIT */
/* The check of a factorization: a system solved with it, out of core; see lu_factor.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "examples/lu_factor.h"

static double dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* x = L^-1 x, for the part of L in slab @k; @block: its rows from the diagonal down. */
static void solve_lower(const LuLayout *l, uint64_t k, const double *block, double *x)
{
    uint64_t top = k * l->slab, columns = lu_slab_columns(l, k);
    for (uint64_t r = 1; r < l->order - top; r++)
        x[top + r] -= dot(block + r * l->slab, x + top, r < columns ? r : columns);
}

/* x = U^-1 x, for the part of U in slab @k; @block: its rows down to the diagonal block's end. */
static void solve_upper(const LuLayout *l, uint64_t k, const double *block, double *x)
{
    uint64_t top = k * l->slab, columns = lu_slab_columns(l, k);
    for (uint64_t c = columns; c-- > 0;) {
        const double *row = block + (top + c) * l->slab;
        x[top + c] = (x[top + c] - dot(row + c + 1, x + top + c + 1, columns - c - 1)) / row[c];
    }
    for (uint64_t r = 0; r < top; r++)
        x[r] -= dot(block + r * l->slab, x + top, columns);
}

static int solve(LuMatrix *m, const int32_t *pivots, double *block, double *x, LuProgressFn fn,
                 void *ctx)
{
    const LuLayout *l = &m->header.layout;
    uint64_t slabs = lu_slabs(l), done = 0;
    for (uint64_t i = 0; i < l->order; i++) {
        double kept = x[i];
        x[i] = x[pivots[i] - 1];
        x[pivots[i] - 1] = kept;
    }
    for (uint64_t k = 0; k < slabs; k++) {
        int r = lu_matrix_read(m, LU_THROUGH, k, k * l->slab, l->order, block);
        if (r < 0)
            return r;
        solve_lower(l, k, block, x);
        fn(ctx, ++done, 2 * slabs);
    }
    for (uint64_t k = slabs; k-- > 0;) {
        uint64_t end = k * l->slab + lu_slab_columns(l, k);
        int r = lu_matrix_read(m, LU_THROUGH, k, 0, end, block);
        if (r < 0)
            return r;
        solve_upper(l, k, block, x);
        fn(ctx, ++done, 2 * slabs);
    }
    return 0;
}

/* ||A x - b|| and ||A||, with A and b from the seed. */
static void compare(const LuHeader *h, const double *x, double *ret_norm, double *ret_difference)
{
    uint64_t order = h->layout.order;
    *ret_norm = *ret_difference = 0;
    for (uint64_t r = 0; r < order; r++) {
        double norm = 0, sum = -lu_element(h->seed, r, order);
        for (uint64_t c = 0; c < order; c++) {
            double a = lu_element(h->seed, r, c);
            norm += fabs(a);
            sum += a * x[c];
        }
        *ret_norm = fmax(*ret_norm, norm);
        if (!(fabs(sum) <= *ret_difference)) /* what is no number must not be passed over */
            *ret_difference = isnan(*ret_difference) ? *ret_difference : fabs(sum);
    }
}

static double largest(const double *x, uint64_t n)
{
    double max = 0;
    for (uint64_t i = 0; i < n; i++)
        max = fmax(max, fabs(x[i]));
    return max;
}

int lu_residual(LuMatrix *m, const int32_t *pivots, double *ret, LuProgressFn fn, void *ctx)
{
    const LuHeader *h = &m->header;
    uint64_t order = h->layout.order;
    double *block CLEANUP_FREE = malloc(order * h->layout.slab * sizeof *block);
    double *x CLEANUP_FREE = malloc(order * sizeof *x);
    if (!block || !x) {
        snprintf(m->error, sizeof m->error, "no memory for the check");
        return -ENOMEM;
    }
    for (uint64_t r = 0; r < order; r++)
        x[r] = lu_element(h->seed, r, order);
    double b_norm = largest(x, order), a_norm, difference;
    int r = solve(m, pivots, block, x, fn, ctx);
    if (r < 0)
        return r;
    compare(h, x, &a_norm, &difference);
    *ret = difference / (0x1p-53 * (a_norm * largest(x, order) + b_norm) * (double)order);
    return 0;
}
