/* SPDX-License-Identifier: MIT */
/* The client's core: what it does when nobody calls. Regions that fall back on their file get
 * memory again; the manager hears what is claimed. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- fills ---------------------------------------------------------------------------------- */

/* A host whose owner needs its memory refuses what it is given. It is asked again now and then, not
 * with each read; and once there is room, all comes to it. */
CASE(fills__rest_while_the_host_has_no_memory)
{
    ImdSpace space = {.limit_bytes = 0};
    int rd = open_at(40960, 0, 0);
    ImdRegion region = {.region = w.cmd.last.region,
                        .opening = 1,
                        .capability = w.cmd.last.capability,
                        .len = 40960,
                        .extents = extents_new(&space, 0, 40960, 8192)};
    imd_data_drop(w.data, region.region);
    assert_int_equal(imd_data_add(w.data, &region), 0);
    for (unsigned i = 0; i < 20; i++) {
        assert_reads_file(rd, 0, 0, 40960);
        settle();
    }
    assert_int_equal(imd_data_stats(w.data)->fills_no_room, 1);
    assert_true(info(rd).active);
    space.limit_bytes = 65536;
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    assert_int_equal(info(rd).filled_bytes, 0);
    w.now += 500 * NS_PER_MS;
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, 0, 40960);
    assert_int_equal(info(rd).hits, hits + 40960);
    imd_data_drop(w.data, region.region);
    extents_end(region.extents);
    region.extents = extents_free(region.extents);
}

/* ---- FALLBACK ------------------------------------------------------------------------------- */

CASE(fallback__goes_on_and_comes_back)
{
    uint8_t data[5000];
    int rd = open_at(40960, 0, DODO_FALLBACK);
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    imd_data_drop(w.data, w.cmd.last.region);
    assert_reads_file(rd, 0, 0, 40960);
    assert_false(info(rd).active);
    memset(data, 9, sizeof data);
    assert_int_equal(write_at(rd, 100, data, sizeof data), sizeof data);
    assert_reads_file(rd, 0, 0, 40960);
    run_until(w.now + 10 * NS_PER_S);
    assert_true(info(rd).active);
    assert_reads_file(rd, 0, 0, 40960);
    settle();
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, 0, 40960);
    assert_int_equal(info(rd).hits, hits + 40960);
}

/* Its new memory knows nothing of the writes that the old one had. */
CASE(fallback__numbers_begin_again_with_new_memory)
{
    uint8_t data[5000];
    int rd = open_at(40960, 0, DODO_FALLBACK);
    memset(data, 7, sizeof data);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(write_at(rd, 100, data, sizeof data), sizeof data);
    assert_int_equal(info(rd).named.port, CONTROL_PORT); /* by which people know it */
    imd_data_drop(w.data, w.cmd.last.region);
    assert_reads_file(rd, 0, 0, 40960);
    run_until(w.now + 10 * NS_PER_S);
    unsigned opens = w.heard.opens;
    assert_int_equal(write_at(rd, 100, data, sizeof data), sizeof data);
    assert_true(info(rd).active);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(w.heard.opens, opens); /* it is not established again and again */
    assert_reads_file(rd, 0, 0, 40960);
}

/* A write that was held up in its file while the region lost its memory and got other: its number
 * is none of those that the new memory counts. The host remembers 64 from the lowest that is open,
 * and refuses the one after. */
CASE(fallback__a_write_to_the_old_memory_counts_for_none_of_the_new)
{
    uint8_t data[100] = {1};
    Call held_up, reader;
    int rd = open_at(16384, 0, DODO_FALLBACK);
    call_write_start(&held_up, w.channels[1], rd, 0, data, sizeof data, w.now);
    call_file_taken(run_to_file(&held_up));
    w.net.head = w.net.tail;
    w.asleep = 1;
    imd_data_drop(w.data, w.cmd.last.region);
    call_read_start(&reader, w.channels[2], rd, 8192, data, 1, w.now);
    assert_int_equal(done(&reader), 1);
    assert_false(info(rd).active);
    run_until(w.now + 10 * NS_PER_S);
    assert_true(info(rd).active);
    w.asleep = 0;
    call_file_done(&held_up, &(FileResult){.count = sizeof data}, w.now);
    assert_int_equal(finish(&held_up), sizeof data);
    assert_true(info(rd).active);
    assert_writes_wait(rd);
}

/* It was asked for as one that is not kept: the manager would refuse to release it. */
CASE(fallback__established_again_is_not_released)
{
    int rd = open_at(8192, 0, DODO_FALLBACK | DODO_RETAIN);
    imd_data_drop(w.data, w.cmd.last.region);
    assert_reads_file(rd, 0, 0, 8192);
    run_until(w.now + 10 * NS_PER_S);
    assert_true(info(rd).active);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.closes, 1);
    assert_int_equal(w.heard.releases, 0);
}

CASE(fallback__opens_without_memory)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    int rd = open_at(40960, 0, DODO_FALLBACK);
    assert_true(rd >= 0);
    assert_reads_file(rd, 0, 0, 40960);
    assert_int_equal(close_rd(rd), 0);
}

/* That its memory was reclaimed is no failure of such a region, whenever it comes to light. */
CASE(fallback__closes_whatever_became_of_its_memory)
{
    for (unsigned flags = 0; flags <= DODO_FALLBACK; flags += DODO_FALLBACK) {
        Call call;
        char byte;
        int expected = flags & DODO_FALLBACK ? 0 : -1;
        int rd = open_at(4096, 0, flags);
        w.cmd.close_status = STATUS_GONE; /* the manager knows it first */
        assert_int_equal(close_rd(rd), expected);
        w.cmd.close_status = STATUS_OK;

        rd = open_at(4096, 4096, flags | DODO_RETAIN);
        int other = open_at(4096, 8192, 0);
        assert_reads_file(other, 8192, 0, 4096);
        settle(); /* it is filled: the next read asks the host */
        call_close_start(&call, w.channels[2], rd, w.now);
        channel_step(w.channels[2], w.now);
        assert_true(file_needed(&call)); /* its stamp; meanwhile another call loses the host */
        w.net.imd_dead = true;
        assert_int_equal(read_at(other, 0, &byte, 1), -1);
        w.net.imd_dead = false;
        assert_int_equal(done(&call), expected);
        assert_int_equal(close_rd(other), -1);
    }
}

/* ---- keep-alives ---------------------------------------------------------------------------- */

CASE(alive__only_with_something_to_keep)
{
    run_until(w.now + 60 * NS_PER_S);
    assert_int_equal(w.heard.alives, 0);
    int rd = open_at(4096, 0, 0);
    unsigned before = w.heard.alives;
    run_until(w.now + 20 * NS_PER_S);
    assert_in_range(w.heard.alives - before, 4, 6);
    assert_int_equal(close_rd(rd), 0);
}

/* The background's thread sleeps until its channel's time. What it has just sent may be lost, and
 * nothing else may happen by then. */
CASE(alive__lost_is_sent_again)
{
    assert_true(open_at(40960, 0, 0) >= 0);
    run_until(w.now + 6 * NS_PER_S);
    unsigned alives = w.heard.alives;
    assert_true(alives > 0); /* its session is up */
    w.now = channel_deadline(w.channels[0]);
    channel_step(w.channels[0], w.now);
    assert_int_equal(w.net.tail - w.net.head, 1);
    w.net.head = w.net.tail;
    assert_in_range(channel_deadline(w.channels[0]), w.now + 1, w.now + 50 * NS_PER_MS);
    w.now = channel_deadline(w.channels[0]);
    channel_step(w.channels[0], w.now);
    settle();
    assert_int_equal(w.heard.alives, alives + 1);
}

/* A window of ids has 64: those of unanswered keep-alives are over, too. */
CASE(alive__unanswered_ones_use_up_nothing)
{
    int rd = open_at(4096, 0, 0);
    w.cmd.dead = true;
    run_until(w.now + 80 * 10 * NS_PER_S);
    w.cmd.dead = false;
    assert_int_equal(close_rd(rd), -1); /* nothing was heard of it yet */
    assert_true(open_at(4096, 0, 0) >= 0);
}

/* Memory that came for a region that is closed by then: the next keep-alive tells that nobody
 * claims it, though there is nothing else to keep. */
CASE(alive__tells_of_memory_that_was_not_taken)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    w.cmd.open_status = STATUS_OK;
    w.cmd.dead = true;
    run_until(w.now + 5200 * NS_PER_MS); /* the background asks */
    assert_int_equal(close_rd(rd), 0);
    unsigned opens = w.heard.opens;
    w.cmd.dead = false;
    run_until(w.now + 3 * NS_PER_S);
    assert_int_equal(w.heard.opens, opens + 1);
    run_until(w.now + 6 * NS_PER_S);
    assert_in_range(w.heard.alives, 1, 2);
}

/* The last region is lost: its host may still hold it, and the manager must hear that nobody claims
 * it. Then there is nothing more to say. */
CASE(alive__once_more_after_the_last_region)
{
    uint8_t buf[4096];
    int rd = open_at(4096, 0, 0);
    run_until(w.now + 12 * NS_PER_S); /* what opening it had to say is said */
    w.net.imd_dead = true;
    assert_int_equal(read_at(rd, 0, buf, sizeof buf), -1);
    unsigned before = w.heard.alives;
    run_until(w.now + 60 * NS_PER_S);
    assert_int_equal(w.heard.alives, before + 1);
    (void)close_rd(rd);
}

CASE(claim__lists_what_is_held)
{
    int rds[100];
    for (int i = 0; i < 100; i++)
        rds[i] = open_at(4096, (uint64_t)i * 4096, 0);
    assert_int_equal(close_rd(rds[50]), 0);
    w.cmd.want_list = true;
    run_until(w.now + 6 * NS_PER_S);
    assert_int_equal(w.heard.claims, 3); /* 99 names, 48 a page */
    assert_int_equal(w.heard.claim.pages, 3);
    assert_int_equal(w.heard.claim.page, 2);
    assert_int_equal(w.heard.claim.count, 3);
    assert_true(w.heard.claim.before > 100);
    for (int i = 0; i < 100; i++)
        if (i != 50)
            assert_int_equal(close_rd(rds[i]), 0);
}
