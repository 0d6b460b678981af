/* SPDX-License-Identifier: MIT */
/* What dodo bench takes for sizes, and where its calls go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/bench_plan.h"
#include "tests/lib/case.h"

TEST(sizes__are_a_list)
{
    BenchSizes s;
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

TEST(sizes__refuses_anything_else)
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
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_true(bench_sizes_parse(bad[i], &s) < 0);
    assert_int_equal(s.count, 7);
    assert_int_equal(bench_sizes_parse("0", &s), -ERANGE);
}

TEST(pattern__has_names)
{
    BenchPattern p = BENCH_PATTERN_MAX;
    assert_int_equal(bench_pattern_parse("sequential", &p), 0);
    assert_int_equal(p, BENCH_SEQUENTIAL);
    assert_int_equal(bench_pattern_parse("random", &p), 0);
    assert_int_equal(p, BENCH_RANDOM);
    assert_int_equal(bench_pattern_parse("rand", &p), -EINVAL);
    assert_int_equal(p, BENCH_RANDOM);
}

TEST(layout__last_region_may_be_shorter)
{
    const BenchLayout even = {100, 25}, odd = {101, 25}, one = {10, 25};
    assert_int_equal(bench_regions(&even), 4);
    assert_int_equal(bench_region_length(&even, 3), 25);
    assert_int_equal(bench_regions(&odd), 5);
    assert_int_equal(bench_region_length(&odd, 4), 1);
    assert_int_equal(bench_regions(&one), 1);
    assert_int_equal(bench_region_length(&one, 0), 10);
}

/* Of any area: they are in it, in one region each, next to each other, and all there is room for.
 */
TEST(slots__fill_the_regions)
{
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

TEST(parts__are_disjoint_and_cover_all)
{
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

TEST(part__goes_round_in_order)
{
    BenchPart p = bench_part(30, 1, 3, BENCH_SEQUENTIAL, 5);
    for (unsigned i = 0; i < 25; i++)
        assert_int_equal(bench_part_next(&p), 10 + i % 10);
}

TEST(part__goes_anywhere_in_itself)
{
    BenchPart p = bench_part(30, 1, 3, BENCH_RANDOM, 5), same = p;
    BenchPart other = bench_part(30, 2, 3, BENCH_RANDOM, 5);
    unsigned seen[30] = {0}, equal = 0;
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
