/* SPDX-License-Identifier: MIT */
/* The policies, step by step beside a reference that knows nothing of the library: the same reads
 * hit, and the same pieces leave, on traces of single pieces and of reads that span several. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "libmanage/core.h"
#include "tests/lib/cache_trace.h"
#include "tests/lib/case.h"
#include "tests/lib/sanitizer.h"

enum {
    PIECE = CACHE_BLOCK,
    LOOK_EVERY = 8, /* at all pieces; hits and misses tell of most mistakes at once */
};

/* ---- the reference: what is cached, and when each was used last ------------------------------ */

typedef struct Reference {
    int policy;
    unsigned room, count;
    bool cached[TRACE_PIECES];
    uint64_t last_use[TRACE_PIECES], uses;
} Reference;

/* Which one leaves; -1: none may. */
static int reference_victim(const Reference *ref)
{
    int victim = -1;
    for (int i = 0; i < TRACE_PIECES && ref->policy != MANAGE_FIRST_IN; i++)
        if (ref->cached[i] &&
            (victim < 0 || (ref->policy == MANAGE_LRU ? ref->last_use[i] < ref->last_use[victim]
                                                      : ref->last_use[i] > ref->last_use[victim])))
            victim = i;
    return victim;
}

/* Was it a hit? */
static bool reference_read(Reference *ref, unsigned piece)
{
    bool hit = ref->cached[piece];
    if (!hit && ref->count == ref->room) {
        int victim = reference_victim(ref);
        if (victim < 0)
            return false;
        ref->cached[victim] = false;
        ref->count--;
    }
    ref->count += !hit;
    ref->cached[piece] = true;
    ref->last_use[piece] = ++ref->uses;
    return hit;
}

/* ---- the cache, with a file of zeros --------------------------------------------------------- */

static void released(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
}

static struct Lane *lane;
static unsigned without_lock; /* reads */

/* A cache of @room pieces, and one region of @pieces. */
static Cache *make_of(unsigned room, unsigned pieces, int policy, int *ret_rd)
{
    const uint64_t len = (uint64_t)pieces * PIECE;
    static int file;
    CacheConfig cfg;
    cache_config_init(&cfg, (uint64_t)room * PIECE);
    cfg.piece_bytes = PIECE;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.remote = false;
    Cache *c = cache_new(&cfg, &(CacheHooks){.file_release = released});
    assert_non_null(c);
    assert_int_equal(cache_set_policy(c, policy), 0);
    lane = cache_lane(c);
    assert_non_null(lane);
    *ret_rd = cache_open(c, len, len, &file, 0);
    assert_true(*ret_rd >= 0);
    return c;
}

static Cache *make(unsigned room, int policy, int *ret_rd)
{
    return make_of(room, TRACE_PIECES, policy, ret_rd);
}

static void cache_access(Cache *c, int rd, unsigned piece, unsigned count)
{
    static uint8_t buf[TRACE_PIECES * PIECE];
    CacheCall call;
    CacheHit hit;
    if (cache_hit_begin(&hit, c, lane, rd, (off_t)piece * PIECE, (size_t)count * PIECE) ==
        CACHE_HIT_LOCAL) {
        cache_hit_copy(&hit, c, buf);
        cache_hit_end(&hit, c);
        without_lock++;
        return;
    }
    cache_read_start(&call, c, rd, (off_t)piece * PIECE, buf, (size_t)count * PIECE, 1);
    while (call.need == CACHE_JOB)
        cache_call_done(&call, c, &(CacheResult){.count = (ssize_t)call.job.len, .ns = 1}, 1);
    assert_int_equal(call.need, CACHE_OVER);
    assert_int_equal(call.result, (ssize_t)count * PIECE);
}

static void same_pieces(Cache *c, int rd, const Reference *ref)
{
    for (unsigned i = 0; i < TRACE_PIECES; i++)
        if ((cache_state(c, rd, (uint64_t)i * PIECE) == CACHE_LOCAL) != ref->cached[i])
            fail_msg("piece %u: %s only", i, ref->cached[i] ? "in the reference" : "in the cache");
}

static uint64_t local_bytes(Cache *c)
{
    struct manage_stats st;
    cache_stats(c, &st);
    return st.local_bytes;
}

/* @spans: each read takes up to so many pieces; @every: looked at after so many reads. Looking is
 * when the cache takes in the hits that took no lock. */
static void compare(const uint16_t *at, unsigned len, int policy, unsigned room, unsigned spans,
                    unsigned every)
{
    int rd;
    Cache *c = make(room, policy, &rd);
    Reference ref = {.policy = policy, .room = room};
    uint64_t bytes = 0;
    SimRng rng;
    sim_rng_init(&rng, room, spans);
    for (unsigned i = 0; i < len; i++) {
        unsigned count = 1 + (unsigned)sim_rng_below(&rng, spans);
        if (count > TRACE_PIECES - (unsigned)at[i])
            count = TRACE_PIECES - (unsigned)at[i];
        for (unsigned k = 0; k < count; k++)
            bytes += reference_read(&ref, at[i] + k) ? PIECE : 0;
        cache_access(c, rd, at[i], count);
        if (i % every && i + 1 < len)
            continue;
        assert_int_equal(local_bytes(c), bytes);
        if (i % (every * LOOK_EVERY) == 0 || i + 1 == len)
            same_pieces(c, rd, &ref);
    }
    assert_true(cache_check(c));
    cache_free(c);
}

TEST(policies__as_the_reference)
{
    static uint16_t at[TRACE_LEN];
    static const int policies[] = {MANAGE_LRU, MANAGE_MRU, MANAGE_FIRST_IN};
    static const unsigned rooms[] = {1, 37, 512};
    enum { LONG = UNDER_SANITIZER ? 1000 : 2500 };
    for (unsigned t = 0; t < TRACES; t++) {
        trace_make(t, at);
        for (unsigned p = 0; p < ARRAY_SIZE(policies); p++)
            for (unsigned r = 0; r < ARRAY_SIZE(rooms); r++) {
                compare(at, LONG, policies[p], rooms[r], 1, 1);
                compare(at, LONG, policies[p], rooms[r], 1, 900); /* a lane is full before that */
                compare(at, 500, policies[p], rooms[r], 9, 5);
            }
    }
    assert_true(without_lock > 10000);
}

/* ---- the adaptive one ------------------------------------------------------------------------ */

/* Reads @count pieces from @first on, one by one: how many of them were here. */
static unsigned read_all(Cache *c, int rd, unsigned first, unsigned count)
{
    unsigned hits = 0;
    for (unsigned i = first; i < first + count; i++) {
        hits += cache_state(c, rd, (uint64_t)i * PIECE) == CACHE_LOCAL;
        cache_access(c, rd, i, 1);
    }
    return hits;
}

TEST(adaptive__keeps_a_part_of_a_loop)
{
    enum { ROOM = 64, LOOP = 256 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    unsigned hits = 0;
    for (unsigned round = 0; round < 40; round++)
        hits = read_all(c, rd, 0, LOOP);
    assert_in_range(hits, ROOM * 2 / 3, ROOM); /* least recently used: none */
    assert_true(cache_check(c));
    cache_free(c);
}

TEST(adaptive__a_scan_displaces_little)
{
    enum { ROOM = 64, HOT = 48 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    for (unsigned round = 0; round < 10; round++)
        (void)read_all(c, rd, 0, HOT);
    (void)read_all(c, rd, HOT, 500);
    assert_in_range(read_all(c, rd, 0, HOT), HOT * 9 / 10, HOT);
    cache_free(c);
}

TEST(adaptive__follows_a_program_that_moves_on)
{
    enum { ROOM = 64, HOT = 48 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    for (unsigned round = 0; round < 20; round++)
        (void)read_all(c, rd, 0, HOT);
    for (unsigned round = 0; round < 20; round++)
        (void)read_all(c, rd, 500, HOT);
    assert_in_range(read_all(c, rd, 500, HOT), HOT * 9 / 10, HOT);
    cache_free(c);
}

TEST(adaptive__keeps_a_part_of_a_loop_that_is_much_longer_than_the_cache)
{
    enum { ROOM = 32, LOOP = 1000 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    unsigned hits = 0;
    for (unsigned round = 0; round < 10; round++)
        hits = read_all(c, rd, 0, LOOP);
    assert_in_range(hits, ROOM / 2, ROOM);
    cache_free(c);
}

/* What is read again soon, and then never. */
static unsigned window_misses(Cache *c, int rd, unsigned window, unsigned pieces)
{
    unsigned misses = 0;
    for (unsigned first = 0; first + window <= pieces; first++)
        misses += window - read_all(c, rd, first, window);
    return misses;
}

TEST(adaptive__is_as_good_as_recency_where_that_is_best)
{
    enum { ROOM = 64, WINDOW = 48, PIECES = 1000 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    unsigned misses = window_misses(c, rd, WINDOW, PIECES);
    assert_in_range(misses, PIECES, PIECES * 105 / 100);
    assert_true(cache_check(c));
    cache_free(c);
}

TEST(adaptive__changes_its_mind_in_both_directions)
{
    enum { ROOM = 64, LOOP = 256, WINDOW = 48, PIECES = 1000 };
    int rd;
    Cache *c = make(ROOM, MANAGE_ADAPTIVE, &rd);
    for (unsigned turn = 0; turn < 3; turn++) {
        unsigned hits = 0, before = window_misses(c, rd, WINDOW, PIECES);
        assert_in_range(before, PIECES - ROOM, PIECES * 4 / 3);
        for (unsigned round = 0; round < 40; round++)
            hits = read_all(c, rd, 0, LOOP);
        assert_in_range(hits, ROOM / 2, ROOM);
    }
    cache_free(c);
}

/* The miniatures have fewer pieces than the cache. */
TEST(adaptive__follows_a_part_of_a_large_cache)
{
    enum { ROOM = 4096, LOOP = 3 * ROOM };
    int rd;
    Cache *c = make_of(ROOM, LOOP, MANAGE_ADAPTIVE, &rd);
    unsigned hits = 0;
    for (unsigned round = 0; round < 6; round++)
        hits = read_all(c, rd, 0, LOOP);
    assert_in_range(hits, ROOM * 2 / 3, ROOM);
    cache_free(c);
}

/* ---- those of first-in-first-out queues -------------------------------------------------------
 */

/* An array, the oldest first, of what is cached, or was. */
typedef struct Order {
    unsigned of[TRACE_PIECES], count;
    bool has[TRACE_PIECES];
} Order;

static unsigned order_take(Order *o, unsigned at)
{
    unsigned piece = o->of[at];
    memmove(&o->of[at], &o->of[at + 1], (--o->count - at) * sizeof o->of[0]);
    o->has[piece] = false;
    return piece;
}

static bool order_drop(Order *o, unsigned piece)
{
    if (!o->has[piece])
        return false;
    unsigned at = 0;
    while (o->of[at] != piece)
        at++;
    (void)order_take(o, at);
    return true;
}

static void order_add(Order *o, unsigned piece)
{
    o->of[o->count++] = piece;
    o->has[piece] = true;
}

typedef struct SieveReference {
    Order order;
    unsigned room, hand;
    bool used[TRACE_PIECES];
} SieveReference;

/* Was it a hit? */
static bool sieve_read(void *reference, unsigned piece)
{
    SieveReference *ref = reference;
    if (ref->order.has[piece]) {
        ref->used[piece] = true;
        return true;
    }
    while (ref->order.count == ref->room) {
        unsigned looked_at = ref->order.of[ref->hand];
        if (ref->used[looked_at])
            ref->hand++;
        else
            (void)order_take(&ref->order, ref->hand);
        ref->used[looked_at] = false;
        if (ref->hand == ref->order.count)
            ref->hand = 0;
    }
    order_add(&ref->order, piece);
    return false;
}

typedef struct S3FifoReference {
    Order small, main, ghost;
    unsigned room, uses[TRACE_PIECES];
    bool full;
} S3FifoReference;

static void s3_fifo_make_room(S3FifoReference *ref)
{
    const unsigned small_room = ref->room / 10;
    ref->full = true;
    while (ref->small.count + ref->main.count == ref->room)
        if (ref->small.count >= small_room && ref->small.count > 0) {
            unsigned piece = order_take(&ref->small, 0);
            if (ref->uses[piece] >= 2) {
                ref->uses[piece] = 0;
                order_add(&ref->main, piece);
            } else {
                order_add(&ref->ghost, piece);
                if (ref->ghost.count > ref->room - small_room)
                    (void)order_take(&ref->ghost, 0);
            }
        } else {
            unsigned piece = order_take(&ref->main, 0);
            if (ref->uses[piece] > 0) {
                ref->uses[piece]--;
                order_add(&ref->main, piece);
            }
        }
}

static bool s3_fifo_read(void *reference, unsigned piece)
{
    S3FifoReference *ref = reference;
    if (ref->small.has[piece] || ref->main.has[piece]) {
        ref->uses[piece] += ref->uses[piece] < 3;
        return true;
    }
    if (ref->small.count + ref->main.count == ref->room)
        s3_fifo_make_room(ref);
    bool ghost = order_drop(&ref->ghost, piece);
    ref->uses[piece] = 0;
    bool spare = !ref->full && ref->small.count + 1 > ref->room / 10;
    order_add(ghost || spare ? &ref->main : &ref->small, piece);
    return false;
}

/* Reads that were answered otherwise than by the reference; how many more it answered. */
typedef struct Differences {
    unsigned len, reads;
    int more;
} Differences;

static Differences compare_with(int policy, unsigned trace, unsigned room,
                                bool (*read)(void *reference, unsigned piece), void *reference)
{
    static uint16_t at[TRACE_LEN];
    int rd;
    Cache *c = make(room, policy, &rd);
    Differences d = {.len = trace_make(trace, at) / 2};
    for (unsigned i = 0; i < d.len; i++) {
        bool hit = cache_state(c, rd, (uint64_t)at[i] * PIECE) == CACHE_LOCAL;
        cache_access(c, rd, at[i], 1);
        bool theirs = read(reference, at[i]);
        d.reads += hit != theirs;
        d.more += theirs - hit;
    }
    assert_true(cache_check(c));
    cache_free(c);
    return d;
}

TEST(sieve__as_the_reference)
{
    static const unsigned rooms[] = {1, 40, 510};
    for (unsigned t = 0; t < TRACES; t++)
        for (unsigned r = 0; r < ARRAY_SIZE(rooms); r++) {
            SieveReference ref = {.room = rooms[r]};
            assert_int_equal(compare_with(MANAGE_SIEVE, t, rooms[r], sieve_read, &ref).reads, 0);
        }
}

/* Not quite: what left is remembered by its hash, and a little longer or shorter. */
TEST(s3_fifo__nearly_as_the_reference)
{
    static const unsigned rooms[] = {10, 40, 510};
    for (unsigned t = 0; t < TRACES; t++)
        for (unsigned r = 0; r < ARRAY_SIZE(rooms); r++) {
            S3FifoReference ref = {.room = rooms[r]};
            Differences d = compare_with(MANAGE_S3_FIFO, t, rooms[r], s3_fifo_read, &ref);
            if ((unsigned)abs(d.more) > d.len / 40)
                fail_msg("%s, %u pieces: %d of %u reads", traces[t].name, rooms[r], d.more, d.len);
        }
}

/* What is new goes on to the main queue if it was used again twice; once is not enough. */
TEST(s3_fifo__who_goes_on)
{
    int rd;
    Cache *c = make(20, MANAGE_S3_FIFO, &rd);
    (void)read_all(c, rd, 0, 20);
    for (unsigned i = 0; i < 2; i++)
        cache_access(c, rd, 100, 1);
    for (unsigned i = 0; i < 3; i++)
        cache_access(c, rd, 200, 1);
    (void)read_all(c, rd, 300, 10);
    assert_int_equal(cache_state(c, rd, 100 * PIECE), CACHE_DISK);
    assert_int_equal(cache_state(c, rd, 200 * PIECE), CACHE_LOCAL);
    /* It is remembered: when it comes back, it stays. */
    cache_access(c, rd, 100, 1);
    (void)read_all(c, rd, 400, 10);
    assert_int_equal(cache_state(c, rd, 100 * PIECE), CACHE_LOCAL);
    cache_free(c);
}

/* ---- changing it ----------------------------------------------------------------------------- */

TEST(set_policy__unknown_changes_nothing)
{
    int rd;
    Cache *c = make(2, MANAGE_LRU, &rd);
    cache_access(c, rd, 0, 1);
    cache_access(c, rd, 1, 1);
    assert_int_equal(cache_set_policy(c, 77), -EINVAL);
    assert_int_equal(cache_set_policy(c, -1), -EINVAL);
    cache_access(c, rd, 2, 1);
    assert_int_equal(cache_state(c, rd, 0), CACHE_DISK); /* the least recently used one */
    assert_int_equal(cache_state(c, rd, PIECE), CACHE_LOCAL);
    cache_free(c);
}

/* The new one knows what is cached, in the order in which it was used. */
TEST(set_policy__while_pieces_are_cached)
{
    int rd;
    Cache *c = make(3, MANAGE_FIRST_IN, &rd);
    for (unsigned i = 0; i < 5; i++)
        cache_access(c, rd, i, 1); /* 3 and 4 find no room */
    cache_access(c, rd, 0, 1);     /* last used: 1, 2, 0 */
    assert_int_equal(cache_set_policy(c, MANAGE_LRU), 0);
    cache_access(c, rd, 5, 1);
    assert_int_equal(cache_state(c, rd, 1 * PIECE), CACHE_DISK);
    assert_int_equal(cache_set_policy(c, MANAGE_MRU), 0);
    cache_access(c, rd, 6, 1);
    assert_int_equal(cache_state(c, rd, 5 * PIECE), CACHE_DISK);
    assert_int_equal(cache_set_policy(c, MANAGE_FIRST_IN), 0);
    cache_access(c, rd, 7, 1);
    assert_int_equal(cache_state(c, rd, 7 * PIECE), CACHE_DISK);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(cache_state(c, rd, (uint64_t)i * PIECE),
                         i == 0 || i == 2 || i == 6 ? CACHE_LOCAL : CACHE_DISK);
    assert_true(cache_check(c));
    cache_free(c);
}

/* ---- a policy of one's own: the largest offset leaves -----------------------------------------
 */

static void use_nothing(void *self, struct manage_entry *e)
{
    (void)self;
    (void)e;
}

static struct manage_entry *largest_offset(void *self, const struct manage_directory *dir)
{
    struct manage_entry *found = NULL;
    (void)self;
    for (struct manage_entry *e = dir->oldest; e; e = e->newer)
        if (!(e->flags & MANAGE_ENTRY_BUSY) && (!found || e->offset > found->offset))
            found = e;
    return found;
}

TEST(register_policy__ones_own)
{
    static const struct manage_policy own = {.size = sizeof own,
                                             .name = "largest offset",
                                             .read = use_nothing,
                                             .write = use_nothing,
                                             .reclaim = largest_offset};
    static const struct manage_policy half = {.size = sizeof half, .read = use_nothing};
    int rd;
    Cache *c = make(2, MANAGE_LRU, &rd);
    assert_int_equal(cache_register_policy(c, NULL), -EINVAL);
    assert_int_equal(cache_register_policy(c, &half), -EINVAL);
    int number = cache_register_policy(c, &own);
    assert_true(number > MANAGE_FIRST_IN);
    assert_int_equal(cache_set_policy(c, number + 1), -EINVAL);
    assert_int_equal(cache_set_policy(c, number), 0);
    cache_access(c, rd, 9, 1);
    cache_access(c, rd, 3, 1);
    cache_access(c, rd, 5, 1);
    assert_int_equal(cache_state(c, rd, 9 * PIECE), CACHE_DISK);
    assert_int_equal(cache_state(c, rd, 3 * PIECE), CACHE_LOCAL);
    for (int i = 1; i < CACHE_POLICIES_MAX; i++)
        assert_int_equal(cache_register_policy(c, &own), number + i);
    assert_int_equal(cache_register_policy(c, &own), -ENOSPC);
    cache_free(c);
}

static void write_down(void *self, struct manage_entry *e)
{
    (void)self;
    assert_int_equal(e->state[0] | e->state[1], 0);
    e->state[0] = 7;
    e->state[1] = 8;
}

/* What one has written into its entries means nothing to the next. */
TEST(set_policy__leaves_no_state_behind)
{
    static const struct manage_policy writes = {.size = sizeof writes,
                                                .name = "writes down",
                                                .read = write_down,
                                                .write = use_nothing,
                                                .reclaim = largest_offset};
    int rd;
    Cache *c = make(4, MANAGE_LRU, &rd);
    int number = cache_register_policy(c, &writes);
    cache_access(c, rd, 1, 1);
    cache_access(c, rd, 2, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cache_set_policy(c, number), 0);
    cache_free(c);
}

/* ---- what a policy hears of hits ---------------------------------------------------------------
 */

static unsigned heard[TRACE_PIECES];

static void hear(void *self, struct manage_entry *e)
{
    (void)self;
    heard[e->offset / PIECE]++;
}

static const struct manage_policy every_hit = {.size = sizeof every_hit,
                                               .name = "hears all",
                                               .read = hear,
                                               .write = hear,
                                               .reclaim = largest_offset};

/* A cache of @room pieces with that policy, and 0 to @room - 1 in it. */
static Cache *make_hearing(unsigned room, const struct manage_policy *policy, int *ret_rd)
{
    Cache *c = make(room, MANAGE_LRU, ret_rd);
    int number = cache_register_policy(c, policy);
    assert_int_equal(cache_set_policy(c, number), 0);
    (void)read_all(c, *ret_rd, 0, room);
    memset(heard, 0, sizeof heard);
    return c;
}

/* Reads the piece so many times, and lets the policy hear of it. */
static void hit(Cache *c, int rd, unsigned piece, unsigned times)
{
    struct manage_stats before, after;
    cache_stats(c, &before);
    for (unsigned i = 0; i < times; i++)
        cache_access(c, rd, piece, 1);
    cache_stats(c, &after);
    assert_int_equal(after.local_hits - before.local_hits, times);
    assert_int_equal(after.local_bytes - before.local_bytes, (uint64_t)times * PIECE);
}

TEST(a_policy__hears_of_every_hit)
{
    int rd;
    Cache *c = make_hearing(64, &every_hit, &rd);
    hit(c, rd, 5, 1000);
    assert_int_equal(heard[5], 1000);
    cache_free(c);
}

TEST(a_coarse_policy__hears_of_one_hit_until_a_part_is_replaced)
{
    struct manage_policy coarse = every_hit;
    coarse.flags = MANAGE_POLICY_COARSE;
    int rd;
    Cache *c = make_hearing(64, &coarse, &rd);
    hit(c, rd, 5, 1000);
    hit(c, rd, 6, 1);
    assert_int_equal(heard[5], 1);
    assert_int_equal(heard[6], 1);
    (void)read_all(c, rd, 100, 7); /* not yet an eighth */
    hit(c, rd, 5, 1000);
    assert_int_equal(heard[5], 1);
    (void)read_all(c, rd, 200, 1);
    hit(c, rd, 5, 1000);
    assert_int_equal(heard[5], 2);
    cache_free(c);
}

TEST(a_coarse_policy__hears_of_the_first_hit_on_what_comes_again)
{
    struct manage_policy coarse = every_hit;
    coarse.flags = MANAGE_POLICY_COARSE;
    int rd;
    Cache *c = make_hearing(64, &coarse, &rd);
    hit(c, rd, 63, 10);
    cache_access(c, rd, 64, 1); /* 63 leaves, then 64 */
    cache_access(c, rd, 63, 1);
    unsigned before = heard[63];
    hit(c, rd, 63, 10);
    assert_int_equal(heard[63], before + 1);
    cache_free(c);
}

/* Of a program that was built before there were flags. */
TEST(a_policy_without_flags__hears_of_every_hit)
{
    struct manage_policy old = every_hit;
    old.size = offsetof(struct manage_policy, flags);
    old.flags = MANAGE_POLICY_COARSE; /* is not its own */
    int rd;
    Cache *c = make_hearing(64, &old, &rd);
    hit(c, rd, 5, 1000);
    assert_int_equal(heard[5], 1000);
    cache_free(c);
}
