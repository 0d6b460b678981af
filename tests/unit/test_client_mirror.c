/* SPDX-License-Identifier: MIT */
/* DODO_MIRROR: two copies of a region, on two hosts. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 200000 };

#define CASE(name) TEST_WITH(name, set_up_two, tear_down)

/* What hosts return is checked. */
static int set_up_checked(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, blocksum);
    second_start(SECOND_EPOCH);
    return 0;
}

static ClientRegionInfo copy(int rd, unsigned i)
{
    ClientRegionInfo s;
    assert_int_equal(client_stripe_info(w.client, rd, i, &s), 0);
    return s;
}

static bool both(int rd)
{
    return copy(rd, 0).active && copy(rd, 1).active;
}

static int opened(unsigned flags)
{
    int rd = open_at(LEN, 0, DODO_MIRROR | flags);
    assert_true(rd >= 0);
    return rd;
}

/* Both copies have all of it. */
static int filled(unsigned flags)
{
    int rd = opened(flags);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_true(both(rd));
    assert_true(client_copies_even(w.client, rd));
    assert_int_equal(info(rd).filled_bytes, LEN);
    return rd;
}

static void assert_reads_no_file(int rd)
{
    assert_reads_without_file(rd, LEN);
}

/* ---- opening and closing -------------------------------------------------------------------- */

CASE(open__makes_two_copies_on_two_hosts)
{
    int rd = opened(0);
    assert_int_equal(w.heard.opens, 2);
    assert_true(both(rd));
    assert_int_equal(copy(rd, 0).address.epoch, w.epoch);
    assert_int_equal(copy(rd, 1).address.epoch, SECOND_EPOCH);
    assert_int_equal(info(rd).stripes, 0);
    assert_int_equal(info(rd).len, LEN);
    assert_int_equal(client_region_next(w.client, -1), rd);
    assert_int_equal(client_region_next(w.client, rd), -1);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 2);
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(stats().regions, 0);
}

CASE(open__of_one_host_makes_one_copy_and_tries_again_later)
{
    w.second.dead = true;
    int rd = opened(0);
    assert_true(copy(rd, 0).active);
    assert_false(copy(rd, 1).active);
    assert_int_equal(stats().refractions, 0);
    int other = open_at(8192, LEN, 0); /* nobody else has to wait for that */
    assert_true(other >= 0);
    unsigned opens = w.heard.opens;
    run_until(w.now + 60 * NS_PER_S); /* at 5, 10, 20, 40 seconds */
    assert_in_range(w.heard.opens - opens, 2, 6);
    assert_int_equal(stats().refractions, 0);
    second_start(SECOND_EPOCH + 1);
    run_until(w.now + 60 * NS_PER_S);
    assert_true(both(rd));
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(close_rd(other), 0);
}

/* A second copy whose first one is lost meanwhile, or a manager that names its host all the same.
 */
CASE(open__takes_no_copy_on_the_same_host)
{
    w.second.epoch = 0; /* the manager knows of one host, and ignores what is to be avoided */
    int rd = opened(0);
    assert_true(copy(rd, 0).active);
    assert_false(copy(rd, 1).active);
    run_until(w.now + 20 * NS_PER_S);
    assert_false(copy(rd, 1).active);
    assert_int_equal(close_rd(rd), 0);
    w.second.epoch = SECOND_EPOCH;
}

CASE(open__stripes_have_two_copies_each)
{
    int rd = opened(DODO_STRIPE);
    assert_int_equal(info(rd).stripes, 4);
    assert_int_equal(w.heard.opens, 8);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(copy(rd, i).len, copy(rd, 4 + i).len);
        assert_true(copy(rd, i).address.epoch != copy(rd, 4 + i).address.epoch);
    }
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    write_some(rd, 60000, 20000, 7);
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
    assert_int_equal(close_rd(rd), 0);
}

CASE(close__retains_one_of_two)
{
    int rd = filled(DODO_RETAIN);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 2);
    assert_int_equal(w.heard.releases, 1);
}

/* ---- reading -------------------------------------------------------------------------------- */

CASE(read__fills_both_copies_from_one_look_at_the_file)
{
    int rd = opened(0);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_in_range(w.disk.bytes_read, LEN, LEN + 4096);
    assert_true(client_copies_even(w.client, rd));
    assert_int_equal(info(rd).filled_bytes, LEN);
}

CASE(read__goes_on_at_the_other_copy_when_one_is_lost)
{
    int rd = filled(0);
    w.net.imd_dead = true;
    uint64_t begun = w.now;
    assert_reads_no_file(rd);
    assert_in_range(w.now - begun, 0, 200 * NS_PER_MS); /* it does not wait for the deadline */
    run_until(w.now + 2 * NS_PER_S);
    assert_false(copy(rd, 0).active);
    assert_true(copy(rd, 1).active);
    assert_reads_no_file(rd);
    assert_int_equal(stats().hosts_lost, 1);
}

CASE(read__of_the_second_copy_goes_on_at_the_first)
{
    int rd = filled(0);
    w.second.dead = true;
    for (unsigned i = 0; i < 40; i++) {
        assert_reads_no_file(rd);
        run_until(w.now + 20 * NS_PER_MS);
    }
    run_until(w.now + 7 * NS_PER_S);
    assert_false(copy(rd, 1).active);
}

/* The host has given up the memory of all of it, which the process has not heard. */
static void first_is_emptied(int rd)
{
    ClientRegionInfo first = copy(rd, 0);
    const ImdRegion region = {.region = first.address.region,
                              .opening = first.address.opening,
                              .capability = first.address.capability,
                              .len = LEN};
    imd_data_drop(w.data, region.region);
    assert_int_equal(imd_data_add(w.data, &region), 0);
}

/* What the one lacks comes from the other one, and counts once. */
CASE(read__of_what_one_copy_has_lost_counts_once)
{
    int rd = filled(0);
    first_is_emptied(rd);
    ClientRegionInfo before = info(rd);
    uint64_t turns = stats().turns;
    for (unsigned i = 0; i < 64; i++)
        assert_reads_no_file(rd);
    assert_true(stats().turns > turns);
    assert_int_equal(info(rd).hits - before.hits, 64 * LEN);
    assert_int_equal(info(rd).misses, before.misses);
}

CASE(read__asks_the_copy_that_answers_sooner)
{
    int rd = filled(0);
    w.net.trickle_ns = 5 * NS_PER_MS; /* the first one is slow now */
    uint8_t byte[100];
    unsigned before = w.second.reads;
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(read_at(rd, i * 100, byte, sizeof byte), sizeof byte);
    assert_in_range(w.second.reads - before, 40, 64);
    assert_true(both(rd));
}

/* Each asks the copy for which fewer wait, if both answer as soon. */
CASE(read__several_at_once_ask_both_copies)
{
    enum { READS = 16 };
    static uint8_t data[READS][5000];
    static Call calls[READS];
    int rd = filled(0);
    for (unsigned round = 0; round < 3; round++) {
        unsigned before = w.second.reads;
        for (unsigned i = 0; i < READS; i++)
            call_read_start(&calls[i], w.channels[2], rd, (off_t)i * 5000, data[i], sizeof *data,
                            w.now);
        for (unsigned i = 0; i < READS; i++) {
            assert_int_equal(finish(&calls[i]), sizeof *data);
            assert_memory_equal(data[i], w.disk.bytes + i * 5000, sizeof *data);
        }
        assert_in_range(w.second.reads - before, READS / 4, READS * 3 / 4);
    }
}

CASE(read__a_copy_that_nobody_reads_is_looked_at)
{
    int rd = filled(0);
    unsigned before = w.second.reads;
    run_until(w.now + 12 * NS_PER_S);
    assert_in_range(w.second.reads - before, 2, 3);
    w.second.dead = true;
    run_until(w.now + 7 * NS_PER_S);
    assert_false(copy(rd, 1).active);
}

/* However many there are, few are asked in that time, each in its turn; the loss of a host is seen
 * with the first one. */
CASE(read__of_many_copies_a_few_are_looked_at)
{
    enum { REGIONS = 120, BYTES = 4096 };
    int rds[REGIONS];
    for (unsigned i = 0; i < REGIONS; i++) {
        rds[i] = open_at(BYTES, (uint64_t)i * BYTES, DODO_MIRROR);
        assert_reads_file(rds[i], (uint64_t)i * BYTES, 0, BYTES);
    }
    settle();
    uint64_t before = imd_data_stats(w.data)->reads + w.second.reads;
    run_until(w.now + 20 * NS_PER_S);
    assert_in_range(imd_data_stats(w.data)->reads + w.second.reads - before, 300, 410);
    w.second.dead = true;
    run_until(w.now + 7 * NS_PER_S);
    for (unsigned i = 0; i < REGIONS; i++) {
        assert_true(copy(rds[i], 0).active);
        assert_false(copy(rds[i], 1).active);
        assert_int_equal(close_rd(rds[i]), 0);
    }
}

CASE(read__both_lost_is_no_memory)
{
    uint8_t byte;
    int rd = filled(0);
    w.net.imd_dead = w.second.dead = true;
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(stats().active, 0);
    assert_int_equal(close_rd(rd), -1);
}

CASE(read__both_lost_with_fallback_is_the_file)
{
    int rd = filled(DODO_FALLBACK);
    w.net.imd_dead = w.second.dead = true;
    assert_reads_file(rd, 0, 0, LEN);
    second_start(SECOND_EPOCH + 1);
    run_until(w.now + 20 * NS_PER_S);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, LEN);
}

/* ---- writing -------------------------------------------------------------------------------- */

CASE(write__goes_to_both_copies)
{
    int rd = filled(0);
    write_some(rd, 100, 50000, 1);
    write_some(rd, 123456, 3, 2);
    assert_true(both(rd));
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
    second_start(SECOND_EPOCH + 1); /* nothing is left of it */
}

/* Also the sum of a block of which a part was written is known for both. */
TEST_WITH(write__of_parts_of_blocks_is_checked_in_both, set_up_checked, tear_down)
{
    int rd = filled(0);
    write_some(rd, 100, 50000, 1);
    write_some(rd, 123456, 3, 2);
    assert_reads_no_file(rd);
    w.net.imd_dead = true;
    write_some(rd, 7, 1, 3);
    assert_false(copy(rd, 0).active);
    assert_reads_no_file(rd);
}

/* The remote halves begin in one step, before the file is asked for anything. */
CASE(write__starts_both_halves_together)
{
    int rd = filled(0);
    static uint8_t data[5000];
    Call call;
    write_some(rd, 0, 10, 1); /* the thread knows both hosts now */
    unsigned to_first = 0, to_second = 0, head = w.net.tail;
    call_write_start(&call, w.channels[1], rd, 0, data, sizeof data, w.now);
    channel_step(w.channels[1], w.now);
    for (unsigned i = head; i < w.net.tail; i++) {
        to_first += w.net.queue[i % QUEUE_MAX].to.host[0] == HOST_IMD;
        to_second += w.net.queue[i % QUEUE_MAX].to.host[0] == HOST_SECOND;
    }
    assert_int_equal(to_first, to_second);
    assert_true(to_first > 0);
    assert_int_equal(call.need, NEED_FILE_WRITE);
    assert_int_equal(done(&call), sizeof data);
    assert_reads_no_file(rd);
}

/* It never returns before a copy that missed it is dropped. */
CASE(write__a_copy_that_misses_it_is_dropped_before_it_returns)
{
    int rd = filled(0);
    w.second.dead = true;
    write_some(rd, 0, 5000, 3);
    assert_true(copy(rd, 0).active);
    assert_false(copy(rd, 1).active);
    w.second.dead = false;
    assert_reads_no_file(rd);
    w.net.imd_dead = true;
    write_some(rd, 0, 5000, 4);
    assert_false(copy(rd, 0).active);
    assert_int_equal(stats().poisoned, 2);
}

CASE(write__that_the_file_refuses_unfills_both_copies)
{
    int rd = filled(0);
    uint8_t data[8192] = {1};
    w.disk.write_error = EIO;
    assert_int_equal(write_at(rd, 4096, data, sizeof data), -1);
    assert_int_equal(fail_error, EIO);
    w.disk.write_error = 0;
    assert_true(both(rd));
    assert_int_equal(stats().voided, 2);
    assert_int_equal(info(rd).filled_bytes, 47 * 4096); /* of 49 blocks */
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
}

/* The file is wrong there, and so is a copy that does not answer: it is dropped first. */
CASE(write__that_the_file_refuses_waits_for_a_silent_copy)
{
    uint8_t data[8192] = {1};
    int rd = filled(0);
    w.second.dead = true;
    w.disk.write_error = EIO;
    assert_int_equal(write_at(rd, 4096, data, sizeof data), -1);
    assert_int_equal(fail_error, EIO);
    assert_true(copy(rd, 0).active);
    assert_false(copy(rd, 1).active);
    w.disk.write_error = 0;
    assert_reads_file(rd, 0, 0, LEN);
}

/* All have a state for their own half; a few share what there is for the other one. */
CASE(write__many_at_once_get_on)
{
    enum { WRITES = 64 };
    static uint8_t data[WRITES][2000];
    static Call calls[WRITES];
    int rd = filled(0);
    for (unsigned i = 0; i < WRITES; i++) {
        memset(data[i], (int)i, sizeof data[i]);
        call_write_start(&calls[i], w.channels[2], rd, (off_t)i * 3000, data[i], sizeof data[i],
                         w.now);
    }
    for (unsigned i = 0; i < WRITES; i++)
        assert_int_equal(finish(&calls[i]), sizeof data[i]);
    assert_true(both(rd));
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    w.net.imd_dead = true;
    assert_reads_file(rd, 0, 0, LEN);
}

/* ---- healing -------------------------------------------------------------------------------- */

CASE(heal__a_new_copy_is_made_of_the_other_one)
{
    int rd = filled(0);
    w.second.dead = true;
    write_some(rd, 5000, 5000, 9);
    assert_false(copy(rd, 1).active);
    second_start(SECOND_EPOCH + 1);
    uint64_t before = w.disk.bytes_read;
    run_until(w.now + 20 * NS_PER_S);
    assert_true(both(rd));
    assert_true(client_copies_even(w.client, rd));
    assert_int_equal(w.disk.bytes_read, before);
    assert_true(stats().heals > 0);
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
}

/* The rest of a piece, of which the host lacks a block that it had, is asked for again. */
CASE(heal__goes_on_after_what_is_not_there)
{
    enum { GONE = 20, BLOCKS = (LEN + 4095) / 4096 };
    uint8_t body[WIRE_WRITE_HEADER_SIZE];
    int rd = filled(0);
    ClientRegionInfo first = copy(rd, 0);
    w.second.dead = true;
    write_some(rd, 0, 1, 1);
    WireWrite gone = {.address = first.address,
                      .kind = WRITE_VOID,
                      .number = 40,
                      .offset = GONE * 4096,
                      .len = 4096,
                      .segment = 1024,
                      .index = WIRE_INDEX_NONE};
    Session *s = endpoint_walk(w.imd, NULL);
    imd_data_input(w.data, s, WIRE_WRITE, body, wire_write_encode_header(&gone, body), w.now);
    assert_false(imd_data_block_filled(w.data, first.address.region, GONE));
    second_start(SECOND_EPOCH + 1);
    run_until(w.now + 20 * NS_PER_S);
    assert_true(both(rd));
    for (unsigned b = 0; b < BLOCKS; b++)
        if (b < GONE - 1 || b > GONE + 1) /* its neighbours share segments with it */
            assert_true(imd_data_block_filled(w.second.data, copy(rd, 1).address.region, b));
}

/* What a host has changed does not spread. */
TEST_WITH(heal__copies_only_what_is_proven, set_up_checked, tear_down)
{
    int rd = filled(0);
    w.second.dead = true;
    write_some(rd, 0, 1, 1);
    w.pool[20 * 4096 + 7] ^= 1;
    second_start(SECOND_EPOCH + 1);
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(stats().corrupt, 1);
    assert_reads_file(rd, 0, 0, LEN);
    w.net.imd_dead = true;
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(heal__what_the_program_gives_goes_to_both)
{
    int rd = opened(0);
    struct iovec iov = {w.disk.bytes, LEN};
    Call call;
    call_offerv_start(&call, w.channels[1], rd, 0, &iov, 1, w.now);
    assert_int_equal(done(&call), LEN);
    run_until(w.now + NS_PER_S);
    assert_true(client_copies_even(w.client, rd));
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
}

/* Of a block, of which a write was under way when its turn came. */
CASE(heal__comes_back_to_what_was_written_meanwhile)
{
    int rd = filled(0);
    w.second.dead = true;
    write_some(rd, 0, 1, 1);
    second_start(SECOND_EPOCH + 1);
    for (unsigned i = 0; i < 200; i++) {
        write_some(rd, (i % 40) * 4096 + 5, 10, (uint8_t)i);
        run_until(w.now + 20 * NS_PER_MS);
    }
    run_until(w.now + 20 * NS_PER_S);
    assert_true(client_copies_even(w.client, rd));
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
}

/* The first copy's host has as much memory for it as @space says. */
static ImdRegion first_in(ImdSpace *space, int rd)
{
    ClientRegionInfo first = copy(rd, 0);
    ImdRegion region = {.region = first.address.region,
                        .opening = first.address.opening,
                        .capability = first.address.capability,
                        .len = LEN,
                        .extents = extents_new(space, 0, LEN, 8192)};
    imd_data_drop(w.data, region.region);
    assert_int_equal(imd_data_add(w.data, &region), 0);
    return region;
}

static void first_ends(ImdRegion *region)
{
    imd_data_drop(w.data, region->region);
    extents_end(region->extents);
    region->extents = extents_free(region->extents);
}

/* The owner of one host needs its memory for a while: then the copy there is made of the other one,
 * also what fills were dropped for meanwhile. */
CASE(heal__of_a_copy_whose_host_had_no_memory)
{
    ImdSpace space = {.limit_bytes = 0};
    int rd = opened(0);
    ImdRegion region = first_in(&space, rd);
    for (unsigned i = 0; i < 20; i++) {
        assert_reads_file(rd, 0, i * 4096, 4096);
        settle();
    }
    assert_int_equal(copy(rd, 0).filled_bytes, 0);
    space.limit_bytes = 2 * LEN;
    uint64_t before = w.disk.bytes_read;
    run_until(w.now + 30 * NS_PER_S);
    assert_true(client_copies_even(w.client, rd));
    assert_int_equal(copy(rd, 0).filled_bytes, 20 * 4096);
    assert_int_equal(w.disk.bytes_read, before);
    first_ends(&region);
}

/* Nothing is read for a copy as long as its host takes nothing. */
CASE(heal__rests_while_fills_do)
{
    ImdSpace space = {.limit_bytes = 0};
    int rd = opened(0);
    ImdRegion region = first_in(&space, rd);
    uint64_t begun = w.now;
    assert_reads_file(rd, 0, 0, 40960);
    run_until(begun + 450 * NS_PER_MS);
    assert_int_equal(imd_data_stats(w.data)->fills_no_room, 1);
    assert_int_equal(stats().heals, 0);
    run_until(begun + 700 * NS_PER_MS);
    assert_int_equal(imd_data_stats(w.data)->fills_no_room, 2);
    assert_int_equal(stats().heals, 1);
    first_ends(&region);
}

/* ---- giving up a part ------------------------------------------------------------------------ */

static void discard(int rd, off_t offset, size_t len)
{
    Call call;
    call_discard_start(&call, w.channels[1], rd, offset, len, w.now);
    assert_int_equal(done(&call), 0);
}

/* A part that is given up leaves both copies, and is not copied back from one to the other. */
CASE(discard__of_both_copies)
{
    int rd = filled(0);
    uint64_t before = w.disk.bytes_read;
    discard(rd, 0, LEN);
    assert_int_equal(copy(rd, 0).filled_bytes, 0);
    assert_int_equal(copy(rd, 1).filled_bytes, 0);
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(copy(rd, 0).filled_bytes, 0);
    assert_int_equal(copy(rd, 1).filled_bytes, 0);
    assert_true(both(rd));
    assert_int_equal(w.disk.bytes_read, before);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(w.disk.bytes_read, before + LEN);
}

CASE(discard__of_the_copy_that_is_left)
{
    int rd = filled(0);
    w.net.imd_dead = true;
    write_some(rd, 5000, 5000, 9);
    assert_false(copy(rd, 0).active);
    discard(rd, 0, LEN);
    assert_int_equal(copy(rd, 1).filled_bytes, 0);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(close_rd(rd), 0);
}
