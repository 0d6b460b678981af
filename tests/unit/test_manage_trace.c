/* SPDX-License-Identifier: MIT */
/* Recorded runs: what is fetched because an earlier run needed it. */
#include "tests/unit/trace_fixture.h"

TEST(ahead__what_an_earlier_run_needed_next)
{
    int rd;
    Cache *c = make_followed(20, &rd);
    assert_int_equal(w.did[CACHE_RECALL], 1);
    read_piece(c, rd, piece_at(0));
    background(c);
    assert_false(is_local(c, piece_at(1))); /* one read is no evidence */
    read_piece(c, rd, piece_at(1));
    background(c);
    unsigned reads = w.did[CACHE_READ_FILE];
    for (unsigned i = 2; i < 20; i++) {
        assert_true(is_local(c, piece_at(i)));
        read_piece(c, rd, piece_at(i));
        background(c);
    }
    assert_int_equal(w.did[CACHE_READ_FILE], reads + 16); /* each once: two were there */
    assert_int_equal(stats(c).readahead_used, 18);
    assert_int_equal(stats(c).readaheads, 18);
    assert_int_equal(recorded(c).count, 20); /* what came ahead was needed, too */
    cache_free(c);
}

TEST(ahead__is_bounded)
{
    int rd;
    Cache *c = make_followed(40, &rd);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t before = stats(c).readahead_used;
        read_piece(c, rd, piece_at(i));
        background(c);
        struct manage_stats st = stats(c);
        assert_true(st.readahead_used - before <= 1);
        assert_true(st.readaheads - st.readahead_used <= AHEAD);
    }
    cache_free(c);
}

/* No two of its reads are as an earlier run's were: nothing is fetched. */
TEST(ahead__nothing_for_another_run)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 40; i++)
        earlier[i] = range_of(i % 2 ? 62 : 63);
    w.earlier = earlier;
    w.earlier_count = 40;
    background(c);
    for (unsigned i = 0; i < 40; i++) {
        read_piece(c, rd, piece_at(i));
        background(c);
    }
    assert_int_equal(stats(c).readaheads, 0);
    cache_free(c);
}

/* A program that begins in the midst of the earlier run is found there. */
TEST(ahead__goes_on_elsewhere)
{
    int rd;
    CacheConfig cfg = ahead_config();
    static CacheRange long_run[200];
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 200; i++)
        long_run[i] = i < 170 ? (CacheRange){1000 + 3 * i, 1} : range_of(piece_at(i - 170));
    w.earlier = long_run;
    w.earlier_count = 200;
    background(c);
    read_piece(c, rd, piece_at(0));
    read_piece(c, rd, piece_at(1));
    background(c);
    assert_true(is_local(c, piece_at(2)));
    assert_true(is_local(c, piece_at(3)));
    cache_free(c);
}

/* While the latest read was in order, nothing is fetched from the file; what was to be is fetched
 * later. */
TEST(ahead__passes_over_nothing_because_of_reads_in_order)
{
    int rd;
    unsigned i = 0;
    Cache *c = make_followed(40, &rd);
    for (; i < AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    for (unsigned in_order = 61; in_order < 64; in_order++)
        read_piece(c, rd, in_order);
    background(c);
    assert_false(is_local(c, piece_at(i)));
    read_piece(c, rd, piece_at(i++));
    background(c);
    assert_true(is_local(c, piece_at(i)));
    cache_free(c);
}

/* Of a range of some blocks a read may need a few bytes. */
TEST(ahead__of_short_reads)
{
    int rd;
    Cache *c = make_followed(40, &rd);
    for (unsigned i = 0; i < 3 * AHEAD; i++) {
        assert_int_equal(do_read(c, rd, (uint64_t)piece_at(i) * PIECE, 64), 64);
        background(c);
    }
    assert_int_equal(stats(c).disk_reads, TRACE_FOLLOWED);
    cache_free(c);
}

/* What was used twice makes no room. When there is some, what comes next is fetched. */
TEST(ahead__waits_for_room)
{
    int rd;
    unsigned i = 0;
    Cache *c = make_followed(RUN, &rd);
    for (unsigned k = 0; k < 2 * CACHED; k++)
        read_piece(c, rd, piece_at(i = k % CACHED));
    while (!is_local(c, piece_at(i + 1))) {
        assert_in_range(i, 0, RUN - 3);
        read_piece(c, rd, piece_at(++i));
        background(c);
    }
    assert_in_range(i, 2 * CACHED - 1, 2 * CACHED);
    cache_free(c);
}

/* Before it is known what the file's reads take nothing of it is fetched; then what comes next is.
 */
TEST(ahead__waits_for_what_the_file_costs)
{
    int rd;
    unsigned i = 0;
    CacheConfig cfg = ahead_config();
    cfg.known_reads = 8;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    background(c);
    for (; i < 8; i++) {
        assert_false(is_local(c, piece_at(i)));
        read_piece(c, rd, piece_at(i));
        background(c);
    }
    assert_true(is_local(c, piece_at(i)));
    cache_free(c);
}

/* Nor does that wait of which the kernel says that it lacks it. */
TEST(ahead__of_what_the_kernel_lacks_waits_for_nothing)
{
    CacheConfig cfg = ahead_config();
    cfg.known_reads = 8;
    int rd;
    w.kernel_says = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    background(c);
    for (unsigned i = 0; i < 4; i++)
        read_piece(c, rd, piece_at(i));
    background(c);
    assert_true(is_local(c, piece_at(4)));
    cache_free(c);
}

/* Of a piece of which a part is here, the other part is fetched; when it is read, this run has
 * needed it, too. */
TEST(ahead__completes_pieces)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    for (unsigned i = 0; i < 20; i++)
        earlier[i] = (CacheRange){range_of(piece_at(i)).block + 1, 1};
    w.earlier = earlier;
    w.earlier_count = 20;
    background(c);
    const uint64_t part = (uint64_t)piece_at(12) * PIECE;
    assert_int_equal(do_read(c, rd, part, CACHE_BLOCK), CACHE_BLOCK);
    assert_true(cache_has(c, rd, part, CACHE_BLOCK));
    assert_false(cache_has(c, rd, part, PIECE));
    for (unsigned i = 0; i < AHEAD; i++)
        assert_int_equal(do_read(c, rd, (uint64_t)piece_at(i) * PIECE + CACHE_BLOCK, CACHE_BLOCK),
                         CACHE_BLOCK);
    background(c);
    assert_true(cache_has(c, rd, part, PIECE));
    unsigned reads = w.did[CACHE_READ_FILE];
    assert_int_equal(do_read(c, rd, part, CACHE_BLOCK), CACHE_BLOCK);
    CacheHit hit; /* no lock, nobody would put it down */
    assert_int_equal(
        cache_hit_begin(&hit, c, cache_lane(c), rd, (off_t)part + CACHE_BLOCK, CACHE_BLOCK),
        CACHE_HIT_NONE);
    assert_int_equal(do_read(c, rd, part + CACHE_BLOCK, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(do_read(c, rd, part + CACHE_BLOCK, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(w.did[CACHE_READ_FILE], reads);
    CacheRecord r = recorded(c);
    assert_int_equal(r.count, 1 + AHEAD + 1);
    assert_int_equal(r.ranges[1 + AHEAD].block, part / CACHE_BLOCK + 1);
    cache_free(c);
}

/* A read that the earlier run did not need does not lose the place. */
TEST(ahead__goes_on_after_a_stray_read)
{
    int rd;
    Cache *c = make_followed(20, &rd);
    for (unsigned i = 0; i < 6; i++)
        read_piece(c, rd, piece_at(i));
    read_piece(c, rd, 62);
    assert_false(is_local(c, piece_at(7)));
    read_piece(c, rd, piece_at(6));
    background(c);
    assert_true(is_local(c, piece_at(7)));
    cache_free(c);
}

TEST(ahead__from_remote_memory_where_that_has_it)
{
    int rd;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(20);
    read_piece(c, rd, piece_at(0)); /* before anything is known */
    background(c);
    for (unsigned i = 1; i < 6; i++)
        read_piece(c, rd, piece_at(i));
    assert_non_null(strchr(w.story, 'o'));
    background(c);
    assert_true(is_local(c, piece_at(6)) || piece_state(c, piece_at(6)) == CACHE_BOTH);
    cache_free(c);
}

/* What is being opened may have it: nothing is read from the file meanwhile. */
TEST(ahead__waits_for_remote_memory)
{
    int rd;
    CacheConfig cfg = ahead_config();
    CacheJob opening, job;
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(20);
    assert_true(cache_background_take(c, &opening, w.now_ns));
    assert_int_equal(opening.kind, CACHE_OPEN_REMOTE);
    background(c);
    assert_int_equal(w.did[CACHE_RECALL], 1);
    read_piece(c, rd, piece_at(0));
    read_piece(c, rd, piece_at(1));
    assert_false(cache_background_take(c, &job, w.now_ns));
    CacheResult result = carry_out(&opening);
    cache_background_done(c, &opening, &result, w.now_ns);
    background(c);
    assert_true(is_local(c, piece_at(2)));
    cache_free(c);
}

/* While one victim is being copied to remote memory, a call drops others: it does not wait. What
 * nobody has asked for yet does wait. */
TEST(ahead__drops_nothing_that_is_to_be_copied)
{
    int rd;
    CacheConfig cfg = ahead_config();
    CacheCall call;
    CacheJob job;
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    background(c);
    for (unsigned i = 0; i < CACHED; i++)
        read_piece(c, rd, piece_at(i));
    cache_read_start(&call, c, rd, (off_t)piece_at(CACHED) * PIECE, w.buf, PIECE, w.now_ns);
    assert_int_equal(call.need, CACHE_JOB);
    assert_int_equal(call.job.kind, CACHE_CLONE);
    while (cache_background_take(c, &job, w.now_ns)) {
        assert_true(job.keeps); /* a copy for the next run: nothing is read */
        CacheResult result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
    }
    assert_int_equal(stats(c).evictions, 0);
    assert_int_equal(finish(c, &call), PIECE);
    cache_free(c);
}

/* The kernel reads ahead of what is read in order. A second reader would send the drive to and fro.
 */
TEST(ahead__not_of_the_file_what_was_read_in_order)
{
    for (unsigned pieces = 1; pieces < 20; pieces += 10) {
        int rd;
        CacheConfig cfg = ahead_config();
        Cache *c = make_retained(&cfg, &rd);
        earlier_run(TRACE_RANGES_LEAST);
        earlier[3] = (CacheRange){range_of(50).block, pieces * PIECE / CACHE_BLOCK};
        background(c);
        for (unsigned i = 0; i < 3; i++)
            read_piece(c, rd, piece_at(i));
        background(c);
        assert_int_equal(is_local(c, 50), pieces == 1);
        cache_free(c);
    }
}

TEST(ahead__not_of_the_file_while_it_is_read_in_order)
{
    int rd;
    Cache *c;
    CacheConfig cfg = ahead_config();
    for (unsigned i = 0; i < 10; i++)
        earlier[i] = range_of(10 + i);
    w.earlier = earlier;
    w.earlier_count = 10;
    c = make_retained(&cfg, &rd);
    background(c);
    for (unsigned i = 10; i < 12; i++)
        read_piece(c, rd, i);
    background(c);
    uint64_t before = stats(c).readaheads; /* two reads are no rule */
    for (unsigned i = 12; i < 19; i++) {
        read_piece(c, rd, i);
        background(c);
    }
    assert_int_equal(stats(c).readaheads, before);
    cache_free(c);
}

/* What the kernel has is not fetched. */
TEST(ahead__not_what_the_kernel_has)
{
    CacheConfig cfg = ahead_config();
    int rd;
    w.kernel_says = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    background(c);
    for (unsigned i = 0; i < 8; i++)
        read_piece(c, rd, piece_at(i));
    w.held_to = BYTES;
    unsigned files = w.did[CACHE_READ_FILE];
    background(c);
    assert_int_equal(w.did[CACHE_READ_FILE], files);
    w.held_to = 0;
    read_piece(c, rd, piece_at(8));
    background(c);
    assert_true(w.did[CACHE_READ_FILE] > files + 1);
    cache_free(c);
}

/* What is recorded may be of another time, or damaged. */
TEST(ahead__senseless_ranges_do_no_harm)
{
    static const CacheRange bad[] = {
        {0, 0},          {0, 2},          {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX},
        {2 * PIECES, 4}, {4, UINT32_MAX}, {8, 0},          {8, 2},
    };
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    w.earlier = bad;
    w.earlier_count = sizeof bad / sizeof bad[0];
    background(c);
    for (unsigned i = 0; i < PIECES; i++) {
        read_piece(c, rd, i);
        background(c);
    }
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

/* The regions of a file share one; what is not open is passed over. */
TEST(ahead__in_the_next_region_of_the_file)
{
    int rd, next;
    CacheConfig cfg = ahead_config();
    earlier_run(0);
    Cache *c = cache_new(&cfg, &(CacheHooks){.lock = cache_locked,
                                             .unlock = cache_unlocked,
                                             .file_id = file_place,
                                             .file_release = released});
    assert_non_null(c);
    for (unsigned i = 0; i < 12; i++)
        earlier[i] = range_of(i / 2 + i % 2 * 8 + 8 * (i == 5)); /* of regions of 8 pieces */
    w.earlier = earlier;
    w.earlier_count = 12;
    rd = cache_open(c, 8 * PIECE, 8 * PIECE, (char *)&w, DODO_RETAIN | DODO_RDONLY);
    next = cache_open(c, 8 * PIECE, 8 * PIECE, (char *)&w + 8 * PIECE, DODO_RETAIN | DODO_RDONLY);
    assert_true(rd >= 0 && next >= 0);
    background(c);
    assert_int_equal(w.did[CACHE_RECALL], 1);
    read_piece(c, rd, 0);
    read_piece(c, next, 0);
    background(c);
    assert_int_equal(cache_state(c, rd, 1 * PIECE), CACHE_LOCAL);
    assert_int_equal(cache_state(c, next, 1 * PIECE), CACHE_LOCAL);
    read_piece(c, rd, 1);
    read_piece(c, next, 1);
    background(c);
    assert_int_equal(cache_state(c, rd, 3 * PIECE), CACHE_LOCAL); /* behind the one passed over */
    read_piece(c, next, 2);
    assert_int_equal(do_close(c, next), 0); /* it was about to be fetched for */
    background(c);
    read_piece(c, rd, 2);
    background(c);
    read_piece(c, rd, 3);
    background(c);
    cache_free(c);
}

/* The job that was to load it was not begun. */
TEST(recall__of_a_region_that_is_closed_at_once)
{
    int rd;
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, &rd);
    assert_int_equal(do_close(c, rd), 0);
    background(c);
    assert_int_equal(w.did[CACHE_RECALL], 0);
    rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
    background(c);
    assert_int_equal(w.did[CACHE_RECALL], 1); /* it is the next one's */
    assert_int_equal(do_close(c, rd), 0);
    rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
    background(c);
    assert_int_equal(w.did[CACHE_RECALL], 1);
    cache_free(c);
}

/* Its close gives remote memory back: nothing is begun beside that. */
static void close_alone(Cache *c, int rd)
{
    CacheCall call;
    CacheJob job;
    cache_close_start(&call, c, rd, w.now_ns);
    while (call.need == CACHE_JOB && call.job.kind == CACHE_CLONE) { /* what is kept */
        CacheResult result = carry_out(&call.job);
        cache_call_done(&call, c, &result, w.now_ns);
    }
    assert_int_equal(call.need, CACHE_JOB);
    assert_int_equal(call.job.kind, CACHE_CLOSE_REMOTE);
    assert_false(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(finish(c, &call), 0);
    assert_false(cache_background_take(c, &job, w.now_ns));
}

TEST(recall__not_of_a_region_that_is_closing)
{
    int rd;
    CacheConfig cfg = ahead_config();
    CacheJob opening;
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    assert_true(cache_background_take(c, &opening, w.now_ns));
    assert_int_equal(opening.kind, CACHE_OPEN_REMOTE);
    CacheResult result = carry_out(&opening);
    cache_background_done(c, &opening, &result, w.now_ns);
    close_alone(c, rd);
    assert_int_equal(w.did[CACHE_RECALL], 0);
    cache_free(c);
}

TEST(ahead__not_into_a_region_that_is_closing)
{
    int rd;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(20);
    background(c);
    for (unsigned i = 0; i < 5; i++)
        read_piece(c, rd, piece_at(i)); /* the next ones may be fetched now */
    close_alone(c, rd);
    cache_free(c);
}
