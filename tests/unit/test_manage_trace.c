/* SPDX-License-Identifier: MIT */
/* Recorded runs: what a run leaves for the next one, and what is fetched because an earlier run
 * needed it. */
#include "tests/unit/cache_fixture.h"

#include "base/cleanup.h"
#include "libmanage/trace.h"

enum { CACHED = 16, AHEAD = 8, RUN = 56 /* pieces */ };

static Cache *make_retained(const CacheConfig *cfg, int *ret_rd)
{
    return make(cfg, DODO_RETAIN | DODO_RDONLY, ret_rd);
}

/* Reads of the file are slow, and reading ahead is on. */
static CacheConfig ahead_config(void)
{
    CacheConfig cfg = config(CACHED);
    cfg.readahead_bytes = AHEAD * PIECE;
    cfg.remote = false;
    return cfg;
}

/* Pieces in the order in which a run needs them: different ones, none behind the one before it, and
 * no two of the same distance in a row, which would be a stream. */
static unsigned piece_at(unsigned i)
{
    unsigned at = 1;
    while (i-- > 0)
        at = at * 26 % 61;
    return at;
}

static CacheRange range_of(unsigned piece)
{
    return (CacheRange){.block = piece * (PIECE / CACHE_BLOCK), .blocks = PIECE / CACHE_BLOCK};
}

static CacheRange earlier[56];

static void earlier_run(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        earlier[i] = range_of(piece_at(i));
    w.earlier = earlier;
    w.earlier_count = count;
}

/* ... of which the cache knows. */
static Cache *make_followed(unsigned count, int *ret_rd)
{
    CacheConfig cfg = ahead_config();
    Cache *c = make_retained(&cfg, ret_rd);
    earlier_run(count);
    background(c);
    return c;
}

static void read_piece(Cache *c, int rd, unsigned piece)
{
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
    for (unsigned i = 0; i < PIECE; i++)
        assert_int_equal(w.buf[i], 1);
}

static bool is_local(Cache *c, unsigned piece)
{
    return piece_state(c, piece) == CACHE_LOCAL;
}

/* ---- what a run leaves ----------------------------------------------------------------------- */

static CacheRecord recorded(Cache *c)
{
    CacheRecord record = {0};
    unsigned at = 0;
    if (cache_recorded(c, &at, &record)) {
        CacheRecord other;
        assert_false(cache_recorded(c, &at, &other)); /* one file */
    }
    return record;
}

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

/* ---- what comes ahead ------------------------------------------------------------------------ */

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

/* ... after which two more are in order: while the latest one is, nothing is fetched from the file,
 * and what it was to be is fetched later. */
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

/* ... unless the kernel says that it lacks it. */
TEST(ahead__of_what_the_kernel_lacks_waits_for_nothing)
{
    CacheConfig cfg = ahead_config();
    cfg.known_reads = 8;
    Cache *c = cache_new(
        &cfg,
        &(CacheHooks){.file_held = file_held, .file_id = file_place, .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
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
    assert_false(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(stats(c).evictions, 0);
    assert_int_equal(finish(c, &call), PIECE);
    cache_free(c);
}

static void job_over(Cache *c, CacheJob *job)
{
    CacheResult result = carry_out(job);
    cache_background_done(c, job, &result, w.now_ns);
}

static CacheJob *take_next(Cache *c, CacheJob *job, enum CacheJobKind kind)
{
    assert_true(cache_background_take(c, job, w.now_ns));
    assert_int_equal(job->kind, kind);
    return job;
}

/* ... one beside the other. */
TEST(ahead__reads_of_remote_memory_go_beside_each_other)
{
    int rd;
    unsigned n = 1;
    CacheJob jobs[AHEAD + 1], recall;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    cfg.low_water_bytes = AHEAD * PIECE;
    Cache *c = make_retained(&cfg, &rd);
    earlier_run(40);
    job_over(c, take_next(c, &jobs[0], CACHE_OPEN_REMOTE));
    (void)take_next(c, &recall, CACHE_RECALL);
    for (unsigned i = 0; i < 80; i++) { /* remote memory has all, and what a read takes is known */
        read_piece(c, rd, piece_at(i % 40));
        background(c);
    }
    job_over(c, &recall);
    for (unsigned i = 0; i < AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_true(cache_background_take(c, &jobs[0], w.now_ns));
    while (cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        assert_true(++n <= AHEAD);
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

static unsigned batch_begin(Cache *c, CacheJob jobs[AHEAD])
{
    unsigned n = 1;
    if (!cache_background_take(c, &jobs[0], w.now_ns))
        return 0;
    while (n < AHEAD && cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        n++;
    return n;
}

/* A batch of reads of the file ahead of the program, which take @batch_ns if there are several; its
 * length. */
static unsigned batch_over(Cache *c, uint64_t batch_ns)
{
    CacheJob jobs[AHEAD + 1];
    unsigned n = 1;
    if (!cache_background_take(c, &jobs[0], w.now_ns))
        return 0;
    while (cache_background_more(c, &jobs[0], &jobs[n], w.now_ns))
        assert_true(++n <= AHEAD);
    w.now_ns += n > 1 ? batch_ns : w.file_ns;
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(jobs[i].kind, CACHE_READ_FILE);
        assert_int_equal(jobs[i].together, n > 1);
        CacheResult result = carry_out(&jobs[i]);
        result.ns = 1; /* the kernel has read it by then */
        cache_background_done(c, &jobs[i], &result, w.now_ns);
    }
    return n;
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

/* As long as that pays. */
TEST(ahead__another_read_begins_as_one_ends)
{
    int rd;
    unsigned i = 0;
    CacheJob jobs[AHEAD];
    Cache *c = make_followed(RUN, &rd);
    for (; i < AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(batch_over(c, AHEAD * w.file_ns / 2), AHEAD);
    for (; i < 2 * AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(batch_begin(c, jobs), AHEAD);
    for (i = 0; i < 2 * AHEAD; i++)
        assert_true(batch_next(c, rd, jobs, i, w.file_ns / 2));
    while (batch_next(c, rd, jobs, i, 4 * w.file_ns))
        assert_true(++i < 4 * AHEAD);
    cache_free(c);
}

/* ... which the time says nothing of in which there was no room for another. */
TEST(ahead__what_waited_for_the_program_is_not_measured)
{
    int rd;
    unsigned i = 0;
    CacheJob jobs[AHEAD];
    Cache *c = make_followed(RUN, &rd);
    for (; i < AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(batch_over(c, AHEAD * w.file_ns / 2), AHEAD);
    for (; i < 2 * AHEAD; i++)
        read_piece(c, rd, piece_at(i));
    assert_int_equal(batch_begin(c, jobs), AHEAD);
    for (i = 0; i < 4 * AHEAD; i++) {
        job_over(c, &jobs[i % AHEAD]);
        CacheJob *first = &jobs[(i + 1) % AHEAD];
        assert_false(cache_background_more(c, first, &jobs[i % AHEAD], w.now_ns));
        w.now_ns += 4 * w.file_ns;
        read_piece(c, rd, piece_at(2 * AHEAD + i));
        assert_true(cache_background_more(c, first, &jobs[i % AHEAD], w.now_ns));
    }
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
    cache_free(c);
}

/* Remote memory has all, the file takes as many times longer, and an earlier run is followed. */
static Cache *make_all_remote(unsigned slower, int *ret_rd)
{
    CacheJob job, recall;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
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

/* Remote memory has every other piece of an earlier run. */
static void open_half_held(Cache *c)
{
    static uint64_t held[PIECES * PIECE / CACHE_BLOCK / 64];
    CacheJob job;
    CacheResult result = {.remote = 1, .held = true, .held_blocks = held};
    (void)take_next(c, &job, CACHE_OPEN_REMOTE);
    for (unsigned i = 1; i < 40; i += 2)
        for (unsigned b = 0; b < earlier[i].blocks; b++)
            held[(earlier[i].block + b) / 64] |= 1ull << (earlier[i].block + b) % 64;
    cache_background_done(c, &job, &result, w.now_ns);
}

/* Of the file one read at a time, and none of it is forgotten. */
TEST(ahead__reads_remote_memory_beside_the_file)
{
    int rd;
    CacheJob of_file, job;
    CacheConfig cfg = ahead_config();
    cfg.remote = true;
    Cache *c = make_retained(&cfg, &rd);
    memcpy(w.remote, w.file, sizeof w.file);
    earlier_run(40);
    open_half_held(c);
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

/* The kernel has it in memory, and may have it no more in the next run. */
TEST(run__leaves_what_the_kernel_had)
{
    CacheConfig cfg = ahead_config();
    Cache *c = cache_new(
        &cfg,
        &(CacheHooks){.file_held = file_held, .file_id = file_place, .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
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
    Cache *c = cache_new(
        &cfg,
        &(CacheHooks){.file_held = file_held, .file_id = file_place, .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
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

/* ... and what it has is not fetched. */
TEST(ahead__not_what_the_kernel_has)
{
    CacheConfig cfg = ahead_config();
    Cache *c = cache_new(
        &cfg,
        &(CacheHooks){.file_held = file_held, .file_id = file_place, .file_release = released});
    int rd = cache_open(c, BYTES, BYTES, &w, DODO_RETAIN | DODO_RDONLY);
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
