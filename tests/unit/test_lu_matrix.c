/* SPDX-License-Identifier: MIT */
/* The directory of lu's matrix: what is made, what is found damaged, and what it says then. */
#include <errno.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/unit/lu_fixture.h"

static const LuLayout layout = {20, 6, 4};
enum { ORDER = 20 };

static int matrix_make(void **state)
{
    TmpDir *d = malloc(sizeof *d);
    LuMatrix m;
    assert_non_null(d);
    tmpdir_make(d);
    assert_int_equal(lu_matrix_enter(&m, d->path, true), 0);
    assert_int_equal(lu_matrix_generate(&m, &layout, 7, no_progress, NULL), 0);
    lu_matrix_leave(&m);
    *state = d;
    return 0;
}

static int matrix_remove(void **state)
{
    tmpdir_remove(*state);
    free(*state);
    return 0;
}

/* Enters, reads the header and opens; the message is in @m. */
static int open_matrix(LuMatrix *m, const TmpDir *d)
{
    assert_int_equal(lu_matrix_enter(m, d->path, false), 0);
    int r = lu_matrix_header(m);
    return r < 0 ? r : lu_matrix_open(m, &backend_disk, true);
}

static void close_matrix(LuMatrix *m)
{
    assert_int_equal(lu_matrix_close(m), 0);
    lu_matrix_leave(m);
}

#define MATRIX_TEST(name) TEST_WITH(name, matrix_make, matrix_remove)

MATRIX_TEST(generated__is_the_seeds_matrix)
{
    double a[ORDER * ORDER];
    LuMatrix m;
    fixture_load(*state, &layout, a);
    for (uint64_t r = 0; r < ORDER; r++)
        for (uint64_t c = 0; c < ORDER; c++)
            assert_true(a[r * ORDER + c] == lu_element(7, r, c));
    assert_int_equal(open_matrix(&m, *state), 0);
    assert_true(m.header.generated && m.header.seed == 7 && m.header.contents == LU_MATRIX);
    close_matrix(&m);
}

/* A smaller one in its place leaves no file of the larger one. */
MATRIX_TEST(generated__replaces_another)
{
    const LuLayout small = {3, 2, 1};
    char path[256];
    LuMatrix m;
    tmpdir_text(*state, "pivots", "of the other");
    assert_int_equal(lu_matrix_enter(&m, ((TmpDir *)*state)->path, true), 0);
    assert_int_equal(lu_matrix_generate(&m, &small, 8, no_progress, NULL), 0);
    lu_matrix_leave(&m);
    assert_int_equal(access(tmpdir_path(*state, "matrix.0", path), F_OK), 0);
    assert_int_equal(access(tmpdir_path(*state, "matrix.1", path), F_OK), -1);
    assert_int_equal(access(tmpdir_path(*state, "pivots", path), F_OK), -1);
    assert_int_equal(open_matrix(&m, *state), 0);
    close_matrix(&m);
}

MATRIX_TEST(blocks__are_read_back_as_written)
{
    double block[ORDER * 6], back[ORDER * 6];
    LuMatrix m;
    assert_int_equal(open_matrix(&m, *state), 0);
    for (unsigned i = 0; i < ARRAY_SIZE(block); i++)
        block[i] = i;
    for (uint64_t k = 0; k < lu_slabs(&layout); k++) {
        uint64_t columns = lu_slab_columns(&layout, k);
        assert_int_equal(lu_matrix_write(&m, LU_THROUGH, k, 0, ORDER, block), 0);
        memset(back, 0, sizeof back);
        assert_int_equal(lu_matrix_read(&m, LU_DIRECT, k, 3, ORDER - 1, back), 0);
        for (uint64_t r = 3; r < ORDER - 1; r++)
            assert_memory_equal(back + (r - 3) * 6, block + r * 6, columns * sizeof *block);
    }
    close_matrix(&m);
    assert_int_equal(m.traffic.sources.written_bytes, ORDER * ORDER * sizeof *block);
    assert_int_equal(m.traffic.read_bytes, (ORDER - 4) * ORDER * sizeof *block);
    assert_int_equal(m.traffic.sources.file_bytes, m.traffic.read_bytes);
    assert_int_equal(m.traffic.read_bytes_max, (ORDER - 4) * 2 * sizeof *block);
}

static void told(LuMatrix *m, int r, const char *what)
{
    assert_true(r < 0);
    if (!strstr(m->error, what))
        fail_msg("'%s' is not in '%s'", what, m->error);
    (void)lu_matrix_close(m);
    lu_matrix_leave(m);
}

MATRIX_TEST(damage__is_reported_with_what_to_fix)
{
    char path[256];
    LuMatrix m;
    tmpdir_path(*state, "matrix.1", path);
    assert_int_equal(truncate(path, 719), 0);
    told(&m, open_matrix(&m, *state), "matrix.1 has 719 bytes, where the layout has 960");
    assert_int_equal(truncate(path, 961), 0);
    told(&m, open_matrix(&m, *state), "matrix.1 has 961 bytes");
    tmpdir_delete(*state, "matrix.1");
    told(&m, open_matrix(&m, *state), "matrix.1: No such file or directory: restore it");
    tmpdir_text(*state, "layout", "[lu]\norder = many\n");
    told(&m, open_matrix(&m, *state), "layout:2: order cannot be 'many'");
    tmpdir_delete(*state, "layout");
    told(&m, open_matrix(&m, *state), "make one with --generate");
}

MATRIX_TEST(damage__while_it_is_in_use_is_reported)
{
    double block[ORDER * 6];
    char path[256];
    LuMatrix m;
    assert_int_equal(open_matrix(&m, *state), 0);
    assert_int_equal(truncate(tmpdir_path(*state, "matrix.2", path), 100), 0);
    told(&m, lu_matrix_read(&m, LU_THROUGH, 0, 0, ORDER, block), "matrix.2 has become shorter");
}

MATRIX_TEST(pivots__are_checked)
{
    int32_t pivots[ORDER], back[ORDER];
    LuMatrix m;
    assert_int_equal(open_matrix(&m, *state), 0);
    for (int i = 0; i < ORDER; i++)
        pivots[i] = i + 1 + (i % 3 == 0 && i + 1 < ORDER);
    assert_int_equal(lu_matrix_write_pivots(&m, pivots), 0);
    assert_int_equal(lu_matrix_read_pivots(&m, back), 0);
    assert_memory_equal(pivots, back, sizeof pivots);
    tmpdir_write(*state, "pivots", pivots, sizeof pivots - 1);
    assert_int_equal(lu_matrix_read_pivots(&m, back), -EINVAL);
    pivots[5] = 5; /* a row above it */
    tmpdir_write(*state, "pivots", pivots, sizeof pivots);
    assert_int_equal(lu_matrix_read_pivots(&m, back), -EINVAL);
    pivots[5] = ORDER + 1;
    tmpdir_write(*state, "pivots", pivots, sizeof pivots);
    assert_int_equal(lu_matrix_read_pivots(&m, back), -EINVAL);
    told(&m, -EINVAL, "pivots is damaged");
}

MATRIX_TEST(contents__decide_what_may_be_done)
{
    const LuLayout any = {0}, same = layout, other = {ORDER, 6, 5};
    LuMatrix m;
    assert_int_equal(open_matrix(&m, *state), 0);
    assert_int_equal(lu_matrix_accept(&m, &any, true), 0);
    assert_int_equal(lu_matrix_accept(&m, &same, false), 0);
    assert_int_equal(lu_matrix_accept(&m, &other, false), -EINVAL);
    assert_int_equal(lu_matrix_mark(&m, LU_PARTIAL), 0);
    close_matrix(&m);
    assert_int_equal(open_matrix(&m, *state), 0); /* as another process would find it */
    assert_int_equal(lu_matrix_accept(&m, &any, false), -EINVAL);
    assert_int_equal(lu_matrix_accept(&m, &any, true), -EINVAL);
    assert_non_null(strstr(m.error, "interrupted"));
    assert_int_equal(lu_matrix_mark(&m, LU_FACTORS), 0);
    assert_int_equal(lu_matrix_accept(&m, &any, false), -EINVAL);
    assert_int_equal(lu_matrix_accept(&m, &any, true), 0);
    m.header.generated = false;
    assert_int_equal(lu_matrix_accept(&m, &any, true), -EINVAL);
    close_matrix(&m);
}

MATRIX_TEST(directory__is_for_one_at_a_time)
{
    LuMatrix m, other;
    assert_int_equal(open_matrix(&m, *state), 0);
    assert_int_equal(lu_matrix_enter(&other, m.dir, false), -EWOULDBLOCK);
    assert_non_null(strstr(other.error, "in use by another lu"));
    lu_matrix_leave(&other);
    close_matrix(&m);
    assert_int_equal(lu_matrix_enter(&other, m.dir, false), 0);
    lu_matrix_leave(&other);
}
