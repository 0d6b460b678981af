/* SPDX-License-Identifier: MIT */
/* When a cache lets go of what it holds, because the kernel's would make more of the memory. */
#include <stdbool.h>

#include "base/time.h"
#include "libmanage/worth.h"
#include "tests/lib/case.h"

enum { EACH = 8192, PIECES = 800, MEASURED = (PIECES + 7) / 8 };
#define HIT_NS 1000
#define FILE_NS (100 * NS_PER_US)

/* A program that reads, of which each file read takes what it takes with the cache, or without. */
static struct {
    Worth w;
    uint64_t now_ns, reads, kept_ns, left_ns;
    unsigned hits_of_10, remote_of_10;
    bool may_leave;
    unsigned turns; /* from one to the other */
} h;

static void begin(uint64_t kept_ns, uint64_t left_ns)
{
    worth_init(&h.w, PIECES * EACH);
    h.now_ns = 5 * NS_PER_S;
    h.reads = h.turns = 0;
    h.hits_of_10 = 3;
    h.remote_of_10 = 0;
    h.may_leave = true;
    h.kept_ns = kept_ns;
    h.left_ns = left_ns;
}

static void read_once(void)
{
    bool was = h.w.left;
    unsigned nth = h.reads++ % 10;
    uint64_t ns = was ? h.left_ns : nth < h.hits_of_10 ? HIT_NS : h.kept_ns;
    enum WorthFrom from = was                                   ? WORTH_FILE
                          : nth < h.hits_of_10                  ? WORTH_LOCAL
                          : nth < h.hits_of_10 + h.remote_of_10 ? WORTH_REMOTE
                                                                : WORTH_FILE;
    h.now_ns += ns;
    uint64_t told_ns = from == WORTH_LOCAL ? 0 : h.now_ns;
    if (worth_read(&h.w, EACH, ns, from, told_ns))
        h.turns += worth_turn(&h.w, h.may_leave) != was;
    assert_int_equal(h.w.left, (h.turns & 1) != 0);
}

static void reads(unsigned count)
{
    while (count--)
        read_once();
}

/* Until it turns; how many reads that took. */
static unsigned reads_until_turn(void)
{
    unsigned before = h.turns, count = 0;
    while (h.turns == before && count < 10000000) {
        read_once();
        count++;
    }
    assert_true(h.turns > before);
    return count;
}

/* Misses of the cache's size to fill it, and an eighth of that to be measured. */
TEST(a_full_cache_that_misses_is_tried_without)
{
    begin(FILE_NS, FILE_NS / 2);
    h.hits_of_10 = 0;
    assert_int_equal(reads_until_turn(), PIECES + MEASURED);
    begin(FILE_NS, FILE_NS / 2);
    h.hits_of_10 = 4;
    unsigned count = reads_until_turn();
    unsigned at_least = (PIECES + MEASURED) * 10 / 6;
    assert_in_range(count, at_least, at_least + 10);
}

TEST(what_speaks_for_it)
{
    begin(FILE_NS, FILE_NS / 2);
    h.hits_of_10 = 5; /* it hits as often as it misses */
    reads(100 * PIECES);
    assert_int_equal(h.turns, 0);
    begin(FILE_NS, FILE_NS / 2);
    h.remote_of_10 = 2; /* remote memory is of use */
    reads(100 * PIECES);
    assert_int_equal(h.turns, 0);
    begin(FILE_NS, FILE_NS / 2);
    h.may_leave = false;
    reads(100 * PIECES);
    assert_int_equal(h.turns, 0);
    worth_init(&h.w, 0);
    h.may_leave = true;
    reads(100 * PIECES);
    assert_int_equal(h.turns, 0);
}

TEST(a_little_of_remote_memory_does_not)
{
    begin(FILE_NS, FILE_NS / 2);
    h.hits_of_10 = 0;
    h.remote_of_10 = 1;
    assert_int_equal(reads_until_turn(), PIECES + MEASURED);
}

/* It is kept again after a stretch to settle, as long as it takes to go and to be the kernel's, and
 * one that is measured; and the next time comes later each time. */
TEST(where_it_was_better_it_comes_back)
{
    begin(FILE_NS, FILE_NS); /* the hits are lost */
    reads_until_turn();
    assert_int_equal(reads_until_turn(), 3 * PIECES);
    unsigned waits[4];
    for (unsigned i = 0; i < 4; i++) {
        waits[i] = reads_until_turn();
        assert_int_equal(reads_until_turn(), 3 * PIECES);
    }
    assert_true(waits[0] >= 16 * 3 * PIECES);
    for (unsigned i = 1; i < 4; i++)
        assert_in_range(waits[i], waits[i - 1] * 3, waits[i - 1] * 5);
}

TEST(where_it_was_not_it_stays_away)
{
    begin(FILE_NS, FILE_NS / 2);
    reads_until_turn();
    unsigned away = reads_until_turn(), back = reads_until_turn();
    assert_in_range(away, 16 * 3 * PIECES, 20 * 3 * PIECES);
    assert_in_range(back, PIECES, 3 * PIECES); /* and is looked at again */
    unsigned longer = reads_until_turn();
    assert_in_range(longer, away * 3 / 2, away * 5 / 2);
}

/* One trial that ends the other way, and what was learnt of many before counts no more. */
TEST(a_trial_the_other_way_begins_anew)
{
    begin(FILE_NS, FILE_NS); /* the hits are lost */
    reads_until_turn();
    reads_until_turn();
    unsigned first = reads_until_turn();
    reads_until_turn();
    unsigned second = reads_until_turn();
    assert_in_range(second, first * 3, first * 5);
    h.left_ns = FILE_NS / 2;
    unsigned away = reads_until_turn();
    reads_until_turn();
    unsigned longer = reads_until_turn();
    assert_in_range(longer, away * 3 / 2, away * 5 / 2);
    reads_until_turn();
    h.left_ns = FILE_NS;
    reads_until_turn();
    assert_in_range(reads_until_turn(), first / 2, first * 2);
    h.left_ns = FILE_NS / 2;
    assert_in_range(reads_until_turn(), away / 2, away * 3 / 2);
}

/* Somebody may lend memory meanwhile. */
TEST(it_does_not_stay_away_for_ever)
{
    begin(100 * FILE_NS, 50 * FILE_NS);
    reads_until_turn();
    uint64_t since_ns = h.now_ns;
    reads_until_turn();
    assert_in_range(h.now_ns - since_ns, 60 * NS_PER_S, 82 * NS_PER_S);
}

TEST(it_comes_back_when_reads_get_slower)
{
    begin(FILE_NS, FILE_NS / 2);
    reads_until_turn();
    reads(4 * PIECES); /* that is the better way */
    h.left_ns = FILE_NS;
    assert_true(reads_until_turn() <= 2 * PIECES);
    h.left_ns = FILE_NS / 2;
    assert_true(reads_until_turn() >= 10 * 3 * PIECES); /* as after any that it lost */
    reads(4 * PIECES);
    assert_true(h.w.left);
}

/* What a trial sees varies: a cache that is not clearly better is no slower where it is let go. */
TEST(in_doubt_it_is_let_go)
{
    const uint64_t kept_mean_ns = (7 * FILE_NS + 3 * HIT_NS) / 10;
    begin(FILE_NS, kept_mean_ns * 105 / 100);
    reads_until_turn();
    assert_true(reads_until_turn() >= 16 * 3 * PIECES);
    begin(FILE_NS, kept_mean_ns * 108 / 100);
    reads_until_turn();
    assert_int_equal(reads_until_turn(), 3 * PIECES);
}

/* A file that is read one after the other, of which the kernel has read half ahead, on a host that
 * does other things too: few reads make a stretch, and one that waits for a processor is as long as
 * all others. Reads of @kept_ns in the mean with the cache, @left_ns without. Returns how many of
 * 100 it was kept for. */
static unsigned kept_of_100(uint64_t limit_bytes, uint64_t bytes, uint64_t kept_ns,
                            uint64_t left_ns, uint64_t seed)
{
    enum { READS = 20000 };
    unsigned kept = 0;
    worth_init(&h.w, limit_bytes);
    h.now_ns = 5 * NS_PER_S;
    for (unsigned i = 0; i < READS; i++) {
        uint64_t ns = h.w.left ? left_ns : kept_ns;
        kept += !h.w.left;
        ns = i % 2 ? ns * 2 - ns / 10 : ns / 10;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ns += (seed >> 33) % 50 == 0 ? 3 * NS_PER_MS : 0;
        h.now_ns += ns;
        if (worth_read(&h.w, bytes, ns, WORTH_FILE, h.now_ns))
            (void)worth_turn(&h.w, true);
    }
    return kept * 100 / READS;
}

TEST(chance_is_no_reason_to_keep_it)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        assert_in_range(kept_of_100(1 << 20, 64 << 10, 330 * NS_PER_US, 330 * NS_PER_US, seed), 0,
                        15);
}

/* Where a stretch is long enough to tell, the same chance hides nothing. */
TEST(what_chance_does_not_explain_is)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        assert_in_range(kept_of_100(16 << 20, 8 << 10, 330 * NS_PER_US, 660 * NS_PER_US, seed), 60,
                        100);
}

TEST(a_long_time_is_no_overflow)
{
    begin(FILE_NS, FILE_NS);
    for (unsigned i = 0; i < 100; i++) {
        h.w.lost = h.w.won = UINT32_MAX / 4;
        reads_until_turn();
        reads(2 * PIECES);
        h.now_ns += UINT64_MAX / 256;
        reads_until_turn();
        assert_true(h.w.until_ns > h.now_ns);
        h.now_ns = h.w.until_ns;
    }
}

/* Reads that were only counted weigh as much as if each had been heard of. */
TEST(counted_hits__weigh_as_told_ones)
{
    enum { HITS = 50 };
    Worth told, counted;
    worth_init(&told, PIECES * EACH);
    worth_init(&counted, PIECES * EACH);
    for (unsigned i = 0; i < HITS; i++)
        assert_false(worth_read(&told, EACH, HIT_NS, WORTH_LOCAL, 0));
    worth_hits(&counted, HITS, (uint64_t)HITS * EACH, (uint64_t)HITS * HIT_NS);
    assert_int_equal(counted.read_bytes, told.read_bytes);
    assert_float_equal(counted.hits.bytes, told.hits.bytes, 0.1);
    assert_float_equal(counted.hits.ns, told.hits.ns, 0.1);
    assert_float_equal(counted.hits.bytes_squared, told.hits.bytes_squared, 0.1);
    assert_float_equal(counted.hits.ns_squared, told.hits.ns_squared, 0.1);
    assert_float_equal(counted.hits.bytes_ns, told.hits.bytes_ns, 0.1);
}
