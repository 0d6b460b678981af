/* SPDX-License-Identifier: MIT */
/* The pool against a naive model: a byte per unit, searched from the start. */
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "imd/pool.h"
#include "tests/lib/case.h"

enum { MODEL_UNITS = 257 };

typedef struct Model {
    uint8_t start_len[MODEL_UNITS]; /* at a taken range's first unit: its length, else 0 */
    bool taken[MODEL_UNITS];
} Model;

static unsigned model_run(const Model *m, unsigned at)
{
    unsigned n = 0;
    while (at + n < MODEL_UNITS && !m->taken[at + n])
        n++;
    return n;
}

static int model_take(Model *m, unsigned units, unsigned *ret)
{
    for (unsigned i = 0; i < MODEL_UNITS; i++) {
        if (model_run(m, i) < units)
            continue;
        memset(&m->taken[i], true, units);
        m->start_len[i] = (uint8_t)units;
        *ret = i;
        return 0;
    }
    return POOL_E_FULL;
}

static void model_give(Model *m, unsigned at)
{
    memset(&m->taken[at], false, m->start_len[at]);
    m->start_len[at] = 0;
}

static void model_compare(const Model *m, const Pool *p)
{
    unsigned largest = 0, free_units = 0, ranges = 0;
    for (unsigned i = 0; i < MODEL_UNITS; i++) {
        unsigned run = model_run(m, i);
        largest = run > largest ? run : largest;
        free_units += !m->taken[i];
        ranges += m->start_len[i] != 0;
    }
    assert_true(pool_check(p));
    assert_int_equal(pool_largest_free(p), (uint64_t)largest * POOL_ALIGN);
    assert_int_equal(pool_free_bytes(p), (uint64_t)free_units * POOL_ALIGN);
    assert_int_equal(pool_ranges(p), ranges);
}

static uint64_t draw(uint64_t *state)
{
    return mix64(++*state * 0x9e3779b97f4a7c15ull);
}

static void model_step(Model *m, Pool *p, uint64_t *seed, unsigned fullness)
{
    unsigned expected = 0;
    uint64_t offset = UINT64_MAX;
    if (draw(seed) % 100 < fullness) {
        unsigned units = 1 + (unsigned)(draw(seed) % (draw(seed) % 8 == 0 ? 100 : 6));
        uint64_t len = (uint64_t)units * POOL_ALIGN - draw(seed) % POOL_ALIGN;
        int want = model_take(m, units, &expected);
        assert_int_equal(pool_take(p, len, &offset), want);
        if (want == 0)
            assert_int_equal(offset, (uint64_t)expected * POOL_ALIGN);
        else
            assert_int_equal(offset, UINT64_MAX);
        return;
    }
    unsigned at = (unsigned)(draw(seed) % MODEL_UNITS);
    while (at < MODEL_UNITS && m->start_len[at] == 0)
        at++;
    if (at == MODEL_UNITS)
        return;
    pool_give(p, (uint64_t)at * POOL_ALIGN);
    model_give(m, at);
}

TEST(pool__like_the_naive_model)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed << 32;
        Model m = {0};
        Pool *p = pool_new((uint64_t)MODEL_UNITS * POOL_ALIGN + 17);
        assert_non_null(p);
        assert_int_equal(pool_bytes(p), (uint64_t)MODEL_UNITS * POOL_ALIGN);
        for (unsigned i = 0; i < 1000; i++) {
            model_step(&m, p, &random, i % 200 < 100 ? 65 : 40);
            model_compare(&m, p);
        }
        pool_free(p);
    }
}

TEST(pool__gives_all_back_as_one)
{
    enum { COUNT = 10000 };
    uint64_t *offsets = calloc(COUNT, sizeof *offsets);
    uint64_t seed = 7;
    Pool *p = pool_new((uint64_t)COUNT * POOL_ALIGN);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(pool_take(p, 1, &offsets[i]), 0);
        assert_int_equal(offsets[i], (uint64_t)i * POOL_ALIGN);
    }
    uint64_t none;
    assert_int_equal(pool_take(p, 1, &none), POOL_E_FULL);
    assert_true(pool_check(p));
    for (unsigned i = COUNT; i > 0; i--) {
        unsigned k = (unsigned)(draw(&seed) % i);
        pool_give(p, offsets[k]);
        offsets[k] = offsets[i - 1];
    }
    assert_true(pool_check(p));
    assert_int_equal(pool_largest_free(p), pool_bytes(p));
    assert_int_equal(pool_ranges(p), 0);
    pool_free(p);
    free(offsets);
}

TEST(pool__of_fragments_is_full)
{
    uint64_t offsets[64], none = 5;
    Pool *p = pool_new(64 * POOL_ALIGN);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(pool_take(p, POOL_ALIGN, &offsets[i]), 0);
    for (unsigned i = 0; i < 64; i += 2)
        pool_give(p, offsets[i]);
    assert_int_equal(pool_free_bytes(p), 32 * POOL_ALIGN);
    assert_int_equal(pool_largest_free(p), POOL_ALIGN);
    assert_int_equal(pool_take(p, POOL_ALIGN + 1, &none), POOL_E_FULL);
    assert_int_equal(none, 5);
    assert_int_equal(pool_take(p, POOL_ALIGN, &none), 0);
    assert_int_equal(none, 0);
    pool_free(p);
}

TEST(pool__extremes)
{
    uint64_t offset;
    Pool *p = pool_new(POOL_ALIGN - 1);
    assert_int_equal(pool_bytes(p), 0);
    assert_int_equal(pool_largest_free(p), 0);
    assert_int_equal(pool_take(p, 0, &offset), POOL_E_FULL);
    assert_int_equal(pool_take(p, 1, &offset), POOL_E_FULL);
    assert_true(pool_check(p));
    pool_free(p);

    p = pool_new(UINT64_MAX);
    assert_int_equal(pool_take(p, UINT64_MAX, &offset), POOL_E_FULL);
    assert_int_equal(pool_take(p, UINT64_MAX - POOL_ALIGN, &offset), 0);
    assert_int_equal(offset, 0);
    assert_int_equal(pool_largest_free(p), 0);
    assert_true(pool_check(p));
    pool_give(p, 0);
    assert_int_equal(pool_free_bytes(p), pool_bytes(p));
    pool_free(p);
    assert_null(pool_free(NULL));
}
