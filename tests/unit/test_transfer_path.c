/* SPDX-License-Identifier: MIT */
/* Credit that is never lost nor made, and the estimate that the timers go by. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "proto/transfer_private.h"
#include "tests/lib/case.h"

enum { KIB = 1024 };

/* ---- credit --------------------------------------------------------------------------------- */

TEST(credit_init__window_within_its_cap)
{
    static const struct {
        uint64_t cap, window, floor;
    } cases[] = {
        {1024 * KIB, 64 * KIB, 16 * KIB},
        {64 * KIB, 64 * KIB, 16 * KIB},
        {32 * KIB, 32 * KIB, 16 * KIB},
        {8 * KIB, 8 * KIB, 8 * KIB},
        {0, 1, 1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CreditPool c;
        credit_init(&c, cases[i].cap);
        assert_int_equal(c.window_bytes, cases[i].window);
        assert_int_equal(c.floor_bytes, cases[i].floor);
        assert_int_equal(c.used_bytes, 0);
    }
}

TEST(credit_take__cases)
{
    static const struct {
        uint64_t used, want, least;
        bool has_none;
        uint64_t taken;
    } cases[] = {
        {0, 1000, 500, false, 1000},
        {0, 100 * KIB, 10, false, 64 * KIB},
        {60 * KIB, 8 * KIB, 2 * KIB, false, 4 * KIB},
        {60 * KIB, 8 * KIB, 4 * KIB, false, 4 * KIB},
        {60 * KIB, 8 * KIB, 4 * KIB + 1, false, 0},
        {60 * KIB, 8 * KIB, 5 * KIB, true, 5 * KIB},
        {64 * KIB, 8 * KIB, 1, false, 0},
        {64 * KIB, 8 * KIB, 1, true, 1},
        {99 * KIB, 8 * KIB, 3, false, 0},
        {99 * KIB, 8 * KIB, 3, true, 3},
        {64 * KIB, 100, 500, true, 100}, /* never more than wanted */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CreditPool c;
        credit_init(&c, 1024 * KIB);
        c.used_bytes = cases[i].used;
        assert_int_equal(credit_take(&c, cases[i].want, cases[i].least, cases[i].has_none),
                         cases[i].taken);
        assert_int_equal(c.used_bytes, cases[i].used + cases[i].taken);
        credit_return(&c, cases[i].taken);
        assert_int_equal(c.used_bytes, cases[i].used);
    }
}

TEST(credit_on_success__grows_by_a_block_a_window_up_to_the_cap)
{
    CreditPool c;
    credit_init(&c, 80 * KIB);
    for (int i = 0; i < 64; i++)
        credit_on_success(&c, KIB);
    assert_in_range(c.window_bytes, 64 * KIB + 3900, 64 * KIB + 4096);
    for (int i = 0; i < 10000; i++)
        credit_on_success(&c, KIB);
    assert_int_equal(c.window_bytes, 80 * KIB);
}

TEST(credit_on_loss__halves_once_a_round_trip_down_to_the_floor)
{
    CreditPool c;
    credit_init(&c, 1024 * KIB);
    credit_on_loss(&c, 5, 1000); /* the first counts whatever the time */
    assert_int_equal(c.window_bytes, 32 * KIB);
    credit_on_loss(&c, 1004, 1000);
    assert_int_equal(c.window_bytes, 32 * KIB);
    credit_on_loss(&c, 1005, 1000);
    assert_int_equal(c.window_bytes, 16 * KIB);
    credit_on_loss(&c, 5000, 1000);
    assert_int_equal(c.window_bytes, 16 * KIB);
}

/* ---- path ----------------------------------------------------------------------------------- */

TEST(path_sample_rtt__filter_of_rfc_6298)
{
    PathEstimate p = {0};
    path_sample_rtt(&p, 800);
    assert_int_equal(p.srtt_ns, 800);
    assert_int_equal(p.rttvar_ns, 400);
    path_sample_rtt(&p, 1600); /* error 800: var (3 * 400 + 800) / 4, srtt (7 * 800 + 1600) / 8 */
    assert_int_equal(p.rttvar_ns, 500);
    assert_int_equal(p.srtt_ns, 900);
    path_sample_rtt(&p, 0);
    assert_int_equal(p.srtt_ns, 787);
    PathEstimate zero = {0};
    for (int i = 0; i < 100; i++) {
        path_sample_rtt(&zero, 0);
        assert_int_not_equal(zero.srtt_ns, 0); /* that would mean: no sample */
    }
    path_sample_rtt(&zero, UINT64_MAX);
    assert_true(path_probe_ns(&zero, UINT64_MAX) < 1000 * NS_PER_S);
}

TEST(path_sample_rate__smooths_and_ignores_gulps)
{
    PathEstimate p = {0};
    path_sample_rate(&p, 50000, 0);
    path_sample_rate(&p, 0, 50000);
    path_sample_rate(&p, UINT64_MAX, 1);
    assert_int_equal(p.bytes_per_s, 0);
    path_sample_rate(&p, 1000, NS_PER_MS);
    assert_int_equal(p.bytes_per_s, 1000000);
    path_sample_rate(&p, 9000, NS_PER_MS);
    assert_int_equal(p.bytes_per_s, 2000000);
    for (int i = 0; i < 200; i++)
        path_sample_rate(&p, 1, 100 * NS_PER_S);
    assert_int_not_equal(p.bytes_per_s, 0);
}

TEST(path_probe_ns__cases)
{
    static const struct {
        PathEstimate path;
        uint64_t outstanding, ns;
    } cases[] = {
        {{0, 0, 0}, 0, 20 * NS_PER_MS},
        {{0, 0, 1000}, 5000, 20 * NS_PER_MS},
        {{100 * NS_PER_US, 10 * NS_PER_US, 0}, 99999, 200 * NS_PER_US},
        {{300 * NS_PER_US, 50 * NS_PER_US, 0}, 0, 500 * NS_PER_US},
        {{300 * NS_PER_US, 50 * NS_PER_US, 1000000}, 1000, 1500 * NS_PER_US},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(path_probe_ns(&cases[i].path, cases[i].outstanding), cases[i].ns);
}

TEST(path_reorder_ns__a_quarter_of_a_round_trip)
{
    assert_int_equal(path_reorder_ns(&(PathEstimate){0}), 50 * NS_PER_US);
    assert_int_equal(path_reorder_ns(&(PathEstimate){.srtt_ns = 199 * NS_PER_US}), 50 * NS_PER_US);
    assert_int_equal(path_reorder_ns(&(PathEstimate){.srtt_ns = 400 * NS_PER_US}), 100 * NS_PER_US);
}

/* ---- the clock ------------------------------------------------------------------------------ */

static PathEstimate path;
static CreditPool pool;
static const TransferConfig config = {
    .segment = 1400, .deadline_ns = 100 * NS_PER_MS, .credit = &pool, .path = &path};

TEST(clock_busy__doubles_from_1_to_50_ms_once_a_time_out)
{
    TransferClock k;
    uint64_t now = 1000, expect = NS_PER_MS;
    clock_start(&k, &config, now);
    for (int i = 0; i < 10; i++) {
        clock_busy(&k, now);
        clock_busy(&k, now + 1); /* the rest of the burst gets the same answer */
        assert_int_equal(k.busy_until_ns, now + expect);
        now = k.busy_until_ns;
        clock_check_busy(&k, now);
        assert_int_equal(k.busy_until_ns, 0);
        expect = expect * 2 > 50 * NS_PER_MS ? 50 * NS_PER_MS : expect * 2;
    }
    clock_served(&k);
    clock_busy(&k, now);
    assert_int_equal(k.busy_until_ns, now + NS_PER_MS);
}

TEST(clock_check_probe__doubles_and_starts_over_when_heard)
{
    TransferClock k;
    path = (PathEstimate){.srtt_ns = NS_PER_MS};
    clock_start(&k, &config, 0);
    assert_false(clock_check_probe(&k, &config, false, 0, NS_PER_S));
    assert_false(k.probe_due);
    uint64_t now = 0;
    static const uint64_t waits_ms[] = {1, 2, 4, 8, 16, 25, 25}; /* four a deadline at least */
    for (size_t i = 0; i < ARRAY_SIZE(waits_ms); i++) {
        now += waits_ms[i] * NS_PER_MS;
        k.probe_due = false;
        assert_false(clock_check_probe(&k, &config, true, 0, now - 1));
        assert_false(k.probe_due);
        assert_int_equal(clock_deadline(&k, &config, true, 0), now);
        assert_true(clock_check_probe(&k, &config, true, 0, now));
        assert_true(k.probe_due);
        assert_true(clock_is_silent(&k));
    }
    clock_heard(&k, now);
    assert_false(k.probe_due);
    assert_false(clock_is_silent(&k));
    assert_int_equal(clock_deadline(&k, &config, true, 0), now + NS_PER_MS);
}

TEST(clock_deadline__is_the_first_of_all)
{
    TransferClock k;
    path = (PathEstimate){.srtt_ns = 4 * NS_PER_MS};
    clock_start(&k, &config, NS_PER_S);
    assert_int_equal(clock_deadline(&k, &config, false, 0), TIME_NEVER);
    assert_int_equal(clock_deadline(&k, &config, true, 0), NS_PER_S + 4 * NS_PER_MS);
    k.gap_ns = NS_PER_S;
    assert_int_equal(clock_deadline(&k, &config, true, 0), NS_PER_S + NS_PER_MS);
    assert_false(clock_gap_over(&k, &config, NS_PER_S + NS_PER_MS - 1));
    assert_true(clock_gap_over(&k, &config, NS_PER_S + NS_PER_MS));
    k.gap_ns = TIME_NEVER;
    assert_false(clock_gap_over(&k, &config, TIME_NEVER));
    k.busy_until_ns = NS_PER_S + 7;
    assert_int_equal(clock_deadline(&k, &config, true, 0), NS_PER_S + 7);
    assert_false(clock_is_dead(&k, &config, true, NS_PER_S + 100 * NS_PER_MS - 1));
    assert_true(clock_is_dead(&k, &config, true, NS_PER_S + 100 * NS_PER_MS));
    assert_false(clock_is_dead(&k, &config, false, TIME_NEVER));
}

/* Who waits for its turn waits for no host; the silence of an earlier try counts. */
TEST(clock_sent__a_silence_begins_with_what_is_asked)
{
    TransferClock k;
    path = (PathEstimate){.srtt_ns = 4 * NS_PER_MS};
    clock_start(&k, &config, 0);
    assert_int_equal(clock_silence(&k, false, 9 * NS_PER_S), 0);
    clock_sent(&k, false, 9 * NS_PER_S);
    clock_sent(&k, true, 9 * NS_PER_S + 60 * NS_PER_MS);
    assert_int_equal(clock_silence(&k, true, 9 * NS_PER_S + 70 * NS_PER_MS), 70 * NS_PER_MS);
    assert_true(clock_is_dead(&k, &config, true, 9 * NS_PER_S + 100 * NS_PER_MS));

    TransferConfig again = config;
    again.silent_ns = 70 * NS_PER_MS;
    clock_start(&k, &again, 10 * NS_PER_S);
    clock_sent(&k, false, 11 * NS_PER_S);
    assert_false(clock_is_dead(&k, &again, true, 11 * NS_PER_S + 30 * NS_PER_MS - 1));
    assert_true(clock_is_dead(&k, &again, true, 11 * NS_PER_S + 30 * NS_PER_MS));
    clock_heard(&k, 11 * NS_PER_S);
    assert_false(clock_is_dead(&k, &again, true, 11 * NS_PER_S + 100 * NS_PER_MS - 1));
}

/* What was measured while mostly nobody listened tells nothing of the path. */
TEST(sample_is_good__only_if_somebody_listened)
{
    uint64_t missed = 7 * NS_PER_S;
    TransferConfig listens = config;
    listens.missed_ns = &missed;
    assert_true(sample_is_good(&config, 0, 0, NS_PER_S));
    assert_true(sample_is_good(&listens, 0, missed, NS_PER_MS));
    assert_true(sample_is_good(&listens, 0, missed - NS_PER_MS, NS_PER_MS));
    assert_false(sample_is_good(&listens, 0, missed - NS_PER_MS - 1, NS_PER_MS));
}

/* ---- credit in flight ----------------------------------------------------------------------- */

/* The shared pool is touched in batches, and always squared when nothing is under way. */
TEST(flight_land__gives_back_in_batches_and_at_the_end)
{
    TransferFlight f = {0};
    credit_init(&pool, 1024 * KIB);
    assert_int_equal(flight_take(&f, &config, 10000, 10000), 10000);
    assert_false(f.limited);
    flight_land(&f, &config, 1400);
    assert_int_equal(pool.used_bytes, 10000);
    assert_int_equal(f.bytes, 8600);
    flight_land(&f, &config, 2800);
    assert_int_equal(pool.used_bytes, 5800);
    flight_land(&f, &config, 5000);
    flight_land(&f, &config, 800);
    assert_int_equal(pool.used_bytes, 0);
    flight_succeed(&f, &config, 60000);
    assert_int_equal(pool.window_bytes, 64 * KIB); /* it was not what held us back */
    assert_int_equal(flight_take(&f, &config, 100 * KIB, KIB), 64 * KIB);
    assert_true(f.limited);
    flight_succeed(&f, &config, 64 * KIB);
    assert_int_equal(pool.window_bytes, 68 * KIB);
    flight_land(&f, &config, 100);
    flight_end(&f, &config);
    flight_end(&f, &config);
    assert_int_equal(pool.used_bytes, 0);
}

/* Of all on a channel one at least moves, however scarce credit is; the others wait their turn. */
TEST(flight_take__one_of_a_channel_at_least)
{
    CreditShare together = {0};
    TransferFlight a = {0}, b = {0}, other = {0};
    TransferConfig shared = config;
    shared.together = &together;
    credit_init(&pool, 64 * KIB);
    assert_int_equal(flight_take(&other, &config, 64 * KIB, KIB), 64 * KIB); /* another channel's */
    assert_int_equal(flight_take(&a, &shared, 20 * KIB, 14 * KIB), 14 * KIB);
    assert_false(flight_is_starved(&a));
    assert_int_equal(flight_take(&b, &shared, 20 * KIB, 14 * KIB), 0);
    assert_true(flight_is_starved(&b));
    assert_int_equal(together.bytes, 14 * KIB);
    flight_land(&a, &shared, 14 * KIB);
    assert_int_equal(together.bytes, 0);
    assert_int_equal(flight_take(&b, &shared, 20 * KIB, 14 * KIB), 14 * KIB);
    assert_false(flight_is_starved(&b));
    flight_end(&a, &shared);
    flight_end(&b, &shared);
    flight_end(&other, &config);
    assert_int_equal(together.bytes, 0);
    assert_int_equal(pool.used_bytes, 0);
}

/* A silent host's credit serves the others; when it answers after all nothing is counted twice. */
TEST(flight_give_back__nothing_of_a_silent_host_is_under_way)
{
    CreditShare together = {0};
    TransferFlight a = {0}, b = {0};
    TransferConfig shared = config;
    shared.together = &together;
    credit_init(&pool, 64 * KIB);
    assert_int_equal(flight_take(&a, &shared, 60 * KIB, KIB), 60 * KIB);
    flight_land(&a, &shared, KIB);
    flight_give_back(&a, &shared);
    assert_int_equal(pool.used_bytes, 0);
    assert_int_equal(together.bytes, 0);
    assert_int_equal(a.bytes, 59 * KIB); /* still waited for */
    flight_give_back(&a, &shared);
    assert_int_equal(flight_take(&b, &shared, 60 * KIB, KIB), 60 * KIB);
    flight_land(&a, &shared, 50 * KIB);
    assert_int_equal(pool.used_bytes, 60 * KIB);
    assert_int_equal(flight_take(&a, &shared, 4 * KIB, KIB), 4 * KIB);
    flight_land(&a, &shared, 10 * KIB); /* 9 were given back, 1 is charged */
    assert_int_equal(together.bytes, 63 * KIB);
    flight_end(&a, &shared);
    assert_int_equal(together.bytes, 60 * KIB);
    assert_int_equal(pool.used_bytes, 60 * KIB);
    flight_end(&b, &shared);
    assert_int_equal(pool.used_bytes, 0);
}

/* ---- credit shared by many ------------------------------------------------------------------- */

/* Readers that each ask for 1 MiB again and again, over a line that carries what was asked for in
 * the order of the asks, 1 KiB in a unit of time. Each takes what it may when something of its own
 * has come, as threads do; or all do, the oldest first, as the calls of one channel do. */
enum { READERS = 12, READ_KIB = 1024, READS = 600, FIRST_READS = 100, LINE_MAX_KIB = 16384 };

typedef struct Reader {
    TransferFlight flight;
    unsigned to_ask, to_come; /* KiB */
    uint64_t began;
} Reader;

typedef struct Line {
    Reader readers[READERS];
    unsigned order[READERS]; /* the oldest first */
    TransferConfig config;
    CreditShare together;
    bool one_channel;
    uint8_t queue[LINE_MAX_KIB];
    uint64_t asked, now;
    unsigned times[READS];
} Line;

static void line_ask(Line *l, unsigned i)
{
    Reader *r = &l->readers[i];
    while (r->to_ask > 0) {
        uint64_t want = min_u64(r->to_ask * KIB, WIRE_CHUNK_MAX);
        uint64_t taken = flight_take(&r->flight, &l->config, want, min_u64(want, CREDIT_LEAST));
        unsigned kib = (unsigned)(taken / KIB);
        flight_land(&r->flight, &l->config, taken % KIB);
        if (kib == 0)
            return;
        for (unsigned k = 0; k < kib; k++)
            l->queue[l->asked++ % LINE_MAX_KIB] = (uint8_t)i;
        r->to_ask -= kib;
        assert_true(l->asked - l->now <= LINE_MAX_KIB);
    }
}

static void line_begin(Line *l, unsigned i)
{
    l->readers[i] = (Reader){.to_ask = READ_KIB, .to_come = READ_KIB, .began = l->now};
}

/* It is the youngest now. */
static void line_read_over(Line *l, unsigned i)
{
    unsigned at = 0;
    flight_end(&l->readers[i].flight, &l->config);
    while (l->order[at] != i)
        at++;
    memmove(&l->order[at], &l->order[at + 1], (READERS - 1 - at) * sizeof *l->order);
    l->order[READERS - 1] = i;
    line_begin(l, i);
}

static int compare_times(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* The 99th percentile of the reads' times, in percent of what all of them together take. */
static unsigned line_p99_percent(bool one_channel, unsigned window_kib)
{
    static Line l;
    memset(&l, 0, sizeof l);
    l.config = config;
    l.one_channel = one_channel;
    if (one_channel)
        l.config.together = &l.together;
    credit_init(&pool, window_kib * KIB);
    atomic_store(&pool.window_bytes, window_kib * KIB);
    for (unsigned i = 0; i < READERS; i++) {
        l.order[i] = i;
        line_begin(&l, i);
        line_ask(&l, i);
    }
    for (unsigned done = 0; done < READS; l.now++) {
        assert_true(l.now < l.asked); /* the line is never idle */
        unsigned i = l.queue[l.now % LINE_MAX_KIB];
        Reader *r = &l.readers[i];
        flight_land(&r->flight, &l.config, KIB);
        if (--r->to_come == 0) {
            l.times[done++] = (unsigned)(l.now - r->began);
            line_read_over(&l, i);
        }
        for (unsigned k = 0; k < READERS; k++)
            if (one_channel || l.order[k] == i)
                line_ask(&l, l.order[k]);
    }
    for (unsigned i = 0; i < READERS; i++)
        flight_end(&l.readers[i].flight, &l.config);
    assert_int_equal(pool.used_bytes, 0);
    /* The first ones began together, before anybody was held back. */
    qsort(l.times + FIRST_READS, READS - FIRST_READS, sizeof *l.times, compare_times);
    return l.times[FIRST_READS + (READS - FIRST_READS) * 99 / 100] * 100 / (READERS * READ_KIB);
}

TEST(credit__is_shared_so_that_no_read_takes_much_longer)
{
    static const unsigned windows_kib[] = {100, 400, 2048, 8192};
    for (unsigned i = 0; i < ARRAY_SIZE(windows_kib); i++) {
        assert_in_range(line_p99_percent(false, windows_kib[i]), 95, 120);
        assert_in_range(line_p99_percent(true, windows_kib[i]), 95, 120);
    }
}

/* Whatever becomes of transfers, none of them counts in the pool when nothing is under way: silent
 * hosts, answers after that, ends in any order, and such as have never taken anything. */
TEST(credit__nobody_counts_when_nothing_is_under_way)
{
    enum { CHANNELS = 5, EACH = 3, ROUNDS = 400, STEPS = 60 };
    static CreditShare together[CHANNELS];
    static TransferFlight flights[CHANNELS][EACH];
    unsigned dice = 1;
    credit_init(&pool, 256 * KIB);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned step = 0; step < STEPS; step++) {
            unsigned c = (unsigned)rand_r(&dice) % CHANNELS, i = (unsigned)rand_r(&dice) % EACH;
            TransferConfig of = config;
            of.together = c == 0 && i == 0 ? NULL : &together[c]; /* one is alone */
            TransferFlight *f = &flights[c][i];
            uint64_t bytes = (uint64_t)rand_r(&dice) % (100 * KIB);
            switch (rand_r(&dice) % 8) {
            case 0:
                flight_give_back(f, &of);
                break;
            case 1:
                flight_end(f, &of);
                break;
            case 2:
            case 3:
            case 4:
                flight_land(f, &of, min_u64(bytes, f->bytes));
                break;
            default:
                (void)flight_take(f, &of, bytes, min_u64(bytes, CREDIT_LEAST));
            }
            assert_true(pool.hungry <= CHANNELS + 1 && pool.sharers <= CHANNELS + 1);
        }
        for (unsigned n = 0, at = (unsigned)rand_r(&dice); n < CHANNELS * EACH; n++, at++) {
            unsigned c = at % CHANNELS, i = at / CHANNELS % EACH;
            TransferConfig of = config;
            of.together = c == 0 && i == 0 ? NULL : &together[c];
            flight_end(&flights[c][i], &of);
        }
        assert_int_equal(pool.used_bytes, 0);
        assert_int_equal(pool.sharers, 0);
        assert_int_equal(pool.hungry, 0);
    }
}

/* ---- maps of segments ----------------------------------------------------------------------- */

TEST(cut_fit__never_more_than_given)
{
    const Cut cut = {.len = 8192, .segment = 1400, .last = 5}; /* the last one has 1192 */
    static const struct {
        uint64_t map, bytes, fit;
    } cases[] = {
        {0x3f, 8192, 0x3f}, {0x3f, 8191, 0x1f}, {0x3f, 1400, 1},    {0x3f, 1399, 0},
        {0x20, 1192, 0x20}, {0x20, 1191, 0},    {0x28, 2592, 0x28}, {0x28, 2591, 0x08},
        {0x2a, 2800, 0x0a}, {0, 100, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(cut_fit(&cut, cases[i].map, cases[i].bytes), cases[i].fit);
    assert_int_equal(cut_bytes(&cut, 0x3f), 8192);
    assert_int_equal(cut_bytes(&cut, 0x21), 2592);
    assert_int_equal(cut_all(&cut), 0x3f);
}
