/* SPDX-License-Identifier: MIT */
/* The directory in which lu keeps a matrix and then its factors: the files matrix.0 and on, the
 * file "layout" that tells what they hold, and "pivots". */
#ifndef DODO_EXAMPLES_LU_MATRIX_H
#define DODO_EXAMPLES_LU_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "examples/lu_layout.h"
#include "examples/source.h"

/* Told how far something is: @done of @total. */
typedef void (*LuProgressFn)(void *ctx, uint64_t done, uint64_t total);

/* How it reads and writes; of the requests of a run. */
typedef struct LuTraffic {
    Sources sources; /* complete after lu_matrix_close() */
    uint64_t io_ns;
    uint64_t reads, writes;
    uint64_t read_bytes, read_bytes_min, read_bytes_max;
} LuTraffic;

typedef struct LuFile {
    SourceSettings settings;
    Source source;
    char *path;
} LuFile;

typedef struct LuMatrix {
    const char *dir; /* borrowed */
    int dir_fd;      /* locked: one program at a time */
    LuHeader header;
    LuFile *files;
    uint64_t files_count;
    double *piece;         /* room for the largest */
    const char *policy;    /* of the back end's cache, borrowed; NULL: first-in */
    uint64_t compute_rate; /* floating-point operations a second, at most; 0: any */
    LuTraffic traffic;
    char error[512]; /* what to fix, when one of these has failed */
} LuMatrix;

/* All return 0, or -errno with m->error set. */

/* Enters the directory, which is made if @make; lu_matrix_leave() in either case. */
int lu_matrix_enter(LuMatrix *m, const char *dir, bool make);
void lu_matrix_leave(LuMatrix *m);
/* Makes the matrix of a seed, on the disk when it returns. */
int lu_matrix_generate(LuMatrix *m, const LuLayout *l, uint64_t seed, LuProgressFn fn, void *ctx);
/* Takes m->header from the file "layout". */
int lu_matrix_header(LuMatrix *m);
/* What speaks against factoring this matrix: it is not as @wanted (0: whatever it is), it was not
 * left whole, or it cannot be checked where @check. Factors are fine where they are to be checked.
 */
int lu_matrix_accept(LuMatrix *m, const LuLayout *wanted, bool check);
/* Opens the files as the header has them, to read them and, if @write, to write them. */
int lu_matrix_open(LuMatrix *m, const Backend *backend, bool write);
/* Everything that was written is on the disk when it returns, and no region is left. */
int lu_matrix_close(LuMatrix *m);
/* Says in the file "layout" what the files hold now. */
int lu_matrix_mark(LuMatrix *m, enum LuContents contents);
int lu_matrix_write_pivots(LuMatrix *m, const int32_t *pivots);
int lu_matrix_read_pivots(LuMatrix *m, int32_t *pivots);

/* Rows [row, end) of a slab, from and to a block whose rows are l->slab apart. Through the back
 * end; with LU_DIRECT to and from the files themselves: what will not be read again soon. Slabs
 * that are written so have no regions: lu_matrix_drop() gives them back. */
enum LuWay { LU_THROUGH, LU_DIRECT };
int lu_matrix_read(LuMatrix *m, enum LuWay way, uint64_t slab, uint64_t row, uint64_t end,
                   double *block);
int lu_matrix_write(LuMatrix *m, enum LuWay way, uint64_t slab, uint64_t row, uint64_t end,
                    const double *block);
int lu_matrix_drop(LuMatrix *m, uint64_t slab);
/* That all rows of a slab are finite numbers. */
int lu_matrix_examine(LuMatrix *m, uint64_t slab, const double *block);

#endif
