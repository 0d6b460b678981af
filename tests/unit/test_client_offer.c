/* SPDX-License-Identifier: MIT */
/* mfillv: what the program has of the file goes to remote memory without the file being asked. */
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

enum { LEN = 300000 };

static ssize_t offer_v(int rd, off_t offset, const struct iovec *iov, int count)
{
    Call call;
    call_offerv_start(&call, w.channels[1], rd, offset, iov, count, w.now);
    return done(&call);
}

static ssize_t offer(int rd, off_t offset, const void *buf, size_t len)
{
    struct iovec one = {(void *)(uintptr_t)buf, len};
    return offer_v(rd, offset, &one, 1);
}

/* Bytes of a read of the region's [at, at + len) that came from remote memory. */
static uint64_t remote_of(int rd, off_t at, size_t len)
{
    uint64_t hits = info(rd).hits;
    assert_reads_file(rd, 0, at, len);
    return info(rd).hits - hits;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(offer__is_read_remotely)
{
    int rd = open_at(LEN, 0, 0);
    assert_int_equal(offer(rd, 0, w.disk.bytes, LEN), LEN);
    assert_int_equal(info(rd).filled_bytes, LEN);
    assert_int_equal(remote_of(rd, 0, LEN), LEN);
    assert_int_equal(info(rd).misses, 0);
    assert_int_equal(stats().fills_refused, 0);
    assert_int_equal(close_rd(rd), 0);
}

CASE(offer__fills_whole_blocks_only)
{
    int rd = open_at(LEN, 0, 0);
    assert_int_equal(offer(rd, 100, w.disk.bytes + 100, 8192), 8192); /* block 1 */
    assert_int_equal(info(rd).filled_bytes, 4096);
    assert_int_equal(remote_of(rd, 4096, 4096), 4096);
    assert_int_equal(offer(rd, 8192, w.disk.bytes + 8192, 4095), 4095); /* none */
    assert_int_equal(info(rd).filled_bytes, 4096);
    off_t last = LEN / 4096 * 4096; /* to the region's end: the last, short block */
    assert_int_equal(offer(rd, last, w.disk.bytes + last, LEN - last + 50), LEN - last);
    assert_int_equal(remote_of(rd, last, LEN - last), LEN - last);
    assert_int_equal(offer(rd, LEN, w.disk.bytes, 10), 0);
    assert_int_equal(offer(rd, LEN + 1, w.disk.bytes, 10), -1);
    assert_int_equal(fail_error, EINVAL);
}

CASE(offer__of_many_buffers)
{
    struct iovec iov[70];
    int rd = open_at(LEN, 0, 0);
    for (unsigned i = 0; i < 70; i++)
        iov[i] = (struct iovec){w.disk.bytes + i * 4096, 4096};
    assert_int_equal(offer_v(rd, 0, iov, 70), 70 * 4096);
    assert_int_equal(remote_of(rd, 0, 70 * 4096), 70 * 4096);
}

CASE(offer__over_stripes)
{
    int rd = open_at(LEN, 0, DODO_STRIPE);
    assert_true(info(rd).stripes > 1);
    assert_int_equal(offer(rd, 0, w.disk.bytes, LEN), LEN);
    assert_int_equal(remote_of(rd, 0, LEN), LEN);
}

/* A write that is under way: what was offered may be older than it. */
CASE(offer__beside_a_write_fills_nothing)
{
    static uint8_t data[8192], old[16384];
    Call writer;
    int rd = open_at(LEN, 0, 0);
    memcpy(old, w.disk.bytes, sizeof old);
    memset(data, 7, sizeof data);
    call_write_start(&writer, w.channels[2], rd, 4096, data, sizeof data, w.now);
    Call *needs = run_to_file(&writer);
    assert_int_equal(offer(rd, 0, old, sizeof old), 0);
    assert_int_equal(info(rd).filled_bytes, 0);
    do_file(needs);
    assert_int_equal(done(&writer), sizeof data);
    settle();
    assert_reads_file(rd, 0, 0, LEN);
}

/* A write that begins when the offer is on its way wins, whichever comes first. */
CASE(offer__never_overtakes_a_write)
{
    static uint8_t data[4096], old[65536];
    Call giver;
    struct iovec one = {old, sizeof old};
    int rd = open_at(LEN, 0, 0);
    memcpy(old, w.disk.bytes, sizeof old);
    call_offerv_start(&giver, w.channels[2], rd, 0, &one, 1, w.now);
    channel_step(w.channels[2], w.now); /* counter taken, session not yet up */
    assert_int_equal(giver.need, NEED_NETWORK);
    memset(data, 9, sizeof data);
    assert_int_equal(write_at(rd, 8192, data, sizeof data), sizeof data);
    assert_true(done(&giver) >= 0);
    settle();
    assert_reads_file(rd, 0, 0, LEN);
    assert_reads_file(rd, 0, 0, LEN);
}

/* A write that begins and ends while the offer's thread is held up, before all of its pieces are on
 * their way: what they hold is what the file had before. */
CASE(offer__is_overtaken_by_a_write)
{
    enum { PIECE = 16384, PIECES = 18 };           /* more than a channel has states for */
    static uint8_t data[100], old[PIECES * PIECE]; /* leaves its block unfilled */
    const unsigned flags[] = {0, DODO_STRIPE};
    const off_t last = (PIECES - 1) * PIECE;
    for (unsigned k = 0; k < 4; k++) {
        Call giver;
        struct iovec iov[PIECES];
        int rd = open_at(LEN, 0, flags[k / 2]);
        memcpy(old, w.disk.bytes, sizeof old);
        for (unsigned i = 0; i < PIECES; i++)
            iov[i] = (struct iovec){old + i * PIECE, k % 2 == 0 ? PIECE : sizeof old};
        call_offerv_start(&giver, w.channels[2], rd, 0, iov, k % 2 == 0 ? PIECES : 1, w.now);
        w.asleep = 2;
        memset(data, (int)(11 + k), sizeof data);
        assert_int_equal(write_at(rd, last + 50, data, sizeof data), sizeof data);
        w.asleep = 0;
        ssize_t looked_at = done(&giver);
        settle();
        assert_reads_file(rd, 0, 0, LEN);
        assert_in_range(looked_at, 0, last);
        /* The next one is none of that write's. */
        assert_int_equal(offer(rd, last, w.disk.bytes + last, PIECE), PIECE);
        assert_reads_file(rd, 0, 0, LEN);
        assert_int_equal(close_rd(rd), 0);
    }
}

/* Nor of a write's that was under way when it was offered, and has ended before the offer's thread
 * goes on. */
CASE(offer__of_before_a_write_that_ends)
{
    static uint8_t data[8192], old[65536];
    const unsigned flags[] = {0, DODO_STRIPE};
    for (unsigned k = 0; k < 2; k++) {
        Call giver, writer;
        struct iovec one = {old, sizeof old};
        int rd = open_at(LEN, 0, flags[k]);
        memcpy(old, w.disk.bytes, sizeof old);
        memset(data, (int)(21 + k), sizeof data);
        call_write_start(&writer, w.channels[1], rd, 40960, data, sizeof data, w.now);
        Call *needs = run_to_file(&writer);
        call_offerv_start(&giver, w.channels[2], rd, 0, &one, 1, w.now);
        w.asleep = 2;
        do_file(needs);
        assert_int_equal(done(&writer), sizeof data);
        w.asleep = 0;
        assert_in_range(done(&giver), 0, 40960);
        settle();
        assert_reads_file(rd, 0, 0, LEN);
        assert_reads_file(rd, 0, 0, LEN);
        assert_int_equal(close_rd(rd), 0);
    }
}

/* The same in a stripe that is not the first: the write's place counts from the region's start. */
CASE(offer__is_overtaken_in_a_later_stripe)
{
    static uint8_t data[100], old[STRIPE_BYTES];
    const off_t at = 2 * STRIPE_BYTES;
    Call giver;
    struct iovec one = {old, sizeof old};
    int rd = open_at(LEN, 0, DODO_STRIPE);
    memcpy(old, w.disk.bytes + at, sizeof old);
    call_offerv_start(&giver, w.channels[2], rd, at, &one, 1, w.now);
    w.asleep = 2;
    memset(data, 31, sizeof data);
    assert_int_equal(write_at(rd, at + 50, data, sizeof data), sizeof data);
    w.asleep = 0;
    (void)done(&giver);
    settle();
    assert_reads_file(rd, 0, 0, LEN);
    assert_reads_file(rd, 0, 0, LEN);
    /* A write elsewhere overtakes nothing. */
    call_offerv_start(&giver, w.channels[2], rd, at, &one, 1, w.now);
    memcpy(old, w.disk.bytes + at, sizeof old);
    w.asleep = 2;
    assert_int_equal(write_at(rd, 50, data, sizeof data), sizeof data);
    w.asleep = 0;
    assert_int_equal(done(&giver), sizeof old);
    assert_reads_file(rd, 0, 0, LEN);
}

CASE(offer__to_a_dead_host)
{
    int rd = open_at(LEN, 0, 0);
    w.net.imd_dead = true;
    uint64_t start = w.now;
    assert_int_equal(offer(rd, 0, w.disk.bytes, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_in_range(w.now - start, 1, 2 * (uint64_t)NS_PER_S);
    assert_false(info(rd).active);
    assert_int_equal(offer(rd, 0, w.disk.bytes, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
}

CASE(offer__of_a_fallback_region_without_memory)
{
    w.net.imd_dead = true;
    int rd = open_at(LEN, 0, DODO_FALLBACK);
    (void)offer(rd, 0, w.disk.bytes, LEN); /* notices */
    assert_int_equal(offer(rd, 0, w.disk.bytes, LEN), -1);
    assert_int_equal(fail_error, ENOMEM);
    assert_reads_file(rd, 0, 0, LEN);
}

/* A region of which an offer is under way. */
static int offering_in(Call *giver, unsigned flags)
{
    static struct iovec all;
    int rd = open_at(LEN, 0, flags);
    all = (struct iovec){w.disk.bytes, LEN};
    call_offerv_start(giver, w.channels[1], rd, 0, &all, 1, w.now);
    channel_step(w.channels[1], w.now);
    return rd;
}

static int offering(Call *giver)
{
    return offering_in(giver, 0);
}

/* The process is in exit(), and the thread whose call that was runs no more. */
CASE(offer__close_waits_for_nobody_at_the_end)
{
    Call giver, closer;
    int rd = offering(&giver);
    client_stop(w.client, w.now);
    call_close_start(&closer, w.channels[2], rd, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(closer.need, NEED_NOTHING);
    assert_int_equal(closer.result, -1);
    (void)done(&giver); /* one that runs on finds the region as it was */
}

/* ... also of a region that is made of others. */
CASE(offer__close_of_two_copies_waits_for_nobody_at_the_end)
{
    Call giver, closer;
    int rd = offering_in(&giver, DODO_MIRROR);
    client_stop(w.client, w.now);
    call_close_start(&closer, w.channels[2], rd, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(closer.need, NEED_NOTHING);
    assert_int_equal(closer.result, -1);
    (void)done(&giver);
}

CASE(offer__close_waits)
{
    Call giver, closer;
    int rd = offering(&giver);
    call_close_start(&closer, w.channels[2], rd, w.now);
    channel_step(w.channels[2], w.now);
    assert_int_equal(closer.need, NEED_BLOCKED);
    assert_int_equal(done(&giver), LEN);
    assert_int_equal(done(&closer), 0);
}
