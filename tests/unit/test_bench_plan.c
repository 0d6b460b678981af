/* SPDX-License-Identifier: MIT */
/* What dodo bench takes for sizes, and where its calls go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/bench_plan.h"

static void sizes__are_a_list(void **state)
{
    BenchSizes s;
    (void)state;
    assert_int_equal(bench_sizes_parse("8K", &s), 0);
    assert_int_equal(s.count, 1);
    assert_int_equal(s.bytes[0], 8192);
    assert_int_equal(bench_sizes_parse("1,4K,64M", &s), 0);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.bytes[0], 1);
    assert_int_equal(s.bytes[1], 4096);
    assert_int_equal(s.bytes[2], BENCH_CALL_MAX);
    assert_int_equal(bench_sizes_parse("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &s), 0);
    assert_int_equal(s.count, BENCH_SIZES_MAX);
}

static void sizes__refuses_anything_else(void **state)
{
    static const char *const bad[] = {"",
                                      ",",
                                      "8K,",
                                      ",8K",
                                      "8K,,4K",
                                      "8K 4K",
                                      "8X",
                                      "-1",
                                      "0",
                                      "65M",
                                      "8K,0",
                                      "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
                                      "00000000000000000000000000000000000001"};
    BenchSizes s = {.count = 7};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_true(bench_sizes_parse(bad[i], &s) < 0);
    assert_int_equal(s.count, 7);
    assert_int_equal(bench_sizes_parse("0", &s), -ERANGE);
}

static void pattern__has_names(void **state)
{
    BenchPattern p = BENCH_PATTERN_MAX;
    (void)state;
    assert_int_equal(bench_pattern_parse("sequential", &p), 0);
    assert_int_equal(p, BENCH_SEQUENTIAL);
    assert_int_equal(bench_pattern_parse("random", &p), 0);
    assert_int_equal(p, BENCH_RANDOM);
    assert_int_equal(bench_pattern_parse("rand", &p), -EINVAL);
    assert_int_equal(p, BENCH_RANDOM);
}

static void layout__last_region_may_be_shorter(void **state)
{
    const BenchLayout even = {100, 25}, odd = {101, 25}, one = {10, 25};
    (void)state;
    assert_int_equal(bench_regions(&even), 4);
    assert_int_equal(bench_region_length(&even, 3), 25);
    assert_int_equal(bench_regions(&odd), 5);
    assert_int_equal(bench_region_length(&odd, 4), 1);
    assert_int_equal(bench_regions(&one), 1);
    assert_int_equal(bench_region_length(&one, 0), 10);
}

/* Of any area: they are in it, in one region each, next to each other, and all there is room for.
 */
static void slots__fill_the_regions(void **state)
{
    (void)state;
    for (uint64_t area = 1; area <= 40; area++)
        for (uint64_t region = 1; region <= 12; region++)
            for (uint64_t size = 1; size <= 13; size++) {
                const BenchLayout l = {area, region};
                uint64_t count = 0, wanted = bench_slots(&l, size);
                for (uint64_t r = 0; r < bench_regions(&l); r++)
                    for (uint64_t at = 0; at + size <= bench_region_length(&l, r); at += size)
                        assert_int_equal(bench_slot_offset(&l, size, count++), r * region + at);
                assert_int_equal(count, wanted);
            }
}

static void parts__are_disjoint_and_cover_all(void **state)
{
    (void)state;
    for (unsigned parts = 1; parts <= 9; parts++)
        for (uint64_t slots = parts; slots <= 40; slots++) {
            uint64_t next = 0;
            for (unsigned i = 0; i < parts; i++) {
                BenchPart p = bench_part(slots, i, parts, BENCH_RANDOM, 1);
                assert_int_equal(p.first, next);
                assert_true(p.count > 0);
                next += p.count;
            }
            assert_int_equal(next, slots);
        }
}

static void part__goes_round_in_order(void **state)
{
    BenchPart p = bench_part(30, 1, 3, BENCH_SEQUENTIAL, 5);
    (void)state;
    for (unsigned i = 0; i < 25; i++)
        assert_int_equal(bench_part_next(&p), 10 + i % 10);
}

static void part__goes_anywhere_in_itself(void **state)
{
    BenchPart p = bench_part(30, 1, 3, BENCH_RANDOM, 5), same = p;
    BenchPart other = bench_part(30, 2, 3, BENCH_RANDOM, 5);
    unsigned seen[30] = {0}, equal = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t slot = bench_part_next(&p);
        assert_int_equal(bench_part_next(&same), slot);
        assert_in_range(slot, 10, 19);
        seen[slot]++;
        equal += bench_part_next(&other) == slot + 10;
    }
    for (unsigned i = 10; i < 20; i++)
        assert_in_range(seen[i], 50, 200);
    assert_in_range(equal, 20, 300); /* the parts do not go in step */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes__are_a_list),
        cmocka_unit_test(sizes__refuses_anything_else),
        cmocka_unit_test(pattern__has_names),
        cmocka_unit_test(layout__last_region_may_be_shorter),
        cmocka_unit_test(slots__fill_the_regions),
        cmocka_unit_test(parts__are_disjoint_and_cover_all),
        cmocka_unit_test(part__goes_round_in_order),
        cmocka_unit_test(part__goes_anywhere_in_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
