/* SPDX-License-Identifier: MIT */
/* Two files behind the region cache: what one of them costs says nothing of the other, but what
 * its device has taught is where a new one begins. */
#include "tests/unit/cache_fixture.h"

enum { FILES = 80, NAMED = 4 };

static const uint64_t EXPENSIVE_NS = 1100000, CHEAP_NS = 1500, SLOWER_NS = 20000;

/* The files are these; each is one that any number of openings may be of. */
static char names[FILES];

static struct {
    unsigned device[NAMED];
    uint64_t ns[NAMED];
    bool keeps[NAMED]; /* the kernel keeps what was read of it */
} f;

static CacheFileId file_id(void *ctx, const void *file)
{
    unsigned n = (unsigned)((const char *)file - names);
    return (CacheFileId){.device = n < NAMED ? f.device[n] : 0, .inode = n};
}

static bool file_kept(void *ctx, const void *file, uint64_t offset, uint64_t len)
{
    return f.keeps[(const char *)file - names];
}

static Cache *make_files(const CacheConfig *cfg, const CacheHooks *hooks)
{
    Cache *c = cache_new(cfg, hooks);
    assert_non_null(c);
    cache_copy_cost(c, PIECE, 500);
    memset(&f, 0, sizeof f);
    return c;
}

static const CacheHooks by_file = {.file_id = file_id, .file_release = released};

static int open_file(Cache *c, unsigned n)
{
    int rd = cache_open(c, BYTES, BYTES, &names[n], 0);
    assert_true(rd >= 0);
    return rd;
}

/* A piece of file @n, which was opened as @rd. */
static void read_piece(Cache *c, int rd, unsigned n, unsigned piece)
{
    w.file_ns = f.ns[n];
    assert_int_equal(do_read(c, rd, (uint64_t)piece * PIECE, PIECE), PIECE);
}

static CacheConfig config_of(unsigned pieces)
{
    CacheConfig cfg = config(pieces);
    cfg.remote = false;
    cfg.bypass_factor = 16;
    return cfg;
}

/* One in twenty reads is of the expensive file, which the cache has room for. */
TEST(cheap_file__leaves_the_cache_to_an_expensive_one)
{
    CacheConfig cfg = config_of(8);
    Cache *c = make_files(&cfg, &by_file);
    f.ns[0] = EXPENSIVE_NS;
    f.ns[1] = CHEAP_NS;
    int expensive = open_file(c, 0), cheap = open_file(c, 1);
    for (unsigned i = 0; i < 2000; i++) {
        if (i % 20 == 0)
            read_piece(c, expensive, 0, i / 20 % 6);
        read_piece(c, cheap, 1, i % PIECES);
    }
    uint64_t hits = stats(c).local_hits, bypasses = stats(c).bypasses;
    for (unsigned i = 0; i < 6; i++)
        read_piece(c, expensive, 0, i);
    assert_int_equal(stats(c).local_hits, hits + 6);
    for (unsigned i = 0; i < 6; i++) /* not the first one, of which nothing was known */
        read_piece(c, cheap, 1, 10 + i);
    assert_int_equal(stats(c).bypasses, bypasses + 6);
    cache_free(c);
}

/* The same file by another opening. */
TEST(openings_of_a_file__know_the_same)
{
    CacheConfig cfg = config_of(8);
    Cache *c = make_files(&cfg, &by_file);
    f.ns[1] = CHEAP_NS;
    int first = open_file(c, 1);
    for (unsigned i = 0; i < 20; i++)
        read_piece(c, first, 1, i);
    assert_int_equal(do_close(c, first), 0);
    int second = open_file(c, 1);
    uint64_t bypasses = stats(c).bypasses;
    read_piece(c, second, 1, 30);
    assert_int_equal(stats(c).bypasses, bypasses + 1);
    cache_free(c);
}

static uint64_t first_bypasses(unsigned device)
{
    CacheConfig cfg = config_of(8);
    Cache *c = make_files(&cfg, &by_file);
    f.device[1] = 1;
    f.ns[1] = f.ns[2] = CHEAP_NS;
    f.device[2] = device;
    int first = open_file(c, 1);
    for (unsigned i = 0; i < 20; i++)
        read_piece(c, first, 1, i);
    int second = open_file(c, 2);
    uint64_t bypasses = stats(c).bypasses;
    read_piece(c, second, 2, 0);
    bypasses = stats(c).bypasses - bypasses;
    cache_free(c);
    return bypasses;
}

TEST(new_file__begins_with_what_its_device_has_taught)
{
    assert_int_equal(first_bypasses(1), 1);
    assert_int_equal(first_bypasses(2), 0);
}

static void close_all(Cache *c, const int *rds)
{
    for (unsigned n = 0; n < FILES; n++)
        assert_int_equal(do_close(c, rds[n]), 0);
}

static void read_cheap(Cache *c, int rd, unsigned count)
{
    w.file_ns = CHEAP_NS;
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(do_read(c, rd, (uint64_t)i * PIECE, PIECE), PIECE);
}

/* Is the file known to be cheap? */
static bool goes_past(Cache *c, int rd)
{
    static unsigned calls; /* each reads another piece, that is not cached */
    uint64_t bypasses = stats(c).bypasses;
    w.file_ns = CHEAP_NS;
    assert_int_equal(do_read(c, rd, (uint64_t)(30 + calls++ % 30) * PIECE, PIECE), PIECE);
    return stats(c).bypasses > bypasses;
}

/* More files than have costs of their own. The first has its own. Of the last two, one knows what
 * the other has learnt. */
TEST(many_files__share)
{
    CacheConfig cfg = config_of(8);
    Cache *c = make_files(&cfg, &by_file);
    int rds[FILES];
    f.device[0] = 1;
    for (unsigned n = 0; n < FILES; n++) {
        rds[n] = open_file(c, n);
        if (n == 0)
            read_cheap(c, rds[0], 20);
    }
    assert_true(goes_past(c, rds[0]));
    read_cheap(c, rds[FILES - 2], 20);
    assert_true(goes_past(c, rds[FILES - 1]));
    close_all(c, rds);
    assert_int_equal(w.releases, FILES);
    cache_free(c);
}

/* Files that are closed make room. */
TEST(many_files__one_after_the_other_share_nothing)
{
    CacheConfig cfg = config_of(8);
    Cache *c = make_files(&cfg, &by_file);
    for (unsigned n = 0; n < FILES; n++)
        assert_int_equal(do_close(c, open_file(c, n)), 0);
    int cheap = open_file(c, FILES - 1), other = open_file(c, FILES - 2);
    read_cheap(c, cheap, 20);
    assert_true(goes_past(c, cheap));
    assert_false(goes_past(c, other));
    cache_free(c);
}

/* A file that is read in turns, and is larger than the cache. */
static unsigned turns_where(bool keeps)
{
    CacheConfig cfg = config_of(8);
    cfg.lets_go = true;
    Cache *c = make_files(
        &cfg, &(CacheHooks){.file_id = file_id, .file_held = file_kept, .file_release = released});
    f.ns[0] = EXPENSIVE_NS;
    int rd = open_file(c, 0);
    for (unsigned i = 0; i < 1000; i++) {
        f.keeps[0] = false; /* too long ago */
        w.file_ns = f.ns[0];
        CacheCall call;
        cache_read_start(&call, c, rd, (off_t)(i % PIECES) * PIECE, w.buf, PIECE, w.now_ns);
        f.keeps[0] = keeps; /* what has been read just now */
        assert_int_equal(finish(c, &call), PIECE);
    }
    unsigned turns = cache_turns(c);
    cache_free(c);
    return turns;
}

/* To leave the memory to the kernel's cache is no use if that does not keep the file. */
TEST(a_file_that_the_kernel_does_not_keep__stays)
{
    assert_true(turns_where(true) > 0);
    assert_int_equal(turns_where(false), 0);
}

/* What the cache lets go of is the file that is not worth it. The other one stays. */
TEST(letting_go_of_a_file__keeps_the_others)
{
    CacheConfig cfg = config_of(8);
    cfg.lets_go = true;
    Cache *c = make_files(&cfg, &by_file);
    f.ns[0] = EXPENSIVE_NS;
    f.ns[1] = SLOWER_NS;
    int expensive = open_file(c, 0), other = open_file(c, 1);
    for (unsigned i = 0; i < 4000 && cache_turns(c) == 0; i++)
        read_piece(c, other, 1, i % PIECES);
    assert_int_equal(cache_turns(c), 1);
    for (unsigned i = 0; i < 8; i++)
        read_piece(c, other, 1, i);
    assert_int_equal(stats(c).cached_bytes, 0);
    for (unsigned i = 0; i < 12; i++)
        read_piece(c, expensive, 0, i % 6);
    assert_int_equal(stats(c).cached_bytes, 6 * PIECE);
    for (unsigned i = 0; i < 20; i++)
        read_piece(c, other, 1, 20 + i);
    assert_int_equal(stats(c).cached_bytes, 6 * PIECE);
    cache_free(c);
}
