/* SPDX-License-Identifier: MIT */
/* Recorded runs: what is fetched beside each other. */
#include "base/cleanup.h"
#include "libmanage/together.h"
#include "tests/unit/trace_fixture.h"

/* Remote memory has all, the file takes as many times longer, and an earlier run is followed, @room
 * pieces ahead. */
static Cache *make_all_remote_ahead(unsigned room, unsigned slower, int *ret_rd)
{
    CacheJob job, recall;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    cfg.readahead_bytes = room * PIECE;
    cfg.low_water_bytes = AHEAD * PIECE;
    Cache *c = make_retained(&cfg, ret_rd);
    w.file_ns = slower * w.remote_ns;
    earlier_run(40);
    job_over(c, take_next(c, &job, CACHE_OPEN_REMOTE));
    (void)take_next(c, &recall, CACHE_RECALL);
    for (unsigned i = 0; i < 80; i++) {
        read_piece(c, *ret_rd, piece_at(i % 40));
        background(c);
    }
    job_over(c, &recall);
    for (unsigned i = 0; i < AHEAD; i++)
        read_piece(c, *ret_rd, piece_at(i));
    return c;
}

static Cache *make_all_remote(unsigned slower, int *ret_rd)
{
    return make_all_remote_ahead(AHEAD, slower, ret_rd);
}

static void jobs_over(Cache *c, CacheJob *jobs, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        job_over(c, &jobs[i]);
}

TEST(ahead__reads_of_remote_memory_go_beside_each_other)
{
    int rd;
    CacheJob jobs[AHEAD];
    Cache *c = make_all_remote(AHEAD + 1, &rd);
    unsigned n = batch_begin(c, jobs);
    assert_in_range(n, 3, AHEAD);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(jobs[i].kind, CACHE_READ_REMOTE);
        CacheResult result = carry_out(&jobs[i]);
        result.beside = true;
        result.ns = 100 * w.file_ns;
        cache_background_done(c, &jobs[i], &result, w.now_ns);
    }
    for (unsigned i = AHEAD; i < AHEAD + n; i++)
        assert_int_equal(piece_state(c, piece_at(i)), CACHE_BOTH);
    unsigned remote = w.did[CACHE_READ_REMOTE]; /* that took long because of the others */
    read_piece(c, rd, piece_at(39 - AHEAD));
    assert_int_equal(w.did[CACHE_READ_REMOTE], remote + 1);
    cache_free(c);
}

/* What takes longer on its way than the file would is read from there, too. It was asked for then:
 * it is recorded, and leaves room for others. */
TEST(ahead__what_was_read_beside_its_fetch_was_asked_for)
{
    int rd;
    CacheJob jobs[AHEAD], others[AHEAD];
    Cache *c = make_all_remote(AHEAD + 1, &rd);
    unsigned files = 0, before = recorded(c).count, n = batch_begin(c, jobs);
    assert_int_equal(n, AHEAD);
    w.now_ns += AHEAD * w.file_ns;
    for (unsigned i = AHEAD; i < 2 * AHEAD; i++) {
        files = w.did[CACHE_READ_FILE];
        read_piece(c, rd, piece_at(i));
        assert_int_equal(w.did[CACHE_READ_FILE], files + 1);
    }
    assert_int_equal(recorded(c).count, before + AHEAD);
    jobs_over(c, jobs, n);
    read_piece(c, rd, piece_at(AHEAD)); /* of local memory, and no news */
    assert_int_equal(w.did[CACHE_READ_FILE], files + 1);
    assert_int_equal(recorded(c).count, before + AHEAD);
    assert_int_equal(batch_begin(c, others), AHEAD);
    jobs_over(c, others, AHEAD);
    assert_true(cache_check(c));
    cache_free(c);
}

/* What another call fetches, that one has recorded. */
TEST(ahead__what_was_read_beside_a_call_is_recorded_once)
{
    int rd;
    CacheCall call;
    static uint8_t buf[PIECE];
    Cache *c = make_all_remote(AHEAD + 1, &rd);
    unsigned before = recorded(c).count, files = w.did[CACHE_READ_FILE];
    uint64_t at = (uint64_t)piece_at(2 * AHEAD) * PIECE;
    cache_read_start(&call, c, rd, (off_t)at, buf, sizeof buf, w.now_ns);
    assert_int_equal(call.need, CACHE_JOB);
    assert_int_equal(call.job.kind, CACHE_READ_REMOTE);
    w.now_ns += 2 * w.file_ns;
    read_piece(c, rd, piece_at(2 * AHEAD));
    assert_int_equal(w.did[CACHE_READ_FILE], files + 1);
    assert_int_equal(finish(c, &call), PIECE);
    assert_int_equal(recorded(c).count, before + 1);
    cache_free(c);
}

/* The program reads all that is there, and waits; so much that batches are as long as they may be.
 * The length of each. */
static unsigned run_ahead(Cache *c, int rd, uint64_t batch_ns, unsigned lengths[RUN])
{
    unsigned batches = 0;
    for (unsigned i = 0; i < RUN; i++) {
        read_piece(c, rd, piece_at(i));
        if (i % AHEAD != AHEAD - 1)
            continue;
        for (unsigned n; (n = batch_over(c, batch_ns)) > 0; batches++)
            lengths[batches] = n;
    }
    assert_in_range(w.did[CACHE_READ_FILE], RUN, RUN); /* nothing twice */
    return batches;
}

/* What each of them took in its batch says nothing of a read by itself, with which the next batches
 * are compared. */
TEST(ahead__reads_of_a_file_go_together_where_the_drive_can)
{
    int rd;
    unsigned lengths[RUN];
    Cache *c = make_followed(RUN, &rd);
    unsigned batches = run_ahead(c, rd, 3 * w.file_ns, lengths);
    assert_int_equal(batches, RUN / AHEAD - 1);
    for (unsigned i = 0; i < batches; i++)
        assert_int_equal(lengths[i], AHEAD);
    cache_free(c);
}

TEST(ahead__reads_of_a_disk_go_one_at_a_time)
{
    int rd;
    unsigned lengths[RUN];
    Cache *c = make_followed(RUN, &rd);
    unsigned batches = run_ahead(c, rd, AHEAD * w.file_ns, lengths), together = 0;
    for (unsigned i = 0; i < batches; i++)
        together += lengths[i] > 1;
    assert_in_range(together, 1, 2); /* it is tried, and more rarely the second time */
    cache_free(c);
}

/* The batch's @i-th read ends after @ns; the program reads a piece, which makes room for another.
 * True: another one begins. */
static bool batch_next(Cache *c, int rd, CacheJob jobs[AHEAD], unsigned i, uint64_t ns)
{
    w.now_ns += ns;
    job_over(c, &jobs[i % AHEAD]);
    read_piece(c, rd, piece_at(2 * AHEAD + i));
    return cache_background_more(c, &jobs[(i + 1) % AHEAD], &jobs[i % AHEAD], w.now_ns);
}

/* So many are still under way, from the @first-th on. */
static void batch_end(Cache *c, CacheJob jobs[AHEAD], unsigned first, unsigned count)
{
    for (; count > 0; count--)
        job_over(c, &jobs[first++ % AHEAD]);
}

/* Reads go together, as is known to pay: each takes half of what one takes alone. The program has
 * read what was there when they began. */
static Cache *make_window(int *ret_rd, CacheJob jobs[AHEAD])
{
    Cache *c = make_followed(RUN, ret_rd);
    for (unsigned i = 0; i < AHEAD; i++)
        read_piece(c, *ret_rd, piece_at(i));
    assert_int_equal(batch_over(c, AHEAD * w.file_ns / 2), AHEAD);
    for (unsigned i = AHEAD; i < 2 * AHEAD; i++)
        read_piece(c, *ret_rd, piece_at(i));
    assert_int_equal(batch_begin(c, jobs), AHEAD);
    return c;
}

/* As long as that pays. */
TEST(ahead__another_read_begins_as_one_ends)
{
    int rd;
    unsigned i = 0;
    CacheJob jobs[AHEAD];
    Cache *c = make_window(&rd, jobs);
    for (; i < 2 * AHEAD; i++)
        assert_true(batch_next(c, rd, jobs, i, w.file_ns / 2));
    while (batch_next(c, rd, jobs, i, 4 * w.file_ns))
        assert_true(++i < 6 * AHEAD);
    batch_end(c, jobs, i + 1, AHEAD - 1);
    cache_free(c);
}

/* Times in which there was no room for another read say nothing of the drive. */
TEST(ahead__what_waited_for_the_program_is_not_measured)
{
    int rd;
    CacheJob jobs[AHEAD];
    Cache *c = make_window(&rd, jobs);
    for (unsigned i = 0; i < 4 * AHEAD; i++) {
        job_over(c, &jobs[i % AHEAD]);
        CacheJob *first = &jobs[(i + 1) % AHEAD];
        assert_false(cache_background_more(c, first, &jobs[i % AHEAD], w.now_ns));
        w.now_ns += 4 * w.file_ns;
        read_piece(c, rd, piece_at(2 * AHEAD + i));
        assert_true(cache_background_more(c, first, &jobs[i % AHEAD], w.now_ns));
    }
    batch_end(c, jobs, 0, AHEAD);
    cache_free(c);
}

/* The first ones are to show whether it pays. */
TEST(ahead__no_read_follows_before_it_is_known_that_it_pays)
{
    int rd;
    CacheJob jobs[AHEAD];
    Cache *c = make_followed(RUN, &rd);
    for (unsigned i = 0; i < 2 * AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(batch_begin(c, jobs), AHEAD);
    for (unsigned i = 0; i < AHEAD - 1; i++)
        assert_false(batch_next(c, rd, jobs, i, w.file_ns));
    batch_end(c, jobs, AHEAD - 1, 1);
    cache_free(c);
}

/* Begins as many reads as go together. */
static unsigned window_fill(Cache *c, CacheJob jobs[RUN])
{
    unsigned n = 1;
    (void)take_next(c, &jobs[0], CACHE_READ_FILE);
    while (cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        assert_true(++n < RUN);
    return n;
}

/* There are as many as the drive is found to be good for. */
TEST(ahead__as_many_together_as_save_time)
{
    int rd;
    CacheJob jobs[RUN];
    CacheConfig cfg = config(RUN);
    cfg.readahead_bytes = RUN * PIECE;
    cfg.remote = false;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(RUN);
    background(c);
    for (unsigned i = 0; i < RUN / 2; i++)
        read_piece(c, rd, piece_at(i));
    unsigned n = window_fill(c, jobs);
    assert_int_equal(n, TOGETHER_LEAST);
    w.now_ns += w.file_ns; /* all at once */
    jobs_over(c, jobs, n);
    n = window_fill(c, jobs);
    assert_int_equal(n, 2 * TOGETHER_LEAST);
    jobs_over(c, jobs, n);
    cache_free(c);
}

static unsigned woken;

static bool count_woken(void *ctx)
{
    (void)ctx;
    woken++;
    return true;
}

/* The thread that reads the file looks for more by itself. */
TEST(ahead__nobody_else_is_woken_while_the_file_is_read)
{
    CacheJob jobs[AHEAD], none;
    CacheConfig cfg = ahead_config();
    Cache *c = cache_new(&cfg, &(CacheHooks){.wake_background = count_woken,
                                             .file_id = file_place,
                                             .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
    earlier_run(RUN);
    background(c);
    for (unsigned i = 0; i < AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    unsigned n = batch_begin(c, jobs);
    assert_in_range(n, 2, AHEAD);
    assert_false(cache_background_take(c, &none, w.now_ns));
    woken = 0;
    read_piece(c, rd, piece_at(AHEAD + n));
    assert_int_equal(woken, 0);
    jobs_over(c, jobs, n);
    while (cache_background_take(c, &jobs[0], w.now_ns))
        job_over(c, &jobs[0]);
    read_piece(c, rd, piece_at(AHEAD + n + 1));
    assert_int_equal(woken, 1);
    cache_free(c);
}

/* Of what is in remote memory, too: the file's reads are tried where they can be quicker together.
 * If they are, they take what comes next, and remote memory what comes later. */
TEST(ahead__of_the_file_where_its_reads_together_are_quicker)
{
    const unsigned times[] = {1, AHEAD / 2, AHEAD}; /* that all take, in reads of the file */
    for (unsigned k = 0; k < ARRAY_SIZE(times); k++) {
        int rd;
        bool quicker = k == 0;
        CacheJob jobs[AHEAD], far;
        Cache *c = make_all_remote(4, &rd);
        assert_int_equal(batch_over(c, times[k] * w.file_ns), AHEAD);
        for (unsigned i = AHEAD; i < 2 * AHEAD; i++)
            read_piece(c, rd, piece_at(i));
        assert_true(cache_background_take(c, &jobs[0], w.now_ns));
        assert_int_equal(jobs[0].kind, quicker ? CACHE_READ_FILE : CACHE_READ_REMOTE);
        assert_int_equal(jobs[0].offset / PIECE, piece_at(2 * AHEAD));
        (void)take_next(c, &far, CACHE_READ_REMOTE);
        assert_int_equal(far.offset / PIECE, piece_at(2 * AHEAD + (quicker ? AHEAD : 1)));
        job_over(c, &jobs[0]);
        job_over(c, &far);
        cache_free(c);
    }
}

/* Where they cannot be, the program does not wait for a trial. */
TEST(ahead__of_a_slow_file_tries_nothing)
{
    int rd;
    CacheJob job;
    Cache *c = make_all_remote(AHEAD + 1, &rd);
    job_over(c, take_next(c, &job, CACHE_READ_REMOTE));
    cache_free(c);
}

/* Of few reads it would not be known afterwards, and be tried for ever. */
TEST(ahead__of_few_reads_tries_nothing)
{
    for (unsigned room = 3; room <= 4; room++) {
        int rd;
        CacheJob job;
        Cache *c = make_all_remote_ahead(room, 4, &rd);
        job_over(c, take_next(c, &job, room < 4 ? CACHE_READ_REMOTE : CACHE_READ_FILE));
        cache_free(c);
    }
}

/* Remote memory is open, and has these of the region's pieces. */
static void opened_with(Cache *c, CacheJob *opening, const bool has[PIECES])
{
    static uint64_t held[BYTES / CACHE_BLOCK / 64];
    CacheResult result = {.remote = 1, .held = true, .held_blocks = held};
    memset(held, 0, sizeof held);
    for (unsigned b = 0; b < BYTES / CACHE_BLOCK; b++)
        held[b / 64] |= (uint64_t)has[b / (PIECE / CACHE_BLOCK)] << b % 64;
    cache_background_done(c, opening, &result, w.now_ns);
}

/* Of the file one read at a time, and none of it is forgotten. */
TEST(ahead__reads_remote_memory_beside_the_file)
{
    int rd;
    bool has[PIECES] = {0}; /* every other one */
    CacheJob of_file, job;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    memcpy(w.remote, w.file, sizeof w.file);
    earlier_run(40);
    for (unsigned i = 1; i < 40; i += 2)
        has[piece_at(i)] = true;
    opened_with(c, take_next(c, &job, CACHE_OPEN_REMOTE), has);
    background(c);
    for (unsigned i = 0; i < 4; i++)
        read_piece(c, rd, piece_at(i));
    (void)take_next(c, &of_file, CACHE_READ_FILE);
    assert_false(cache_background_more(c, &of_file, &job, w.now_ns)); /* remote memory is next */
    job_over(c, take_next(c, &job, CACHE_READ_REMOTE));
    job_over(c, take_next(c, &job, CACHE_READ_REMOTE));
    assert_false(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(piece_state(c, piece_at(5)), CACHE_BOTH);
    assert_int_equal(piece_state(c, piece_at(7)), CACHE_BOTH);
    job_over(c, &of_file);
    job_over(c, take_next(c, &job, CACHE_READ_FILE));
    assert_true(is_local(c, piece_at(4)));
    assert_true(is_local(c, piece_at(6)));
    assert_false(cache_background_take(c, &job, w.now_ns));
    cache_free(c);
}

/* Reads in order of another part of the file, which remote memory has, do not wait for reads of the
 * file. */
TEST(ahead__a_stream_of_remote_memory_goes_beside_the_file)
{
    int rd;
    bool has[PIECES] = {0};
    CacheJob of_file, job;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    opened_with(c, take_next(c, &job, CACHE_OPEN_REMOTE), has);
    background(c);
    for (unsigned i = 0; i < PIECES; i++)
        has[i] = true;
    memcpy(w.remote, w.file, sizeof w.file);
    int other = cache_open(c, BYTES, BYTES, (char *)&w + BYTES, DODO_RETAIN | DODO_RDONLY);
    opened_with(c, take_next(c, &job, CACHE_OPEN_REMOTE), has);
    for (unsigned i = 0; i < 4; i++)
        read_piece(c, rd, piece_at(i));
    (void)take_next(c, &of_file, CACHE_READ_FILE);
    for (unsigned i = 0; i < 3; i++)
        read_piece(c, other, i);
    (void)take_next(c, &job, CACHE_READ_REMOTE);
    assert_int_equal(job.offset, 3 * PIECE);
    job_over(c, &job);
    job_over(c, &of_file);
    cache_free(c);
}

/* ---- ranges that are no single reads --------------------------------------------------------- */

enum { FIRST = 40, LAST = 64 /* pieces that are read before the record comes */ };

/* Remote memory has all but piece @lacks, the file takes as many times longer, and both are known.
 * What is recorded comes with @ret_recall. */
static Cache *make_known(unsigned slower, unsigned lacks, int *ret_rd, CacheJob *ret_recall)
{
    bool has[PIECES];
    CacheJob opening;
    CacheCall call;
    CacheConfig cfg = config(3 * CACHED);
    cfg.readahead_bytes = CACHED * PIECE;
    w.file_ns = slower * w.remote_ns;
    memcpy(w.remote, w.file, sizeof w.file);
    Cache *c = make_retained(&cfg, ret_rd);
    cache_advise_start(&call, c, *ret_rd, 0, 0, DODO_CADVISE_RANDOM, w.now_ns);
    assert_int_equal(finish(c, &call), 0);
    (void)take_next(c, &opening, CACHE_OPEN_REMOTE);
    for (unsigned i = LAST - 4; i < LAST; i++)
        read_piece(c, *ret_rd, i);
    for (unsigned i = 0; i < PIECES; i++)
        has[i] = i != lacks;
    opened_with(c, &opening, has);
    (void)take_next(c, ret_recall, CACHE_RECALL);
    for (unsigned i = FIRST; i < LAST - 4; i++)
        read_piece(c, *ret_rd, i);
    assert_in_range(w.did[CACHE_READ_REMOTE], LAST - FIRST - 5, LAST - FIRST - 4);
    return c;
}

static CacheRange of_pieces(unsigned piece, unsigned pieces)
{
    CacheRange range = range_of(piece);
    range.blocks *= pieces;
    return range;
}

static void recall(Cache *c, CacheJob *job, unsigned count)
{
    w.earlier = earlier;
    w.earlier_count = count;
    job_over(c, job);
}

enum { LONG = 30, LONG_PIECES = 5 };

/* Single reads, then ranges of many. */
static void recall_long(Cache *c, CacheJob *job, unsigned singles)
{
    unsigned n = 0;
    for (unsigned i = 0; n < singles; i++)
        if (piece_at(i) < LONG - 1)
            earlier[n++] = of_pieces(piece_at(i), 1);
    earlier[n] = of_pieces(LONG, LONG_PIECES);
    recall(c, job, n + 1);
}

static void read_recorded(Cache *c, int rd, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        read_piece(c, rd, earlier[i].block / (PIECE / CACHE_BLOCK));
}

static void long_comes_from_remote(Cache *c)
{
    CacheJob job;
    (void)take_next(c, &job, CACHE_READ_REMOTE);
    assert_int_equal(job.offset / PIECE, LONG);
    job_over(c, &job);
    assert_int_equal(piece_state(c, LONG), CACHE_BOTH);
}

/* Of what was read in order nothing is read from the file ahead: neither to see whether its reads
 * together are quicker, */
TEST(ahead__what_was_read_in_order_tries_no_reads_together)
{
    int rd;
    CacheJob job;
    Cache *c = make_known(4, PIECES - 1, &rd, &job);
    recall_long(c, &job, AHEAD);
    read_recorded(c, rd, 0, AHEAD);
    long_comes_from_remote(c);
    background(c);
    cache_free(c);
}

/* nor where they are. */
TEST(ahead__what_was_read_in_order_comes_from_remote_memory)
{
    int rd;
    CacheJob job;
    Cache *c = make_known(4, PIECES - 1, &rd, &job);
    recall_long(c, &job, 2 * AHEAD);
    read_recorded(c, rd, 0, AHEAD);
    assert_int_equal(batch_over(c, w.file_ns), AHEAD);
    read_recorded(c, rd, AHEAD, 2 * AHEAD);
    long_comes_from_remote(c);
    background(c);
    cache_free(c);
}

/* What is here already does not say where the rest comes from. */
TEST(ahead__from_where_the_first_missing_block_is)
{
    int rd;
    CacheJob job;
    Cache *c = make_known(9, 20, &rd, &job);
    earlier[0] = of_pieces(0, 1);
    earlier[1] = of_pieces(2, 1);
    earlier[2] = of_pieces(20, 2);
    for (unsigned i = 3; i < 8; i++)
        earlier[i] = of_pieces(30, 1);
    read_piece(c, rd, 20);
    assert_int_equal(piece_state(c, 20), CACHE_LOCAL);
    assert_int_equal(piece_state(c, 21), CACHE_REMOTE);
    recall(c, &job, 8);
    read_piece(c, rd, 0);
    read_piece(c, rd, 2);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.offset, 21 * PIECE);
    assert_int_equal(job.kind, CACHE_READ_REMOTE);
    job_over(c, &job);
    cache_free(c);
}
