/* SPDX-License-Identifier: MIT */
/* lu's factors are those that LAPACK finds in memory, up to rounding, in the files of any layout.
 */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "examples/lu_blas.h"
#include "examples/lu_factor.h"
#include "tests/lib/case.h"
#include "tests/unit/lu_fixture.h"

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);

static TmpDir dir;

static int dir_make(void **state)
{
    (void)state;
    lu_blas_threads(1);
    tmpdir_make(&dir);
    return 0;
}

static int dir_remove(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

static double *numbers(uint64_t count)
{
    double *a = calloc(count, sizeof *a);
    assert_non_null(a);
    return a;
}

/* How far it was reported to be. */
typedef struct Told {
    uint64_t done, total;
} Told;

static void tell(void *ctx, uint64_t done, uint64_t total)
{
    Told *t = ctx;
    assert_true(done > t->done && done <= total);
    assert_true(t->done == 0 || total == t->total);
    *t = (Told){done, total};
}

/* Factors what lies in the directory, as lu does. */
static int factor(LuMatrix *m, int32_t *pivots, LuResult *result)
{
    assert_int_equal(lu_matrix_enter(m, dir.path, false), 0);
    assert_int_equal(lu_matrix_header(m), 0);
    assert_int_equal(lu_matrix_open(m, &backend_disk, true), 0);
    Told progress = {0};
    int r = lu_factor(m, pivots, result, tell, &progress);
    assert_true(r < 0 || progress.done == progress.total);
    assert_int_equal(lu_matrix_close(m), 0);
    lu_matrix_leave(m);
    return r;
}

static double norm(const double *a, uint64_t n)
{
    double max = 0;
    for (uint64_t r = 0; r < n; r++) {
        double sum = 0;
        for (uint64_t c = 0; c < n; c++)
            sum += fabs(a[r * n + c]);
        max = fmax(max, sum);
    }
    return max;
}

/* ||P A - L U|| / (N eps ||A||): straight from the definition. */
static double residual(const double *a, const double *lu, const int32_t *pivots, uint64_t n)
{
    double *d CLEANUP_FREE = numbers(n * n);
    memcpy(d, a, n * n * sizeof *d);
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++) {
            uint64_t other = (uint64_t)pivots[r] - 1;
            double x = d[r * n + c];
            d[r * n + c] = d[other * n + c];
            d[other * n + c] = x;
        }
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++)
            for (uint64_t k = 0; k <= r && k <= c; k++)
                d[r * n + c] -= (k == r ? 1 : lu[r * n + k]) * lu[k * n + c];
    return norm(d, n) / ((double)n * 0x1p-53 * norm(a, n));
}

/* Of the matrix in memory: the same pivots, and nearly the same numbers. */
static void check_reference(const double *a, const double *lu, const int32_t *pivots, uint64_t n)
{
    double *t CLEANUP_FREE = numbers(n * n), difference = 0, largest = 0;
    int *ipiv CLEANUP_FREE = calloc(n, sizeof *ipiv), order = (int)n, info = -1;
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++)
            t[c * n + r] = a[r * n + c];
    dgetrf_(&order, &order, t, &order, ipiv, &info);
    assert_int_equal(info, 0);
    for (uint64_t r = 0; r < n; r++) {
        assert_int_equal(pivots[r], ipiv[r]);
        for (uint64_t c = 0; c < n; c++) {
            difference = fmax(difference, fabs(t[c * n + r] - lu[r * n + c]));
            largest = fmax(largest, fabs(t[c * n + r]));
        }
    }
    assert_true(difference <= 1e-9 * largest);
}

static void check_matrix(const LuLayout *l, const double *a)
{
    uint64_t n = l->order;
    double *lu CLEANUP_FREE = numbers(n * n);
    int32_t *pivots CLEANUP_FREE = calloc(n, sizeof *pivots);
    LuMatrix m;
    LuResult result;
    fixture_store(&dir, l, a);
    assert_int_equal(factor(&m, pivots, &result), 0);
    fixture_load(&dir, l, lu);
    assert_true(residual(a, lu, pivots, n) < 1);
    check_reference(a, lu, pivots, n);
    double smallest = INFINITY, largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        smallest = fmin(smallest, fabs(lu[i * n + i]));
        largest = fmax(largest, fabs(lu[i * n + i]));
    }
    assert_true(result.smallest_pivot == smallest && result.largest_pivot == largest);
}

static void check_layout(const LuLayout *l, uint64_t seed)
{
    uint64_t n = l->order;
    double *a CLEANUP_FREE = numbers(n * n);
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++)
            a[r * n + c] = lu_element(seed, r, c);
    check_matrix(l, a);
}

TEST(factors__are_lapacks_in_any_layout)
{
    static const LuLayout all[] = {{1, 64, 8},  {1, 1, 1},   {2, 1, 3},   {7, 3, 2},  {63, 64, 8},
                                   {64, 64, 8}, {65, 64, 8}, {100, 7, 3}, {90, 5, 8}, {130, 64, 8},
                                   {33, 4, 8},  {81, 9, 4},  {50, 49, 8}, {24, 8, 1}};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        check_layout(&all[i], i);
}

/* Without an interchange at each step there is a division by zero. */
TEST(factors__of_a_matrix_that_needs_pivoting)
{
    const LuLayout l = {45, 8, 3};
    uint64_t n = l.order;
    double *a CLEANUP_FREE = numbers(n * n);
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++)
            a[r * n + c] = r == c ? 0 : lu_element(3, r, c);
    check_matrix(&l, a);
    for (uint64_t r = 0; r < n; r++) /* a cycle of rows: the farthest interchanges there are */
        for (uint64_t c = 0; c < n; c++)
            a[r * n + c] = c == (r + 1) % n ? 1 : 0;
    check_matrix(&l, a);
}

TEST(factor__tells_that_a_matrix_is_singular)
{
    const LuLayout l = {20, 6, 4};
    uint64_t n = l.order;
    double *a CLEANUP_FREE = numbers(n * n);
    int32_t pivots[20];
    LuMatrix m;
    LuResult result;
    for (uint64_t r = 0; r < n; r++)
        for (uint64_t c = 0; c < n; c++)
            a[r * n + c] = c == 13 ? 0 : lu_element(4, r, c);
    fixture_store(&dir, &l, a);
    assert_int_equal(factor(&m, pivots, &result), -EDOM);
    assert_non_null(strstr(m.error, "singular: in column 14 there is no pivot but zero"));
}

TEST(factor__tells_which_number_is_none)
{
    const LuLayout l = {20, 6, 3};
    uint64_t n = l.order;
    double *a CLEANUP_FREE = numbers(n * n);
    int32_t pivots[20];
    LuMatrix m;
    LuResult result;
    for (uint64_t i = 0; i < n * n; i++)
        a[i] = lu_element(4, i / n, i % n);
    a[2 * n + 9] = NAN;
    fixture_store(&dir, &l, a);
    assert_int_equal(factor(&m, pivots, &result), -EINVAL);
    assert_non_null(strstr(m.error, "/matrix.1: row 3, column 10 "));
}

/* What a generated matrix's factors are judged by: a number of theirs that is wrong is found out.
 */
TEST(residual__finds_a_wrong_number)
{
    const LuLayout l = {70, 8, 3};
    uint64_t n = l.order;
    double *lu CLEANUP_FREE = numbers(n * n), r;
    int32_t pivots[70];
    LuMatrix m;
    LuResult result;
    assert_int_equal(lu_matrix_enter(&m, dir.path, false), 0);
    assert_int_equal(lu_matrix_generate(&m, &l, 9, no_progress, NULL), 0);
    lu_matrix_leave(&m);
    assert_int_equal(factor(&m, pivots, &result), 0);
    fixture_load(&dir, &l, lu);
    LuHeader header = m.header;
    for (unsigned i = 0; i < 4; i++) {
        static const uint64_t wrong[] = {0, 3 * 70 + 60, 60 * 70 + 3, 69 * 70 + 69};
        double kept = lu[wrong[i]];
        if (i > 0)
            lu[wrong[i]] += 0.01;
        fixture_store(&dir, &l, lu);
        assert_int_equal(lu_matrix_enter(&m, dir.path, false), 0);
        m.header = header;
        assert_int_equal(lu_matrix_open(&m, &backend_disk, false), 0);
        assert_int_equal(lu_residual(&m, pivots, &r, no_progress, NULL), 0);
        assert_int_equal(r < LU_RESIDUAL_MAX, i == 0);
        assert_int_equal(lu_matrix_close(&m), 0);
        lu_matrix_leave(&m);
        lu[wrong[i]] = kept;
    }
}

int main(void)
{
    return cases_run(dir_make, dir_remove);
}
