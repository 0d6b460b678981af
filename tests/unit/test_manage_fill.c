/* SPDX-License-Identifier: MIT */
/* Filling remote memory unasked: when a part behind a read that missed is filled, how much, and
 * what that may cost. */
#include "libmanage/fill.h"
#include "tests/unit/fill_fixture.h"

/* ---- pure values ----------------------------------------------------------------------------- */

/* Reads of 8 ms, one after the other, with @gap_ns from one to the next. Returns when the last one
 * ends. */
static uint64_t reads(FillClock *f, uint64_t from_ns, unsigned count, uint64_t gap_ns)
{
    uint64_t now = from_ns;
    for (unsigned i = 0; i < count; i++) {
        fill_drive_begin(f, now += gap_ns);
        fill_drive_end(f, now += 8 * MS);
    }
    return now;
}

TEST(idle__is_what_is_left_of_the_usual_gap)
{
    FillClock f = {0};
    uint64_t now = reads(&f, 0, 100, 10 * MS);
    assert_in_range(fill_idle_ns(&f, 8 * MS, now), 8 * MS, 12 * MS);
    assert_in_range(fill_idle_ns(&f, 8 * MS, now + 6 * MS), 2 * MS, 6 * MS);
    assert_int_equal(fill_idle_ns(&f, 8 * MS, now + 15 * MS), 0);
    fill_drive_begin(&f, now + MS);
    assert_int_equal(fill_idle_ns(&f, 8 * MS, now + 2 * MS), 0); /* it is at work */
}

TEST(idle__few_long_gaps_are_no_rule)
{
    FillClock f = {0};
    uint64_t now = 0;
    for (unsigned i = 0; i < 60; i++)
        now = reads(&f, now, 1, i % 3 ? MS / 10 : 100 * MS);
    assert_true(fill_idle_ns(&f, 8 * MS, now) < MS);
}

TEST(idle__a_long_one_lasts_as_long_again)
{
    FillClock f = {0};
    uint64_t now = reads(&f, 0, 100, MS / 10);
    assert_int_equal(fill_idle_ns(&f, 8 * MS, now + 7 * MS), 0);
    assert_int_equal(fill_idle_ns(&f, 8 * MS, now + 9 * MS), 9 * MS);
}

TEST(part__takes_its_bytes_and_the_way_there)
{
    FillClock f = {0};
    fill_begin(&f, 0);
    fill_over(&f, M, 5 * MS);
    assert_int_equal(fill_busy_ns(&f, 100 * MS), 5 * MS);
    assert_int_equal(fill_takes_ns(&f, 0, 512 * K, 8 * MS), 5 * MS / 2);
    assert_int_equal(fill_takes_ns(&f, 512 * K, 512 * K, 8 * MS), 5 * MS);
    assert_int_equal(fill_takes_ns(&f, 64 * M, M, 8 * MS), 13 * MS); /* the head moves */
    assert_int_equal(fill_fits(&f, 0, 8 * MS, 5 * MS), M);
    assert_int_equal(fill_fits(&f, 512 * K, 8 * MS, 5 * MS), 512 * K);
    assert_int_equal(fill_fits(&f, 64 * M, 8 * MS, 5 * MS), 0);
}

TEST(part__that_waited_is_no_rule)
{
    FillClock f = {0};
    fill_begin(&f, 0);
    fill_over(&f, M, 5 * MS);
    fill_begin(&f, 5 * MS);
    fill_over(&f, M, 1000 * MS);
    assert_true(f.mib_ns <= 7 * MS);
    fill_begin(&f, 0);
    fill_over(&f, 0, MS); /* that says nothing */
    assert_true(f.mib_ns <= 7 * MS);
}

/* Whatever came out of the clock. */
TEST(part__of_extremes)
{
    FillClock f = {.mib_ns = 1};
    assert_true(fill_fits(&f, 0, 8 * MS, UINT64_MAX) >= 1ull << 61);
    assert_int_equal(fill_takes_ns(&f, UINT64_MAX, 0, 8 * MS), 8 * MS);
    f.mib_ns = UINT64_MAX;
    assert_int_equal(fill_fits(&f, 0, 8 * MS, NS_PER_S), 0);
    assert_true(fill_takes_ns(&f, 0, UINT64_MAX, 8 * MS) >= 1ull << 62);
}

TEST(paid_parts__take_no_longer_than_a_read)
{
    assert_int_equal(fill_paid_bytes(64 * K, MS / 3, 8 * MS, M), 128 * K);
    assert_int_equal(fill_paid_bytes(M, 5 * MS, 8 * MS, M), M);
    assert_int_equal(fill_paid_bytes(128 * K, 12 * MS, 8 * MS, M), 128 * K);
    assert_int_equal(fill_paid_bytes(M, 25 * MS, 8 * MS, M), 512 * K);
    assert_int_equal(fill_paid_bytes(64 * K, 25 * MS, 8 * MS, M), 64 * K); /* no less */
}

/* ---- of the cache ---------------------------------------------------------------------------- */

TEST(part__comes_behind_a_miss)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t parts = stats(c).extents;
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, parts + 1);
    assert_int_equal(piece_state(c, 18), CACHE_DISK);
    for (unsigned i = 20; i < 28; i++)
        assert_int_equal(piece_state(c, i), CACHE_REMOTE);
    assert_int_equal(piece_state(c, 28), CACHE_DISK);
    cache_free(c);
}

/* The background was busy elsewhere: how long the drive took for it, nobody knows. */
TEST(part__that_is_taken_up_late_says_nothing)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t parts = stats(c).extents;
    assert_int_equal(do_read(c, rd, 19ull * PIECE, PIECE), PIECE);
    w.now_ns += NS_PER_S;
    assert_int_equal(do_read(c, rd, 60ull * PIECE, PIECE), PIECE);
    idle(c, 0);
    assert_int_equal(stats(c).extents, parts + 1);
    assert_reads(c, rd, 40);
    assert_int_equal(stats(c).extents, parts + 2);
    cache_free(c);
}

TEST(part__what_it_brought_is_read_and_earns)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    assert_reads(c, rd, 19);
    uint64_t earned = stats(c).extent_earned_ns, remote = stats(c).remote_hits;
    assert_reads(c, rd, 22);
    assert_reads(c, rd, 25);
    assert_int_equal(stats(c).remote_hits, remote + 2);
    assert_in_range(stats(c).extent_earned_ns - earned, 2 * 6 * MS, 2 * 7 * MS);
    w.no_part = true;
    assert_reads(c, rd, 0);
    assert_reads(c, rd, 1);
    earned = stats(c).extent_earned_ns;
    remote = stats(c).remote_hits;
    assert_reads(c, rd, 22); /* once more: it would be there without, too */
    assert_int_equal(stats(c).remote_hits, remote + 1);
    assert_int_equal(stats(c).extent_earned_ns, earned);
    cache_free(c);
}

/* The kernel keeps what it has read for a part, and gives it to the program itself. */
TEST(part__what_the_kernel_has_of_it_earns)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    assert_reads(c, rd, 19);
    w.no_part = true; /* no further one */
    uint64_t earned = stats(c).extent_earned_ns, remote = stats(c).remote_hits;
    w.held_to = 40 * PIECE;
    assert_reads(c, rd, 22);
    assert_reads(c, rd, 25);
    assert_int_equal(stats(c).remote_hits, remote);
    assert_in_range(stats(c).extent_earned_ns - earned, 2 * 7 * MS, 2 * 8 * MS);
    earned = stats(c).extent_earned_ns;
    assert_reads(c, rd, 22); /* once more */
    assert_reads(c, rd, 35); /* no part has brought it */
    assert_int_equal(stats(c).extent_earned_ns, earned);
    cache_free(c);
}

/* Another thread's read waits for the drive: the part comes all the same, and costs both. */
TEST(part__beside_other_reads)
{
    static uint8_t buf[PIECE];
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t spent = stats(c).extent_spent_ns, parts = stats(c).extents;
    CacheCall other;
    cache_read_start(&other, c, rd, 40 * PIECE, buf, PIECE, w.now_ns);
    assert_int_equal(other.need, CACHE_JOB);
    assert_int_equal(do_read(c, rd, 19 * PIECE, PIECE), PIECE);
    /* Nothing is known of parts yet: as long as a read. */
    assert_in_range(stats(c).extent_spent_ns - spent, 7 * MS, 8 * MS);
    idle(c, 0);
    assert_int_equal(stats(c).extents, parts + 1);
    assert_int_equal(finish(c, &other), PIECE);
    cache_free(c);
}

/* The program's thread asks the kernel for it, and waits so long. */
TEST(part__asking_for_it_is_spent)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t spent = stats(c).extent_spent_ns, parts = stats(c).extents;
    w.ask_ns = MS / 10;
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, parts + 1);
    assert_int_equal(stats(c).extent_spent_ns, spent + w.ask_ns);
    cache_free(c);
}

TEST(part__none_before_reads_have_paid_for_it)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    for (unsigned i = 0; i < 16; i++)
        assert_reads(c, rd, i * 19 % PIECES);
    assert_int_equal(stats(c).extents, 0);
    cache_free(c);
}

/* What reads wait for parts is spent: no more than the ledger has. */
TEST(part__useless_ones_cost_little)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.part_ns = 6 * MS;
    w.remote_ns = 20 * MS; /* nothing is read from there, once that is known */
    uint64_t waited = 0;
    for (unsigned i = 0; i < 500; i++) {
        CacheJob job = {0};
        CacheCall call;
        (void)do_read(c, rd, i * 29 % PIECES * PIECE, PIECE);
        bool part = cache_background_take(c, &job, w.now_ns) && job.kind == CACHE_FILL;
        CacheResult result = {0};
        if (part || job.kind)
            result = carry_out(&job);
        if (!part) {
            if (job.kind)
                cache_background_done(c, &job, &result, w.now_ns);
            continue;
        }
        /* The next read is behind it at the drive. */
        cache_read_start(&call, c, rd, (off_t)(i * 29 + 3) % PIECES * PIECE, w.buf, PIECE,
                         w.now_ns);
        w.now_ns += result.ns;
        cache_background_done(c, &job, &result, w.now_ns);
        waited += result.ns;
        while (call.need == CACHE_JOB) {
            CacheResult read = carry_out(&call.job);
            w.now_ns += read.ns;
            read.ns += result.ns;
            result.ns = 0;
            cache_call_done(&call, c, &read, w.now_ns);
        }
    }
    uint64_t took = 600 * 8 * MS;
    struct manage_stats st = stats(c);
    print_message("# %u parts, waited %u ms, %u ms spent, %u earned\n", (unsigned)st.extents,
                  (unsigned)(waited / MS), (unsigned)(st.extent_spent_ns / MS),
                  (unsigned)(st.extent_earned_ns / MS));
    assert_true(waited > 0);
    assert_true(waited <= took / 100 * 4 + st.extent_earned_ns + 6 * MS);
    cache_free(c);
}

/* The program computes between two reads: parts that fit in between cost it nothing, and go on
 * until all is there. */
TEST(idle__all_of_the_file_comes)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    w.part_ns = MS;
    for (unsigned i = 0; i < 150; i++) {
        (void)do_read(c, rd, i * 29 % PIECES * PIECE, PIECE);
        idle(c, 10 * MS);
    }
    assert_int_equal(stats(c).extent_spent_ns, 0);
    uint64_t disk = stats(c).disk_reads;
    for (unsigned i = 0; i < 2 * PIECES; i++)
        (void)do_read(c, rd, i * 29 % PIECES * PIECE, PIECE);
    assert_int_equal(stats(c).disk_reads, disk);
    cache_free(c);
}

/* The region of the file that begins @at bytes behind the start of the first one, with its remote
 * memory open. */
static int open_at(Cache *c, uint64_t at)
{
    int rd = cache_open(c, BYTES / 4, BYTES / 4, (char *)&w + at, DODO_RDONLY);
    assert_true(rd > 0);
    w.no_part = true;
    assert_reads(c, rd, PIECES / 8);
    assert_reads(c, rd, PIECES / 8 + 2);
    w.no_part = false;
    return rd;
}

static bool is_filled(Cache *c, int rd, unsigned piece)
{
    return cache_state(c, rd, (uint64_t)piece * PIECE) == CACHE_REMOTE;
}

TEST(part__goes_on_in_the_next_region_of_the_file)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    int behind = open_at(c, BYTES);
    unsigned asked = w.did[CACHE_ASK];
    assert_reads(c, rd, PIECES - 4);
    assert_int_equal(w.did[CACHE_ASK], asked + 1); /* for all of it at once */
    assert_true(is_filled(c, rd, PIECES - 3) && is_filled(c, rd, PIECES - 1));
    assert_true(is_filled(c, behind, 0) && is_filled(c, behind, 4));
    assert_false(is_filled(c, behind, 5));
    assert_int_equal(do_read(c, behind, 0, PIECE), PIECE);
    assert_memory_equal(w.buf, w.file, PIECE);
    cache_free(c);
}

TEST(part__may_begin_in_the_next_region)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    int behind = open_at(c, BYTES);
    assert_reads(c, rd, PIECES - 1);
    assert_true(is_filled(c, behind, 0) && is_filled(c, behind, 7));
    cache_free(c);
}

TEST(part__ends_where_the_next_region_is_elsewhere)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    int other = open_at(c, BYTES + CACHE_BLOCK);
    assert_reads(c, rd, PIECES - 4);
    assert_true(is_filled(c, rd, PIECES - 1));
    assert_false(is_filled(c, other, 0));
    cache_free(c);
}

/* Nothing of what it was to cost stays spent, and another part may come. */
TEST(part__whose_next_region_is_closed)
{
    for (unsigned first = PIECES - 4; first < PIECES; first += 3) {
        int rd;
        Cache *c = make_paid(2, &rd);
        int behind = open_at(c, BYTES);
        uint64_t spent = stats(c).extent_spent_ns, parts = stats(c).extents;
        assert_int_equal(do_read(c, rd, (uint64_t)first * PIECE, PIECE), PIECE);
        w.file_ns = 0; /* it takes no time */
        assert_int_equal(do_close(c, behind), 0);
        w.file_ns = 8 * MS;
        idle(c, 0);
        assert_int_equal(stats(c).extents, parts + (first + 1 < PIECES));
        assert_int_equal(stats(c).extent_spent_ns, spent);
        assert_reads(c, rd, 19);
        assert_true(is_filled(c, rd, 20));
        cache_free(c);
    }
}

/* As much of the next one as came. */
TEST(part__whose_next_region_is_lost)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    int behind = open_at(c, BYTES);
    CacheJob job;
    assert_int_equal(do_read(c, rd, (PIECES - 4ull) * PIECE, PIECE), PIECE);
    assert_true(cache_background_take(c, &job, w.now_ns));
    CacheResult result = carry_out(&job);
    cache_background_done(c, &job, &result, w.now_ns += result.ns);
    w.lost = true;
    background(c);
    w.lost = false;
    assert_true(is_filled(c, rd, PIECES - 1));
    assert_int_equal(cache_state(c, behind, 0), CACHE_DISK);
    w.now_ns += 10 * NS_PER_S; /* beyond the refraction */
    assert_reads(c, rd, 19);
    assert_true(is_filled(c, rd, 20));
    cache_free(c);
}

TEST(idle__goes_on_in_the_next_region_of_the_file)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    int other = cache_open(c, BYTES / 2, BYTES / 2, &w, DODO_RDONLY);
    assert_true(other > 0);
    for (unsigned i = 0; i < 150; i++) {
        (void)do_read(c, rd, i * 29 % PIECES * PIECE, PIECE);
        idle(c, 10 * MS);
    }
    assert_int_equal(cache_state(c, other, 17 * PIECE), CACHE_REMOTE);
    cache_free(c);
}

/* A long time without any read is enough for all regions. */
TEST(idle__a_long_one_fills_region_after_region)
{
    int rd;
    Cache *c = make_expensive(2, &rd);
    int second = cache_open(c, BYTES / 4, BYTES / 4, &w, DODO_RDONLY);
    int third = cache_open(c, BYTES / 4, BYTES / 4, &w, DODO_RDONLY);
    assert_true(second > 0 && third > 0);
    pay(c, rd);
    assert_reads(c, rd, 0);
    assert_reads(c, rd, 5);
    w.now_ns += NS_PER_S;
    idle(c, 0);
    assert_int_equal(piece_state(c, PIECES - 1), CACHE_REMOTE);
    assert_int_equal(cache_state(c, second, 0), CACHE_REMOTE);
    assert_int_equal(cache_state(c, third, BYTES / 4 - PIECE), CACHE_REMOTE);
    cache_free(c);
}

/* A part takes several jobs, and counts as one: no more of it is in memory at a time. */
TEST(part__comes_by_jobs)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    assert_reads(c, rd, 19);
    uint64_t parts = stats(c).extents, bytes = stats(c).extent_bytes;
    unsigned jobs = w.did[CACHE_FILL];
    w.now_ns += NS_PER_S;
    idle(c, 0);
    assert_int_equal(w.fill_most, 256 * K);
    assert_true(stats(c).extent_bytes - bytes > 256 * K);
    assert_true(w.did[CACHE_FILL] - jobs > stats(c).extents - parts);
    assert_int_equal(piece_state(c, PIECES - 1), CACHE_REMOTE);
    cache_free(c);
}

/* A program that reads nothing else leaves no time. */
TEST(idle__none_where_the_drive_is_always_wanted)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.no_part = true;
    read_apart(c, rd, 64, 0, 8);
    w.no_part = false;
    uint64_t bytes = stats(c).extent_bytes;
    assert_reads(c, rd, 40);
    assert_true(stats(c).extent_bytes - bytes <= 64 * K); /* the paid part, and no more behind it */
    cache_free(c);
}

TEST(part__not_in_a_cheap_file)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.file_ns = 30000;
    read_apart(c, rd, 200, 0, PIECES);
    uint64_t parts = stats(c).extents;
    read_apart(c, rd, 200, 0, PIECES);
    assert_int_equal(stats(c).extents, parts);
    cache_free(c);
}

/* The first reads of a stream look as others do. */
TEST(part__not_before_it_is_known_that_no_stream_begins)
{
    int rd;
    Cache *c = make_ahead(PIECE, &rd);
    pay(c, rd);
    w.no_part = true;
    for (unsigned i = 10; i < 16; i++)
        assert_reads(c, rd, i); /* the last ones are in order */
    w.no_part = false;
    uint64_t parts = stats(c).extents;
    assert_reads(c, rd, 40);
    assert_reads(c, rd, 25);
    assert_int_equal(stats(c).extents, parts);
    assert_reads(c, rd, 56);
    assert_int_equal(stats(c).extents, parts + 1);
    cache_free(c);
}

/* Nor of those that go on in the next region, however small those are. */
TEST(part__not_for_reads_in_order_over_regions)
{
    enum { SMALL = 4 };
    int rd, regions[PIECES / SMALL];
    CacheConfig cfg = config(4);
    cfg.readahead_bytes = PIECE;
    cfg.extent_bytes = M;
    w.kernel_says = true;
    Cache *c = make(&cfg, 0, &rd);
    w.file_ns = 8 * MS;
    w.remote_ns = MS;
    for (unsigned i = 0; i < PIECES / SMALL; i++) {
        regions[i] = cache_open(c, SMALL * PIECE, SMALL * PIECE,
                                (char *)&w + BYTES + (size_t)i * SMALL * PIECE, DODO_RDONLY);
        assert_true(regions[i] > 0);
    }
    for (unsigned i = 0; i < 8 * PIECES; i++) {
        (void)do_read(c, regions[i % PIECES / SMALL], i % SMALL * PIECE, PIECE);
        background(c);
    }
    assert_int_equal(stats(c).extents, 0);
    cache_free(c);
}

/* Of reads one after the other the drive needs no help. */
TEST(part__not_for_reads_in_order)
{
    int rd;
    CacheConfig cfg = config(2);
    cfg.readahead_bytes = PIECE;
    cfg.extent_bytes = M;
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

/* Nor for what is read once. */
TEST(part__not_for_reads_of_once)
{
    int rd;
    CacheCall call;
    Cache *c = make_paid(2, &rd);
    cache_advise_start(&call, c, rd, 0, BYTES, DODO_CADVISE_NOREUSE, w.now_ns);
    assert_int_equal(finish(c, &call), 0);
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, 0);
    cache_free(c);
}

/* The network had no time for it: nothing of it is believed to be there. */
TEST(part__that_did_not_come)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.no_part = true;
    assert_reads(c, rd, 19);
    assert_int_equal(stats(c).extents, 0);
    assert_int_equal(piece_state(c, 20), CACHE_DISK);
    cache_free(c);
}

/* A host that dies under a part: nothing is believed to be there. */
TEST(part__whose_host_is_lost)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    w.lost = true;
    assert_reads(c, rd, 19);
    for (unsigned i = 20; i < 28; i++)
        assert_int_equal(piece_state(c, i), CACHE_DISK);
    cache_free(c);
}

/* What is dirty here is older there. */
TEST(part__over_what_is_dirty)
{
    int rd;
    Cache *c = make_paid(4, &rd);
    assert_int_equal(do_write(c, rd, 22 * PIECE, PIECE, 77), PIECE);
    assert_reads(c, rd, 20);
    assert_int_equal(piece_state(c, 21), CACHE_REMOTE);
    assert_int_equal(piece_state(c, 22), CACHE_LOCAL);
    assert_int_equal(piece_state(c, 23), CACHE_REMOTE);
    assert_int_equal(do_read(c, rd, 22 * PIECE, PIECE), PIECE);
    assert_int_equal(w.buf[5], 77);
    cache_free(c);
}

/* A part reads over what is held already, where as much was lacking before, and begins behind it.
 */
TEST(part__over_what_is_held)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    assert_reads(c, rd, 19); /* 20 to 27 */
    uint64_t bytes = stats(c).extent_bytes;
    assert_reads(c, rd, 16); /* 17 to 24: 17 to 19 lack, and no more than what follows is passed */
    assert_int_equal(piece_state(c, 17), CACHE_REMOTE);
    assert_true(piece_state(c, 19) != CACHE_DISK);
    assert_int_equal(piece_state(c, 28), CACHE_DISK);
    assert_int_equal(stats(c).extent_bytes - bytes, 3 * PIECE);
    cache_free(c);
}

/* A region that is closed before its part begins: what that was to cost is not spent. */
TEST(part__whose_region_is_closed)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    uint64_t spent = stats(c).extent_spent_ns;
    assert_int_equal(do_read(c, rd, 19 * PIECE, PIECE), PIECE);
    assert_true(stats(c).extent_spent_ns > spent);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(stats(c).extent_spent_ns, spent);
    background(c);
    assert_int_equal(w.did[CACHE_FILL], 1); /* which did not come */
    cache_free(c);
}

/* A read of another region that takes longer meanwhile does so for other reasons. */
TEST(part__whose_region_is_closed_beside_a_read)
{
    static uint8_t buf[PIECE];
    int rd;
    CacheCall call;
    Cache *c = make_paid(2, &rd);
    int other = cache_open(c, BYTES, BYTES, &w, DODO_RDONLY);
    assert_true(other > 0);
    uint64_t spent = stats(c).extent_spent_ns;
    assert_int_equal(do_read(c, rd, 19 * PIECE, PIECE), PIECE);
    w.now_ns += 2 * MS;
    cache_read_start(&call, c, other, 40 * PIECE, buf, PIECE, w.now_ns);
    while (call.job.kind != CACHE_READ_FILE) { /* a piece of the other region makes room */
        assert_int_equal(call.need, CACHE_JOB);
        CacheResult result = carry_out(&call.job);
        cache_call_done(&call, c, &result, w.now_ns);
    }
    assert_int_equal(do_close(c, rd), 0);
    w.file_ns = 20 * MS;
    assert_int_equal(finish(c, &call), PIECE);
    assert_int_equal(stats(c).extent_spent_ns, spent);
    cache_free(c);
}

/* Likewise where its remote memory is lost meanwhile. */
TEST(part__whose_memory_is_gone)
{
    int rd;
    Cache *c = make_paid(2, &rd);
    unsigned fills = w.did[CACHE_FILL];
    assert_int_equal(do_read(c, rd, 19 * PIECE, PIECE), PIECE);
    w.lost = true;
    assert_int_equal(do_write(c, rd, 40 * PIECE, PIECE, 7), PIECE);
    (void)do_sync(c, rd);
    background(c);
    assert_int_equal(w.did[CACHE_FILL], fills);
    assert_int_equal(piece_state(c, 20), CACHE_DISK);
    cache_free(c);
}
