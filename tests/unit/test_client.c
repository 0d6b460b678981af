/* SPDX-License-Identifier: MIT */
/* The client's core, call by call: what each row of the interface's contract asks of it. */
#include "libdodo/core_private.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#include "base/cleanup.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- opening and closing -------------------------------------------------------------------- */

CASE(open__reads_no_file)
{
    int rd = open_at(100000, 0, 0);
    assert_true(rd >= 0);
    assert_true(info(rd).active);
    assert_int_equal(info(rd).filled_bytes, 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.closes, 1);
    assert_int_equal(w.released, 1);
    assert_int_equal(close_rd(rd), -1);
    assert_int_equal(fail_error, EINVAL);
}

CASE(open__no_memory_begins_refraction)
{
    w.open_status = STATUS_NO_MEMORY;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.released, 1);
    w.open_status = STATUS_OK;
    unsigned before = w.datagrams;
    assert_int_equal(open_at(4096, 0, 0), -1); /* at once, with no traffic */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.datagrams, before);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(4096, 0, 0) >= 0);
}

/* The manager gave the region: it is not claimed, and so is freed. */
CASE(open__one_region_too_many)
{
    w.client->config.regions_max = 2;
    int rd = open_at(4096, 0, 0);
    assert_true(rd >= 0 && open_at(4096, 4096, 0) >= 0);
    assert_int_equal(open_at(4096, 8192, 0), -1);
    assert_int_equal(fail_error, EMFILE);
    assert_non_null(strstr(fail_reason, "too many regions"));
    assert_int_equal(w.released, 1);
    w.want_list = true;
    run_until(w.now + 6 * NS_PER_S);
    assert_int_equal(w.claim.count, 2);
    assert_int_equal(close_rd(rd), 0);
    assert_true(open_at(4096, 8192, 0) >= 0); /* without a refraction */
}

CASE(open__refusals_say_why)
{
    static const struct {
        uint16_t status;
        const char *reason;
    } rows[] = {{STATUS_NO_MEMORY, "no host has that much idle memory"},
                {STATUS_BUSY, "the manager is busy"},
                {STATUS_QUOTA, "client_bytes and client_regions"},
                {STATUS_DENIED, "denied"},
                {STATUS_INVALID, "refused"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        w.open_status = rows[i].status;
        assert_int_equal(open_at(4096, 0, 0), -1);
        assert_int_equal(fail_error, ENOMEM);
        assert_non_null(strstr(fail_reason, rows[i].reason));
        w.now += 60 * NS_PER_S; /* the refraction period, which gets longer */
    }
}

CASE(open__dead_manager_costs_one_deadline)
{
    w.manager_dead = true;
    uint64_t begun = w.now;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_true(w.now - begun >= 5 * NS_PER_S && w.now - begun < 6 * NS_PER_S);
    begun = w.now;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(w.now, begun);
}

/* A manager that needs no key may be anybody on this machine. */
CASE(open__without_a_key_only_hosts_of_this_machine)
{
    w.client->config.loopback_only = w.elsewhere = true;
    assert_int_equal(open_at(4096, 0, 0), -1);
    assert_int_equal(fail_error, ENOMEM);
    unsigned before = w.datagrams;
    assert_int_equal(open_at(4096, 0, 0), -1); /* it is not asked again at once */
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.datagrams, before);
    w.now += 5 * NS_PER_S;
    int rd = open_at(4096, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    run_until(w.now + 30 * NS_PER_S); /* nor is it established there later */
    assert_false(info(rd).active);
    w.elsewhere = false;
    run_until(w.now + 30 * NS_PER_S);
    assert_true(info(rd).active);
    assert_int_equal(close_rd(rd), 0);
}

CASE(close__manager_gone_frees_all_the_same)
{
    int rd = open_at(4096, 0, 0);
    Call call;
    w.manager_dead = true;
    call_close_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EINVAL);
    assert_true(call.unanswered); /* shutdown asks no more */
    assert_int_equal(w.released, 1);
    assert_int_equal(stats().regions, 0);
}

/* A program may open and close as often as it likes: only what is open at once counts. */
CASE(close__gives_its_place_back)
{
    enum { ROUNDS = 7000, REGIONS_OPEN = 40 }; /* the fixture allows 3000 regions at once */
    Region *open[REGIONS_OPEN] = {NULL};
    for (unsigned i = 0; i < ROUNDS; i++) {
        Region **r = &open[i % REGIONS_OPEN];
        if (*r) {
            client_region_remove(w.client, *r);
            client_region_free(w.client, *r);
        }
        assert_int_equal(client_region_new(w.client, r), 0);
    }
    assert_true(client_check(w.client));
}

/* ---- reading -------------------------------------------------------------------------------- */

CASE(read__fills_then_hits)
{
    int rd = open_at(100000, 5000, 0);
    assert_reads_file(rd, 5000, 0, 100000);
    assert_int_equal(info(rd).misses, 100000);
    assert_int_equal(info(rd).hits, 0);
    settle();
    assert_int_equal(info(rd).filled_bytes, 100000);
    memset(w.file, 0xEE, sizeof w.file); /* behind Dodo's back: shows where bytes come from */
    uint8_t byte;
    assert_int_equal(read_at(rd, 99999, &byte, 1), 1);
    assert_int_equal(byte, (uint8_t)(104999 * 7 + (104999 >> 9)));
    assert_int_equal(info(rd).hits, 1);
}

CASE(read__ends_at_region_and_file)
{
    uint8_t buf[10000];
    int rd = open_at(8192 * 3, 0, 0);
    w.file_size = 10000;
    assert_int_equal(read_at(rd, 8192 * 3 - 10, buf, 100), 0);
    assert_int_equal(read_at(rd, 9000, buf, sizeof buf), 1000);
    settle();
    /* The block that the file's end is in was not filled. */
    assert_int_equal(imd_data_block_filled(w.data, w.last.region, 2), false);
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), sizeof buf);
    settle();
    assert_true(imd_data_block_filled(w.data, w.last.region, 1));
    w.file_size = FILE_BYTES;
    assert_reads_file(rd, 0, 0, 8192 * 3);
    assert_int_equal(read_at(rd, 8192 * 3 - 10, buf, 100), 10);
}

/* Where no fill is to come of it, the file is read into the caller's buffer. */
CASE(read__ends_at_the_files_end_behind_what_is_remote)
{
    enum { BYTES = 8192 * 3, END = 10000 };
    static uint8_t buf[BYTES];
    int rd = open_at(BYTES, 0, 0);
    assert_int_equal(read_at(rd, 0, buf, 8192), 8192);
    settle();
    assert_true(imd_data_block_filled(w.data, w.last.region, 0));
    w.client->config.fill_queue_bytes = 0;
    w.file_size = END;
    assert_int_equal(read_at(rd, 100, buf, BYTES), END - 100);
    assert_memory_equal(buf, w.file + 100, END - 100);
    assert_int_equal(stats().fills_offered, 1);
    assert_int_equal(read_at(rd, END, buf, 100), 0);
}

CASE(read__datagrams_may_come_joined)
{
    w.joins = true;
    int rd = open_at(200000, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_reads_file(rd, 0, 3, 199990);
        settle();
    }
    assert_int_equal(info(rd).misses, 199990);
    assert_true(w.joined > 200);
}

/* What the route promises is only tried, beside datagrams that pass everywhere. */
CASE(read__large_datagrams_once_a_probe_came_back)
{
    w.datagram_max = 1900;
    int rd = open_at(50000, 0, 0);
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    assert_reads_file(rd, 0, 0, 50000);
    assert_int_equal(w.segment, 1900 - WIRE_HEADER_SIZE - WIRE_DATA_HEADER_SIZE);
    assert_int_equal(info(rd).hits, 50000);
}

CASE(read__common_datagrams_where_probes_vanish)
{
    w.datagram_max = 1900;
    w.path_mtu = 1472;
    int rd = open_at(50000, 0, 0);
    uint64_t begun = w.now;
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    for (int i = 0; i < 10; i++) {
        assert_reads_file(rd, 0, 0, 50000);
        assert_int_equal(w.segment, 1472 - WIRE_HEADER_SIZE - WIRE_DATA_HEADER_SIZE);
    }
    assert_true(w.now - begun < NS_PER_S / 2); /* nothing waited for them */
}

CASE(read__gone_costs_that_region_only)
{
    uint8_t buf[10];
    int one = open_at(8192, 0, 0);
    RegionAddress first = w.last;
    int two = open_at(8192, 8192, 0);
    imd_data_drop(w.data, first.region);
    assert_int_equal(read_at(one, 0, buf, sizeof buf), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_false(info(one).active);
    assert_true(info(two).active);
    assert_reads_file(two, 8192, 0, 8192);
    assert_int_equal(close_rd(one), -1); /* reclaimed already */
    assert_int_equal(fail_error, EINVAL);
}

CASE(read__dead_host_costs_all_its_regions_one_deadline)
{
    uint8_t buf[10];
    int one = open_at(8192, 0, 0), two = open_at(8192, 8192, 0);
    assert_reads_file(one, 0, 0, 8192);
    w.imd_dead = true;
    uint64_t begun = w.now;
    assert_int_equal(read_at(one, 0, buf, sizeof buf), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_true(w.now - begun < 2 * NS_PER_S);
    begun = w.now;
    assert_int_equal(read_at(two, 0, buf, sizeof buf), -1);
    assert_int_equal(w.now, begun);
    assert_int_equal(stats().hosts_lost, 1);
    /* The manager is asked for another host, for a while. */
    assert_true(open_at(8192, 65536, 0) >= 0);
    assert_int_equal(w.avoided, 1);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(8192, 131072, 0) >= 0);
    assert_int_equal(w.avoided, 0);
}

/* All hosts that were lost of late, not just the last one: else the manager names one of two dead
 * hosts after the other. */
CASE(read__dead_hosts_are_all_avoided)
{
    uint8_t buf[10];
    for (unsigned i = 0; i < 3; i++) {
        int rd = open_at(8192, (off_t)i * 8192, 0);
        assert_int_equal(w.avoided, i);
        w.imd_dead = true;
        assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
        w.imd_dead = false;
        imd_stop();
        imd_start(78 + i);
    }
    assert_true(open_at(8192, 65536, 0) >= 0);
    assert_int_equal(w.avoided, 3);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(8192, 131072, 0) >= 0);
    assert_int_equal(w.avoided, 0);
}

/* Nobody tells of a smaller MTU on the way: smaller datagrams are tried before the host is given
 * up. */
/* One that is lost once more takes no other's place. */
CASE(read__a_host_lost_again_is_avoided_once)
{
    static const uint64_t epochs[] = {77, 78, 78, 79, 80, 81, 82, 83, 84};
    enum { LOST = sizeof epochs / sizeof *epochs };
    uint8_t buf[10];
    w.client->config.refraction_ns = 60 * NS_PER_S;
    for (unsigned i = 0; i < LOST; i++) {
        imd_stop();
        imd_start(epochs[i]);
        int rd = open_at(8192, (off_t)i * 8192, 0);
        w.imd_dead = true;
        assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
        w.imd_dead = false;
    }
    imd_stop();
    imd_start(85);
    assert_true(open_at(8192, LOST * 8192, 0) >= 0);
    assert_int_equal(w.avoided, OPEN_AVOID_MAX);
}

CASE(path__black_hole_costs_half_a_deadline)
{
    static uint8_t data[100000];
    int rd = open_at(200000, 0, 0);
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    w.path_mtu = 1300;
    uint64_t begun = w.now;
    assert_reads_file(rd, 0, 0, 50000);
    assert_in_range(w.now - begun, NS_PER_S / 2, NS_PER_S);
    assert_int_equal(info(rd).hits, 50000);
    begun = w.now;
    assert_reads_file(rd, 0, 0, 50000);
    assert_true(w.now - begun < NS_PER_S / 10);
    memset(data, 3, sizeof data);
    assert_int_equal(write_at(rd, 50000, data, sizeof data), sizeof data);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, 200000);
}

CASE(path__black_hole_found_by_a_write)
{
    static uint8_t data[100000];
    int rd = open_at(200000, 0, 0);
    w.path_mtu = 1300;
    memset(data, 4, sizeof data);
    assert_int_equal(write_at(rd, 50000, data, sizeof data), sizeof data);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, 200000);
}

CASE(read__new_epoch_drops_the_host)
{
    uint8_t buf[10];
    int one = open_at(8192, 0, 0), two = open_at(8192, 8192, 0);
    assert_reads_file(one, 0, 0, 8192);
    settle();
    imd_stop();
    imd_start(78);
    assert_int_equal(read_at(one, 0, buf, sizeof buf), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_false(info(two).active);
}

/* The session to a host may be older than the region: only a HELLO tells who is there now. */
CASE(read__new_region_on_a_host_that_started_again)
{
    int one = open_at(8192, 0, 0);
    assert_reads_file(one, 0, 0, 8192);
    settle();
    imd_stop();
    imd_start(78);
    w.pool_used = 0;
    int two = open_at(8192, 8192, 0);
    assert_reads_file(two, 8192, 0, 8192);
    assert_true(info(two).active);
    settle();
    uint64_t hits = info(two).hits;
    assert_reads_file(two, 8192, 0, 8192);
    assert_int_equal(info(two).hits, hits + 8192);
    /* The host that was there before takes only its own regions with it. */
    uint8_t byte;
    assert_int_equal(read_at(one, 0, &byte, 1), -1);
    assert_false(info(one).active);
    assert_true(info(two).active);
}

CASE(read__goodbye_drops_the_host)
{
    uint8_t payload[8], buf[10];
    int rd = open_at(8192, 0, 0);
    assert_reads_file(rd, 0, 0, 8192);
    settle();
    size_t n = wire_goodbye_encode(77, payload);
    for (Session *s = NULL; (s = endpoint_walk(w.imd, s));)
        imd_message(NULL, s, WIRE_GOODBYE, payload, n);
    settle();
    assert_false(info(rd).active);
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
}

/* A host speaks for itself alone: it ends no other's regions. */
CASE(read__goodbye_of_another_counts_for_nothing)
{
    uint8_t payload[8];
    int rd = open_at(8192, 0, 0);
    assert_reads_file(rd, 0, 0, 8192);
    w.epoch = 78;
    int other = open_at(8192, 8192, 0); /* another host's */
    size_t n = wire_goodbye_encode(78, payload);
    for (Session *s = NULL; (s = endpoint_walk(w.imd, s));)
        imd_message(NULL, s, WIRE_GOODBYE, payload, n);
    settle();
    assert_true(info(rd).active);
    assert_true(info(other).active);
}

/* Reads that are under way at once all read the file before the first fill is queued: what is
 * queued stays below the limit, also with the last one. */
CASE(read__fills_in_the_queue_are_bounded)
{
    enum { READS = 20, BYTES = 256 << 10 }; /* 5 MiB together; the queue takes 4 */
    static uint8_t buf[READS][BYTES];
    Call reads[READS];
    int rd = open_at(BYTES, 0, 0);
    for (int i = 0; i < READS; i++) {
        call_read_start(&reads[i], w.channels[2], rd, 0, buf[i], BYTES, w.now);
        while (reads[i].need != NEED_FILE_READ) {
            channel_step(w.channels[2], w.now);
            if (reads[i].need == NEED_NETWORK)
                pump();
        }
    }
    w.imd_dead = true; /* it takes none of them */
    for (int i = 0; i < READS; i++) {
        do_file(&reads[i]);
        while (reads[i].need != NEED_NOTHING)
            channel_step(w.channels[2], w.now);
        assert_int_equal(reads[i].result, BYTES);
    }
    ClientStats s = stats();
    assert_int_equal(s.fills_offered + s.fills_dropped, READS);
    assert_true(s.fills_offered * BYTES < 4 << 20);
    assert_true(s.fills_dropped > 0);
    w.imd_dead = false;
}

/* What waits for a region that is lost meanwhile is for nobody, and gives its place to others. */
CASE(read__fills_of_a_lost_region_leave_the_queue)
{
    enum { READS = 63, BYTES = 64 << 10, RUN = 256 << 10 }; /* together nearly 4 MiB */
    static uint8_t buf[BYTES];
    Call reads[READS];
    int rd = open_at(BYTES, 0, 0);
    for (int i = 0; i < READS; i++) {
        call_read_start(&reads[i], w.channels[2], rd, 0, buf, BYTES, w.now);
        while (reads[i].need != NEED_FILE_READ) {
            channel_step(w.channels[2], w.now);
            if (reads[i].need == NEED_NETWORK)
                pump();
        }
    }
    w.imd_dead = true;
    for (int i = 0; i < READS; i++)
        assert_int_equal(finish(&reads[i]), BYTES);
    assert_true(stats().fills_offered > READS / 2);
    run_until(w.now + 5 * NS_PER_S);
    assert_false(info(rd).active);
    w.imd_dead = false;
    int other = open_at(RUN, 0, 0);
    assert_reads_file(other, 0, 0, RUN);
    settle();
    assert_int_equal(info(other).filled_bytes, RUN);
}

/* ---- writing -------------------------------------------------------------------------------- */

CASE(write__both_halves)
{
    static uint8_t data[300000];
    int rd = open_at(500000, 1000, 0);
    memset(data, 0x5A, sizeof data);
    assert_int_equal(write_at(rd, 4096, data, sizeof data), sizeof data);
    assert_memory_equal(w.file + 1000 + 4096, data, sizeof data);
    assert_reads_file(rd, 1000, 4096, 290000);
    assert_int_equal(info(rd).misses, 0);
    assert_int_equal(info(rd).written, sizeof data);
}

/* The last block is shorter, and whole all the same. */
CASE(write__fills_the_end_of_the_region)
{
    enum { LEN = WIRE_BLOCK_SIZE + 100 };
    static uint8_t data[LEN], back[100];
    int rd = open_at(LEN, 0, 0);
    memset(data, 0x5A, sizeof data);
    assert_int_equal(write_at(rd, 0, data, LEN), LEN);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(read_at(rd, WIRE_BLOCK_SIZE, back, sizeof back), sizeof back);
    assert_memory_equal(back, data, sizeof back);
    assert_int_equal(info(rd).hits, sizeof back);
}

/* The process ends: no host is asked, nor waited for, also by calls under way. */
CASE(stop__ends_calls_under_way)
{
    static uint8_t buf[8192];
    Call call;
    int rd = open_at(sizeof buf, 0, 0);
    assert_reads_file(rd, 0, 0, sizeof buf);
    settle();
    call_read_start(&call, w.channels[1], rd, 0, buf, sizeof buf, w.now);
    channel_step(w.channels[1], w.now);
    assert_int_equal(call.need, NEED_NETWORK);
    uint64_t begin = w.now;
    client_stop(w.client, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_true(w.now - begin < NS_PER_MS);
}

CASE(write__remote_failure_poisons)
{
    uint8_t data[100] = {1, 2, 3};
    int rd = open_at(8192, 0, 0);
    assert_reads_file(rd, 0, 0, 8192);
    settle();
    w.imd_dead = true;
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data); /* the file has it */
    assert_memory_equal(w.file, data, sizeof data);
    w.imd_dead = false;
    assert_int_equal(write_at(rd, 0, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(read_at(rd, 0, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(write__file_failure_unfills)
{
    static uint8_t data[100000];
    int rd = open_at(200000, 0, 0);
    assert_reads_file(rd, 0, 0, 200000);
    settle();
    memset(data, 0x33, sizeof data);
    w.write_error = ENOSPC;
    assert_int_equal(write_at(rd, 4096, data, sizeof data), -1);
    assert_int_equal(fail_error, ENOSPC);
    w.write_error = 0;
    assert_true(info(rd).active);
    assert_true(stats().voided > 0);
    for (uint64_t b = 1; b <= (4096 + sizeof data - 1) / 4096; b++)
        assert_false(imd_data_block_filled(w.data, w.last.region, b));
    assert_true(imd_data_block_filled(w.data, w.last.region, 0));
    assert_reads_file(rd, 0, 0, 200000);
}

CASE(write__short_file_write_tells_its_count)
{
    uint8_t data[20000];
    int rd = open_at(40960, 0, 0);
    memset(data, 0x44, sizeof data);
    w.write_short = 6000;
    assert_int_equal(write_at(rd, 0, data, sizeof data), 6000);
    w.write_short = 0;
    assert_reads_file(rd, 0, 0, 40960);
    assert_int_equal(w.file[6000], (uint8_t)(6000 * 7 + (6000 >> 9)));
}

/* Windows that were done before the file failed are made unfilled too. */
CASE(write__late_file_failure_unfills_all_windows)
{
    static uint8_t data[FILE_BYTES];
    enum { LEN = 40 * 14 * 4096 / 3 };
    int rd = open_at(LEN, 0, 0);
    Call call;
    memset(data, 0x66, sizeof data);
    call_write_start(&call, w.channels[1], rd, 0, data, LEN, w.now);
    channel_step(w.channels[1], w.now);
    while (call.need != NEED_FILE_WRITE)
        channel_step(w.channels[1], w.now);
    call_file_taken(&call);
    settle(); /* the whole remote half is over, the disk is slow */
    assert_true(imd_data_block_filled(w.data, w.last.region, 0));
    FileResult failed = {.count = -1, .error = EIO};
    call_file_done(&call, &failed, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    for (uint64_t b = 0; b < (LEN + 4095) / 4096; b++)
        assert_false(imd_data_block_filled(w.data, w.last.region, b));
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(write__inactive_reaches_no_file)
{
    uint8_t data[10] = {0}, before = w.file[0];
    int rd = open_at(8192, 0, 0);
    imd_data_drop(w.data, w.last.region);
    assert_int_equal(read_at(rd, 0, data, 1), -1);
    data[0] = (uint8_t)(before + 1);
    assert_int_equal(write_at(rd, 0, data, 10), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_int_equal(w.file[0], before);
}

/* ---- calls beside each other ---------------------------------------------------------------- */

CASE(beside__read_takes_the_file)
{
    uint8_t data[4096], buf[4096];
    int rd = open_at(40960, 0, 0);
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    Call call;
    memset(data, 0x77, sizeof data);
    call_write_start(&call, w.channels[1], rd, 4096, data, sizeof data, w.now);
    channel_step(w.channels[1], w.now);
    while (call.need != NEED_FILE_WRITE)
        channel_step(w.channels[1], w.now);
    call_file_taken(&call);
    memcpy(w.file + 4096, data, sizeof data); /* the file half is over, the remote half is not */
    Call reader;
    call_read_start(&reader, w.channels[2], rd, 4096, buf, sizeof buf, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(reader.need, NEED_FILE_READ);
    assert_int_equal(finish(&reader), sizeof buf);
    assert_memory_equal(buf, data, sizeof buf);
    assert_int_equal(stats().reads_beside_writes, 1);
    FileResult good = {.count = sizeof data};
    call_file_done(&call, &good, w.now);
    assert_int_equal(done(&call), sizeof data);
}

CASE(beside__writes_of_a_common_block_queue)
{
    uint8_t a[100], b[100];
    int rd = open_at(40960, 0, 0);
    Call one, two;
    memset(a, 1, sizeof a);
    memset(b, 2, sizeof b);
    call_write_start(&one, w.channels[1], rd, 4096, a, sizeof a, w.now);
    channel_step(w.channels[1], w.now);
    call_write_start(&two, w.channels[2], rd, 8191, b, sizeof b, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(two.need, NEED_BLOCKED);
    assert_int_equal(done(&one), sizeof a);
    assert_int_equal(done(&two), sizeof b);
    assert_int_equal(stats().blocked >= 1, 1);
}

/* ---- retaining ------------------------------------------------------------------------------ */

CASE(retain__only_what_was_read)
{
    uint8_t byte = 1;
    int rd = open_at(8192, 0, DODO_RETAIN);
    assert_reads_file(rd, 0, 0, 8192);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    assert_int_equal(write_at(rd, 0, &byte, 1), 1);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    w.stamp_moved = true;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.releases, 1);
    rd = open_at(8192, 0, DODO_RETAIN);
    w.sync_error = EIO;
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.releases, 1);
    rd = open_at(8192, 0, 0);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.releases, 1);
}

CASE(retain__only_while_nobody_can_write)
{
    static const enum FileLease without[] = {LEASE_NOT_ASKED, LEASE_WRITER, LEASE_REFUSED};
    for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
        w.lease = without[i]; /* somebody may be writing when it is opened, */
        int rd = open_at(8192, 0, DODO_RETAIN);
        w.lease = LEASE_GRANTED;
        assert_reads_file(rd, 0, 0, 8192);
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.releases, 0);
        rd = open_at(8192, 0, DODO_RETAIN);
        w.lease = without[i]; /* ... or when it is closed */
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.releases, 0);
        w.lease = LEASE_GRANTED;
    }
}

/* A stamp proves nothing while a change could leave it as it is: the less the coarser it is. */
CASE(retain__not_before_a_change_would_show)
{
    const uint64_t s = NS_PER_S, fine = NS_PER_MS; /* as client_fixture.h has the granule */
    const struct {
        uint64_t mtime, ctime, taken;
        unsigned kept;
    } cases[] = {
        {5 * s + 1, 5 * s + 1, 5 * s + 1 + fine, 0},
        {5 * s + 1, 5 * s + 1, 5 * s + 2 + fine, 1},
        {5 * s, 5 * s + 1, 5 * s + 2 + fine, 1}, /* a whole second set by hand */
        {5 * s, 5 * s, 5 * s + 2 + fine, 0},
        {5 * s, 5 * s, 7 * s, 0},
        {5 * s, 5 * s, 7 * s + 1, 1},
        {5 * s, 4 * s, 7 * s, 0},
        {4 * s, 5 * s, 7 * s, 0},
        {4000 * s + 1, 5 * s, 9 * s, 0}, /* in the future */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        w.stamp = (Stamp){8192, cases[i].mtime, cases[i].ctime};
        w.stamp_taken_ns = cases[i].taken;
        unsigned before = w.releases;
        int rd = open_at(8192, 0, DODO_RETAIN);
        assert_int_equal(close_rd(rd), 0);
        assert_int_equal(w.releases - before, cases[i].kept);
    }
}

CASE(sync__failure_poisons)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0);
    Call call;
    w.sync_error = EIO;
    call_sync_start(&call, w.channels[1], rd, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EIO);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(fail_error, ENOMEM);
}

/* The host remembers 64 numbers from the lowest that is open: the one after waits for it. */
CASE(write__as_many_numbers_as_the_host_remembers)
{
    uint8_t data[100] = {1};
    Call first, last;
    int rd = open_at(16384, 0, 0);
    assert_int_equal(write_at(rd, 0, data, sizeof data), sizeof data);
    call_write_start(&first, w.channels[1], rd, 0, data, sizeof data, w.now);
    do_file(run_to_file(&first));
    channel_run(1);
    w.head = w.tail; /* its datagram is lost, and its thread held up */
    w.asleep = 1;
    for (int i = 0; i < 64; i++) {
        call_write_start(&last, w.channels[2], rd, 8192, data, sizeof data, w.now);
        if (i < 63)
            assert_int_equal(done(&last), sizeof data);
    }
    do_file(run_to_file(&last));
    run_until(w.now + 100 * NS_PER_MS);
    assert_int_not_equal(last.need, NEED_NOTHING);
    w.asleep = 0;
    assert_int_equal(done(&first), sizeof data);
    assert_int_equal(done(&last), sizeof data);
    assert_true(info(rd).active);
    assert_int_equal(stats().poisoned, 0);
}
