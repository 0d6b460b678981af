/* SPDX-License-Identifier: MIT */
/* The modelled disk: what an access costs, and how many it serves. */
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "tools/diskfs/model.h"
#include "tests/lib/case.h"

enum { KB = 1 << 10, MB = 1 << 20, RUN_S = 10, ACCESSES_MAX = 40000 };

static void model_of(DiskModel *d, const char *const settings[][2])
{
    disk_model_init(d);
    for (size_t i = 0; settings[i][0]; i++)
        assert_int_equal(disk_model_set(d, settings[i][0], settings[i][1]), 0);
}

TEST(serve__charges_position_and_bytes)
{
    /* 10 ms to position, 1 MiB a second */
    static const char *const model[][2] = {{"position", "10ms"}, {"bandwidth", "1M"}, {NULL, NULL}};
    static const struct {
        uint64_t file, offset, len, at_ms, over_ms;
    } accesses[] = {
        {1, 0, MB / 4, 0, 260},              /* the first access positions */
        {1, MB / 4, MB / 4, 260, 510},       /* goes on: bytes only */
        {1, MB / 2, MB / 4, 300, 760},       /* comes early: queues */
        {1, MB / 4, MB / 4, 1000, 1260},     /* jumps back */
        {2, MB / 2, MB / 4, 2000, 2260},     /* another file at the same place */
        {2, 3 * MB / 4, 0, 3000, 3000},      /* nothing costs nothing */
        {2, 3 * MB / 4, MB / 4, 4000, 4250}, /* and moves nothing */
    };
    DiskModel d;
    model_of(&d, model);
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
        assert_int_equal(disk_model_serve(&d, accesses[i].file, accesses[i].offset, accesses[i].len,
                                          accesses[i].at_ms * NS_PER_MS),
                         accesses[i].over_ms * NS_PER_MS);
}

TEST(serve__has_a_slower_rate_after_positioning)
{
    static const char *const model[][2] = {
        {"position", "10ms"}, {"bandwidth", "4M"}, {"random-bandwidth", "1M"}, {NULL, NULL}};
    DiskModel d;
    model_of(&d, model);
    assert_int_equal(disk_model_serve(&d, 1, 0, MB / 4, 0), 260 * NS_PER_MS);
    assert_int_equal(disk_model_serve(&d, 1, MB / 4, MB, 0), 510 * NS_PER_MS);
}

TEST(serve__goes_on_in_as_many_places_as_it_serves)
{
    static const char *const model[][2] = {
        {"position", "10ms"}, {"bandwidth", "1024M"}, {"parallel", "2"}, {NULL, NULL}};
    static const struct {
        uint64_t file;
        uint64_t offset_mb;
        uint64_t cost_ms;
    } accesses[] = {
        {1, 0, 10}, {2, 0, 10}, {1, 1, 0}, {2, 1, 0}, /* two streams */
        {3, 0, 10},                                   /* file 1 is forgotten */
        {2, 2, 0},  {1, 2, 10}, {2, 3, 0}, {3, 1, 10},
    };
    const uint64_t mb_ns = NS_PER_S / 1024;
    DiskModel d;
    model_of(&d, model);
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
        uint64_t now_ns = i * NS_PER_S; /* long after the one before */
        assert_int_equal(
            disk_model_serve(&d, accesses[i].file, accesses[i].offset_mb * MB, MB, now_ns) - now_ns,
            accesses[i].cost_ms * NS_PER_MS + mb_ns);
    }
}

/* The page cache holds a few pages of a file that is read in order: the reads leave them out, and
 * now and then come in another order. */
TEST(serve__passes_over_what_is_near)
{
    /* 10 ms to position, a KiB in 1 ms */
    static const char *const model[][2] = {
        {"position", "10ms"}, {"bandwidth", "1024000"}, {NULL, NULL}};
    static const struct {
        uint64_t file, offset_kb, len_kb, cost_ms;
    } accesses[] = {
        {1, 0, 4, 14},  {1, 8, 4, 8},   /* a gap of 4 KiB */
        {1, 4, 2, 2},   {1, 6, 2, 2},   /* the drive has the gap's bytes */
        {1, 12, 4, 4},                  /* the head stands where it stood */
        {1, 5, 2, 2},   {1, 4, 8, 18},  /* of the gap, and beyond it */
        {1, 22, 4, 14}, {1, 37, 4, 14}, /* a gap of 10 KiB, and one of 11 */
        {1, 12, 4, 14}, {2, 16, 4, 14}, /* the gap is forgotten; another file */
        {2, 12, 4, 14},                 /* back */
    };
    DiskModel d;
    model_of(&d, model);
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
        uint64_t now_ns = i * NS_PER_S;
        uint64_t end_ns = disk_model_serve(&d, accesses[i].file, accesses[i].offset_kb * KB,
                                           accesses[i].len_kb * KB, now_ns);
        if (end_ns - now_ns != accesses[i].cost_ms * NS_PER_MS)
            fail_msg("access %zu took %ju ns", i, (uintmax_t)(end_ns - now_ns));
    }
}

/* Programs that ask for @len bytes each, again and again for RUN_S seconds, @depth of them at once;
 * returns how many accesses were over by then, and when, in their order. */
static size_t run(DiskModel *d, size_t len, unsigned depth, bool sequential, uint64_t *ret_over)
{
    uint64_t over[DISK_PARALLEL_MAX * 2] = {0};
    size_t n = 0;
    assert_true(depth <= ARRAY_SIZE(over));
    for (uint64_t i = 0; n < ACCESSES_MAX; i++) {
        size_t first = 0;
        for (size_t k = 1; k < depth; k++)
            if (over[k] < over[first])
                first = k;
        /* Who asked at over[first] asks again; two accesses never meet unless they shall. */
        uint64_t place = sequential ? i : 2 * (ACCESSES_MAX - i);
        over[first] = disk_model_serve(d, 1, place * len, len, over[first]);
        if (over[first] > RUN_S * NS_PER_S)
            break;
        if (ret_over)
            ret_over[n] = over[first];
        n++;
    }
    return n;
}

/* What was asked of each disk, in accesses in RUN_S seconds. */
TEST(serve__keeps_its_rates)
{
    static const char *const paper[][2] = {{"position", "12160us"},
                                           {"bandwidth", "7750000"},
                                           {"random-bandwidth", "3707000"},
                                           {NULL, NULL}};
    static const char *const cloud[][2] = {
        {"position", "0"}, {"latency", "300us"}, {"bandwidth", "125000000"},
        {"iops", "3000"},  {"burst", "10ms"},    {"parallel", "64"},
        {NULL, NULL}};
    static const char *const four[][2] = {
        {"position", "10ms"}, {"bandwidth", "1024G"}, {"parallel", "4"}, {NULL, NULL}};
    static const struct {
        const char *const (*model)[2];
        size_t len;
        unsigned depth;
        bool sequential;
        size_t least, most;
    } runs[] = {
        /* the paper's 0.57 and 1.56 MB/s, and 7.75 in sequence */
        {paper, 8 * KB, 1, false, 690, 700},
        {paper, 8 * KB, 8, false, 690, 700}, /* one head, however many wait */
        {paper, 32 * KB, 1, false, 473, 480},
        {paper, 128 * KB, 1, true, 588, 592},
        /* one at a time the latency bounds, then the operations, then the bytes */
        {cloud, 8 * KB, 1, false, 29700, 30031},
        {cloud, 8 * KB, 32, false, 29990, 30031},
        {cloud, 128 * KB, 1, false, 9400, 9550},
        {cloud, 128 * KB, 32, false, 9500, 9550},
        {cloud, 512 * KB, 32, true, 2375, 2390}, /* two operations each, which is not much */
        {four, 4 * KB, 1, false, 999, 1000},
        {four, 4 * KB, 4, false, 3996, 4000},
        {four, 4 * KB, 16, false, 3996, 4000},
    };
    for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
        DiskModel d;
        model_of(&d, runs[i].model);
        size_t n = run(&d, runs[i].len, runs[i].depth, runs[i].sequential, NULL);
        if (n < runs[i].least || n > runs[i].most)
            fail_msg("run %zu: %zu accesses, expected %zu to %zu", i, n, runs[i].least,
                     runs[i].most);
    }
}

/* No stretch of time sees more than the rate and what may be used ahead. */
TEST(serve__keeps_its_rates_at_every_moment)
{
    static const char *const model[][2] = {
        {"position", "0"}, {"latency", "300us"}, {"bandwidth", "1G"}, {"iops", "1000"},
        {"burst", "20ms"}, {"parallel", "16"},   {NULL, NULL}};
    enum { WINDOW_MS = 50, MOST = WINDOW_MS + 20 + 1 };
    static uint64_t over[ACCESSES_MAX];
    DiskModel d;
    model_of(&d, model);
    size_t n = run(&d, KB, 16, false, over);
    assert_true(n > MOST);
    for (size_t i = 0; i + MOST < n; i++)
        assert_true(over[i + MOST] - over[i] >= WINDOW_MS * NS_PER_MS);
    /* After a pause the burst is there again, and no more than that. */
    uint64_t now_ns = 2 * RUN_S * NS_PER_S;
    for (size_t i = 0; i < MOST; i++) {
        uint64_t end_ns = disk_model_serve(&d, 2, i * 2 * KB, KB, now_ns);
        if (i < 16)
            assert_true(end_ns - now_ns < NS_PER_MS);
        if (i == MOST - 1)
            assert_true(end_ns - now_ns >= WINDOW_MS * NS_PER_MS);
    }
}

TEST(set__refuses_nonsense)
{
    static const char *const bad[][2] = {
        {"position", "fast"},     {"position", "2h"},  {"bandwidth", "0"},
        {"bandwidth", ""},        {"latency", "-1ms"}, {"iops", "0"},
        {"iops", "many"},         {"parallel", "0"},   {"parallel", "65"},
        {"random-bandwidth", ""}, {"burst", "1x"},     {"heads", "1"},
    };
    DiskModel d, before;
    disk_model_init(&d);
    before = d;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(disk_model_set(&d, bad[i][0], bad[i][1]), -EINVAL);
    assert_memory_equal(&d, &before, sizeof d);
}
