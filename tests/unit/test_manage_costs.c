/* SPDX-License-Identifier: MIT */
/* The region cache's core, call by call: what costs decide - file, remote memory, or neither. */
#include "libmanage/cost.h"
#include "tests/lib/case.h"
#include "tests/lib/heap_pages.h"
#include "tests/unit/cache_fixture.h"

TEST(cheap_file__is_read_past_the_cache)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 8;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.file_ns = 1500; /* as from the kernel's page cache */
    read_in_turn(c, rd, 20, 20);
    assert_true(stats(c).bypasses >= 18);
    w.file_ns = 5000000; /* now it is a disk */
    read_in_turn(c, rd, 20, 20);
    uint64_t bypasses = stats(c).bypasses, hits = stats(c).local_hits;
    for (unsigned i = 16; i < 20; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    assert_int_equal(stats(c).bypasses, bypasses);
    assert_int_equal(stats(c).local_hits, hits + 4);
    cache_free(c);
}

/* Measuring may be interrupted, and is done with more bytes than are read at a time: neither makes
 * a disk a cheap file. */
TEST(cheap_file__is_measured_by_the_least_copy)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, 1 << 20, 100 * 1000);
    cache_copy_cost(c, 1 << 20, 30 * 1000 * 1000); /* it waited for a processor */
    w.file_ns = 100 * 1000;                        /* a fast disk */
    read_in_turn(c, rd, 8, 8);
    assert_int_equal(stats(c).bypasses, 0);
    w.file_ns = 1000;
    read_in_turn(c, rd, 400, 16);
    assert_true(stats(c).bypasses > 0); /* the kernel's page cache */
    cache_free(c);
}

TEST(expensive_remote__the_file_is_read)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 50000000;
    (void)do_read(c, rd, 0, 2 * PIECE);
    (void)do_sync(c, rd);
    read_in_turn(c, rd, 40, 8);
    print_message("# %u reads, %u clones\n", w.did[CACHE_READ_REMOTE], w.did[CACHE_CLONE]);
    assert_true(w.did[CACHE_READ_REMOTE] <= 2); /* what is not known is tried */
    assert_true(w.did[CACHE_CLONE] <= 3);       /* the csync's, which does not count, and others */
    cache_free(c);
}

static void read_on(Cache *c, int rd, unsigned piece)
{
    (void)do_read(c, rd, piece * PIECE, PIECE);
    background(c);
}

/* A clone is made beside the program, by a host that takes pages for it: what a read will take is
 * measured, by reading the first one back. */
TEST(clones__are_read_back_at_first)
{
    int rd;
    CacheConfig cfg = config(4);
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 2000000; /* twice as long as the file */
    w.clone_ns = 100000;
    for (unsigned i = 0; i < 32; i++)
        read_on(c, rd, i % 16);
    assert_in_range(w.did[CACHE_CLONE], 1, 4);
    assert_in_range(w.probes, 1, 4);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 0);
    cache_free(c);
}

TEST(expensive_clones__are_tolerated_where_reads_are_not)
{
    int rd;
    CacheConfig cfg = config(4);
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 100000;
    w.clone_ns = 8000000;
    for (unsigned i = 0; i < 16; i++)
        read_on(c, rd, i);
    assert_true(stats(c).clones >= 12);
    assert_in_range(w.probes, 1, 2);
    for (unsigned i = 0; i < 12; i++)
        read_on(c, rd, i);
    assert_true(w.did[CACHE_READ_REMOTE] >= 10);
    cache_free(c);
}

/* A clone takes time, too: what remote memory hardly saves it is not made for. */
TEST(clones__are_not_for_little)
{
    const uint64_t remote_ns[] = {700000, 900000}; /* of the file's 1000000 */
    unsigned clones[2];
    for (unsigned k = 0; k < 2; k++) {
        int rd;
        CacheConfig cfg = config(4);
        cfg.low_water_bytes = 2 * PIECE;
        Cache *c = make(&cfg, 0, &rd);
        w.remote_ns = remote_ns[k];
        for (unsigned i = 0; i < 32; i++)
            read_on(c, rd, i);
        clones[k] = (unsigned)stats(c).clones;
        cache_free(c);
    }
    assert_true(clones[0] >= 24);
    assert_in_range(clones[1], 1, 4);
}

/* How many pieces are cloned of 64 that are read at such a distance. */
static unsigned clones_of(unsigned distance, uint64_t remote_ns)
{
    int rd;
    CacheConfig cfg = config(4);
    cfg.low_water_bytes = 2 * PIECE;
    cfg.readahead_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = remote_ns; /* of the file's 1000000 */
    for (unsigned i = 0; i < 64; i++)
        read_on(c, rd, i * distance % 32);
    unsigned clones = (unsigned)stats(c).clones;
    cache_free(c);
    return clones;
}

/* What a drive works ahead for: remote memory has to be far cheaper. */
TEST(clones_of_what_is_read_in_order__are_for_much)
{
    assert_in_range(clones_of(1, 400000), 1, 6);
    assert_true(clones_of(1, 250000) >= 24);
    assert_true(clones_of(7, 400000) >= 24);
}

/* And where it is not, the cache is nothing to such reads either. */
TEST(a_cache_of_what_is_read_in_order__lets_go)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.lets_go = true;
    cfg.low_water_bytes = cfg.readahead_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.file_ns = 1000000;
    w.remote_ns = 400000;
    for (unsigned i = 0; cache_turns(c) == 0 && i < 400; i++)
        read_on(c, rd, i % 32);
    assert_int_equal(cache_turns(c), 1);
    cache_free(c);
}

static void read_until_turn(Cache *c, int rd, unsigned turns)
{
    for (unsigned i = 0; cache_turns(c) < turns && i < 4000; i++)
        read_on(c, rd, i % 32);
    assert_int_equal(cache_turns(c), turns);
}

/* After as many hits as they are worth it for. */
static bool huge_pages_wanted(Cache *c, int rd)
{
    void *at;
    size_t bytes;
    for (unsigned i = 0; i < 40; i++) /* of a cache of 8 */
        assert_int_equal(do_read(c, rd, 3 * PIECE, PIECE), PIECE);
    return cache_collapse_take(c, &at, &bytes);
}

/* The kernel keeps more of the file in the memory than the cache did: it gets it, but for what is
 * dirty, and until reads take longer again. */
TEST(a_cache_worth_less_than_the_kernels__lets_go)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.lets_go = true;
    cfg.remote = false;
    cfg.pages = &heap_pages;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.file_ns = 100000;
    read_until_turn(c, rd, 1);
    w.file_ns = 50000;
    assert_int_equal(stats(c).cached_bytes, 7 * PIECE); /* it goes with the reads */
    for (unsigned i = 0; i < 7; i++)
        read_on(c, rd, i);
    assert_int_equal(stats(c).cached_bytes, 0);
    assert_int_equal(do_write(c, rd, 3 * PIECE, PIECE, 1), PIECE);
    uint64_t bypasses = stats(c).bypasses;
    for (unsigned i = 0; i < 100; i++)
        read_on(c, rd, 4 + i % 20);
    assert_int_equal(stats(c).bypasses, bypasses + 100);
    assert_int_equal(stats(c).cached_bytes, PIECE);
    assert_int_equal(cache_turns(c), 1);
    assert_int_equal(do_read(c, rd, 3 * PIECE, PIECE), PIECE); /* the dirty one */
    assert_int_equal(stats(c).bypasses, bypasses + 100);
    assert_false(huge_pages_wanted(c, rd)); /* not for what it holds on its way out */
    w.file_ns = 130000;
    read_until_turn(c, rd, 2);
    for (unsigned i = 0; i < 16; i++)
        read_on(c, rd, i);
    assert_int_equal(stats(c).cached_bytes, 8 * PIECE);
    assert_true(huge_pages_wanted(c, rd));
    assert_true(cache_check(c));
    cache_free(c);
}

/* A cache that may let go, beside a file and remote memory of such costs. */
static Cache *letting_go(int *rd, uint64_t file_ns, uint64_t remote_ns)
{
    CacheConfig cfg = config(8);
    cfg.lets_go = true;
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, rd);
    cache_copy_cost(c, PIECE, 500);
    w.file_ns = file_ns;
    w.remote_ns = remote_ns;
    return c;
}

/* So it does where remote memory saves too little for a copy, as soon as that has been seen a few
 * times. */
TEST(a_cache_beside_remote_memory_of_little_use__lets_go)
{
    const uint64_t remote_ns[] = {90000, 120000}; /* of the file's 100000 */
    for (unsigned k = 0; k < 2; k++) {
        int rd;
        Cache *c = letting_go(&rd, 100000, remote_ns[k]);
        read_until_turn(c, rd, 1);
        assert_in_range(w.did[CACHE_READ_REMOTE] + w.probes, 6, 40);
        cache_free(c);
    }
}

/* It may be worth the copy the next time that is looked. */
TEST(a_cache_beside_remote_memory_that_saves_much__is_kept)
{
    int rd;
    Cache *c = letting_go(&rd, 335000, 275000); /* less than the quarter that a copy needs */
    for (unsigned i = 0; i < 4000; i++)
        read_on(c, rd, i % 32);
    assert_true(w.did[CACHE_READ_REMOTE] + w.probes >= 3);
    assert_int_equal(cache_turns(c), 0);
    cache_free(c);
}

/* For as long as @ms remote memory is slower than the file, after it was of use. */
static unsigned turns_of_a_spell(uint64_t ms)
{
    int rd;
    Cache *c = letting_go(&rd, 400000, 100000);
    for (unsigned i = 0; i < 128; i++)
        read_on(c, rd, i % 32);
    assert_true(w.did[CACHE_READ_REMOTE] >= 64);
    assert_int_equal(cache_turns(c), 0);
    w.remote_ns = 1000000;
    uint64_t until_ns = w.now_ns + ms * NS_PER_MS;
    for (unsigned i = 0; w.now_ns < until_ns; i++)
        read_on(c, rd, i % 32);
    unsigned turns = cache_turns(c);
    cache_free(c);
    return turns;
}

TEST(remote_memory_that_was_of_use__is_not_given_up_for_a_spell)
{
    assert_int_equal(turns_of_a_spell(300), 0);
    assert_true(turns_of_a_spell(60000) > 0);
}

/* The nearest class that was measured tells, of two as near the smaller one. */
TEST(cost__of_the_nearest_class)
{
    for (unsigned known = 0; known < 1u << COST_CLASSES; known += 37) {
        Cost cost = {0};
        for (unsigned k = 0; k < COST_CLASSES; k++)
            if (known >> k & 1)
                cost_add(&cost, cost_class_bytes(k), NS_PER_S, k + 1); /* told apart by its time */
        for (unsigned at = 0; at < COST_CLASSES; at++) {
            unsigned want = 0;
            for (unsigned d = COST_CLASSES; d-- > 0;) {
                if (at + d < COST_CLASSES && known >> (at + d) & 1)
                    want = at + d + 1;
                if (d <= at && known >> (at - d) & 1)
                    want = at - d + 1;
            }
            uint64_t bytes = cost_class_bytes(at);
            assert_int_equal(cost_class(bytes), at);
            assert_int_equal(cost_class(bytes + 1), at + 1 < COST_CLASSES ? at + 1 : at);
            assert_int_equal(cost_of(&cost, bytes) > 0, want > 0);
            if (want) {
                assert_true(cost_known_since(&cost, bytes, want));
                assert_false(cost_known_since(&cost, bytes, want + 1));
            }
        }
    }
}

TEST(cost__counts_as_of_a_whole_class)
{
    for (unsigned k = 1; k + 1 < COST_CLASSES; k++) {
        Cost cost = {0};
        uint64_t bytes = cost_class_bytes(k), part = bytes * 3 / 4;
        cost_add(&cost, part, 1000 * part, 1);
        assert_int_equal(cost_of(&cost, bytes), 1000 * bytes);
        assert_in_range(cost_of(&cost, part), 1000 * part, 1000 * part + 1); /* as it was */
    }
}

/* A smaller one may take as long, or its share. */
TEST(cost__of_other_sizes)
{
    for (unsigned k = 1; k + 2 < COST_CLASSES; k++) {
        Cost cost = {0};
        cost_add(&cost, cost_class_bytes(k), 1000000, 1);
        assert_int_equal(cost_of(&cost, cost_class_bytes(k + 1)), 2000000);
        assert_int_equal(cost_of(&cost, 3 * cost_class_bytes(k)), 3000000);
        assert_in_range(cost_of(&cost, cost_class_bytes(k - 1)), 700000, 710000);
    }
}

TEST(cost__follows_up_and_down)
{
    Cost cost = {0};
    uint64_t bytes = cost_class_bytes(2), last = 4000;
    cost_add(&cost, bytes, last, 1);
    for (unsigned i = 0; i < 8; i++) {
        cost_add(&cost, bytes, 2000, 2 + i);
        assert_in_range(cost_of(&cost, bytes), 2000, last - 1);
        last = cost_of(&cost, bytes);
    }
    for (unsigned i = 0; i < 8; i++) {
        cost_add(&cost, bytes, 4000, 10 + i);
        assert_in_range(cost_of(&cost, bytes), last + 1, 4000);
        last = cost_of(&cost, bytes);
    }
}

/* Where a way costs more than its rival did, one measurement tells that it no longer does. */
TEST(cost__what_was_useless_is_judged_anew)
{
    Cost file = {0}, remote = {0};
    cost_add(&file, PIECE, 1000000, 1);
    for (unsigned i = 0; i < 5; i++)
        cost_add_beside(&remote, &file, PIECE, 3000000, 2 + i, NS_PER_S);
    assert_in_range(cost_of(&remote, PIECE), 2900000, 3100000);
    cost_add_beside(&remote, &file, PIECE, 100000, 10, NS_PER_S);
    assert_in_range(cost_of(&remote, PIECE), 90000, 110000);
    cost_add_beside(&remote, &file, PIECE, 300000, 11, NS_PER_S); /* from now on an average */
    assert_in_range(cost_of(&remote, PIECE), 110000, 200000);
}

/* Of less than is read at a time it would say too little. */
TEST(small_clones__are_not_read_back)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.low_water_bytes = 6 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 0, 4 * PIECE);
    for (unsigned i = 0; i < 80; i++) /* 0 and 2 leave, each without its neighbour */
        (void)do_read(c, rd, i < 40 ? PIECE : 3 * PIECE, PIECE);
    background(c);
    assert_int_equal(w.did[CACHE_CLONE], 2);
    assert_int_equal(w.probes, 0);
    cache_free(c);
}

/* The first read of remote memory is short and late, and nothing else is known. What larger reads
 * would take nobody can tell from that. */
TEST(clones__are_not_given_up_for_a_late_first_answer)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    w.file_ns = 400000;
    w.remote_ns = 120000;
    (void)do_read(c, rd, 60 * PIECE, PIECE);
    assert_int_equal(do_sync(c, rd), 0); /* opens remote memory */
    for (unsigned i = 0; i < 2; i++)     /* of a part of a block it has no more than the others */
        assert_int_equal(do_write(c, rd, (50 + i) * PIECE, CACHE_BLOCK, 7), CACHE_BLOCK);
    w.remote_ns = 250000;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(do_read(c, rd, (50 + i) * PIECE, CACHE_BLOCK), CACHE_BLOCK);
    w.remote_ns = 120000;
    uint64_t before = stats(c).clones;
    for (unsigned i = 0; i < 40; i++)
        read_on(c, rd, i);
    assert_true(stats(c).clones >= before + 24);
    cache_free(c);
}

/* The first use of a host costs more than the later ones. */
TEST(expensive_remote__is_soon_looked_at_again)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 5000000;
    (void)do_read(c, rd, 0, 2 * PIECE);
    (void)do_sync(c, rd);
    w.remote_ns = 100000;
    read_in_turn(c, rd, 200, 8);
    assert_int_equal(w.did[CACHE_CLONE], 7); /* the csync's, of two pieces; six others */
    assert_true(w.did[CACHE_READ_REMOTE] >= 50);
    cache_free(c);
}

/* So does the first use of the next one. */
TEST(expensive_remote__again_after_a_loss)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned host = 0; host < 2; host++) {
        w.remote_ns = 50000000;
        (void)do_read(c, rd, 0, 2 * PIECE);
        (void)do_sync(c, rd);
        w.lost = host == 0;
        w.remote_ns = 100000;
        read_in_turn(c, rd, host == 0 ? 8 : 200, 8);
        background(c);
        w.lost = false;
        w.now_ns += 60 * NS_PER_S;
    }
    assert_true(w.did[CACHE_READ_REMOTE] >= 50);
    cache_free(c);
}

/* A read of @pieces that takes so long from either place. */
static void read_costing(Cache *c, int rd, unsigned piece, unsigned pieces, uint64_t file_ns,
                         uint64_t remote_ns)
{
    w.file_ns = file_ns;
    w.remote_ns = remote_ns;
    assert_int_equal(do_read(c, rd, piece * PIECE, pieces * PIECE), pieces * PIECE);
}

/* Its end alone would be cheaper from the file, and is asked of remote memory with the rest. */
TEST(a_read__has_one_source)
{
    int rd;
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    const uint64_t large_file = 1000000, large_remote = 200000;
    const uint64_t small_file = 50000, small_remote = 100000;
    for (unsigned at = 0; at < 24; at += 8) { /* the third drives the first ones out */
        read_costing(c, rd, at, 8, large_file, large_remote);
        assert_int_equal(do_sync(c, rd), 0);
    }
    for (unsigned i = 0; i < 12; i++) /* the first ones say little */
        read_costing(c, rd, i % 2 * 8, 8, large_file, large_remote);
    read_costing(c, rd, 16, 1, small_file, small_remote);
    for (unsigned i = 24; i < 32; i++)
        read_costing(c, rd, i, 1, small_file, small_remote);
    memset(w.did, 0, sizeof w.did);
    read_costing(c, rd, 17, 1, small_file, small_remote);
    assert_int_equal(w.did[CACHE_READ_FILE], 1);
    memset(w.did, 0, sizeof w.did);
    read_costing(c, rd, 0, 8, large_file, large_remote);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 1);
    assert_int_equal(w.did[CACHE_READ_FILE], 0);
    cache_free(c);
}

/* A file that the kernel has most of, and a drive the rest: what counts is what a read of it takes
 * on average, not what most take. */
TEST(file_in_part_slow__remote_memory_is_used)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 2000; i++) {
        w.file_ns = i % 5 < 4 ? 3000 : 5000000;
        read_on(c, rd, i * 7 % PIECES);
        if (i == 1000)
            memset(w.did, 0, sizeof w.did);
    }
    assert_true(w.did[CACHE_READ_REMOTE] > 800);
    cache_free(c);
}

/* A host that falls asleep answers late once, and at once while it is asked: the late answers say
 * nothing of those that follow. */
TEST(remote__asleep_is_looked_at_more_than_once)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    w.file_ns = 400000;
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 200; i++)
        read_on(c, rd, i * 29 % PIECES);
    assert_true(w.did[CACHE_READ_REMOTE] > 50);
    w.remote_ns = 3000000; /* for a while it is slow */
    for (unsigned i = 0; i < 200; i++)
        read_on(c, rd, i * 29 % PIECES);
    w.now_ns += 20 * NS_PER_S;
    memset(w.did, 0, sizeof w.did);
    for (unsigned i = 0; i < 400; i++) {
        unsigned before = w.did[CACHE_READ_REMOTE];
        read_on(c, rd, i * 29 % PIECES);
        w.remote_ns = w.did[CACHE_READ_REMOTE] > before ? 100000 : 3000000;
    }
    assert_true(w.did[CACHE_READ_REMOTE] > 200);
    cache_free(c);
}

/* The kernel reads ahead: one read in sixteen waits for the drive, and the next ones do not, though
 * remote memory would be cheaper than that one. */
TEST(file_read_ahead__is_cheaper)
{
    int rd;
    CacheConfig cfg = config(8);
    Cache *c = make(&cfg, 0, &rd);
    w.remote_ns = 250000;
    for (unsigned i = 0; i < 1000; i++) {
        w.file_ns = i % 16 ? 20000 : 2000000;
        read_on(c, rd, i % PIECES);
        if (i == 500)
            memset(w.did, 0, sizeof w.did);
    }
    assert_in_range(w.did[CACHE_READ_REMOTE], 0, 12);
    cache_free(c);
}

/* Whose every read finds the page cache, but for one now and then that waits for a processor. */
TEST(file_seldom_late__is_read_past_the_cache)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    w.remote_ns = 100000;
    for (unsigned i = 0; i < 20000; i++) {
        w.file_ns = i % 50 < 49 ? 3000 : 10000000;
        read_on(c, rd, i * 7 % PIECES);
        w.now_ns += 1000000;
        if (i == 10000)
            memset(w.did, 0, sizeof w.did);
    }
    assert_true(w.did[CACHE_READ_FILE] > 9000);
    cache_free(c);
}

/* One small read that had to wait for the drive is no reason to copy out what is read in steps that
 * the kernel reads ahead. */
TEST(clones__are_for_reads_as_the_region_has_them)
{
    int rd;
    CacheConfig cfg = config(16);
    Cache *c = make(&cfg, 0, &rd);
    read_costing(c, rd, 0, 1, 5000000, 1000000);
    for (unsigned i = 0; i < 64; i++) {
        read_costing(c, rd, i % 8 * 8, 8, 50000, 1000000);
        background(c);
    }
    assert_true(w.did[CACHE_READ_FILE] >= 64);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 0);
    assert_true(w.did[CACHE_CLONE] <= 2); /* what is not known is tried */
    cache_free(c);
}

/* Of which the kernel reads ahead: one read in four waits. */
static void read_ahead_of(Cache *c, int rd, unsigned reads, unsigned stride, uint64_t quick_ns,
                          uint64_t wait_ns)
{
    for (unsigned i = 0; i < reads; i++) {
        w.file_ns = i % 4 ? quick_ns : wait_ns;
        (void)do_read(c, rd, i * stride % PIECES * PIECE, PIECE);
        w.file_ns = wait_ns;
        background(c);
    }
}

TEST(file_mostly_quick__is_read_past_the_cache)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.bypass_factor = 16;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 500);
    read_ahead_of(c, rd, 400, 1, 3000, 40000); /* 12 us on average, more than 16 copies */
    uint64_t before = stats(c).bypasses;
    read_ahead_of(c, rd, 100, 1, 3000, 40000);
    assert_true(stats(c).bypasses >= before + 90); /* a few are cached still */
    read_ahead_of(c, rd, 400, 1, 3000, 80000);
    before = stats(c).bypasses;
    read_ahead_of(c, rd, 100, 1, 3000, 80000);
    assert_int_equal(stats(c).bypasses, before);
    cache_free(c);
}

/* Who reads a file one after the other has the kernel to read ahead, and needs no second one, which
 * would send a drive to and fro; a stride it does not see. */
TEST(readahead__of_files_is_the_kernels)
{
    /* As copying; on a host with much to do; what the drive's rate allows. */
    const uint64_t quick_ns[] = {3000, 20000, 200000};
    for (unsigned i = 0; i < 3; i++) {
        int rd;
        CacheConfig cfg = config(16);
        cfg.bypass_factor = 16;
        cfg.readahead_bytes = 8 * PIECE;
        cfg.remote = false;
        Cache *c = make(&cfg, 0, &rd);
        cache_copy_cost(c, PIECE, 500);
        read_ahead_of(c, rd, 200, 1, quick_ns[i], 200000);
        uint64_t before = stats(c).readaheads;
        read_ahead_of(c, rd, 200, 1, quick_ns[i], 200000);
        assert_int_equal(stats(c).readaheads, before);
        read_ahead_of(c, rd, 200, 3, quick_ns[i], 200000);
        assert_true(stats(c).readaheads > before + 50);
        cache_free(c);
    }
}

/* Nobody reads remote memory ahead but us. */
TEST(readahead__of_remote_memory)
{
    int rd;
    CacheConfig cfg = config(16);
    cfg.readahead_bytes = 8 * PIECE;
    cfg.low_water_bytes = 2 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < PIECES; i++)
        read_on(c, rd, i);
    assert_int_equal(stats(c).readaheads, 0);
    for (unsigned i = 0; i < PIECES - 16; i++)
        read_on(c, rd, i);
    assert_true(stats(c).readaheads >= 40);
    assert_true(stats(c).readahead_used >= 40);
    cache_free(c);
}

/* To the end of a file, however short the rest of it is. */
TEST(readahead__of_remote_memory_to_the_end)
{
    for (unsigned window = 4; window <= 16; window++) {
        int rd;
        CacheConfig cfg = config(24);
        cfg.readahead_bytes = window * PIECE;
        cfg.low_water_bytes = 2 * PIECE;
        Cache *c = make(&cfg, 0, &rd);
        for (unsigned i = 0; i < PIECES; i++)
            read_on(c, rd, i);
        for (unsigned i = 0; i < 20; i++)
            read_on(c, rd, i);
        uint64_t hits = stats(c).local_hits;
        for (unsigned i = 20; i < PIECES; i++)
            read_on(c, rd, i);
        assert_int_equal(stats(c).local_hits - hits, PIECES - 20);
        cache_free(c);
    }
}
