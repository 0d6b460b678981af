/* SPDX-License-Identifier: MIT */
/* Time at the client: silence counts only while the program listened, however it comes and goes. */
#include "base/cleanup.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { PIECE = 4096 };

static uint8_t buf[FILE_BYTES];

/* A region whose first bytes are remote. */
static int open_filled(void)
{
    int rd = open_at(100000, 0, 0);
    assert_int_equal(write_at(rd, 0, w.disk.bytes, PIECE), PIECE);
    assert_reads_file(rd, 0, 0, PIECE);
    settle();
    assert_int_equal(info(rd).filled_bytes, PIECE);
    return rd;
}

static void lose_all(void)
{
    w.net.head = w.net.tail;
}

/* One look at the channel after @ns, as a queue that is polled does: what came, then a step. */
static void poll_after(uint64_t ns)
{
    uint64_t now = w.now + ns;
    while (w.net.head != w.net.tail) { /* the servers answered long ago */
        Datagram d = w.net.queue[w.net.head++ % QUEUE_MAX];
        if (d.to.host[0] == HOST_CLIENT + 1)
            w.now = now;
        deliver(&d);
    }
    w.now = now;
    channel_run(1);
}

static const uint64_t intervals_ms[] = {20, 60, 101, 150, 300, 1000};

/* ---- leaving -------------------------------------------------------------------------------- */

static void leave_in_time(void)
{
    Call call;
    uint64_t begin = w.now;
    call_leave_start(&call, w.channels[1], 250 * NS_PER_MS, w.now);
    assert_int_equal(finish(&call), -1);
    assert_in_range(w.now - begin, 1, 250 * NS_PER_MS);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* The last call ended by its file: how long the program did something else does not matter. */
CASE(leave__dead_manager_after_any_idle_time)
{
    w.cmd.dead = true;
    int rd = open_at(100000, 0, DODO_FALLBACK);
    assert_reads_file(rd, 0, 0, PIECE);
    w.now += 3600 * NS_PER_S;
    leave_in_time();
}

CASE(leave__the_manager_says_whether_it_is_done)
{
    Call call;
    call_leave_start(&call, w.channels[1], 250 * NS_PER_MS, w.now);
    assert_int_equal(done(&call), 0);
    w.cmd.leave_status = STATUS_DENIED;
    call_leave_start(&call, w.channels[1], 250 * NS_PER_MS, w.now);
    assert_int_equal(done(&call), -1);
    assert_int_equal(fail_error, EINVAL);
}

CASE(leave__dead_host_after_any_idle_time)
{
    Call call;
    int rd = open_at(100000, 0, 0);
    w.net.imd_dead = true;
    assert_int_equal(read_at(rd, 0, buf, PIECE), -1);
    call_sync_start(&call, w.channels[1], rd, w.now);
    channel_run(1);
    assert_int_equal(done(&call), 0);
    w.cmd.dead = true;
    w.now += 3600 * NS_PER_S;
    leave_in_time();
}

/* One thread hears that the host leaves, or finds that it is dead: a read of another one that waits
 * for its answer goes on with the file, or fails, without a deadline of its own. */
CASE(leave__no_read_waits_for_a_host_that_another_has_lost)
{
    const unsigned flags[] = {DODO_FALLBACK, 0, DODO_FALLBACK, 0};
    for (unsigned i = 0; i < ARRAY_SIZE(flags); i++) {
        Call waits;
        int rd = open_at(PIECE, 0, flags[i]);
        if (i >= 2) { /* its session is up; before, no thread has read there */
            call_read_start(&waits, w.channels[2], rd, 0, buf, PIECE, w.now);
            assert_int_equal(done(&waits), PIECE);
        }
        settle();
        w.net.imd_dead = true;
        call_read_start(&waits, w.channels[2], rd, 0, buf, PIECE, w.now);
        channel_step(w.channels[2], w.now);
        assert_int_equal(waits.need, NEED_NETWORK);
        uint64_t start = w.now;
        client_host_lost(w.client, w.epoch, LOSS_LEAVING, w.now);
        assert_int_equal(done(&waits), flags[i] ? PIECE : -1);
        assert_in_range(w.now - start, 0, 100 * NS_PER_MS);
        w.net.imd_dead = false;
        (void)close_rd(rd);
    }
}

/* ---- polled queues -------------------------------------------------------------------------- */

/* The first look finds the time-out and asks again, the next one the answer. What consists of
 * several datagrams is asked for by one of them first. */
CASE(polled__lost_datagram_is_repaired)
{
    static const struct {
        size_t len;
        unsigned polls;
    } cases[] = {{1000, 2}, {PIECE, 4}};
    int rd = open_filled();
    for (size_t i = 0; i < 2 * ARRAY_SIZE(intervals_ms); i++) {
        Call call;
        unsigned polls = 0;
        call_read_start(&call, w.channels[1], rd, 0, buf, cases[i % 2].len, w.now);
        channel_run(1);
        lose_all();
        for (; call.need != NEED_NOTHING && polls < 10; polls++)
            poll_after(intervals_ms[i / 2] * NS_PER_MS);
        assert_int_equal(call.need, NEED_NOTHING);
        assert_int_equal(call.result, cases[i % 2].len);
        assert_int_equal(polls, cases[i % 2].polls);
    }
    assert_int_equal(close_rd(rd), 0);
}

/* In a bounded number of looks, and after no more than the deadline of listening. */
CASE(polled__dead_host_is_given_up)
{
    for (size_t i = 0; i < ARRAY_SIZE(intervals_ms); i++) {
        Call call;
        w.net.imd_dead = false;
        w.now += 10 * NS_PER_S;
        int rd = open_filled();
        unsigned polls = 0, most = (unsigned)(1000 / intervals_ms[i]) + 25;
        uint64_t lost = stats().hosts_lost;
        w.net.imd_dead = true;
        call_read_start(&call, w.channels[1], rd, 0, buf, PIECE, w.now);
        channel_run(1);
        for (; call.need != NEED_NOTHING && polls < most; polls++)
            poll_after(intervals_ms[i] * NS_PER_MS);
        assert_int_equal(call.need, NEED_NOTHING);
        assert_int_equal(call.error, ENOMEM);
        assert_int_equal(stats().hosts_lost, lost + 1); /* dead, not busy */
    }
}

/* ---- a program that is held up -------------------------------------------------------------- */

CASE(held_up__dead_host_costs_one_deadline_of_listening)
{
    static const struct {
        unsigned runs_ms, stands_ms;
    } cases[] = {{300, 150}, {100, 150}, {50, 120}, {10, 500}, {150, 1000}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Call call;
        w.net.imd_dead = false;
        w.now += 10 * NS_PER_S;
        int rd = open_filled();
        w.net.imd_dead = true;
        unsigned ran_ms = 0;
        call_read_start(&call, w.channels[1], rd, 0, buf, PIECE, w.now);
        for (; call.need != NEED_NOTHING && ran_ms < 1500; ran_ms += cases[i].runs_ms) {
            uint64_t until = w.now + cases[i].runs_ms * NS_PER_MS;
            run_until(until);
            w.now = until + cases[i].stands_ms * NS_PER_MS;
        }
        assert_int_equal(call.need, NEED_NOTHING);
        assert_int_equal(call.error, ENOMEM);
        assert_int_equal(stats().hosts_lost, i + 1); /* dead, not busy */
        assert_true(ran_ms <= 1000 + cases[i].runs_ms);
    }
}

/* The program was stopped, its host was not: the first thing that it does is to look at the time.
 */
CASE(stopped__live_host_is_not_dead)
{
    Call call;
    int rd = open_filled();
    for (unsigned stop_s = 1; stop_s <= 1000; stop_s *= 10) {
        call_read_start(&call, w.channels[1], rd, 0, buf, PIECE, w.now);
        channel_run(1);
        lose_all();
        w.now += stop_s * NS_PER_S;
        channel_run(1);
        assert_int_equal(done(&call), PIECE);
    }
    assert_int_equal(stats().hosts_lost, 0);
}

/* ---- a manager that is away ----------------------------------------------------------------- */

/* The first opening waits as long as until a request is repeated, the others not at all; all have
 * memory soon after the manager is back. */
CASE(fallback__never_waits_for_a_manager_that_is_away)
{
    int rds[20];
    uint64_t begin = w.now;
    w.cmd.dead = true;
    for (unsigned i = 0; i < ARRAY_SIZE(rds); i++) {
        rds[i] = open_at(8192, i * 8192ull, DODO_FALLBACK);
        assert_in_range(w.now - begin, 1, 50 * NS_PER_MS);
        assert_false(info(rds[i]).active);
    }
    assert_reads_file(rds[3], 3 * 8192, 0, 8192);
    run_until(w.now + 100 * NS_PER_MS);
    w.cmd.dead = false;
    run_until(w.now + 5 * NS_PER_S);
    for (unsigned i = 0; i < ARRAY_SIZE(rds); i++)
        assert_true(info(rds[i]).active);
    assert_true(info(open_at(8192, 512 << 10, DODO_FALLBACK)).active); /* it waits again */
}

/* The region that the manager gave while nobody waited any more is the one that is used: no second
 * one is asked for, for which there may be no room before the first is freed. */
CASE(fallback__takes_what_a_late_answer_gives)
{
    w.cmd.opens_unheard = 1;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    assert_false(info(rd).active);
    run_until(w.now + 100 * NS_PER_MS);
    assert_true(info(rd).active);
    assert_int_equal(w.heard.opens, 1);
    assert_int_equal(numbers_lowest(&w.client->ids), numbers_last(&w.client->ids) + 1);
    assert_reads_file(rd, 0, 0, 8192);
}

CASE(fallback__stripes_take_what_late_answers_give)
{
    w.cmd.opens_unheard = 4;
    int rd = open_at(4 * STRIPE_BYTES, 0, DODO_FALLBACK | DODO_STRIPE);
    unsigned opens = w.heard.opens;
    assert_false(info(rd).active);
    run_until(w.now + NS_PER_S);
    assert_true(info(rd).active);
    assert_in_range(w.heard.opens, opens, 4);
    assert_int_equal(w.cmd.regions, 4);
}

/* Who closes it before, leaves nothing: the request counts as over, and the manager hears which
 * regions are claimed. */
CASE(fallback__forgets_a_late_answer_when_it_is_closed)
{
    w.cmd.opens_unheard = 2;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(numbers_lowest(&w.client->ids), numbers_last(&w.client->ids) + 1);
    unsigned alives = w.heard.alives;
    run_until(w.now + 10 * NS_PER_S);
    assert_true(w.heard.alives > alives);
}

/* A period in which nobody asks for more does not keep from asking for what was given. */
CASE(fallback__takes_a_late_answer_in_a_refraction_period)
{
    w.cmd.opens_unheard = 1;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    client_refract(w.client, w.now);
    run_until(w.now + 100 * NS_PER_MS);
    assert_true(info(rd).active);
}

CASE(fallback__one_region_too_many_leaves_no_request)
{
    w.client->config.regions_max = 0;
    w.cmd.opens_unheard = 1;
    assert_int_equal(open_at(8192, 0, DODO_FALLBACK), -1);
    assert_int_equal(fail_error, EMFILE);
    assert_int_equal(numbers_lowest(&w.client->ids), numbers_last(&w.client->ids) + 1);
}

/* Nor does one keep requests open for a manager that is away: when it has not answered one in time,
 * all are over. Else those that take time could use up the numbers of all others. */
CASE(fallback__keeps_no_requests_for_a_manager_that_is_away)
{
    int rds[5];
    w.cmd.dead = true;
    for (unsigned i = 0; i < ARRAY_SIZE(rds); i++) {
        w.client->manager.late = false; /* another thread had an answer */
        rds[i] = open_at(8192, i * 8192ull, DODO_FALLBACK);
    }
    const uint64_t last = numbers_last(&w.client->ids);
    assert_true(numbers_lowest(&w.client->ids) <= last - ARRAY_SIZE(rds) + 1);
    run_until(w.now + w.client->config.request.deadline_ns + NS_PER_S);
    assert_true(numbers_lowest(&w.client->ids) > last);
    w.cmd.dead = false;
    run_until(w.now + 60 * NS_PER_S);
    for (unsigned i = 0; i < ARRAY_SIZE(rds); i++)
        assert_true(info(rds[i]).active);
}

/* A manager that refuses is not away: the next opening asks it. */
CASE(fallback__asks_a_manager_that_has_refused)
{
    w.cmd.dead = true;
    assert_int_equal(close_rd(open_at(8192, 0, DODO_FALLBACK)), 0);
    w.cmd.dead = false;
    w.cmd.open_status = STATUS_NO_MEMORY;
    assert_int_equal(open_at(8192, 0, 0), -1);
    w.cmd.open_status = STATUS_OK;
    w.now += 5 * NS_PER_S; /* the refraction period */
    assert_true(info(open_at(8192, 0, DODO_FALLBACK)).active);
}

/* Also one that has refused what the background asked for. */
CASE(fallback__asks_a_manager_that_has_refused_the_background)
{
    w.cmd.dead = true;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    w.cmd.dead = false;
    w.cmd.open_status = STATUS_NO_MEMORY;
    for (unsigned opens = w.heard.opens; w.heard.opens == opens;)
        run_until(w.now + 10 * NS_PER_MS);
    settle();
    w.cmd.open_status = STATUS_OK;
    w.now += 60 * NS_PER_S; /* the refraction period */
    assert_false(info(rd).active);
    assert_true(info(open_at(8192, 8192, DODO_FALLBACK)).active);
}

/* A client with too much under way has no number for another request: it waits for one. */
CASE(fallback__waits_for_a_free_number)
{
    uint64_t ids[1000];
    unsigned count = 0;
    w.cmd.open_status = STATUS_NO_MEMORY;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    w.cmd.open_status = STATUS_OK;
    while ((ids[count] = numbers_take(&w.client->ids)) != 0)
        count++;
    run_until(w.now + 10 * NS_PER_S);
    assert_true(channel_deadline(w.channels[0]) > w.now);
    assert_false(info(rd).active);
    while (count-- > 0)
        numbers_end(&w.client->ids, ids[count]);
    run_until(w.now + 10 * NS_PER_S);
    assert_true(info(rd).active);
}

/* Nor is one that answers keep-alives. */
CASE(fallback__asks_a_manager_that_answers_keep_alives)
{
    int rd = open_at(8192, 0, 0); /* what they are for */
    w.cmd.dead = true;
    assert_int_equal(close_rd(open_at(8192, 8192, DODO_FALLBACK)), 0);
    w.cmd.dead = false;
    run_until(w.now + 10 * NS_PER_S);
    assert_true(info(open_at(8192, 8192, DODO_FALLBACK)).active);
    assert_true(info(rd).active);
}

CASE(fallback__active_at_once_with_a_manager)
{
    assert_true(info(open_at(8192, 0, DODO_FALLBACK)).active);
    assert_true(info(open_at(4 * STRIPE_BYTES, 64 << 10, DODO_FALLBACK | DODO_STRIPE)).active);
}

CASE(fallback__stripes_do_not_wait_either)
{
    uint64_t begin = w.now;
    w.cmd.dead = true;
    int rd = open_at(4 * STRIPE_BYTES, 0, DODO_FALLBACK | DODO_STRIPE);
    assert_in_range(w.now - begin, 1, 50 * NS_PER_MS);
    w.cmd.dead = false;
    run_until(w.now + NS_PER_S); /* sooner than regions that were lost are asked for */
    assert_true(info(rd).active);
}

/* A region that was just opened waits behind none that was lost and is to wait for a while. */
CASE(fallback__comes_before_what_was_lost)
{
    uint8_t byte;
    int lost = open_at(8192, 0, DODO_FALLBACK);
    imd_data_drop(w.data, info(lost).address.region);
    assert_int_equal(read_at(lost, 0, &byte, 1), 1);
    assert_false(info(lost).active);
    w.cmd.dead = true;
    int rd = open_at(8192, 8192, DODO_FALLBACK);
    w.cmd.dead = false;
    run_until(w.now + NS_PER_S);
    assert_true(info(rd).active);
    assert_false(info(lost).active);
    run_until(w.now + 2 * NS_PER_S);
    assert_true(info(lost).active);
}

/* Without traffic in between; a success is the end of it. */
CASE(refraction__doubles_up_to_a_minute)
{
    static const unsigned periods_s[] = {5, 10, 20, 40, 60, 60};
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < ARRAY_SIZE(periods_s); i++) {
            w.cmd.open_status = STATUS_NO_MEMORY;
            unsigned opens = w.heard.opens;
            assert_int_equal(open_at(4096, 0, 0), -1);
            assert_int_equal(w.heard.opens, opens + 1);
            w.cmd.open_status = STATUS_OK;
            w.now += periods_s[i] * NS_PER_S - NS_PER_MS;
            assert_int_equal(open_at(4096, 0, 0), -1);
            assert_int_equal(w.heard.opens, opens + 1);
            w.now += NS_PER_MS;
        }
        assert_int_equal(close_rd(open_at(4096, 0, 0)), 0);
    }
}

/* ---- slow hosts ----------------------------------------------------------------------------- */

/* A host that answers, and serves one chunk in so long. */
static void trickle(unsigned seconds)
{
    w.net.trickle_ns = seconds * NS_PER_S;
    w.net.trickle_at = 0;
}

static int open_large(unsigned flags)
{
    int rd = open_at(FILE_BYTES, 0, flags);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    run_until(w.now + NS_PER_S);
    assert_int_equal(info(rd).filled_bytes, FILE_BYTES);
    return rd;
}

CASE(slow__a_read_goes_on_with_the_file)
{
    int rd = open_large(DODO_FALLBACK);
    uint64_t begin = w.now;
    trickle(3);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
    assert_in_range(w.now - begin, 10 * NS_PER_S, 33 * NS_PER_S);
    trickle(0);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(w.heard.reports, 1);
    assert_int_equal(w.heard.report.fault, HOST_FAULT_SLOW);
    assert_int_equal(w.heard.avoided, 1);
}

CASE(slow__a_read_fails_once_without_the_file)
{
    int rd = open_large(0);
    trickle(3);
    assert_int_equal(read_at(rd, 0, buf, FILE_BYTES), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_false(info(rd).active);
}

CASE(slow__a_write_is_in_the_file)
{
    int rd = open_large(DODO_FALLBACK);
    uint64_t begin = w.now;
    memset(buf, 0x77, sizeof buf);
    trickle(3);
    assert_int_equal(write_at(rd, 0, buf, FILE_BYTES), FILE_BYTES);
    assert_memory_equal(w.disk.bytes, buf, FILE_BYTES);
    assert_in_range(w.now - begin, 0, 34 * NS_PER_S);
    assert_reads_file(rd, 0, 0, FILE_BYTES);
}

/* Each buffer in time, one after the other, and all of them not. */
CASE(slow__a_call_of_many_buffers_ends)
{
    enum { BUFFERS = 20, LONG = 4 * PIECE }; /* not gathered */
    struct iovec iov[BUFFERS];
    Call call;
    int rd = open_large(DODO_FALLBACK);
    uint64_t begin = w.now;
    memset(buf, 0x78, sizeof buf);
    for (unsigned i = 0; i < BUFFERS; i++)
        iov[i] = (struct iovec){buf + (size_t)i * LONG, LONG};
    trickle(5);
    call_writev_start(&call, w.channels[0], rd, 0, iov, BUFFERS, w.now);
    assert_int_equal(done(&call), BUFFERS * LONG);
    assert_memory_equal(w.disk.bytes, buf, BUFFERS * LONG);
    assert_in_range(w.now - begin, 5 * NS_PER_S, 20 * NS_PER_S);
}

/* Small reads are answered in time, though each takes long: the host is of use. */
CASE(slow__what_is_answered_in_time_is_no_fault)
{
    int rd = open_large(DODO_FALLBACK);
    trickle(2);
    uint64_t hits = info(rd).hits;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(read_at(rd, (off_t)i * PIECE, buf, 1000), 1000);
    assert_int_equal(info(rd).hits, hits + 100 * 1000);
    assert_int_equal(w.heard.reports, 0);
}

/* The session gives way to others' after long: another one is made, in its own time. */
CASE(session__lost_in_a_long_transfer)
{
    Call call;
    int rd = open_large(0);
    trickle(1);
    call_read_start(&call, w.channels[1], rd, 0, buf, FILE_BYTES, w.now);
    for (uint64_t until = w.now + 3 * NS_PER_S; w.now < until;) {
        channel_run(1);
        pump();
    }
    for (unsigned i = 0; i < 100; i++) {
        Addr other = addr_sim(3, (uint16_t)i); /* nobody is there */
        w.now++;
        (void)endpoint_connect(channel_endpoint(w.channels[1]), &other, w.now);
    }
    trickle(0);
    assert_int_equal(done(&call), FILE_BYTES);
    assert_true(info(rd).active);
    w.now += 3600 * NS_PER_S; /* in which the next session's host owes nothing */
    assert_int_equal(read_at(rd, 0, buf, FILE_BYTES), FILE_BYTES);
    assert_true(info(rd).active);
}

/* Whatever is wrong with a host, the manager hears of it once until it has answered. */
CASE(report__one_of_each_host)
{
    client_lock(w.client);
    client_report(w.client, 7, HOST_FAULT_SLOW);
    client_report(w.client, 7, HOST_FAULT_CORRUPT);
    client_unlock(w.client);
    run_until(w.now + NS_PER_S);
    assert_int_equal(w.heard.reports, 1);
    client_lock(w.client);
    for (uint64_t epoch = 1; epoch <= 2 * REPORTS_MAX; epoch++)
        client_report(w.client, epoch, HOST_FAULT_SLOW);
    client_unlock(w.client);
    run_until(w.now + NS_PER_S);
    assert_int_equal(w.heard.reports, 1 + REPORTS_MAX);
}
