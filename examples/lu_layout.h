/* SPDX-License-Identifier: MIT */
/* How lu keeps a matrix in files, as lu(1) documents it. A square matrix of @order columns is cut
 * into slabs of @slab columns (the last may have fewer). Each slab is spread over @files files: of
 * its columns each file in turn takes ceil(slab / files), as long as there are some. What a file
 * holds of a slab is a piece: all rows of its columns, row by row, so that the rows from any one
 * down lie together; the pieces of a file follow each other. Pure. */
#ifndef DODO_EXAMPLES_LU_LAYOUT_H
#define DODO_EXAMPLES_LU_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LU_ORDER_MAX = 1 << 20, LU_SLAB_MAX = 4096, LU_FILES_MAX = 64 };

typedef struct LuLayout {
    uint64_t order, slab, files;
} LuLayout;

uint64_t lu_slabs(const LuLayout *l);
uint64_t lu_slab_columns(const LuLayout *l, uint64_t slab);
/* Where file @file's columns begin within every slab, and how many slab @slab has of them. */
uint64_t lu_piece_column(const LuLayout *l, uint64_t file);
uint64_t lu_piece_columns(const LuLayout *l, uint64_t slab, uint64_t file);
uint64_t lu_piece_offset(const LuLayout *l, uint64_t slab, uint64_t file);
/* Of a piece of a slab that is not the last; the last one's may be shorter. */
uint64_t lu_piece_bytes(const LuLayout *l, uint64_t file);
uint64_t lu_file_bytes(const LuLayout *l, uint64_t file);
/* Files with anything in them; they come first, the others are not made. */
uint64_t lu_files_used(const LuLayout *l);

/* What the files hold. */
enum LuContents {
    LU_MATRIX,  /* the matrix */
    LU_PARTIAL, /* a factorization that is under way or was interrupted: neither of both */
    LU_FACTORS, /* L (whose diagonal of ones is left out) and U; the pivots stand beside */
    LU_CONTENTS_MAX
};

/* What the file "layout" says. */
typedef struct LuHeader {
    LuLayout layout;
    bool generated; /* from @seed */
    uint64_t seed;
    enum LuContents contents;
} LuHeader;
/* The text came from @name. 0, or -errno with what to fix in @error. */
int lu_header_parse(const char *name, const char *text, size_t len, LuHeader *ret, char *error,
                    size_t error_cap);
enum { LU_HEADER_MAX = 1024 };
/* In @buf of LU_HEADER_MAX; returns its length. */
size_t lu_header_format(const LuHeader *h, char *buf);

/* The matrix that a seed stands for: each element in [-0.5, 0.5). Column @order of it, which is
 * not part of the matrix, is the right-hand side that results are checked with. */
double lu_element(uint64_t seed, uint64_t row, uint64_t column);

#endif
