/* SPDX-License-Identifier: MIT */
/* Filling remote memory unasked: what parts cost, and parts that no read has missed for. */
#include "libmanage/fill.h"
#include "tests/unit/fill_fixture.h"

/* ---- what a part costs ----------------------------------------------------------------------- */

TEST(cost__what_is_expected_until_it_is_known)
{
    FillCost k = {0};
    assert_int_equal(fill_cost_ns(&k, 20 * MS), 20 * MS);
    assert_int_equal(fill_cost_ns(&k, 0), 0);
}

/* The drive reads faster than the network takes it, and the program waits for the drive alone. */
TEST(cost__what_parts_have_cost)
{
    FillCost k = {0};
    for (unsigned i = 0; i < 64; i++)
        fill_cost_add(&k, 20 * MS, i % 2 ? 9 * (int64_t)MS : (int64_t)MS);
    assert_in_range(fill_cost_ns(&k, 40 * MS), 9 * MS, 11 * MS);
    for (unsigned i = 0; i < 64; i++)
        fill_cost_add(&k, 20 * MS, 60 * (int64_t)MS);
    assert_in_range(fill_cost_ns(&k, 10 * MS), 29 * MS, 31 * MS);
}

/* One part is no rule. */
TEST(cost__of_one_part)
{
    FillCost k = {0};
    fill_cost_add(&k, 20 * MS, -(int64_t)MS);
    assert_in_range(fill_cost_ns(&k, 20 * MS), 5 * MS, 12 * MS);
}

/* Reads beside them happened to take less than usual. */
TEST(cost__is_never_less_than_nothing)
{
    FillCost k = {0};
    for (unsigned i = 0; i < 64; i++)
        fill_cost_add(&k, 20 * MS, -5 * (int64_t)MS);
    assert_int_equal(fill_cost_ns(&k, 20 * MS), 0);
}

/* What a part is expected to cost while another read waits for the drive, as it begins. */
static uint64_t part_begin_ns(Cache *c, int rd, unsigned piece, unsigned waits)
{
    static uint8_t buf[PIECE];
    CacheCall other;
    uint64_t spent = stats(c).extent_spent_ns;
    cache_read_start(&other, c, rd, (off_t)waits * PIECE, buf, PIECE, w.now_ns);
    assert_int_equal(other.need, CACHE_JOB);
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    spent = stats(c).extent_spent_ns - spent;
    idle(c, 0);
    assert_int_equal(finish(c, &other), PIECE);
    return spent;
}

TEST(cost__of_parts_beside_which_reads_take_no_longer)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t first = part_begin_ns(c, rd, 10, 60);
    assert_in_range(first, 7 * MS, 8 * MS); /* as long as a read */
    (void)part_begin_ns(c, rd, 20, 61);
    uint64_t third = part_begin_ns(c, rd, 30, 62), fourth = part_begin_ns(c, rd, 40, 63);
    assert_true(third > 0 && fourth < third);
    cache_free(c);
}

/* ---- sweeping -------------------------------------------------------------------------------- */

static unsigned on_disk(Cache *c)
{
    unsigned count = 0;
    for (unsigned i = 0; i < PIECES; i++)
        count += piece_state(c, i) == CACHE_DISK;
    return count;
}

/* Reads that find what a part has brought miss nothing any more. The rest comes all the same, and
 * the kernel is asked for each part at once. */
TEST(sweep__brings_the_rest_where_parts_have_earned)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    assert_reads(c, rd, 19);
    unsigned asked = w.did[CACHE_ASK];
    uint64_t missed = stats(c).disk_reads, parts = stats(c).extents;
    assert_true(on_disk(c) > PIECES / 2);
    for (unsigned i = 20; i < 28; i++)
        assert_reads(c, rd, i % 2 ? 47 - i : i); /* in no order */
    assert_int_equal(on_disk(c), 0);
    assert_int_equal(stats(c).disk_reads, missed);
    assert_int_equal(w.did[CACHE_ASK] - asked, stats(c).extents - parts);
    assert_true(stats(c).extent_spent_ns <= stats(c).extent_earned_ns);
    for (unsigned i = 0; i < PIECES; i++)
        assert_reads(c, rd, i * 29 % PIECES);
    assert_int_equal(stats(c).disk_reads, missed);
    cache_free(c);
}

/* The small part of the reads' time is for parts behind those that miss. */
TEST(sweep__none_where_nothing_was_earned)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.no_part = true;
    for (unsigned i = 0; i < 16; i++)
        assert_reads(c, rd, i * 3 % 8); /* copied as they leave */
    w.no_part = false;
    assert_reads(c, rd, 19);
    uint64_t parts = stats(c).extents, remote = stats(c).remote_hits;
    w.remote_ns = MS / 100; /* the drive does not idle for long */
    for (unsigned i = 0; i < 64; i++)
        assert_reads(c, rd, i * 3 % 8);
    assert_true(stats(c).remote_hits > remote + 32);
    assert_int_equal(stats(c).extent_earned_ns, 0);
    assert_int_equal(stats(c).extents, parts);
    cache_free(c);
}

/* Another thread's read is at the drive: what it misses has a part behind it, which costs less. */
TEST(sweep__none_while_a_read_waits_for_the_drive)
{
    static uint8_t buf[PIECE];
    int rd;
    Cache *c = make_paid(2, &rd);
    CacheCall other;
    assert_reads(c, rd, 19);
    uint64_t parts = stats(c).extents;
    cache_read_start(&other, c, rd, (off_t)50 * PIECE, buf, PIECE, w.now_ns);
    while (other.need == CACHE_JOB && other.job.kind != CACHE_READ_FILE) { /* it makes room */
        CacheResult result = carry_out(&other.job);
        cache_call_done(&other, c, &result, w.now_ns += result.ns);
    }
    assert_int_equal(other.need, CACHE_JOB);
    for (unsigned i = 20; i < 28; i++)
        assert_reads(c, rd, i % 2 ? 47 - i : i);
    assert_int_equal(stats(c).extents, parts);
    assert_int_equal(finish(c, &other), PIECE);
    idle(c, 0);
    assert_true(stats(c).extents > parts);
    cache_free(c);
}

/* The file's other regions come, too, but for what nobody has read anything near. */
TEST(sweep__goes_on_where_something_was_read)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    int far = cache_open(c, BYTES / 4, BYTES / 4, &w, DODO_RDONLY);
    int near = cache_open(c, BYTES / 4, BYTES / 4, &w, DODO_RDONLY);
    assert_true(far > 0 && near > 0);
    w.no_part = true;
    assert_reads(c, near, 3);
    assert_reads(c, rd, 0); /* it leaves, and is copied */
    assert_reads(c, rd, 5);
    w.no_part = false;
    assert_reads(c, rd, 19);
    for (unsigned i = 20; i < 44; i++)
        assert_reads(c, rd, i % 2 ? 63 - i : i);
    assert_int_equal(on_disk(c), 0);
    for (unsigned i = 0; i < PIECES / 4; i++) {
        assert_int_equal(cache_state(c, near, (uint64_t)i * PIECE), CACHE_REMOTE);
        assert_int_equal(cache_state(c, far, (uint64_t)i * PIECE), CACHE_DISK);
    }
    cache_free(c);
}
