/* SPDX-License-Identifier: MIT */
/* The directory of a region: its parts are freed when they say nothing. */
#include <string.h>

#include "libmanage/core.h"
#include "tests/lib/case.h"

enum { PIECES = 8, LEAVES = 1000, MOST_A_PIECE = 4 };
static const uint64_t PIECE = 8192, FAR = 2 << 20; /* in another part of the directory */

static Cache *c;
static int rd;
static char file;

static void open_large(bool remote)
{
    CacheConfig cfg;
    cache_config_init(&cfg, PIECES * PIECE);
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.extent_bytes = cfg.bypass_factor = 0;
    cfg.remote = remote;
    c = cache_new(&cfg, &(CacheHooks){0});
    assert_non_null(c);
    rd = cache_open(c, LEAVES * FAR, LEAVES * FAR, &file, 0);
    assert_int_equal(rd, 0);
}

/* Whatever it is, it works, and has read nothing but zeros. */
static CacheResult done(const CacheJob *job)
{
    for (int i = 0; job->kind <= CACHE_READ_FILL && i < job->iov_count; i++)
        memset(job->iov[i].iov_base, 0, job->iov[i].iov_len);
    return (CacheResult){.count = (ssize_t)job->len,
                         .ns = job->kind == CACHE_READ_FILE ? 1000000 : 100000,
                         .remote = 1};
}

static void background(void)
{
    CacheJob job;
    while (cache_background_take(c, &job, 0)) {
        CacheResult result = done(&job);
        cache_background_done(c, &job, &result, 0);
    }
}

static void read_at(uint64_t offset)
{
    static uint8_t buf[8192];
    CacheCall call;
    cache_read_start(&call, c, rd, (off_t)offset, buf, PIECE, 0);
    while (call.need == CACHE_JOB) {
        CacheResult result = done(&call.job);
        cache_call_done(&call, c, &result, 0);
    }
    assert_int_equal(call.need, CACHE_OVER);
    assert_int_equal(call.result, PIECE);
    background();
}

TEST(leaves__are_freed_with_their_last_piece)
{
    open_large(false);
    long before = case_heap_blocks();
    for (uint64_t i = 0; i < LEAVES; i++)
        read_at(i * FAR);
    assert_in_range(case_heap_blocks() - before, PIECES, MOST_A_PIECE * PIECES);
    assert_true(cache_check(c));
    c = cache_free(c);
}

/* Each of these pieces has a leaf of its own. */
TEST(leaves__take_little_of_what_the_pieces_take)
{
    open_large(false);
    for (uint64_t i = 0; i < PIECES; i++)
        read_at(i * PIECE); /* whatever is made once, they have made */
    long before = case_heap_bytes();
    for (uint64_t i = 1; i <= PIECES; i++)
        read_at(i * FAR);
    assert_in_range(case_heap_bytes() - before, PIECES * PIECE / 16, PIECES * PIECE / 4);
    c = cache_free(c);
}

/* What remote memory holds there is to say; the pieces are gone. */
TEST(maps__stay_for_what_is_remote_and_take_little)
{
    open_large(true);
    unsigned remote = 0;
    for (uint64_t i = 0; i < PIECES; i++)
        read_at((LEAVES - 1 - i) * FAR);
    long before = case_heap_bytes();
    for (uint64_t i = 0; i < LEAVES / 10; i++)
        read_at(i * FAR);
    assert_in_range(case_heap_bytes() - before, LEAVES / 10 * 32, LEAVES / 10 * 100);
    for (uint64_t i = 0; i < LEAVES / 10; i++)
        remote += cache_state(c, rd, (off_t)(i * FAR)) != CACHE_DISK;
    assert_true(remote > LEAVES / 10 - 3);
    assert_true(cache_check(c));
    c = cache_free(c);
}
