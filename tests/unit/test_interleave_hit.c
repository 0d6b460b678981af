/* SPDX-License-Identifier: MIT */
/* Reads that take no lock, beside all that they must not meet, in all interleavings of their atomic
 * operations with the others' (see tests/lib/interleave.h): an eviction, a write, a close, and a
 * close that is followed by an open of the same descriptor. */
#include "tests/lib/case.h"
#include "tests/unit/interleave_fixture.h"

#include <errno.h>

#include "libmanage/core_private.h"
#include "tests/lib/cache_job.h"

enum { PIECE = CACHE_BLOCK, PIECES = 2, BYTES = PIECES * PIECE, LEN = 64, LANES_USED = 3 };
enum { COUNT_HITS, COUNT_LONG, COUNT_WAITS, COUNT_REUSED }; /* for interleave_count() */

uint64_t manage_broken_guards;

static struct {
    Cache *cache;
    Lane *lanes[LANES_USED];
    uint8_t files[2][BYTES];
    int rd, lock;
    bool closed[2]; /* the file was released */
} w;

/* ---- the shell ------------------------------------------------------------------------------- */

typedef struct Caller {
    bool wake;
    CacheCall call;
} Caller;

static void hook_lock(void *ctx)
{
    (void)interleave_lock(ctx);
}

static void hook_unlock(void *ctx)
{
    (void)interleave_unlock(ctx);
}

static void hook_wake(void *ctx, CacheCall *call)
{
    Caller *c = CONTAINER_OF(call, Caller, call);
    (void)ctx;
    c->wake = true;
    (void)interleave_signal(&c->wake);
}

static void hook_release(void *ctx, void *file)
{
    bool *closed = &w.closed[(uint8_t(*)[BYTES])file - w.files];
    (void)ctx;
    if (*closed)
        interleave_fail("a file is released twice");
    *closed = true;
}

static void carry_out(const CacheJob *job, CacheResult *ret)
{
    uint8_t *file = job->file;
    *ret = (CacheResult){.count = (ssize_t)job->len, .ns = 1};
    interleave_point("asks the file");
    if (w.closed[(uint8_t(*)[BYTES])(void *)file - w.files])
        interleave_fail("a file is used after it was released");
    for (int i = 0; job->kind == CACHE_READ_FILE && i < job->iov_count; i++) {
        (void)interleave_memcpy(job->iov[i].iov_base, file + job->offset, job->iov[i].iov_len);
        file += job->iov[i].iov_len;
    }
    if (job->kind == CACHE_WRITE)
        cache_job_take(job, file + job->offset, job->len);
}

static void wait_woken(Caller *c)
{
    interleave_count(COUNT_WAITS);
    (void)interleave_lock(&w.lock);
    int result = 0;
    while (!c->wake && result == 0)
        result = interleave_wait(&c->wake, &w.lock, c->call.until_ns != TIME_NEVER);
    c->wake = false;
    (void)interleave_unlock(&w.lock);
}

static ssize_t finish(Caller *c)
{
    while (c->call.need != CACHE_OVER) {
        if (c->call.need == CACHE_JOB) {
            CacheResult result;
            carry_out(&c->call.job, &result);
            cache_call_done(&c->call, w.cache, &result, 1);
        } else {
            wait_woken(c);
            cache_call_step(&c->call, w.cache, 1);
        }
    }
    return c->call.result < 0 ? -c->call.error : c->call.result;
}

/* As dodo_cread() does; what a hit reads of the file comes short, which makes it a call. */
static ssize_t read_at(unsigned lane, uint64_t offset, uint8_t *buf)
{
    CacheHit h;
    Caller c = {0};
    enum CacheHitKind kind = cache_hit_begin(&h, w.cache, w.lanes[lane], w.rd, (off_t)offset, LEN);
    if (kind == CACHE_HIT_LOCAL) {
        interleave_count(COUNT_HITS);
        cache_hit_copy(&h, w.cache, buf);
        cache_hit_end(&h, w.cache);
        return LEN;
    }
    interleave_count(COUNT_LONG);
    if (kind == CACHE_HIT_FILE) {
        uint8_t first = ((uint8_t *)h.file)[offset];
        if (GUARD(HIT_HANDS_OVER)) {
            cache_hit_read_start(&c.call, &h, w.cache, buf, 1);
        } else {
            cache_hit_file_end(&h, w.cache, 0, 1);
            cache_read_start(&c.call, w.cache, w.rd, (off_t)offset, buf, LEN, 1);
        }
        ssize_t n = finish(&c);
        if (n != LEN || buf[0] != first)
            interleave_fail("a read that began with %c ended with %zd and %c", first, n, buf[0]);
        return n;
    }
    cache_read_start(&c.call, w.cache, w.rd, (off_t)offset, buf, LEN, 1);
    return finish(&c);
}

static ssize_t write_at(uint64_t offset, uint8_t value)
{
    Caller c = {0};
    uint8_t buf[LEN];
    memset(buf, value, sizeof buf);
    cache_write_start(&c.call, w.cache, w.rd, (off_t)offset, buf, LEN, 1);
    return finish(&c);
}

static ssize_t close_region(void)
{
    Caller c = {0};
    cache_close_start(&c.call, w.cache, w.rd, 1);
    return finish(&c);
}

static int open_region(unsigned file)
{
    w.closed[file] = false;
    return cache_open(w.cache, BYTES, BYTES, w.files[file], 0);
}

/* ---- what all scenarios begin and end with --------------------------------------------------- */

static void *pages_map(size_t bytes)
{
    return interleave_malloc(bytes);
}

static void pages_unmap(void *base, size_t bytes)
{
    (void)bytes;
    interleave_free(base);
}

static void pages_release(void *at, size_t bytes)
{
    (void)interleave_memset(at, 0xAA, bytes);
}

static const BufferPages pages = {.map = pages_map, .unmap = pages_unmap, .release = pages_release};

/* Of one piece's size; it holds the first of file a. */
static void begin_with(const BufferPages *from)
{
    CacheConfig cfg;
    uint8_t buf[LEN];
    memset(&w, 0, sizeof w);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k < PIECES; k++)
            memset(w.files[i] + (size_t)k * PIECE, (int)('a' + i * PIECES + k), PIECE);
    cache_config_init(&cfg, PIECE);
    cfg.piece_bytes = PIECE;
    cfg.low_water_bytes = cfg.readahead_bytes = cfg.bypass_factor = 0;
    cfg.known_reads = 0;
    cfg.regions_max = 2;
    cfg.lanes = LANES_USED;
    cfg.remote = false;
    cfg.pages = from;
    w.cache = cache_new(&cfg, &(CacheHooks){.lock = hook_lock,
                                            .unlock = hook_unlock,
                                            .wake = hook_wake,
                                            .file_release = hook_release,
                                            .ctx = &w.lock});
    for (unsigned i = 0; i < LANES_USED; i++)
        w.lanes[i] = cache_lane(w.cache);
    w.rd = open_region(0);
    if (w.rd != 0 || read_at(0, 0, buf) != LEN)
        interleave_fail("the cache cannot be made");
}

static void begin(void)
{
    begin_with(NULL);
}

/* Whether the part of the directory seems to have one more piece: it stays then when they leave. */
static void keep_leaf(bool keep)
{
    const Region *r = region_find(w.cache, w.rd);
    Leaf *leaf = r ? leaf_of(r, 0) : NULL;
    const uint64_t last = 1ull << 63;
    if (leaf)
        leaf->present[0] = (leaf->present[0] & ~last) | (keep ? last : 0);
}

static void begin_kept(const BufferPages *from)
{
    begin_with(from);
    keep_leaf(true);
}

static void begin_heap(void)
{
    begin_kept(NULL);
}

static void begin_pages(void)
{
    begin_kept(&pages);
}

static void end(void)
{
    keep_leaf(false);
    if (!cache_check(w.cache))
        interleave_fail("the cache's lists, counts and flags disagree");
    if (!w.closed[0] || !w.closed[1])
        (void)close_region();
    w.cache = cache_free(w.cache);
    if (interleave_heap_bytes() != 0)
        interleave_fail("%zu bytes are not freed", interleave_heap_bytes());
}

static void expect(const uint8_t *buf, ssize_t n, const char *may)
{
    for (unsigned i = 0; i < LEN; i++)
        if (n != LEN || !strchr(may, buf[i]))
            interleave_fail("a read ends with %zd, and gives %02x where %s may be", n, buf[i], may);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void read_first(void)
{
    uint8_t buf[LEN] = {0};
    ssize_t n = read_at(0, 0, buf);
    expect(buf, n, "a");
}

static void read_second(void)
{
    uint8_t buf[LEN] = {0};
    ssize_t n = read_at(1, PIECE, buf);
    expect(buf, n, "b");
}

static void read_twice(void)
{
    uint8_t buf[LEN] = {0};
    ssize_t n = read_at(0, 0, buf);
    expect(buf, n, "aw");
    bool new = buf[0] == 'w';
    n = read_at(0, 0, buf);
    expect(buf, n, new ? "w" : "aw");
}

static void write_first(void)
{
    uint8_t buf[LEN] = {0};
    if (write_at(0, 'w') != LEN)
        interleave_fail("a write fails");
    ssize_t n = read_at(1, 0, buf);
    expect(buf, n, "w");
}

/* Of a region that is being closed, or opened with another file. */
static void read_closing(void)
{
    uint8_t buf[LEN] = {0};
    ssize_t n = read_at(0, 0, buf);
    if (n != -EINVAL)
        expect(buf, n, "ac");
}

static void close_open(void)
{
    if (close_region() != 0 || !w.closed[0])
        interleave_fail("the close fails");
    if (open_region(1) == w.rd)
        interleave_count(COUNT_REUSED);
}

static void close_only(void)
{
    if (close_region() != 0 || !w.closed[0])
        interleave_fail("the close fails");
    w.closed[1] = true; /* end() has nothing to close */
}

/* Nothing of the first file is cached, and reads go past the cache. */
static void begin_past(void)
{
    begin();
    uint8_t buf[LEN];
    (void)read_at(0, PIECE, buf);
    ways_set_left(w.cache, CONTAINER_OF(w.cache->ways.all.next, Ways, link),
                  true); /* the only one */
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const InterleaveScenario evict_beside = {
    "evict", begin_heap, {read_first, read_second}, end};
static const InterleaveScenario evict_leaf = {"evict-leaf", begin, {read_first, read_second}, end};
static const InterleaveScenario evict_pages = {
    "evict-pages", begin_pages, {read_first, read_second}, end};
static const InterleaveScenario write_beside = {"write", begin, {read_twice, write_first}, end};
static const InterleaveScenario close_beside = {"close", begin, {read_closing, close_only}, end};
static const InterleaveScenario reopen_beside = {"reopen", begin, {read_closing, close_open}, end};
static const InterleaveScenario reopen_past = {
    "reopen-past", begin_past, {read_closing, close_open}, end};
static const InterleaveScenario all_at_once = {
    "all", begin, {read_closing, read_closing, close_open}, end};
static const InterleaveScenario *const scenarios[] = {&evict_beside, &evict_pages,  &evict_leaf,
                                                      &write_beside, &close_beside, &reopen_beside,
                                                      &reopen_past,  &all_at_once,  NULL};

TEST(hit__no_copy_of_what_is_evicted)
{
    (void)clean(&evict_beside, 2, COUNT_LONG + 1);
    (void)clean(&evict_pages, 2, COUNT_LONG + 1);
    noticed(&evict_beside, BREAK_STORES, "copies from");
    noticed(&evict_pages, BREAK_STORES, "copies from");
    noticed(&evict_beside, BREAK_EXCHANGE, "copies from");
}

/* The last piece of it leaves, and with that it is freed. */
TEST(hit__no_look_into_a_directory_that_is_freed)
{
    (void)clean(&evict_leaf, 2, COUNT_LONG + 1);
    noticed(&evict_leaf, BREAK_STORES, "was freed");
    noticed(&evict_leaf, BREAK_EXCHANGE, "was freed");
}

TEST(hit__no_copy_beside_a_write)
{
    (void)clean(&write_beside, 2, COUNT_WAITS + 1);
    noticed(&write_beside, BREAK_STORES, "copies from");
    noticed(&write_beside, BREAK_EXCHANGE, "copies from");
}

TEST(hit__no_region_that_was_closed)
{
    (void)clean(&close_beside, 3, COUNT_WAITS + 1);
    noticed(&close_beside, BREAK_STORES, "was freed");
    noticed(&close_beside, BREAK_EXCHANGE, "was freed");
}

TEST(hit__keeps_its_region_beside_an_open)
{
    (void)clean(&reopen_beside, 2, COUNT_REUSED + 1);
    InterleaveResult r = clean(&reopen_past, 2, 0);
    assert_true(r.counts[COUNT_WAITS] > 0 && r.counts[COUNT_REUSED] > 0);
    manage_broken_guards = 1ull << MANAGE_GUARD_HIT_HANDS_OVER;
    noticed(&reopen_past, 0, "a read that began with");
    manage_broken_guards = 0;
}

TEST(hit__of_several_threads)
{
    (void)clean(&all_at_once, 1, COUNT_REUSED + 1);
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay(scenarios, argc, argv) : cases_run(NULL, NULL);
}
