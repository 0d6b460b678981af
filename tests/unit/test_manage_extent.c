/* SPDX-License-Identifier: MIT */
/* Extents: when a read that misses brings what lies around it, how much, and what that may cost. */
#include "libmanage/extent.h"
#include "tests/unit/cache_fixture.h"

static const uint64_t MS = 1000000;

/* ---- pure values ----------------------------------------------------------------------------- */

/* As if reads had taken @ns. */
static Extents after_reads(uint64_t ns)
{
    Extents e;
    extents_init(&e, 1 << 20, 3);
    e.ledger.reads_ns = ns;
    return e;
}

TEST(ledger__pays_a_part_of_what_reads_took)
{
    Extents e = after_reads(99 * MS);
    assert_int_equal(extents_may(&e, 3 * MS), 0);
    e = after_reads(100 * MS);
    assert_int_equal(extents_may(&e, 3 * MS), 3 * MS); /* nothing is known: as long again */
}

TEST(ledger__pays_what_was_earned)
{
    Extents e = after_reads(100 * MS);
    extents_begin(&e, 3 * MS);
    extents_took(&e, 3 * MS, 11 * MS, 8 * MS, true);
    assert_int_equal(e.ledger.spent_ns, 3 * MS);
    assert_int_equal(extents_may(&e, 8 * MS), 0);
    e.ledger.earned_ns = 3 * MS - 1;
    assert_int_equal(extents_may(&e, 8 * MS), 0);
    e.ledger.earned_ns = 3 * MS;
    assert_int_equal(extents_may(&e, 8 * MS), 3 * MS); /* what the last one took longer */
}

/* Two threads: what the one has begun is spent for the other. */
TEST(ledger__what_is_under_way_is_spent)
{
    Extents e = after_reads(100 * MS);
    extents_begin(&e, extents_may(&e, 3 * MS));
    assert_int_equal(extents_may(&e, 3 * MS), 0);
    extents_took(&e, 3 * MS, 4 * MS, 3 * MS, true); /* it took less */
    assert_int_equal(e.ledger.spent_ns, 1 * MS);
    assert_int_equal(extents_may(&e, 3 * MS), 1 * MS);
}

TEST(ledger__one_that_failed_costs_what_it_took)
{
    Extents e = after_reads(1000 * MS);
    extents_begin(&e, 8 * MS);
    extents_took(&e, 8 * MS, 13 * MS, 8 * MS, false);
    assert_int_equal(e.ledger.spent_ns, 5 * MS);
    assert_int_equal(e.extra_ns, 0); /* it says nothing of a whole one */
    assert_int_equal(e.bytes, 64 << 10);
}

/* A drive that takes 8 ms to move its head, and then brings 64 KiB in a third of one. */
TEST(extents__grow_until_reading_on_costs_as_much_as_the_head)
{
    Extents e = after_reads(1000 * MS);
    const uint64_t sizes[] = {64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 1 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(e.bytes, sizes[i]);
        extents_took(&e, 0, 8 * MS + e.bytes / 65536 * MS / 3, 8 * MS + MS / 3, true);
    }
    extents_init(&e, 1 << 20, 3);
    for (unsigned i = 0; i < 10; i++) /* the same, and 64 KiB in 4 ms */
        extents_took(&e, 0, 8 * MS + e.bytes / 65536 * 4 * MS, 12 * MS, true);
    assert_int_equal(e.bytes, 512 << 10);
}

TEST(extents__shrink_where_they_take_too_long)
{
    Extents e = after_reads(0);
    e.bytes = 1 << 20;
    extents_took(&e, 0, 33 * MS, 8 * MS, true);
    assert_int_equal(e.bytes, 512 << 10);
    for (unsigned i = 0; i < 10; i++)
        extents_took(&e, 0, 33 * MS, 8 * MS, true);
    assert_int_equal(e.bytes, 64 << 10); /* no less */
}

TEST(extents__none)
{
    Extents e;
    extents_init(&e, 0, 3);
    e.ledger.earned_ns = UINT64_MAX / 2;
    assert_int_equal(extents_may(&e, 8 * MS), 0);
}

/* ---- of the cache ---------------------------------------------------------------------------- */

/* A file as expensive as a drive whose head moves; remote memory as fast as a network. Extents are
 * of 8 pieces at first. */
static Cache *make_expensive(unsigned pieces, int *ret_rd)
{
    CacheConfig cfg = config(pieces);
    Cache *c = make(&cfg, 0, ret_rd);
    for (unsigned i = 0; i < BYTES; i++)
        w.file[i] = (uint8_t)(1 + i / CACHE_BLOCK);
    w.file_ns = 8 * MS;
    w.remote_ns = MS;
    w.extent_ns = MS;
    return c;
}

static void assert_reads(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    assert_memory_equal(w.buf, w.file + (uint64_t)piece * PIECE, PIECE);
    background(c);
}

/* @count reads of a piece each of [@from, @from + @pieces), in no order that is a stream's. */
static void read_apart(Cache *c, int rd, unsigned count, unsigned from, unsigned pieces)
{
    for (unsigned i = 0, at = 1; i < count; i++, at = (at * 5 + 3) % pieces)
        assert_reads(c, rd, from + at);
}

/* Reads of the first eight pieces, over and over, from the file: so much the ledger has. */
static void pay(Cache *c, int rd)
{
    w.no_memory = true;
    read_apart(c, rd, 64, 0, 8);
    w.no_memory = false;
    w.now_ns += 10 * NS_PER_S;
}

TEST(extent__comes_with_a_miss)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0); /* its remote memory is opened */
    uint64_t extents = stats(c).extents;
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, extents + 1);
    for (unsigned i = 16; i < 24; i++)
        assert_int_equal(piece_state(c, i), i == 19 ? CACHE_BOTH : CACHE_REMOTE);
    assert_int_equal(piece_state(c, 15), CACHE_DISK);
    assert_int_equal(piece_state(c, 24), CACHE_DISK);
    cache_free(c);
}

TEST(extent__what_it_brought_is_read_and_earns)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0);
    assert_reads(c, rd, 19);
    uint64_t earned = stats(c).extent_earned_ns, remote = stats(c).remote_hits;
    assert_reads(c, rd, 22);
    assert_reads(c, rd, 16);
    assert_int_equal(stats(c).remote_hits, remote + 2);
    assert_in_range(stats(c).extent_earned_ns - earned, 2 * 6 * MS, 2 * 7 * MS);
    earned = stats(c).extent_earned_ns;
    assert_reads(c, rd, 0);
    assert_reads(c, rd, 1);
    remote = stats(c).remote_hits;
    assert_reads(c, rd, 22); /* once more: it would be there without, too */
    assert_int_equal(stats(c).remote_hits, remote + 1);
    assert_int_equal(stats(c).extent_earned_ns, earned);
    cache_free(c);
}

TEST(extent__none_before_reads_have_paid_for_it)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    for (unsigned i = 0; i < 16; i++)
        assert_reads(c, rd, i * 19 % PIECES);
    assert_int_equal(stats(c).extents, 0);
    cache_free(c);
}

/* What nobody reads costs no more than the ledger's part of what reads take. */
TEST(extent__useless_ones_cost_little)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    w.extent_ns = 3 * MS;
    pay(c, rd);
    w.remote_ns = 20 * MS; /* nothing is read from there, once that is known */
    uint64_t began = w.now_ns;
    for (unsigned i = 0; i < 500; i++)
        assert_reads(c, rd, i * 29 % PIECES);
    uint64_t reads = 500 * 8 * MS;
    struct manage_stats st = stats(c);
    print_message("# %u ms instead of %u, %u extents, %u ms spent, %u earned\n",
                  (unsigned)((w.now_ns - began) / MS), (unsigned)(reads / MS), (unsigned)st.extents,
                  (unsigned)(st.extent_spent_ns / MS), (unsigned)(st.extent_earned_ns / MS));
    assert_true(st.extent_spent_ns <=
                (reads + 64 * 8 * MS) / 100 * 4 + st.extent_earned_ns + w.extent_ns);
    cache_free(c);
}

TEST(extent__not_in_a_cheap_file)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    w.file_ns = 30000;
    read_apart(c, rd, 200, 0, PIECES);
    uint64_t extents = stats(c).extents;
    read_apart(c, rd, 200, 0, PIECES);
    assert_int_equal(stats(c).extents, extents);
    cache_free(c);
}

/* Of reads one after the other the drive needs no help. */
TEST(extent__not_for_reads_in_order)
{
    int rd;
    CacheConfig cfg = config(2);
    cfg.readahead_bytes = PIECE;
    Cache *c = make(&cfg, 0, &rd);
    w.file_ns = 8 * MS;
    w.remote_ns = MS;
    for (unsigned round = 0; round < 8; round++)
        for (unsigned i = 0; i < PIECES; i++) {
            (void)do_read(c, rd, i * PIECE, PIECE);
            background(c);
        }
    assert_int_equal(stats(c).extents, 0);
    cache_free(c);
}

/* The network had no time for it: nothing of it is believed to be there. */
TEST(extent__that_did_not_come)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0);
    w.no_extent = true;
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, 0);
    assert_int_equal(piece_state(c, 18), CACHE_DISK);
    assert_int_equal(piece_state(c, 20), CACHE_DISK);
    cache_free(c);
}

/* A host that dies under an extent: the file serves, and nothing of it is believed to be there. */
TEST(extent__whose_host_is_lost)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0);
    w.lost = true;
    assert_reads(c, rd, 19);
    for (unsigned i = 16; i < 24; i++)
        assert_int_equal(piece_state(c, i), i == 19 ? CACHE_LOCAL : CACHE_DISK);
    cache_free(c);
}

/* What is dirty here is older there. */
TEST(extent__around_what_is_dirty)
{
    int rd;
    Cache *c = make_expensive(4, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0);
    assert_int_equal(do_write(c, rd, 18 * PIECE, PIECE, 77), PIECE);
    assert_reads(c, rd, 20);
    assert_int_equal(piece_state(c, 17), CACHE_REMOTE);
    assert_int_equal(piece_state(c, 18), CACHE_LOCAL);
    assert_int_equal(do_read(c, rd, 18 * PIECE, PIECE), PIECE);
    assert_int_equal(w.buf[5], 77);
    cache_free(c);
}

/* Where remote memory holds something already, the extent ends. */
TEST(extent__ends_where_something_is_held)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    pay(c, rd);
    assert_reads(c, rd, 0);
    assert_reads(c, rd, 19); /* 16 to 23 */
    uint64_t bytes = stats(c).extent_bytes;
    assert_reads(c, rd, 25); /* 16 pieces now, but for those: 24 to 31 */
    assert_int_equal(stats(c).extent_bytes - bytes, 8 * PIECE);
    cache_free(c);
}
