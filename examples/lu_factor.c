/* SPDX-License-Identifier: MIT */
/* Left-looking LU with partial pivoting: each slab in turn is read, takes in all that the slabs
 * before it do to it, is factored and written. So the slabs are read over and over, each from its
 * diagonal down: the paper's triangle scan (5.2.1). Until the end a slab stays as it was when it
 * had been factored; a last pass carries the later interchanges of rows back to the earlier slabs,
 * and the files then hold what LAPACK's dgetrf would have made of the whole matrix. */
#include "examples/lu_factor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "examples/lu_blas.h"

typedef struct Work {
    LuMatrix *m;
    const LuLayout *layout;
    double *block, *panel;
    int32_t *pivots;
    LuResult *result;
    LuProgressFn progress;
    void *progress_ctx;
    uint64_t done, total; /* numbers read */
} Work;

/* Aligned, so that a run's operations do not depend on where its memory happens to lie. */
static double *slab_memory(const LuLayout *l)
{
    size_t bytes = l->order * l->slab * sizeof(double);
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

static int no_memory(LuMatrix *m)
{
    snprintf(m->error, sizeof m->error, "no memory for the slabs: take a smaller --slab");
    return -ENOMEM;
}

static void advance(Work *w, uint64_t rows)
{
    w->done += rows;
    w->progress(w->progress_ctx, w->done, w->total);
}

/* Stands for a slower processor: not before what began at @start_ns would be done on it. */
static void pace(const Work *w, uint64_t start_ns, uint64_t operations)
{
    uint64_t rate = w->m->compute_rate;
    if (rate == 0)
        return;
    uint64_t end = start_ns + (uint64_t)((double)operations / (double)rate * (double)NS_PER_S);
    for (uint64_t now; (now = os_now_ns()) < end;) { /* woken early, it looks again */
        struct timespec left = time_to_timespec(end - now);
        (void)nanosleep(&left, NULL);
    }
}

/* Rows below the slab's diagonal block. */
static uint64_t rows_below(const LuLayout *l, uint64_t k)
{
    uint64_t end = k * l->slab + lu_slab_columns(l, k);
    return l->order - end;
}

/* All rows that the whole run reads. */
static uint64_t all_rows(const LuLayout *l)
{
    uint64_t slabs = lu_slabs(l), rows = 0;
    for (uint64_t k = 0; k < slabs; k++)
        rows += l->order + (slabs - 1 - k) * (l->order - k * l->slab) + rows_below(l, k);
    return rows;
}

static int find_pivot_sizes(Work *w, uint64_t j, uint64_t zero_column)
{
    const LuLayout *l = w->layout;
    for (uint64_t c = 0; c < lu_slab_columns(l, j); c++) {
        double size = fabs(w->panel[c * l->order + j * l->slab + c]);
        LuResult *r = w->result;
        bool first = j == 0 && c == 0;
        r->largest_pivot = first || size > r->largest_pivot ? size : r->largest_pivot;
        r->smallest_pivot = first || size < r->smallest_pivot ? size : r->smallest_pivot;
    }
    if (zero_column == 0)
        return 0;
    snprintf(w->m->error, sizeof w->m->error,
             "the matrix is singular: in column %" PRIu64 " there is no pivot but zero; %s holds "
             "neither the matrix nor its factors now",
             zero_column, w->m->dir);
    return -EDOM;
}

static int factor_slab(Work *w, uint64_t j)
{
    const LuLayout *l = w->layout;
    uint64_t columns = lu_slab_columns(l, j);
    int r = lu_matrix_read(w->m, LU_DIRECT, j, 0, l->order, w->block);
    if (r == 0)
        r = lu_matrix_examine(w->m, j, w->block);
    if (r < 0)
        return r;
    lu_panel_from_block(l, columns, w->block, w->panel);
    advance(w, l->order);
    for (uint64_t k = 0; k < j; k++) {
        r = lu_matrix_read(w->m, LU_THROUGH, k, k * l->slab, l->order, w->block);
        if (r < 0)
            return r;
        uint64_t start = os_now_ns(), below = l->order - k * l->slab;
        lu_update(l, k, w->block, w->pivots, columns, w->panel);
        pace(w, start, (2 * below - l->slab) * l->slab * columns);
        advance(w, l->order - k * l->slab);
    }
    uint64_t start = os_now_ns(), rows = l->order - j * l->slab;
    uint64_t zero_column = lu_factor_panel(l, j, w->panel, w->pivots);
    pace(w, start, rows * columns * columns);
    r = find_pivot_sizes(w, j, zero_column);
    if (r < 0)
        return r;
    lu_block_from_panel(l, columns, w->panel, w->block);
    return lu_matrix_write(w->m, LU_THROUGH, j, 0, l->order, w->block);
}

/* The interchanges of all later slabs, on slab @k; it will not be read again. */
static int complete_slab(Work *w, uint64_t k)
{
    const LuLayout *l = w->layout;
    uint64_t below = l->order - rows_below(l, k);
    bool last = below == l->order; /* there are none */
    int r = last ? 0 : lu_matrix_read(w->m, LU_THROUGH, k, below, l->order, w->block);
    if (r == 0)
        r = lu_matrix_drop(w->m, k);
    if (r < 0 || last)
        return r;
    lu_interchange(l, k, w->pivots, w->block);
    advance(w, rows_below(l, k));
    return lu_matrix_write(w->m, LU_DIRECT, k, below, l->order, w->block);
}

int lu_factor(LuMatrix *m, int32_t *pivots, LuResult *ret, LuProgressFn fn, void *ctx)
{
    const LuLayout *l = &m->header.layout;
    double *block CLEANUP_FREE = slab_memory(l), *panel CLEANUP_FREE = slab_memory(l);
    Work w = {m, l, block, panel, pivots, ret, fn, ctx, 0, all_rows(l)};
    int r = block && panel ? 0 : no_memory(m);
    for (uint64_t j = 0; j < lu_slabs(l) && r == 0; j++)
        r = factor_slab(&w, j);
    for (uint64_t k = 0; k < lu_slabs(l) && r == 0; k++)
        r = complete_slab(&w, k);
    return r;
}
