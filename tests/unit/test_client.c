/* SPDX-License-Identifier: MIT */
/* The client's core, call by call: what each row of the interface's contract asks of a read. */
#include "libdodo/client.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(read__fills_then_hits)
{
    int rd = open_at(100000, 5000, 0);
    assert_reads_file(rd, 5000, 0, 100000);
    assert_int_equal(info(rd).misses, 100000);
    assert_int_equal(info(rd).hits, 0);
    settle();
    assert_int_equal(info(rd).filled_bytes, 100000);
    memset(w.disk.bytes, 0xEE,
           sizeof w.disk.bytes); /* behind Dodo's back: shows where bytes come from */
    uint8_t byte;
    assert_int_equal(read_at(rd, 99999, &byte, 1), 1);
    assert_int_equal(byte, (uint8_t)(104999 * 7 + (104999 >> 9)));
    assert_int_equal(info(rd).hits, 1);
}

CASE(read__ends_at_region_and_file)
{
    uint8_t buf[10000];
    int rd = open_at(8192 * 3, 0, 0);
    w.disk.size = 10000;
    assert_int_equal(read_at(rd, 8192 * 3 - 10, buf, 100), 0);
    assert_int_equal(read_at(rd, 9000, buf, sizeof buf), 1000);
    settle();
    /* The block that the file's end is in was not filled. */
    assert_int_equal(imd_data_block_filled(w.data, w.cmd.last.region, 2), false);
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), sizeof buf);
    settle();
    assert_true(imd_data_block_filled(w.data, w.cmd.last.region, 1));
    w.disk.size = FILE_BYTES;
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
    assert_true(imd_data_block_filled(w.data, w.cmd.last.region, 0));
    w.client->config.fill_queue_bytes = 0;
    w.disk.size = END;
    assert_int_equal(read_at(rd, 100, buf, BYTES), END - 100);
    assert_memory_equal(buf, w.disk.bytes + 100, END - 100);
    assert_int_equal(stats().fills_offered, 1);
    assert_int_equal(read_at(rd, END, buf, 100), 0);
}

CASE(read__datagrams_may_come_joined)
{
    w.net.joins = true;
    int rd = open_at(200000, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_reads_file(rd, 0, 3, 199990);
        settle();
    }
    assert_int_equal(info(rd).misses, 199990);
    assert_true(w.net.joined > 200);
}

/* What the route promises is only tried, beside datagrams that pass everywhere. */
CASE(read__large_datagrams_once_a_probe_came_back)
{
    w.net.datagram_max = 1900;
    int rd = open_at(50000, 0, 0);
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    assert_reads_file(rd, 0, 0, 50000);
    assert_int_equal(w.net.segment, 1900 - WIRE_HEADER_SIZE - WIRE_DATA_HEADER_SIZE);
    assert_int_equal(info(rd).hits, 50000);
}

CASE(read__common_datagrams_where_probes_vanish)
{
    w.net.datagram_max = 1900;
    w.net.path_mtu = 1472;
    int rd = open_at(50000, 0, 0);
    uint64_t begun = w.now;
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    for (int i = 0; i < 10; i++) {
        assert_reads_file(rd, 0, 0, 50000);
        assert_int_equal(w.net.segment, 1472 - WIRE_HEADER_SIZE - WIRE_DATA_HEADER_SIZE);
    }
    assert_true(w.now - begun < NS_PER_S / 2); /* nothing waited for them */
}

CASE(read__gone_costs_that_region_only)
{
    uint8_t buf[10];
    int one = open_at(8192, 0, 0);
    RegionAddress first = w.cmd.last;
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
    w.net.imd_dead = true;
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
    assert_int_equal(w.heard.avoided, 1);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(8192, 131072, 0) >= 0);
    assert_int_equal(w.heard.avoided, 0);
}

/* All hosts that were lost of late, not just the last one: else the manager names one of two dead
 * hosts after the other. */
CASE(read__dead_hosts_are_all_avoided)
{
    uint8_t buf[10];
    for (unsigned i = 0; i < 3; i++) {
        int rd = open_at(8192, (off_t)i * 8192, 0);
        assert_int_equal(w.heard.avoided, i);
        w.net.imd_dead = true;
        assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
        w.net.imd_dead = false;
        imd_stop();
        imd_start(78 + i);
    }
    assert_true(open_at(8192, 65536, 0) >= 0);
    assert_int_equal(w.heard.avoided, 3);
    w.now += 5 * NS_PER_S;
    assert_true(open_at(8192, 131072, 0) >= 0);
    assert_int_equal(w.heard.avoided, 0);
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
        w.net.imd_dead = true;
        assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
        w.net.imd_dead = false;
    }
    imd_stop();
    imd_start(85);
    assert_true(open_at(8192, LOST * 8192, 0) >= 0);
    assert_int_equal(w.heard.avoided, OPEN_AVOID_MAX);
}

CASE(path__black_hole_costs_half_a_deadline)
{
    static uint8_t data[100000];
    int rd = open_at(200000, 0, 0);
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    w.net.path_mtu = 1300;
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
    w.net.path_mtu = 1300;
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
    w.net.imd_dead = true; /* it takes none of them */
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
    w.net.imd_dead = false;
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
    w.net.imd_dead = true;
    for (int i = 0; i < READS; i++)
        assert_int_equal(finish(&reads[i]), BYTES);
    assert_true(stats().fills_offered > READS / 2);
    run_until(w.now + 5 * NS_PER_S);
    assert_false(info(rd).active);
    w.net.imd_dead = false;
    int other = open_at(RUN, 0, 0);
    assert_reads_file(other, 0, 0, RUN);
    settle();
    assert_int_equal(info(other).filled_bytes, RUN);
}
