/* SPDX-License-Identifier: MIT */
/* Open regions leave a host that is being drained. */
#include "libdodo/client.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

/* More than two of the pieces that are copied at once. */
enum { LEN = 600000, BLOCKS = 147, STRIPES = 10, A_WHILE_S = 30 };

static int set_up_checked(void **state)
{
    (void)state;
    set_up_with(FILE_BYTES, sum_of);
    second_start(SECOND_EPOCH);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up_two, tear_down)
#define CHECKED(name) TEST_WITH(name, set_up_checked, tear_down)

/* A region that the first host has all of. */
static int filled(unsigned flags)
{
    int rd = open_at(LEN, 0, flags);
    assert_true(rd >= 0);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_int_equal(info(rd).filled_bytes, LEN);
    return rd;
}

static void drain(uint64_t epoch)
{
    w.cmd.drained[0] = epoch;
    w.cmd.drained_count = 1;
}

static void pass_ms(uint64_t ms)
{
    uint64_t until = w.now + ms * NS_PER_MS;
    run_until(until);
    w.now = max_u64(w.now, until);
}

static void pass(uint64_t seconds)
{
    pass_ms(seconds * 1000);
}

static void assert_reads_no_file(int rd)
{
    assert_reads_without_file(rd, LEN);
}

static void assert_is_on(int rd, uint64_t epoch)
{
    assert_true(info(rd).active);
    assert_int_equal(info(rd).copies, 1);
    assert_int_equal(info(rd).address.epoch, epoch);
    assert_true(client_check(w.client));
}

/* ---- moves ---------------------------------------------------------------------------------- */

CASE(move__a_region_leaves_with_all_that_it_has)
{
    int rd = filled(0);
    drain(w.epoch);
    uint64_t before = w.disk.bytes_read;
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(w.disk.bytes_read, before);
    assert_int_equal(w.heard.closes, 1);
    assert_int_equal(w.heard.closed.epoch, w.epoch);
    assert_int_equal(stats().moves, 1);
    assert_int_equal(stats().regions_lost, 0);
    assert_int_equal(w.heard.moves.left_bytes, 0);
    assert_int_equal(w.heard.moves.copied_bytes, LEN);
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 2);
    assert_int_equal(stats().regions, 0);
    assert_int_equal(w.disk.released, 1);
}

CASE(move__of_nothing)
{
    int rd = open_at(LEN, 0, 0);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_reads_no_file(rd);
}

CASE(move__of_many_regions)
{
    enum { REGIONS = 20 };
    int rd[REGIONS];
    for (unsigned i = 0; i < REGIONS; i++) {
        rd[i] = open_at(40000, i * 40000ull, 0);
        assert_reads_file(rd[i], i * 40000ull, 0, 40000);
    }
    settle();
    drain(w.epoch);
    pass(A_WHILE_S);
    for (unsigned i = 0; i < REGIONS; i++)
        assert_is_on(rd[i], SECOND_EPOCH);
    assert_int_equal(w.heard.closes, REGIONS);
    assert_int_equal(stats().moves, REGIONS);
    for (unsigned i = 0; i < REGIONS; i++)
        assert_int_equal(close_rd(rd[i]), 0);
    assert_int_equal(stats().regions, 0);
}

CASE(move__of_stripes)
{
    int rd = filled(DODO_STRIPE);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_int_equal(info(rd).stripes, STRIPES);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(w.heard.closes, STRIPES);
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 2 * STRIPES);
    assert_int_equal(stats().regions, 0);
}

CASE(move__there_and_back)
{
    int rd = filled(0);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    write_some(rd, 4000, 9000, 1);
    drain(SECOND_EPOCH);
    pass(A_WHILE_S);
    assert_is_on(rd, w.epoch);
    write_some(rd, 14000, 9000, 2);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(stats().moves, 3);
    assert_reads_no_file(rd);
    assert_int_equal(close_rd(rd), 0);
}

/* One is made again elsewhere, where there is an elsewhere; the other one has all meanwhile. */
CASE(move__of_one_of_two_copies)
{
    int rd = filled(DODO_MIRROR);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_reads_no_file(rd);
    w.cmd.drained_count = 0;
    pass(A_WHILE_S);
    assert_int_equal(info(rd).copies, 2);
    assert_true(client_copies_even(w.client, rd));
    assert_int_equal(close_rd(rd), 0);
}

/* The other copies of mirrored regions have nowhere to go. Others have. */
CASE(move__is_not_held_up_by_copies_without_a_place)
{
    enum { MIRRORED = 12, SMALL = 20480 };
    for (unsigned i = 0; i < MIRRORED; i++) {
        int rd = open_at(SMALL, LEN + i * SMALL, DODO_MIRROR);
        assert_int_equal(info(rd).copies, 2);
        assert_reads_file(rd, LEN + i * SMALL, 0, SMALL);
    }
    int rd = filled(0);
    drain(w.epoch);
    pass(2 * A_WHILE_S);
    assert_int_equal(stats().moves, MIRRORED + 1);
    assert_is_on(rd, SECOND_EPOCH);
}

/* So that the drain is known to get on no more. */
CASE(move__of_both_copies_without_another_place)
{
    int rd = filled(DODO_MIRROR);
    w.cmd.drained[0] = w.epoch;
    w.cmd.drained[1] = SECOND_EPOCH;
    w.cmd.drained_count = 2;
    pass(10 * A_WHILE_S);
    assert_int_equal(info(rd).copies, 1);
    assert_true(w.heard.moves.refused > 0);
    assert_reads_no_file(rd);
}

/* Another host is drained, too: there may be room elsewhere by now. */
CASE(move__asks_at_once_when_the_hosts_are_others)
{
    int rd = filled(0);
    w.second.dead = true;
    drain(w.epoch);
    pass(10 * A_WHILE_S); /* it asks once a minute by now */
    assert_is_on(rd, w.epoch);
    second_start(SECOND_EPOCH + 1);
    w.cmd.drained[1] = 777;
    w.cmd.drained_count = 2;
    pass(12);
    assert_is_on(rd, SECOND_EPOCH + 1);
}

/* A mirrored region's new copy is no drain's work. */
CASE(move__counts_what_it_copies_itself)
{
    int rd = filled(DODO_MIRROR);
    w.second.dead = true;
    write_some(rd, 0, 1, 1);
    second_start(SECOND_EPOCH + 1);
    pass(A_WHILE_S);
    assert_int_equal(info(rd).copies, 2);
    assert_true(stats().heals > 0);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH + 1);
    assert_true(w.heard.moves_asked > 0);
    assert_int_equal(w.heard.moves.copied_bytes, 0);
}

/* ---- under way ------------------------------------------------------------------------------ */

/* A rate at which a region takes its time. */
static int on_its_way(unsigned flags)
{
    int rd = filled(flags);
    w.cmd.move_rate = 20000; /* half a minute; the first piece is copied at once */
    drain(w.epoch);
    for (unsigned i = 0; i < 100 && stats().heals == 0; i++)
        pass_ms(100);
    assert_true(stats().heals > 0);
    return rd;
}

CASE(move__takes_what_is_written_meanwhile)
{
    int rd = filled(0);
    drain(w.epoch);
    for (unsigned i = 0; i < 400; i++) {
        write_some(rd, (i * 79190) % (LEN - 9000), 1 + i * 20, (uint8_t)i);
        pass_ms(50);
    }
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    w.net.imd_dead = true;
    assert_reads_no_file(rd);
}

/* It has no half for the other copy, which was not there when it began. */
CASE(move__waits_for_a_write_that_began_before_it)
{
    int rd = filled(0);
    static uint8_t data[9000];
    Call call;
    memset(data, 3, sizeof data);
    call_write_start(&call, w.channels[1], rd, 1000, data, sizeof data, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(call.need, NEED_FILE_WRITE);
    drain(w.epoch);
    pass(A_WHILE_S); /* the file has not taken it yet */
    assert_int_equal(info(rd).address.epoch, w.epoch);
    assert_int_equal(done(&call), sizeof data);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_reads_no_file(rd);
}

CASE(move__keeps_to_the_rate)
{
    int rd[5];
    for (unsigned i = 0; i < 5; i++) {
        rd[i] = open_at(100000, i * 100000ull, 0);
        assert_reads_file(rd[i], i * 100000ull, 0, 100000);
    }
    settle();
    w.cmd.move_rate = 20000;
    drain(w.epoch);
    uint64_t begun = w.now;
    for (unsigned i = 0; i < 100 && stats().moves < 5; i++)
        pass(1);
    assert_int_equal(stats().moves, 5);
    assert_in_range(w.now - begun, 20 * NS_PER_S, 32 * NS_PER_S); /* the last piece is free */
}

/* What was copied at a low rate is not waited for when the rate is higher. */
CASE(move__the_rate_is_raised_on_its_way)
{
    int rd = filled(0);
    w.cmd.move_rate = 10; /* some hours */
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_int_equal(info(rd).copies, 2);
    w.cmd.move_rate = 100000;
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_reads_no_file(rd);
}

CASE(move__a_rate_after_none)
{
    int rd = filled(0);
    w.cmd.move_rate = 10;
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_int_equal(info(rd).copies, 2);
    w.cmd.drained_count = 0;
    pass(10 * A_WHILE_S);
    assert_int_equal(info(rd).copies, 1);
    w.cmd.move_rate = 0;
    drain(SECOND_EPOCH);
    pass(A_WHILE_S);
    drain(w.epoch);
    w.cmd.move_rate = 100000;
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
}

/* Nor is a rate that is lowered free of what was copied before. */
CASE(move__the_rate_is_lowered_on_its_way)
{
    int rd = on_its_way(0);
    uint64_t heals = stats().heals;
    w.cmd.move_rate = 10;
    pass(10 * A_WHILE_S);
    assert_in_range(stats().heals, heals, heals + 1);
    assert_int_equal(info(rd).copies, 2);
}

/* Pieces that a region is copied in, beside calls of @bytes; 0: beside none. */
static uint64_t pieces_beside(size_t bytes)
{
    int rd = filled(0);
    w.cmd.move_rate = 20000;
    drain(w.epoch);
    for (unsigned i = 0; i < 5000 && stats().moves == 0; i++) {
        if (bytes > 0)
            assert_reads_file(rd, 0, 0, bytes);
        pass_ms(20);
    }
    assert_is_on(rd, SECOND_EPOCH);
    return stats().heals;
}

/* A call waits until the piece that came before it has left the line. */
CASE(move__in_short_pieces_beside_short_calls)
{
    assert_in_range(pieces_beside(8000), LEN / 16384, LEN / 16384 + 2);
}

CASE(move__in_longer_pieces_beside_longer_calls)
{
    assert_in_range(pieces_beside(65536), LEN / 131072, LEN / 131072 + 2);
}

CASE(move__in_long_pieces_beside_no_calls)
{
    assert_in_range(pieces_beside(0), 1, 6);
}

CASE(move__the_old_host_dies_on_the_way)
{
    int rd = on_its_way(DODO_FALLBACK);
    w.net.imd_dead = true;
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(stats().regions, 0);
}

CASE(move__the_new_host_dies_on_the_way)
{
    int rd = filled(0);
    drain(w.epoch);
    w.cmd.move_rate = 1000;
    for (unsigned i = 0; i < 100 && info(rd).copies < 2; i++)
        pass_ms(100);
    w.second.dead = true;
    pass(A_WHILE_S);
    assert_is_on(rd, w.epoch);
    assert_reads_no_file(rd);
    second_start(SECOND_EPOCH + 1);
    w.cmd.move_rate = 0;
    pass(10 * A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH + 1);
    assert_reads_no_file(rd);
}

CASE(move__a_close_on_the_way_frees_both)
{
    int rd = on_its_way(0);
    unsigned closes = w.heard.closes;
    assert_int_equal(close_rd(rd), 0);
    assert_in_range(w.heard.closes - closes, 1, 2);
    pass(A_WHILE_S);
    assert_int_equal(stats().regions, 0);
    assert_int_equal(stats().active, 0);
    assert_true(client_check(w.client));
}

CASE(move__nowhere_to_go)
{
    int rd = filled(0);
    w.second.dead = true;
    drain(w.epoch);
    pass(10 * A_WHILE_S);
    assert_is_on(rd, w.epoch);
    assert_true(w.heard.moves.refused > 0);
    assert_int_equal(w.heard.moves.left_bytes, BLOCKS * 4096);
    assert_reads_no_file(rd);
    second_start(SECOND_EPOCH + 1);
    pass(10 * A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH + 1);
    assert_int_equal(w.heard.moves.refused, 0);
}

/* What finds no room keeps nothing from moving that does. */
CASE(move__of_what_there_is_room_for)
{
    enum { LARGE = 5 };
    int large[LARGE], small = open_at(8192, 0, 0);
    for (unsigned i = 0; i < LARGE; i++)
        large[i] = open_at(100000, 8192 + i * 100000ull, 0);
    close_rd(small);
    small = open_at(8192, 0, 0); /* behind them in the table, or before */
    w.cmd.second_room = 50000;
    drain(w.epoch);
    pass(12 * A_WHILE_S);
    assert_is_on(small, SECOND_EPOCH);
    for (unsigned i = 0; i < LARGE; i++)
        assert_is_on(large[i], w.epoch);
    assert_true(w.heard.moves.refused > 0);
}

/* No descriptor is left for all of the other copies: it stays as it is. */
CASE(move__without_a_place_for_the_other_copies)
{
    w.client->config.regions_max = 1 + STRIPES + STRIPES / 2;
    int rd = filled(DODO_STRIPE);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, w.epoch);
    assert_int_equal(stats().regions, 1 + STRIPES);
    assert_reads_no_file(rd);
    w.client->config.regions_max *= 2;
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
}

CASE(move__is_undone_when_the_host_is_wanted_again)
{
    int rd = filled(0);
    w.cmd.move_rate = 1000;
    drain(w.epoch);
    for (unsigned i = 0; i < 100 && info(rd).copies < 2; i++)
        pass_ms(100);
    assert_int_equal(info(rd).copies, 2);
    assert_in_range(info(rd).mirrored_bytes, 1, LEN - 1);
    w.cmd.drained_count = 0;
    pass(2 * A_WHILE_S);
    assert_is_on(rd, w.epoch);
    assert_reads_no_file(rd);
    assert_int_equal(stats().moves, 0);
    assert_int_equal(stats().active, 1);
    pass(A_WHILE_S);
    assert_int_equal(stats().active, 1);
}

/* It does not know of moves: the question is not put to it again. */
CASE(move__an_older_manager_is_not_asked)
{
    int rd = filled(0);
    pass(A_WHILE_S);
    assert_int_equal(w.heard.moves_asked, 0);
    assert_is_on(rd, w.epoch);
}

/* ---- retained regions ----------------------------------------------------------------------- */

CHECKED(move__what_may_be_retained_may_be_so_there)
{
    int rd = filled(DODO_RETAIN | DODO_RDONLY);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(w.heard.open.flags, REGION_RDONLY | REGION_RETAIN | REGION_FRESH);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    assert_int_equal(w.heard.closed.epoch, SECOND_EPOCH);
}

CHECKED(move__what_was_written_is_not_retained_there)
{
    int rd = filled(DODO_RETAIN);
    write_some(rd, 0, 10, 1);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 0);
}

/* What an earlier opening left there was not read in this one yet. */
CHECKED(move__takes_what_was_found_there)
{
    int rd = filled(DODO_RETAIN | DODO_RDONLY);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    w.cmd.reuse = false;
    assert_true(info(rd).reused);
    assert_int_equal(info(rd).filled_bytes, 0);
    drain(w.epoch);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_reads_no_file(rd);
}

/* ---- what is kept, and has no program -------------------------------------------------------- */

static int take(uint64_t epoch, uint64_t region)
{
    Call call;
    call_take_start(&call, w.channels[1], epoch, region, w.now);
    return (int)done(&call);
}

/* A region that was filled, and is kept on the first host. */
static void keep_one(void)
{
    int rd = filled(DODO_RETAIN | DODO_RDONLY);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 1);
}

CHECKED(take__what_is_kept_leaves_and_is_kept_again)
{
    keep_one();
    drain(w.epoch);
    uint64_t before = w.disk.bytes_read;
    int rd = take(w.epoch, w.cmd.last.region);
    assert_true(rd >= 0);
    assert_int_equal(w.heard.take.region, w.cmd.last.region);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(w.disk.bytes_read, before);
    assert_int_equal(w.heard.closed.epoch, w.epoch);
    assert_int_equal(w.heard.releases, 1); /* not of that one */
    unsigned syncs = w.disk.syncs, released = w.disk.released;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 2);
    assert_int_equal(w.heard.closed.epoch, SECOND_EPOCH);
    assert_int_equal(w.heard.close_stamp.mtime_ns, 2);
    assert_int_equal(w.disk.syncs, syncs); /* there is no file */
    assert_int_equal(w.disk.released, released);
    assert_int_equal(stats().regions, 0);
}

/* What only a part was filled of. */
CHECKED(take__what_is_not_there_does_not_count)
{
    int rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    assert_reads_file(rd, 0, 40000, 100000);
    for (unsigned i = 40; i < 140; i += 4) /* blocks that stand alone, and pairs */
        assert_reads_file(rd, 0, i * 4096, i % 8 ? 4096 : 8192);
    settle();
    uint64_t bytes = info(rd).filled_bytes;
    assert_int_equal(close_rd(rd), 0);
    drain(w.epoch);
    rd = take(w.epoch, w.cmd.last.region);
    pass(A_WHILE_S);
    assert_is_on(rd, SECOND_EPOCH);
    assert_int_equal(info(rd).filled_bytes, bytes);
    assert_int_equal(close_rd(rd), 0);
}

/* A rate counts what is copied, and not what is not there. */
CHECKED(take__of_little_takes_little_time)
{
    int rd = open_at(LEN, 0, DODO_RETAIN | DODO_RDONLY);
    for (unsigned i = 0; i < 140; i += 40)
        assert_reads_file(rd, 0, i * 4096, 4096);
    settle();
    assert_int_equal(close_rd(rd), 0);
    w.cmd.move_rate = 4096;
    drain(w.epoch);
    rd = take(w.epoch, w.cmd.last.region);
    uint64_t begun = w.now;
    while (info(rd).copies == 2 && w.now < begun + 200 * NS_PER_S)
        pass(1);
    assert_is_on(rd, SECOND_EPOCH);
    assert_in_range(w.now - begun, 3 * NS_PER_S,
                    12 * NS_PER_S); /* four blocks, the first at once */
    assert_int_equal(close_rd(rd), 0);
}

CHECKED(take__a_close_on_the_way_keeps_the_old_one)
{
    keep_one();
    w.cmd.move_rate = 1000;
    drain(w.epoch);
    int rd = take(w.epoch, w.cmd.last.region);
    pass(A_WHILE_S);
    assert_int_equal(info(rd).copies, 2);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 2);
    assert_int_equal(stats().regions, 0);
}

CHECKED(take__the_new_host_dies_on_the_way)
{
    keep_one();
    w.cmd.move_rate = 1000;
    drain(w.epoch);
    int rd = take(w.epoch, w.cmd.last.region);
    pass(A_WHILE_S);
    w.second.dead = true;
    pass(A_WHILE_S);
    assert_is_on(rd, w.epoch); /* nobody can open another one for it */
    unsigned opens = w.heard.opens;
    pass(10 * A_WHILE_S);
    assert_int_equal(w.heard.opens, opens);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 2);
    assert_int_equal(w.heard.closed.epoch, w.epoch);
}

CHECKED(take__is_refused)
{
    static const struct {
        uint16_t status;
        int error;
    } cases[] = {{STATUS_GONE, ENOENT},
                 {STATUS_NO_MEMORY, ENOMEM},
                 {STATUS_DENIED, EINVAL},
                 {STATUS_BUSY, EINVAL}};
    keep_one();
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        w.cmd.take_status = cases[i].status;
        assert_int_equal(take(w.epoch, w.cmd.last.region), -1);
        assert_int_equal(fail_error, cases[i].error);
        assert_int_equal(stats().regions, 0);
    }
}

CHECKED(take__without_descriptors)
{
    w.client->config.regions_max = 1;
    keep_one();
    const RegionAddress kept = w.cmd.last;
    assert_int_equal(take(kept.epoch, kept.region), -1); /* there is one, for one copy */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(stats().regions, 0);
    assert_true(open_at(4096, 0, 0) >= 0);
    assert_int_equal(take(kept.epoch, kept.region), -1); /* there is none */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(stats().regions, 1);
}
