/* SPDX-License-Identifier: MIT */
/* How lu keeps a matrix in files: see lu_layout.h. */
#include "examples/lu_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/num.h"
#include "base/parse.h"

uint64_t lu_slabs(const LuLayout *l)
{
    return (l->order + l->slab - 1) / l->slab;
}

uint64_t lu_slab_columns(const LuLayout *l, uint64_t slab)
{
    return min_u64(l->slab, l->order - slab * l->slab);
}

/* The most columns of a slab that a file has. */
static uint64_t width(const LuLayout *l)
{
    return (l->slab + l->files - 1) / l->files;
}

uint64_t lu_piece_column(const LuLayout *l, uint64_t file)
{
    return file * width(l);
}

uint64_t lu_piece_columns(const LuLayout *l, uint64_t slab, uint64_t file)
{
    uint64_t columns = lu_slab_columns(l, slab), first = lu_piece_column(l, file);
    return first < columns ? min_u64(width(l), columns - first) : 0;
}

uint64_t lu_piece_bytes(const LuLayout *l, uint64_t file)
{
    return l->order * lu_piece_columns(l, 0, file) * sizeof(double);
}

uint64_t lu_piece_offset(const LuLayout *l, uint64_t slab, uint64_t file)
{
    return slab * lu_piece_bytes(l, file);
}

uint64_t lu_file_bytes(const LuLayout *l, uint64_t file)
{
    uint64_t last = lu_slabs(l) - 1;
    return lu_piece_offset(l, last, file) +
           l->order * lu_piece_columns(l, last, file) * sizeof(double);
}

uint64_t lu_files_used(const LuLayout *l)
{
    return (lu_slab_columns(l, 0) + width(l) - 1) / width(l);
}

/* ---- the file "layout" ---------------------------------------------------------------------- */

static const char *const lu_contents_names[LU_CONTENTS_MAX] = {"matrix", "partial", "factors"};

typedef struct Parsing {
    LuHeader header;
    bool has_contents;
} Parsing;

static int parse_contents(const char *value, Parsing *p)
{
    for (unsigned i = 0; i < LU_CONTENTS_MAX; i++)
        if (strcmp(value, lu_contents_names[i]) == 0) {
            p->header.contents = (enum LuContents)i;
            p->has_contents = true;
            return 0;
        }
    return -EINVAL;
}

static int take_line(void *ctx, const KeyLine *line, char *error, size_t cap)
{
    Parsing *p = ctx;
    const char *key = line->key, *value = line->value;
    LuLayout *l = &p->header.layout;
    int r = -ENOENT;
    if (!key)
        return 0;
    if (strcmp(line->group, "lu") == 0) {
        if (strcmp(key, "order") == 0)
            r = parse_u64(value, 1, LU_ORDER_MAX, &l->order);
        else if (strcmp(key, "slab") == 0)
            r = parse_u64(value, 1, LU_SLAB_MAX, &l->slab);
        else if (strcmp(key, "files") == 0)
            r = parse_u64(value, 1, LU_FILES_MAX, &l->files);
        else if (strcmp(key, "contents") == 0)
            r = parse_contents(value, p);
        else if (strcmp(key, "seed") == 0)
            r = parse_u64(value, 0, UINT64_MAX, &p->header.seed), p->header.generated = true;
    }
    if (r == -ENOENT)
        snprintf(error, cap, "%s of [%s] is not known", key, line->group);
    else if (r < 0)
        snprintf(error, cap, "%s cannot be '%s'", key, value);
    return r < 0 ? -EINVAL : 0;
}

int lu_header_parse(const char *name, const char *text, size_t len, LuHeader *ret, char *error,
                    size_t error_cap)
{
    Parsing p = {0};
    int r = key_text_parse(name, text, len, take_line, &p, error, error_cap);
    if (r < 0)
        return r;
    const LuLayout *l = &p.header.layout;
    const char *missing = l->order == 0     ? "order"
                          : l->slab == 0    ? "slab"
                          : l->files == 0   ? "files"
                          : !p.has_contents ? "contents"
                                            : NULL;
    if (missing) {
        snprintf(error, error_cap, "%s: %s is missing", name, missing);
        return -EINVAL;
    }
    *ret = p.header;
    return 0;
}

size_t lu_header_format(const LuHeader *h, char *buf)
{
    const LuLayout *l = &h->layout;
    int n = snprintf(buf, LU_HEADER_MAX,
                     "# The matrix of lu(1) in this directory.\n[lu]\norder = %" PRIu64
                     "\nslab = %" PRIu64 "\nfiles = %" PRIu64 "\ncontents = %s\n",
                     l->order, l->slab, l->files, lu_contents_names[h->contents]);
    if (h->generated)
        n += snprintf(buf + n, LU_HEADER_MAX - (size_t)n, "seed = %" PRIu64 "\n", h->seed);
    return (size_t)n;
}

/* ---- the generated matrix ------------------------------------------------------------------- */

double lu_element(uint64_t seed, uint64_t row, uint64_t column)
{
    uint64_t place = row << 32 | column;
    uint64_t bits = mix64(mix64(seed + 0x9e3779b97f4a7c15ull) + place * 0x9e3779b97f4a7c15ull);
    return (double)(bits >> 11) * 0x1p-53 - 0.5;
}
