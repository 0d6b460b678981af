/* SPDX-License-Identifier: MIT */
/* Recorded runs: what a run leaves for the next one. */
#include "tests/unit/trace_fixture.h"

TEST(run__leaves_what_it_needed_in_order)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    background(c);
    for (unsigned i = 0; i < 20; i++)
        read_piece(c, rd, piece_at(i));
    read_piece(c, rd, piece_at(19)); /* it is there */
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, 20);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(r.ranges[i].block, range_of(piece_at(i)).block);
        assert_int_equal(r.ranges[i].blocks, PIECE / CACHE_BLOCK);
    }
    cache_free(c);
}

TEST(run__in_order_is_one_range)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned k = 0; k < 2 * TRACE_RANGES_LEAST; k += 2) {
        read_piece(c, rd, 3 * k + 20);
        read_piece(c, rd, 3 * k + 21);
        background(c);
    }
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, TRACE_RANGES_LEAST);
    assert_int_equal(r.ranges[0].block, range_of(20).block);
    assert_int_equal(r.ranges[0].blocks, 2 * PIECE / CACHE_BLOCK);
    cache_free(c);
}

TEST(run__without_retain_leaves_nothing)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make(&cfg, DODO_RDONLY, &rd);
    earlier_run(20);
    background(c);
    for (unsigned i = 0; i < 20; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(w.did[CACHE_RECALL], 0);
    assert_int_equal(recorded(c).count, 0);
    cache_free(c);
}

TEST(run__that_is_short_leaves_nothing)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < TRACE_RANGES_LEAST - 1; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(recorded(c).count, 0);
    read_piece(c, rd, piece_at(TRACE_RANGES_LEAST - 1));
    assert_int_equal(recorded(c).count, TRACE_RANGES_LEAST);
    cache_free(c);
}

/* The earlier one knows what this one needed, and more. */
TEST(run__shorter_than_the_one_it_follows_leaves_nothing)
{
    int rd;
    Cache *c = make_followed(40, &rd);
    for (unsigned i = 0; i < 19; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(recorded(c).count, 0);
    read_piece(c, rd, piece_at(19));
    assert_int_equal(recorded(c).count, 20);
    cache_free(c);
}

TEST(run__shorter_but_elsewhere_takes_the_place)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 40; i++)
        earlier[i] = (CacheRange){.block = 2 * i * PIECES, .blocks = 1};
    w.earlier = earlier;
    w.earlier_count = 40;
    background(c);
    for (unsigned i = 1; i < 11; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(recorded(c).count, 10);
    cache_free(c);
}

/* Lists are bounded by the cache's limit: the beginning of a run is kept. */
TEST(run__is_kept_as_far_as_there_is_room)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    unsigned most = (unsigned)(cfg.limit_bytes / 32 / sizeof(CacheRange));
    for (unsigned i = 0; i < 3 * most; i++)
        read_piece(c, rd, i * 22 % 61); /* what left comes again */
    CacheRecord r = recorded(c);
    assert_in_range(r.count, most / 2, most);
    assert_int_equal(r.ranges[2].block, range_of(44).block);
    cache_free(c);
}

/* The kernel has it in memory, and may have it no more in the next run. */
TEST(run__leaves_what_the_kernel_had)
{
    CacheConfig cfg = ahead_config();
    int rd;
    w.kernel_says = true;
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 20; i++) {
        w.held_to = i < 10 ? 0 : BYTES; /* its drive is known to be slow by then */
        read_piece(c, rd, piece_at(i));
    }
    assert_true(stats(c).bypasses >= 8);
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, 20);
    assert_int_equal(r.ranges[19].block, range_of(piece_at(19)).block);
    cache_free(c);
}

/* The cache has let go of the file: threads read it without the lock, or with it. */
TEST(run__leaves_what_it_read_past_the_cache)
{
    int rd;
    CacheHit hit;
    CacheConfig cfg = ahead_config();
    cfg.lets_go = true;
    Cache *c = make_retained(&cfg, &rd);
    struct Lane *lane = cache_lane(c);
    background(c);
    cache_copy_cost(c, PIECE, 10000);
    for (unsigned i = 0; i < 20000 && !cache_turns(c); i++)
        read_piece(c, rd, piece_at(i % 60));
    assert_int_equal(cache_turns(c), 1);
    for (unsigned i = 40; i < 56; i++) /* what it held goes with the reads */
        read_piece(c, rd, piece_at(i));
    assert_int_equal(stats(c).cached_bytes, 0);
    unsigned count = recorded(c).count;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t at = (uint64_t)piece_at(i) * PIECE;
        assert_int_equal(cache_hit_begin(&hit, c, lane, rd, (off_t)at, PIECE), CACHE_HIT_FILE);
        cache_hit_file_end(&hit, c, w.file_ns, w.now_ns += w.file_ns);
    }
    for (unsigned i = 20; i < 40; i++)
        read_piece(c, rd, piece_at(i));
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, count + 40);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(r.ranges[count + i].block, range_of(piece_at(i)).block);
    cache_free(c);
}

/* A run that follows an earlier one, and reads faster by that, does not let go of the cache. */
TEST(run__that_is_led_lets_go_of_nothing)
{
    for (unsigned led = 0; led < 2; led++) {
        int rd;
        CacheConfig cfg = ahead_config();
        cfg.lets_go = true;
        earlier_run(RUN);
        Cache *c = make_retained(&cfg, &rd);
        background(c);
        cache_copy_cost(c, PIECE, 10000);
        for (unsigned i = 0; i < 20000 && !cache_turns(c); i++) {
            read_piece(c, rd, piece_at(i % RUN));
            if (i % AHEAD == AHEAD - 1)
                while (batch_over(c, led ? w.file_ns : AHEAD * w.file_ns) > 0)
                    ;
        }
        assert_int_equal(cache_turns(c) > 0, !led);
        cache_free(c);
    }
}

/* Of its memory, reads that begin in the midst of a block have one in common with the read before.
 */
TEST(run__in_order_and_unaligned_is_one_range)
{
    CacheConfig cfg = ahead_config();
    int rd;
    w.kernel_says = true;
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 10; i++)
        read_piece(c, rd, piece_at(i));
    w.held_to = BYTES;
    for (unsigned i = 0; i < 4; i++)
        (void)do_read(c, rd, 42 * PIECE + i * CACHE_BLOCK + CACHE_BLOCK / 2, CACHE_BLOCK);
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, 11);
    assert_int_equal(r.ranges[10].block, range_of(42).block);
    assert_int_equal(r.ranges[10].blocks, 5);
    cache_free(c);
}

/* Blocks that were to come ahead of the program, but did not, it asks for itself. */
TEST(run__notes_once_what_did_not_come_ahead)
{
    enum { BEFORE = 10 };
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    uint64_t last = (uint64_t)piece_at(BEFORE) * PIECE;
    (void)do_read(c, rd, last, CACHE_BLOCK);
    earlier_run(20);
    background(c);
    for (unsigned i = 0; i < BEFORE; i++)
        read_piece(c, rd, piece_at(i));
    w.read_error = EIO;
    background(c);
    w.read_error = 0;
    assert_true(w.did[CACHE_READ_FILE] > 1 + BEFORE);
    read_piece(c, rd, piece_at(BEFORE));
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, 1 + BEFORE + 1);
    assert_int_equal(r.ranges[1 + BEFORE].block, last / CACHE_BLOCK + 1);
    cache_free(c);
}
