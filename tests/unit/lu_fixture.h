/* SPDX-License-Identifier: MIT */
/* A matrix in memory, laid out in files and read back by lu(1)'s description alone, so that a
 * mistake in lu's own idea of its layout shows. Row-major: number (r, c) is at r * order + c. */
#ifndef DODO_TESTS_UNIT_LU_FIXTURE_H
#define DODO_TESTS_UNIT_LU_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lu_matrix.h"
#include "tests/lib/tmpdir.h"

/* File and place of a number. */
static inline uint64_t place(const LuLayout *l, uint64_t r, uint64_t c, uint64_t *ret_file)
{
    uint64_t width = (l->slab + l->files - 1) / l->files;
    uint64_t slab = c / l->slab, in_slab = c % l->slab, file = in_slab / width;
    uint64_t before = 0, mine = 0; /* columns of the file: in earlier slabs, in this one */
    for (uint64_t other = 0; other < l->order; other++) {
        bool here = other % l->slab / width == file;
        before += here && other / l->slab < slab;
        mine += here && other / l->slab == slab;
    }
    *ret_file = file;
    return (before * l->order + r * mine + in_slab % width) * sizeof(double);
}

static inline void fixture_store(const TmpDir *d, const LuLayout *l, const double *a)
{
    FILE *files[LU_FILES_MAX] = {NULL};
    char path[256], name[32], text[LU_HEADER_MAX];
    for (uint64_t r = 0; r < l->order; r++)
        for (uint64_t c = 0; c < l->order; c++) {
            uint64_t file, at = place(l, r, c, &file);
            snprintf(name, sizeof name, "matrix.%u", (unsigned)file);
            if (!files[file])
                files[file] = fopen(tmpdir_path(d, name, path), "w");
            tmpdir_check(files[file] && fseek(files[file], (long)at, SEEK_SET) == 0 &&
                             fwrite(&a[r * l->order + c], sizeof *a, 1, files[file]) == 1,
                         path);
        }
    for (unsigned i = 0; i < LU_FILES_MAX; i++)
        tmpdir_check(!files[i] || fclose(files[i]) == 0, "fclose");
    size_t n = lu_header_format(&(LuHeader){.layout = *l}, text);
    tmpdir_write(d, "layout", text, n);
}

static inline void fixture_load(const TmpDir *d, const LuLayout *l, double *a)
{
    FILE *files[LU_FILES_MAX] = {NULL};
    char path[256], name[32];
    for (uint64_t r = 0; r < l->order; r++)
        for (uint64_t c = 0; c < l->order; c++) {
            uint64_t file, at = place(l, r, c, &file);
            snprintf(name, sizeof name, "matrix.%u", (unsigned)file);
            if (!files[file])
                files[file] = fopen(tmpdir_path(d, name, path), "r");
            tmpdir_check(files[file] && fseek(files[file], (long)at, SEEK_SET) == 0 &&
                             fread(&a[r * l->order + c], sizeof *a, 1, files[file]) == 1,
                         path);
        }
    for (unsigned i = 0; i < LU_FILES_MAX; i++)
        if (files[i])
            (void)fclose(files[i]);
}

static inline void no_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx, (void)done, (void)total;
}

#endif
