/* SPDX-License-Identifier: MIT */
/* The region cache's core, call by call: the four states, Figure 5, refraction and reading ahead.
 * test_manage_errors.c has the errors of the file. */
#include "tests/lib/case.h"
#include "tests/unit/cache_fixture.h"

/* ---- the four states, and Figure 5 ------------------------------------------------------------
 */

TEST(states__disk_local_both_remote)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(piece_state(c, 0), CACHE_DISK);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(piece_state(c, 0), CACHE_LOCAL);
    assert_int_equal(do_sync(c, rd), 0); /* on the disk, and in remote memory */
    assert_int_equal(piece_state(c, 0), CACHE_BOTH);
    assert_int_equal(do_write(c, rd, 0, PIECE, 7), PIECE);
    assert_int_equal(piece_state(c, 0), CACHE_LOCAL); /* what is there is old */
    (void)do_read(c, rd, PIECE, 1);
    (void)do_read(c, rd, 2 * PIECE, 1); /* 0 leaves: to the disk and to remote memory at once */
    assert_int_equal(piece_state(c, 0), CACHE_REMOTE);
    assert_int_equal(w.file[0], 7);
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(w.buf[PIECE - 1], 7);
    assert_int_equal(piece_state(c, 0), CACHE_BOTH);
    assert_int_equal(stats(c).remote_hits, 1);
    assert_int_equal(stats(c).remote_bytes, PIECE);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.releases, 1);
    assert_string_equal(w.story, "rSocrWrcRSx");
    cache_free(c);
}

/* In the background, what was used together is copied together; not what was used again since. */
TEST(reclaim__clones_together)
{
    int rd;
    CacheConfig cfg = config(48);
    cfg.low_water_bytes = 16 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < 48; i += 4)
        (void)do_read(c, rd, (uint64_t)i * PIECE, 4 * PIECE);
    background(c); /* opens remote memory, and makes room */
    w.did[CACHE_CLONE] = 0;
    for (unsigned i = 48; i < 64; i += 4)
        (void)do_read(c, rd, (uint64_t)i * PIECE, 4 * PIECE);
    for (unsigned i = 0; i < 40; i++) /* time goes by */
        (void)do_read(c, rd, 63 * PIECE, PIECE);
    (void)do_read(c, rd, 20 * PIECE, PIECE);
    background(c);
    assert_int_equal(piece_state(c, 16), CACHE_REMOTE);
    assert_int_equal(piece_state(c, 19), CACHE_REMOTE);
    assert_int_equal(piece_state(c, 20), CACHE_LOCAL);
    assert_int_equal(stats(c).cached_bytes, 32 * PIECE);
    assert_int_equal(stats(c).clone_bytes, stats(c).clones * PIECE);
    assert_in_range(w.did[CACHE_CLONE], 1, 4);
    cache_free(c);
}

/* In the background: a dirty victim to the disk, room allocated, a clone, and only then it leaves.
 */
TEST(reclaim__as_figure_5)
{
    int rd;
    CacheConfig cfg = config(4);
    cfg.low_water_bytes = PIECE;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 5);
    for (unsigned i = 1; i < 4; i++)
        (void)do_read(c, rd, i * PIECE, PIECE);
    w.story[0] = 0;
    memset(w.story, 0, sizeof w.story);
    background(c);
    assert_string_equal(w.story, "w");
    assert_int_equal(piece_state(c, 0), CACHE_DISK); /* dirty: its write was enough of a wait */
    (void)do_read(c, rd, 4 * PIECE, PIECE);
    memset(w.story, 0, sizeof w.story);
    background(c);
    assert_string_equal(w.story, "oc");
    assert_int_equal(piece_state(c, 1), CACHE_REMOTE);
    assert_true(stats(c).cached_bytes <= 3 * PIECE);
    cache_free(c);
}

/* A clone that was taken in part: what is left of it is not believed to be there. */
TEST(clone__taken_in_part)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 0, 2 * PIECE);
    w.clone_taken = PIECE;
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(cache_state(c, rd, 0), CACHE_BOTH);
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_LOCAL);
    cache_free(c);
}

/* A csync of pieces 0 and 1 that has come to its clone. */
static void clone_begin(Cache *c, CacheCall *sync, int rd)
{
    (void)do_read(c, rd, 0, 2 * PIECE);
    cache_sync_start(sync, c, rd, w.now_ns);
    while (sync->need == CACHE_JOB && sync->job.kind != CACHE_CLONE) {
        CacheResult result = carry_out(&sync->job);
        cache_call_done(sync, c, &result, w.now_ns);
    }
    assert_int_equal(sync->job.kind, CACHE_CLONE);
}

/* What goes to the host was copied before. The file stays as it is meanwhile. */
TEST(clone__is_not_waited_for_by_a_write)
{
    static uint8_t buf[PIECE];
    int rd;
    CacheCall sync, other, write;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, 0, &rd);
    clone_begin(c, &sync, rd);
    memset(buf, 7, sizeof buf);
    cache_write_start(&write, c, rd, 0, buf, PIECE, w.now_ns);
    assert_int_equal(write.need, CACHE_BLOCKED); /* nothing was copied yet */
    CacheResult result = carry_out(&sync.job);
    cache_clone_copied(c, &sync.job);
    cache_call_step(&write, c, w.now_ns);
    assert_int_equal(write.need, CACHE_OVER);
    cache_sync_start(&other, c, rd, w.now_ns);
    assert_int_equal(other.need, CACHE_BLOCKED); /* what it writes, the clone could overtake */
    assert_true(cache_check(c));
    cache_call_done(&sync, c, &result, w.now_ns);
    assert_int_equal(piece_state(c, 0), CACHE_LOCAL); /* what is there is old */
    assert_int_equal(piece_state(c, 1), CACHE_BOTH);
    assert_int_equal(finish(c, &sync), 0);
    assert_int_equal(w.file[0], 1);
    cache_call_step(&other, c, w.now_ns);
    assert_int_equal(finish(c, &other), 0);
    assert_int_equal(w.file[0], 7);
    assert_int_equal(w.remote[0], 7);
    assert_int_equal(piece_state(c, 0), CACHE_BOTH);
    cache_free(c);
}

/* Nor by one that needs something of the file first. */
TEST(clone__is_not_waited_for_by_a_fetch)
{
    int rd;
    CacheCall sync;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 2 * PIECE, CACHE_BLOCK, 7); /* the rest of that piece is missing */
    clone_begin(c, &sync, rd);
    CacheResult result = carry_out(&sync.job);
    cache_clone_copied(c, &sync.job);
    assert_int_equal(do_write(c, rd, PIECE - 10, PIECE + CACHE_BLOCK + 20, 9),
                     PIECE + CACHE_BLOCK + 20);
    cache_call_done(&sync, c, &result, w.now_ns);
    assert_int_equal(finish(c, &sync), 0);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(w.file[PIECE - 11], 1);
    assert_int_equal(w.file[PIECE - 10], 9);
    assert_int_equal(w.file[2 * PIECE + CACHE_BLOCK + 9], 9);
    assert_int_equal(w.file[2 * PIECE + CACHE_BLOCK + 10], 1);
    cache_free(c);
}

/* A write past the cache goes to the file at once, and so waits. */
TEST(clone__is_waited_for_by_a_write_through)
{
    static uint8_t buf[PIECE];
    int rd;
    CacheCall sync, write;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    clone_begin(c, &sync, rd);
    CacheResult result = carry_out(&sync.job);
    cache_clone_copied(c, &sync.job);
    cache_write_start(&write, c, rd, 0, buf, PIECE, w.now_ns);
    assert_int_equal(write.need, CACHE_BLOCKED);
    cache_call_done(&sync, c, &result, w.now_ns);
    assert_int_equal(finish(c, &sync), 0);
    cache_call_step(&write, c, w.now_ns);
    assert_int_equal(finish(c, &write), PIECE);
    cache_free(c);
}

TEST(refraction__no_allocation)
{
    int rd;
    CacheConfig cfg = config(1);
    Cache *c = make(&cfg, 0, &rd);
    w.no_memory = true;
    for (unsigned i = 0; i < 20; i++) {
        (void)do_read(c, rd, i % 4 * PIECE, PIECE);
        background(c);
    }
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 1);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 1);
    w.now_ns += cfg.refraction_ns;
    (void)do_read(c, rd, 5 * PIECE, PIECE);
    background(c);
    assert_int_equal(w.did[CACHE_OPEN_REMOTE], 2);
    assert_int_equal(stats(c).refractions, 2);
    assert_int_equal(stats(c).disk_reads, 21);
    cache_free(c);
}

/* The file serves, and gets what is written. */
static unsigned uses;

static void count_use(void *self, struct manage_entry *e)
{
    (void)self;
    (void)e;
    uses++;
}

static struct manage_entry *keep_all(void *self, const struct manage_directory *dir)
{
    (void)self;
    (void)dir;
    return NULL;
}

TEST(write__that_waits_for_the_file_is_one_use)
{
    static const struct manage_policy own = {.size = sizeof own,
                                             .name = "counts",
                                             .read = count_use,
                                             .write = count_use,
                                             .reclaim = keep_all};
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(cache_set_policy(c, cache_register_policy(c, &own)), 0);
    uses = 0;
    assert_int_equal(do_write(c, rd, 10, 10, 3), 10);
    assert_int_equal(w.did[CACHE_READ_FILE], 1); /* the rest of the block */
    assert_int_equal(uses, 1);
    cache_free(c);
}

/* A write past the cache makes the file longer; one in the cache to the same block keeps that. */
TEST(direct__what_it_appended_stays)
{
    int full;
    const uint64_t end = 2 * PIECE;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &full);
    assert_int_equal(cache_set_policy(c, MANAGE_FIRST_IN), 0);
    int rd = cache_open(c, BYTES, end, &w, 0);
    read_in_turn(c, full, 2, 2); /* no room is left, and none is made */
    assert_int_equal(do_write(c, rd, end, 100, 5), 100);
    assert_int_equal(w.file[end + 99], 5);
    assert_int_equal(do_close(c, full), 0);
    assert_int_equal(do_write(c, rd, end + 200, 10, 6), 10);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[end], 5);
    assert_int_equal(w.file[end + 99], 5);
    assert_int_equal(w.file[end + 200], 6);
    cache_free(c);
}

/* What is written through was used: another piece makes room. */
TEST(write_through__is_a_use)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    read_in_turn(c, rd, 2, 2);
    assert_int_equal(do_write(c, rd, 0, PIECE, 7), PIECE);
    (void)do_read(c, rd, 2 * PIECE, PIECE);
    uint64_t hits = stats(c).local_hits;
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(stats(c).local_hits, hits + 1);
    assert_int_equal(w.buf[0], 7);
    cache_free(c);
}

TEST(remote_lost__the_file_serves)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 0, 2 * PIECE);
    assert_int_equal(do_sync(c, rd), 0);
    (void)do_read(c, rd, 2 * PIECE, 2 * PIECE);
    assert_int_equal(piece_state(c, 0), CACHE_REMOTE);
    w.lost = true;
    assert_int_equal(do_read(c, rd, 0, PIECE), PIECE);
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(piece_state(c, 1), CACHE_DISK);
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    assert_int_equal(do_write(c, rd, 0, 10, 9), 10);
    assert_int_equal(do_sync(c, rd), 0);
    assert_int_equal(w.file[9], 9);
    assert_int_equal(w.file[10], 1);
    cache_free(c);
}

/* What a host has of an earlier run counts for nothing where the file was written while it was
 * asked: also by a write that had begun before. */
TEST(remote_held__not_beside_a_write)
{
    int rd;
    CacheCall sync;
    CacheJob open;
    CacheConfig cfg = config(2);
    cfg.low_water_bytes = PIECE;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_write(c, rd, 0, PIECE, 7);
    (void)do_read(c, rd, PIECE, PIECE);
    cache_sync_start(&sync, c, rd, w.now_ns);
    assert_int_equal(sync.job.kind, CACHE_WRITE);
    assert_true(cache_background_take(c, &open, w.now_ns));
    assert_int_equal(open.kind, CACHE_OPEN_REMOTE);
    CacheResult written = carry_out(&sync.job), opened = carry_out(&open);
    opened.held = true;
    cache_call_done(&sync, c, &written, w.now_ns);
    cache_background_done(c, &open, &opened, w.now_ns);
    assert_int_equal(finish(c, &sync), 0);
    assert_int_equal(piece_state(c, 5), CACHE_DISK); /* never read here: it would be the host's */
    background(c);
    assert_int_equal(w.did[CACHE_CLOSE_REMOTE], 1);
    cache_free(c);
}

/* Of a block that is written in part remote memory has a part. */
TEST(write_through__part_of_a_block_is_not_held)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(do_sync(c, rd), 0); /* opens remote memory */
    assert_int_equal(do_write(c, rd, PIECE + 10, PIECE, 7), PIECE);
    assert_int_equal(do_read(c, rd, PIECE + CACHE_BLOCK, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(w.buf[0], 7);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 1);
    assert_int_equal(do_read(c, rd, PIECE, CACHE_BLOCK), CACHE_BLOCK);
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(w.buf[10], 7);
    assert_int_equal(w.did[CACHE_READ_REMOTE], 1);
    cache_free(c);
}

/* What is read for a call beyond what it asked for is none of its bytes. */
TEST(stats__count_what_was_asked_for)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(do_read(c, rd, 10, 100), 100);
    assert_int_equal(w.did[CACHE_READ_FILE], 1);
    assert_int_equal(stats(c).disk_bytes, 100);
    assert_int_equal(do_read(c, rd, PIECE - 30, 60), 60); /* the first 30 are there, in part */
    assert_int_equal(stats(c).disk_bytes + stats(c).local_bytes, 160);
    cache_free(c);
}

/* ---- sizes ------------------------------------------------------------------------------------
 */

TEST(no_cache_at_all__works)
{
    int rd;
    Cache *c = make_local(0, 0, &rd);
    assert_int_equal(do_write(c, rd, 5, 3 * PIECE, 4), 3 * PIECE);
    assert_int_equal(w.file[4], 1);
    assert_int_equal(w.file[5], 4);
    assert_int_equal(do_read(c, rd, 5, BYTES - 5), BYTES - 5);
    assert_int_equal(stats(c).bypasses, 1);
    assert_int_equal(stats(c).cached_bytes, 0);
    assert_int_equal(do_close(c, rd), 0);
    cache_free(c);
}

TEST(write_through__is_in_the_file)
{
    int rd;
    CacheConfig cfg = config(4);
    Cache *c = make(&cfg, MANAGE_WRITE_THROUGH, &rd);
    (void)do_read(c, rd, 0, PIECE);
    assert_int_equal(do_write(c, rd, 10, PIECE, 6), PIECE);
    assert_int_equal(w.file[10], 6);
    w.write_error = ENOSPC;
    assert_int_equal(do_write(c, rd, 10, PIECE, 8), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(do_read(c, rd, 9, 2), 2);
    assert_int_equal(w.buf[0], 1);
    assert_int_equal(w.buf[1], 6);
    assert_int_equal(stats(c).local_hits, 0); /* the file was asked what it took */
    assert_int_equal(stats(c).dirty_bytes, 0);
    cache_free(c);
}

/* ---- reading ahead ----------------------------------------------------------------------------
 */

static uint64_t misses(Cache *c, int rd, uint64_t start, int64_t stride, uint64_t len,
                       unsigned reads)
{
    uint64_t before = stats(c).disk_reads;
    for (unsigned i = 0; i < reads; i++) {
        assert_int_equal(do_read(c, rd, start + (uint64_t)(stride * (int64_t)i), len), len);
        background(c);
    }
    return stats(c).disk_reads - before;
}

/* A cache that has let go of its memory keeps what it reads when the program chooses a policy. */
TEST(policy__ends_letting_go)
{
    int rd;
    CacheConfig cfg = config(16);
    cfg.remote = false;
    cfg.lets_go = true;
    Cache *c = make(&cfg, 0, &rd);
    cache_copy_cost(c, PIECE, 10000);
    for (unsigned i = 0; i < 20000 && !cache_turns(c); i++) { /* more than fits */
        (void)do_read(c, rd, i * 7 % PIECES * PIECE, PIECE);
    }
    w.file_ns /= 2; /* and the kernel's cache makes more of the memory */
    read_in_turn(c, rd, PIECES, PIECES);
    assert_int_equal(cache_turns(c), 1);
    assert_int_equal(stats(c).cached_bytes, 0);
    assert_int_equal(cache_set_policy(c, MANAGE_FIRST_IN), 0);
    assert_int_equal(cache_turns(c), 2);
    w.file_ns = 1000000;
    w.did[CACHE_READ_FILE] = 0;
    read_in_turn(c, rd, 8, 8);
    unsigned once = w.did[CACHE_READ_FILE];
    read_in_turn(c, rd, 80, 8);
    assert_int_equal(w.did[CACHE_READ_FILE], once);
    cache_free(c);
}

/* What is measured without the lock waits in the lane until the lock is taken: a read for which the
 * lane has no room left becomes a call, and takes it. */
TEST(policy__hears_of_each_measured_read)
{
    int rd;
    CacheHit hit;
    CacheConfig cfg = config(16);
    cfg.remote = false;
    cfg.lets_go = true;
    Cache *c = make(&cfg, 0, &rd);
    struct Lane *lane = cache_lane(c);
    cache_copy_cost(c, PIECE, 10000);
    for (unsigned i = 0; i < 20000 && !cache_turns(c); i++)
        (void)do_read(c, rd, i * 7 % PIECES * PIECE, PIECE);
    assert_int_equal(cache_turns(c), 1); /* now each read of the file is measured */
    for (unsigned k = 0; k < 3; k++) {
        unsigned reads = 0;
        (void)do_read(c, rd, 0, PIECE); /* takes the lock */
        while (reads < 10000 &&
               cache_hit_begin(&hit, c, lane, rd, PIECE, PIECE) == CACHE_HIT_FILE) {
            assert_true(hit.measure);
            cache_hit_file_end(&hit, c, w.file_ns, w.now_ns += w.file_ns);
            reads++;
        }
        assert_in_range(reads, 1, 9999);
    }
    cache_free(c);
}

/* That remote memory was wanted goes with the region. */
TEST(close__before_remote_memory_was_opened)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, DODO_RETAIN, &rd);
    assert_int_equal(do_close(c, rd), 0);
    assert_true(cache_check(c));
    cache_free(c);
}

TEST(background__has_no_time_unless_it_is_stuck)
{
    int rd;
    CacheConfig cfg = config(2);
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(cache_background_deadline(c), TIME_NEVER);
    cache_free(c);
}

TEST(open__as_many_as_there_may_be)
{
    int rd;
    CacheConfig cfg = config(2);
    cfg.regions_max = 2;
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(cache_open(c, BYTES, BYTES, &w, 0), 1);
    assert_int_equal(cache_open(c, BYTES, BYTES, &w, 0), -EMFILE);
    assert_int_equal(do_close(c, rd), 0);
    assert_int_equal(cache_open(c, BYTES, BYTES, &w, 0), rd);
    assert_int_equal(cache_open(c, BYTES, BYTES, &w, 0), -EMFILE);
    cache_free(c);
}

TEST(readahead__streams)
{
    int rd;
    CacheConfig cfg = config(PIECES);
    cfg.readahead_bytes = 16 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    assert_true(misses(c, rd, 0, 4 * PIECE, 100, PIECES / 4) <= 4); /* strided */
    c = cache_free(c);
    memset(w.did, 0, sizeof w.did);
    c = make(&cfg, 0, &rd);
    assert_true(misses(c, rd, (PIECES - 1) * PIECE, -PIECE, PIECE, 30) <= 4); /* backwards */
    assert_true(stats(c).readahead_used >= 25);
    c = cache_free(c);
    cfg.readahead_bytes = 0;
    c = make(&cfg, 0, &rd);
    assert_int_equal(misses(c, rd, 0, PIECE, PIECE, 30), 30);
    cache_free(c);
}

/* A guess completes no piece of which a part is here. */
TEST(readahead__leaves_pieces_as_they_are)
{
    int rd;
    CacheConfig cfg = config(PIECES);
    cfg.readahead_bytes = 16 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    (void)do_read(c, rd, 40 * PIECE + CACHE_BLOCK, CACHE_BLOCK);
    (void)misses(c, rd, 0, 4 * PIECE, CACHE_BLOCK, 9);
    assert_true(cache_has(c, rd, 36 * PIECE, CACHE_BLOCK));
    assert_false(cache_has(c, rd, 40 * PIECE, CACHE_BLOCK));
    assert_true(cache_has(c, rd, 44 * PIECE, CACHE_BLOCK));
    cache_free(c);
}

/* It ends where the file fails, which the read there reports, and the next one goes on. */
TEST(readahead__of_a_file_that_fails)
{
    int rd;
    CacheConfig cfg = config(PIECES);
    cfg.readahead_bytes = 16 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(do_read(c, rd, i * 4 * PIECE, 100), 100);
    w.did[CACHE_READ_FILE] = 0;
    w.read_error = EIO;
    background(c);
    w.read_error = 0;
    assert_int_equal(w.did[CACHE_READ_FILE], 1);
    assert_true(misses(c, rd, PIECE, 4 * PIECE, 100, PIECES / 4 - 1) <= 4);
    cache_free(c);
}

/* A stream lasts as long as it is used, whatever begins beside it. */
TEST(readahead__keeps_a_stream_in_use)
{
    int rd;
    CacheHit hit;
    uint64_t late = 0;
    CacheConfig cfg = config(2 * PIECES);
    cfg.readahead_bytes = 2 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    struct Lane *lane = cache_lane(c);
    int other = cache_open(c, BYTES, BYTES, &w, 0);
    (void)do_read(c, other, 0, 1);
    for (unsigned i = 1; i < PIECES; i++) {
        for (unsigned k = 0; k < 40; k++) {
            assert_int_equal(cache_hit_begin(&hit, c, lane, other, 0, 1), CACHE_HIT_LOCAL);
            cache_hit_end(&hit, c);
        }
        (void)do_read(c, other, i * i * 7 % PIECES * PIECE, 1); /* begins another */
        uint64_t misses = stats(c).disk_reads;
        (void)do_read(c, rd, (PIECES - i) * PIECE, PIECE); /* backwards */
        late += i > 20 ? stats(c).disk_reads - misses : 0;
        background(c);
    }
    assert_int_equal(late, 0);
    cache_free(c);
}

/* What was used twice stays, however long the stream is. */
TEST(readahead__evicts_nothing_hotter)
{
    int rd;
    CacheConfig cfg = config(8);
    cfg.readahead_bytes = 4 * PIECE;
    cfg.remote = false;
    Cache *c = make(&cfg, 0, &rd);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 8; i++)
            (void)do_read(c, rd, (PIECES - 8 + i * 3 % 8) * PIECE, 1);
    uint64_t ahead = stats(c).readaheads;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t evicted = stats(c).evictions;
        (void)do_read(c, rd, i * PIECE, PIECE);
        assert_int_equal(stats(c).evictions, evicted + 1); /* the call's own */
        background(c);
        assert_int_equal(stats(c).evictions, evicted + 1);
    }
    assert_int_equal(stats(c).readaheads, ahead);
    cache_free(c);
}

/* A policy that takes what was used last takes what a write waits for as soon as it is fetched. It
 * is fetched ahead once, not again and again, for else the write would never have its turn. */
TEST(readahead__of_what_leaves_at_once)
{
    static const uint8_t byte = 7;
    int rd;
    CacheCall write;
    CacheJob job;
    unsigned jobs = 0;
    CacheConfig cfg = config(8);
    cfg.remote = false;
    cfg.low_water_bytes = 8 * PIECE;
    cfg.readahead_bytes = 4 * PIECE;
    Cache *c = make(&cfg, 0, &rd);
    assert_int_equal(cache_set_policy(c, MANAGE_MRU), 0);
    for (unsigned i = 0; i < 6; i++)
        (void)do_read(c, rd, (40 + i * 3) * PIECE % BYTES, 100);
    for (unsigned i = 0; i < 4; i++) /* a stream, of every second piece */
        (void)do_read(c, rd, i * 2 * PIECE, 100);
    assert_true(cache_background_take(c, &job, w.now_ns));
    assert_int_equal(job.kind, CACHE_READ_FILE);
    cache_write_start(&write, c, rd, (off_t)job.offset, &byte, 1, w.now_ns);
    do {
        if (write.need == CACHE_BLOCKED)
            cache_call_step(&write, c, w.now_ns);
        CacheResult result = carry_out(&job);
        cache_background_done(c, &job, &result, w.now_ns);
        assert_true(jobs++ < 20);
    } while (cache_background_take(c, &job, w.now_ns));
    cache_call_step(&write, c, w.now_ns);
    assert_int_equal(finish(c, &write), 1);
    cache_free(c);
}
