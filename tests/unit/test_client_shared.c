/* SPDX-License-Identifier: MIT */
/* Readers of the same part of the same file share a region's memory. Here they are two regions of
 * one process, which share as those of two do. */
#include "libdodo/client.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 300000, BLOCK = 5 };

static int set_up_shared(void **state)
{
    (void)state;
    w.shares = true;
    set_up_with(FILE_BYTES, sum_of);
    return 0;
}

static int tear_down_shared(void **state)
{
    int result = tear_down(state);
    w.shares = false;
    return result;
}

#define CASE(name) TEST_WITH(name, set_up_shared, tear_down_shared)

/* The one that opens the region at the manager, with all of it. */
static int opener(unsigned flags)
{
    int rd = open_at(LEN, 0, DODO_RDONLY | flags);
    assert_true(rd >= 0);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_int_equal(w.heard.opens, 1);
    assert_false(info(rd).guest);
    return rd;
}

static int guest(unsigned flags)
{
    int rd = open_at(LEN, 0, DODO_RDONLY | flags);
    assert_true(rd >= 0);
    return rd;
}

/* The background's files are read meanwhile. */
static void pass_ms(uint64_t ms)
{
    for (uint64_t until = w.now + ms * NS_PER_MS; w.now < until;) {
        uint64_t next = min_u64(w.now + NS_PER_MS, until);
        for (Call *call; (call = next_file_needed(w.channels[0]));)
            do_file(call);
        run_until(next);
        w.now = max_u64(w.now, next);
    }
}

/* ---- joining -------------------------------------------------------------------------------- */

CASE(share__what_one_has_filled_the_other_reads)
{
    int first = opener(0), second = guest(0);
    assert_true(info(second).guest);
    assert_int_equal(w.heard.opens, 1);
    assert_reads_without_file(second, LEN);
    assert_int_equal(close_rd(second), 0);
    assert_int_equal(w.heard.closes, 0);
    assert_reads_without_file(first, LEN);
    assert_int_equal(close_rd(first), 0);
    assert_int_equal(w.heard.closes, 1);
    assert_int_equal(w.heard.releases, 0);
}

CASE(share__what_a_guest_has_filled_its_owner_reads)
{
    int first = open_at(LEN, 0, DODO_RDONLY), second = guest(0);
    assert_reads_file(second, 0, 0, LEN);
    settle();
    assert_reads_without_file(first, LEN);
    assert_reads_without_file(second, LEN);
}

CASE(share__other_ranges_and_writers_do_not)
{
    int writer = open_at(LEN, 0, 0), also = open_at(LEN, 0, DODO_RDONLY | DODO_MIRROR);
    assert_null(w.shared.map);
    assert_false(info(writer).guest || info(also).guest);
}

/* A later change might not show in its stamp. */
CASE(share__not_a_file_that_was_changed_just_now)
{
    w.disk.stamp_taken_ns = 5;
    int first = open_at(LEN, 0, DODO_RDONLY), second = open_at(LEN, 0, DODO_RDONLY);
    assert_null(w.shared.map);
    assert_int_equal(w.heard.opens, 2);
    assert_false(info(first).guest || info(second).guest);
}

CASE(share__not_while_somebody_can_write)
{
    w.disk.lease = LEASE_WRITER;
    (void)open_at(LEN, 0, DODO_RDONLY);
    assert_null(w.shared.map);
}

/* What the other one has filled is not read again. */
CASE(share__a_guest_prefetches_nothing_that_is_there)
{
    (void)opener(0);
    int second = guest(0);
    uint64_t before = w.disk.bytes_read;
    assert_int_equal(client_prefetch(w.client, second, 0, LEN), 0);
    pass_ms(1000);
    assert_int_equal(w.disk.bytes_read, before);
    assert_int_equal(stats().prefetches, 0);
}

/* ---- another process is about to open it ---------------------------------------------------- */

CASE(share__waits_for_the_one_that_opens_it)
{
    w.shared.elsewhere = true;
    int rd = guest(0);
    assert_true(info(rd).waits);
    assert_int_equal(w.heard.opens, 0);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(info(rd).hits, 0);
    w.shared.elsewhere = false; /* it has died */
    pass_ms(3000);
    assert_true(info(rd).active);
    assert_int_equal(w.heard.opens, 1);
    assert_int_equal(close_rd(rd), 0);
}

CASE(share__a_region_that_waits_is_closed)
{
    w.shared.elsewhere = true;
    int rd = guest(0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 0);
}

/* The opener has died while it told where the region is. */
CASE(share__half_a_place_is_none)
{
    int first = opener(0);
    w.shared.map->turn |= 1;
    int second = guest(0);
    assert_true(info(second).waits);
    assert_false(info(second).active);
    assert_true(info(first).active);
}

/* The host closes the region, and knows its address no more. */
static void opener_leaves(int rd)
{
    assert_int_equal(close_rd(rd), 0);
    imd_data_close(w.data, w.cmd.last.region);
}

/* ---- the opener goes ------------------------------------------------------------------------- */

CASE(share__a_guest_takes_over_what_the_owner_leaves)
{
    int first = opener(0), second = guest(0);
    opener_leaves(first);
    assert_int_equal(w.heard.releases, 1); /* though it was not asked to retain it */
    w.cmd.reuse = true;
    assert_reads_file(second, 0, 0, 4096); /* it finds that the region is gone */
    pass_ms(3000);
    assert_true(info(second).active && info(second).reused);
    assert_int_equal(w.heard.opens, 2);
    assert_true(w.heard.open.flags & REGION_RETAIN);
    assert_int_equal(stats().inherited, 1);
    assert_reads_without_file(second, LEN);
    assert_int_equal(close_rd(second), 0);
}

static unsigned not_retained;

static void on_line(void *ctx, int level, const char *text)
{
    (void)ctx, (void)level;
    not_retained += strncmp(text, "region_not_retained", 19) == 0;
}

/* It asked for no region to be retained: that none can be is no news to it. */
CASE(share__a_region_that_cannot_be_left_is_not_told_of)
{
    int first = opener(0);
    (void)guest(0);
    not_retained = 0;
    w.client->hooks.log = on_line;
    w.disk.lease = LEASE_WRITER;
    assert_int_equal(close_rd(first), 0);
    assert_int_equal(w.heard.releases, 0);
    assert_int_equal(not_retained, 0);
}

/* It may have read what the file holds now: it does not go back. */
CASE(share__what_was_left_is_not_taken_when_the_file_has_changed)
{
    int first = opener(0), second = guest(0);
    opener_leaves(first);
    w.cmd.reuse = true;
    w.disk.stamp_moved = true;
    assert_reads_file(second, 0, 0, 4096);
    w.cmd.reuse = false;
    pass_ms(3000);
    assert_true(info(second).active);
    assert_false(info(second).reused);
    assert_false(w.heard.open.flags & REGION_RETAIN);
    assert_int_equal(stats().inherited, 0);
}

CASE(share__a_guest_without_its_host_is_lost)
{
    (void)opener(0);
    int second = guest(0);
    static uint8_t buf[4096];
    w.net.imd_dead = true;
    assert_int_equal(read_at(second, 0, buf, sizeof buf), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(share__a_guest_with_fallback_gets_other_memory)
{
    int first = opener(DODO_FALLBACK), second = guest(DODO_FALLBACK);
    w.net.refuse = STATUS_INVALID;
    assert_reads_file(second, 0, 0, 4096);
    w.net.refuse = 0;
    pass_ms(10000);
    assert_true(info(second).active);
    assert_false(info(second).guest); /* that place has failed it */
    assert_true(info(first).active);
    assert_reads_file(second, 0, 0, LEN);
}

/* It does not tell the others that there is no memory: they wait until it has ended. */
CASE(share__a_process_that_ends_is_followed)
{
    (void)opener(0);
    client_stop(w.client, w.now);
    assert_int_equal(w.shared.map->place.address.region, 0);
    assert_int_equal(w.shared.map->vacant, 0);
}

/* ... also when it was the other one's wish, and that one has closed it. */
CASE(share__what_a_guest_wants_retained_is_retained)
{
    int first = opener(0), second = guest(DODO_RETAIN);
    assert_int_equal(close_rd(second), 0);
    assert_int_equal(close_rd(first), 0);
    assert_int_equal(w.heard.releases, 1);
    w.cmd.reuse = true;
    int next = open_at(LEN, 0, DODO_RDONLY | DODO_RETAIN);
    assert_true(info(next).reused);
    assert_reads_without_file(next, LEN);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* Another process has read other bytes of the same block. No host is to blame. */
CASE(share__each_goes_alone_when_the_file_has_changed)
{
    int first = open_at(LEN, 0, DODO_RDONLY), second = guest(0);
    w.shared.map->checks[BLOCK].sum = 4711;
    assert_reads_file(second, 0, 0, LEN);
    settle();
    assert_true(w.shared.map->changed);
    for (unsigned i = 0; i < 3; i++) {
        assert_reads_file(first, 0, 0, LEN);
        assert_reads_file(second, 0, 0, LEN);
        pass_ms(3000);
    }
    assert_true(info(first).active && info(second).active);
    assert_false(info(first).guest || info(second).guest);
    assert_true(info(first).address.region != info(second).address.region);
    assert_int_equal(w.heard.reports, 0);
    assert_reads_without_file(first, LEN);
    assert_reads_without_file(second, LEN);
}

/* ... which is found while the manager is asked for what the opener has left. */
CASE(share__a_change_comes_before_the_managers_answer)
{
    int first = opener(DODO_FALLBACK), second = guest(DODO_FALLBACK);
    opener_leaves(first);
    w.cmd.reuse = true;
    assert_reads_file(second, 0, 0, 4096);
    w.cmd.dead = true;
    pass_ms(20);
    w.shared.map->changed = 1;
    assert_reads_file(second, 0, 0, 4096);
    w.cmd.dead = false;
    pass_ms(5000);
    assert_true(info(second).active);
    assert_false(w.heard.open.flags & REGION_RETAIN);
    assert_int_equal(stats().inherited, 0);
}

/* ---- moves ---------------------------------------------------------------------------------- */

CASE(share__the_others_follow_one_that_moves)
{
    second_start(SECOND_EPOCH);
    int first = opener(0), second = guest(0);
    w.cmd.drained[w.cmd.drained_count++] = w.epoch;
    pass_ms(30000);
    assert_int_equal(info(first).address.epoch, SECOND_EPOCH);
    assert_int_equal(w.shared.map->place.address.epoch, SECOND_EPOCH);
    imd_data_close(w.data, w.cmd.last.region);
    assert_reads_file(second, 0, 0, LEN);
    pass_ms(3000);
    assert_true(info(second).guest);
    assert_int_equal(info(second).address.epoch, SECOND_EPOCH);
    w.shared.map->changed = 1; /* and they part there, too */
    assert_reads_file(first, 0, 0, LEN);
    pass_ms(3000);
    assert_true(info(first).active);
    assert_int_equal(close_rd(first), 0);
    assert_int_equal(close_rd(second), 0);
}

/* The one that moves it has seen nothing of that. */
CASE(share__what_a_guest_has_filled_moves)
{
    second_start(SECOND_EPOCH);
    int first = open_at(LEN, 0, DODO_RDONLY), second = guest(0);
    assert_reads_file(second, 0, 0, LEN);
    settle();
    w.cmd.drained[w.cmd.drained_count++] = w.epoch;
    pass_ms(30000);
    assert_int_equal(info(first).address.epoch, SECOND_EPOCH);
    assert_reads_without_file(first, LEN);
    assert_int_equal(close_rd(first), 0);
    assert_int_equal(close_rd(second), 0);
}

/* Its host dies before it has left it. */
CASE(share__the_others_follow_one_that_has_moved_in_part)
{
    second_start(SECOND_EPOCH);
    int first = opener(DODO_FALLBACK), second = guest(DODO_FALLBACK);
    w.cmd.move_rate = 10; /* some hours */
    w.cmd.drained[w.cmd.drained_count++] = w.epoch;
    pass_ms(10000);
    assert_int_equal(info(first).copies, 2);
    assert_int_equal(w.shared.map->place.address.epoch, w.epoch);
    w.net.imd_dead = true;
    assert_reads_file(first, 0, 0, LEN);
    assert_reads_file(second, 0, 0, LEN);
    pass_ms(30000);
    assert_int_equal(info(first).address.epoch, SECOND_EPOCH);
    assert_int_equal(info(second).address.epoch, SECOND_EPOCH);
    assert_true(info(second).guest);
}

/* ... so that the region has given bytes of the changed file already. */
CASE(share__what_was_left_is_not_taken_after_a_change_meanwhile)
{
    int first = opener(DODO_FALLBACK), second = guest(DODO_FALLBACK);
    opener_leaves(first);
    w.cmd.reuse = true;
    assert_reads_file(second, 0, 0, 4096);
    w.cmd.dead = true;
    pass_ms(20);
    w.disk.stamp_moved = true;
    memset(w.disk.bytes, 0x5a, LEN);
    assert_reads_file(second, 0, 0, LEN);
    w.cmd.dead = false;
    for (unsigned i = 0; i < 50; i++) {
        pass_ms(100);
        assert_reads_file(second, 0, 0, LEN);
    }
    assert_true(info(second).active);
    assert_int_equal(stats().inherited, 0);
}

/* ---- discards ------------------------------------------------------------------------------- */

static ssize_t discard(int rd)
{
    Call call;
    call_discard_start(&call, w.channels[1], rd, 0, LEN, w.now);
    return done(&call);
}

CASE(share__what_others_read_is_not_discarded)
{
    int first = opener(0), second = guest(0);
    assert_int_equal(discard(first), 0);
    assert_int_equal(discard(second), 0);
    assert_reads_without_file(first, LEN);
    assert_reads_without_file(second, LEN);
}

CASE(share__who_discards_alone_shares_no_more)
{
    int first = opener(0);
    assert_int_equal(discard(first), 0);
    int second = guest(0);
    assert_false(info(second).guest);
    assert_int_equal(w.heard.opens, 2);
    assert_reads_file(first, 0, 0, LEN);
    settle();
    assert_reads_without_file(first, LEN);
    assert_reads_file(second, 0, 0, LEN);
}
