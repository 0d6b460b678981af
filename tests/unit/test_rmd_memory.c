/* SPDX-License-Identifier: MIT */
/* How much can be lent, how the limit follows it, and the load less our own share. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "rmd/lending.h"
#include "rmd/load.h"
#include "tests/lib/case.h"

#define GIB (1ull << 30)
#define MIB (1ull << 20)

static const char meminfo[] = "MemTotal:       16000000 kB\n"
                              "MemFree:         4000000 kB\n"
                              "MemAvailable:   11000000 kB\n"
                              "Cached:          9999999 kB\n"
                              "Active(anon):    1234567 kB\n"
                              "AnonPages:       1100000 kB\n"
                              "Active(file):    2000000 kB\n"
                              "Inactive(file):  5000000 kB\n"
                              "Dirty:            300000 kB\n"
                              "Writeback:        100000 kB\n"
                              "Mapped:           700000 kB\n"
                              "Shmem:            200000 kB\n"
                              "SReclaimable:     250000 kB\n";
static const char zoneinfo[] = "Node 0, zone      DMA\n"
                               "  pages free     2816\n"
                               "        min      28\n"
                               "        low      35\n"
                               "        high     42\n"
                               "Node 0, zone   Normal\n"
                               "        min      11150\n"
                               "        low      13965\n"
                               "  pagesets\n"
                               "              low:  7\n";

TEST(reads_the_kernels_texts)
{
    MemoryState m;
    assert_int_equal(memory_state_parse(meminfo, zoneinfo, 4096, &m), 0);
    assert_int_equal(m.total_bytes, 16000000ull << 10);
    /* free, inactive file pages, slab; less what is mapped and not shared memory, dirty, being
     * written; nothing of the active file cache */
    assert_int_equal(m.spare_bytes, (4000000ull + 5000000 + 250000 - 500000 - 300000 - 100000)
                                        << 10);
    assert_int_equal(m.programs_bytes, (1100000ull + 200000) << 10);
    assert_int_equal(m.reserve_bytes, 14000 * 4096);
    assert_int_equal(memory_headroom_bytes(&m), m.total_bytes / 100 * 15);
}

/* The kernel counts as neither free nor available what a processor keeps for its own programs. */
TEST(knows_what_lies_on_the_processors_lists)
{
    static const char lists[] = "Node 0, zone   Normal\n"
                                "        low      13965\n"
                                "  pagesets\n"
                                "    cpu: 0\n"
                                "              count:    15723\n"
                                "              high:     40145\n"
                                "              high_max: 337141\n"
                                "    cpu: 1\n"
                                "              count: 277\n";
    MemoryState m, none;
    assert_int_equal(memory_state_parse(meminfo, lists, 4096, &m), 0);
    assert_int_equal(memory_state_parse(meminfo, zoneinfo, 4096, &none), 0);
    assert_int_equal(m.aside_bytes, 16000 * 4096);
    assert_int_equal(none.aside_bytes, 0);
    assert_int_equal(m.spare_bytes, none.spare_bytes);
}

TEST(never_more_than_the_kernel_has_available)
{
    static const char scarce[] = "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 400 kB\n"
                                 "Active(file): 100 kB\nInactive(file): 100 kB\n";
    MemoryState m;
    assert_int_equal(memory_state_parse(scarce, zoneinfo, 4096, &m), 0);
    assert_int_equal(m.spare_bytes, 400 << 10);
    assert_int_equal(m.reserve_bytes, 1000 << 10); /* marks above all there is */
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    assert_int_equal(memory_ceiling_bytes(&m, 0), 0);
}

TEST(refuses_texts_that_say_too_little)
{
    static const struct {
        const char *meminfo, *zoneinfo;
    } bad[] = {
        {"", zoneinfo},
        {meminfo, ""},
        {meminfo, "   low x\n"},
        {"MemTotal: 5 kB\n", zoneinfo},
        {"MemTotal: 10 kB\nMemFree: 11 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 0 kB\nMemFree: 0 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 99999999999999999999 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n"
         "Active(file): 0 kB\nInactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 10 MB\nMemFree: 1 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
    };
    MemoryState m;
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(memory_state_parse(bad[i].meminfo, bad[i].zoneinfo, 4096, &m), -EINVAL);
}

static MemoryState host(uint64_t spare)
{
    return (MemoryState){.total_bytes = 100 * GIB, .spare_bytes = spare, .reserve_bytes = GIB};
}

TEST(what_is_lent_counts_as_the_owners_no_more)
{
    MemoryState m = host(60 * GIB);
    uint64_t all = memory_lendable_bytes(&m, 0);
    assert_int_equal(all, 60 * GIB - GIB - memory_headroom_bytes(&m));
    m = host(50 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 10 * GIB), all);
    m = host(10 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    m = host(100 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 100 * GIB), memory_ceiling_bytes(&m, 100 * GIB));
}

/* In a container: 16 GiB, of which a sixteenth is not for the pool. */
TEST(a_control_group_can_be_smaller_than_the_host)
{
    MemoryState m = host(60 * GIB);
    memory_state_limit(&m, 16 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), 11 * GIB);
    assert_int_equal(memory_ceiling_bytes(&m, 0), 11 * GIB);
    memory_state_limit(&m, 16 * GIB, 2 * GIB); /* 10 are lent meanwhile */
    assert_int_equal(memory_lendable_bytes(&m, 10 * GIB), 11 * GIB);
    memory_state_limit(&m, 16 * GIB, GIB / 2); /* somebody else in it took more than is left */
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    m = host(5 * GIB); /* the host has less than the group may use */
    memory_state_limit(&m, 16 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 20 * GIB), 9 * GIB);
    m = host(60 * GIB);
    uint64_t all = memory_lendable_bytes(&m, 0);
    memory_state_limit(&m, 100 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), all);
    memory_state_limit(&m, 0, 0);
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
}

/* The noise to tolerate is the group's, not the host's: else a small group would lend nothing. */
TEST(a_small_group_lends_too)
{
    MemoryState m = host(60 * GIB);
    Lending l;
    memory_state_limit(&m, 512 * MIB, 500 * MIB);
    lending_init(&l, UINT64_MAX, NS_PER_S);
    lending_read(&l, &m, 0, NS_PER_S);
    uint64_t limit = lending_begin(&l, NS_PER_S);
    assert_true(limit > 450 * MIB && limit <= 468 * MIB);
    assert_true(l.ceiling_bytes >= limit && l.ceiling_bytes <= 468 * MIB);
}

/* ---- the limit ------------------------------------------------------------------------------- */

static Lending lending;
static uint64_t now_ns;

static void lend(uint64_t cap, uint64_t spare)
{
    MemoryState m = host(spare);
    now_ns = 1000 * NS_PER_S;
    lending_init(&lending, cap, now_ns);
    lending_read(&lending, &m, 0, now_ns);
    (void)lending_begin(&lending, now_ns);
}

static bool read_after(uint64_t wait_ns, uint64_t spare, uint64_t held)
{
    MemoryState m = host(spare);
    now_ns += wait_ns;
    lending_read(&lending, &m, held, now_ns);
    return lending_follow(&lending, UINT64_MAX, now_ns);
}

TEST(begins_with_what_is_there_less_a_slack)
{
    lend(UINT64_MAX, 60 * GIB);
    uint64_t lendable = memory_lendable_bytes(
        &(MemoryState){.total_bytes = 100 * GIB, .spare_bytes = 60 * GIB, .reserve_bytes = GIB}, 0);
    assert_true(lending.limit_bytes <= lendable - GIB);
    assert_true(lending.limit_bytes > lendable - GIB - LENDING_STEP_BYTES);
    lend(5 * GIB, 60 * GIB);
    assert_int_equal(lending.limit_bytes, 5 * GIB);
    lend(5 * GIB, 10 * GIB);
    assert_int_equal(lending.limit_bytes, 0);
}

TEST(the_pool_may_outgrow_the_beginning_but_not_the_host)
{
    lend(UINT64_MAX, 60 * GIB);
    assert_true(lending.ceiling_bytes > lending.limit_bytes);
    assert_int_equal(lending.ceiling_bytes, 59 * GIB);
    lend(UINT64_MAX, 100 * GIB);
    assert_int_equal(
        lending.ceiling_bytes / MIB,
        memory_ceiling_bytes(&(MemoryState){.total_bytes = 100 * GIB, .reserve_bytes = GIB}, 0) /
            MIB);
    lend(5 * GIB, 60 * GIB);
    assert_int_equal(lending.ceiling_bytes, 5 * GIB);
}

TEST(is_not_moved_by_noise)
{
    lend(UINT64_MAX, 60 * GIB);
    for (unsigned i = 0; i < 100; i++)
        assert_false(read_after(NS_PER_S / 10, 60 * GIB - i % 5 * 240 * MIB, 0));
}

TEST(is_lowered_by_what_is_missing_at_once)
{
    lend(UINT64_MAX, 60 * GIB);
    assert_true(read_after(NS_PER_S / 10, 30 * GIB, 20 * GIB)); /* the owner took 10 GiB */
    assert_int_equal(lending.limit_bytes,
                     lending.lendable_bytes - lending.lendable_bytes % LENDING_STEP_BYTES);
    assert_false(read_after(NS_PER_S / 10, 30 * GIB, 20 * GIB));
    assert_true(read_after(NS_PER_S / 10, 10 * GIB, 0));
    assert_int_equal(lending.limit_bytes, 0);
}

TEST(grows_slowly_and_after_a_rest)
{
    lend(UINT64_MAX, 60 * GIB);
    assert_true(read_after(NS_PER_S / 10, 30 * GIB, 0));
    uint64_t limit = lending.limit_bytes, from = now_ns;
    while (now_ns < from + LENDING_GROW_PAUSE_NS)
        assert_false(read_after(NS_PER_S / 10, 60 * GIB, 0));
    for (unsigned i = 0; i < 100; i++)
        (void)read_after(NS_PER_S / 10, 60 * GIB, 0);
    assert_true(lending.limit_bytes <= limit + 10 * LENDING_GROW_BYTES_PER_S);
    assert_true(lending.limit_bytes >= limit + 9 * LENDING_GROW_BYTES_PER_S);
    /* Nothing is saved up: not while no reading came, ... */
    limit = lending.limit_bytes;
    assert_true(read_after(1000 * NS_PER_S, 60 * GIB, 0));
    assert_true(lending.limit_bytes <= limit + LENDING_GROW_BYTES_PER_S);
    /* ... and not while there was nothing to grow into. */
    lend(UINT64_MAX, 60 * GIB);
    for (unsigned i = 0; i < 100; i++)
        assert_false(read_after(NS_PER_S / 10, 60 * GIB, 0));
    limit = lending.limit_bytes;
    (void)read_after(NS_PER_S / 100, 80 * GIB, 0);
    assert_true(lending.limit_bytes <= limit + LENDING_GROW_BYTES_PER_S / 100);
    /* ... nor before it began. */
    lend(UINT64_MAX, 60 * GIB);
    limit = lending.limit_bytes;
    (void)read_after(NS_PER_S / 100, 80 * GIB, 0);
    assert_true(lending.limit_bytes <= limit + LENDING_GROW_BYTES_PER_S / 100);
}

TEST(does_not_outgrow_the_pool_or_the_cap)
{
    lend(UINT64_MAX, 30 * GIB);
    MemoryState m = host(60 * GIB);
    uint64_t pool = lending.limit_bytes + 10 * MIB;
    for (unsigned i = 0; i < 100; i++) {
        lending_read(&lending, &m, 0, now_ns += NS_PER_S / 10);
        (void)lending_follow(&lending, pool, now_ns);
    }
    assert_int_equal(lending.limit_bytes, pool);
    lend(20 * GIB, 30 * GIB);
    for (unsigned i = 0; i < 2000; i++)
        (void)read_after(NS_PER_S / 10, 90 * GIB, 0);
    assert_int_equal(lending.limit_bytes, 20 * GIB);
}

TEST(knows_when_it_is_far_below)
{
    lend(UINT64_MAX, 60 * GIB);
    (void)read_after(1, 6 * GIB + MIB, 10 * GIB);
    assert_false(lending.far_below);
    (void)read_after(1, 6 * GIB - MIB, 10 * GIB);
    assert_true(lending.far_below);
    lending_read(&lending, NULL, 7 * GIB, now_ns);
    assert_false(lending.known);
    assert_int_equal(lending.held_bytes, 7 * GIB);
    assert_int_equal(lending.lendable_bytes, 0);
    assert_false(lending_follow(&lending, UINT64_MAX, now_ns));
    assert_int_equal(lending_spare(&lending), 0);
}

TEST(who_takes_memory_fast_has_it_back_before_it_is_short)
{
    lend(UINT64_MAX, 60 * GIB);
    uint64_t limit = lending.limit_bytes;
    assert_false(read_after(NS_PER_S / 10, 60 * GIB, 0));
    assert_false(lending_stirs(&lending));
    /* 3.2 GB/s: the headroom is not touched before another 200 ms have gone */
    assert_true(read_after(NS_PER_S / 10, 60 * GIB - 320 * MIB, 0));
    assert_true(lending_stirs(&lending));
    assert_true(lending.limit_bytes < limit);
    assert_true(lending.limit_bytes <= lending.lendable_bytes - 1600 * MIB);
    assert_true(lending.limit_bytes > lending.lendable_bytes - 1600 * MIB - LENDING_STEP_BYTES);
    limit = lending.limit_bytes;
    assert_true(read_after(NS_PER_S / 50, 60 * GIB - 384 * MIB, 0)); /* it goes on */
    assert_true(lending.limit_bytes < limit);
    limit = lending.limit_bytes;
    for (unsigned i = 0; i < 10; i++) /* it is over */
        assert_false(read_after(NS_PER_S / 50, 60 * GIB - 384 * MIB, 0));
    assert_false(lending_stirs(&lending));
    assert_int_equal(lending.limit_bytes, limit);
}

TEST(no_storm_is_what_takes_little_or_what_imd_takes)
{
    lend(UINT64_MAX, 60 * GIB);
    uint64_t spare = 60 * GIB;
    assert_false(read_after(NS_PER_S / 10, spare, 0));
    assert_false(read_after(NS_PER_S / 10, spare -= 200 * MIB, 0)); /* a program starts */
    assert_true(lending_stirs(&lending));                           /* looked at again soon */
    for (unsigned i = 1; i <= 20; i++)                              /* imd is being filled */
        assert_false(read_after(NS_PER_S / 10, spare - i * GIB, i * GIB));
    assert_false(lending_stirs(&lending));
    /* What was taken before this lending says nothing. */
    (void)read_after(NS_PER_S / 10, 50 * GIB, 20 * GIB);
    (void)lending_begin(&lending, now_ns);
    (void)read_after(NS_PER_S / 10, 40 * GIB, 20 * GIB);
    assert_false(lending_stirs(&lending));
}

/* A run of falls, too slow for a storm: neither one pause nor one burst in it tells its rate. */
TEST(who_takes_memory_steadily_is_foreseen)
{
    static const struct {
        unsigned ms, mib;
    } odd[] = {{20, 10}, {120, 10}, {20, 40}};
    for (unsigned k = 0; k < sizeof odd / sizeof odd[0]; k++) {
        uint64_t spare = 60 * GIB;
        lend(UINT64_MAX, spare);
        (void)read_after(NS_PER_S / 10, spare, 0);
        for (unsigned i = 1; i <= 5; i++) {
            assert_false(lending.steady);
            spare -= (i == 3 ? odd[k].mib : 10) * MIB;
            (void)read_after((i == 3 ? odd[k].ms : 20) * NS_PER_MS, spare, 0);
        }
        assert_true(lending.steady);
        assert_in_range(lending.ahead_bytes / MIB, 245, 255); /* of 500 MiB/s, half a second */
    }
}

/* ---- what the owner loses ------------------------------------------------------------------- */

static uint64_t evicted, limited, active, inactive; /* limited: by a control group, of evicted */

static bool read_evicted(uint64_t wait_ns, uint64_t held)
{
    MemoryState m = host(60 * GIB - held);
    m.evicted_bytes = evicted;
    m.reclaimed_bytes = evicted - limited;
    m.active_bytes = active;
    m.inactive_bytes = inactive;
    now_ns += wait_ns;
    m.evicted_ns = now_ns;
    lending_read(&lending, &m, held, now_ns);
    return lending_follow(&lending, UINT64_MAX, now_ns);
}

/* Not lent, for @s seconds, in which @rate bytes a second go. */
static void before_lending(unsigned s, uint64_t rate)
{
    lending_init(&lending, UINT64_MAX, now_ns = 1000 * NS_PER_S);
    active = inactive = limited = 0;
    for (unsigned i = 0; i < s; i++) {
        evicted += rate;
        (void)read_evicted(NS_PER_S, 0);
    }
    (void)lending_begin(&lending, now_ns);
}

TEST(what_goes_to_swap_is_given_back_and_not_lent_again)
{
    before_lending(10, 0);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    evicted += 200 * MIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_true(lending.limit_bytes <= 20 * GIB - 200 * MIB);
    assert_true(lending.limit_bytes > 20 * GIB - 201 * MIB);
    uint64_t most = lending.limit_bytes;
    for (unsigned i = 0; i < 4; i++)
        assert_false(read_evicted(NS_PER_S, most)); /* it rests */
    for (unsigned i = 0; i < 2000; i++)
        (void)read_evicted(NS_PER_S, most);
    uint64_t all = memory_lendable_bytes(
        &(MemoryState){.total_bytes = 100 * GIB, .spare_bytes = 60 * GIB, .reserve_bytes = GIB}, 0);
    assert_true(lending.limit_bytes <= all - 200 * MIB - GIB);
    lending_end(&lending); /* the next one begins without debts */
    (void)read_evicted(NS_PER_S, 0);
    assert_true(lending_begin(&lending, now_ns) > all - GIB - 64 * MIB);
}

TEST(what_is_lost_twice_is_owed_twice)
{
    before_lending(10, 0);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    for (unsigned i = 1; i <= 2; i++) {
        evicted += 200 * MIB;
        assert_true(read_evicted(NS_PER_S, 20 * GIB));
        assert_in_range(lending.loss.owed_bytes, i * 199 * MIB, i * 200 * MIB);
    }
}

TEST(what_was_usual_before_is_not_ours)
{
    before_lending(600, 100 * MIB);
    for (unsigned i = 0; i < 60; i++) {
        evicted += 100 * MIB;
        assert_false(read_evicted(NS_PER_S, 20 * GIB) && lending.limit_bytes < 20 * GIB);
    }
    evicted += 300 * MIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_true(lending.limit_bytes < 20 * GIB);
}

/* What is missed in the next lending is owed: it is not usual. */
static void assert_missed_in_next_lending(void)
{
    lending_end(&lending);
    (void)read_evicted(NS_PER_S, 0);
    (void)lending_begin(&lending, now_ns);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    evicted += 200 * MIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_in_range(lending.loss.owed_bytes, 199 * MIB, 200 * MIB);
}

/* What nobody misses although memory is lent is usual no more, in this lending and the next. */
TEST(what_was_usual_is_forgotten_in_a_lending_too)
{
    before_lending(600, 100 * MIB);
    for (unsigned i = 0; i < 900; i++)
        (void)read_evicted(NS_PER_S, 20 * GIB);
    assert_missed_in_next_lending();
}

/* Nor is usual what was missed because of an earlier lending. */
TEST(what_was_missed_in_a_lending_is_not_usual)
{
    before_lending(600, 0);
    for (unsigned i = 0; i < 600; i++) {
        evicted += 100 * MIB;
        (void)read_evicted(NS_PER_S, 20 * GIB);
    }
    assert_missed_in_next_lending();
}

/* Numbers that are almost 0 cost the processor a hundred times what others do. */
TEST(what_was_missed_long_ago_counts_as_nothing)
{
    before_lending(10, 0);
    evicted += 200 * MIB;
    (void)read_evicted(NS_PER_S, 20 * GIB);
    assert_true(lending.loss.mean > 0);
    (void)read_evicted(3600 * NS_PER_S, 20 * GIB);
    assert_true(lending.loss.mean == 0);
}

TEST(nor_what_goes_while_little_is_lent)
{
    before_lending(10, 0);
    (void)read_evicted(NS_PER_S, 0);
    for (unsigned i = 0; i < 60; i++) {
        evicted += 10 * GIB;
        assert_false(read_evicted(NS_PER_S, 0));
    }
}

/* A page is written to swap a little before it counts as reclaimed. */
TEST(what_counts_as_reclaimed_later_is_given_back)
{
    before_lending(10, 0);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    evicted += 200 * MIB;
    limited += 200 * MIB;
    (void)read_evicted(NS_PER_S, 20 * GIB);
    assert_int_equal(lending.loss.owed_bytes, 0);
    limited -= 200 * MIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_int_equal(lending.loss.owed_bytes, 200 * MIB);
}

/* A group that has reached its limit reads again and again what it has no room for, however much
 * memory is free. */
TEST(nor_what_a_groups_limit_evicts)
{
    before_lending(10, 0);
    uint64_t limit = lending.limit_bytes;
    for (unsigned i = 0; i < 60; i++) {
        evicted += GIB;
        limited += GIB;
        (void)read_evicted(NS_PER_S, 20 * GIB);
        assert_true(lending.limit_bytes >= limit);
    }
    evicted += GIB;
    limited += GIB - 200 * MIB; /* the rest of it had to go for what is lent */
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_int_equal(lending.loss.owed_bytes, 200 * MIB);
}

/* The kernel reclaims what nobody wants back, too: that is no loss. Nor is what was missed before
 * the counters were read for the first time. */
TEST(nor_what_is_reclaimed_and_not_missed)
{
    before_lending(10, 0);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    for (unsigned i = 0; i < 10; i++) {
        limited -= GIB; /* reclaimed, and not evicted */
        assert_false(read_evicted(NS_PER_S, 20 * GIB));
    }
    assert_int_equal(lending.loss.owed_bytes, 0);

    lend(UINT64_MAX, 60 * GIB); /* they were not readable when it began */
    evicted = limited = 100 * GIB;
    (void)read_evicted(NS_PER_S, 20 * GIB);
    limited -= GIB;
    (void)read_evicted(NS_PER_S, 20 * GIB);
    assert_int_equal(lending.loss.owed_bytes, 0);
}

/* That little was missed for long is no credit for what goes at once. */
TEST(what_was_not_missed_is_not_saved_up)
{
    before_lending(600, 100 * MIB);
    for (unsigned i = 0; i < 60; i++)
        (void)read_evicted(NS_PER_S, 20 * GIB);
    evicted += GIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_in_range(lending.loss.owed_bytes, 900 * MIB, GIB);
}

/* What was reclaimed before anybody looked is no part of what goes afterwards. */
TEST(what_went_before_the_first_look_is_not_usual)
{
    evicted = 100 * GIB;
    lending_init(&lending, UINT64_MAX, now_ns = 1000 * NS_PER_S);
    active = inactive = limited = 0;
    (void)read_evicted(NS_PER_S, 0);
    for (unsigned i = 0; i < 600; i++) { /* a group at its limit */
        evicted += 100 * MIB;
        limited += 100 * MIB;
        (void)read_evicted(NS_PER_S, 0);
    }
    (void)lending_begin(&lending, now_ns);
    (void)read_evicted(NS_PER_S, 20 * GIB);
    evicted += 200 * MIB;
    assert_true(read_evicted(NS_PER_S, 20 * GIB));
    assert_in_range(lending.loss.owed_bytes, 199 * MIB, 200 * MIB);
}

/* The counters are read less often than the rest. */
TEST(old_counters_say_nothing)
{
    before_lending(600, 100 * MIB);
    MemoryState m = host(40 * GIB);
    for (unsigned i = 0; i < 600; i++) {
        now_ns += NS_PER_S / 10;
        if (i % 10 == 9) {
            evicted += 100 * MIB;
            m.evicted_ns = now_ns;
        }
        m.evicted_bytes = m.reclaimed_bytes = evicted;
        lending_read(&lending, &m, 20 * GIB, now_ns);
        (void)lending_follow(&lending, UINT64_MAX, now_ns);
    }
    assert_int_equal(lending.loss.owed_bytes, 0);
}

/* The kernel ages it where there is no room; then it would count as spare. */
TEST(active_cache_that_ages_is_not_lent)
{
    lending_init(&lending, UINT64_MAX, now_ns = 1000 * NS_PER_S);
    active = 10 * GIB;
    inactive = 0;
    (void)read_evicted(NS_PER_S, 0);
    (void)lending_begin(&lending, now_ns);
    uint64_t limit = lending.limit_bytes;
    active = 4 * GIB;
    inactive = 6 * GIB;
    MemoryState m = host(66 * GIB); /* it seems that there is more to spare */
    m.active_bytes = active;
    m.inactive_bytes = inactive;
    for (unsigned i = 0; i < 1000; i++) {
        lending_read(&lending, &m, 0, now_ns += NS_PER_S);
        (void)lending_follow(&lending, UINT64_MAX, now_ns);
    }
    assert_int_equal(lending.limit_bytes, limit);
    m.inactive_bytes = 0; /* the owner has deleted the files: it is free */
    for (unsigned i = 0; i < 1000; i++) {
        lending_read(&lending, &m, 0, now_ns += NS_PER_S);
        (void)lending_follow(&lending, UINT64_MAX, now_ns);
    }
    assert_true(lending.limit_bytes >= limit + 6 * GIB - LENDING_STEP_BYTES);
}

/* Cache that has become active in a lending is the owner's as before, and when the lending is over
 * there is nothing to keep. */
TEST(active_cache_counts_from_the_beginning_to_the_end)
{
    MemoryState m = host(60 * GIB);
    m.active_bytes = 10 * GIB;
    m.inactive_bytes = 6 * GIB;
    lending_init(&lending, UINT64_MAX, now_ns = 1000 * NS_PER_S);
    lending_read(&lending, &m, 0, now_ns);
    uint64_t lendable = lending.lendable_bytes;
    (void)lending_begin(&lending, now_ns);
    m.active_bytes = 12 * GIB;
    lending_read(&lending, &m, 0, now_ns += NS_PER_S);
    assert_int_equal(lending.lendable_bytes, lendable);
    lending_end(&lending);
    m.active_bytes = 4 * GIB;
    lending_read(&lending, &m, 0, now_ns += NS_PER_S);
    assert_int_equal(lending.lendable_bytes, lendable);
}

TEST(reads_what_the_kernel_evicts)
{
    MemoryState m = host(60 * GIB);
    memory_state_evicted(&m,
                         "pgpgin 7\npswpout 3\nworkingset_refault_anon 5\n"
                         "workingset_refault_file 11\nworkingset_restore_file 99\n",
                         4096);
    assert_int_equal(m.evicted_bytes, 19 * 4096);
    assert_int_equal(m.reclaimed_bytes, 19 * 4096); /* an old kernel */
    memory_state_evicted(&m,
                         "pswpout 3\nworkingset_refault_file 11\npgsteal_kswapd 2\n"
                         "pgsteal_direct 4\npgsteal_file 400\npgsteal_khugepaged 1\n",
                         4096);
    assert_int_equal(m.evicted_bytes, 14 * 4096);
    assert_int_equal(m.reclaimed_bytes, 7 * 4096);
    memory_state_evicted(&m, "", 4096);
    assert_int_equal(m.evicted_bytes, 0);
}

/* vm.overcommit_memory = 2: all of a pool counts as promised, used or not. */
TEST(lends_no_more_than_the_kernel_promises)
{
    static const char info[] = "CommitLimit: 31457280 kB\nCommitted_AS: 10485760 kB\n";
    MemoryState m = host(60 * GIB);
    memory_state_commit(&m, info, "0\n");
    assert_false(m.strict);
    memory_state_commit(&m, info, "2\n");
    assert_true(m.strict);
    assert_int_equal(m.commit_left_bytes, 20 * GIB);
    lending_init(&lending, UINT64_MAX, NS_PER_S);
    lending_read(&lending, &m, 0, 2 * NS_PER_S);
    uint64_t left = 20 * GIB - memory_headroom_bytes(&m);
    assert_true(lending.ceiling_bytes <= left && lending.ceiling_bytes + MIB > left);
    assert_true(lending_spare(&lending) <= left);
    assert_false(lending.far_below);
    m.commit_left_bytes = 4 * GIB;
    lending_read(&lending, &m, 0, 3 * NS_PER_S);
    assert_true(lending.far_below);
}

/* ---- the load -------------------------------------------------------------------------------- */

TEST(reads_the_load_average)
{
    static const char *const bad[] = {"", "x", "-1 0 0", "0.1x", "nan 0 0", "inf 0 0", "1e99 0"};
    double load;
    assert_int_equal(load_parse("2.50 2.65 2.48 7/112 19082\n", &load), 0);
    assert_true(load == 2.5);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(load_parse(bad[i], &load), -EINVAL);
}

/* The kernel's own way: every five seconds, load = load * exp(-5/60) + running * (1 - exp(-5/60)).
 * One owner's task, and ours that runs all the time from the 100th second to the 400th. */
TEST(takes_out_what_is_ours)
{
    LoadShare share = {0};
    double average = 0, keep = exp(-5.0 / 60);
    uint64_t ours = 0, t = NS_PER_S;
    for (unsigned s = 1; s <= 900; s++) {
        bool mine = s > 100 && s <= 400, owners = s > 600;
        t += NS_PER_S;
        ours += mine ? 2 * NS_PER_S : 0; /* two threads */
        load_share_update(&share, ours, t);
        if (s % 5 == 0)
            average = average * keep + ((mine ? 2 : 0) + (owners ? 1 : 0)) * (1 - keep);
        double left = load_less(average, &share, 1);
        if (s <= 600) /* what steps of five seconds and of one differ by */
            assert_true(left < 0.17);
        if (s > 850)
            assert_true(left > 0.95);
    }
}

TEST(a_new_process_starts_over)
{
    LoadShare share = {0};
    uint64_t t = 1000 * NS_PER_S;
    load_share_update(&share, 500 * NS_PER_S, t); /* what it did before is not known */
    assert_true(share.share == 0);
    load_share_update(&share, 560 * NS_PER_S, t += 60 * NS_PER_S);
    assert_true(fabs(share.share - (1 - exp(-1))) < 1e-9);
    double before = share.share;
    load_share_update(&share, 1, t); /* at the same instant: another process, nothing happens */
    assert_true(share.share == before);
    load_share_update(&share, NS_PER_S, t += NS_PER_S); /* less than last time: another process */
    assert_true(share.share < before);
    load_share_gone(&share, t += 600 * NS_PER_S);
    assert_true(share.share < 1e-4);
    load_share_update(&share, NS_PER_S, t += NS_PER_S); /* its time counts from its beginning */
    assert_true(fabs(share.share - (1 - exp(-1.0 / 60))) < 1e-4);
    load_share_update(&share, 5 * NS_PER_S, t - 5 * NS_PER_S); /* a clock that goes back */
    assert_true(load_less(0.001, &share, 1) == 0);
}

/* Hours that ran while nobody looked are not of the last second, and would hide what others run. */
TEST(a_process_that_could_not_be_seen_starts_over)
{
    LoadShare share = {0};
    uint64_t t = 1000 * NS_PER_S;
    load_share_gone(&share, t);
    load_share_update(&share, NS_PER_S, t += NS_PER_S);
    const double before = share.share;
    load_share_lost(&share, t += NS_PER_S);
    assert_true(share.share < before);
    load_share_update(&share, 3600 * NS_PER_S, t += NS_PER_S);
    assert_true(share.share < before);
    load_share_update(&share, 3601 * NS_PER_S, t += NS_PER_S);
    assert_true(fabs(share.share - before * exp(-3.0 / 60) - (1 - exp(-1.0 / 60))) < 1e-3);
}
