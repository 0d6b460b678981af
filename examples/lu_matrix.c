/* SPDX-License-Identifier: MIT */
/* Reading and writing a matrix, slab by slab: see lu_matrix.h. */
#include "examples/lu_matrix.h"

#include <dodo/dodo.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static int no_memory(LuMatrix *m)
{
    snprintf(m->error, sizeof m->error, "no memory");
    return -ENOMEM;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int file_failed(LuMatrix *m, const LuFile *f, int r)
{
    if (r == -ENODATA)
        snprintf(m->error, sizeof m->error,
                 "%s has become shorter while it was in use: make the matrix again", f->path);
    else
        snprintf(m->error, sizeof m->error, "%s: %s", f->path, strerror(-r));
    return r;
}

/* That file @i is there, and as long as it must be. */
static int check_length(LuMatrix *m, uint64_t i)
{
    uint64_t wanted = lu_file_bytes(&m->header.layout, i);
    const char *path = m->files[i].path;
    struct stat st;
    if (stat(path, &st) < 0) {
        int r = -errno;
        snprintf(m->error, sizeof m->error,
                 "%s: %s: restore it, or make the matrix again with --generate", path,
                 strerror(-r));
        return r;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != wanted) {
        snprintf(m->error, sizeof m->error,
                 "%s has %lld bytes, where the layout has %" PRIu64
                 ": it is damaged or of another matrix; restore it, or make the matrix again with "
                 "--generate",
                 path, (long long)st.st_size, wanted);
        return -EINVAL;
    }
    return 0;
}

static int open_file(LuMatrix *m, uint64_t i, const Backend *backend, bool write)
{
    LuFile *f = &m->files[i];
    if (asprintf(&f->path, "%s/matrix.%" PRIu64, m->dir, i) < 0) {
        f->path = NULL;
        return no_memory(m);
    }
    int r = check_length(m, i);
    if (r < 0)
        return r;
    f->settings = (SourceSettings){.program = "lu",
                                   .file = f->path,
                                   .backend = backend,
                                   .policy = m->policy ? m->policy : "first-in",
                                   .size_bytes = lu_file_bytes(&m->header.layout, i),
                                   .region_bytes = lu_piece_bytes(&m->header.layout, i),
                                   .region_flags = write ? 0 : DODO_RDONLY};
    r = source_open(&f->source, &f->settings);
    if (r < 0)
        file_failed(m, f, r);
    return r;
}

int lu_matrix_open(LuMatrix *m, const Backend *backend, bool write)
{
    const LuLayout *l = &m->header.layout;
    m->traffic = (LuTraffic){0};
    m->files_count = lu_files_used(l);
    m->files = calloc(m->files_count, sizeof *m->files);
    m->piece = malloc(lu_piece_bytes(l, 0));
    if (!m->files || !m->piece)
        return no_memory(m);
    for (uint64_t i = 0; i < m->files_count; i++)
        m->files[i].source.fd = -1;
    int r = 0;
    for (uint64_t i = 0; i < m->files_count && r == 0; i++)
        r = open_file(m, i, backend, write);
    return r;
}

int lu_matrix_close(LuMatrix *m)
{
    uint64_t start = os_now_ns();
    int r = 0;
    for (uint64_t i = 0; m->files && i < m->files_count; i++) {
        LuFile *f = &m->files[i];
        int synced = f->source.fd >= 0 ? source_sync(&f->source) : 0;
        if (synced < 0 && r == 0)
            r = file_failed(m, f, synced);
        if (f->source.fd >= 0 && !(f->settings.region_flags & DODO_RDONLY) &&
            fdatasync(f->source.fd) < 0 && r == 0)
            r = file_failed(m, f, -errno);
        if (f->source.fd >= 0)
            source_close(&f->source);
        sources_add(&m->traffic.sources, &f->source.sources);
        free(f->path);
    }
    free(m->files);
    free(m->piece);
    m->files = NULL;
    m->piece = NULL;
    m->traffic.io_ns += os_now_ns() - start;
    return r;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Between the rows of a piece, which lie together, and those of a block, which are @ld apart. */
static void spread(double *block, uint64_t ld, const double *piece, uint64_t rows, uint64_t columns)
{
    for (uint64_t r = 0; r < rows; r++)
        memcpy(block + r * ld, piece + r * columns, columns * sizeof *piece);
}

static void collect(double *piece, const double *block, uint64_t ld, uint64_t rows,
                    uint64_t columns)
{
    for (uint64_t r = 0; r < rows; r++)
        memcpy(piece + r * columns, block + r * ld, columns * sizeof *piece);
}

static void count_read(LuTraffic *t, size_t len)
{
    t->reads++;
    t->read_bytes += len;
    if (t->reads == 1 || len < t->read_bytes_min)
        t->read_bytes_min = len;
    if (len > t->read_bytes_max)
        t->read_bytes_max = len;
}

int lu_matrix_read(LuMatrix *m, enum LuWay way, uint64_t slab, uint64_t row, uint64_t end,
                   double *block)
{
    const LuLayout *l = &m->header.layout;
    for (uint64_t i = 0; i < m->files_count; i++) {
        uint64_t columns = lu_piece_columns(l, slab, i), row_bytes = columns * sizeof(double);
        size_t len = (end - row) * row_bytes;
        if (len == 0)
            break;
        uint64_t offset = lu_piece_offset(l, slab, i) + row * row_bytes, start = os_now_ns();
        LuFile *f = &m->files[i];
        int r =
            (way == LU_DIRECT ? source_read_file : source_read)(&f->source, offset, m->piece, len);
        m->traffic.io_ns += os_now_ns() - start;
        if (r < 0)
            return file_failed(m, f, r);
        count_read(&m->traffic, len);
        spread(block + lu_piece_column(l, i), l->slab, m->piece, end - row, columns);
    }
    return 0;
}

int lu_matrix_write(LuMatrix *m, enum LuWay way, uint64_t slab, uint64_t row, uint64_t end,
                    const double *block)
{
    const LuLayout *l = &m->header.layout;
    for (uint64_t i = 0; i < m->files_count; i++) {
        uint64_t columns = lu_piece_columns(l, slab, i), row_bytes = columns * sizeof(double);
        size_t len = (end - row) * row_bytes;
        if (len == 0)
            break;
        collect(m->piece, block + lu_piece_column(l, i), l->slab, end - row, columns);
        uint64_t offset = lu_piece_offset(l, slab, i) + row * row_bytes, start = os_now_ns();
        LuFile *f = &m->files[i];
        int r = (way == LU_DIRECT ? source_write_file : source_write)(&f->source, offset, m->piece,
                                                                      len);
        m->traffic.io_ns += os_now_ns() - start;
        if (r < 0)
            return file_failed(m, f, r);
        m->traffic.writes++;
    }
    return 0;
}

int lu_matrix_drop(LuMatrix *m, uint64_t slab)
{
    uint64_t start = os_now_ns();
    int r = 0;
    for (uint64_t i = 0; i < m->files_count && r == 0; i++) {
        if (lu_piece_columns(&m->header.layout, slab, i) > 0)
            r = source_drop(&m->files[i].source, slab);
        if (r < 0)
            file_failed(m, &m->files[i], r);
    }
    m->traffic.io_ns += os_now_ns() - start;
    return r;
}

int lu_matrix_examine(LuMatrix *m, uint64_t slab, const double *block)
{
    const LuLayout *l = &m->header.layout;
    uint64_t columns = lu_slab_columns(l, slab);
    for (uint64_t r = 0; r < l->order; r++)
        for (uint64_t c = 0; c < columns; c++) {
            if (isfinite(block[r * l->slab + c]))
                continue;
            uint64_t file = 0;
            while (lu_piece_column(l, file) + lu_piece_columns(l, slab, file) <= c)
                file++;
            snprintf(m->error, sizeof m->error,
                     "%s: row %" PRIu64 ", column %" PRIu64 " of the matrix is no finite number: "
                     "the file is damaged; restore all, or make the matrix again with --generate",
                     m->files[file].path, r + 1, slab * l->slab + c + 1);
            return -EINVAL;
        }
    return 0;
}
