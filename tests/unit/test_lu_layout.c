/* SPDX-License-Identifier: MIT */
/* Where lu keeps the numbers of a matrix, and what its file "layout" says. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "examples/lu_layout.h"
#include "examples/lu_progress.h"
#include "tests/lib/case.h"

/* Every number of a matrix has a place of its own, and the files have no others. */
static void check_places(const LuLayout *l)
{
    uint64_t bytes = 0, places = 0;
    for (uint64_t f = 0; f < l->files; f++)
        bytes += lu_file_bytes(l, f);
    assert_int_equal(bytes, l->order * l->order * sizeof(double));
    for (uint64_t f = 0; f < l->files; f++)
        assert_int_equal(lu_file_bytes(l, f) > 0, f < lu_files_used(l));
    for (uint64_t f = 0; f < lu_files_used(l); f++) {
        uint64_t end = 0;
        for (uint64_t k = 0; k < lu_slabs(l); k++) {
            uint64_t columns = lu_piece_columns(l, k, f);
            assert_true(columns == 0 || lu_piece_offset(l, k, f) == end);
            assert_true(columns == 0 || lu_piece_column(l, f) + columns <= lu_slab_columns(l, k));
            assert_true(lu_piece_offset(l, k, f) == k * lu_piece_bytes(l, f));
            end += l->order * columns * sizeof(double);
            places += columns;
        }
        assert_int_equal(end, lu_file_bytes(l, f));
    }
    assert_int_equal(places, l->order); /* columns */
}

TEST(pieces__cover_the_matrix)
{
    for (uint64_t order = 1; order <= 25; order++)
        for (uint64_t slab = 1; slab <= 12; slab++)
            for (uint64_t files = 1; files <= 10; files++)
                check_places(&(LuLayout){order, slab, files});
}

/* The paper's: requests of up to 512 KiB, with 8 columns each. */
TEST(pieces__of_the_papers_matrix)
{
    const LuLayout l = {8192, 64, 8};
    assert_int_equal(lu_slabs(&l), 128);
    assert_int_equal(lu_piece_columns(&l, 127, 7), 8);
    assert_int_equal(lu_piece_bytes(&l, 0), 512 << 10);
    assert_int_equal(lu_file_bytes(&l, 7), 64 << 20);
    assert_int_equal(lu_piece_column(&l, 3), 24);
    assert_int_equal(lu_piece_offset(&l, 2, 3), 1 << 20);
}

TEST(header__is_read_back)
{
    char text[LU_HEADER_MAX], error[256] = "";
    for (unsigned i = 0; i < LU_CONTENTS_MAX; i++) {
        LuHeader h = {{100, 64, 8}, i > 0, i > 0 ? UINT64_MAX : 0, (enum LuContents)i}, back;
        size_t n = lu_header_format(&h, text);
        assert_true(n < sizeof text);
        assert_int_equal(lu_header_parse("x", text, n, &back, error, sizeof error), 0);
        assert_int_equal(back.layout.order, 100);
        assert_int_equal(back.layout.slab, 64);
        assert_int_equal(back.layout.files, 8);
        assert_int_equal(back.generated, h.generated);
        assert_int_equal(back.seed, h.seed);
        assert_int_equal(back.contents, h.contents);
    }
}

TEST(header__tells_what_is_wrong)
{
    static const struct {
        const char *text, *fault;
    } bad[] = {
        {"", "order is missing"},
        {"[lu]\norder = 5\nslab = 2\nfiles = 1\n", "contents is missing"},
        {"[lu]\norder = 5\nfiles = 1\ncontents = matrix\n", "slab is missing"},
        {"[lu]\norder = 0\n", "order cannot be '0'"},
        {"[lu]\norder = 5x\n", "order cannot be '5x'"},
        {"[lu]\nslab = 5000\n", "slab cannot be '5000'"},
        {"[lu]\nfiles = 65\n", "files cannot be '65'"},
        {"[lu]\ncontents = half\n", "contents cannot be 'half'"},
        {"[lu]\ncolour = red\n", "colour of [lu] is not known"},
        {"[qr]\norder = 5\n", "order of [qr] is not known"},
        {"nonsense\n", "layout:1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char error[256] = "";
        LuHeader h = {.layout = {7, 7, 7}};
        assert_int_equal(
            lu_header_parse("layout", bad[i].text, strlen(bad[i].text), &h, error, sizeof error),
            -EINVAL);
        assert_non_null(strstr(error, bad[i].fault));
        assert_int_equal(h.layout.order, 7);
    }
}

/* Within the bounds, neither all of one sign nor equal in rows, columns or seeds. */
TEST(element__is_anything_in_its_bounds)
{
    double sum = 0;
    for (uint64_t r = 0; r < 100; r++)
        for (uint64_t c = 0; c < 100; c++) {
            double x = lu_element(1, r, c);
            assert_true(x >= -0.5 && x < 0.5);
            assert_true(lu_element(1, r, c) == x);
            assert_true(r == c || lu_element(1, c, r) != x);
            assert_true(lu_element(2, r, c) != x);
            sum += x;
        }
    assert_true(fabs(sum) < 150); /* 5 deviations of 10000 uniform numbers */
}

TEST(progress__tells_what_is_left)
{
    char text[64];
    assert_string_equal(lu_progress_text("a", 1, 3, 0, text, sizeof text), "a: 33 %");
    assert_string_equal(lu_progress_text("a", 0, 3, 5 * NS_PER_S, text, sizeof text), "a: 0 %");
    assert_string_equal(lu_progress_text("a", 1, 4, 5 * NS_PER_S, text, sizeof text),
                        "a: 25 %, 15 s left");
    assert_string_equal(lu_progress_text("a", 1, 100, 5 * NS_PER_S, text, sizeof text),
                        "a: 1 %, 8 min left");
    assert_string_equal(lu_progress_text("a", 4, 4, 5 * NS_PER_S, text, sizeof text),
                        "a: 100 %, 0 s left");
}
