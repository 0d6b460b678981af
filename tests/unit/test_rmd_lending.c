/* SPDX-License-Identifier: MIT */
/* How the limit follows what can be lent, and what the owner loses. */
#include "rmd/lending.h"
#include "tests/lib/case.h"
#include "tests/unit/memory_fixture.h"

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

static bool read_in_group(uint64_t spare, uint64_t left, uint64_t held)
{
    MemoryState m = host(spare);
    memory_state_limit(&m, 2 * GIB, left);
    now_ns += NS_PER_S / 50;
    lending_read(&lending, &m, held, now_ns);
    return lending_follow(&lending, UINT64_MAX, now_ns);
}

static uint64_t lend_in_group(void)
{
    now_ns = 1000 * NS_PER_S;
    lending_init(&lending, UINT64_MAX, now_ns);
    (void)read_in_group(60 * GIB, 2 * GIB, 0);
    return lending_begin(&lending, now_ns);
}

/* The host has more to spare than the group may have, also when the storm goes on. */
TEST(a_group_gives_nothing_back_for_a_storm_outside_of_it)
{
    const uint64_t limit = lend_in_group();
    for (unsigned i = 1; i <= 10; i++)
        assert_false(read_in_group(60 * GIB - i * 100 * MIB, GIB, GIB));
    assert_int_equal(lending.limit_bytes, limit);
    for (unsigned i = 1; i <= 40; i++)
        (void)read_in_group(59 * GIB - i * GIB, GIB, GIB);
    assert_true(lending.limit_bytes < limit);
}

TEST(a_group_gives_back_ahead_of_a_storm_in_it)
{
    (void)lend_in_group();
    for (unsigned i = 1; i <= 10; i++)
        (void)read_in_group(60 * GIB - i * 40 * MIB, GIB - i * 40 * MIB, GIB);
    assert_true(lending.group.ahead_bytes > 400 * MIB);
    assert_true(lending.limit_bytes <= lending.lendable_bytes - 400 * MIB);
}

/* What the kernel does not count as free at present is the host's. */
TEST(a_group_lends_beside_what_lies_on_the_processors_lists)
{
    MemoryState m = host(60 * GIB);
    m.aside_bytes = 5 * GIB;
    memory_state_limit(&m, 2 * GIB, 2 * GIB);
    lending_init(&lending, UINT64_MAX, NS_PER_S);
    lending_read(&lending, &m, 0, NS_PER_S);
    assert_true(lending_begin(&lending, NS_PER_S) > 1800 * MIB);
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
            assert_false(lending.host.steady);
            spare -= (i == 3 ? odd[k].mib : 10) * MIB;
            (void)read_after((i == 3 ? odd[k].ms : 20) * NS_PER_MS, spare, 0);
        }
        assert_true(lending.host.steady);
        assert_in_range(lending.host.ahead_bytes / MIB, 245, 255); /* of 500 MiB/s, half a second */
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
