/* SPDX-License-Identifier: MIT */
/* DODO_STRIPE: one region, made of several on several hosts (here one host holds them all). */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum {
    STRIPES = 16,
    LEN = STRIPES * STRIPE_BYTES - 1000, /* of the file */
    LONG = 2 * LEN,                      /* twice as many stripes, past the file's end */
};

static ClientRegionInfo stripe(int rd, unsigned i)
{
    ClientRegionInfo s;
    assert_int_equal(client_stripe_info(w.client, rd, i, &s), 0);
    return s;
}

static unsigned stripes_active(int rd)
{
    unsigned n = 0;
    for (unsigned i = 0; i < info(rd).stripes; i++)
        n += stripe(rd, i).active;
    return n;
}

static void lose(int rd, unsigned i)
{
    imd_data_drop(w.data, stripe(rd, i).address.region);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- opening and closing -------------------------------------------------------------------- */

CASE(stripe__is_one_region_to_the_user)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_true(rd >= 0);
    assert_int_equal(w.heard.opens, STRIPES);
    assert_int_equal(info(rd).stripes, STRIPES);
    assert_int_equal(info(rd).len, LEN);
    assert_true(info(rd).active);
    assert_int_equal(stripe(rd, STRIPES - 1).len, STRIPE_BYTES - 1000);
    assert_int_equal(client_region_next(w.client, -1), rd);
    assert_int_equal(client_region_next(w.client, rd), -1);
    for (int other = rd + 1; other <= rd + STRIPES; other++) { /* where its stripes are */
        ClientRegionInfo i;
        uint8_t byte;
        assert_int_equal(client_region_info(w.client, other, &i), -EINVAL);
        assert_int_equal(read_at(other, 0, &byte, 1), -1);
        assert_int_equal(fail_error, ENOMEM);
        assert_int_equal(close_rd(other), -1);
    }
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, STRIPES);
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(stats().regions, 0);
}

/* They are found retained, but one that is lost. */
CASE(stripe__what_may_be_held)
{
    enum { BLOCKS = (LEN + 4095) / 4096 };
    uint64_t map[BLOCKS / 64 + 1] = {0};
    unsigned found = 0;
    int rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN | DODO_RDONLY);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    assert_int_equal(close_rd(rd), 0);
    w.cmd.reuse = true;
    rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN | DODO_RDONLY);
    lose(rd, 5);
    assert_reads_file(rd, 0, 5 * STRIPE_BYTES, 100);
    assert_int_equal(client_region_held(w.client, rd, map), 0);
    for (unsigned i = 0; i < STRIPES; i++) {
        ClientRegionInfo s = stripe(rd, i);
        found += s.active;
        for (uint64_t at = 0; at < s.len; at += 4096) {
            uint64_t b = (i * (uint64_t)STRIPE_BYTES + at) / 4096;
            assert_int_equal(map[b / 64] >> b % 64 & 1, s.active);
        }
    }
    assert_int_equal(found, STRIPES - 1);
    assert_int_equal(close_rd(rd), 0);
}

CASE(stripe__a_short_region_is_an_ordinary_one)
{
    int rd = open_at(STRIPE_BYTES, 0, DODO_STRIPE);
    assert_int_equal(w.heard.opens, 1);
    assert_int_equal(info(rd).stripes, 0);
    assert_int_equal(stripe(rd, 0).len, STRIPE_BYTES);
    int longer = open_at(STRIPE_BYTES + 1, STRIPE_BYTES, DODO_STRIPE);
    assert_int_equal(info(longer).stripes, 2);
    assert_int_equal(stripe(longer, 1).len, 1);
    assert_reads_file(longer, STRIPE_BYTES, 0, STRIPE_BYTES + 1);
}

CASE(stripe__has_a_thousand_at_most)
{
    w.cmd.limited = true;
    int rd = open_at((uint64_t)3 << 30, 0, DODO_STRIPE | DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_int_equal(info(rd).stripes, 1024);
    assert_int_equal(stripe(rd, 0).len, (3u << 30) / 1024);
    int odd = open_at(((uint64_t)3 << 30) + 1, 0, DODO_STRIPE | DODO_FALLBACK);
    assert_in_range(info(odd).stripes, 1022, 1024);
    assert_int_equal(stripe(odd, 0).len, (3u << 30) / 1024 + 4096);
    /* Each is one of the process's. */
    assert_int_equal(open_at((uint64_t)3 << 30, 0, DODO_STRIPE | DODO_FALLBACK), -1);
    assert_int_equal(fail_error, EMFILE);
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(close_rd(odd), 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.disk.released, 3);
}

CASE(stripe__asks_for_several_at_once)
{
    Call call;
    FileGiven given = {
        .file = &the_file, .lease = w.disk.lease, .stamp = file_stamp_now(), .retainable = true};
    call_open_start(&call, w.channels[1], &given, LONG, 0, DODO_STRIPE, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(calls_on(w.channels[1]), 17); /* itself and sixteen */
    int rd = (int)done(&call);
    assert_int_equal(stripes_active(rd), info(rd).stripes);
    call_close_start(&call, w.channels[1], rd, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(calls_on(w.channels[1]), 17);
    assert_int_equal(done(&call), 0);
    assert_int_equal(w.heard.closes, w.heard.opens);
}

/* What found no room waits for the background; not each of them asks, nor begins a refraction. */
CASE(stripe__goes_on_with_what_found_room)
{
    w.cmd.limited = true;
    w.cmd.room = 3;
    int rd = open_at(LONG, 0, DODO_STRIPE);
    assert_true(rd >= 0);
    unsigned opens = w.heard.opens;
    assert_in_range(opens, 16, 16 + 3); /* under way when the first was refused */
    assert_int_equal(stats().refractions, 1);
    assert_int_equal(stripes_active(rd), 3);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    settle();
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_int_equal(info(rd).hits, hits + 3 * STRIPE_BYTES);
    run_until(w.now + 20 * NS_PER_S); /* one try at a time, a refraction period apart */
    assert_in_range(w.heard.opens - opens, 2, 4);
    w.cmd.limited = false;
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(stripes_active(rd), info(rd).stripes);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_int_equal(close_rd(rd), 0);
}

CASE(stripe__without_any_room_is_no_memory)
{
    w.cmd.limited = true;
    assert_int_equal(open_at(LONG, 0, DODO_STRIPE), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.heard.opens, 16);
    assert_int_equal(w.disk.released, 1);
    assert_int_equal(stats().refractions, 1);
    assert_int_equal(stats().regions, 0);
    unsigned sent = w.net.datagrams;
    assert_int_equal(open_at(LONG, 0, DODO_STRIPE), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.net.datagrams, sent);
    int rd = open_at(LONG, 0, DODO_STRIPE | DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_int_equal(close_rd(rd), 0);
}

CASE(stripe__dead_manager_costs_one_deadline)
{
    w.cmd.dead = true;
    uint64_t begun = w.now;
    assert_int_equal(open_at(LONG, 0, DODO_STRIPE), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_in_range(w.now - begun, 4 * NS_PER_S, 6 * NS_PER_S);
    w.cmd.dead = false;
    w.now += 10 * NS_PER_S;
    int rd = open_at(LONG, 0, DODO_STRIPE);
    assert_true(rd >= 0);
    w.cmd.dead = true;
    begun = w.now;
    assert_int_equal(close_rd(rd), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_in_range(w.now - begun, 4 * NS_PER_S, 6 * NS_PER_S);
    assert_int_equal(w.disk.released, 2);
    assert_int_equal(stats().regions, 0);
    assert_int_equal(stats().active, 0);
}

CASE(stripe__are_claimed)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    w.cmd.want_list = true;
    run_until(w.now + 6 * NS_PER_S);
    assert_int_equal(w.heard.claims, 1);
    assert_int_equal(w.heard.claim.count, STRIPES);
    assert_int_equal(close_rd(rd), 0);
}

/* ---- losing --------------------------------------------------------------------------------- */

CASE(lost__one_is_read_from_the_file_and_comes_back)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    lose(rd, 2);
    lose(rd, 5);
    assert_reads_file(rd, 0, 0, LEN);
    assert_true(info(rd).active);
    assert_int_equal(stripes_active(rd), STRIPES - 2);
    uint8_t data[5000];
    memset(data, 9, sizeof data);
    assert_int_equal(write_at(rd, 3 * STRIPE_BYTES - 2000, data, sizeof data), sizeof data);
    assert_reads_file(rd, 0, 0, LEN);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(stripes_active(rd), STRIPES);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(info(rd).hits, hits + LEN);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.disk.released, 1);
}

CASE(lost__all_is_the_regions_death)
{
    static uint8_t buf[LEN];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    int other = open_at(8192, 0, DODO_STRIPE | DODO_FALLBACK);
    for (unsigned i = 0; i < STRIPES; i++)
        lose(rd, i);
    assert_int_equal(read_at(rd, 0, buf, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_false(info(rd).active);
    uint8_t before = w.disk.bytes[0], byte = (uint8_t)(before + 1);
    assert_int_equal(write_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.disk.bytes[0], before);
    run_until(w.now + 20 * NS_PER_S); /* for good, as any other's */
    assert_int_equal(w.heard.opens, STRIPES + 1);
    assert_int_equal(close_rd(rd), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_int_equal(close_rd(other), 0);
}

/* Its stripes waited for memory until the last one was lost: others still do. */
CASE(lost__for_good_is_in_the_way_of_none)
{
    static uint8_t buf[LEN];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    int other = open_at(8192, 0, DODO_FALLBACK);
    for (unsigned i = 0; i < STRIPES; i++)
        lose(rd, i);
    assert_int_equal(read_at(rd, 0, buf, LEN), -1);
    lose(other, 0);
    assert_reads_file(other, 0, 0, 8192);
    assert_false(info(other).active);
    run_until(w.now + 20 * NS_PER_S);
    assert_true(info(other).active);
    assert_false(info(rd).active);
}

CASE(lost__all_with_fallback)
{
    int rd = open_at(LEN, 0, DODO_STRIPE | DODO_FALLBACK);
    for (unsigned i = 0; i < STRIPES; i++)
        lose(rd, i);
    assert_reads_file(rd, 0, 0, LEN);
    assert_false(info(rd).active);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(stripes_active(rd), STRIPES);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(close_rd(rd), 0);
}

/* An answer that comes after the region's death does not revive it. */
CASE(lost__established_too_late)
{
    static uint8_t buf[LEN];
    int rd = open_at(2 * STRIPE_BYTES, 0, DODO_STRIPE);
    lose(rd, 0);
    assert_reads_file(rd, 0, 0, 1000);
    assert_int_equal(stripes_active(rd), 1);
    w.now += 3 * NS_PER_S;
    channel_step(w.channels[0], w.now); /* asks for another */
    lose(rd, 1);
    w.net.head = w.net.tail; /* its first try is lost */
    assert_int_equal(read_at(rd, STRIPE_BYTES, buf, 10), -1);
    assert_false(info(rd).active);
    run_until(w.now + 4 * NS_PER_S); /* it is asked again, and answered */
    assert_int_equal(w.heard.opens, 3);
    assert_false(info(rd).active);
    assert_int_equal(stats().active, 0);
    assert_int_equal(read_at(rd, 0, buf, 10), -1);
    assert_int_equal(close_rd(rd), -1);
}

CASE(lost__failed_sync_poisons_all)
{
    uint8_t byte;
    int rd = open_at(LEN, 0, DODO_STRIPE);
    Call call;
    call_sync_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), 0);
    w.disk.sync_error = EIO;
    call_sync_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    assert_int_equal(stats().poisoned, STRIPES);
    assert_int_equal(w.disk.syncs, 2);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
}

/* ---- reading and writing across borders ------------------------------------------------------ */

CASE(across__reads_ask_all_at_once)
{
    static uint8_t buf[LEN];
    int rd = open_at(LEN, 1000, DODO_STRIPE);
    assert_reads_file(rd, 1000, 0, LEN - 1000);
    settle();
    Call call;
    call_read_start(&call, w.channels[1], rd, 100, buf, 5 * STRIPE_BYTES, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(calls_on(w.channels[1]), 1 + 6);
    assert_int_equal(done(&call), 5 * STRIPE_BYTES);
    assert_memory_equal(buf, w.disk.bytes + 1100, 5 * STRIPE_BYTES);
    call_read_start(&call, w.channels[1], rd, 100, buf, 1000, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(calls_on(w.channels[1]), 1); /* within one: as of any region */
    assert_int_equal(done(&call), 1000);
    assert_int_equal(read_at(rd, LEN, buf, 10), 0);
    assert_int_equal(read_at(rd, LEN + 1, buf, 10), -1);
    assert_int_equal(fail_error, EINVAL);
    w.disk.size = 3 * STRIPE_BYTES;
    assert_int_equal(close_rd(rd), 0);
    rd = open_at(LEN, 0, DODO_STRIPE);
    assert_int_equal(read_at(rd, STRIPE_BYTES / 2, buf, LEN), 5 * STRIPE_BYTES / 2);
}

/* Those that wait for credit learn of it from those that have it. */
CASE(across__a_dead_host_costs_one_deadline)
{
    static uint8_t buf[LEN];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    w.net.imd_dead = true;
    uint64_t start = w.now;
    assert_int_equal(read_at(rd, 0, buf, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_in_range(w.now - start, 1, 2 * (uint64_t)NS_PER_S);
    assert_false(info(rd).active);
    assert_int_equal(stats().hosts_lost, 1);
}

/* Pieces that wait for their turns: datagrams become no smaller by that, as they do where only long
 * ones are lost. */
static void check_turns(int rd)
{
    uint64_t start = w.now;
    assert_reads_file(rd, 0, 0, LEN);
    assert_true(w.now - start > NS_PER_S / 2); /* half a deadline */
    w.net.trickle_ns = w.net.datagram_ns = 0;
    assert_reads_file(rd, 0, 0, LEN);
    assert_in_range(w.net.segment, 1400, 1472);
}

static int open_filled(void)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    client_receive_granted(w.client, 4 * WIRE_CHUNK_MAX); /* credit for a chunk */
    assert_reads_file(rd, 0, 0, LEN);
    run_until(w.now + 10 * NS_PER_S);
    return rd;
}

CASE(across__who_waits_for_credit_is_not_stuck)
{
    w.net.datagram_ns = 4 * NS_PER_MS;
    check_turns(open_filled());
}

CASE(across__who_waits_for_a_busy_host_is_not_stuck)
{
    int rd = open_filled();
    w.net.trickle_ns = 300 * NS_PER_MS;
    check_turns(rd);
}

CASE(across__vectors_and_stripes)
{
    static uint8_t buf[LEN];
    struct iovec iov[300];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    for (unsigned i = 0; i < 300; i++)
        iov[i] = (struct iovec){buf + i * 1000, 1000};
    for (unsigned round = 0; round < 2; round++) {
        Call call;
        memset(buf, 0, sizeof buf);
        call_readv_start(&call, w.channels[1], rd, 777, iov, 300, w.now);
        assert_int_equal(done(&call), 300000);
        assert_memory_equal(buf, w.disk.bytes + 777, 300000);
        settle();
    }
    for (unsigned i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)(i * 13 + (i >> 10));
    Call call;
    call_writev_start(&call, w.channels[1], rd, 12345, iov, 300, w.now);
    assert_int_equal(done(&call), 300000);
    assert_memory_equal(w.disk.bytes + 12345, buf, 300000);
    assert_int_equal(info(rd).written, 300000);
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(across__writes_tell_what_reached_the_file)
{
    static uint8_t data[LEN];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    memset(data, 0x5A, sizeof data);
    assert_int_equal(write_at(rd, 1000, data, 4 * STRIPE_BYTES), 4 * STRIPE_BYTES);
    assert_memory_equal(w.disk.bytes + 1000, data, 4 * STRIPE_BYTES);
    w.disk.write_error = ENOSPC;
    w.disk.error_from = 2 * STRIPE_BYTES;
    assert_int_equal(write_at(rd, 1000, data, 4 * STRIPE_BYTES), 2 * STRIPE_BYTES - 1000);
    assert_int_equal(write_at(rd, 2 * STRIPE_BYTES, data, 4 * STRIPE_BYTES), -1);
    assert_int_equal(fail_error, ENOSPC);
    w.disk.write_error = 0;
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(stripes_active(rd), STRIPES);
}

/* Once one piece is in the file the others follow: the call is not cut short by a lost host. */
CASE(across__a_write_that_has_begun_is_finished)
{
    static uint8_t data[3 * STRIPE_BYTES];
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_reads_file(rd, 0, 0, LEN);
    settle();
    Call call;
    memset(data, 0x3C, sizeof data);
    call_write_start(&call, w.channels[1], rd, 500, data, sizeof data, w.now);
    do_file(run_to_file(&call));
    w.net.imd_dead = true;
    assert_int_equal(done(&call), sizeof data);
    assert_memory_equal(w.disk.bytes + 500, data, sizeof data);
    assert_false(info(rd).active);
    assert_int_equal(write_at(rd, 0, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(across__a_call_is_cancelled_only_before_its_first_piece)
{
    static uint8_t buf[2 * STRIPE_BYTES];
    Call call;
    int rd = open_at(LEN, 0, DODO_STRIPE);
    memset(buf, 0xA5, sizeof buf);
    call_write_start(&call, w.channels[1], rd, STRIPE_BYTES, buf, sizeof buf, w.now);
    assert_true(call_cancel(&call));
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, ECANCELED);
    assert_non_null(strstr(fail_reason, "cancelled"));
    assert_memory_not_equal(w.disk.bytes + STRIPE_BYTES, buf, sizeof buf);

    call_write_start(&call, w.channels[1], rd, STRIPE_BYTES, buf, sizeof buf, w.now);
    channel_step(w.channels[1], w.now);
    assert_false(call_cancel(&call));
    assert_int_equal(done(&call), sizeof buf);
    assert_memory_equal(w.disk.bytes + STRIPE_BYTES, buf, sizeof buf);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(close_rd(rd), 0); /* neither call is on it any more */
}

CASE(across__writes_of_a_common_block_queue)
{
    static uint8_t a[2 * STRIPE_BYTES], b[4096];
    Call one, two;
    int rd = open_at(LEN, 0, DODO_STRIPE);
    memset(a, 1, sizeof a);
    memset(b, 2, sizeof b);
    call_write_start(&one, w.channels[1], rd, 100, a, sizeof a, w.now);
    Call *needs = run_to_file(&one);
    assert_int_equal(needs->file_len, STRIPE_BYTES - 100);
    call_write_start(&two, w.channels[2], rd, STRIPE_BYTES - 10, b, sizeof b, w.now);
    channel_step(w.channels[2], w.now);
    Call *piece = channel_next(w.channels[2], channel_next(w.channels[2], NULL));
    assert_int_equal(piece->need, NEED_BLOCKED); /* the last block of the first stripe */
    do_file(needs);
    assert_int_equal(done(&one), sizeof a);
    assert_int_equal(done(&two), sizeof b);
    assert_memory_equal(w.disk.bytes + STRIPE_BYTES - 10, b, sizeof b);
    assert_reads_file(rd, 0, 0, LEN);
}

/* Its descriptor is not known to anybody: who guesses it, or walks all regions, must not get it. */
CASE(open__nobody_has_the_region_before_it_is_over)
{
    static uint8_t byte;
    const FileGiven given = {.file = &the_file, .stamp = file_stamp_now()};
    Call opener, reader, closer;
    call_open_start(&opener, w.channels[1], &given, LEN, 0, DODO_STRIPE | DODO_FALLBACK, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(opener.need, NEED_NETWORK);
    assert_int_equal(client_region_next(w.client, -1), -1);
    call_read_start(&reader, w.channels[2], 0, 0, &byte, 1, w.now);
    assert_int_equal(done(&reader), -1);
    call_close_start(&closer, w.channels[2], 0, w.now);
    assert_int_equal(done(&closer), -1);
    assert_int_equal(done(&opener), 0);
    assert_int_equal(client_region_next(w.client, -1), 0);
    assert_reads_file(0, 0, 0, LEN);
    assert_int_equal(close_rd(0), 0);
}

CASE(across__close_waits_for_a_call_of_many_pieces)
{
    static uint8_t buf[LEN];
    Call reader, closer;
    int rd = open_at(LEN, 0, DODO_STRIPE);
    call_read_start(&reader, w.channels[1], rd, 0, buf, LEN, w.now);
    channel_step(w.channels[1], w.now);
    call_close_start(&closer, w.channels[2], rd, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(closer.need, NEED_BLOCKED);
    assert_int_equal(done(&reader), LEN);
    assert_memory_equal(buf, w.disk.bytes, LEN);
    assert_int_equal(w.disk.released, 0);
    assert_int_equal(done(&closer), 0);
    assert_int_equal(w.disk.released, 1);
}

/* The manager may know of a loss that we have not seen. The region is lost with its last stripe. */
CASE(close__of_stripes_that_are_lost)
{
    static const unsigned many[] = {1, STRIPES - 1, STRIPES};
    for (unsigned i = 0; i < 3; i++) {
        unsigned lost = many[i];
        int rd = open_at(LEN, 0, DODO_STRIPE);
        w.heard.closes = 0;
        w.cmd.close_gone = lost;
        assert_int_equal(close_rd(rd), lost < STRIPES ? 0 : -1);
        assert_int_equal(fail_error, lost < STRIPES ? 0 : EINVAL);
        assert_int_equal(w.heard.closes, STRIPES);
    }
}

/* Of one stripe the manager knows that it is lost, of the next it has the memory freed; then it
 * dies. Nobody knows what became of the others: that is what the program hears. */
CASE(close__manager_dies_in_the_midst)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    w.cmd.close_gone = 1;
    w.cmd.close_last = 2;
    assert_int_equal(close_rd(rd), -1);
    assert_string_equal(fail_reason, "the manager does not answer");
}

/* ---- retaining ------------------------------------------------------------------------------ */

CASE(retain__each_by_itself)
{
    uint8_t byte = 1;
    int rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN);
    assert_reads_file(rd, 0, 0, LEN);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, STRIPES);
    assert_int_equal(w.disk.syncs, 1);
    rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN);
    assert_int_equal(write_at(rd, STRIPE_BYTES, &byte, 1), 1);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 2 * STRIPES - 1);
    assert_int_equal(w.heard.closes, 2 * STRIPES);
    rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN);
    w.disk.stamp_moved = true;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 2 * STRIPES - 1);
}

/* Whichever of them is lost, the others are retained. */
CASE(retain__the_others_of_one_that_is_lost)
{
    for (unsigned lost = 0; lost < STRIPES; lost += STRIPES - 1) {
        int rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN);
        unsigned before = w.heard.releases;
        assert_reads_file(rd, 0, 0, LEN);
        settle();
        lose(rd, lost);
        assert_reads_file(rd, 0, 0, LEN);
        assert_int_equal(stripes_active(rd), STRIPES - 1);
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.heard.releases - before, STRIPES - 1);
    }
}

/* Nobody knows what the disk holds. */
CASE(retain__none_after_a_failed_sync)
{
    int rd = open_at(LEN, 0, DODO_STRIPE | DODO_RETAIN);
    assert_reads_file(rd, 0, 0, LEN);
    w.disk.sync_error = EIO;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.disk.syncs, 1);
    assert_int_equal(w.heard.closes, STRIPES);
    assert_int_equal(w.heard.releases, 0);
}
