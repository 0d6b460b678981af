/* SPDX-License-Identifier: MIT */
/* The paper's lu (5.2.1): dense LU decomposition of a matrix that is larger than memory, kept in
 * several files, with partial pivoting. All regions are made in the run and given back at its end:
 * what is gained comes from reading the same slabs many times. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/time.h"
#include "base/written.h"
#include "examples/lu_blas.h"
#include "examples/lu_factor.h"
#include "examples/lu_options.h"
#include "examples/lu_progress.h"

typedef struct Run {
    const LuOptions *options;
    LuMatrix matrix;
    LuProgress progress;
    int32_t *pivots;
    bool factored, checked;
    uint64_t run_ns;
    LuTraffic traffic; /* of the factorization */
    LuResult result;
    double residual;
} Run;

static int complain(Run *run, int r)
{
    lu_progress_end(&run->progress);
    fprintf(stderr, "lu: %s\n", printable(run->matrix.error));
    return r;
}

static int prepare(Run *run)
{
    const LuOptions *o = run->options;
    LuMatrix *m = &run->matrix;
    int r = lu_matrix_enter(m, o->dir, o->generate);
    if (r == 0 && o->generate) {
        lu_progress_start(&run->progress, "making the matrix");
        r = lu_matrix_generate(m, &o->layout, o->seed, lu_progress, &run->progress);
    } else if (r == 0) {
        r = lu_matrix_header(m);
    }
    if (r == 0)
        r = lu_matrix_accept(m, &o->layout, o->check);
    if (r < 0)
        return complain(run, r);
    run->pivots = malloc(m->header.layout.order * sizeof *run->pivots);
    if (run->pivots)
        return 0;
    snprintf(m->error, sizeof m->error, "no memory");
    return complain(run, -ENOMEM);
}

/* The files are marked before the first of them is changed, and again when all is on the disk. */
static int factor(Run *run)
{
    LuMatrix *m = &run->matrix;
    uint64_t start = os_now_ns();
    lu_progress_start(&run->progress, "factoring");
    m->policy = run->options->policy;
    m->compute_rate = run->options->compute_rate;
    int r = lu_matrix_open(m, run->options->backend, true);
    if (r == 0)
        r = lu_matrix_mark(m, LU_PARTIAL);
    if (r == 0)
        r = lu_factor(m, run->pivots, &run->result, lu_progress, &run->progress);
    if (r < 0) {
        (void)complain(run, r);
        (void)lu_matrix_close(m); /* what failed first was reported */
        return r;
    }
    r = lu_matrix_close(m);
    if (r == 0)
        r = lu_matrix_write_pivots(m, run->pivots);
    if (r == 0)
        r = lu_matrix_mark(m, LU_FACTORS);
    if (r < 0)
        return complain(run, r);
    run->run_ns = os_now_ns() - start;
    run->traffic = m->traffic;
    run->factored = true;
    return 0;
}

/* Of what stands in the files, not of what this process remembers. */
static int check(Run *run)
{
    LuMatrix *m = &run->matrix;
    lu_progress_start(&run->progress, "checking");
    int r = lu_matrix_open(m, &backend_disk, false);
    if (r == 0)
        r = lu_matrix_read_pivots(m, run->pivots);
    if (r == 0)
        r = lu_residual(m, run->pivots, &run->residual, lu_progress, &run->progress);
    if (r < 0)
        (void)complain(run, r);
    (void)lu_matrix_close(m); /* only read */
    run->checked = r == 0;
    return r;
}

static bool residual_good(const Run *run)
{
    return run->residual < LU_RESIDUAL_MAX; /* false for what is no number */
}

/* ---- what it prints ------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static void print_json(const Run *run)
{
    const LuOptions *o = run->options;
    const LuHeader *h = &run->matrix.header;
    const LuTraffic *t = &run->traffic;
    printf("{\"order\":%" PRIu64 ",\"slab\":%" PRIu64 ",\"files\":%" PRIu64 ",", h->layout.order,
           h->layout.slab, h->layout.files);
    if (h->generated)
        printf("\"seed\":%" PRIu64 ",", h->seed);
    if (run->factored) {
        double all = seconds(run->run_ns), io = seconds(t->io_ns);
        printf("\"backend\":\"%s\",\"threads\":%" PRIu64 ",\"seconds\":%.6f,\"io_seconds\":%.6f,"
               "\"compute_seconds\":%.6f,\"io_share\":%.4f,",
               o->backend->name, o->threads, all, io, all - io, io / all);
        printf("\"reads\":%" PRIu64 ",\"read_bytes\":%" PRIu64 ",\"read_bytes_min\":%" PRIu64
               ",\"read_bytes_max\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"written_bytes\":%" PRIu64
               ",",
               t->reads, t->read_bytes, t->read_bytes_min, t->read_bytes_max, t->writes,
               t->sources.written_bytes);
        sources_print_json(&t->sources);
        printf(",\"smallest_pivot\":%.17g,\"largest_pivot\":%.17g,", run->result.smallest_pivot,
               run->result.largest_pivot);
    }
    if (run->checked && isfinite(run->residual))
        printf("\"residual\":%.6g,", run->residual);
    else
        printf("\"residual\":null,"); /* not asked for, or no number */
    printf("\"residual_max\":%g,\"errors\":%d}\n", LU_RESIDUAL_MAX,
           run->checked && !residual_good(run));
}

static void print_text(const Run *run)
{
    const LuHeader *h = &run->matrix.header;
    const LuTraffic *t = &run->traffic;
    if (run->factored) {
        uint64_t read = t->sources.local_bytes + t->sources.remote_bytes + t->sources.file_bytes;
        printf("order %" PRIu64 " on %s: factored in %.2f s, %.0f %% of it reading and writing; "
               "%.1f MB read in %" PRIu64 " requests, %.0f %% of it from remote memory\n",
               h->layout.order, run->options->backend->name, seconds(run->run_ns),
               100.0 * seconds(t->io_ns) / seconds(run->run_ns), (double)read / 1e6, t->reads,
               100.0 * (double)t->sources.remote_bytes / (double)read);
    }
    if (run->checked)
        printf("scaled residual %.3g: %s (right is below %g)\n", run->residual,
               residual_good(run) ? "right" : "WRONG", LU_RESIDUAL_MAX);
}

static void warn_of_pivots(const Run *run)
{
    double least = (double)run->matrix.header.layout.order * 0x1p-53 * run->result.largest_pivot;
    if (run->result.smallest_pivot < least)
        fprintf(stderr,
                "lu: the smallest pivot is %.3g, the largest %.3g: the matrix is nearly "
                "singular\n",
                run->result.smallest_pivot, run->result.largest_pivot);
}

int main(int argc, char **argv)
{
    LuOptions options;
    int status;
    os_keep_standard();
    if (lu_options_parse(&options, argc, argv, &status) != 0)
        return status;
    Run run = {.options = &options};
    lu_progress_init(&run.progress, options.progress);
    lu_blas_threads((unsigned)options.threads);
    int r = prepare(&run);
    if (r == 0 && run.matrix.header.contents == LU_MATRIX)
        r = factor(&run);
    if (r == 0 && options.check)
        r = check(&run);
    lu_progress_end(&run.progress);
    if (r == 0) {
        if (run.factored)
            warn_of_pivots(&run);
        (options.json ? print_json : print_text)(&run);
    }
    lu_matrix_leave(&run.matrix);
    free(run.pivots);
    return written_check("lu", r < 0 || (run.checked && !residual_good(&run)));
}
