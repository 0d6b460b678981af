/* SPDX-License-Identifier: MIT */
#include "tools/copies.h"

#include "tests/lib/case.h"

/* On host @host, opened by @client; @piece as the manager has it. */
static RegionRow row(uint8_t host, uint8_t client, uint64_t piece)
{
    return (RegionRow){.region = {.host = addr_sim(host, 7),
                                  .region = host * 100 + client,
                                  .use = REGION_USE_OPEN,
                                  .client = {{client}}},
                       .piece = piece};
}

static unsigned copies_on(const RegionRow *rows, size_t count, uint8_t host, uint8_t client)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].region.region == (uint64_t)host * 100 + client)
            return rows[i].copies;
    fail_msg("a region is gone");
    return 0;
}

TEST(copies__are_of_one_program_and_one_piece)
{
    RegionRow rows[] = {row(1, 5, 77), row(2, 6, 77), row(3, 5, 78), row(4, 5, 77), row(5, 5, 0)};
    copies_count(rows, 5);
    assert_int_equal(copies_on(rows, 5, 1, 5), 2);
    assert_int_equal(copies_on(rows, 5, 4, 5), 2);
    assert_int_equal(copies_on(rows, 5, 2, 6), 1);
    assert_int_equal(copies_on(rows, 5, 3, 5), 1);
    assert_int_equal(copies_on(rows, 5, 5, 5), 0); /* an older manager's */
    copies_count(rows, 0);
}

/* What is kept is nobody's, and what is opened or closed may be gone in a moment. */
TEST(copies__are_open)
{
    RegionRow rows[] = {row(1, 5, 77), row(2, 5, 77), row(3, 5, 77)};
    rows[0].region.use = REGION_USE_KEPT;
    rows[1].region.use = REGION_USE_FREEING;
    copies_count(rows, 3);
    assert_int_equal(copies_on(rows, 3, 1, 5), 0);
    assert_int_equal(copies_on(rows, 3, 2, 5), 0);
    assert_int_equal(copies_on(rows, 3, 3, 5), 1);
}

TEST(mark__says_what_is_to_move)
{
    RegionRow r = row(1, 5, 77);
    r.copies = 1;
    assert_string_equal(copies_mark(&r), "");
    r.copies = 2;
    assert_string_equal(copies_mark(&r), "");
    r.leaves = true;
    assert_string_equal(copies_mark(&r), "moving");
    r.copies = 1;
    assert_string_equal(copies_mark(&r), "to move");
    r.region.use = REGION_USE_KEPT;
    r.copies = 0;
    assert_string_equal(copies_mark(&r), "to move");
    r.region.use = REGION_USE_FREEING;
    assert_string_equal(copies_mark(&r), "");
}
