/* SPDX-License-Identifier: MIT */
/* The directory of a matrix: its lock, its small files, and how a matrix is made. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "examples/lu_matrix.h"

/* "DIR/NAME: what errno says"; returns -errno. */
static int failed(LuMatrix *m, const char *name)
{
    int r = -errno;
    snprintf(m->error, sizeof m->error, "%s/%s: %s", m->dir, name, strerror(-r));
    return r;
}

int lu_matrix_enter(LuMatrix *m, const char *dir, bool make)
{
    *m = (LuMatrix){.dir = dir, .dir_fd = -1};
    if (make && mkdir(dir, 0777) < 0 && errno != EEXIST)
        return failed(m, "");
    m->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->dir_fd < 0)
        return failed(m, "");
    if (flock(m->dir_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int r = failed(m, "");
    if (r == -EWOULDBLOCK)
        snprintf(m->error, sizeof m->error, "%s is in use by another lu: let it end first", dir);
    return r;
}

void lu_matrix_leave(LuMatrix *m)
{
    if (m->dir_fd >= 0)
        (void)close(m->dir_fd); /* only a lock */
    m->dir_fd = -1;
}

/* ---- small files ---------------------------------------------------------------------------- */

static int write_all(int fd, const void *bytes, size_t len)
{
    const char *p = bytes;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Replaces a file as a whole: whenever the machine stops, the old or the new one is there. */
static int replace_file(LuMatrix *m, const char *name, const void *bytes, size_t len)
{
    char temporary[64];
    snprintf(temporary, sizeof temporary, "%s.new", name);
    int fd CLEANUP_CLOSE =
        openat(m->dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write_all(fd, bytes, len) < 0 || fsync(fd) < 0 ||
        renameat(m->dir_fd, temporary, m->dir_fd, name) < 0 || fsync(m->dir_fd) < 0)
        return failed(m, name);
    return 0;
}

/* Reads at most @cap bytes: their number, or -errno. */
static ssize_t read_file(LuMatrix *m, const char *name, void *buf, size_t cap)
{
    int fd CLEANUP_CLOSE = openat(m->dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(m, name);
    size_t at = 0;
    while (at < cap) {
        ssize_t n = read(fd, (char *)buf + at, cap - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(m, name);
        if (n == 0)
            break;
        at += (size_t)n;
    }
    return (ssize_t)at;
}

int lu_matrix_header(LuMatrix *m)
{
    char text[LU_HEADER_MAX], name[300];
    ssize_t n = read_file(m, "layout", text, sizeof text);
    if (n == -ENOENT)
        snprintf(m->error, sizeof m->error,
                 "%s has no matrix (no file \"layout\"): make one with --generate", m->dir);
    if (n < 0)
        return (int)n;
    snprintf(name, sizeof name, "%s/layout", m->dir);
    return lu_header_parse(name, text, (size_t)n, &m->header, m->error, sizeof m->error);
}

int lu_matrix_mark(LuMatrix *m, enum LuContents contents)
{
    char text[LU_HEADER_MAX];
    m->header.contents = contents;
    return replace_file(m, "layout", text, lu_header_format(&m->header, text));
}

int lu_matrix_accept(LuMatrix *m, const LuLayout *wanted, bool check)
{
    const LuLayout *has = &m->header.layout;
    const char *fault = NULL;
    if ((wanted->order > 0 && wanted->order != has->order) ||
        (wanted->slab > 0 && wanted->slab != has->slab) ||
        (wanted->files > 0 && wanted->files != has->files))
        fault = "its matrix has another order, slab or number of files: leave them out to take it "
                "as it is, or make another with --generate";
    else if (m->header.contents == LU_PARTIAL)
        fault = "a factorization was interrupted there, and left neither matrix nor factors: make "
                "the matrix again with --generate, or restore it";
    else if (m->header.contents == LU_FACTORS && !check)
        fault = "its matrix is factored already: --check checks it, --generate makes another";
    else if (check && !m->header.generated)
        fault = "only what --generate made can be checked: leave --check out";
    if (!fault)
        return 0;
    snprintf(m->error, sizeof m->error, "%s: %s", m->dir, fault);
    return -EINVAL;
}

int lu_matrix_write_pivots(LuMatrix *m, const int32_t *pivots)
{
    return replace_file(m, "pivots", pivots, m->header.layout.order * sizeof *pivots);
}

int lu_matrix_read_pivots(LuMatrix *m, int32_t *pivots)
{
    uint64_t order = m->header.layout.order;
    size_t wanted = order * sizeof *pivots;
    char *bytes CLEANUP_FREE = malloc(wanted + 1);
    if (!bytes)
        return errno = ENOMEM, failed(m, "pivots");
    ssize_t n = read_file(m, "pivots", bytes, wanted + 1); /* one more: is it longer? */
    if (n < 0)
        return (int)n;
    bool good = (size_t)n == wanted;
    for (uint64_t i = 0; i < order && good; i++) {
        memcpy(&pivots[i], bytes + i * sizeof *pivots, sizeof *pivots);
        good = pivots[i] > (int64_t)i && pivots[i] <= (int64_t)order;
    }
    if (good)
        return 0;
    snprintf(m->error, sizeof m->error,
             "%s/pivots is damaged: make the matrix again with --generate, and factor it", m->dir);
    return -EINVAL;
}

/* ---- the matrix of a seed ------------------------------------------------------------------- */

static void make_piece(const LuLayout *l, uint64_t seed, uint64_t slab, uint64_t file,
                       double *piece)
{
    uint64_t columns = lu_piece_columns(l, slab, file);
    uint64_t first = slab * l->slab + lu_piece_column(l, file);
    for (uint64_t r = 0; r < l->order; r++)
        for (uint64_t c = 0; c < columns; c++)
            *piece++ = lu_element(seed, r, first + c);
}

static int make_file(LuMatrix *m, const LuLayout *l, uint64_t seed, uint64_t file, double *piece,
                     LuProgressFn fn, void *ctx)
{
    char name[32];
    uint64_t slabs = lu_slabs(l), files = lu_files_used(l);
    snprintf(name, sizeof name, "matrix.%" PRIu64, file);
    int fd CLEANUP_CLOSE = openat(m->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(m, name);
    for (uint64_t k = 0; k < slabs; k++) {
        make_piece(l, seed, k, file, piece);
        if (write_all(fd, piece, l->order * lu_piece_columns(l, k, file) * sizeof *piece) < 0)
            return failed(m, name);
        fn(ctx, file * slabs + k + 1, slabs * files);
    }
    if (fsync(fd) < 0)
        return failed(m, name);
    return 0;
}

int lu_matrix_generate(LuMatrix *m, const LuLayout *l, uint64_t seed, LuProgressFn fn, void *ctx)
{
    double *piece CLEANUP_FREE = malloc(lu_piece_bytes(l, 0));
    if (!piece)
        return errno = ENOMEM, failed(m, "");
    /* What there was before is no matrix from now on, and what comes not yet. */
    if (unlinkat(m->dir_fd, "layout", 0) < 0 && errno != ENOENT)
        return failed(m, "layout");
    if (unlinkat(m->dir_fd, "pivots", 0) < 0 && errno != ENOENT)
        return failed(m, "pivots");
    for (uint64_t i = lu_files_used(l); i < LU_FILES_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "matrix.%" PRIu64, i);
        if (unlinkat(m->dir_fd, name, 0) < 0 && errno != ENOENT)
            return failed(m, name);
    }
    for (uint64_t i = 0; i < lu_files_used(l); i++) {
        int r = make_file(m, l, seed, i, piece, fn, ctx);
        if (r < 0)
            return r;
    }
    m->header = (LuHeader){.layout = *l, .generated = true, .seed = seed};
    return lu_matrix_mark(m, LU_MATRIX);
}
